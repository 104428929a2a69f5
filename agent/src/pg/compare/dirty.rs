//! Dirty keys with the rows behind them, read in pages that one statement makes.

use super::{Moving, Side};
use crate::error::{At, StepError};
use crate::pg::epoch::Token;
use crate::pg::lsn::Lsn;
use connect::Connected;

/// A dirty key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirtyRow {
    pub(crate) key: String,
    /// The commit that changed it last.
    pub(crate) lsn: Lsn,
    /// Hash of the destination's row, if there is one.
    pub(crate) hash: Option<String>,
}

/// The relations that have dirty keys.
pub(crate) async fn dirty_relations(
    client: &Connected,
    token: &Token,
    shard: &str,
) -> Result<Vec<String>, StepError> {
    // One step of the index for each relation, however many keys it has.
    let rows = client
        .query_prepared(
            "with recursive dirty (relation) as (
               (select relation from shardwright.dirty where migration = $1 order by relation limit 1)
               union all
               select (select d.relation from shardwright.dirty d
                       where d.migration = $1 and d.relation > dirty.relation order by d.relation limit 1)
               from dirty where dirty.relation is not null)
             select relation from dirty where relation is not null",
            &[&token.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading changed keys"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Dirty keys of a table behind the key `after`, in the order of their digests, `most` of them, each with the hash of its row as the
/// same snapshot sees it.
pub(crate) async fn rows_of_dirty(
    side: Side<'_>,
    token: &Token,
    moving: &Moving<'_>,
    after: &str,
    most: i64,
) -> Result<Vec<DirtyRow>, StepError> {
    let rows = side
        .client
        .query_prepared(
            &format!(
                "with given as materialized (
                   select key as shardwright_text, lsn as shardwright_lsn, digest as shardwright_digest
                   from shardwright.dirty
                   where migration = $1 and relation = $2
                     and digest > coalesce(pg_catalog.sha256(pg_catalog.convert_to(nullif($3, ''), 'UTF8')), '')
                   order by digest limit $4)
                 {found}
                 order by given.shardwright_digest",
                found = found(moving),
            ),
            &[
                &token.migration.0,
                &moving.table.table.to_string(),
                &after,
                &most,
            ],
        )
        .await
        .at(format_args!(
            "shard {}: comparing changed rows of {}",
            side.shard, moving.table.table
        ))?;
    let dirty = rows.iter().map(|row| DirtyRow {
        key: row.get(0),
        lsn: row.get(1),
        hash: row.get(2),
    });
    Ok(dirty.collect())
}

/// The given keys with the hashes of their rows. One row is found by an index; whole rows are looked for together.
fn found(moving: &Moving<'_>) -> String {
    let (hash, join) = (moving.hash(), moving.join_given());
    let columns = "select given.shardwright_text, given.shardwright_lsn, found.shardwright_hash from given left join";
    if moving.is_whole() {
        return format!(
            "{columns} (select given.shardwright_text, {hash} as shardwright_hash from given {join} group by 1) found
             using (shardwright_text)"
        );
    }
    format!(
        "{columns} lateral (select {hash} as shardwright_hash from (select 1) one {join} limit 1) found on true"
    )
}
