//! What the last probes of the shards found, for the pages of the fleet.

use super::super::Controller;
use chrono::{DateTime, Utc};
use plans::id::ShardName;
use plans::inspection::inventory::{DatabaseFigures, Inventory, ServerActivity};
use plans::inspection::reconcile::Contradiction;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the server of a shard did at the last successful probe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShardActivity {
    /// The values of the probe.
    pub(crate) now: ServerActivity,
    /// The rows that were written per second between the last two probes. `None` if it was not measured.
    pub(crate) written_per_second: Option<f64>,
    /// The transactions that were committed per second between the last two probes. `None` if it was not measured.
    pub(crate) commits_per_second: Option<f64>,
}

impl ShardActivity {
    pub(super) fn new(now: ServerActivity, earlier: Option<&Self>) -> Self {
        let rate = |counter: fn(&ServerActivity) -> u64| {
            let earlier = earlier?;
            now.rate_since(&earlier.now, counter)
        };
        Self {
            written_per_second: rate(|activity| activity.written_rows),
            commits_per_second: rate(|activity| activity.commits),
            now,
        }
    }
}

/// What the last probes of a shard found.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProbedShard {
    /// When a probe last succeeded.
    pub(crate) observed_at: Option<DateTime<Utc>>,
    /// Why the last probe failed, if it did.
    pub(crate) failure: Option<String>,
    /// The version and the size of the database, as of the last probe that succeeded.
    pub(crate) figures: Option<DatabaseFigures>,
    /// What the server did at that probe.
    pub(crate) activity: Option<Arc<ShardActivity>>,
}

impl Controller {
    /// Returns what the last probes of all shards found.
    pub(crate) fn probed_shards(&self) -> BTreeMap<ShardName, ProbedShard> {
        self.inner.fleet.probed_shards()
    }

    /// Returns what the last probes of one shard found.
    pub(crate) fn probed_shard(&self, shard: &ShardName) -> ProbedShard {
        self.inner.fleet.probed_shard(shard)
    }

    /// Returns the objects of Shardwright that the last successful probe found on a shard.
    pub(crate) fn last_inventory(&self, shard: &ShardName) -> Option<Inventory> {
        self.inner.fleet.inventory(shard)
    }

    /// Returns the contradictions between the shards and the control store that the last probes found.
    pub(crate) fn contradictions(&self) -> Vec<Contradiction> {
        self.inner.fleet.contradictions()
    }
}
