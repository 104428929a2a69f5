//! Checks that during the hold an old owner has the same rows of the released keys as the owner.

use super::observed::ShardReader;
use super::{CheckError, predicate};
use crate::ledger::Baseline;
use crate::shop::{KeyShape, TABLES};
use connect::Dsn;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::BTreeMap;

/// Returns the number of tables whose rows differ between an old owner and the owner, counted for each pair of these
/// shards. A table of an old owner without any of the rows is not counted.
pub(super) async fn count_diverged(
    baseline: &Baseline,
    map: &ShardMap,
    shards: &BTreeMap<ShardName, Dsn>,
) -> Result<u64, CheckError> {
    let mut diverged = 0;
    for ((first_owner, owner), keys) in moved_keys(baseline, map) {
        let on_owner = digests(&owner, &shards[&owner], baseline.shape, &keys).await?;
        let on_first_owner =
            digests(&first_owner, &shards[&first_owner], baseline.shape, &keys).await?;
        if on_first_owner.values().any(|(rows, _)| *rows > 0) {
            let differ = on_owner
                .iter()
                .filter(|(table, digest)| on_first_owner.get(*table) != Some(digest));
            diverged += differ.fold(0, |sum, _| sum + 1);
        }
    }
    Ok(diverged)
}

/// Returns the keys that changed their owner, by both owners.
fn moved_keys(
    baseline: &Baseline,
    map: &ShardMap,
) -> BTreeMap<(ShardName, ShardName), Vec<KeySet>> {
    let mut pairs: BTreeMap<(ShardName, ShardName), Vec<KeySet>> = BTreeMap::new();
    for first_owner in &baseline.owners {
        for owner in map.mappings.iter().filter(|m| m.shard != first_owner.shard) {
            let keys = first_owner.keys.intersection(&owner.keys);
            if !keys.is_empty() {
                let pair = (first_owner.shard.clone(), owner.shard.clone());
                pairs.entry(pair).or_default().push(keys);
            }
        }
    }
    pairs
}

/// Returns for each table of the shard the number of rows with these keys, and the sum of their digests.
async fn digests(
    shard: &ShardName,
    dsn: &Dsn,
    shape: KeyShape,
    keys: &[KeySet],
) -> Result<BTreeMap<&'static str, (i64, String)>, CheckError> {
    let reader = ShardReader::open(shard, dsn, shape).await?;
    let keys: Vec<&KeySet> = keys.iter().collect();
    let mut digests = BTreeMap::new();
    for table in TABLES {
        if !reader.has(table).await? {
            continue;
        }
        let sql = format!(
            "select count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text \
             from {table} t where {}",
            predicate(shape, &keys, table)
        );
        for row in reader.rows(table, &sql).await? {
            digests.insert(table, (row.get(0), row.get(1)));
        }
    }
    reader.close().await;
    Ok(digests)
}
