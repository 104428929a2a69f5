//! What was seen on the shards, and which of them is being looked at; lost with the process.

use super::super::ControlError;
use crate::store::ShardRecord;
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::{MigrationId, ShardName};
use plans::inspection::inventory::Inventory;
use plans::inspection::reconcile::{Contradiction, KnownMove};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last looks at all shards together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// Each shard that was looked at, or could not be.
    pub shards: Vec<ShardProbe>,
    /// What contradicts.
    pub findings: Vec<Contradiction>,
    /// What was done on the operator's order.
    #[serde(default)]
    pub done: Vec<String>,
}

/// The last look at a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardProbe {
    /// The shard.
    pub shard: ShardName,
    /// When it was seen last.
    #[serde(rename = "seen_at")]
    pub observed_at: Option<DateTime<Utc>>,
    /// Why it could not be looked at since.
    pub failure: Option<String>,
}

#[derive(Debug, Default)]
struct ProbeState {
    begun_at: Option<DateTime<Utc>>,
    /// Held by who looks at it.
    turn: Arc<tokio::sync::Mutex<()>>,
    observed_at: Option<DateTime<Utc>>,
    failure: Option<String>,
    inventory: Option<Inventory>,
    findings: Vec<Contradiction>,
}

/// After a look that failed the next one comes sooner.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// What has ended, by id, and what had not when it was read last.
pub(super) type EndedMigrations = (BTreeMap<MigrationId, KnownMove>, BTreeSet<MigrationId>);

/// All looks of this process.
#[derive(Debug, Default)]
pub(in crate::controller) struct FleetWatch {
    shards: Mutex<BTreeMap<ShardName, ProbeState>>,
    /// Migrations that have ended, and those that had not when they were read last.
    pub(super) ended: Mutex<Option<EndedMigrations>>,
    /// Migrations that have ended, whose cleanup records may not be marked yet.
    pub(super) unmarked: Mutex<BTreeSet<MigrationId>>,
}

/// What a look has brought.
pub(super) struct ProbeChange {
    /// The shard was never seen before.
    pub(super) first: bool,
    /// What was not found the last time.
    pub(super) findings: Vec<Contradiction>,
}

impl FleetWatch {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<ShardName, ProbeState>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything: this process has become the one that decides.
    pub(in crate::controller) fn forget(&self) {
        self.kept().clear();
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The shards whose look is due; shards that are registered no more are forgotten.
    pub(super) fn due(
        &self,
        shards: Vec<ShardRecord>,
        now: DateTime<Utc>,
        every: TimeDelta,
    ) -> Vec<ShardRecord> {
        let mut kept = self.kept();
        kept.retain(|name, _| shards.iter().any(|shard| &shard.name == name));
        let is_due = |shard: &ShardRecord| {
            let kept = kept.entry(shard.name.clone()).or_default();
            let pause = if kept.failure.is_some() {
                AGAIN.min(every)
            } else {
                every
            };
            let due =
                kept.turn.try_lock().is_ok() && kept.begun_at.is_none_or(|at| at + pause <= now);
            if due {
                kept.begun_at = Some(now);
            }
            due
        };
        let mut is_due = is_due;
        shards.into_iter().filter(|shard| is_due(shard)).collect()
    }

    /// When to look at what is due: at the latest at `limit`.
    pub(super) fn next(&self, limit: DateTime<Utc>) -> DateTime<Utc> {
        let failed = self.kept().values().any(|kept| kept.failure.is_some());
        if failed {
            limit.min(super::clock() + AGAIN)
        } else {
            limit
        }
    }

    /// Only one look at a shard at a time: the caller waits for its turn.
    pub(super) fn turn(&self, shard: &ShardName) -> Arc<tokio::sync::Mutex<()>> {
        self.kept().entry(shard.clone()).or_default().turn.clone()
    }

    pub(super) fn keep(
        &self,
        shard: &ShardName,
        at: DateTime<Utc>,
        probed: Result<(Inventory, Vec<Contradiction>), ControlError>,
    ) -> ProbeChange {
        let mut all = self.kept();
        let kept = all.entry(shard.clone()).or_default();
        let first = kept.observed_at.is_none() && probed.is_ok();
        match probed {
            Ok((inventory, findings)) => {
                let is_new =
                    |finding: &&Contradiction| !kept.findings.iter().any(|f| f.is_same(finding));
                let new = findings.iter().filter(is_new).cloned().collect();
                kept.observed_at = Some(at);
                kept.failure = None;
                kept.inventory = Some(inventory);
                kept.findings = findings;
                ProbeChange {
                    first,
                    findings: new,
                }
            }
            Err(error) => {
                kept.failure = Some(error.to_string());
                ProbeChange {
                    first,
                    findings: Vec::new(),
                }
            }
        }
    }

    pub(super) fn was_observed(&self, shard: &ShardName) -> bool {
        self.kept()
            .get(shard)
            .is_some_and(|kept| kept.observed_at.is_some())
    }

    /// What was seen last, however long ago.
    pub(super) fn inventory(&self, shard: &ShardName) -> Option<Inventory> {
        self.kept().get(shard)?.inventory.clone()
    }

    /// What was seen by a look that has just succeeded.
    pub(super) fn fresh(&self, shard: &ShardName) -> Result<Inventory, ControlError> {
        let all = self.kept();
        let kept = all.get(shard).filter(|kept| kept.failure.is_none());
        let inventory = kept.and_then(|kept| kept.inventory.clone());
        inventory.ok_or_else(|| ControlError::Unseen {
            shard: shard.clone(),
        })
    }

    pub(super) fn other_inventories(&self, shard: &ShardName) -> Vec<Inventory> {
        let all = self.kept();
        let inventories = all.iter().filter(|(name, _)| *name != shard);
        inventories
            .filter_map(|(_, kept)| kept.inventory.clone())
            .collect()
    }

    pub(super) fn report(&self) -> FleetReport {
        let all = self.kept();
        let probe = |(shard, kept): (&ShardName, &ProbeState)| ShardProbe {
            shard: shard.clone(),
            observed_at: kept.observed_at,
            failure: kept.failure.clone(),
        };
        FleetReport {
            shards: all.iter().map(probe).collect(),
            findings: all
                .values()
                .flat_map(|kept| kept.findings.clone())
                .collect(),
            done: Vec::new(),
        }
    }
}
