//! The shard map: which shard owns which keys, in numbered versions.

use crate::id::{MapName, MapVersion, MigrationId, ShardName};
use crate::key_set::{Key, KeyRange, KeySet, KeyType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a map divides its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Half-open ranges of the key itself.
    Range,
}

/// What a reader may expect of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MappingState {
    /// Nothing is under way.
    #[default]
    Active,
    /// A migration is moving these keys; they are still owned by the shard named here.
    Moving,
}

/// A key set and the shard that owns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mapping {
    /// The keys.
    pub keys: KeySet,
    /// Their owner.
    pub shard: ShardName,
    /// Whether a migration is under way.
    #[serde(default)]
    pub state: MappingState,
}

/// One version of a shard map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardMap {
    /// The map's name.
    pub name: MapName,
    /// How keys are divided.
    pub strategy: Strategy,
    /// Types of the key's columns; one column in this version.
    pub key: Vec<KeyType>,
    /// This version.
    pub version: MapVersion,
    /// Random id of the control store that made this version: a restored store is a different one.
    pub incarnation: String,
    /// The migration that made this version, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<MigrationId>,
    /// Mappings in key order; they do not overlap.
    pub mappings: Vec<Mapping>,
}

/// Why a map, or a change of one, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Two mappings share keys.
    #[error("map {map}: {first} and {second} overlap")]
    Overlap {
        /// The map.
        map: MapName,
        /// One key set.
        first: KeySet,
        /// The other.
        second: KeySet,
    },
    /// A mapping without keys.
    #[error("map {map}: key set {keys} of shard {shard} is empty")]
    Empty {
        /// The map.
        map: MapName,
        /// The shard.
        shard: ShardName,
        /// The key set.
        keys: KeySet,
    },
    /// The keys to move are not all owned by the source.
    #[error("map {map} version {version}: {keys} does not lie within one mapping of shard {shard}")]
    NotOwned {
        /// The map.
        map: MapName,
        /// Its version.
        version: MapVersion,
        /// The keys.
        keys: KeySet,
        /// The shard that should own them.
        shard: ShardName,
    },
}

impl ShardMap {
    /// The shard that owns `key`; `None` for an unmapped key.
    ///
    /// Binary search over the mappings, O(log n).
    #[must_use]
    pub fn locate(&self, key: &Key) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| {
            let KeySet::Range(range) = &mapping.keys;
            range.from.as_ref().is_none_or(|from| from <= key)
        });
        self.mappings[..after]
            .last()
            .filter(|mapping| mapping.keys.contains(key))
    }

    /// Checks that no mapping is empty and no two overlap; sorts them.
    ///
    /// # Errors
    /// [`MapError::Empty`] or [`MapError::Overlap`], naming the key sets.
    pub fn validated(mut self) -> Result<Self, MapError> {
        self.mappings
            .sort_by(|a, b| range_of(&a.keys).cmp_start(range_of(&b.keys)));
        for mapping in &self.mappings {
            if range_of(&mapping.keys).is_empty() {
                return Err(MapError::Empty {
                    map: self.name.clone(),
                    shard: mapping.shard.clone(),
                    keys: mapping.keys.clone(),
                });
            }
        }
        for pair in self.mappings.windows(2) {
            if pair[0].keys.overlaps(&pair[1].keys) {
                return Err(MapError::Overlap {
                    map: self.name.clone(),
                    first: pair[0].keys.clone(),
                    second: pair[1].keys.clone(),
                });
            }
        }
        Ok(self)
    }

    /// The next version, in which `to` owns `keys` instead of `from`; the rest of a cut mapping stays.
    ///
    /// # Errors
    /// [`MapError::NotOwned`] unless one mapping of `from` covers `keys`.
    pub fn with_moved(
        &self,
        keys: &KeySet,
        from: &ShardName,
        to: &ShardName,
        migration: &MigrationId,
    ) -> Result<Self, MapError> {
        let moved = range_of(keys);
        let index = self
            .mappings
            .iter()
            .position(|m| &m.shard == from && range_of(&m.keys).covers(moved))
            .ok_or_else(|| MapError::NotOwned {
                map: self.name.clone(),
                version: self.version,
                keys: keys.clone(),
                shard: from.clone(),
            })?;
        let mut mappings = self.mappings.clone();
        let old = mappings.remove(index);
        let old_range = range_of(&old.keys);
        let rest = [
            KeyRange {
                from: old_range.from.clone(),
                to: moved.from.clone(),
            },
            KeyRange {
                from: moved.to.clone(),
                to: old_range.to.clone(),
            },
        ];
        let keep = [
            moved.from.is_some() && old_range.from != moved.from,
            moved.to.is_some() && old_range.to != moved.to,
        ];
        for (range, kept) in rest.into_iter().zip(keep) {
            if kept {
                let keys = KeySet::Range(range);
                mappings.push(Mapping {
                    keys,
                    shard: from.clone(),
                    state: MappingState::Active,
                });
            }
        }
        mappings.push(Mapping {
            keys: keys.clone(),
            shard: to.clone(),
            state: MappingState::Active,
        });
        let next = Self {
            version: self.version.next(),
            migration: Some(migration.clone()),
            mappings,
            ..self.clone()
        };
        next.validated()
    }
}

/// The range behind a key set.
fn range_of(keys: &KeySet) -> &KeyRange {
    let KeySet::Range(range) = keys;
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(from: Option<i64>, to: Option<i64>) -> KeySet {
        KeySet::Range(KeyRange {
            from: from.map(Key::Int),
            to: to.map(Key::Int),
        })
    }

    fn map(mappings: &[(Option<i64>, Option<i64>, &str)]) -> ShardMap {
        ShardMap {
            name: "m".into(),
            strategy: Strategy::Range,
            key: vec![KeyType::Bigint],
            version: MapVersion(1),
            incarnation: "i".to_owned(),
            migration: None,
            mappings: mappings
                .iter()
                .map(|(from, to, shard)| Mapping {
                    keys: keys(*from, *to),
                    shard: (*shard).into(),
                    state: MappingState::Active,
                })
                .collect(),
        }
    }

    #[test]
    fn a_split_leaves_the_rest_with_the_source() {
        let before = map(&[(None, None, "a")]);
        let after = before
            .with_moved(
                &keys(Some(5), Some(9)),
                &"a".into(),
                &"b".into(),
                &"m1".into(),
            )
            .unwrap();
        assert_eq!(after.version, MapVersion(2));
        let owner = |key: i64| {
            after
                .locate(&Key::Int(key))
                .map(|m| m.shard.as_str().to_owned())
        };
        assert_eq!(owner(4).as_deref(), Some("a"));
        assert_eq!(owner(5).as_deref(), Some("b"));
        assert_eq!(owner(8).as_deref(), Some("b"));
        assert_eq!(owner(9).as_deref(), Some("a"));
    }

    #[test]
    fn an_unmapped_key_has_no_owner() {
        let m = map(&[(Some(0), Some(10), "a"), (Some(20), None, "b")]);
        assert!(m.locate(&Key::Int(-1)).is_none());
        assert!(m.locate(&Key::Int(15)).is_none());
        assert_eq!(m.locate(&Key::Int(20)).unwrap().shard.as_str(), "b");
    }

    #[test]
    fn overlapping_mappings_are_refused() {
        let error = map(&[(None, Some(10), "a"), (Some(9), None, "b")])
            .validated()
            .unwrap_err();
        assert_eq!(error.to_string(), "map m: (-∞, 10) and [9, ∞) overlap");
    }

    #[test]
    fn keys_of_another_shard_cannot_be_moved() {
        let m = map(&[(None, Some(10), "a"), (Some(10), None, "b")]);
        assert!(
            m.with_moved(
                &keys(Some(5), Some(15)),
                &"a".into(),
                &"b".into(),
                &"m1".into()
            )
            .is_err()
        );
    }
}
