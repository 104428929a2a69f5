//! A map, and marks for the mappings that have moving keys. All readers share one map; only the marks are computed for
//! each reader.

use crate::store::Snapshot;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, MappingState, ShardMap};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A map, and which of its mappings have moving keys.
#[derive(Debug, Clone)]
pub struct MarkedMap {
    map: Arc<ShardMap>,
    /// Indexes of the mappings with moving keys, and the moving keys of each.
    moving: BTreeMap<usize, KeySet>,
}

impl PartialEq for MarkedMap {
    fn eq(&self, other: &Self) -> bool {
        let same = Arc::ptr_eq(&self.map, &other.map) || self.map == other.map;
        same && self.moving.keys().eq(other.moving.keys())
    }
}

impl MarkedMap {
    /// Marks the mappings of `map` with the keys that unfinished migrations move.
    ///
    /// Moving keys belong to the source until the flip, and to the target from the flip until a rollback. Therefore
    /// only the mappings of sources and targets are compared with the moving keys.
    #[must_use]
    pub fn new(map: Arc<ShardMap>, unfinished: &[Arc<Snapshot>]) -> Self {
        let mut keys: BTreeMap<&ShardName, Vec<&KeySet>> = BTreeMap::new();
        for migration in unfinished.iter().map(|snapshot| &snapshot.migration) {
            if migration.plan.map == map.name && migration.can_flip() {
                let moving = &migration.plan.moving;
                for shard in [&moving.source, &moving.target] {
                    keys.entry(shard).or_default().push(&moving.keys);
                }
            }
        }
        let moving_of = |mapping: &Mapping| {
            let keys = keys.get(&mapping.shard).into_iter().flatten();
            let common = keys.map(|keys| mapping.keys.intersection(keys));
            let common = common.filter(|keys| !keys.is_empty());
            common.reduce(|all, keys| all.union(&keys))
        };
        let mappings = map.mappings.iter().enumerate();
        let moving = mappings
            .filter_map(|(place, mapping)| Some((place, moving_of(mapping)?)))
            .collect();
        Self { map, moving }
    }

    /// Returns the map without marks.
    #[must_use]
    pub fn bare(&self) -> &ShardMap {
        &self.map
    }

    /// Returns the state of the mapping with the index `place`.
    #[must_use]
    pub fn state(&self, place: usize) -> MappingState {
        match self.moving.contains_key(&place) {
            true => MappingState::Moving,
            false => MappingState::Active,
        }
    }

    /// Returns every mapping with its moving keys.
    pub fn moving_keys(&self) -> impl Iterator<Item = (&Mapping, Option<&KeySet>)> {
        let mappings = self.map.mappings.iter().enumerate();
        mappings.map(|(place, mapping)| (mapping, self.moving.get(&place)))
    }

    /// Returns every mapping with its state.
    pub fn mappings(&self) -> impl Iterator<Item = (&Mapping, MappingState)> {
        let mappings = self.map.mappings.iter().enumerate();
        mappings.map(|(place, mapping)| (mapping, self.state(place)))
    }

    /// Returns a copy of the map that contains the marks.
    #[must_use]
    pub fn into_map(self) -> ShardMap {
        let mut map = Arc::unwrap_or_clone(self.map);
        for place in self.moving.into_keys() {
            map.mappings[place].state = MappingState::Moving;
        }
        map
    }
}
