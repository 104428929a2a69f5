//! One version of the map, with an index from keys to shards that is built when the version arrives.
//!
//! For ranges the index has the bounds in key order, for virtual shards a table with one entry for each, for listed
//! keys a hash table. Numeric keys are stored as sorted numbers, so that a lookup among a million keys reads little
//! memory. A key without a mapping always causes an error.

use crate::error::RouteError;
use crate::into_key::IntoKey;
use crate::sorted::{Cuts, Owner, Sorted};
use plans::id::ShardName;
use plans::key::{Key, accept};
use plans::key_set::{KeySet, bucket_of};
use plans::shard_map::{MapError, ShardMap, Strategy};
use std::collections::HashMap;
use std::sync::Arc;

/// Maps with more virtual shards are searched, because their table would be too large.
const LARGEST_TABLE: u32 = 1 << 16;

/// One version of a map, prepared for lookups: the version of a [`crate::Map`], or a map from another source.
///
/// ```
/// use client::{Routes, ShardMap};
///
/// let map: ShardMap = serde_json::from_str(
///     r#"{"name": "tenants", "strategy": "range", "key": ["bigint"], "version": 3, "incarnation": "x",
///         "mappings": [{"keys": {"range": [{"to": 501}]}, "shard": "a"},
///                      {"keys": {"range": [{"from": 501}]}, "shard": "b"}]}"#,
/// )?;
/// let routes = Routes::new(map)?;
/// assert_eq!(routes.shard_for(500)?.as_str(), "a");
/// assert_eq!(routes.shard_for(501)?.as_str(), "b");
/// assert!(routes.shard_for("acme").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Routes {
    map: Arc<ShardMap>,
    /// The names of the owners, each once.
    shards: Vec<ShardName>,
    index: Index,
}

/// The index from keys to owners.
#[derive(Debug)]
enum Index {
    Keys(Cuts<Key>),
    Numbers(Cuts<i64>),
    /// The owner of each virtual shard.
    Buckets(Vec<Option<Owner>>),
    /// Ranges of virtual shards.
    ManyBuckets(Cuts<u32>),
    ListedKeys(HashMap<Key, Owner>),
    ListedNumbers(Sorted<i64, Owner>),
}

impl Routes {
    /// Checks the map and builds its index, in `O(mappings)`, or for a list map in `O(keys)`.
    ///
    /// # Errors
    /// [`MapError`] if mappings overlap or do not have the kind of the map.
    pub fn new(map: ShardMap) -> Result<Self, MapError> {
        let map = map.validated()?;
        let shards = map.shards();
        let index = Index::of(&map, &shards);
        Ok(Self {
            map: Arc::new(map),
            shards,
            index,
        })
    }

    /// Returns the map.
    #[must_use]
    pub fn map(&self) -> &Arc<ShardMap> {
        &self.map
    }

    /// Returns the shard that owns `key`.
    ///
    /// # Errors
    /// [`RouteError`] if no shard owns the key, or the value is not a key of this map.
    pub fn shard_for(&self, key: impl IntoKey) -> Result<&ShardName, RouteError> {
        self.shard_of(&self.accept(&key.into_key())?)
    }

    /// Converts `key` to the key types of this map.
    pub(crate) fn accept(&self, key: &Key) -> Result<Key, RouteError> {
        accept(&self.map.key, key).map_err(|source| RouteError::Key {
            key: key.clone(),
            map: self.map.name.clone(),
            source,
        })
    }

    /// Returns the owner of a key that [`Routes::accept`] has converted.
    pub(crate) fn shard_of(&self, key: &Key) -> Result<&ShardName, RouteError> {
        let owner = match &self.index {
            Index::Keys(cuts) => cuts.owner(key),
            Index::Numbers(cuts) => number(key).and_then(|number| cuts.owner(&number)),
            Index::Buckets(table) => {
                let bucket = usize::try_from(bucket_of(key, self.map.buckets)).ok();
                bucket.and_then(|bucket| *table.get(bucket)?)
            }
            Index::ManyBuckets(cuts) => cuts.owner(&bucket_of(key, self.map.buckets)),
            Index::ListedKeys(table) => table.get(key).copied(),
            Index::ListedNumbers(sorted) => number(key).and_then(|n| sorted.get(&n).copied()),
        };
        owner
            .and_then(|owner| self.shards.get(usize::try_from(owner.get() - 1).ok()?))
            .ok_or_else(|| RouteError::Unmapped {
                key: key.clone(),
                map: self.map.name.clone(),
                version: self.map.version,
            })
    }
}

impl Index {
    fn of(map: &ShardMap, shards: &[ShardName]) -> Self {
        let owner = |shard: &ShardName| {
            let place = shards.binary_search(shard).unwrap_or(usize::MAX);
            let number = u32::try_from(place).unwrap_or(u32::MAX);
            Owner::MIN.saturating_add(number)
        };
        let mappings = || map.mappings.iter().map(|m| (&m.keys, owner(&m.shard)));
        let is_number = matches!(map.key.as_slice(), [only] if number(&only.least()).is_some());
        match map.strategy {
            Strategy::Range if is_number => {
                let end = |key: Option<Key>| key.as_ref().and_then(number);
                Self::Numbers(Cuts::new(
                    ranges(mappings()).map(|(from, to, owner)| (end(from), end(to), owner)),
                ))
            }
            Strategy::Range => Self::Keys(Cuts::new(ranges(mappings()))),
            Strategy::Hash => {
                let pieces = buckets(mappings());
                match map.buckets > LARGEST_TABLE {
                    true => Self::ManyBuckets(Cuts::new(
                        pieces.map(|(from, to, owner)| (Some(from), Some(to), owner)),
                    )),
                    false => Self::Buckets(table(map.buckets, pieces)),
                }
            }
            Strategy::List if is_number => {
                let listed = listed(mappings());
                let numbers = listed.filter_map(|(key, owner)| Some((number(key)?, owner)));
                Self::ListedNumbers(Sorted::new(numbers.collect()))
            }
            Strategy::List => {
                Self::ListedKeys(listed(mappings()).map(|(k, o)| (k.clone(), o)).collect())
            }
        }
    }
}

/// Returns a numeric key as a number with the same order.
fn number(key: &Key) -> Option<i64> {
    match key {
        Key::Int(value) | Key::Timestamp(value) => Some(*value),
        Key::Date(days) => Some((*days).into()),
        Key::Text(_) | Key::Uuid(_) | Key::Bytes(_) | Key::Row(_) => None,
    }
}

fn ranges<'a>(
    mappings: impl Iterator<Item = (&'a KeySet, Owner)>,
) -> impl Iterator<Item = (Option<Key>, Option<Key>, Owner)> {
    mappings.flat_map(|(keys, owner)| {
        let ranges = match keys {
            KeySet::Range(ranges) => ranges.as_slice(),
            KeySet::Hash(_) | KeySet::List(_) => &[],
        };
        ranges
            .iter()
            .map(move |r| (r.from.clone(), r.to.clone(), owner))
    })
}

fn buckets<'a>(
    mappings: impl Iterator<Item = (&'a KeySet, Owner)>,
) -> impl Iterator<Item = (u32, u32, Owner)> {
    mappings.flat_map(|(keys, owner)| {
        let ranges = match keys {
            KeySet::Hash(buckets) => buckets.ranges.as_slice(),
            KeySet::Range(_) | KeySet::List(_) => &[],
        };
        ranges
            .iter()
            .map(move |range| (range.from, range.to, owner))
    })
}

fn listed<'a>(
    mappings: impl Iterator<Item = (&'a KeySet, Owner)>,
) -> impl Iterator<Item = (&'a Key, Owner)> {
    mappings.flat_map(|(keys, owner)| {
        let keys = match keys {
            KeySet::List(keys) => Some(keys),
            KeySet::Range(_) | KeySet::Hash(_) => None,
        };
        keys.into_iter().flatten().map(move |key| (key, owner))
    })
}

fn table(of: u32, pieces: impl Iterator<Item = (u32, u32, Owner)>) -> Vec<Option<Owner>> {
    let place = |bucket| usize::try_from(bucket).unwrap_or(usize::MAX);
    let mut table = vec![None; place(of)];
    for (from, to, owner) in pieces {
        if let Some(entries) = table.get_mut(place(from)..place(to)) {
            entries.fill(Some(owner));
        }
    }
    table
}

#[cfg(test)]
mod tests;
