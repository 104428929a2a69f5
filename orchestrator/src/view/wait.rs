//! The reasons why a migration waits or is slow. Pages, the command line and the API display the same reasons.

use super::{MigrationView, StepView};
use crate::controller::missing_approvals_text;
use chrono::{DateTime, TimeDelta, Utc};
use plans::render::bytes;
use plans::request::Mode;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::wire::LockWait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A connected agent claims a migration within this time. After it, agents are considered missing.
const MAX_CLAIM_DELAY: TimeDelta = TimeDelta::seconds(10);

/// The kind of a reason to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The map has flipped, and no agent has reported yet that the new owner is open. Until then no shard accepts
    /// writes to the moving keys.
    Opening,
    /// An operator has to approve the cutover.
    Approval,
    /// An operator has to permit the agent to end transactions that prevent the cutover.
    Cancel,
    /// A hook refuses, or does not answer.
    Hook,
    /// Another migration must come first, the limit of simultaneous moves is reached, or the hours for the cutover have
    /// not begun.
    Queue,
    /// An operator has paused the migration and has to resume it.
    Paused,
    /// The migration has failed. An operator has to fix the cause and resume it.
    Failed,
    /// A step failed, and its next attempt is not due yet.
    Retry,
    /// No agent owns the migration.
    Agent,
    /// The agent found a condition on a shard that prevents the step, and waits until it ends.
    Gate,
    /// A session that does not belong to the migration holds a lock.
    Lock,
    /// The throttle slows heavy work, because of limits or health signals.
    Throttle,
    /// The lag of the change stream is larger than the migration allows for a cutover.
    Lag,
    /// An operator has to end the hold.
    Finish,
}

impl WaitKind {
    /// Returns the name of the kind in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Approval => "approval",
            Self::Cancel => "cancel",
            Self::Hook => "hook",
            Self::Queue => "queue",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Retry => "retry",
            Self::Agent => "agent",
            Self::Gate => "gate",
            Self::Lock => "lock",
            Self::Throttle => "throttle",
            Self::Lag => "lag",
            Self::Finish => "finish",
        }
    }
}

/// A reason why a migration waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitReason {
    /// The kind of the reason.
    pub kind: WaitKind,
    /// What the migration waits for, as the end of a sentence that begins with "waits for".
    pub what: String,
    /// Since when it waits, if this is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime<Utc>>,
    /// The session, hook or stream that causes the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// The command that ends the wait, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waits for {}", self.what)?;
        if let Some(since) = self.since {
            write!(f, ", since {}", since.format("%Y-%m-%d %H:%M:%S UTC"))?;
        }
        if let Some(held_by) = &self.held_by {
            write!(f, ", held by {held_by}")?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, ": {remedy}")?;
        }
        Ok(())
    }
}

/// Returns all reasons; those that only a person can end come first. The agent measured waits for locks at
/// `measured_at`.
pub(super) fn wait_reasons(
    view: &MigrationView,
    since: Option<DateTime<Utc>>,
    measured_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Vec<WaitReason> {
    let m = &view.summary;
    if m.finished_at.is_some() {
        return Vec::new();
    }
    let mut all: Vec<WaitReason> = opening_reason(view, since).into_iter().collect();
    all.extend(operator_reason(view, since));
    if needs_resume(m.state) {
        return all;
    }
    all.extend(hook_reason(view));
    all.extend(retry_reason(view));
    // Until such a reason ends, no agent can claim the migration, so no agent is missing.
    let waits_without_agent = all
        .iter()
        .any(|wait| matches!(wait.kind, WaitKind::Queue | WaitKind::Retry));
    let live = view.owner.as_ref().is_some_and(|owner| owner.live);
    if !live {
        all.extend((!waits_without_agent).then(|| agent_reason(since, now)));
        return all;
    }
    let running = view
        .steps
        .iter()
        .find(|step| step.state == StepState::Running);
    if let Some(step) = running {
        all.extend(gate_reason(step));
        all.extend(lock_reason(step, measured_at));
        all.extend(throttle_reason(view, step));
        all.extend(lag_reason(view, step));
    }
    all
}

/// Returns a reason if the map has flipped and the step of the cutover is not done: no agent has reported yet that the
/// new owner is open.
fn opening_reason(view: &MigrationView, since: Option<DateTime<Utc>>) -> Option<WaitReason> {
    let moving = &view.plan.moving;
    let (kind, owner) = match view.summary.ownership {
        Ownership::Flipped => (StepKind::Cutover, &moving.target),
        Ownership::RolledBack => (StepKind::Rollback, &moving.source),
        Ownership::Ready
        | Ownership::Fencing
        | Ownership::Aborted
        | Ownership::RollbackFencing
        | Ownership::Completed => return None,
    };
    let step = view.steps.iter().find(|step| step.kind == kind)?;
    if matches!(step.state, StepState::Done | StepState::Skipped) {
        return None;
    }
    Some(WaitReason {
        kind: WaitKind::Opening,
        what: format!(
            "shard {owner} to take writes: the map names it, and until it is open no shard takes writes to the moving keys"
        ),
        since,
        held_by: None,
        remedy: None,
    })
}

/// Returns whether no step runs in this state until an operator gives the command `resume`.
fn needs_resume(state: MigrationState) -> bool {
    matches!(state, MigrationState::Paused | MigrationState::Failed)
}

/// Returns the reason that only an operator can end, or the queue that the store recorded in `waiting_for`.
fn operator_reason(view: &MigrationView, since: Option<DateTime<Utc>>) -> Option<WaitReason> {
    let m = &view.summary;
    let command_line = |command: &str| Some(format!("shardwright {command} {}", m.id));
    let wait = |kind, what: String, held_by, remedy| {
        Some(WaitReason {
            kind,
            what,
            since,
            held_by,
            remedy,
        })
    };
    let stored_reason = || m.waiting_for.clone();
    match m.state {
        MigrationState::Paused => wait(
            WaitKind::Paused,
            "an operator who resumes it: it was paused".to_owned(),
            None,
            command_line("resume"),
        ),
        MigrationState::Failed => {
            let failure = m.failure.as_ref();
            let why = failure.map_or_else(String::new, |failure| failure.message.clone());
            let what = format!("an operator who fixes the cause and resumes it: {why}");
            wait(WaitKind::Failed, what, None, command_line("resume"))
        }
        MigrationState::Waiting if view.cancel.is_none() => wait(
            WaitKind::Approval,
            stored_reason()?,
            None,
            command_line("approve"),
        ),
        MigrationState::Waiting
        | MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Unwinding
        | MigrationState::Unwound
        | MigrationState::Flipped
        | MigrationState::Completed
        | MigrationState::RolledBack => match stored_reason() {
            Some(what) if view.cancel.is_some() => wait(
                WaitKind::Cancel,
                what,
                writers_text(view),
                command_line("approve-cancel"),
            ),
            Some(what) => wait(WaitKind::Queue, what, None, None),
            None if is_open_ended_hold(view) => wait(
                WaitKind::Finish,
                hold_text(view),
                None,
                command_line("finish"),
            ),
            None => None,
        },
    }
}

/// Returns the text about a hold that only an operator can end.
fn hold_text(view: &MigrationView) -> String {
    let m = &view.summary;
    if m.state != MigrationState::RolledBack {
        let what = match m.mode {
            Mode::Online => "an operator who ends the hold; until then a rollback is possible",
            Mode::Offline => "an operator who ends the hold; until then the old rows stay",
        };
        return what.to_owned();
    }
    let what = format!(
        "an operator who finishes it: {} owns the keys again, and the copy on {} stays until then",
        m.source, m.target
    );
    if view.approvals.is_empty() {
        return format!("{what}; another cutover is possible too");
    }
    let more = missing_approvals_text(view.plan.options.approvals, &view.approvals);
    format!("{what}, and another cutover waits for {more}")
}

/// Returns the text about the transactions that the agent requests to end.
fn writers_text(view: &MigrationView) -> Option<String> {
    let request = view.cancel.as_ref()?;
    let all = request.writers.iter();
    let texts = all.map(|w| format!("server process {} ({}, {})", w.pid, w.user, w.application));
    Some(texts.collect::<Vec<_>>().join(", "))
}

/// Returns whether only an operator can end the running hold.
fn is_open_ended_hold(view: &MigrationView) -> bool {
    let is_running_hold = |step: &StepView| {
        matches!(step.kind, StepKind::Hold | StepKind::HoldBack) && step.state == StepState::Running
    };
    view.steps.iter().any(is_running_hold) && view.hold_end.is_none() && view.hold_ends_at.is_none()
}

/// Returns a reason if hooks hold the migration.
fn hook_reason(view: &MigrationView) -> Option<WaitReason> {
    let request = view.hook.as_ref().filter(|request| request.is_blocking())?;
    let phase = request.phase.what();
    let what = match &request.reply {
        None => format!("the hooks that are called before {phase}"),
        Some(reply) if reply.veto => format!(
            "hook {}, which is called before {phase} and refuses: {}",
            reply.hook, reply.reason
        ),
        Some(reply) => format!(
            "an answer of hook {} before {phase}: {}",
            reply.hook, reply.reason
        ),
    };
    Some(WaitReason {
        kind: WaitKind::Hook,
        what,
        since: Some(request.requested_at),
        held_by: request
            .reply
            .as_ref()
            .map(|reply| format!("hook {}", reply.hook)),
        remedy: Some(format!(
            "shardwright overrule {} --reason TEXT",
            view.summary.id
        )),
    })
}

/// Returns a reason if a step failed and is dispatched again later.
fn retry_reason(view: &MigrationView) -> Option<WaitReason> {
    let step = view.steps.iter().find(|s| s.state == StepState::Backoff)?;
    let failure = step.failure.as_ref()?;
    let at = step
        .next_at
        .map_or_else(String::new, |at| at.format(" at %H:%M:%S UTC").to_string());
    Some(WaitReason {
        kind: WaitKind::Retry,
        what: format!(
            "the next attempt of {}{at}, {} of {} failed: {}",
            step.id, step.attempt, view.plan.options.max_attempts, failure.message
        ),
        since: None,
        held_by: None,
        remedy: Some(format!("shardwright retry {}", view.summary.id)),
    })
}

/// Returns the wait for an agent as a reason. It names a remedy only if the wait is longer than a connected agent
/// needs.
fn agent_reason(since: Option<DateTime<Utc>>, now: DateTime<Utc>) -> WaitReason {
    let is_missing = since.is_none_or(|since| now - since >= MAX_CLAIM_DELAY);
    let what = match is_missing {
        true => "an agent that takes it",
        false => "an agent that takes it; a connected agent takes it within seconds",
    };
    WaitReason {
        kind: WaitKind::Agent,
        what: what.to_owned(),
        since,
        held_by: None,
        remedy: is_missing.then(|| "shardwright-agent --name NAME".to_owned()),
    }
}

/// Returns the condition on the shards that the agent waits for as a reason.
fn gate_reason(step: &StepView) -> Option<WaitReason> {
    let what = step.progress.as_ref()?.waiting_for.clone()?;
    Some(WaitReason {
        kind: WaitKind::Gate,
        what,
        since: None,
        held_by: None,
        remedy: None,
    })
}

/// Returns a lock that the agent waits for as a reason.
fn lock_reason(step: &StepView, measured_at: DateTime<Utc>) -> Option<WaitReason> {
    let lock = step.progress.as_ref()?.lock.as_ref()?;
    Some(WaitReason {
        kind: WaitKind::Lock,
        what: format!("a lock on {} of shard {}", lock.object, lock.shard),
        since: lock
            .waited_ms
            .map(|ms| measured_at - TimeDelta::milliseconds(ms)),
        held_by: Some(lock_holder(lock)),
        remedy: None,
    })
}

/// Returns the text about the session that holds a lock.
fn lock_holder(lock: &LockWait) -> String {
    // A prepared transaction has no server process.
    if lock.holder == 0 {
        return "a prepared transaction".to_owned();
    }
    let mut about = vec![lock.application.clone()];
    about.extend((!lock.user.is_empty()).then(|| format!("role {}", lock.user)));
    about.extend((!lock.state.is_empty()).then(|| lock.state.clone()));
    about.extend(lock.open_ms.map(|ms| format!("open for {} s", ms / 1000)));
    format!("server process {} ({})", lock.holder, about.join(", "))
}

/// Returns the throttle as a reason, if it slows the step.
fn throttle_reason(view: &MigrationView, step: &StepView) -> Option<WaitReason> {
    let slowed = step.progress.as_ref()?.slowed.as_ref()?;
    Some(WaitReason {
        kind: WaitKind::Throttle,
        what: format!("its throttle, {}", slowed.sentence()),
        since: None,
        held_by: None,
        remedy: Some(format!("shardwright set LIMIT {} VALUE", view.summary.id)),
    })
}

/// Returns the lag as a reason if it is larger than the budget, and the step waits for the stream.
fn lag_reason(view: &MigrationView, step: &StepView) -> Option<WaitReason> {
    if !matches!(
        step.kind,
        StepKind::CatchUp | StepKind::Cutover | StepKind::Rollback
    ) {
        return None;
    }
    let stream = view.stream.as_ref()?;
    let budget = i64::from(view.plan.options.write_stop_budget_ms);
    (stream.lag_ms > budget).then(|| WaitReason {
        kind: WaitKind::Lag,
        what: format!(
            "the stream to apply changes: it is {} ms and {} behind",
            stream.lag_ms,
            bytes(stream.lag_bytes)
        ),
        since: None,
        held_by: Some(format!(
            "the stream; the cutover begins when its lag is below {budget} ms"
        )),
        remedy: None,
    })
}
