//! One version of the map, with an index from keys to shards. The index is built when the version arrives.
//!
//! The index of a range map has the bounds in key order. That of a hash map is a table with one entry for each virtual
//! shard, and a hash table of its exceptions. That of a list map is a hash table. Numeric keys are stored as sorted numbers, so that a lookup among a
//! million keys reads little memory. A key without a mapping always causes an error.

use crate::error::RouteError;
use crate::into_key::IntoKey;
use crate::sorted::{OwnerNumber, PieceOwners, Sorted};
use plans::id::ShardName;
use plans::key::{Key, accept};
use plans::key_set::{KeySet, bucket_of};
use plans::shard_map::{MapError, ShardMap, Strategy};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of virtual shards for which the index has a table. A map with more has ranges of virtual shards.
const MAX_TABLE_SIZE: u32 = 1 << 16;

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
    /// The single keys of a hash map with an owner of their own.
    exceptions: HashMap<Key, OwnerNumber>,
}

/// The index from keys to owners.
#[derive(Debug)]
enum Index {
    /// Ranges of keys that are not numbers.
    KeyRanges(PieceOwners<Key>),
    /// Ranges of keys that are numbers.
    NumberRanges(PieceOwners<i64>),
    /// The owner of each virtual shard.
    BucketTable(Vec<Option<OwnerNumber>>),
    /// Ranges of virtual shards.
    BucketRanges(PieceOwners<u32>),
    /// Single keys that are not numbers.
    ListedKeys(HashMap<Key, OwnerNumber>),
    /// Single keys that are numbers.
    ListedNumbers(Sorted<i64, OwnerNumber>),
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
        let exceptions = map.exceptions();
        let exceptions = exceptions.map(|(key, shard)| (key.clone(), owner_number(shard, &shards)));
        Ok(Self {
            exceptions: exceptions.collect(),
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
        let indexed = || match &self.index {
            Index::KeyRanges(pieces) => pieces.owner(key),
            Index::NumberRanges(pieces) => number(key).and_then(|number| pieces.owner(&number)),
            Index::BucketTable(table) => {
                let bucket = usize::try_from(bucket_of(key, self.map.buckets)).ok();
                bucket.and_then(|bucket| *table.get(bucket)?)
            }
            Index::BucketRanges(pieces) => pieces.owner(&bucket_of(key, self.map.buckets)),
            Index::ListedKeys(table) => table.get(key).copied(),
            Index::ListedNumbers(sorted) => number(key).and_then(|n| sorted.get(&n).copied()),
        };
        let exception = self.exceptions.get(key).copied();
        exception
            .or_else(indexed)
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
        let owner = |shard: &ShardName| owner_number(shard, shards);
        let mappings = || map.mappings.iter().map(|m| (&m.keys, owner(&m.shard)));
        let is_number = matches!(map.key.as_slice(), [only] if number(&only.least()).is_some());
        match map.strategy {
            Strategy::Range if is_number => {
                let end = |key: Option<Key>| key.as_ref().and_then(number);
                Self::NumberRanges(PieceOwners::new(
                    range_pieces(mappings()).map(|(from, to, owner)| (end(from), end(to), owner)),
                ))
            }
            Strategy::Range => Self::KeyRanges(PieceOwners::new(range_pieces(mappings()))),
            Strategy::Hash => {
                let pieces = bucket_pieces(mappings());
                match map.buckets > MAX_TABLE_SIZE {
                    true => Self::BucketRanges(PieceOwners::new(
                        pieces.map(|(from, to, owner)| (Some(from), Some(to), owner)),
                    )),
                    false => Self::BucketTable(bucket_table(map.buckets, pieces)),
                }
            }
            Strategy::List if is_number => {
                let keys = listed_keys(mappings());
                let numbers = keys.filter_map(|(key, owner)| Some((number(key)?, owner)));
                Self::ListedNumbers(Sorted::new(numbers.collect()))
            }
            Strategy::List => Self::ListedKeys(
                listed_keys(mappings())
                    .map(|(k, o)| (k.clone(), o))
                    .collect(),
            ),
        }
    }
}

/// Returns the number of an owner: its index in `shards`, plus one.
fn owner_number(shard: &ShardName, shards: &[ShardName]) -> OwnerNumber {
    let index = shards.binary_search(shard).unwrap_or(usize::MAX);
    let number = u32::try_from(index).unwrap_or(u32::MAX);
    OwnerNumber::MIN.saturating_add(number)
}

/// Returns a numeric key as a number with the same order.
fn number(key: &Key) -> Option<i64> {
    match key {
        Key::Int(value) | Key::Timestamp(value) => Some(*value),
        Key::Date(days) => Some((*days).into()),
        Key::Text(_) | Key::Uuid(_) | Key::Bytes(_) | Key::Row(_) => None,
    }
}

fn range_pieces<'a>(
    mappings: impl Iterator<Item = (&'a KeySet, OwnerNumber)>,
) -> impl Iterator<Item = (Option<Key>, Option<Key>, OwnerNumber)> {
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

fn bucket_pieces<'a>(
    mappings: impl Iterator<Item = (&'a KeySet, OwnerNumber)>,
) -> impl Iterator<Item = (u32, u32, OwnerNumber)> {
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

fn listed_keys<'a>(
    mappings: impl Iterator<Item = (&'a KeySet, OwnerNumber)>,
) -> impl Iterator<Item = (&'a Key, OwnerNumber)> {
    mappings.flat_map(|(keys, owner)| {
        let keys = match keys {
            KeySet::List(keys) => Some(keys),
            KeySet::Range(_) | KeySet::Hash(_) => None,
        };
        keys.into_iter().flatten().map(move |key| (key, owner))
    })
}

fn bucket_table(
    of: u32,
    pieces: impl Iterator<Item = (u32, u32, OwnerNumber)>,
) -> Vec<Option<OwnerNumber>> {
    let index = |bucket| usize::try_from(bucket).unwrap_or(usize::MAX);
    let mut table = vec![None; index(of)];
    for (from, to, owner) in pieces {
        if let Some(entries) = table.get_mut(index(from)..index(to)) {
            entries.fill(Some(owner));
        }
    }
    table
}

#[cfg(test)]
mod tests;
