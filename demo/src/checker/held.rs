//! While a migration holds, a former owner keeps the rows of the keys it gave away, equal to the owner's.

use super::observed::Reader;
use super::{CheckError, key_column, owned_by, predicate};
use crate::shop::TABLES;
use connect::Dsn;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::BTreeMap;

/// Tables of which some shard holds other rows than the keys' owner; a shard without any of the keys is not
/// a former owner and counts for nothing.
pub(super) async fn diverged(
    map: &ShardMap,
    shards: &BTreeMap<ShardName, Dsn>,
) -> Result<u64, CheckError> {
    let mut diverged = 0;
    for owner in shards.keys() {
        let keys = owned_by(map, owner);
        if keys.is_empty() {
            continue;
        }
        let truth = digests(owner, &shards[owner], &keys).await?;
        for (other, dsn) in shards.iter().filter(|(name, _)| *name != owner) {
            let copy = digests(other, dsn, &keys).await?;
            let former = copy.values().any(|(rows, _)| *rows > 0);
            if former {
                let differ = truth
                    .iter()
                    .filter(|(table, digest)| copy.get(*table) != Some(digest));
                diverged += differ.fold(0, |sum, _| sum + 1);
            }
        }
    }
    Ok(diverged)
}

/// Rows and the sum of their digests, by table.
async fn digests(
    shard: &ShardName,
    dsn: &Dsn,
    keys: &[&KeySet],
) -> Result<BTreeMap<&'static str, (i64, String)>, CheckError> {
    let reader = Reader::open(shard, dsn).await?;
    let mut digests = BTreeMap::new();
    for (table, _) in TABLES {
        if !reader.has(table).await? {
            continue;
        }
        let sql = format!(
            "select count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text \
             from public.{table} t where {}",
            predicate(keys, &key_column(table))
        );
        for row in reader.rows(table, &sql).await? {
            digests.insert(table, (row.get(0), row.get(1)));
        }
    }
    reader.close().await;
    Ok(digests)
}
