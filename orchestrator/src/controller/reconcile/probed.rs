//! What the last probes of the shards found, for the pages of the fleet.

use super::super::{ControlError, Controller};
use super::watch::ShardProbe;
use chrono::{DateTime, Utc};
use plans::id::ShardName;
use plans::inspection::inventory::{DatabaseFigures, Inventory, ServerActivity};
use plans::inspection::reconcile::Contradiction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the server of a shard did at the last successful probe. A rate is missing if it was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardActivity {
    /// The values of the probe.
    #[serde(flatten)]
    pub now: ServerActivity,
    /// The rows that were inserted, updated and deleted per second between the last two probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_second: Option<f64>,
    /// The rows that queries read per second between the last two probes, including rows of system catalogs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_per_second: Option<f64>,
    /// The transactions that were committed per second between the last two probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_per_second: Option<f64>,
}

impl ShardActivity {
    pub(super) fn new(now: ServerActivity, earlier: Option<&Self>) -> Self {
        let rate = |counter: fn(&ServerActivity) -> Option<u64>| {
            let earlier = earlier?;
            rate_between(&earlier.now, &now, counter)
        };
        Self {
            written_per_second: rate(|activity| Some(activity.written_rows)),
            read_per_second: rate(|activity| activity.read_rows),
            commits_per_second: rate(|activity| Some(activity.commits)),
            now,
        }
    }
}

/// Returns a rate per second between two probes; `None` if the counter was reset or not read, or if the clock did not
/// advance.
fn rate_between(
    earlier: &ServerActivity,
    later: &ServerActivity,
    counter: fn(&ServerActivity) -> Option<u64>,
) -> Option<f64> {
    let elapsed_ms = later.at_ms.checked_sub(earlier.at_ms)?;
    let count = counter(later)?.checked_sub(counter(earlier)?)?;
    (elapsed_ms > 0).then(|| count as f64 * 1000.0 / elapsed_ms as f64)
}

/// The last probe of a shard, with what the server did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetailedProbe {
    /// The probe.
    #[serde(flatten)]
    pub probe: ShardProbe,
    /// What the server did, as of the last probe that succeeded. Missing if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ShardActivity>,
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

    /// Returns the last probe of a registered shard, with what its server did.
    ///
    /// # Errors
    /// An unknown shard, or an error of the store.
    pub async fn detailed_probe(&self, shard: &ShardName) -> Result<DetailedProbe, ControlError> {
        self.shard(shard).await?;
        let probed = self.probed_shard(shard);
        Ok(DetailedProbe {
            activity: probed.activity.as_deref().cloned(),
            probe: ShardProbe::new(shard, &probed),
        })
    }

    /// Returns what the last probes of one shard found.
    pub(crate) fn probed_shard(&self, shard: &ShardName) -> ProbedShard {
        self.inner.fleet.probed_shard(shard)
    }

    /// Returns the objects of Shardwright that the last successful probe found on a shard.
    pub(crate) fn last_inventory(&self, shard: &ShardName) -> Option<Inventory> {
        self.inner.fleet.inventory(shard).map(Arc::unwrap_or_clone)
    }

    /// Returns the contradictions between the shards and the control store that the last probes found.
    pub(crate) fn contradictions(&self) -> Vec<Contradiction> {
        self.inner.fleet.contradictions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_time_and_a_counter_that_was_read_and_not_reset() {
        let at = |at_ms, read_rows: u64| ServerActivity {
            at_ms,
            read_rows: (read_rows > 0).then_some(read_rows),
            ..ServerActivity::default()
        };
        let rate = |earlier, later| rate_between(&earlier, &later, |server| server.read_rows);
        assert_eq!(rate(at(1_000, 100), at(3_000, 500)), Some(200.0));
        assert_eq!(rate(at(1_000, 100), at(3_000, 99)), None);
        assert_eq!(rate(at(1_000, 100), at(1_000, 200)), None);
        assert_eq!(rate(at(1_000, 100), at(500, 200)), None);
        assert_eq!(rate(at(1_000, 0), at(3_000, 200)), None);
    }
}
