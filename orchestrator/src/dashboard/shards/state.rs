//! A shard with what its last probe found, and whether it is reachable.

use super::super::marks::{self, StateMark};
use super::super::prober::probes_here;
use super::super::reachability::ShardReachability;
use crate::controller::{Controller, FleetMeasure, ProbedShard};
use crate::store::ShardRecord;
use crate::view::figures::ago;
use crate::view::server::ServerFigures;
use plans::id::ShardName;
use std::collections::BTreeMap;

/// Returns how many times its fair share the most loaded shard has, if it was measured.
pub(in crate::dashboard) fn imbalance(
    measure: FleetMeasure,
    shards: &[ShardState<'_>],
) -> Option<f64> {
    measure.imbalance(shards.iter().map(|shard| (shard.record, &shard.probed)))
}

/// A registered shard and its last probe.
pub(in crate::dashboard) struct ShardState<'a> {
    pub(in crate::dashboard) record: &'a ShardRecord,
    pub(in crate::dashboard) probed: ProbedShard,
    /// Whether this controller probes shards.
    pub(in crate::dashboard) probes_here: bool,
}

impl<'a> ShardState<'a> {
    /// Combines the shards with the last probes.
    pub(in crate::dashboard) fn all(
        controller: &Controller,
        shards: &'a [ShardRecord],
    ) -> Vec<Self> {
        let mut probes: BTreeMap<ShardName, ProbedShard> = controller.probed_shards();
        let probes_here = probes_here(controller);
        let state = |record: &'a ShardRecord| Self {
            probed: probes.remove(&record.name).unwrap_or_default(),
            record,
            probes_here,
        };
        shards.iter().map(state).collect()
    }

    /// Returns the measured value of a shard; `None` if it was not measured.
    pub(in crate::dashboard) fn value(&self, measure: FleetMeasure) -> Option<f64> {
        measure.of(&self.probed)
    }

    /// Returns the value at which the shard is full, if it is known.
    pub(in crate::dashboard) fn limit(&self, measure: FleetMeasure) -> Option<f64> {
        measure.limit(self.record, &self.probed)
    }

    /// Returns what the last probe read of the server.
    pub(in crate::dashboard) fn server(&self) -> ServerFigures<'_> {
        ServerFigures {
            shard: self.record,
            database: self.probed.figures.as_ref(),
            activity: self.probed.activity.as_deref(),
        }
    }

    /// Returns whether the last probe reached the shard.
    pub(in crate::dashboard) fn reachability(&self) -> ShardReachability {
        match (&self.probed.failure, self.probed.observed_at) {
            (Some(_), _) => ShardReachability::Unreachable,
            (None, Some(_)) => ShardReachability::Reachable,
            (None, None) => ShardReachability::NotProbed,
        }
    }

    /// Returns the mark of the reachability.
    pub(in crate::dashboard) fn mark(&self) -> StateMark {
        let reachability = self.reachability();
        if reachability == ShardReachability::NotProbed && !self.probes_here {
            return marks::not_probed_here();
        }
        marks::of_shard(reachability)
    }

    /// Returns when a probe last reached the shard, as HTML; `None` if none has.
    pub(in crate::dashboard) fn reached(&self) -> Option<String> {
        self.probed.observed_at.map(ago)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> ShardRecord {
        ShardRecord {
            name: ShardName::from(name),
            number: 1,
            dsn: "host=x".to_owned(),
            labels: BTreeMap::new(),
            capacity: 100,
            space: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
            identity: None,
        }
    }

    #[test]
    fn a_shard_whose_last_probe_failed_is_unreachable_although_an_earlier_one_reached_it() {
        let record = record("a");
        let probed = ProbedShard::default();
        let mut state = ShardState {
            record: &record,
            probed,
            probes_here: true,
        };
        assert_eq!(state.reachability(), ShardReachability::NotProbed);
        state.probed.observed_at = Some(chrono::DateTime::UNIX_EPOCH);
        assert_eq!(state.reachability(), ShardReachability::Reachable);
        state.probed.failure = Some("refused".to_owned());
        assert_eq!(state.reachability(), ShardReachability::Unreachable);
    }
}
