//! Loads by key in bounded memory: exact by virtual shard and by listed key, a histogram otherwise.
//!
//! Once there are too many keys, neighbours with little load become one entry under the first of them:
//! sums stay exact, heavy keys stay alone.

use std::collections::BTreeMap;

use plans::inspection::{KeyLoad, LoadTask};
use plans::key::Key;
use plans::key_set::bucket_of;
use plans::shard_map::Strategy;

/// Keys that are told apart, for maps that do not list their keys.
const KEYS: usize = 200_000;

/// What one key, bucket or range costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct KeyCost {
    pub(super) rows: f64,
    pub(super) bytes: f64,
    pub(super) writes: f64,
    pub(super) weight: f64,
    /// It stands for several keys.
    pub(super) several: bool,
}

impl KeyCost {
    pub(super) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.writes += other.writes;
        self.weight += other.weight;
    }
}

/// Loads as they are counted.
#[derive(Debug)]
pub(super) struct LoadTally {
    pub(super) keys: BTreeMap<Key, KeyCost>,
    pub(super) buckets: Vec<KeyCost>,
    most: usize,
}

impl LoadTally {
    pub(super) fn new(task: &LoadTask) -> Self {
        let buckets = match task.strategy {
            Strategy::Hash => task.buckets,
            Strategy::Range | Strategy::List => 0,
        };
        Self {
            keys: BTreeMap::new(),
            buckets: vec![KeyCost::default(); usize::try_from(buckets).unwrap_or(0)],
            most: match task.strategy {
                Strategy::List => usize::MAX,
                Strategy::Range | Strategy::Hash => KEYS,
            },
        }
    }

    /// Adds to a key that the shard owns.
    pub(super) fn add(&mut self, key: Key, cost: &KeyCost) {
        if let Ok(of) = u32::try_from(self.buckets.len())
            && of > 0
        {
            let bucket = bucket_of(&key, of);
            if let Some(all) = usize::try_from(bucket)
                .ok()
                .and_then(|at| self.buckets.get_mut(at))
            {
                all.add(cost);
            }
        }
        self.keys.entry(key).or_default().add(cost);
        if self.keys.len() > self.most {
            self.join_light();
        }
    }

    /// Joins runs of neighbours until each run carries what an even share of half the limit would.
    fn join_light(&mut self) {
        let mut total = KeyCost::default();
        for cost in self.keys.values() {
            total.add(cost);
        }
        let share = |cost: &KeyCost| {
            let part = |own: f64, all: f64| if all > 0.0 { own / all } else { 0.0 };
            part(cost.rows, total.rows)
                .max(part(cost.writes, total.writes))
                .max(part(cost.weight, total.weight))
        };
        let even = 16.0 / self.most as f64;
        let mut joined: BTreeMap<Key, KeyCost> = BTreeMap::new();
        let mut run: Option<(Key, KeyCost)> = None;
        for (key, cost) in std::mem::take(&mut self.keys) {
            match &mut run {
                Some((_, sum)) if share(sum) + share(&cost) <= even => {
                    sum.add(&cost);
                    sum.several = true;
                }
                _ => joined.extend(run.replace((key, cost))),
            }
        }
        joined.extend(run);
        self.keys = joined;
    }

    /// The keys with the most writes, or rows; those with none are not named.
    pub(super) fn hottest(&self, by_writes: bool, most: u32) -> Vec<KeyLoad> {
        let heat = |cost: &KeyCost| if by_writes { cost.writes } else { cost.rows };
        let mut hot: Vec<(&Key, &KeyCost)> = self
            .keys
            .iter()
            .filter(|(_, cost)| !cost.several && heat(cost) > 0.0)
            .collect();
        hot.sort_by(|(a, x), (b, y)| heat(y).total_cmp(&heat(x)).then(a.cmp(b)));
        hot.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        hot.into_iter()
            .map(|(key, cost)| KeyLoad {
                key: key.clone(),
                rows: whole(cost.rows),
                writes: whole(cost.writes),
            })
            .collect()
    }
}

/// A figure as a whole number; none is negative.
pub(super) fn whole(figure: f64) -> u64 {
    figure.round() as u64
}
