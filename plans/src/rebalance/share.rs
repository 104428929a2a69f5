//! Fair shares, limits, and comparisons of relative loads, in integers.

use super::types::RebalanceShard;
use std::cmp::Ordering;

/// A million: the unit of thresholds.
const MILLION: u128 = 1_000_000;

/// The load that one shard should have.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardGoal {
    /// The capacity; 0 if the shard receives nothing.
    pub(super) weight: u128,
    /// Its share of all costs, rounded up.
    pub(super) fair: u128,
    /// The greatest load that it may have: the fair share plus the threshold.
    pub(super) limit: u128,
}

/// Returns the goals of all shards if the costs sum up to `total`.
pub(super) fn goals(shards: &[RebalanceShard], total: u128, threshold_ppm: u64) -> Vec<ShardGoal> {
    let weight = |shard: &RebalanceShard| {
        if shard.accepts {
            u128::from(shard.capacity)
        } else {
            0
        }
    };
    let weights: u128 = shards.iter().map(weight).sum();
    shards
        .iter()
        .map(|shard| {
            let weight = weight(shard);
            let fair = total.saturating_mul(weight).div_ceil(weights.max(1));
            let slack = fair.saturating_mul(u128::from(threshold_ppm)) / MILLION;
            ShardGoal {
                weight,
                fair,
                limit: fair.saturating_add(slack),
            }
        })
        .collect()
}

/// The load per capacity.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadRatio {
    load: u128,
    weight: u128,
}

impl LoadRatio {
    /// Creates a ratio. A load on a shard with capacity 0 is infinite; no load is 0 on every shard.
    pub(super) fn new(load: u128, weight: u128) -> Self {
        Self {
            load,
            weight: if load == 0 { 1 } else { weight },
        }
    }

    /// Returns whether it stays below `other` even if the threshold is added to it.
    pub(super) fn clearly_below(self, other: Self, threshold_ppm: u64) -> bool {
        let raised = self
            .load
            .saturating_add(self.load.saturating_mul(u128::from(threshold_ppm)) / MILLION);
        self < other && Self::new(raised, self.weight) <= other
    }
}

impl Ord for LoadRatio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = self.load.saturating_mul(other.weight);
        left.cmp(&other.load.saturating_mul(self.weight))
    }
}

impl PartialOrd for LoadRatio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LoadRatio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LoadRatio {}

/// Returns a load in hundredths of a fair share, rounded; `None` if the fair share is 0.
pub(super) fn hundredths(load: u128, fair: u128) -> Option<u64> {
    let twice = load.saturating_mul(200).checked_div(fair)?;
    Some(u64::try_from(twice.div_ceil(2)).unwrap_or(u64::MAX))
}
