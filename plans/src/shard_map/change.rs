//! The next version of a map, and the differences between two versions.

use super::{MapError, Mapping, MappingState, ShardMap, Strategy};
use crate::id::{MigrationId, ShardName};
use crate::key_set::{BucketRange, Buckets, KeySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

impl ShardMap {
    /// Returns the next version, in which `to` owns `keys` in place of `from`. If only a part of a mapping moves,
    /// `from` keeps the other part.
    ///
    /// # Errors
    /// [`MapError::NotOwned`] if `keys` is empty, or `from` does not own all of them.
    pub fn with_moved(
        &self,
        keys: &KeySet,
        from: &ShardName,
        to: &ShardName,
        migration: &MigrationId,
    ) -> Result<Self, MapError> {
        if keys.is_empty() || !self.owned_by(from).covers(keys) {
            return Err(MapError::NotOwned {
                map: self.name.clone(),
                version: self.version,
                keys: keys.clone(),
                shard: from.clone(),
            });
        }
        let mut mappings = Vec::with_capacity(self.mappings.len() + 2);
        for mapping in &self.mappings {
            if &mapping.shard != from || !mapping.keys.overlaps(keys) {
                mappings.push(mapping.clone());
                continue;
            }
            let rest = mapping.keys.minus(keys);
            let moved = mapping.keys.intersection(keys);
            for (keys, shard) in [(rest, from), (moved, to)] {
                if !keys.is_empty() {
                    mappings.push(Mapping {
                        keys,
                        shard: shard.clone(),
                        state: MappingState::Active,
                    });
                }
            }
        }
        let next = Self {
            version: self.version.next(),
            migration: Some(migration.clone()),
            mappings,
            ..self.clone()
        };
        Ok(next.validated()?.joined())
    }

    /// Returns the same map with adjacent ranges of one shard joined.
    #[must_use]
    pub fn joined(mut self) -> Self {
        if self.strategy == Strategy::List {
            return self;
        }
        let mut joined: Vec<Mapping> = Vec::with_capacity(self.mappings.len());
        for mapping in self.mappings.drain(..) {
            match joined.last_mut() {
                Some(last) if last.shard == mapping.shard && last.state == mapping.state => {
                    let both = last.keys.union(&mapping.keys);
                    if both.pieces().len() == 1 {
                        last.keys = both;
                    } else {
                        joined.push(mapping);
                    }
                }
                _ => joined.push(mapping),
            }
        }
        self.mappings = joined;
        self
    }
}

/// The maximum number of mappings of a map with another number of virtual shards, or of a converted map.
pub(super) const MAX_MAPPINGS: usize = 1_000_000;

impl ShardMap {
    /// Returns the next version of a hash map with another number of virtual shards. Each key keeps its owner. The rules of
    /// the settings name the same keys.
    ///
    /// # Errors
    /// [`MapError::Shape`] if the map is not a hash map, if the number is not a power of two, or if fewer virtual shards
    /// would have keys of several owners.
    pub fn with_bucket_count(&self, buckets: u32) -> Result<Self, MapError> {
        let refuse = |problem: String| MapError::Shape {
            map: self.name.clone(),
            problem,
        };
        let mut next = self.clone();
        next.buckets = buckets;
        next.mappings.clear();
        next.check_form()?;
        if self.strategy != Strategy::Hash {
            return Err(refuse(format!(
                "a {} map has no virtual shards",
                self.strategy
            )));
        }
        let mut owned: BTreeMap<&ShardName, Vec<BucketRange>> = BTreeMap::new();
        for mapping in &self.mappings {
            if let Some(key) = mapping.keys.exception() {
                next.mappings.push(Mapping {
                    keys: KeySet::single_keys(buckets, [key.clone()]),
                    ..mapping.clone()
                });
            } else if let KeySet::Hash(keys) = &mapping.keys {
                owned
                    .entry(&mapping.shard)
                    .or_default()
                    .extend(keys.ranges.iter().cloned());
            }
        }
        let of = self.buckets;
        let factor = usize::try_from(buckets / of.max(1)).unwrap_or(usize::MAX);
        // Pieces at the ends can join, so at most half of them disappear. A whole map stays one piece.
        let ranges = self.mappings.len() - self.exceptions().count();
        let pieces = ranges.saturating_mul(factor) / 2;
        if ranges > 1 && pieces > MAX_MAPPINGS {
            return Err(refuse(too_many(buckets, pieces)));
        }
        for (shard, ranges) in owned {
            let except = BTreeSet::new();
            let keys = Buckets { of, ranges, except };
            let keys = keys.with_count(buckets).ok_or_else(|| {
                refuse(format!(
                    "with {buckets} virtual shards, some would have keys of shard {shard} and of others, or keys without an owner: move keys first, so that virtual shard b and virtual shard b + {buckets} have the same owner"
                ))
            })?;
            next.mappings.push(Mapping {
                keys: KeySet::Hash(keys),
                shard: shard.clone(),
                state: MappingState::Active,
            });
        }
        for rule in &mut next.settings.rules {
            let Some(keys) = rule.keys.take() else {
                continue;
            };
            let same = keys.with_bucket_count(buckets).ok_or_else(|| {
                refuse(format!(
                    "with {buckets} virtual shards, the rule for {keys} could not name these keys: remove or change the rule first"
                ))
            })?;
            rule.keys = Some(same);
        }
        let next = next.validated()?;
        if next.mappings.len() > MAX_MAPPINGS {
            return Err(refuse(too_many(buckets, next.mappings.len())));
        }
        Ok(next)
    }
}

fn too_many(buckets: u32, mappings: usize) -> String {
    format!(
        "with {buckets} virtual shards it would have {mappings} mappings or more; {MAX_MAPPINGS} are possible"
    )
}

/// Keys with different owners in two versions of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The keys.
    pub keys: KeySet,
    /// The owner in the first version; without a value no shard owns them.
    pub from: Option<ShardName>,
    /// The owner in the second version; without a value no shard owns them.
    pub to: Option<ShardName>,
}

/// Returns the keys of each owner in `mappings`. `empty` is an empty set of the same kind.
pub(super) fn keys_by_owner<'a>(
    mappings: impl IntoIterator<Item = &'a Mapping>,
    empty: &KeySet,
) -> BTreeMap<&'a ShardName, KeySet> {
    let mut owned: BTreeMap<&ShardName, Vec<&KeySet>> = BTreeMap::new();
    for mapping in mappings {
        owned.entry(&mapping.shard).or_default().push(&mapping.keys);
    }
    let owned = owned.into_iter();
    owned
        .map(|(shard, keys)| (shard, empty.clone().union_all(keys)))
        .collect()
}

/// The owners of keys, and all keys that they own.
struct OwnedKeys<'a> {
    owners: Vec<(&'a ShardName, KeySet)>,
    all: KeySet,
}

impl<'a> OwnedKeys<'a> {
    fn of(mappings: &[&'a Mapping], empty: &KeySet) -> Self {
        Self {
            owners: keys_by_owner(mappings.iter().copied(), empty)
                .into_iter()
                .collect(),
            all: empty
                .clone()
                .union_all(mappings.iter().map(|mapping| &mapping.keys)),
        }
    }
}

/// Returns the mappings of both maps without those that both have. Both maps are in key order; in another order, more
/// mappings are returned.
fn changed_mappings<'a>(
    before: &'a ShardMap,
    after: &'a ShardMap,
) -> (Vec<&'a Mapping>, Vec<&'a Mapping>) {
    // An exception takes its key from a mapping that both versions can have.
    let has_exceptions = |map: &ShardMap| map.exceptions().next().is_some();
    if has_exceptions(before) || has_exceptions(after) {
        return (
            before.mappings.iter().collect(),
            after.mappings.iter().collect(),
        );
    }
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut old = before.mappings.iter().peekable();
    let mut new = after.mappings.iter().peekable();
    while let (Some(from), Some(to)) = (old.peek(), new.peek()) {
        match from.keys.cmp(&to.keys) {
            Ordering::Less => removed.extend(old.next()),
            Ordering::Greater => added.extend(new.next()),
            Ordering::Equal => {
                if from.shard != to.shard {
                    removed.push(*from);
                    added.push(*to);
                }
                old.next();
                new.next();
            }
        }
    }
    removed.extend(old);
    added.extend(new);
    (removed, added)
}

/// Returns the changes from `before` to `after`, by old and new owner.
///
/// It compares the keys of each shard whose mappings have changed with those of each other such shard: `O(mappings)`
/// comparisons, and `O(shards²)` set operations for the changed shards.
#[must_use]
pub fn difference(before: &ShardMap, after: &ShardMap) -> Vec<Difference> {
    let (removed, added) = changed_mappings(before, after);
    let empty = before.empty_key_set();
    let (old, new) = (
        OwnedKeys::of(&removed, &empty),
        OwnedKeys::of(&added, &empty),
    );
    let mut found = Vec::new();
    let mut add = |keys: KeySet, from: Option<&ShardName>, to: Option<&ShardName>| {
        if !keys.is_empty() && from != to {
            found.push(Difference {
                keys,
                from: from.cloned(),
                to: to.cloned(),
            });
        }
    };
    for (from, keys) in &old.owners {
        for (to, new_keys) in &new.owners {
            add(keys.intersection(new_keys), Some(from), Some(to));
        }
        add(keys.minus(&new.all), Some(from), None);
    }
    for (to, keys) in &new.owners {
        add(keys.minus(&old.all), None, Some(to));
    }
    found
}
