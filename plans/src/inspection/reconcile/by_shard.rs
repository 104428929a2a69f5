//! What the control store contains of each shard, so that a comparison does not search it once for each shard.

use super::compare::{KnownMove, StoreKnowledge};
use crate::id::{MapName, ShardName};
use crate::key_set::KeySet;
use crate::shard_map::ShardMap;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The data of the control store by shard.
pub(super) struct KnownByShard<'a> {
    pub(super) store: &'a StoreKnowledge,
    /// The migrations whose source or target the shard is, in the sequence of the store.
    moves: BTreeMap<&'a ShardName, Vec<&'a KnownMove>>,
    /// The keys of the owners in each map of which they were needed.
    owned: RefCell<BTreeMap<&'a MapName, BTreeMap<&'a ShardName, KeySet>>>,
}

impl<'a> KnownByShard<'a> {
    pub(super) fn of(store: &'a StoreKnowledge) -> Self {
        let mut moves: BTreeMap<&ShardName, Vec<&KnownMove>> = BTreeMap::new();
        for m in &store.moves {
            moves.entry(&m.source).or_default().push(m);
            if m.target != m.source {
                moves.entry(&m.target).or_default().push(m);
            }
        }
        Self {
            store,
            moves,
            owned: RefCell::default(),
        }
    }

    /// Returns the migrations whose source or target the shard is.
    pub(super) fn moves(&self, shard: &ShardName) -> impl Iterator<Item = &'a KnownMove> {
        self.moves.get(shard).into_iter().flatten().copied()
    }

    /// Returns the keys of a map of the store that the shard owns.
    pub(super) fn owned(&self, map: &'a ShardMap, shard: &ShardName) -> KeySet {
        let mut owned = self.owned.borrow_mut();
        let owners = owned.entry(&map.name).or_insert_with(|| map.owned_keys());
        owners
            .get(shard)
            .cloned()
            .unwrap_or_else(|| map.empty_key_set())
    }
}
