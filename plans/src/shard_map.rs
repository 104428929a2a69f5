//! The shard map: which shard owns which keys, in numbered versions.

mod cell;
mod change;
mod conversion;
mod coverage;
mod exceptions;
mod export;
mod import;
mod known;
mod routers;
mod rules;
mod selection;
mod settings;

use change::keys_by_owner;
pub use change::{Difference, difference};
pub use conversion::{ConversionError, KeptKeys, KeysByShard};
pub use export::{ExportForm, export};
pub use import::{
    ImportError, ImportForm, ImportProblem, InputPosition, MAX_PROBLEMS, import, import_rows,
};
pub use routers::{Router, RouterError, ShardAddress, route};
pub use rules::{Effect, PlacementRule, RuleViolation};
pub use selection::{Selection, SelectionError};
pub use settings::{KeyColumns, KeyedBy, MapSettings, Sequences, SettingsError, ThroughRef};

use crate::id::{MapName, MapVersion, MigrationId, ShardName};
use crate::key::{Key, KeyError, KeyType};
use crate::key_set::{KeySet, bucket_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How a map divides its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Half-open ranges of keys.
    Range,
    /// Virtual shards, to which keys belong by their hash.
    Hash,
    /// Single keys, as in a directory table.
    List,
}

/// The default number of virtual shards of a hash map.
pub const DEFAULT_BUCKETS: u32 = 4096;

impl Strategy {
    /// Returns the name in SQL, requests and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Hash => "hash",
            Self::List => "list",
        }
    }

    /// Returns the strategy with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Range, Self::Hash, Self::List]
            .into_iter()
            .find(|strategy| strategy.name() == name)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a migration is moving keys of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MappingState {
    /// No migration is moving these keys.
    #[default]
    Active,
    /// A migration is moving some of these keys. The shard of the mapping still owns them.
    Moving,
}

/// A key set and the shard that owns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mapping {
    /// The keys: one range, one range of virtual shards, or a list.
    pub keys: KeySet,
    /// The owner of the keys.
    pub shard: ShardName,
    /// Whether a migration is moving some of the keys.
    #[serde(default)]
    pub state: MappingState,
}

/// One version of a shard map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardMap {
    /// The name of the map.
    pub name: MapName,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// The types of the key's columns: one, or up to three for a range map.
    pub key: Vec<KeyType>,
    /// The number of virtual shards of a hash map; 0 for other maps.
    #[serde(default)]
    pub buckets: u32,
    /// The number of this version.
    pub version: MapVersion,
    /// The random id of the control store that created this version. A restored store has another id.
    pub incarnation: String,
    /// The migration whose flip created this version, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<MigrationId>,
    /// The settings, which apply to every version: tables, rules, sequences.
    #[serde(default, deserialize_with = "known::known_settings")]
    pub settings: MapSettings,
    /// The mappings in key order. They do not overlap.
    pub mappings: Vec<Mapping>,
}

/// Why a map, or a change of a map, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Two mappings have keys in common.
    #[error("map {map}: {first} and {second} overlap")]
    Overlap {
        /// The map.
        map: MapName,
        /// One key set.
        first: Box<KeySet>,
        /// The other key set.
        second: Box<KeySet>,
    },
    /// A mapping has no keys.
    #[error("map {map}: key set {keys} of shard {shard} is empty")]
    Empty {
        /// The map.
        map: MapName,
        /// The shard.
        shard: ShardName,
        /// The key set.
        keys: KeySet,
    },
    /// The source does not own all keys that are to move.
    #[error("map {map} version {version}: shard {shard} does not own all of {keys}")]
    NotOwned {
        /// The map.
        map: MapName,
        /// The version of the map.
        version: MapVersion,
        /// The keys.
        keys: KeySet,
        /// The shard that should own the keys.
        shard: ShardName,
    },
    /// The kind of the key set does not fit the strategy of the map.
    #[error("map {map} divides keys by {strategy}; {keys} is of another kind")]
    Kind {
        /// The map.
        map: MapName,
        /// How the map divides keys.
        strategy: Strategy,
        /// The key set.
        keys: KeySet,
    },
    /// A key has the wrong type for this map.
    #[error("map {map}: {source}")]
    Key {
        /// The map.
        map: MapName,
        /// What is wrong with the key.
        #[source]
        source: KeyError,
    },
    /// The map itself is invalid.
    #[error("map {map}: {problem}")]
    Shape {
        /// The map.
        map: MapName,
        /// What is wrong.
        problem: String,
    },
}

impl ShardMap {
    /// Returns the mapping of the shard that owns `key`; `None` if no shard owns it.
    ///
    /// It uses a binary search over range and hash mappings, `O(log n)`. List mappings are checked one after the other.
    #[must_use]
    pub fn locate(&self, key: &Key) -> Option<&Mapping> {
        let after = match self.strategy {
            Strategy::List => {
                return self
                    .mappings
                    .iter()
                    .find(|mapping| mapping.keys.contains(key));
            }
            Strategy::Range => self
                .mappings
                .partition_point(|mapping| starts_at_or_before(&mapping.keys, key)),
            Strategy::Hash => return self.locate_in_hash(key),
        };
        self.mappings[..after]
            .last()
            .filter(|mapping| mapping.keys.contains(key))
    }

    /// Does the same as [`ShardMap::locate`] for a hash map: looks for an exception, then for the virtual shard.
    fn locate_in_hash(&self, key: &Key) -> Option<&Mapping> {
        let end = self
            .mappings
            .partition_point(|mapping| mapping.keys.exception().is_some());
        let (exceptions, ranges) = self.mappings.split_at(end);
        let found = exceptions.binary_search_by(|mapping| mapping.keys.exception().cmp(&Some(key)));
        if let Ok(index) = found {
            return exceptions.get(index);
        }
        let bucket = bucket_of(key, self.buckets);
        let after = ranges.partition_point(|mapping| first_bucket(&mapping.keys) <= bucket);
        let range = ranges[..after].last();
        range.filter(|mapping| mapping.keys.contains(key))
    }

    /// Returns all keys that `shard` owns.
    #[must_use]
    pub fn owned_by(&self, shard: &ShardName) -> KeySet {
        let owned = self.mappings.iter().filter(|m| &m.shard == shard);
        self.empty_key_set()
            .union_all(owned.map(|mapping| &mapping.keys))
    }

    /// Returns the keys of each owner.
    #[must_use]
    pub fn owned_keys(&self) -> BTreeMap<&ShardName, KeySet> {
        keys_by_owner(&self.mappings, &self.empty_key_set())
    }

    /// Returns the empty key set of this map's strategy.
    #[must_use]
    pub fn empty_key_set(&self) -> KeySet {
        match self.strategy {
            Strategy::Range => KeySet::Range(Vec::new()),
            Strategy::Hash => KeySet::single_keys(self.buckets, []),
            Strategy::List => KeySet::list([]),
        }
    }

    /// Returns the shards that own keys, ordered by name.
    #[must_use]
    #[expect(clippy::disallowed_types, reason = "the names are sorted afterwards")]
    pub fn shards(&self) -> Vec<ShardName> {
        // There can be a million mappings of a few shards.
        let owners: std::collections::HashSet<&ShardName> =
            self.mappings.iter().map(|m| &m.shard).collect();
        let mut names: Vec<ShardName> = owners.into_iter().cloned().collect();
        names.sort();
        names
    }

    /// Checks the map and its mappings, and orders them. Each mapping gets one piece. Adjacent ranges of one shard stay
    /// separate; the keys of a list map are grouped by shard. A single key of a hash map takes precedence over its virtual
    /// shard.
    ///
    /// # Errors
    /// [`MapError`] names the key sets.
    pub fn validated(mut self) -> Result<Self, MapError> {
        self.check_form()?;
        let mut mappings = Vec::with_capacity(self.mappings.len());
        for mapping in std::mem::take(&mut self.mappings) {
            let keys = self.accepted(mapping.keys)?;
            if keys.is_empty() {
                return Err(MapError::Empty {
                    map: self.name.clone(),
                    shard: mapping.shard,
                    keys,
                });
            }
            let pieces = match self.strategy {
                Strategy::List => vec![keys],
                Strategy::Range | Strategy::Hash => keys.pieces(),
            };
            mappings.extend(pieces.into_iter().map(|keys| Mapping {
                keys,
                shard: mapping.shard.clone(),
                state: mapping.state,
            }));
        }
        if self.strategy == Strategy::Hash {
            self.mappings = self.with_exceptions_settled(mappings)?;
            return Ok(self);
        }
        self.mappings = mappings;
        self.check_overlaps()?;
        if self.strategy == Strategy::List {
            self.merge_lists_by_shard();
        }
        self.mappings.sort_by(|a, b| a.keys.cmp(&b.keys));
        Ok(self)
    }

    /// Converts `keys` to the kind and the key types of this map.
    ///
    /// # Errors
    /// [`MapError::Kind`] or [`MapError::Key`].
    pub fn accepted(&self, keys: KeySet) -> Result<KeySet, MapError> {
        let fits = match (&keys, self.strategy) {
            (KeySet::Range(_), Strategy::Range) | (KeySet::List(_), Strategy::List) => true,
            (KeySet::Hash(b), Strategy::Hash) => {
                b.of == self.buckets && b.ranges.iter().all(|range| range.to <= b.of)
            }
            (_, _) => false,
        };
        if !fits {
            return Err(MapError::Kind {
                map: self.name.clone(),
                strategy: self.strategy,
                keys,
            });
        }
        keys.accept(&self.key).map_err(|source| MapError::Key {
            map: self.name.clone(),
            source,
        })
    }

    fn check_form(&self) -> Result<(), MapError> {
        let columns = self.key.len();
        let hash = self.strategy == Strategy::Hash;
        let problem = if columns == 0 || columns > 3 {
            format!("a key has 1 to 3 columns, not {columns}")
        } else if columns > 1 && self.strategy != Strategy::Range {
            format!("a {} map has one key column, not {columns}", self.strategy)
        } else if hash && !(self.buckets.is_power_of_two() && self.buckets <= 1 << 24) {
            format!(
                "{} virtual shards are not a power of two up to 16777216",
                self.buckets
            )
        } else if !hash && self.buckets != 0 {
            format!("a {} map has no virtual shards", self.strategy)
        } else {
            return Ok(());
        };
        Err(MapError::Shape {
            map: self.name.clone(),
            problem,
        })
    }

    fn check_overlaps(&self) -> Result<(), MapError> {
        let mut spans: Vec<_> = self
            .mappings
            .iter()
            .enumerate()
            .flat_map(|(index, m)| m.keys.spans().into_iter().map(move |span| (span, index)))
            .collect();
        spans.sort();
        for pair in spans.windows(2) {
            let (((_, end), first), ((start, _), second)) = (&pair[0], &pair[1]);
            let apart = matches!((end, start), (Some(end), Some(start)) if end <= start);
            if !apart {
                let keys = |index: usize| self.mappings[index].keys.clone();
                return Err(self.overlap_error(keys(*first), keys(*second)));
            }
        }
        Ok(())
    }

    fn merge_lists_by_shard(&mut self) {
        let mut by_shard: BTreeMap<ShardName, Mapping> = BTreeMap::new();
        for mapping in self.mappings.drain(..) {
            match by_shard.get_mut(&mapping.shard) {
                Some(all) => {
                    all.keys = all.keys.union(&mapping.keys);
                    if mapping.state == MappingState::Moving {
                        all.state = mapping.state;
                    }
                }
                None => {
                    by_shard.insert(mapping.shard.clone(), mapping);
                }
            }
        }
        self.mappings = by_shard.into_values().collect();
    }
}

/// Returns true if the range of a mapping begins at or before `key`.
fn starts_at_or_before(keys: &KeySet, key: &Key) -> bool {
    match keys {
        KeySet::Range(ranges) => ranges
            .first()
            .is_some_and(|range| range.from.as_ref().is_none_or(|from| from <= key)),
        KeySet::Hash(_) | KeySet::List(_) => false,
    }
}

fn first_bucket(keys: &KeySet) -> u32 {
    match keys {
        KeySet::Hash(buckets) => buckets.ranges.first().map_or(u32::MAX, |range| range.from),
        KeySet::Range(_) | KeySet::List(_) => u32::MAX,
    }
}

#[cfg(test)]
mod tests;
