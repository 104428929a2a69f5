//! What was seen on the shards, and which of them is being looked at; lost with the process.

use super::super::ControlError;
use crate::store::ShardRecord;
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::{MigrationId, ShardName};
use plans::inspection::inventory::Inventory;
use plans::inspection::reconcile::{Finding, KnownMove};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last looks at all shards together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// Each shard that was looked at, or could not be.
    pub shards: Vec<ShardLook>,
    /// What contradicts.
    pub findings: Vec<Finding>,
    /// What was done on the operator's order.
    #[serde(default)]
    pub done: Vec<String>,
}

/// The last look at a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardLook {
    /// The shard.
    pub shard: ShardName,
    /// When it was seen last.
    pub seen_at: Option<DateTime<Utc>>,
    /// Why it could not be looked at since.
    pub failure: Option<String>,
}

#[derive(Debug, Default)]
struct Kept {
    begun_at: Option<DateTime<Utc>>,
    /// Held by who looks at it.
    turn: Arc<tokio::sync::Mutex<()>>,
    seen_at: Option<DateTime<Utc>>,
    failure: Option<String>,
    inventory: Option<Inventory>,
    findings: Vec<Finding>,
}

/// After a look that failed the next one comes sooner.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// What has ended, by id, and what had not when it was read last.
pub(super) type Ended = (BTreeMap<MigrationId, KnownMove>, BTreeSet<MigrationId>);

/// All looks of this process.
#[derive(Debug, Default)]
pub(in crate::controller) struct FleetWatch {
    shards: Mutex<BTreeMap<ShardName, Kept>>,
    /// Migrations that have ended, and those that had not when they were read last.
    pub(super) ended: Mutex<Option<Ended>>,
    /// Migrations that have ended, whose cleanup records may not be marked yet.
    pub(super) unmarked: Mutex<BTreeSet<MigrationId>>,
}

/// What a look has brought.
pub(super) struct News {
    /// The shard was never seen before.
    pub(super) first: bool,
    /// What was not found the last time.
    pub(super) findings: Vec<Finding>,
}

impl FleetWatch {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<ShardName, Kept>> {
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
        looked: Result<(Inventory, Vec<Finding>), ControlError>,
    ) -> News {
        let mut all = self.kept();
        let kept = all.entry(shard.clone()).or_default();
        let first = kept.seen_at.is_none() && looked.is_ok();
        match looked {
            Ok((inventory, findings)) => {
                let is_new = |finding: &&Finding| !kept.findings.iter().any(|f| f.is_same(finding));
                let new = findings.iter().filter(is_new).cloned().collect();
                kept.seen_at = Some(at);
                kept.failure = None;
                kept.inventory = Some(inventory);
                kept.findings = findings;
                News {
                    first,
                    findings: new,
                }
            }
            Err(error) => {
                kept.failure = Some(error.to_string());
                News {
                    first,
                    findings: Vec::new(),
                }
            }
        }
    }

    pub(super) fn was_seen(&self, shard: &ShardName) -> bool {
        self.kept()
            .get(shard)
            .is_some_and(|kept| kept.seen_at.is_some())
    }

    /// What was seen last, however long ago.
    pub(super) fn inventory(&self, shard: &ShardName) -> Option<Inventory> {
        self.kept().get(shard)?.inventory.clone()
    }

    /// What was seen by a look that has just succeeded.
    pub(super) fn fresh(&self, shard: &ShardName) -> Result<Inventory, ControlError> {
        let all = self.kept();
        let kept = all.get(shard).filter(|kept| kept.failure.is_none());
        let seen = kept.and_then(|kept| kept.inventory.clone());
        seen.ok_or_else(|| ControlError::Unseen {
            shard: shard.clone(),
        })
    }

    pub(super) fn others(&self, shard: &ShardName) -> Vec<Inventory> {
        let all = self.kept();
        let others = all.iter().filter(|(name, _)| *name != shard);
        others
            .filter_map(|(_, kept)| kept.inventory.clone())
            .collect()
    }

    pub(super) fn report(&self) -> FleetReport {
        let all = self.kept();
        let look = |(shard, kept): (&ShardName, &Kept)| ShardLook {
            shard: shard.clone(),
            seen_at: kept.seen_at,
            failure: kept.failure.clone(),
        };
        FleetReport {
            shards: all.iter().map(look).collect(),
            findings: all
                .values()
                .flat_map(|kept| kept.findings.clone())
                .collect(),
            done: Vec::new(),
        }
    }
}
