//! The results of the probes of shards, and which probes are running. A probe is an inspection: an agent reads which
//! objects and records of Shardwright a shard has, and the controller compares them with the control store. The results
//! exist only in the memory of the controller.

use super::super::ControlError;
use super::probed::{ProbedShard, ShardActivity};
use crate::store::{ImbalanceSample, ShardRecord};
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::{MigrationId, ShardName};
use plans::inspection::inventory::{DatabaseFigures, Inventory};
use plans::inspection::reconcile::{Contradiction, KnownMove};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The results of the last probes of all shards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// Each shard, with the time of its last successful probe or the reason of a failure.
    pub shards: Vec<ShardProbe>,
    /// Contradictions between the shards and the control store.
    pub findings: Vec<Contradiction>,
    /// What was done because the operator requested it.
    #[serde(default)]
    pub done: Vec<String>,
}

/// The last probe of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardProbe {
    /// The shard.
    pub shard: ShardName,
    /// When a probe last succeeded.
    #[serde(rename = "seen_at")]
    pub observed_at: Option<DateTime<Utc>>,
    /// Why the last probe failed, if it did.
    pub failure: Option<String>,
    /// The version and the size of the database, as of the last probe that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<DatabaseFigures>,
}

impl ShardProbe {
    pub(super) fn new(shard: &ShardName, probed: &ProbedShard) -> Self {
        Self {
            shard: shard.clone(),
            observed_at: probed.observed_at,
            failure: probed.failure.clone(),
            figures: probed.figures.clone(),
        }
    }
}

/// The state of the probes of one shard.
#[derive(Debug, Default)]
struct ProbeState {
    /// When the last probe began.
    begun_at: Option<DateTime<Utc>>,
    /// A lock that is held during a probe.
    probe_lock: Arc<tokio::sync::Mutex<()>>,
    /// When a probe last succeeded.
    observed_at: Option<DateTime<Utc>>,
    /// Why the last probe failed, if it did.
    failure: Option<String>,
    inventory: Option<Arc<Inventory>>,
    /// What the server did at the last successful probe.
    activity: Option<Arc<ShardActivity>>,
    findings: Vec<Contradiction>,
}

impl ProbeState {
    fn probed(&self) -> ProbedShard {
        let inventory = self.inventory.as_ref();
        ProbedShard {
            observed_at: self.observed_at,
            failure: self.failure.clone(),
            figures: inventory.and_then(|found| found.figures.clone()),
            activity: self.activity.clone(),
        }
    }
}

/// The pause between a failed probe and the next one, unless the usual interval is shorter.
const RETRY_PAUSE: TimeDelta = TimeDelta::seconds(1);

/// All migrations as the controller last read them.
#[derive(Debug)]
pub(super) struct MigrationsAtLastRead {
    /// Those that had ended.
    pub(super) ended: BTreeMap<MigrationId, KnownMove>,
    /// Those that had not ended.
    pub(super) unfinished: BTreeSet<MigrationId>,
}

/// The probes of all shards by this process.
#[derive(Debug, Default)]
pub(in crate::controller) struct FleetWatch {
    shards: Mutex<BTreeMap<ShardName, ProbeState>>,
    /// All migrations as of the last read; `None` before the first read.
    pub(super) last_read: Mutex<Option<MigrationsAtLastRead>>,
    /// Ended migrations that possibly have cleanup records that are not marked as done yet.
    pub(super) unmarked: Mutex<BTreeSet<MigrationId>>,
    /// The last sample of the imbalance that this process has stored.
    last_sample: Mutex<Option<ImbalanceSample>>,
}

/// What a probe has changed.
pub(super) struct ProbeChange {
    /// True if this was the first successful probe of the shard.
    pub(super) first: bool,
    /// The contradictions that the previous probe did not find.
    pub(super) findings: Vec<Contradiction>,
}

impl FleetWatch {
    /// Locks the states of the probes of all shards.
    fn probe_states(&self) -> MutexGuard<'_, BTreeMap<ShardName, ProbeState>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything, because this process has just become the leader.
    pub(in crate::controller) fn forget(&self) {
        self.probe_states().clear();
        *self
            .last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns whether a sample has something that the last stored one lacks: another time, or another measure.
    pub(super) fn is_new_sample(&self, sample: &ImbalanceSample) -> bool {
        let last = self.last_sample.lock();
        let last = last.unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref().filter(|last| last.at == sample.at);
        let is_known = |measure| known.is_some_and(|last| last.factors.contains_key(measure));
        !sample.factors.keys().all(is_known)
    }

    /// Keeps the last sample that was stored.
    pub(super) fn note_sample(&self, sample: ImbalanceSample) {
        let last = self.last_sample.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = Some(sample);
    }

    /// Returns the shards whose probe is due. Forgets shards that are no longer registered.
    pub(super) fn begin_due(
        &self,
        shards: Vec<ShardRecord>,
        now: DateTime<Utc>,
        every: TimeDelta,
    ) -> Vec<ShardRecord> {
        let mut states = self.probe_states();
        let registered: BTreeSet<&ShardName> = shards.iter().map(|shard| &shard.name).collect();
        states.retain(|name, _| registered.contains(name));
        let is_due = |shard: &ShardRecord| {
            let state = states.entry(shard.name.clone()).or_default();
            let pause = if state.failure.is_some() {
                RETRY_PAUSE.min(every)
            } else {
                every
            };
            let due = state.probe_lock.try_lock().is_ok()
                && state.begun_at.is_none_or(|at| at + pause <= now);
            if due {
                state.begun_at = Some(now);
            }
            due
        };
        let mut is_due = is_due;
        shards.into_iter().filter(|shard| is_due(shard)).collect()
    }

    /// Returns when to check again which probes are due: at `limit`, or earlier if a probe failed.
    pub(super) fn next_check(&self, limit: DateTime<Utc>) -> DateTime<Utc> {
        let failed = self
            .probe_states()
            .values()
            .any(|state| state.failure.is_some());
        if failed {
            limit.min(super::clock() + RETRY_PAUSE)
        } else {
            limit
        }
    }

    /// Returns the lock of a shard's probes: only one probe of a shard runs at a time.
    pub(super) fn probe_lock(&self, shard: &ShardName) -> Arc<tokio::sync::Mutex<()>> {
        self.probe_states()
            .entry(shard.clone())
            .or_default()
            .probe_lock
            .clone()
    }

    /// Keeps the result of a probe, and returns what it has changed.
    pub(super) fn record_probe(
        &self,
        shard: &ShardName,
        at: DateTime<Utc>,
        mut inventory: Inventory,
        findings: Vec<Contradiction>,
    ) -> ProbeChange {
        let mut all = self.probe_states();
        let state = all.entry(shard.clone()).or_default();
        let first = state.observed_at.is_none();
        let activity = inventory.activity.take();
        let earlier = state.activity.take();
        state.activity =
            activity.map(|activity| Arc::new(ShardActivity::new(*activity, earlier.as_deref())));
        let is_new = |finding: &&Contradiction| !state.findings.iter().any(|f| f.is_same(finding));
        let new = findings.iter().filter(is_new).cloned().collect();
        state.observed_at = Some(at);
        state.failure = None;
        state.inventory = Some(Arc::new(inventory));
        state.findings = findings;
        ProbeChange {
            first,
            findings: new,
        }
    }

    /// Keeps the reason why a probe failed.
    pub(super) fn record_failure(&self, shard: &ShardName, error: &ControlError) {
        let mut all = self.probe_states();
        all.entry(shard.clone()).or_default().failure = Some(error.to_string());
    }

    /// Returns whether a probe of the shard has succeeded.
    pub(super) fn was_observed(&self, shard: &ShardName) -> bool {
        self.probe_states()
            .get(shard)
            .is_some_and(|state| state.observed_at.is_some())
    }

    /// Returns the result of the last successful probe, of any age.
    pub(super) fn inventory(&self, shard: &ShardName) -> Option<Arc<Inventory>> {
        self.probe_states().get(shard)?.inventory.clone()
    }

    /// Returns the result of the last probe. Fails if the last probe failed.
    pub(super) fn inventory_of_last_probe(
        &self,
        shard: &ShardName,
    ) -> Result<Arc<Inventory>, ControlError> {
        let all = self.probe_states();
        let state = all.get(shard).filter(|state| state.failure.is_none());
        let inventory = state.and_then(|state| state.inventory.clone());
        inventory.ok_or_else(|| ControlError::ProbeFailed {
            shard: shard.clone(),
        })
    }

    /// Returns what the last probes of all shards found, without the objects on them.
    pub(super) fn probed_shards(&self) -> BTreeMap<ShardName, ProbedShard> {
        let all = self.probe_states();
        let shards = all.iter();
        shards
            .map(|(name, state)| (name.clone(), state.probed()))
            .collect()
    }

    /// Returns what the last probes of one shard found.
    pub(super) fn probed_shard(&self, shard: &ShardName) -> ProbedShard {
        let all = self.probe_states();
        all.get(shard).map(ProbeState::probed).unwrap_or_default()
    }

    /// Returns the last results of the probes of all shards but these.
    pub(super) fn other_inventories(&self, shards: &BTreeSet<&ShardName>) -> Vec<Arc<Inventory>> {
        let all = self.probe_states();
        let others = all.iter().filter(|(name, _)| !shards.contains(name));
        others
            .filter_map(|(_, state)| state.inventory.clone())
            .collect()
    }

    /// Returns the contradictions that the last probes found.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let all = self.probe_states();
        all.values()
            .flat_map(|state| state.findings.clone())
            .collect()
    }

    pub(super) fn report(&self) -> FleetReport {
        let all = self.probe_states();
        let probe =
            |(shard, state): (&ShardName, &ProbeState)| ShardProbe::new(shard, &state.probed());
        FleetReport {
            shards: all.iter().map(probe).collect(),
            findings: all
                .values()
                .flat_map(|state| state.findings.clone())
                .collect(),
            done: Vec::new(),
        }
    }
}
