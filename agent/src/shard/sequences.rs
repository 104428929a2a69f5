//! Sequences. They are not captured: the cutover transfers their values (C6). The shards also divide the future values,
//! so that no two shards issue the same value after a flip.
//!
//! - Stride: the sequences of a shard count by 64, and all their values have the shard's number as the remainder.
//! - Block: the sequences of a shard stay in a block of 2^40 values.
//! - Keep: only the margin separates the values of the two shards.

use connect::Connected;
use plans::shard_map::Sequences;
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;

use super::epoch::{self, EpochProof, EpochToken};
use super::guard;
use crate::error::{StepError, WithIntent};

/// Number of values that the cutover skips. Clients with an old map may still call nextval on the old owner, and then
/// do not get the values of the new owner.
const MARGIN: i64 = 1000;
/// The increment of divided sequences, and so the largest number of shards without a common value.
pub(crate) const STRIDE: i64 = 64;
/// The number of bits of a block.
pub(crate) const BLOCK_BITS: u32 = 40;

/// The values that the sequences of one shard may issue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceShare {
    pub(crate) policy: Sequences,
    /// The number of the shard in the fleet.
    pub(crate) number: i32,
}

impl SequenceShare {
    /// Returns SQL for the first value that this shard may issue at or after the expression `value`.
    fn aligned(self, value: &str, increment: &str) -> String {
        match self.policy {
            Sequences::Stride => format!(
                "(case when {increment} = {STRIDE} then {value} + (({remainder} - {value}) % {STRIDE} + {STRIDE}) % {STRIDE} else {value} end)",
                remainder = i64::from(self.number).rem_euclid(STRIDE)
            ),
            Sequences::Block => format!("greatest({value}, {})", self.block_start()),
            Sequences::Keep => value.to_owned(),
        }
    }

    /// Returns the first value of the shard's block.
    fn block_start(self) -> i64 {
        i64::from(self.number) << BLOCK_BITS
    }
}

/// A sequence, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SequenceState {
    /// The qualified and quoted name.
    pub(crate) name: String,
    pub(crate) last_value: i64,
    pub(crate) increment: i64,
}

/// Returns the quoted names of all sequences in the user's schemas.
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

/// Changes the sequences of the moving tables so that they issue only values of this shard.
///
/// Each change holds the lock of the sequence for a moment. It leaves out sequences that already have the increment and
/// remainder of this shard, and those whose increment is neither 1 nor the stride.
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
    for sequence in list_used_by(client, tables).await? {
        let SequenceState {
            name,
            last_value,
            increment,
        } = sequence;
        let is_disjoint = increment == STRIDE && (last_value - remainder).rem_euclid(STRIDE) == 0;
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
        let what = format!("shard {shard}: dividing the values of sequence {name}");
        guard::execute_with_short_locks(client, token, &sql, &what).await?;
    }
    Ok(())
}

/// Returns the sequences that supply values for columns of the tables. For leaves it includes the sequences of the
/// partitioned tables above, which supply values for rows that are written through these.
pub(crate) async fn list_used_by(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<SequenceState>, StepError> {
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
        found.push(SequenceState {
            name,
            last_value: last.get(0),
            increment: row.get(2),
        });
    }
    Ok(found)
}

/// Reads the sequences with these names. A name without a sequence is an error.
pub(crate) async fn read_values(
    client: &Connected,
    names: &[String],
) -> Result<Vec<SequenceState>, StepError> {
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
        .map(|row| SequenceState {
            name: row.get(0),
            last_value: row.get(1),
            increment: row.get(2),
        })
        .collect())
}

/// Advances each sequence beyond its value on the old owner, with a margin, to a value that this shard may issue. It never sets a
/// sequence back. To call it twice or late is harmless, so it need not wait for the transactions of the stream.
pub(crate) async fn advance(
    client: &Connected,
    token: &EpochToken,
    sequences: &[SequenceState],
    share: SequenceShare,
) -> Result<(), StepError> {
    let shard = client.name();
    if sequences.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = sequences
        .iter()
        .map(|sequence| {
            let SequenceState {
                name,
                last_value,
                increment,
            } = sequence;
            let literal = quote_literal(name);
            // The next values of the old owner have another remainder, so no margin is necessary.
            let is_disjoint = share.policy == Sequences::Stride && *increment == STRIDE;
            let margin = if is_disjoint { 0 } else { MARGIN };
            let with_margin = last_value.saturating_add(increment.saturating_mul(margin));
            let extreme = if *increment > 0 { "greatest" } else { "least" };
            let next_free = format!("{extreme}(s.last_value, {with_margin})");
            let target = share.aligned(&next_free, "q.seqincrement");
            // The limits of the sequence apply: the margin must not overflow a nearly exhausted sequence.
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
