//! Checks of maps. The controller lets agents check a map part by part, combines the results, and keeps them until the
//! next check. It also carries out the repairs of what a check found.
//!
//! A check names each part that failed. A check with the token of the last check inspects only the parts that failed
//! there. `plans::inspection::check` defines what the agents inspect and what is a defect.

use super::dispatch::shard_ref;
use super::planning::AT_ONCE;
use super::shards::invalid_error;
use super::{ControlError, Controller, MapEdit, NewMapping, clock};
use crate::store::{ShardRecord, StoreError};
use chrono::{DateTime, TimeDelta, Utc};
use futures::stream::StreamExt;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::fleet::ShardRef;
use plans::id::{MapName, MapVersion, ShardName};
use plans::inspection::check::{
    CheckSubject, CheckTask, CheckTaskResult, Defect, Repair, RepairRequest, RepairResult,
    RepairTask, SurplusRows, UnfinishedMoves, combine, first_tasks, follow_up, not_examined,
    surplus_rows,
};
use plans::inspection::{Inspected, Inspection};
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Additional time for an agent that reads whole tables.
const WORK: Duration = Duration::from_secs(3600);

/// The shortest time between two reads of the maps' settings, which contain how often to check each map.
const SETTINGS_INTERVAL: TimeDelta = TimeDelta::seconds(5);

/// The result of a check of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapCheck {
    /// The map.
    pub map: MapName,
    /// The version of the map that was checked.
    pub version: MapVersion,
    /// Identifies this check. A new check with this token inspects only the parts that failed in this check.
    pub token: String,
    /// When the check began.
    pub at: DateTime<Utc>,
    /// The number of parts of the check. A part is the inspection of one subject on one shard.
    pub parts: usize,
    /// Shards that were not examined, because no version of this map and no migration of it has ever named them, and
    /// another map owns keys there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_maps: Vec<ShardName>,
    /// Rows on targets that were standbys, which unfinished migrations will remove. They are no defects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to_be_removed: Vec<SurplusRows>,
    /// Shards that were not examined, because they are standbys that own no keys of this map: their rows are their
    /// primaries'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standbys: Vec<ShardName>,
    /// The parts that could not be inspected.
    pub failed: Vec<FailedPart>,
    /// The defects, including one for each part that could not be inspected.
    pub defects: Vec<Defect>,
    /// A request with the repairs of the defects.
    pub request: RepairRequest,
}

/// A part of a check that could not be inspected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedPart {
    /// The shard.
    pub shard: ShardName,
    /// What was to be inspected on the shard.
    #[serde(rename = "look")]
    pub subject: CheckSubject,
    /// Why the part could not be inspected.
    pub message: String,
}

/// The outcome of one repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairOutcome {
    /// The repair.
    #[serde(rename = "mend")]
    pub repair: Repair,
    /// What was done, if the repair succeeded.
    pub done: Option<RepairResult>,
    /// Why the repair failed.
    pub failure: Option<Failure>,
}

/// A check that a later check can continue.
#[derive(Debug, Clone)]
struct ResumableCheck {
    check: MapCheck,
    parts: Vec<(CheckTask, CheckTaskResult)>,
}

/// The last check of each map. The memory of the process holds it; the store does not.
#[derive(Debug, Default)]
pub(super) struct Checks {
    last_checks: Mutex<BTreeMap<MapName, ResumableCheck>>,
    schedule: Mutex<CheckSchedule>,
}

#[derive(Debug, Default)]
struct CheckSchedule {
    /// When the last scheduled check of each map began.
    begun: BTreeMap<MapName, DateTime<Utc>>,
    /// When the controller reads the settings of the maps again.
    reread_at: Option<DateTime<Utc>>,
}

/// What all parts of a check have in common.
struct CheckInput {
    map: Arc<ShardMap>,
    shards: Vec<ShardRecord>,
    /// The shards that are examined and repaired.
    refs: Vec<ShardRef>,
    /// The shards that are not examined, because only other maps own keys there.
    other_maps: Vec<ShardName>,
    /// What unfinished migrations of the map do to its rows.
    unfinished: UnfinishedMoves,
    /// The shards that are not examined, because they are standbys.
    standbys: Vec<ShardName>,
}

impl Controller {
    /// Checks a map. With the `token` of the last check, only the parts that failed there are inspected again.
    ///
    /// # Errors
    /// The map does not exist, or the token is not that of the last check.
    pub async fn check_map(
        &self,
        name: &MapName,
        token: Option<&str>,
    ) -> Result<MapCheck, ControlError> {
        let at = clock();
        let input = self.check_input(name).await?;
        let last_check = self.inner.checks.last(name);
        let known = match (token, last_check) {
            (None, _) => Vec::new(),
            (Some(token), Some(last))
                if last.check.token == token && last.check.version == input.map.version =>
            {
                last.parts
            }
            (Some(token), _) => {
                return Err(invalid_error(&format!(
                    "check {token} is not the last check of map {name}, or the map has changed: check again without the token"
                )));
            }
        };
        let tasks = first_tasks(&input.map, &input.refs, &input.unfinished);
        let (mut parts, mut failed) = self.inspect_parts(tasks, &known).await;
        let answered: Vec<CheckTaskResult> =
            parts.iter().map(|(_, checked)| checked.clone()).collect();
        let tasks = follow_up(&input.map, &input.refs, &input.unfinished, &answered);
        let (more, failed_more) = self.inspect_parts(tasks, &known).await;
        parts.extend(more);
        failed.extend(failed_more);
        let answered: Vec<CheckTaskResult> =
            parts.iter().map(|(_, checked)| checked.clone()).collect();
        let fleet: Vec<_> = input.shards.iter().map(ShardRecord::info).collect();
        let mut defects = combine(&input.map, &fleet, &answered);
        let failed_parts = failed.iter();
        defects.extend(
            failed_parts.map(|part| not_examined(&part.shard, &part.subject, &part.message)),
        );
        let token = token.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        let check = MapCheck {
            map: name.clone(),
            version: input.map.version,
            token,
            at,
            parts: parts.len() + failed.len(),
            other_maps: input.other_maps,
            to_be_removed: surplus_rows(&answered),
            standbys: input.standbys,
            failed,
            request: RepairRequest::propose(&input.map, &defects),
            defects,
        };
        let resumable = ResumableCheck {
            check: check.clone(),
            parts,
        };
        self.inner.checks.store(resumable);
        tracing::info!(map = %name, defects = check.defects.len(), failed = check.failed.len(), "checked");
        Ok(check)
    }

    /// Returns the last check of every map that was checked since the controller started.
    #[must_use]
    pub fn last_checks(&self) -> Vec<MapCheck> {
        self.inner.checks.all()
    }

    /// Carries out the repairs of a request one after the other. If a repair fails, the others are still carried out.
    ///
    /// # Errors
    /// The request is for another version of the map, or a migration is moving keys of the map.
    pub async fn repair_map(
        &self,
        name: &MapName,
        request: &RepairRequest,
        actor: &str,
    ) -> Result<Vec<RepairOutcome>, ControlError> {
        let input = self.check_input(name).await?;
        self.refuse_while_moving(name).await?;
        let mut tasks = request.tasks(&input.map, &input.refs)?.into_iter();
        let mut outcomes = Vec::with_capacity(request.repairs.len());
        for repair in &request.repairs {
            let done = match repair {
                Repair::MapKeys { keys, shard } => self.map_keys(name, keys, shard, actor).await,
                Repair::ByHand { advice } => Ok(RepairResult {
                    done: format!("the operator must do this: {advice}"),
                    rows: 0,
                }),
                Repair::RecreateGuard { .. }
                | Repair::Restride { .. }
                | Repair::CopyReference { .. }
                | Repair::DeleteStray { .. } => match tasks.next() {
                    Some(task) => self.perform_repair(task).await,
                    None => Err(ControlError::OtherAnswer),
                },
            };
            let data = json!({ "mend": repair, "done": done.as_ref().ok() });
            self.audit(actor, "map.mended", super::maps::audit_object(name), data)
                .await?;
            outcomes.push(RepairOutcome {
                repair: repair.clone(),
                failure: done.as_ref().err().map(failure_of),
                done: done.ok(),
            });
        }
        Ok(outcomes)
    }

    /// Starts the checks that are due by the setting `check_every` of their maps. Returns when to call this function
    /// again.
    pub(super) async fn schedule_checks(&self) -> Result<DateTime<Utc>, ControlError> {
        let now = clock();
        if let Some(later) = self.inner.checks.next_reading(now) {
            return Ok(later);
        }
        let mut next: Option<DateTime<Utc>> = None;
        for map in self.inner.store.maps().await? {
            let Some(seconds) = map.settings.check_every else {
                continue;
            };
            let every = TimeDelta::seconds(seconds.max(1).into());
            let due = self.inner.checks.due(&map.name, every, now);
            if due <= now {
                self.inner.checks.note_begun(&map.name, now);
                let controller = self.clone();
                tokio::spawn(async move {
                    if let Err(error) = controller.check_map(&map.name, None).await {
                        tracing::warn!(map = %map.name, %error, "check failed");
                    }
                });
            }
            let due = if due <= now { now + every } else { due };
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        let soon = now + SETTINGS_INTERVAL;
        Ok(next.map_or(soon, |next| next.min(soon)))
    }

    /// Reads what the parts of a check have in common from the store.
    async fn check_input(&self, name: &MapName) -> Result<CheckInput, ControlError> {
        let snapshots = self.inner.store.unfinished().await?;
        let map = self.bare_map(name).await?;
        let plans = snapshots.iter().map(|snapshot| &snapshot.migration.plan);
        let plans = plans.filter(|plan| &plan.map == name);
        let unfinished = plans.fold(UnfinishedMoves::none(&map), |all, plan| {
            all.with(&plan.moving, plan.options.seed)
        });
        let shards = self.inner.store.shards().await?;
        let other_maps = self.shards_of_other_maps(name).await?;
        let standbys = shards
            .iter()
            .filter(|shard| shard.is_standby() && map.owned_by(&shard.name).is_empty());
        let standbys: Vec<ShardName> = standbys.map(|shard| shard.name.clone()).collect();
        let own = shards
            .iter()
            .filter(|shard| !other_maps.contains(&shard.name) && !standbys.contains(&shard.name));
        let refs = own.map(|shard| shard_ref(&shards, &shard.name));
        Ok(CheckInput {
            refs: refs.collect::<Result<_, _>>()?,
            other_maps,
            standbys,
            map,
            shards,
            unfinished,
        })
    }

    /// Returns the shards that do not concern this map: the map has never named them, and another map owns keys there.
    /// If such a shard has tables with the same names, their rows belong to the other map.
    async fn shards_of_other_maps(&self, name: &MapName) -> Result<Vec<ShardName>, ControlError> {
        let own = self.inner.store.shards_of_map(name).await?;
        let maps = self.inner.store.maps().await?;
        let others = maps.iter().filter(|map| &map.name != name);
        let owners: BTreeSet<ShardName> = others.flat_map(|map| map.shards()).collect();
        let not_own = owners.into_iter().filter(|shard| !own.contains(shard));
        Ok(not_own.collect())
    }

    /// Lets agents inspect the parts whose results are not in `known`.
    async fn inspect_parts(
        &self,
        tasks: Vec<CheckTask>,
        known: &[(CheckTask, CheckTaskResult)],
    ) -> (Vec<(CheckTask, CheckTaskResult)>, Vec<FailedPart>) {
        let inspections = tasks.into_iter().map(|task| async move {
            let is_same_part = |(answered, _): &&(CheckTask, CheckTaskResult)| {
                answered.shard.name == task.shard.name && answered.subject == task.subject
            };
            if let Some((_, checked)) = known.iter().find(is_same_part) {
                let checked = checked.clone();
                return Ok((task, checked));
            }
            let answer = self
                .inspect(Inspection::Check(Box::new(task.clone())), WORK)
                .await;
            let message = match answer {
                Ok(Inspected::Check(checked)) => return Ok((task, checked)),
                Ok(_) => ControlError::OtherAnswer.to_string(),
                Err(error) => error.to_string(),
            };
            Err(FailedPart {
                shard: task.shard.name,
                subject: task.subject,
                message,
            })
        });
        let inspections = futures::stream::iter(inspections.collect::<Vec<_>>());
        let (mut parts, mut failed) = (Vec::new(), Vec::new());
        for part in inspections.buffered(AT_ONCE).collect::<Vec<_>>().await {
            match part {
                Ok(part) => parts.push(part),
                Err(part) => failed.push(part),
            }
        }
        (parts, failed)
    }

    /// Returns an error if a migration is moving keys of the map.
    async fn refuse_while_moving(&self, name: &MapName) -> Result<(), ControlError> {
        let unfinished = self.inner.store.unfinished().await?;
        let mut moving = unfinished.iter().map(|snapshot| &snapshot.migration);
        match moving.find(|m| &m.plan.map == name && m.holds_keys()) {
            None => Ok(()),
            Some(m) => Err(StoreError::KeysMoving {
                migration: m.id.clone(),
            }
            .into()),
        }
    }

    /// Assigns keys without an owner to the shard.
    async fn map_keys(
        &self,
        name: &MapName,
        keys: &KeySet,
        shard: &ShardName,
        actor: &str,
    ) -> Result<RepairResult, ControlError> {
        let mappings = vec![NewMapping {
            keys: keys.clone(),
            shard: shard.clone(),
        }];
        let map = self
            .edit_map(name, MapEdit::Assign { mappings }, actor)
            .await?;
        Ok(RepairResult {
            done: format!(
                "{keys} are owned by shard {shard} since version {}",
                map.version
            ),
            rows: 0,
        })
    }

    async fn perform_repair(&self, task: RepairTask) -> Result<RepairResult, ControlError> {
        let Inspected::Repair(repaired) = self
            .inspect(Inspection::Repair(Box::new(task)), WORK)
            .await?
        else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(repaired)
    }
}

fn failure_of(error: &ControlError) -> Failure {
    if let ControlError::Inspection(failure) = error {
        return failure.clone();
    }
    Failure {
        code: StepCode::RepairFailed.into(),
        message: error.to_string(),
        hint: None,
        retry: RetryClass::None,
    }
}

impl Checks {
    fn last(&self, name: &MapName) -> Option<ResumableCheck> {
        let checks = self
            .last_checks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        checks.get(name).cloned()
    }

    fn store(&self, check: ResumableCheck) {
        let mut all = self
            .last_checks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.insert(check.check.map.clone(), check);
    }

    fn all(&self) -> Vec<MapCheck> {
        let all = self
            .last_checks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.values().map(|last| last.check.clone()).collect()
    }

    /// Returns when the next check of a map is due; `now` if none has begun yet.
    fn due(&self, name: &MapName, every: TimeDelta, now: DateTime<Utc>) -> DateTime<Utc> {
        let schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.begun.get(name).map_or(now, |begun| *begun + every)
    }

    fn note_begun(&self, name: &MapName, now: DateTime<Utc>) {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.begun.insert(name.clone(), now);
    }

    /// Returns when the maps' settings are to be read, if that is later than `now`. `None` means now: the caller must
    /// read them.
    fn next_reading(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let later = schedule.reread_at.filter(|at| *at > now);
        if later.is_none() {
            schedule.reread_at = Some(now + SETTINGS_INTERVAL);
        }
        later
    }
}
