//! A map as a list of pieces, and the difference of two versions.
//!
//! A piece is a range, a range of virtual shards, or single keys of a list map. The store keeps each piece as a row of
//! its own, and writes only the pieces that differ from the version before.

use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// One range of keys, one range of virtual shards, or listed keys, with their owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MapPiece {
    pub(super) keys: KeySet,
    pub(super) shard: ShardName,
}

/// Which changes of owner a new map version may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedOwners {
    /// Keys that an unfinished migration moves must keep their owner.
    Checked,
    /// Any change is allowed, because the shards prove it.
    Proven,
}

/// The pieces that a new version removes from a map and those that it adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MapDelta {
    pub(super) removed: Vec<MapPiece>,
    pub(super) added: Vec<MapPiece>,
}

impl MapDelta {
    /// Returns the delta from an empty map to `map`.
    pub(super) fn first(map: &ShardMap) -> Self {
        let added = match map.strategy {
            Strategy::List => map.mappings.iter().map(MapPiece::from).collect(),
            Strategy::Range | Strategy::Hash => pieces_of(map),
        };
        Self {
            removed: Vec::new(),
            added,
        }
    }

    /// Returns the delta from `before` to `after`, which are two versions of one map, or of the same part of it.
    pub(super) fn between(before: &ShardMap, after: &ShardMap) -> Self {
        if before.strategy == Strategy::List {
            let (old, new) = (keys_by_owner(before), keys_by_owner(after));
            return Self {
                removed: pieces_only_in(&old, &new),
                added: pieces_only_in(&new, &old),
            };
        }
        let set = |map| pieces_of(map).into_iter().collect::<BTreeSet<MapPiece>>();
        let (old, new) = (set(before), set(after));
        Self {
            removed: old.difference(&new).cloned().collect(),
            added: new.difference(&old).cloned().collect(),
        }
    }

    /// Returns the delta from the later version to the earlier one.
    pub(super) fn reversed(self) -> Self {
        Self {
            removed: self.added,
            added: self.removed,
        }
    }

    /// Returns the keys that get another owner, become mapped or become unmapped. `none` is an empty set of the same
    /// kind.
    pub(super) fn reassigned_keys(&self, none: KeySet) -> KeySet {
        let (lost, gained) = (
            united_by_shard(&self.removed, &none),
            united_by_shard(&self.added, &none),
        );
        let shards: BTreeSet<&ShardName> = lost.keys().chain(gained.keys()).copied().collect();
        shards.into_iter().fold(none.clone(), |all, shard| {
            let (old, new) = (
                lost.get(shard).unwrap_or(&none),
                gained.get(shard).unwrap_or(&none),
            );
            all.union(&old.minus(new)).union(&new.minus(old))
        })
    }
}

impl From<&Mapping> for MapPiece {
    fn from(mapping: &Mapping) -> Self {
        Self {
            keys: mapping.keys.clone(),
            shard: mapping.shard.clone(),
        }
    }
}

/// Returns the number of ranges, ranges of virtual shards or single keys in `pieces`.
pub(super) fn piece_count(pieces: &[MapPiece]) -> i64 {
    let parts = pieces.iter().map(|piece| match &piece.keys {
        KeySet::Range(ranges) => ranges.len(),
        KeySet::Hash(buckets) => {
            buckets.ranges.len() + usize::from(piece.keys.exception().is_some())
        }
        KeySet::List(keys) => keys.len(),
    });
    i64::try_from(parts.sum::<usize>()).unwrap_or(i64::MAX)
}

/// Returns the pieces of a map that is no list map. Each range of virtual shards is whole, and an exception takes
/// precedence over it. So an exception changes no other piece.
fn pieces_of(map: &ShardMap) -> Vec<MapPiece> {
    let pieces = map.mappings.iter().flat_map(|mapping| {
        let parts = match mapping.keys.exception() {
            Some(_) => vec![mapping.keys.clone()],
            None => mapping.keys.whole_buckets().pieces(),
        };
        parts.into_iter().map(|keys| MapPiece {
            keys,
            shard: mapping.shard.clone(),
        })
    });
    pieces.collect()
}

/// Returns the keys of a list map, grouped by owner.
fn keys_by_owner(map: &ShardMap) -> BTreeMap<&ShardName, Vec<&BTreeSet<Key>>> {
    let mut found: BTreeMap<&ShardName, Vec<&BTreeSet<Key>>> = BTreeMap::new();
    for mapping in &map.mappings {
        if let KeySet::List(keys) = &mapping.keys {
            found.entry(&mapping.shard).or_default().push(keys);
        }
    }
    found
}

fn pieces_only_in(
    sets: &BTreeMap<&ShardName, Vec<&BTreeSet<Key>>>,
    others: &BTreeMap<&ShardName, Vec<&BTreeSet<Key>>>,
) -> Vec<MapPiece> {
    let mut found = Vec::new();
    for (shard, own) in sets {
        let other = others.get(shard).map_or(&[][..], Vec::as_slice);
        let keys = own.iter().copied().flatten();
        let keys = keys.filter(|key| !other.iter().any(|set| set.contains(*key)));
        let keys: BTreeSet<Key> = keys.cloned().collect();
        if !keys.is_empty() {
            found.push(MapPiece {
                keys: KeySet::List(keys),
                shard: (*shard).clone(),
            });
        }
    }
    found
}

fn united_by_shard<'a>(pieces: &'a [MapPiece], none: &KeySet) -> BTreeMap<&'a ShardName, KeySet> {
    let mut sets: BTreeMap<&ShardName, Vec<&KeySet>> = BTreeMap::new();
    for piece in pieces {
        sets.entry(&piece.shard).or_default().push(&piece.keys);
    }
    let united = |(shard, parts): (_, Vec<&KeySet>)| (shard, none.clone().union_all(parts));
    sets.into_iter().map(united).collect()
}

/// Returns a stored piece as a piece of its map: a listed key of a hash map with `buckets` virtual shards is an exception.
fn in_map(piece: MapPiece, strategy: Strategy, buckets: u32) -> MapPiece {
    match (strategy, piece.keys) {
        (Strategy::Hash, KeySet::List(keys)) => MapPiece {
            keys: KeySet::single_keys(buckets, keys),
            shard: piece.shard,
        },
        (_, keys) => MapPiece { keys, ..piece },
    }
}

/// Returns the mappings of a [`ShardMap`] with `buckets` virtual shards and these `pieces`. The keys of a list map are
/// grouped by shard, in key order. [`ShardMap::validated`] gives the mappings of a hash map their form.
pub(super) fn mappings_of(strategy: Strategy, buckets: u32, pieces: Vec<MapPiece>) -> Vec<Mapping> {
    let mapping = |keys, shard| Mapping {
        keys,
        shard,
        state: MappingState::Active,
    };
    let mut mappings: Vec<Mapping> = match strategy {
        Strategy::Range | Strategy::Hash => {
            let pieces = pieces
                .into_iter()
                .map(|piece| in_map(piece, strategy, buckets));
            pieces
                .map(|piece| mapping(piece.keys, piece.shard))
                .collect()
        }
        Strategy::List => {
            let mut keys: BTreeMap<ShardName, Vec<Key>> = BTreeMap::new();
            for piece in pieces {
                if let KeySet::List(own) = piece.keys {
                    keys.entry(piece.shard).or_default().extend(own);
                }
            }
            let keys = keys.into_iter();
            keys.map(|(shard, keys)| mapping(KeySet::list(keys), shard))
                .collect()
        }
    };
    mappings.sort_by(|a, b| a.keys.cmp(&b.keys));
    mappings
}

/// Returns the mappings of `map` after `delta`, in the form of [`mappings_of`], or `None` if `delta` does not start
/// from `map`. Afterwards the map has `buckets` virtual shards.
pub(super) fn mappings_after(
    map: &ShardMap,
    buckets: u32,
    delta: MapDelta,
) -> Option<Vec<Mapping>> {
    match map.strategy {
        Strategy::Range => range_mappings_after(map, delta),
        Strategy::List => list_mappings_after(map, delta),
        Strategy::Hash => {
            let mut all: BTreeSet<MapPiece> = pieces_of(map).into_iter().collect();
            let mut removed = delta.removed.into_iter();
            let left = removed.all(|piece| all.remove(&in_map(piece, map.strategy, map.buckets)));
            let mut added = delta.added.into_iter();
            let entered = added.all(|piece| all.insert(in_map(piece, map.strategy, buckets)));
            let all = all.into_iter().collect();
            (left && entered).then(|| mappings_of(map.strategy, buckets, all))
        }
    }
}

/// Does the same as [`mappings_after`] for range maps, whose mappings have one range each. It copies each mapping that
/// stays once, because there can be a million.
fn range_mappings_after(map: &ShardMap, delta: MapDelta) -> Option<Vec<Mapping>> {
    let removed = delta.removed.into_iter();
    let mut removed: BTreeMap<KeySet, ShardName> =
        removed.map(|piece| (piece.keys, piece.shard)).collect();
    let mut mappings = Vec::with_capacity(map.mappings.len() + delta.added.len());
    for mapping in &map.mappings {
        if removed.get(&mapping.keys) == Some(&mapping.shard) {
            removed.remove(&mapping.keys);
        } else {
            mappings.push(mapping.clone());
        }
    }
    let is_known = |piece: &MapPiece| {
        let found = mappings.binary_search_by(|mapping| mapping.keys.cmp(&piece.keys));
        found.is_ok()
    };
    if !removed.is_empty() || delta.added.iter().any(is_known) {
        return None;
    }
    mappings.extend(mappings_of(Strategy::Range, 0, delta.added));
    mappings.sort_by(|a, b| a.keys.cmp(&b.keys));
    Some(mappings)
}

/// Does the same as [`mappings_after`] for list maps. It compares only the keys of the delta one by one.
fn list_mappings_after(map: &ShardMap, delta: MapDelta) -> Option<Vec<Mapping>> {
    let mut owned: BTreeMap<ShardName, BTreeSet<Key>> = BTreeMap::new();
    for mapping in &map.mappings {
        if let KeySet::List(keys) = &mapping.keys {
            owned.insert(mapping.shard.clone(), keys.clone());
        }
    }
    for piece in delta.removed {
        let (KeySet::List(keys), Some(own)) = (piece.keys, owned.get_mut(&piece.shard)) else {
            return None;
        };
        if !keys.iter().all(|key| own.remove(key)) {
            return None;
        }
    }
    for piece in delta.added {
        let KeySet::List(keys) = piece.keys else {
            return None;
        };
        owned.entry(piece.shard).or_default().extend(keys);
    }
    let owned = owned.into_iter().filter(|(_, keys)| !keys.is_empty());
    let mapping = |(shard, keys)| Mapping {
        keys: KeySet::List(keys),
        shard,
        state: MappingState::Active,
    };
    let mut mappings: Vec<Mapping> = owned.map(mapping).collect();
    mappings.sort_by(|a, b| a.keys.cmp(&b.keys));
    Some(mappings)
}

#[cfg(test)]
mod tests;
