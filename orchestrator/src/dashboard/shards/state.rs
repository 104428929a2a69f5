//! A shard with what its last probe found, and whether it is reachable.

use super::super::marks::{self, StateMark};
use crate::controller::{Controller, ProbedShard};
use crate::store::ShardRecord;
use crate::view::figures::ago;
use plans::id::ShardName;
use std::collections::BTreeMap;

/// A registered shard and its last probe.
pub(in crate::dashboard) struct ShardState<'a> {
    pub(in crate::dashboard) record: &'a ShardRecord,
    pub(in crate::dashboard) probed: ProbedShard,
}

/// Whether the last probe reached a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dashboard) enum ShardReachability {
    /// The last probe reached it.
    Reachable,
    /// The last probe failed.
    Unreachable,
    /// No probe has ended yet.
    NotProbed,
}

impl ShardReachability {
    /// All states.
    pub(in crate::dashboard) const ALL: [Self; 3] =
        [Self::Reachable, Self::Unreachable, Self::NotProbed];

    /// Returns the name in URLs and on pages.
    pub(in crate::dashboard) fn name(self) -> &'static str {
        match self {
            Self::Reachable => "reachable",
            Self::Unreachable => "unreachable",
            Self::NotProbed => "not probed",
        }
    }
}

impl<'a> ShardState<'a> {
    /// Combines the shards with the last probes.
    pub(in crate::dashboard) fn all(
        controller: &Controller,
        shards: &'a [ShardRecord],
    ) -> Vec<Self> {
        let mut probes: BTreeMap<ShardName, ProbedShard> = controller.probed_shards();
        let state = |record: &'a ShardRecord| Self {
            probed: probes.remove(&record.name).unwrap_or_default(),
            record,
        };
        shards.iter().map(state).collect()
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
        marks::of_shard(self.reachability())
    }

    /// Returns when a probe last reached the shard, as HTML; `None` if none has.
    pub(in crate::dashboard) fn reached(&self) -> Option<String> {
        self.probed.observed_at.map(ago)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use plans::inspection::inventory::DatabaseFigures;

    pub(in super::super) fn record(name: &str) -> ShardRecord {
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

    pub(in super::super) fn sized(record: &ShardRecord, bytes: Option<u64>) -> ShardState<'_> {
        let figures = bytes.map(|bytes| DatabaseFigures {
            version: "17.2".to_owned(),
            bytes,
        });
        let probed = ProbedShard {
            figures,
            ..ProbedShard::default()
        };
        ShardState { record, probed }
    }

    #[test]
    fn a_shard_whose_last_probe_failed_is_unreachable_although_an_earlier_one_reached_it() {
        let record = record("a");
        let mut state = sized(&record, None);
        assert_eq!(state.reachability(), ShardReachability::NotProbed);
        state.probed.observed_at = Some(chrono::DateTime::UNIX_EPOCH);
        assert_eq!(state.reachability(), ShardReachability::Reachable);
        state.probed.failure = Some("refused".to_owned());
        assert_eq!(state.reachability(), ShardReachability::Unreachable);
    }
}
