//! What a migration waits for, or is slowed by: the one answer that pages, command line and API give.

use super::{MigrationView, StepView};
use crate::controller::approval;
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

/// A connected agent has claimed a migration after this long.
const CLAIMED_WITHIN: TimeDelta = TimeDelta::seconds(10);

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The map has flipped, and the new owner is not reported to be open: no shard takes writes to the moving keys.
    Opening,
    /// An operator has to approve the cutover.
    Approval,
    /// An operator has to allow that writers are ended.
    Cancel,
    /// A hook refuses, or does not answer.
    Hook,
    /// Other migrations, the fleet, or hours come first.
    Queue,
    /// An operator has paused it.
    Paused,
    /// An operator has to fix what made it fail.
    Failed,
    /// The next attempt of a step is not due yet.
    Retry,
    /// No agent holds it.
    Agent,
    /// What the agent found on the shards that has to end first.
    Gate,
    /// A session that is not the migration's holds a lock.
    Lock,
    /// Limits and health signals hold heavy work back.
    Throttle,
    /// The target lags behind the source.
    Lag,
    /// An operator has to end the hold.
    Finish,
}

impl WaitKind {
    /// The word in the API.
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

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitReason {
    /// Which kind.
    pub kind: WaitKind,
    /// For what, as a part of "waits for …".
    pub what: String,
    /// Since when, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime<Utc>>,
    /// The session, hook or stream that blocks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// The command that ends it, where one does.
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

/// Every reason, what only a person can end first; figures of locks are of the moment `at`.
pub(super) fn of(
    view: &MigrationView,
    since: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Vec<WaitReason> {
    let m = &view.summary;
    if m.finished_at.is_some() {
        return Vec::new();
    }
    let mut all: Vec<WaitReason> = opening(view, since).into_iter().collect();
    all.extend(person(view, since));
    if rests(m.state) {
        return all;
    }
    all.extend(hook(view));
    all.extend(retry(view));
    let held = all
        .iter()
        .any(|wait| matches!(wait.kind, WaitKind::Queue | WaitKind::Retry));
    let live = view.owner.as_ref().is_some_and(|owner| owner.live);
    if !live {
        all.extend((!held).then(|| agent(since, now)));
        return all;
    }
    let running = view
        .steps
        .iter()
        .find(|step| step.state == StepState::Running);
    if let Some(step) = running {
        all.extend(gate(step));
        all.extend(lock(step, at));
        all.extend(throttle(view, step));
        all.extend(lag(view, step));
    }
    all
}

/// Until the cutover's step is done no agent has reported that the new owner is open.
fn opening(view: &MigrationView, since: Option<DateTime<Utc>>) -> Option<WaitReason> {
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

fn rests(state: MigrationState) -> bool {
    matches!(state, MigrationState::Paused | MigrationState::Failed)
}

/// What an operator has to do.
fn person(view: &MigrationView, since: Option<DateTime<Utc>>) -> Option<WaitReason> {
    let m = &view.summary;
    let line = |command: &str| Some(format!("shardwright {command} {}", m.id));
    let wait = |kind, what: String, held_by, remedy| {
        Some(WaitReason {
            kind,
            what,
            since,
            held_by,
            remedy,
        })
    };
    let named = || m.waiting_for.clone();
    match m.state {
        MigrationState::Paused => wait(
            WaitKind::Paused,
            "an operator who resumes it: it was paused".to_owned(),
            None,
            line("resume"),
        ),
        MigrationState::Failed => {
            let failure = m.failure.as_ref();
            let why = failure.map_or_else(String::new, |failure| failure.message.clone());
            let what = format!("an operator who fixes the cause and resumes it: {why}");
            wait(WaitKind::Failed, what, None, line("resume"))
        }
        MigrationState::Waiting if view.cancel.is_none() => {
            wait(WaitKind::Approval, named()?, None, line("approve"))
        }
        MigrationState::Waiting
        | MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Unwinding
        | MigrationState::Unwound
        | MigrationState::Flipped
        | MigrationState::Completed
        | MigrationState::RolledBack => match named() {
            Some(what) if view.cancel.is_some() => wait(
                WaitKind::Cancel,
                what,
                writers(view),
                line("approve-cancel"),
            ),
            Some(what) => wait(WaitKind::Queue, what, None, None),
            None if holds(view) => wait(WaitKind::Finish, hold(view), None, line("finish")),
            None => None,
        },
    }
}

/// What only an operator ends.
fn hold(view: &MigrationView) -> String {
    let m = &view.summary;
    if m.state != MigrationState::RolledBack {
        let what = match m.mode {
            Mode::Online => "an operator who ends the hold; until then a roll back is possible",
            Mode::Offline => "an operator who ends the hold; until then the old rows stay",
        };
        return what.to_owned();
    }
    let what = format!(
        "an operator who finishes it: {} owns the keys again, and the copy on {} stays until then",
        m.source, m.target
    );
    if view.approvals.is_empty() {
        return format!("{what}; another cutover is possible as well");
    }
    let more = approval(view.plan.options.approvals, &view.approvals);
    format!("{what}, and another cutover waits for {more}")
}

fn writers(view: &MigrationView) -> Option<String> {
    let request = view.cancel.as_ref()?;
    let all = request.writers.iter();
    let named = all.map(|w| format!("process {} ({}, {})", w.pid, w.user, w.application));
    Some(named.collect::<Vec<_>>().join(", "))
}

/// True while only the operator can end the hold.
fn holds(view: &MigrationView) -> bool {
    let holds = |step: &&StepView| {
        matches!(step.kind, StepKind::Hold | StepKind::HoldBack) && step.state == StepState::Running
    };
    view.steps.iter().any(|step| holds(&step))
        && view.hold_end.is_none()
        && view.hold_ends_at.is_none()
}

fn hook(view: &MigrationView) -> Option<WaitReason> {
    let request = view.hook.as_ref().filter(|request| request.holds())?;
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

fn retry(view: &MigrationView) -> Option<WaitReason> {
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

/// Agents that are connected claim within seconds; only after that one is missing.
fn agent(since: Option<DateTime<Utc>>, now: DateTime<Utc>) -> WaitReason {
    let is_missing = since.is_none_or(|since| now - since >= CLAIMED_WITHIN);
    let what = match is_missing {
        true => "an agent that takes it",
        false => "an agent that takes it: a connected one does within seconds",
    };
    WaitReason {
        kind: WaitKind::Agent,
        what: what.to_owned(),
        since,
        held_by: None,
        remedy: is_missing.then(|| "shardwright-agent --name NAME".to_owned()),
    }
}

fn gate(step: &StepView) -> Option<WaitReason> {
    let what = step.progress.as_ref()?.waiting_for.clone()?;
    Some(WaitReason {
        kind: WaitKind::Gate,
        what,
        since: None,
        held_by: None,
        remedy: None,
    })
}

fn lock(step: &StepView, at: DateTime<Utc>) -> Option<WaitReason> {
    let lock = step.progress.as_ref()?.lock.as_ref()?;
    Some(WaitReason {
        kind: WaitKind::Lock,
        what: format!("a lock on {} of shard {}", lock.object, lock.shard),
        since: lock.waited_ms.map(|ms| at - TimeDelta::milliseconds(ms)),
        held_by: Some(holder(lock)),
        remedy: None,
    })
}

fn holder(lock: &LockWait) -> String {
    if lock.holder == 0 {
        return "a prepared transaction".to_owned();
    }
    let mut about = vec![lock.application.clone()];
    about.extend((!lock.user.is_empty()).then(|| format!("role {}", lock.user)));
    about.extend((!lock.state.is_empty()).then(|| lock.state.clone()));
    about.extend(lock.open_ms.map(|ms| format!("open for {} s", ms / 1000)));
    format!("server process {} ({})", lock.holder, about.join(", "))
}

fn throttle(view: &MigrationView, step: &StepView) -> Option<WaitReason> {
    let slowed = step.progress.as_ref()?.slowed.as_ref()?;
    Some(WaitReason {
        kind: WaitKind::Throttle,
        what: format!("its throttle, {}", slowed.sentence()),
        since: None,
        held_by: None,
        remedy: Some(format!("shardwright set LIMIT {} VALUE", view.summary.id)),
    })
}

/// Only where something waits for the stream.
fn lag(view: &MigrationView, step: &StepView) -> Option<WaitReason> {
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
            "changes to be applied: {} ms and {} behind",
            stream.lag_ms,
            bytes(stream.lag_bytes)
        ),
        since: None,
        held_by: Some(format!("the stream; the cutover begins below {budget} ms")),
        remedy: None,
    })
}
