//! Migrations as the store keeps them, in the words of `plans`; cleanup records.

use super::FigureReading;
use crate::access::SecretDigest;
use crate::store::MigrationPhase;
use chrono::{DateTime, Utc};
use plans::failure::Failure;
use plans::id::{
    AgentName, AttemptNo, Epoch, InstanceId, MapName, MapVersion, MigrationId, ShardName, StepId,
};
use plans::key_set::KeySet;
use plans::plan::MovePlan;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::throttle::MigrationLimits;
use plans::wire::LongWriter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The process that owns a migration while its lease lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationOwner {
    /// The agent.
    pub agent: AgentName,
    /// Which process of it.
    pub instance: InstanceId,
    /// The name of the token by which it claimed; none: no token was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Of the secret that its dispatch brought; none: it was given its work in protocol 3.
    #[serde(skip)]
    pub secret: Option<SecretDigest>,
}

/// How a hold was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldEnd {
    /// The old copy goes.
    Finish,
    /// The keys go back.
    Rollback,
    /// After a roll back: the keys go to the target once more.
    Again,
}

impl HoldEnd {
    /// The name in SQL and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Rollback => "rollback",
            Self::Again => "again",
        }
    }

    /// The end called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Finish, Self::Rollback, Self::Again]
            .into_iter()
            .find(|end| end.name() == name)
    }
}

/// Hooks that are asked before a phase of a migration, which waits for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRequest {
    /// Before what.
    pub phase: MigrationPhase,
    /// Since when.
    #[serde(rename = "asked_at")]
    pub requested_at: DateTime<Utc>,
    /// When they are asked (again).
    pub next_at: DateTime<Utc>,
    /// Who said no, or nothing, the last time.
    #[serde(rename = "said", default)]
    pub reply: Option<HookReply>,
    /// All said yes.
    #[serde(default)]
    pub allowed: bool,
    /// Who lets it go on without them.
    #[serde(default)]
    pub overruled_by: Option<String>,
}

impl HookRequest {
    /// True while the phase may not begin.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.allowed && self.overruled_by.is_none()
    }
}

/// The answer of a hook that holds a migration up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookReply {
    /// Which one.
    pub hook: String,
    /// It said no; otherwise it did not answer.
    pub veto: bool,
    /// Its words, or how its silence showed.
    pub reason: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// How far a hook was told of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCursor {
    /// The migration.
    pub migration: MigrationId,
    /// The last event that it was told of, or that is none of its.
    pub seq: i64,
    /// Revision of the migration whose events it was all told of; 0: there may be more.
    pub revision: i64,
}

/// Somebody's word for a cutover that asks for more than one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Writers that keep a cutover from starting, and whether they may be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelRequest {
    /// The writers, as the agent named them.
    pub writers: Vec<LongWriter>,
    /// When it asked.
    #[serde(rename = "asked_at")]
    pub requested_at: DateTime<Utc>,
    /// Who allowed it.
    pub approved_by: Option<String>,
}

impl CancelRequest {
    /// True when every one of `writers` was named.
    #[must_use]
    pub fn names(&self, writers: &[LongWriter]) -> bool {
        writers
            .iter()
            .all(|writer| self.writers.iter().any(|known| known.is(writer)))
    }
}

/// A migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// Its id.
    pub id: MigrationId,
    /// The operation that it is one move of; the same id where that is the only move.
    pub operation: MigrationId,
    /// Its place among the moves of the operation, from 0.
    pub ordinal: i32,
    /// It was admitted although other migrations may move some of its keys first.
    pub queued: bool,
    /// What it does.
    pub plan: MovePlan,
    /// Where it is.
    pub state: MigrationState,
    /// Who owns the moving keys (I4).
    pub ownership: Ownership,
    /// The last cutover attempt, either way.
    pub attempt: AttemptNo,
    /// The owner's fencing token (I7).
    pub epoch: Epoch,
    /// True when the next dispatch needs a new epoch.
    pub renew: bool,
    /// Who owns it; `None` after a lease ran out.
    pub owner: Option<MigrationOwner>,
    /// The cutover was approved.
    pub approved: bool,
    /// Who approved it so far, where more than one has to.
    pub approvals: Vec<Approval>,
    /// How the hold was ended.
    pub hold_end: Option<HoldEnd>,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// When its state or what it waits for became what they are; none: before this was kept.
    pub since: Option<DateTime<Utc>>,
    /// Writers in the way of the cutover that the operator was asked about.
    pub cancel: Option<CancelRequest>,
    /// Hooks that are asked before its next phase.
    pub hook: Option<HookRequest>,
    /// What it may take of its shards, where somebody has changed what the plan says.
    pub limits: Option<MigrationLimits>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The map's version when the last forward attempt began; the plan's before that.
    pub map_version_before: MapVersion,
    /// The version that the flip made.
    pub map_version_after: Option<MapVersion>,
    /// The version that the roll back made.
    pub map_version_back: Option<MapVersion>,
    /// Who submitted it.
    pub submitted_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When the controller took it up; from then on no other one moves its keys (I8).
    ///
    /// Set before it first runs, also where it is resumed after a pause in `planned`.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Grows with each change.
    pub revision: i64,
}

impl Migration {
    /// What it may take of its shards now.
    #[must_use]
    pub fn limits(&self) -> MigrationLimits {
        let changed = self.limits.clone();
        changed.unwrap_or_else(|| self.plan.options.limits())
    }

    /// True while the map names one shard for the moving keys and an attempt may still change it.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.finished_at.is_none()
            && matches!(
                self.ownership,
                Ownership::Ready | Ownership::Fencing | Ownership::RollbackFencing
            )
    }

    /// True when it has started and not ended: no other such migration moves the same keys (I8).
    #[must_use]
    pub fn holds_keys(&self) -> bool {
        self.started_at.is_some() && self.finished_at.is_none()
    }

    /// True when it has not ended and moves some of `keys` of `map`.
    #[must_use]
    pub fn meets(&self, map: &MapName, keys: &KeySet) -> bool {
        self.finished_at.is_none() && &self.plan.map == map && self.plan.moving.keys.overlaps(keys)
    }
}

/// One step of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// What it does.
    pub kind: StepKind,
    /// Its place in the order, from 0.
    pub ordinal: i32,
    /// Where it is.
    pub state: StepState,
    /// Attempts begun since it was last reset.
    pub attempt: u32,
    /// Epoch of the last dispatch.
    pub epoch: Epoch,
    /// Not dispatched before this time.
    pub next_at: Option<DateTime<Utc>>,
    /// First dispatch since it was last pending for good.
    pub started_at: Option<DateTime<Utc>>,
    /// Last dispatch.
    pub dispatched_at: Option<DateTime<Utc>>,
    /// When it was done.
    pub finished_at: Option<DateTime<Utc>>,
    /// What it returned.
    pub output: Option<Value>,
    /// Why its last attempt failed.
    pub failure: Option<Failure>,
    /// Last figures.
    pub progress: Option<Value>,
}

impl Step {
    /// Done, or left out.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, StepState::Done | StepState::Skipped)
    }

    /// A step that has not begun.
    #[must_use]
    pub fn new(kind: StepKind, ordinal: i32) -> Self {
        Self {
            id: StepId::from(kind.name()),
            kind,
            ordinal,
            state: StepState::Pending,
            attempt: 0,
            epoch: Epoch::default(),
            next_at: None,
            started_at: None,
            dispatched_at: None,
            finished_at: None,
            output: None,
            failure: None,
            progress: None,
        }
    }
}

/// A migration, its steps in order and its owner's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The migration.
    pub migration: Migration,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// When the owner's lease runs out.
    pub lease_until: Option<DateTime<Utc>>,
}

impl Snapshot {
    /// The step of this kind, if it is there.
    #[must_use]
    pub fn step_of(&self, kind: StepKind) -> Option<&Step> {
        self.steps.iter().find(|step| step.kind == kind)
    }

    /// The step that an agent holds.
    #[must_use]
    pub fn running(&self) -> Option<&Step> {
        self.steps
            .iter()
            .find(|step| step.state == StepState::Running)
    }

    /// True while steps of the way back are to be done that give the keys to the source: until it was opened.
    ///
    /// An order alone is none: the keys stay with the target until these steps take them.
    #[must_use]
    pub fn goes_back(&self) -> bool {
        self.is_open(StepKind::Rollback)
    }

    /// True when the step is there and has still to be done.
    #[must_use]
    pub fn is_open(&self, kind: StepKind) -> bool {
        self.step_of(kind).is_some_and(|step| !step.has_ended())
    }

    /// The limits as they hold at this step: once the keys of an offline move are read-only, hours would only
    /// prolong that, so that it goes on at any time until the flip.
    #[must_use]
    pub fn limits(&self) -> MigrationLimits {
        let mut limits = self.migration.limits();
        let closed = self.step_of(StepKind::SetReadOnly);
        let closed = closed.is_some_and(|step| step.state == StepState::Done);
        if closed
            && matches!(
                self.migration.ownership,
                Ownership::Ready | Ownership::Fencing
            )
        {
            limits.throttle.hours = None;
        }
        limits
    }

    /// The owner, if its lease lasts at `now`.
    #[must_use]
    pub fn live_owner(&self, now: DateTime<Utc>) -> Option<&MigrationOwner> {
        let lasts = self.lease_until.is_some_and(|until| until > now);
        self.migration.owner.as_ref().filter(|_| lasts)
    }
}

/// A sign of life of one migration's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerBeat {
    /// The migration.
    pub migration: MigrationId,
    /// The step that runs and its figures, where they are to be kept.
    pub figures: Option<(StepId, Value)>,
    /// A reading that is due.
    pub reading: Option<FigureReading>,
}

/// What happened, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// When.
    pub at: DateTime<Utc>,
    /// Who caused it.
    pub actor: String,
    /// What, in `noun.verb` form.
    pub kind: String,
    /// The step that it is about.
    pub step: Option<StepId>,
    /// Details.
    pub data: Value,
}

/// What happened, in the journal of a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number within the migration, from 1.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who caused it.
    pub actor: String,
    /// What, in `noun.verb` form.
    pub kind: String,
    /// The step that it is about.
    pub step: Option<StepId>,
    /// Details.
    pub data: Value,
}

/// A change of one migration.
#[derive(Debug, Clone)]
pub struct MigrationChange {
    /// The revision that it was made from.
    pub from_revision: i64,
    /// The migration afterwards; its revision is `from_revision + 1`.
    pub migration: Migration,
    /// The plan's tables follow a change that was made on both shards.
    pub reshaped: bool,
    /// Steps that are new or changed.
    pub steps: Vec<Step>,
    /// The owner's lease, if it changed.
    pub lease_until: Option<DateTime<Utc>>,
    /// What happened.
    pub events: Vec<NewEvent>,
}

/// Something that a migration creates on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupRecord {
    /// The shard.
    pub shard: ShardName,
    /// What it is: slot, publication, guard, table.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// When it must go: always, on_failure, on_success.
    #[serde(default = "always")]
    pub policy: String,
    /// When it was seen to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<DateTime<Utc>>,
}

impl CleanupRecord {
    /// Whether the object is the shard's own and stays when the migration ends in `state`: a table that was handed over
    /// to the target, or one that `existed` there before.
    #[must_use]
    pub fn is_kept(&self, state: MigrationState, existed: bool) -> bool {
        self.policy == "on_failure" && (existed || state == MigrationState::Completed)
    }
}

fn always() -> String {
    "always".to_owned()
}
