//! All keys of a shop in equal pieces: ranges in key order, consecutive virtual shards, or listed keys that are dealt
//! to the pieces one by one (round robin). A virtual shard is called bucket in the code.

use super::MAP;
use crate::options::DemoTask;
use crate::shop::Shop;
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};

/// The number of virtual shards of each shard of a hash map.
const BUCKETS_PER_SHARD: u32 = 64;

/// All keys in equal pieces.
pub(super) struct KeyPieces<'p> {
    task: &'p DemoTask,
    /// The keys of all tenants, in key order.
    keys: Vec<Key>,
    /// The total number of virtual shards.
    buckets: u32,
}

impl<'p> KeyPieces<'p> {
    /// Creates the pieces. `live_shards` is the number of shards that own keys initially; it determines the number of
    /// buckets.
    pub(super) fn new(task: &'p DemoTask, shop: &Shop, live_shards: usize) -> Self {
        let mut keys: Vec<Key> = (1..=shop.tenants).map(|tenant| shop.key(tenant)).collect();
        keys.sort();
        let live_shards = u32::try_from(live_shards.next_power_of_two()).unwrap_or(1);
        let buckets = match task.strategy {
            Strategy::Hash => BUCKETS_PER_SHARD * live_shards,
            Strategy::Range | Strategy::List => 0,
        };
        Self {
            task,
            keys,
            buckets,
        }
    }

    /// Divides all keys into `count` pieces.
    pub(super) fn divide(&self, count: usize) -> Vec<KeySet> {
        let range = |index: usize| {
            let bound = |at: usize| self.keys.get(at * self.keys.len() / count).cloned();
            let from = (index > 0).then(|| bound(index)).flatten();
            KeySet::range(from, bound(index + 1))
        };
        let first_bucket = |index: usize| {
            let count = u32::try_from(count).unwrap_or(1);
            self.buckets * u32::try_from(index).unwrap_or_default() / count
        };
        let list =
            |index: usize| KeySet::list(self.keys.iter().skip(index).step_by(count).cloned());
        let piece = |index: usize| match self.task.strategy {
            Strategy::Range => range(index),
            Strategy::Hash => {
                KeySet::buckets(self.buckets, first_bucket(index), first_bucket(index + 1))
            }
            Strategy::List => list(index),
        };
        (0..count).map(piece).collect()
    }

    pub(super) fn map(&self, owners: &[&str]) -> ShardMap {
        let mapping = |(keys, shard): (KeySet, &&str)| Mapping {
            keys,
            shard: ShardName::from(*shard),
            state: MappingState::Active,
        };
        let mappings = self.divide(owners.len()).into_iter().zip(owners);
        ShardMap {
            name: MapName::from(MAP),
            strategy: self.task.strategy,
            key: self.task.shape.types(),
            buckets: self.buckets,
            version: MapVersion(1),
            incarnation: String::new(),
            migration: None,
            settings: MapSettings::default(),
            mappings: mappings.map(mapping).collect(),
        }
    }
}
