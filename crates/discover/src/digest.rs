//! Checks whether tables without the key have the same rows on several shards.

use crate::error::DiscoverError;
use crate::facts::{Facts, map_name};
use crate::snapshot::ShardSnapshot;
use crate::sort::RowComparison;
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// The size in bytes above which a table is not compared.
const MAX_COMPARED_BYTES: i64 = 64 << 20;

/// Compares the rows of each of `tables` on all `shards`, which must be the shards that have any table. With fewer than
/// two shards the result is empty. A table that is missing on one of them is different.
pub(crate) async fn compare(
    shards: &[(&ShardSnapshot, &Facts)],
    tables: &BTreeSet<TableName>,
) -> Result<BTreeMap<TableName, RowComparison>, DiscoverError> {
    let mut compared = BTreeMap::new();
    if shards.len() < 2 {
        return Ok(compared);
    }
    for name in tables {
        let tables_on_shards = shards
            .iter()
            .filter_map(|(snapshot, facts)| Some((snapshot, facts.tables.get(name)?)));
        let tables_on_shards: Vec<_> = tables_on_shards.collect();
        let too_large = tables_on_shards
            .iter()
            .any(|(_, table)| table.bytes > MAX_COMPARED_BYTES);
        if too_large || tables_on_shards.len() < shards.len() {
            let comparison = if too_large {
                RowComparison::NotCompared
            } else {
                RowComparison::Different
            };
            compared.insert(name.clone(), comparison);
            continue;
        }
        let mut digests = BTreeSet::new();
        for (snapshot, _) in tables_on_shards {
            digests.insert(digest(snapshot, name).await?);
        }
        let comparison = if digests.len() == 1 {
            RowComparison::Same
        } else {
            RowComparison::Different
        };
        compared.insert(name.clone(), comparison);
    }
    Ok(compared)
}

/// Returns the number of a table's rows, and a digest that does not depend on their order.
async fn digest(
    snapshot: &ShardSnapshot,
    table: &TableName,
) -> Result<(i64, String), DiscoverError> {
    let sql = format!(
        "select count(*), coalesce(sum(pg_catalog.hashtextextended(t::text, 0)::numeric), 0)::text from {} t",
        table.sql()
    );
    let rows = snapshot
        .query(&sql, &format!("compare table {}", map_name(table)))
        .await?;
    Ok(rows
        .first()
        .map_or_else(Default::default, |row| (row.get(0), row.get(1))))
}
