//! The log of dirty keys on the destination, read in pages.
//!
//! An entry is written with the changes of its keys, in one transaction, and never changed. Who reads a page first and
//! the rows of its keys afterwards may forget its entries: a change that the rows did not show yet comes with another.

use std::collections::BTreeSet;

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress;
use crate::shard::epoch::EpochToken;
use connect::Connected;

/// Entries of one relation behind each other.
#[derive(Debug, Default)]
pub(crate) struct DirtyPage {
    pub(crate) entries: Vec<i64>,
    /// Each once.
    pub(crate) keys: BTreeSet<String>,
    /// The newest of their commits.
    pub(crate) lsn: Lsn,
    /// There may be more behind it.
    pub(crate) full: bool,
}

/// The relations that have dirty keys, each with its last entry.
pub(crate) async fn dirty_relations(
    client: &Connected,
    token: &EpochToken,
) -> Result<Vec<(String, i64)>, StepError> {
    let shard = client.name();
    // Two steps of the index for each relation, however many entries it has.
    let rows = client
        .query_prepared(
            "with recursive dirty (relation) as (
               (select relation from shardwright.dirty where migration = $1 order by relation limit 1)
               union all
               select (select d.relation from shardwright.dirty d
                       where d.migration = $1 and d.relation > dirty.relation order by d.relation limit 1)
               from dirty where dirty.relation is not null)
             select relation, (select d.id from shardwright.dirty d
                               where d.migration = $1 and d.relation = dirty.relation order by d.id desc limit 1)
             from dirty where relation is not null",
            &[&token.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading changed keys"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Entries of a relation behind `after` and up to `last`, with about `most` keys; an entry is not divided.
pub(crate) async fn dirty_page(
    side: &Connected,
    token: &EpochToken,
    relation: &str,
    after: i64,
    last: i64,
    most: i64,
) -> Result<DirtyPage, StepError> {
    let rows = side
        .query_prepared(
            "select id, lsn, keys from (
               select id, lsn, keys, pg_catalog.sum(size) over (order by id) - size as before
               from (select id, lsn, keys, size from shardwright.dirty
                     where migration = $1 and relation = $2 and id > $3 and id <= $4
                     order by id limit $5) entry
             ) entry where before < $5",
            &[&token.migration.0, &relation, &after, &last, &most],
        )
        .await
        .at(format_args!(
            "shard {}: reading changed keys of {relation}",
            side.name()
        ))?;
    let mut page = DirtyPage::default();
    let mut keys = 0;
    for row in &rows {
        page.entries.push(row.get(0));
        page.lsn = page.lsn.max(row.get(1));
        let found: Vec<String> = row.get(2);
        keys += found.len();
        page.keys.extend(found);
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    page.full = keys >= most || rows.len() >= most;
    Ok(page)
}

/// Forgets entries by relation and number, but for the keys that `stay`, of which none has changed behind `lsn`; inside
/// the caller's transaction.
pub(crate) async fn forget(
    side: &Connected,
    token: &EpochToken,
    entries: &[(String, i64)],
    stay: &[(String, String)],
    lsn: Lsn,
) -> Result<(), StepError> {
    let (relations, numbers): (Vec<&str>, Vec<i64>) = entries
        .iter()
        .map(|(relation, number)| (relation.as_str(), number))
        .unzip();
    side.query_prepared(
        "delete from shardwright.dirty d
             using unnest($2::text[], $3::bigint[]) as seen (relation, id)
             where d.migration = $1 and d.relation = seen.relation and d.id = seen.id",
        &[&token.migration.0, &relations, &numbers],
    )
    .await
    .at(format_args!(
        "shard {}: forgetting compared keys",
        side.name()
    ))?;
    if stay.is_empty() {
        return Ok(());
    }
    apply_progress::mark_dirty(side, token, stay, lsn).await
}
