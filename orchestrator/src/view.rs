//! A migration in the API: one document with everything that a page or a script needs.

mod effect;
pub(crate) mod figures;
mod operation;
pub(crate) mod sentence;
pub(crate) mod server;
mod tone;
mod wait;
mod work_time;

pub use effect::{effect, effect_on_all};
pub use operation::{MoveTotals, MoveView, OperationView};
pub use tone::Tone;
pub use wait::{WaitKind, WaitReason};

use crate::controller::MigrationFigures;
use crate::controller::decide::hold_limit;
use crate::controller::hints::fit;
use crate::controller::leftovers::{leftovers, notes};
use crate::store::{Approval, CancelRequest, HoldEnd, HookRequest, Migration, Snapshot, Step};
use chrono::{DateTime, Utc};
use plans::failure::Failure;
use plans::id::{
    AgentName, AttemptNo, Epoch, InstanceId, MapName, MapVersion, MigrationId, ShardName, StepId,
};
use plans::key_set::KeySet;
use plans::plan::MovePlan;
use plans::request::Mode;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::unwind::LeftObject;
use plans::throttle::{MigrationLimits, ThrottleStatus};
use plans::wire::{Progress, StreamStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A migration in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationSummary {
    /// The id of the migration.
    pub id: MigrationId,
    /// The state of the migration.
    pub state: MigrationState,
    /// The id of the operation. If the operation has one move, it is the id of the migration.
    pub operation_id: MigrationId,
    /// The name of the move in the plan.
    #[serde(rename = "move")]
    pub move_id: String,
    /// The ownership of the moving keys.
    pub ownership: Ownership,
    /// The kind of the operation: split, merge, move, isolate, drain or rebalance.
    pub operation: String,
    /// `online` if the application continues to write during the move, otherwise `offline`.
    pub mode: Mode,
    /// The map.
    pub map: MapName,
    /// The shard that owns the keys before the move.
    pub source: ShardName,
    /// The shard that receives the keys.
    pub target: ShardName,
    /// The moving keys.
    pub keys: KeySet,
    /// What the migration waits for, if it waits.
    pub waiting_for: Option<String>,
    /// Why the migration has failed, if it has.
    pub failure: Option<Failure>,
    /// The versions of the map before and after the move.
    pub map_version: MigrationVersions,
    /// The user who submitted the operation.
    pub submitted_by: String,
    /// When the operation was submitted.
    pub created_at: DateTime<Utc>,
    /// When the migration started.
    pub started_at: Option<DateTime<Utc>>,
    /// When the migration ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// A number that increases with each change of the migration.
    pub revision: i64,
}

/// The map versions of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationVersions {
    /// The version before the flip.
    pub before: MapVersion,
    /// The version that the flip created.
    pub after: Option<MapVersion>,
    /// The version that the rollback created.
    pub back: Option<MapVersion>,
}

/// A migration with all details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationView {
    /// The fields that lists contain.
    #[serde(flatten)]
    pub summary: MigrationSummary,
    /// The hash of the plan.
    pub plan_hash: String,
    /// The number of the last cutover attempt; a rollback continues the same count.
    pub attempt: AttemptNo,
    /// The number of the current lease, or of the last one.
    pub epoch: Epoch,
    /// The agent process that owns the migration.
    pub owner: Option<OwnerView>,
    /// True if the cutover was approved.
    pub approved: bool,
    /// The approvals, if `plan.options.approvals` is greater than 1.
    #[serde(default)]
    pub approvals: Vec<Approval>,
    /// How the hold was ended.
    pub hold_end: Option<HoldEnd>,
    /// When the running hold ends without a command. Afterwards a rollback, or another cutover after a rollback, is
    /// impossible.
    #[serde(default)]
    pub hold_ends_at: Option<DateTime<Utc>>,
    /// Transactions that prevent the cutover. An operator may permit the agent to end them.
    #[serde(default)]
    pub cancel: Option<CancelRequest>,
    /// The hooks that are called before the next phase.
    #[serde(default)]
    pub hook: Option<HookRequest>,
    /// The limits of the load that the migration causes on its shards.
    #[serde(default)]
    pub limits: Option<MigrationLimits>,
    /// The steps, in order.
    pub steps: Vec<StepView>,
    /// The change stream, if one is running.
    pub stream: Option<StreamStatus>,
    /// The reasons why the migration waits or is slow; those that only a person can end come first.
    #[serde(default)]
    pub waits: Vec<WaitReason>,
    /// Objects that an abort, or the end of a rollback, could not remove from the shards. `cleanup` removes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<LeftObject>,
    /// Failovers and lost changes that the migration survived, and what the operator must know about a target that was a
    /// standby, after an abort or the end of a rollback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The plan of the move.
    pub plan: MovePlan,
}

/// The process that owns a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerView {
    /// The name of the agent.
    pub agent: AgentName,
    /// The process of the agent.
    pub instance: InstanceId,
    /// True if the lease of the process has not expired.
    pub live: bool,
}

/// A step of a migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepView {
    /// The name of the step.
    pub id: StepId,
    /// The kind of the step.
    pub kind: StepKind,
    /// A short description of the step.
    pub summary: String,
    /// The state of the step.
    pub state: StepState,
    /// The number of attempts since the last reset.
    pub attempt: u32,
    /// The epoch of the last dispatch.
    pub epoch: Epoch,
    /// The step is not dispatched before this time.
    pub next_at: Option<DateTime<Utc>>,
    /// When the step was first dispatched.
    pub started_at: Option<DateTime<Utc>>,
    /// When the step was done.
    pub finished_at: Option<DateTime<Utc>>,
    /// How long agents worked on the step until it was done, in milliseconds, without pauses and waits between
    /// attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked_ms: Option<i64>,
    /// The result of the step.
    pub output: Option<Value>,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// The progress of the running attempt, or of the last one.
    pub progress: Option<Progress>,
}

impl From<&Migration> for MigrationSummary {
    fn from(m: &Migration) -> Self {
        Self {
            id: m.id.clone(),
            state: m.state,
            operation_id: m.operation.clone(),
            move_id: m.plan.id.clone(),
            ownership: m.ownership,
            operation: m.plan.operation.clone(),
            mode: m.plan.mode,
            map: m.plan.map.clone(),
            source: m.plan.moving.source.clone(),
            target: m.plan.moving.target.clone(),
            keys: m.plan.moving.keys.clone(),
            waiting_for: m.waiting_for.clone(),
            failure: m.failure.clone(),
            map_version: MigrationVersions {
                before: m.map_version_before,
                after: m.map_version_after,
                back: m.map_version_back,
            },
            submitted_by: m.submitted_by.clone(),
            created_at: m.created_at,
            started_at: m.started_at,
            finished_at: m.finished_at,
            revision: m.revision,
        }
    }
}

impl MigrationView {
    /// Returns the throttle that slows the running step, if it does.
    #[must_use]
    pub fn throttle_status(&self) -> Option<&ThrottleStatus> {
        let mut steps = self.steps.iter();
        let running = steps.find(|step| step.state == StepState::Running)?;
        running.progress.as_ref()?.slowed.as_ref()
    }

    /// Returns the view of a migration, with the figures of the last heartbeat, if there are any.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        figures: Option<&MigrationFigures>,
        now: DateTime<Utc>,
    ) -> Self {
        let m = &snapshot.migration;
        let live = snapshot.live_owner(now).is_some();
        let owner = m.owner.as_ref().map(|owner| OwnerView {
            agent: owner.agent.clone(),
            instance: owner.instance.clone(),
            live,
        });
        let mut stream = figures.filter(|_| live).and_then(|f| f.stream.clone());
        if let Some(failure) = stream.as_mut().and_then(|stream| stream.failure.as_mut()) {
            *failure = fit(failure, snapshot);
        }
        let mut view = Self {
            summary: MigrationSummary::from(m),
            plan_hash: m.plan.hash.clone(),
            attempt: m.attempt,
            epoch: m.epoch,
            owner,
            approved: m.approved,
            approvals: m.approvals.clone(),
            hold_end: m.hold_end,
            hold_ends_at: hold_limit(snapshot),
            cancel: m.cancel.clone(),
            hook: m.hook.clone(),
            limits: Some(m.limits()),
            steps: snapshot
                .steps
                .iter()
                .map(|s| step_view(s, figures, snapshot))
                .collect(),
            stream,
            waits: Vec::new(),
            leftovers: leftovers(snapshot),
            notes: notes(snapshot),
            plan: m.plan.clone(),
        };
        let reported_at = figures.map_or(now, |figures| figures.at);
        view.waits = wait::wait_reasons(&view, m.since, reported_at, now);
        view
    }
}

/// Returns the view of a step. Its progress comes from the last heartbeat if that was about this step, else from the
/// store.
fn step_view(step: &Step, figures: Option<&MigrationFigures>, snapshot: &Snapshot) -> StepView {
    let reported = figures.filter(|f| f.step.as_ref() == Some(&step.id) && !has_ended(step));
    let stored = || serde_json::from_value(step.progress.clone()?).ok();
    StepView {
        id: step.id.clone(),
        kind: step.kind,
        summary: step.kind.summary().to_owned(),
        state: step.state,
        attempt: step.attempt,
        epoch: step.epoch,
        next_at: step.next_at,
        started_at: step.started_at,
        finished_at: step.finished_at,
        worked_ms: None,
        output: step.output.clone(),
        failure: step.failure.as_ref().map(|failure| fit(failure, snapshot)),
        progress: reported.map(|f| f.progress.clone()).or_else(stored),
    }
}

fn has_ended(step: &Step) -> bool {
    matches!(step.state, StepState::Done | StepState::Skipped)
}
