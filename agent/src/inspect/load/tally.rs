//! Counts load by key in limited memory: exactly for virtual shards and listed keys, otherwise as a histogram.
//!
//! If there are too many keys, neighbouring keys with little load are merged into one entry under the lowest of them.
//! The sums remain exact, and keys with much load keep their own entry.

use std::collections::BTreeMap;

use plans::inspection::{KeyLoad, LoadTask};
use plans::key::Key;
use plans::key_set::{KeySet, bucket_of};
use plans::shard_map::Strategy;

/// The maximum number of entries, for maps that do not list their keys.
const MAX_KEYS: usize = 200_000;

/// The load of one key, virtual shard or range.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct KeyCost {
    pub(super) rows: f64,
    pub(super) bytes: f64,
    pub(super) writes: f64,
    pub(super) weight: f64,
    /// True if the entry is the sum over several neighbouring keys.
    pub(super) is_group: bool,
}

impl KeyCost {
    pub(super) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.writes += other.writes;
        self.weight += other.weight;
    }
}

/// The load that was counted so far.
#[derive(Debug)]
pub(super) struct LoadTally {
    pub(super) keys: BTreeMap<Key, KeyCost>,
    pub(super) buckets: Vec<KeyCost>,
    /// The single keys of a hash map that the shard owns without their virtual shard.
    pub(super) exceptions: BTreeMap<Key, KeyCost>,
    max_keys: usize,
}

impl LoadTally {
    pub(super) fn new(task: &LoadTask) -> Self {
        let buckets = match task.strategy {
            Strategy::Hash => task.buckets,
            Strategy::Range | Strategy::List => 0,
        };
        let exceptions = match &task.owned {
            KeySet::Hash(owned) => owned.exceptions().1,
            KeySet::Range(_) | KeySet::List(_) => Vec::new(),
        };
        Self {
            keys: BTreeMap::new(),
            exceptions: exceptions
                .into_iter()
                .map(|key| (key.clone(), KeyCost::default()))
                .collect(),
            buckets: vec![KeyCost::default(); usize::try_from(buckets).unwrap_or(0)],
            max_keys: match task.strategy {
                Strategy::List => usize::MAX,
                Strategy::Range | Strategy::Hash => MAX_KEYS,
            },
        }
    }

    /// Adds load to a key that the shard owns.
    pub(super) fn add(&mut self, key: Key, cost: &KeyCost) {
        if let Some(own) = self.exceptions.get_mut(&key) {
            own.add(cost);
        } else if let Ok(of) = u32::try_from(self.buckets.len())
            && of > 0
        {
            let bucket = bucket_of(&key, of);
            if let Some(all) = usize::try_from(bucket)
                .ok()
                .and_then(|index| self.buckets.get_mut(index))
            {
                all.add(cost);
            }
        }
        self.keys.entry(key).or_default().add(cost);
        if self.keys.len() > self.max_keys {
            self.merge_light_keys();
        }
    }

    /// Merges neighbouring entries as long as the merged entry has at most 16 / `max_keys` of the total rows, writes
    /// and weight. Fewer than half of `max_keys` entries remain.
    fn merge_light_keys(&mut self) {
        let mut total = KeyCost::default();
        for cost in self.keys.values() {
            total.add(cost);
        }
        let max_share = |cost: &KeyCost| {
            let fraction = |own: f64, all: f64| if all > 0.0 { own / all } else { 0.0 };
            fraction(cost.rows, total.rows)
                .max(fraction(cost.writes, total.writes))
                .max(fraction(cost.weight, total.weight))
        };
        let limit = 16.0 / self.max_keys as f64;
        let mut merged: BTreeMap<Key, KeyCost> = BTreeMap::new();
        let mut current: Option<(Key, KeyCost)> = None;
        for (key, cost) in std::mem::take(&mut self.keys) {
            match &mut current {
                Some((_, sum)) if max_share(sum) + max_share(&cost) <= limit => {
                    sum.add(&cost);
                    sum.is_group = true;
                }
                _ => merged.extend(current.replace((key, cost))),
            }
        }
        merged.extend(current);
        self.keys = merged;
    }

    /// Returns the keys with the most writes, or with the most rows. A key with none is not returned.
    pub(super) fn hottest_keys(&self, by_writes: bool, max_keys: u32) -> Vec<KeyLoad> {
        let load = |cost: &KeyCost| if by_writes { cost.writes } else { cost.rows };
        let mut hot: Vec<(&Key, &KeyCost)> = self
            .keys
            .iter()
            .filter(|(_, cost)| !cost.is_group && load(cost) > 0.0)
            .collect();
        hot.sort_by(|(a, x), (b, y)| load(y).total_cmp(&load(x)).then(a.cmp(b)));
        hot.truncate(usize::try_from(max_keys).unwrap_or(usize::MAX));
        hot.into_iter()
            .map(|(key, cost)| KeyLoad {
                key: key.clone(),
                rows: rounded(cost.rows),
                writes: rounded(cost.writes),
            })
            .collect()
    }
}

/// Rounds a number that is never negative.
pub(super) fn rounded(number: f64) -> u64 {
    number.round() as u64
}
