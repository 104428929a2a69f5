//! A map with another strategy or key (ADR 78). Each key that exists keeps its shard; other keys belong to the owner that
//! the new mappings name.

use super::change::MAX_MAPPINGS;
use super::{MapError, Mapping, MappingState, ShardMap, Strategy};
use crate::id::{MapName, ShardName};
use crate::key_set::KeySet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The keys with rows on each shard.
pub type KeysByShard = BTreeMap<ShardName, KeySet>;

/// Keys that stay on their shard although the new mappings name another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptKeys {
    /// The shard on which the keys are.
    pub shard: ShardName,
    /// The shard that the new mappings name.
    pub wanted: ShardName,
    /// The keys.
    pub keys: KeySet,
}

/// Why a map cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// The new mappings leave out keys.
    #[error("map {map}: the new mappings give no shard to {keys}")]
    Unmapped {
        /// The map.
        map: MapName,
        /// The keys without an owner.
        keys: Box<KeySet>,
    },
    /// The map becomes a list map, which cannot have an owner for each possible key.
    #[error(
        "map {map}: a list map has no owner for keys that it does not list, and clients could write them during the conversion"
    )]
    List {
        /// The map.
        map: MapName,
    },
    /// A new key has rows on two shards.
    #[error("map {map}: rows of the same keys are on shards {first} and {second}: {keys}")]
    TwoShards {
        /// The map.
        map: MapName,
        /// The keys.
        keys: Box<KeySet>,
        /// One of the shards.
        first: ShardName,
        /// The other shard.
        second: ShardName,
    },
    /// Too many keys keep their shard.
    #[error(
        "map {map}: with the keys that keep their shard it would have {mappings} mappings; {MAX_MAPPINGS} are possible"
    )]
    TooMany {
        /// The map.
        map: MapName,
        /// The number of mappings.
        mappings: usize,
    },
    /// The map is not valid.
    #[error(transparent)]
    Map(#[from] MapError),
}

impl ShardMap {
    /// Returns the keys that no shard owns, also those outside of the mapped ranges; `None` for a list map, whose
    /// possible keys are unlimited.
    #[must_use]
    pub fn unmapped(&self) -> Option<KeySet> {
        let all = match self.strategy {
            Strategy::Range => KeySet::range(None, None),
            Strategy::Hash => KeySet::buckets(self.buckets, 0, self.buckets),
            Strategy::List => return None,
        };
        Some(all.minus(&self.mapped()))
    }

    /// Fails unless each possible key has an owner. Without one, a client with the version before could write a key that
    /// no shard owns, and later another shard could get it.
    ///
    /// # Errors
    /// [`ConversionError::List`] or [`ConversionError::Unmapped`].
    pub fn check_complete(&self) -> Result<(), ConversionError> {
        let map = self.name.clone();
        match self.unmapped() {
            None => Err(ConversionError::List { map }),
            Some(keys) if keys.is_empty() => Ok(()),
            Some(keys) => Err(ConversionError::Unmapped {
                map,
                keys: Box::new(keys),
            }),
        }
    }

    /// Returns this map with the keys of `existing` on the shards where their rows are.
    ///
    /// # Errors
    /// A key has rows on two shards, or the map would have too many mappings.
    pub fn with_existing(&self, existing: &KeysByShard) -> Result<Self, ConversionError> {
        self.check_apart(existing)?;
        let mut owned: KeysByShard = self
            .owned_keys()
            .into_iter()
            .map(|(shard, keys)| (shard.clone(), keys))
            .collect();
        for (shard, keys) in existing {
            let kept = match owned.get(shard) {
                Some(own) => keys.minus(own),
                None => keys.clone(),
            };
            if kept.is_empty() {
                continue;
            }
            for (owner, keys) in &mut owned {
                if owner != shard {
                    *keys = keys.minus(&kept);
                }
            }
            let own = owned
                .entry(shard.clone())
                .or_insert_with(|| self.empty_key_set());
            *own = own.union(&kept);
        }
        let mut next = self.clone();
        next.mappings = owned
            .into_iter()
            .filter(|(_, keys)| !keys.is_empty())
            .map(|(shard, keys)| Mapping {
                keys,
                shard,
                state: MappingState::Active,
            })
            .collect();
        let next = next.validated()?;
        if next.mappings.len() > MAX_MAPPINGS {
            return Err(ConversionError::TooMany {
                map: self.name.clone(),
                mappings: next.mappings.len(),
            });
        }
        Ok(next)
    }

    /// Fails if a key has rows on two shards.
    fn check_apart(&self, existing: &KeysByShard) -> Result<(), ConversionError> {
        let mut checked: Vec<(&ShardName, &KeySet)> = Vec::new();
        for (shard, keys) in existing {
            for (other, of_other) in &checked {
                let both = keys.intersection(of_other);
                if !both.is_empty() {
                    return Err(ConversionError::TwoShards {
                        map: self.name.clone(),
                        keys: Box::new(both),
                        first: (*other).clone(),
                        second: shard.clone(),
                    });
                }
            }
            checked.push((shard, keys));
        }
        Ok(())
    }

    /// Returns the keys whose owner in `kept`, a map of the same strategy, is not that in this map.
    #[must_use]
    pub fn kept_in(&self, kept: &Self) -> Vec<KeptKeys> {
        let mut all = Vec::new();
        for (wanted, keys) in self.owned_keys() {
            for (shard, owned) in kept.owned_keys() {
                let keys = keys.intersection(&owned);
                if shard != wanted && !keys.is_empty() {
                    all.push(KeptKeys {
                        shard: shard.clone(),
                        wanted: wanted.clone(),
                        keys,
                    });
                }
            }
        }
        all
    }

    /// Returns the keys that other shards than `shard` own: those that it must refuse.
    #[must_use]
    pub fn refused_by(&self, shard: &ShardName) -> KeySet {
        self.mapped().minus(&self.owned_by(shard))
    }
}
