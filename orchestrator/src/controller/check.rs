//! Checks of maps: part by part on the shards, put together, kept until the next one; and what mends them.
//!
//! A part that fails is named; asked again with the check's token, only what failed is looked at anew.
//! Absent: judging; `plans::inspection::check` says what is asked and what is a defect.

use super::dispatch::shard_ref;
use super::planning::AT_ONCE;
use super::shards::invalid;
use super::{ControlError, Controller, MapEdit, NewMapping, clock};
use crate::store::{ShardRecord, StoreError};
use chrono::{DateTime, TimeDelta, Utc};
use futures::stream::StreamExt;
use plans::failure::{Failure, RetryClass};
use plans::fleet::ShardRef;
use plans::id::{MapName, MapVersion, ShardName};
use plans::inspection::check::{
    CheckTask, Checked, Defect, Look, Mend, MendRequest, MendTask, Mended, combine, follow_up,
    not_examined, questions,
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

/// Extra time for an agent to read whole tables.
const WORK: Duration = Duration::from_secs(3600);

/// Maps are read no more often to see which of them are to be checked.
const LOOK_EVERY: TimeDelta = TimeDelta::seconds(5);

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapCheck {
    /// The map.
    pub map: MapName,
    /// The version that was checked.
    pub version: MapVersion,
    /// Names this check: asked with it again, only what failed is looked at anew.
    pub token: String,
    /// When it began.
    pub at: DateTime<Utc>,
    /// Parts in all.
    pub parts: usize,
    /// Shards that were not examined: no version of this map and no migration of it has ever named them, and another map
    /// owns keys there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_maps: Vec<ShardName>,
    /// Parts that could not be looked at.
    pub failed: Vec<FailedPart>,
    /// What is wrong.
    pub defects: Vec<Defect>,
    /// What would mend it.
    pub request: MendRequest,
}

/// A part of a check that was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedPart {
    /// The shard.
    pub shard: ShardName,
    /// What was to be looked at.
    pub look: Look,
    /// Why it was not.
    pub message: String,
}

/// What became of one mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MendOutcome {
    /// The mend.
    pub mend: Mend,
    /// What was done.
    pub done: Option<Mended>,
    /// Why nothing was done.
    pub failure: Option<Failure>,
}

/// A check that can be taken up again.
#[derive(Debug, Clone)]
struct Kept {
    check: MapCheck,
    parts: Vec<(CheckTask, Checked)>,
}

/// The last check of each map; lost with the process.
#[derive(Debug, Default)]
pub(super) struct Checks {
    kept: Mutex<BTreeMap<MapName, Kept>>,
    schedule: Mutex<Schedule>,
}

#[derive(Debug, Default)]
struct Schedule {
    /// When the last scheduled check of each map was begun.
    begun: BTreeMap<MapName, DateTime<Utc>>,
    /// When the maps' settings are read again.
    look_at: Option<DateTime<Utc>>,
}

/// What every part of a check is about.
struct Ground {
    map: Arc<ShardMap>,
    shards: Vec<ShardRecord>,
    /// The shards that are examined and repaired.
    refs: Vec<ShardRef>,
    /// Those that are not.
    other_maps: Vec<ShardName>,
    under_way: KeySet,
}

impl Controller {
    /// Checks a map; `token` takes up the last check where it failed.
    ///
    /// # Errors
    /// An unknown map, or a token that is not the last check's.
    pub async fn check_map(
        &self,
        name: &MapName,
        token: Option<&str>,
    ) -> Result<MapCheck, ControlError> {
        let at = clock();
        let ground = self.ground(name).await?;
        let kept = self.inner.checks.kept(name);
        let known = match (token, kept) {
            (None, _) => Vec::new(),
            (Some(token), Some(kept))
                if kept.check.token == token && kept.check.version == ground.map.version =>
            {
                kept.parts
            }
            (Some(token), _) => {
                return Err(invalid(&format!(
                    "check {token} of map {name} is not the last one, or the map has changed: check again from the start"
                )));
            }
        };
        let tasks = questions(&ground.map, &ground.refs, &ground.under_way);
        let (mut parts, mut failed) = self.look(tasks, &known).await;
        let seen: Vec<Checked> = parts.iter().map(|(_, checked)| checked.clone()).collect();
        let tasks = follow_up(&ground.map, &ground.refs, &ground.under_way, &seen);
        let (more, failed_more) = self.look(tasks, &known).await;
        parts.extend(more);
        failed.extend(failed_more);
        let seen: Vec<Checked> = parts.iter().map(|(_, checked)| checked.clone()).collect();
        let fleet: Vec<_> = ground.shards.iter().map(ShardRecord::info).collect();
        let mut defects = combine(&ground.map, &fleet, &seen);
        let unseen = failed.iter();
        defects.extend(unseen.map(|part| not_examined(&part.shard, &part.look, &part.message)));
        let token = token.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        let check = MapCheck {
            map: name.clone(),
            version: ground.map.version,
            token,
            at,
            parts: parts.len() + failed.len(),
            other_maps: ground.other_maps,
            failed,
            request: MendRequest::propose(&ground.map, &defects),
            defects,
        };
        let kept = Kept {
            check: check.clone(),
            parts,
        };
        self.inner.checks.keep(kept);
        tracing::info!(map = %name, defects = check.defects.len(), failed = check.failed.len(), "checked");
        Ok(check)
    }

    /// The last check of every map that was checked since the controller started.
    #[must_use]
    pub fn last_checks(&self) -> Vec<MapCheck> {
        self.inner.checks.all()
    }

    /// Carries out a request to mend, one after the other; what fails does not stop the rest.
    ///
    /// # Errors
    /// A request for another version of the map, or keys that a migration is moving.
    pub async fn mend_map(
        &self,
        name: &MapName,
        request: &MendRequest,
        actor: &str,
    ) -> Result<Vec<MendOutcome>, ControlError> {
        let ground = self.ground(name).await?;
        self.refuse_while_moving(name).await?;
        let mut tasks = request.tasks(&ground.map, &ground.refs)?.into_iter();
        let mut outcomes = Vec::with_capacity(request.mends.len());
        for mend in &request.mends {
            let done = match mend {
                Mend::MapKeys { keys, shard } => self.map_keys(name, keys, shard, actor).await,
                Mend::ByHand { advice } => Ok(Mended {
                    done: format!("left to you: {advice}"),
                    rows: 0,
                }),
                Mend::RecreateGuard { .. }
                | Mend::Restride { .. }
                | Mend::CopyReference { .. }
                | Mend::DeleteStray { .. } => match tasks.next() {
                    Some(task) => self.mend(task).await,
                    None => Err(ControlError::OtherAnswer),
                },
            };
            let told = json!({ "mend": mend, "done": done.as_ref().ok() });
            self.audit(actor, "map.mended", super::maps::object(name), told)
                .await?;
            outcomes.push(MendOutcome {
                mend: mend.clone(),
                failure: done.as_ref().err().map(failure),
                done: done.ok(),
            });
        }
        Ok(outcomes)
    }

    /// Begins checks that are due by the maps' `check_every`; returns when to look again.
    pub(super) async fn schedule_checks(&self) -> Result<DateTime<Utc>, ControlError> {
        let now = clock();
        if let Some(later) = self.inner.checks.look_later(now) {
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
                self.inner.checks.begun(&map.name, now);
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
        let soon = now + LOOK_EVERY;
        Ok(next.map_or(soon, |next| next.min(soon)))
    }

    async fn ground(&self, name: &MapName) -> Result<Ground, ControlError> {
        let unfinished = self.inner.store.unfinished().await?;
        let map = self.bare_map(name).await?;
        let moving = unfinished.iter().map(|snapshot| &snapshot.migration.plan);
        let moving = moving.filter(|plan| &plan.map == name);
        let under_way = moving.fold(map.no_keys(), |all, plan| all.union(&plan.moving.keys));
        let shards = self.inner.store.shards().await?;
        let other_maps = self.shards_of_other_maps(name).await?;
        let own = shards
            .iter()
            .filter(|shard| !other_maps.contains(&shard.name));
        let refs = own.map(|shard| shard_ref(&shards, &shard.name));
        Ok(Ground {
            refs: refs.collect::<Result<_, _>>()?,
            other_maps,
            map,
            shards,
            under_way,
        })
    }

    /// Shards that are none of a map's business: it has never named them, and another map owns keys there. Rows of tables
    /// with the same names are that map's.
    async fn shards_of_other_maps(&self, name: &MapName) -> Result<Vec<ShardName>, ControlError> {
        let own = self.inner.store.shards_of_map(name).await?;
        let maps = self.inner.store.maps().await?;
        let others = maps.iter().filter(|map| &map.name != name);
        let owners: BTreeSet<ShardName> = others.flat_map(|map| map.shards()).collect();
        let not_own = owners.into_iter().filter(|shard| !own.contains(shard));
        Ok(not_own.collect())
    }

    /// Asks agents for the parts that are not known.
    async fn look(
        &self,
        tasks: Vec<CheckTask>,
        known: &[(CheckTask, Checked)],
    ) -> (Vec<(CheckTask, Checked)>, Vec<FailedPart>) {
        let looks = tasks.into_iter().map(|task| async move {
            let same = |(asked, _): &&(CheckTask, Checked)| {
                asked.shard.name == task.shard.name && asked.look == task.look
            };
            if let Some((_, checked)) = known.iter().find(same) {
                let checked = checked.clone();
                return Ok((task, checked));
            }
            let asked = self
                .inspect(Inspection::Check(Box::new(task.clone())), WORK)
                .await;
            let message = match asked {
                Ok(Inspected::Check(checked)) => return Ok((task, checked)),
                Ok(_) => ControlError::OtherAnswer.to_string(),
                Err(error) => error.to_string(),
            };
            Err(FailedPart {
                shard: task.shard.name,
                look: task.look,
                message,
            })
        });
        let looks = futures::stream::iter(looks.collect::<Vec<_>>());
        let (mut parts, mut failed) = (Vec::new(), Vec::new());
        for part in looks.buffered(AT_ONCE).collect::<Vec<_>>().await {
            match part {
                Ok(part) => parts.push(part),
                Err(part) => failed.push(part),
            }
        }
        (parts, failed)
    }

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

    async fn map_keys(
        &self,
        name: &MapName,
        keys: &KeySet,
        shard: &ShardName,
        actor: &str,
    ) -> Result<Mended, ControlError> {
        let mappings = vec![NewMapping {
            keys: keys.clone(),
            shard: shard.clone(),
        }];
        let map = self
            .edit_map(name, MapEdit::Assign { mappings }, actor)
            .await?;
        Ok(Mended {
            done: format!(
                "{keys} are owned by shard {shard} since version {}",
                map.version
            ),
            rows: 0,
        })
    }

    async fn mend(&self, task: MendTask) -> Result<Mended, ControlError> {
        let Inspected::Mend(mended) = self.inspect(Inspection::Mend(Box::new(task)), WORK).await?
        else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(mended)
    }
}

fn failure(error: &ControlError) -> Failure {
    if let ControlError::Inspection(failure) = error {
        return failure.clone();
    }
    Failure {
        code: "mend.failed".to_owned(),
        message: error.to_string(),
        hint: None,
        retry: RetryClass::None,
    }
}

impl Checks {
    fn kept(&self, name: &MapName) -> Option<Kept> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(name).cloned()
    }

    fn keep(&self, kept: Kept) {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(kept.check.map.clone(), kept);
    }

    fn all(&self) -> Vec<MapCheck> {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().map(|kept| kept.check.clone()).collect()
    }

    /// When the next check of a map is due; at once if none was begun yet.
    fn due(&self, name: &MapName, every: TimeDelta, now: DateTime<Utc>) -> DateTime<Utc> {
        let schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.begun.get(name).map_or(now, |begun| *begun + every)
    }

    fn begun(&self, name: &MapName, now: DateTime<Utc>) {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.begun.insert(name.clone(), now);
    }

    /// When to look at the maps, if that is not now; now it is written down that somebody looks.
    fn look_later(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let later = schedule.look_at.filter(|at| *at > now);
        if later.is_none() {
            schedule.look_at = Some(now + LOOK_EVERY);
        }
        later
    }
}
