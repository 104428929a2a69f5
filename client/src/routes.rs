//! One version of the map with an index from keys to mappings, built when the version arrives.
//!
//! Ranges are found by binary search in the map itself, virtual shards in a table with one entry for each,
//! listed keys in a hash table. Absent: any answer for a key that has no mapping but an error.

use crate::error::RouteError;
use plans::id::ShardName;
use plans::key::{Key, accept};
use plans::key_set::{KeySet, bucket_of};
use plans::shard_map::{MapError, ShardMap, Strategy};
use std::collections::HashMap;
use std::sync::Arc;

/// Maps with more virtual shards are searched: their table would be larger than it is worth.
const LARGEST_TABLE: u32 = 1 << 16;

/// A map, checked, with its index.
#[derive(Debug)]
pub(crate) struct Routes {
    map: Arc<ShardMap>,
    index: Index,
}

/// Where keys are found, as positions among the map's mappings.
#[derive(Debug)]
enum Index {
    /// In the mappings themselves, which are in key order.
    Order,
    /// By virtual shard.
    Buckets(Vec<Option<usize>>),
    /// By key.
    Keys(HashMap<Key, usize>),
}

impl Routes {
    /// Checks the map and builds its index. `O(keys of a list map)`.
    pub(crate) fn new(map: ShardMap) -> Result<Self, MapError> {
        let map = map.validated()?;
        let index = match map.strategy {
            Strategy::Range => Index::Order,
            Strategy::Hash if map.buckets > LARGEST_TABLE => Index::Order,
            Strategy::Hash => Index::Buckets(by_bucket(&map)),
            Strategy::List => Index::Keys(by_key(&map)),
        };
        Ok(Self {
            map: Arc::new(map),
            index,
        })
    }

    /// The map itself.
    pub(crate) fn map(&self) -> &Arc<ShardMap> {
        &self.map
    }

    /// `key` as a key of this map.
    pub(crate) fn accept(&self, key: &Key) -> Result<Key, RouteError> {
        accept(&self.map.key, key).map_err(|source| RouteError::Key {
            key: key.clone(),
            map: self.map.name.clone(),
            source,
        })
    }

    /// The owner of a key that [`Routes::accept`] has let pass.
    pub(crate) fn shard_of(&self, key: &Key) -> Result<&ShardName, RouteError> {
        let mapping = match &self.index {
            Index::Order => self.map.locate(key),
            Index::Buckets(table) => {
                let bucket = usize::try_from(bucket_of(key, self.map.buckets)).ok();
                let position = bucket.and_then(|bucket| *table.get(bucket)?);
                position.and_then(|position| self.map.mappings.get(position))
            }
            Index::Keys(table) => table
                .get(key)
                .and_then(|position| self.map.mappings.get(*position)),
        };
        mapping
            .map(|mapping| &mapping.shard)
            .ok_or_else(|| RouteError::Unmapped {
                key: key.clone(),
                map: self.map.name.clone(),
                version: self.map.version,
            })
    }
}

fn by_bucket(map: &ShardMap) -> Vec<Option<usize>> {
    let place = |bucket| usize::try_from(bucket).unwrap_or(usize::MAX);
    let mut table = vec![None; place(map.buckets)];
    for (position, mapping) in map.mappings.iter().enumerate() {
        let KeySet::Hash(buckets) = &mapping.keys else {
            continue;
        };
        for range in &buckets.ranges {
            if let Some(entries) = table.get_mut(place(range.from)..place(range.to)) {
                entries.fill(Some(position));
            }
        }
    }
    table
}

fn by_key(map: &ShardMap) -> HashMap<Key, usize> {
    let mut table = HashMap::new();
    for (position, mapping) in map.mappings.iter().enumerate() {
        if let KeySet::List(keys) = &mapping.keys {
            table.extend(keys.iter().map(|key| (key.clone(), position)));
        }
    }
    table
}

#[cfg(test)]
mod tests;
