//! Migrations, their steps and their journal, and cleanup records, as the store keeps them. Their parts are types of
//! `plans`.

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

/// The agent process that has the lease of a migration. Here owner means this process, not the shard that owns keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// The name of the agent.
    pub agent: AgentName,
    /// The process of the agent.
    pub instance: InstanceId,
    /// The name of the token with which the agent claimed the migration; `None`: no token was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The digest of the secret that the agent received with the assignment; `None`: the agent uses protocol version 3,
    /// which has no secret.
    #[serde(skip)]
    pub secret: Option<SecretDigest>,
}

/// How an operator ended a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldEnd {
    /// The agent removes the old rows from the old owner.
    Finish,
    /// A rollback returns the keys to the source.
    Rollback,
    /// After a rollback: a new cutover transfers the keys to the target again.
    Again,
}

impl HoldEnd {
    /// Returns the name in SQL and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Rollback => "rollback",
            Self::Again => "again",
        }
    }

    /// Returns the value with this name, or `None` for an unknown name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Finish, Self::Rollback, Self::Again]
            .into_iter()
            .find(|end| end.name() == name)
    }
}

/// A request to the hooks before a phase of a migration. The migration waits until all hooks allow the phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRequest {
    /// The phase before which the hooks are called.
    pub phase: MigrationPhase,
    /// When the hooks were first called.
    #[serde(rename = "asked_at")]
    pub requested_at: DateTime<Utc>,
    /// When the hooks are called next.
    pub next_at: DateTime<Utc>,
    /// The last answer of a hook that refused or did not answer.
    #[serde(rename = "said", default)]
    pub reply: Option<HookReply>,
    /// True if all hooks allowed the phase.
    #[serde(default)]
    pub allowed: bool,
    /// The operator who lets the migration continue without the hooks' agreement.
    #[serde(default)]
    pub overruled_by: Option<String>,
}

impl HookRequest {
    /// Returns true while this request blocks its phase: the hook has not allowed the phase, and no operator has
    /// overruled the hook.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        !self.allowed && self.overruled_by.is_none()
    }
}

/// The answer of a hook that delays a migration, or the fact that it did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookReply {
    /// The name of the hook.
    pub hook: String,
    /// True: the hook refused. False: it did not answer.
    pub veto: bool,
    /// The reason that the hook returned, or how the call failed.
    pub reason: String,
    /// When the hook answered, or the call failed.
    pub at: DateTime<Utc>,
}

/// Up to which event a hook was notified of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCursor {
    /// The id of the migration.
    pub migration: MigrationId,
    /// The number of the last event that the controller has handled for this hook: it notified the hook, or the event
    /// is not one for this hook.
    pub seq: i64,
    /// The revision at which the controller found no more events. While the migration still has it, there is nothing to
    /// read. 0: the controller must read the events after `seq`.
    pub revision: i64,
}

/// The approval of one operator for a cutover that requires several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The operator who approved.
    pub by: String,
    /// When the operator approved.
    pub at: DateTime<Utc>,
    /// The operator's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Transactions that write to the moving tables and prevent a cutover from starting, and whether an operator permits
/// the agent to end them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelRequest {
    /// The transactions, as the agent reported them.
    pub writers: Vec<LongWriter>,
    /// When the agent requested the permission.
    #[serde(rename = "asked_at")]
    pub requested_at: DateTime<Utc>,
    /// The operator who gave the permission.
    pub approved_by: Option<String>,
}

impl CancelRequest {
    /// Returns true if this request contains every one of `writers`.
    #[must_use]
    pub fn contains_all(&self, writers: &[LongWriter]) -> bool {
        writers
            .iter()
            .all(|writer| self.writers.iter().any(|known| known.is_same(writer)))
    }
}

/// A migration: the execution of one move of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The id of the migration.
    pub id: MigrationId,
    /// The operation to which the migration belongs. It has the same id if this is its only move.
    pub operation: MigrationId,
    /// The position among the moves of the operation, from 0.
    pub ordinal: i32,
    /// True if the migration was accepted although other migrations may first move some of its keys.
    pub queued: bool,
    /// The plan of the move.
    pub plan: MovePlan,
    /// The state of the migration.
    pub state: MigrationState,
    /// The state of the ownership of the moving keys (I4).
    pub ownership: Ownership,
    /// The number of the last cutover attempt, in either direction.
    pub attempt: AttemptNo,
    /// The current epoch: the number of the lease, which the agent proves on the shards (I7).
    pub epoch: Epoch,
    /// True if the next dispatch of a step needs a new epoch. This does not prolong the lease: it starts a new one.
    pub needs_new_epoch: bool,
    /// The process that holds the lease; `None` after the lease has expired.
    pub owner: Option<LeaseHolder>,
    /// True if the cutover is approved.
    pub approved: bool,
    /// The approvals so far, if the cutover requires several.
    pub approvals: Vec<Approval>,
    /// How the hold was ended; `None`: it was not ended.
    pub hold_end: Option<HoldEnd>,
    /// What the migration waits for.
    pub waiting_for: Option<String>,
    /// When `state` or `waiting_for` last changed; `None`: an older version, which did not record this, made the
    /// change.
    pub since: Option<DateTime<Utc>>,
    /// Transactions that prevent the cutover, and the request for a permission to end them.
    pub cancel: Option<CancelRequest>,
    /// The request to the hooks before the next phase.
    pub hook: Option<HookRequest>,
    /// Limits on the load that the migration causes on its shards, if an operator has changed those of the plan.
    pub limits: Option<MigrationLimits>,
    /// Why the migration failed.
    pub failure: Option<Failure>,
    /// The map's version when the last cutover attempt began; before the first attempt the plan's version.
    pub map_version_before: MapVersion,
    /// The map version that the flip created.
    pub map_version_after: Option<MapVersion>,
    /// The map version that the flip of the rollback created.
    pub map_version_back: Option<MapVersion>,
    /// The user who submitted the migration.
    pub submitted_by: String,
    /// When the migration was submitted.
    pub created_at: DateTime<Utc>,
    /// When the controller started the migration. From then on no other migration can move its keys (I8).
    ///
    /// It is set before the first step runs, also if the migration was paused in the state `planned` and then resumed.
    pub started_at: Option<DateTime<Utc>>,
    /// When the migration ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The number of the current revision, which grows with each change.
    pub revision: i64,
}

impl Migration {
    /// Returns the limits that apply now: the changed ones or those of the plan.
    #[must_use]
    pub fn limits(&self) -> MigrationLimits {
        let changed = self.limits.clone();
        changed.unwrap_or_else(|| self.plan.options.limits())
    }

    /// Returns true while a flip can still happen: from the start until the flip, and again during an attempt of a
    /// rollback. Between the flip and such an attempt it is false.
    #[must_use]
    pub fn can_flip(&self) -> bool {
        self.finished_at.is_none()
            && matches!(
                self.ownership,
                Ownership::Ready | Ownership::Fencing | Ownership::RollbackFencing
            )
    }

    /// Returns true if the migration has started and not ended. No two such migrations move the same keys (I8).
    #[must_use]
    pub fn holds_keys(&self) -> bool {
        self.started_at.is_some() && self.finished_at.is_none()
    }

    /// Returns true if the migration has not ended and some of the keys that it moves are in `keys` of `map`.
    #[must_use]
    pub fn moves_any_of(&self, map: &MapName, keys: &KeySet) -> bool {
        self.finished_at.is_none() && &self.plan.map == map && self.plan.moving.keys.overlaps(keys)
    }
}

/// One step of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name of the step.
    pub id: StepId,
    /// The kind of work that the step does.
    pub kind: StepKind,
    /// The position of the step in the migration, from 0.
    pub ordinal: i32,
    /// The state of the step.
    pub state: StepState,
    /// How many times the step was tried since it was last reset (rewound or resumed). Not a cutover attempt.
    pub attempt: u32,
    /// The epoch of the last dispatch.
    pub epoch: Epoch,
    /// The controller does not dispatch the step before this time.
    pub next_at: Option<DateTime<Utc>>,
    /// When the step was first dispatched after its last reset.
    pub started_at: Option<DateTime<Utc>>,
    /// When the step was last dispatched.
    pub dispatched_at: Option<DateTime<Utc>>,
    /// When the step was done.
    pub finished_at: Option<DateTime<Utc>>,
    /// The result of the step.
    pub output: Option<Value>,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// The last progress figures.
    pub progress: Option<Value>,
}

impl Step {
    /// Returns true if the step is done or is skipped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, StepState::Done | StepState::Skipped)
    }

    /// Creates a step that has not begun.
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

/// A migration, its steps in order, and the end of its lease, all read at one moment from the control store. It is not
/// a snapshot of PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The migration.
    pub migration: Migration,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// When the lease expires.
    pub lease_until: Option<DateTime<Utc>>,
}

impl Snapshot {
    /// Returns the step of this kind, if the migration has one.
    #[must_use]
    pub fn step_of(&self, kind: StepKind) -> Option<&Step> {
        self.steps.iter().find(|step| step.kind == kind)
    }

    /// Returns the step that an agent is executing.
    #[must_use]
    pub fn running(&self) -> Option<&Step> {
        self.steps
            .iter()
            .find(|step| step.state == StepState::Running)
    }

    /// Returns true if the migration has a rollback step that has not ended. Until this step has ended, the target owns
    /// the keys.
    #[must_use]
    pub fn has_open_rollback(&self) -> bool {
        self.is_open(StepKind::Rollback)
    }

    /// Returns true if the step exists and has not ended.
    #[must_use]
    pub fn is_open(&self, kind: StepKind) -> bool {
        self.step_of(kind).is_some_and(|step| !step.has_ended())
    }

    /// Returns the limits that apply in the current step. When the keys of an offline move are read-only, `hours` (the
    /// daily period for heavy work) does not apply until the flip, because waiting would only prolong the read-only
    /// time.
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

    /// Returns the owner if its lease has not expired at `now`.
    #[must_use]
    pub fn live_owner(&self, now: DateTime<Utc>) -> Option<&LeaseHolder> {
        let lasts = self.lease_until.is_some_and(|until| until > now);
        self.migration.owner.as_ref().filter(|_| lasts)
    }
}

/// A heartbeat for one migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerBeat {
    /// The id of the migration.
    pub migration: MigrationId,
    /// The running step and its progress figures. They replace the earlier figures of the step. `None`: not stored now.
    pub figures: Option<(StepId, Value)>,
    /// One point of the time series of progress figures, if the next point is due.
    pub reading: Option<FigureReading>,
}

/// A journal line that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// When the event happened.
    pub at: DateTime<Utc>,
    /// The user or component that caused the event.
    pub actor: String,
    /// The kind of event, in `noun.verb` form.
    pub kind: String,
    /// The step to which the event belongs, if any.
    pub step: Option<StepId>,
    /// Details of the event.
    pub data: Value,
}

/// A line of a migration's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The number of the event within the migration, from 1.
    pub seq: i64,
    /// When the event happened.
    pub at: DateTime<Utc>,
    /// The user or component that caused the event.
    pub actor: String,
    /// The kind of event, in `noun.verb` form.
    pub kind: String,
    /// The step to which the event belongs, if any.
    pub step: Option<StepId>,
    /// Details of the event.
    pub data: Value,
}

/// A change of one migration.
#[derive(Debug, Clone)]
pub struct MigrationChange {
    /// The revision on which the change is based.
    pub from_revision: i64,
    /// The migration after the change. Its revision is `from_revision + 1`.
    pub migration: Migration,
    /// True if the plan is changed too, because the definitions of the tables were changed on both shards.
    pub plan_changed: bool,
    /// New and changed steps.
    pub steps: Vec<Step>,
    /// The new end of the lease, if it changes.
    pub lease_until: Option<DateTime<Utc>>,
    /// Journal lines of the change.
    pub events: Vec<NewEvent>,
}

/// A record of an object that a migration creates on a shard. The controller writes it before the agent creates the
/// object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupRecord {
    /// The shard.
    pub shard: ShardName,
    /// The kind of object: slot, publication, guard, table.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// When the object must be removed: `always`, `on_failure` or `on_success`.
    #[serde(default = "always")]
    pub policy: String,
    /// When an agent observed that the object does not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<DateTime<Utc>>,
}

impl CleanupRecord {
    /// Returns whether the object stays when the migration ends in `state`. Only an object with the policy `on_failure`
    /// can stay: after the migration completed, or if the object already `existed` before the migration.
    #[must_use]
    pub fn is_kept(&self, state: MigrationState, existed: bool) -> bool {
        self.policy == "on_failure" && (existed || state == MigrationState::Completed)
    }
}

fn always() -> String {
    "always".to_owned()
}
