//! Keys that changed since the verification: compared again before the fence, and inside the window.
//!
//! A key is clean when the destination's row, as one snapshot sees it together with the key's mark,
//! equals the origin's row read afterwards: a change that is not applied yet comes with a newer mark.
//! Keys that differ stay dirty; inside the window, when nothing moves any more, a difference is real.

use std::collections::BTreeMap;

use tokio_postgres::Client;

use super::verify::Sides;
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::lsn::Lsn;
use crate::pg::{compare, epoch};

/// Keys that are compared with one statement.
const KEYS_AT_ONCE: usize = 5000;

/// Dirty keys of each relation, with the commit that changed them last.
pub(super) type Dirty = BTreeMap<String, Vec<(String, Lsn)>>;

/// The sessions of a comparison.
pub(super) struct Both<'a> {
    pub(super) origin: &'a Client,
    pub(super) destination: &'a Client,
}

/// Compares dirty keys while writes go on and forgets those that are equal; how many are left.
pub(super) async fn recheck(
    context: &Context,
    sides: &Sides,
    both: &Both<'_>,
) -> Result<usize, StepError> {
    let shard = sides.destination.name.as_str();
    let what = format!("shard {shard}: comparing changed rows");
    both.destination
        .batch_execute("begin isolation level repeatable read read only")
        .await
        .at(&what)?;
    let dirty = read(both.destination, sides).await?;
    let mut there = BTreeMap::new();
    for (relation, keys) in &dirty {
        there.insert(
            relation,
            rows(context, both.destination, relation, keys, shard).await?,
        );
    }
    epoch::commit(both.destination, &what).await?;
    let mut left = 0;
    for (relation, keys) in &dirty {
        let here = rows(context, both.origin, relation, keys, &sides.origin.name).await?;
        let equal = |key: &&(String, Lsn)| here.get(&key.0) == there[relation].get(&key.0);
        let clean: Vec<&(String, Lsn)> = keys.iter().filter(equal).collect();
        left += keys.len() - clean.len();
        forget(both.destination, sides, relation, &clean).await?;
    }
    Ok(left)
}

/// How many dirty keys differ while neither side changes, and how many were compared.
pub(super) async fn differences(
    context: &Context,
    sides: &Sides,
    both: &Both<'_>,
) -> Result<(usize, usize), StepError> {
    let dirty = read(both.destination, sides).await?;
    let (mut different, mut compared) = (0, 0);
    for (relation, keys) in &dirty {
        let (here, there) = tokio::try_join!(
            rows(context, both.origin, relation, keys, &sides.origin.name),
            rows(
                context,
                both.destination,
                relation,
                keys,
                &sides.destination.name
            ),
        )?;
        compared += keys.len();
        different += keys
            .iter()
            .filter(|(key, _)| here.get(key) != there.get(key))
            .count();
    }
    Ok((different, compared))
}

async fn read(session: &Client, sides: &Sides) -> Result<Dirty, StepError> {
    let rows = session
        .query(
            "select relation, key, lsn from shardwright.dirty where migration = $1",
            &[&sides.token.migration.0],
        )
        .await
        .at(format_args!(
            "shard {}: reading changed keys",
            sides.destination.name
        ))?;
    let mut dirty = Dirty::new();
    for row in rows {
        dirty
            .entry(row.get(0))
            .or_default()
            .push((row.get(1), row.get(2)));
    }
    Ok(dirty)
}

/// Hashes of the rows behind the keys, by key; a key without a row is missing.
async fn rows(
    context: &Context,
    session: &Client,
    relation: &str,
    keys: &[(String, Lsn)],
    shard: &str,
) -> Result<BTreeMap<String, String>, StepError> {
    let mut all = BTreeMap::new();
    let tables = &context.dispatch.tables;
    let Some(table) = tables
        .iter()
        .find(|table| table.table.to_string() == relation)
    else {
        return Ok(all);
    };
    let predicate = table.predicate(&context.dispatch.keys, "t");
    for part in keys.chunks(KEYS_AT_ONCE) {
        let texts: Vec<String> = part.iter().map(|(key, _)| key.clone()).collect();
        all.append(&mut compare::keyed_rows(session, table, &predicate, &texts, shard).await?);
    }
    Ok(all)
}

/// Forgets keys, unless they were changed again meanwhile; keys that apply is marking now are skipped.
async fn forget(
    session: &Client,
    sides: &Sides,
    relation: &str,
    keys: &[&(String, Lsn)],
) -> Result<(), StepError> {
    let shard = sides.destination.name.as_str();
    let what = format!("shard {shard}: forgetting compared keys");
    let texts: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    let marks: Vec<Lsn> = keys.iter().map(|(_, lsn)| *lsn).collect();
    epoch::begin(session, &sides.token, shard).await?;
    session
        .execute(
            "delete from shardwright.dirty where ctid = any (array(
                 select d.ctid from shardwright.dirty d
                 join unnest($3::text[], $4::pg_lsn[]) as seen (key, lsn) on d.key = seen.key and d.lsn = seen.lsn
                 where d.migration = $1 and d.relation = $2
                 for update of d skip locked))",
            &[&sides.token.migration.0, &relation, &texts, &marks],
        )
        .await
        .at(&what)?;
    epoch::commit(session, &what).await
}
