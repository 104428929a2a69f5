//! The imbalance of the fleet over the last day, as the store keeps it.

use super::StoreFuture;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The time between two samples.
pub const IMBALANCE_INTERVAL: TimeDelta = TimeDelta::minutes(5);
/// How long a sample is kept.
pub const IMBALANCE_KEPT: TimeDelta = TimeDelta::hours(24);

/// The imbalance of the fleet at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImbalanceSample {
    /// The beginning of the five minutes in which it was measured.
    pub at: DateTime<Utc>,
    /// For each measure (`size`, `rows`, `writes`, `connections`): how many times its fair share the most loaded shard
    /// has. A measure that fewer than two shards had is missing.
    pub factors: BTreeMap<String, f64>,
}

impl ImbalanceSample {
    /// Returns the beginning of the interval to which a time belongs.
    #[must_use]
    pub fn interval_of(at: DateTime<Utc>) -> DateTime<Utc> {
        let length = IMBALANCE_INTERVAL.num_seconds();
        let begun = at.timestamp() - at.timestamp().rem_euclid(length);
        DateTime::from_timestamp(begun, 0).unwrap_or(at)
    }
}

/// The history of the imbalance.
pub trait ImbalanceStore: Send + Sync + std::fmt::Debug {
    /// Stores a sample, and removes those that are older than [`IMBALANCE_KEPT`] at its time. A sample of the same time
    /// keeps its measures that the new one lacks.
    fn add_imbalance<'a>(&'a self, sample: &'a ImbalanceSample) -> StoreFuture<'a, ()>;

    /// Returns the stored samples that are not older than `since`, oldest first.
    fn imbalance(&self, since: DateTime<Utc>) -> StoreFuture<'_, Vec<ImbalanceSample>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_begins_at_a_multiple_of_five_minutes() {
        let at = |second: i64| DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap();
        assert_eq!(ImbalanceSample::interval_of(at(0)), at(0));
        assert_eq!(ImbalanceSample::interval_of(at(299)), at(0));
        assert_eq!(ImbalanceSample::interval_of(at(300)), at(300));
    }
}
