//! A migration as the API shows it: everything a screen or a script needs, in one document.

mod effect;
pub(crate) mod figures;
mod operation;
pub(crate) mod sentence;
mod wait;
mod worked;

pub use effect::{effect, effect_on_all};
pub use operation::{MoveTotals, MoveView, OperationView};
pub use wait::{WaitKind, WaitReason};

use crate::controller::MigrationFigures;
use crate::controller::decide::hold_limit;
use crate::controller::hints::fit;
use crate::controller::leftovers::leftovers;
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

/// What a list shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationSummary {
    /// Its id.
    pub id: MigrationId,
    /// Where it is.
    pub state: MigrationState,
    /// The operation that it is one move of; the same id where that is the only move.
    pub operation_id: MigrationId,
    /// Its name within the plan.
    #[serde(rename = "move")]
    pub move_id: String,
    /// Who owns the moving keys.
    pub ownership: Ownership,
    /// split, merge, move, isolate, drain or rebalance.
    pub operation: String,
    /// Whether the application goes on writing.
    pub mode: Mode,
    /// The map.
    pub map: MapName,
    /// Where the keys were.
    pub source: ShardName,
    /// Where they go.
    pub target: ShardName,
    /// The keys.
    pub keys: KeySet,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Map versions that it meets and makes.
    pub map_version: MigrationVersions,
    /// Who submitted it.
    pub submitted_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When the controller took it up.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Grows with each change.
    pub revision: i64,
}

/// Map versions of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationVersions {
    /// Before the flip.
    pub before: MapVersion,
    /// Made by the flip.
    pub after: Option<MapVersion>,
    /// Made by the roll back.
    pub back: Option<MapVersion>,
}

/// Everything about one migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationView {
    /// What a list shows.
    #[serde(flatten)]
    pub summary: MigrationSummary,
    /// Hash of the plan.
    pub plan_hash: String,
    /// The last cutover attempt, in either direction.
    pub attempt: AttemptNo,
    /// The owner's fencing token.
    pub epoch: Epoch,
    /// Who owns it.
    pub owner: Option<OwnerView>,
    /// The cutover was approved.
    pub approved: bool,
    /// Who approved it, where more than one has to: `plan.options.approvals`.
    #[serde(default)]
    pub approvals: Vec<Approval>,
    /// How the hold was ended.
    pub hold_end: Option<HoldEnd>,
    /// When the running hold ends by itself; no roll back is possible afterwards.
    #[serde(default)]
    pub hold_ends_at: Option<DateTime<Utc>>,
    /// Writers that block the cutover, and that an operator may allow to be ended.
    #[serde(default)]
    pub cancel: Option<CancelRequest>,
    /// Hooks that are called before its next phase.
    #[serde(default)]
    pub hook: Option<HookRequest>,
    /// What it may take of its shards.
    #[serde(default)]
    pub limits: Option<MigrationLimits>,
    /// The steps in order.
    pub steps: Vec<StepView>,
    /// The change stream, if one runs.
    pub stream: Option<StreamStatus>,
    /// What it waits for, or is slowed by; what only a person can end comes first.
    #[serde(default)]
    pub waits: Vec<WaitReason>,
    /// What an abort, or a roll back that has ended, could not remove from the shards; `cleanup` removes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<LeftObject>,
    /// What it does.
    pub plan: MovePlan,
}

/// The process that owns a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerView {
    /// The agent.
    pub agent: AgentName,
    /// Which process of it.
    pub instance: InstanceId,
    /// Its lease lasts.
    pub live: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepView {
    /// Its name.
    pub id: StepId,
    /// What it does.
    pub kind: StepKind,
    /// One sentence about it.
    pub summary: String,
    /// Where it is.
    pub state: StepState,
    /// Attempts begun since it was last reset.
    pub attempt: u32,
    /// Epoch of the last dispatch.
    pub epoch: Epoch,
    /// Not dispatched before this time.
    pub next_at: Option<DateTime<Utc>>,
    /// First dispatch.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was done.
    pub finished_at: Option<DateTime<Utc>>,
    /// How long agents worked on it until it was done, milliseconds; pauses, and waits between attempts, are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked_ms: Option<i64>,
    /// What it returned.
    pub output: Option<Value>,
    /// Why its last attempt failed.
    pub failure: Option<Failure>,
    /// How far it is, or was.
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
    /// What holds the running step back, if anything does.
    #[must_use]
    pub fn slowed(&self) -> Option<&ThrottleStatus> {
        let mut steps = self.steps.iter();
        let running = steps.find(|step| step.state == StepState::Running)?;
        running.progress.as_ref()?.slowed.as_ref()
    }

    /// The document, with the figures of the last heartbeat where there are some.
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
            plan: m.plan.clone(),
        };
        let reported_at = figures.map_or(now, |figures| figures.at);
        view.waits = wait::of(&view, m.since, reported_at, now);
        view
    }
}

fn step_view(step: &Step, figures: Option<&MigrationFigures>, snapshot: &Snapshot) -> StepView {
    let fresh = figures.filter(|f| f.step.as_ref() == Some(&step.id) && !has_ended(step));
    let kept = || serde_json::from_value(step.progress.clone()?).ok();
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
        progress: fresh.map(|f| f.progress.clone()).or_else(kept),
    }
}

fn has_ended(step: &Step) -> bool {
    matches!(step.state, StepState::Done | StepState::Skipped)
}
