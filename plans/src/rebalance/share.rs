//! Fair shares, limits, and comparison of relative loads, in integers.

use super::types::RebalanceShard;
use std::cmp::Ordering;

/// A million: the unit of thresholds.
const MILLION: u128 = 1_000_000;

/// What one shard should carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardGoal {
    /// Its capacity; 0 if it takes nothing.
    pub(super) weight: u128,
    /// Its share of all costs, rounded up.
    pub(super) fair: u128,
    /// What it may carry: the fair share and the threshold.
    pub(super) limit: u128,
}

/// The goals of all shards for costs that sum up to `total`.
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

/// Load per capacity.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadRatio {
    load: u128,
    weight: u128,
}

impl LoadRatio {
    /// A load on a shard that takes nothing is infinite; no load is nothing anywhere.
    pub(super) fn new(load: u128, weight: u128) -> Self {
        Self {
            load,
            weight: if load == 0 { 1 } else { weight },
        }
    }

    /// Whether it stays below `other` even when the threshold is added to it.
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

/// A load in hundredths of a fair share, rounded; nothing where the fair share is nothing.
pub(super) fn hundredths(load: u128, fair: u128) -> Option<u64> {
    let twice = load.saturating_mul(200).checked_div(fair)?;
    Some(u64::try_from(twice.div_ceil(2)).unwrap_or(u64::MAX))
}
