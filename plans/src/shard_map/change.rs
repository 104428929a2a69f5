//! The next version of a map, and the differences between two versions.

use super::{MapError, Mapping, MappingState, ShardMap, Strategy};
use crate::id::{MigrationId, ShardName};
use crate::key_set::{BucketRange, Buckets, KeySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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

/// The maximum number of mappings of a map with another number of virtual shards.
const MAX_MAPPINGS: usize = 1_000_000;

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

/// Returns the changes from `before` to `after`, by old and new owner.
///
/// It compares the keys of each shard with those of each other shard: `O(shards²)` set operations.
#[must_use]
pub fn difference(before: &ShardMap, after: &ShardMap) -> Vec<Difference> {
    let owners = |map: &ShardMap| -> Vec<(ShardName, KeySet)> {
        let shards = map.shards().into_iter();
        shards
            .map(|shard| (shard.clone(), map.owned_by(&shard)))
            .collect()
    };
    let (old, new) = (owners(before), owners(after));
    let owned_keys = |owners: &[(ShardName, KeySet)]| {
        owners
            .iter()
            .fold(before.empty_key_set(), |all, (_, keys)| all.union(keys))
    };
    let (mapped_before, mapped_after) = (owned_keys(&old), owned_keys(&new));
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
    for (from, keys) in &old {
        for (to, new_keys) in &new {
            add(keys.intersection(new_keys), Some(from), Some(to));
        }
        add(keys.minus(&mapped_after), Some(from), None);
    }
    for (to, keys) in &new {
        add(keys.minus(&mapped_before), None, Some(to));
    }
    found
}
