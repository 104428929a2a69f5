//! Checks whether tables without the key have the same rows on several shards.

use crate::error::DiscoverError;
use crate::facts::{Facts, short};
use crate::snapshot::ShardSnapshot;
use crate::sort::Rows;
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// The size in bytes above which a table is not compared.
const LARGEST: i64 = 64 << 20;

/// Compares the rows of each of `tables` on all `shards`, which must be the shards that have any table. With fewer than
/// two shards the result is empty. A table that is missing on one of them is different.
pub(crate) async fn compare(
    shards: &[(&ShardSnapshot, &Facts)],
    tables: &BTreeSet<TableName>,
) -> Result<BTreeMap<TableName, Rows>, DiscoverError> {
    let mut compared = BTreeMap::new();
    if shards.len() < 2 {
        return Ok(compared);
    }
    for name in tables {
        let found = shards
            .iter()
            .filter_map(|(snapshot, facts)| Some((snapshot, facts.tables.get(name)?)));
        let found: Vec<_> = found.collect();
        let too_large = found.iter().any(|(_, table)| table.bytes > LARGEST);
        if too_large || found.len() < shards.len() {
            let rows = if too_large {
                Rows::NotCompared
            } else {
                Rows::Different
            };
            compared.insert(name.clone(), rows);
            continue;
        }
        let mut digests = BTreeSet::new();
        for (snapshot, _) in found {
            digests.insert(digest(snapshot, name).await?);
        }
        let rows = if digests.len() == 1 {
            Rows::Same
        } else {
            Rows::Different
        };
        compared.insert(name.clone(), rows);
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
        .query(&sql, &format!("compare table {}", short(table)))
        .await?;
    Ok(rows
        .first()
        .map_or_else(Default::default, |row| (row.get(0), row.get(1))))
}
