//! Sequences are not captured: their values are carried over inside the cutover (C6), and shards share out
//! what is to come, so that no two issue the same value after a flip.
//!
//! Stride: a shard's sequences count by 64 and keep the shard's number as the remainder. Block: a shard's
//! sequences stay in a block of 2^40 of its own. Keep: only the margin stands between the two sides.

use connect::Connected;
use plans::shard_map::Sequences;
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;

use super::epoch::{self, EpochProof, EpochToken};
use super::guard;
use crate::error::{StepError, WithIntent};

/// How many values are left out, so that a client with an old map that still calls nextval on the
/// other side does not meet the new ones.
const MARGIN: i64 = 1000;
/// The increment of shared-out sequences: the most shards of a fleet that stay apart.
pub(crate) const STRIDE: i64 = 64;
/// Bits of a block.
pub(crate) const BLOCK_BITS: u32 = 40;

/// How one shard shares out sequence values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceShare {
    pub(crate) policy: Sequences,
    /// The shard's number in the fleet.
    pub(crate) number: i32,
}

impl SequenceShare {
    /// SQL for the first value at or after the expression `value` that this shard may issue.
    fn aligned(self, value: &str, increment: &str) -> String {
        match self.policy {
            Sequences::Stride => format!(
                "(case when {increment} = {STRIDE} then {value} + (({remainder} - {value}) % {STRIDE} + {STRIDE}) % {STRIDE} else {value} end)",
                remainder = i64::from(self.number).rem_euclid(STRIDE)
            ),
            Sequences::Block => format!("greatest({value}, {})", self.block()),
            Sequences::Keep => value.to_owned(),
        }
    }

    fn block(self) -> i64 {
        i64::from(self.number) << BLOCK_BITS
    }
}

/// The sequences of the user's schemas, quoted.
pub(crate) async fn list_names(client: &Connected) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select n.nspname::text, c.relname::text
             from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where c.relkind = 'S' and n.nspname not in ('pg_catalog', 'information_schema', 'shardwright')
             order by 1, 2",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: listing sequences"))?;
    Ok(rows
        .iter()
        .map(|row| format!("{}.{}", quote_ident(row.get(0)), quote_ident(row.get(1))))
        .collect())
}

/// Makes the sequences behind columns of the moving tables issue only values of this shard's share.
///
/// Each takes the sequence's lock for a moment; those that are shared out already are left alone, and so
/// are those that count by another step than 1.
pub(crate) async fn share_out(
    client: &Connected,
    token: &EpochToken,
    tables: &[MovingTable],
    share: SequenceShare,
) -> Result<(), StepError> {
    let shard = client.name();
    if share.policy != Sequences::Stride {
        return Ok(());
    }
    let remainder = i64::from(share.number).rem_euclid(STRIDE);
    for (name, increment, last) in list_used_by(client, tables).await? {
        let is_disjoint = increment == STRIDE && (last - remainder).rem_euclid(STRIDE) == 0;
        if is_disjoint || (increment != 1 && increment != STRIDE) {
            continue;
        }
        let literal = quote_literal(&name);
        let aligned = share.aligned("s.last_value", &STRIDE.to_string());
        let sql = format!(
            "alter sequence {name} increment by {STRIDE}; \
             select pg_catalog.setval({literal}::pg_catalog.regclass, least({aligned}, q.seqmax)) \
             from {name} s, pg_catalog.pg_sequence q where q.seqrelid = {literal}::pg_catalog.regclass"
        );
        let what = format!("shard {shard}: sharing out sequence {name}");
        guard::execute_with_short_locks(client, token, &sql, &what).await?;
    }
    Ok(())
}

/// Sequences that columns of the tables take values from, with increment and last value; of leaves also those of
/// the tables above, which rows that come through these take.
pub(crate) async fn list_used_by(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<(String, i64, i64)>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let what = format!("shard {shard}: listing sequences of the moving tables");
    let rows = client
        .query(
            "select distinct n.nspname::text, c.relname::text, q.seqincrement
             from pg_catalog.unnest($1::text[]) given
             cross join lateral (select pg_catalog.to_regclass(given)::oid as oid union all
                                 select relid from pg_catalog.pg_partition_ancestors(pg_catalog.to_regclass(given)) relid) t
             join pg_catalog.pg_depend d on
               (d.refobjid = t.oid and d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.deptype in ('a', 'i'))
               or (d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass
                   and d.objid in (select x.oid from pg_catalog.pg_attrdef x where x.adrelid = t.oid))
             join pg_catalog.pg_class c on c.relkind = 'S' and c.oid in (d.objid, d.refobjid)
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             join pg_catalog.pg_sequence q on q.seqrelid = c.oid
             order by 1, 2",
            &[&names],
        )
        .await
        .at(&what)?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let name = format!("{}.{}", quote_ident(row.get(0)), quote_ident(row.get(1)));
        let last = client
            .query_one(&format!("select last_value from {name}"), &[])
            .await
            .at(&what)?;
        found.push((name, row.get(2), last.get(0)));
    }
    Ok(found)
}

/// Where each sequence stands and its step; those that are not there are left out.
pub(crate) async fn read_values(
    client: &Connected,
    names: &[String],
) -> Result<Vec<(String, i64, i64)>, StepError> {
    let shard = client.name();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<String> = names
        .iter()
        .map(|name| {
            let literal = quote_literal(name);
            format!(
                "select {literal}::text, s.last_value, q.seqincrement from {name} s, pg_catalog.pg_sequence q where q.seqrelid = {literal}::pg_catalog.regclass"
            )
        })
        .collect();
    let rows = client
        .query_prepared(&parts.join(" union all "), &[])
        .await
        .at(format_args!("shard {shard}: reading sequences"))?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect())
}

/// Sets each sequence past the given value with a margin, within the shard's share and never backwards: done twice, or
/// late, it does no harm, so it need not wait for the stream's transactions.
pub(crate) async fn advance(
    client: &Connected,
    token: &EpochToken,
    values: &[(String, i64, i64)],
    share: SequenceShare,
) -> Result<(), StepError> {
    let shard = client.name();
    if values.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = values
        .iter()
        .map(|(name, value, step)| {
            let literal = quote_literal(name);
            // Values of another remainder cannot meet the losing shard's next ones.
            let is_disjoint = share.policy == Sequences::Stride && *step == STRIDE;
            let margin = if is_disjoint { 0 } else { MARGIN };
            let with_margin = value.saturating_add(step.saturating_mul(margin));
            let extreme = if *step > 0 { "greatest" } else { "least" };
            let next_free = format!("{extreme}(s.last_value, {with_margin})");
            let target = share.aligned(&next_free, "q.seqincrement");
            // Within the sequence's own bounds: a margin must not overflow a nearly exhausted sequence.
            format!(
                "select pg_catalog.setval({literal}::pg_catalog.regclass, least(greatest({target}, q.seqmin), q.seqmax)) from {name} s, pg_catalog.pg_sequence q where q.seqrelid = {literal}::pg_catalog.regclass"
            )
        })
        .collect();
    let (sql, what) = (
        parts.join("; "),
        format!("shard {shard}: setting sequences"),
    );
    epoch::transact(client, token, EpochProof::Work, &sql, &what)
        .await
        .map(|_| ())
}
