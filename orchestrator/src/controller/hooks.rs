//! Hooks that are called before a phase of a migration. The phase does not begin while a hook refuses or does not
//! answer.
//!
//! Each change that makes a migration ready for such a phase records, in its own transaction, that the hooks must be
//! called. So no agent gets the step before the hooks have answered. Hooks never interrupt a phase: those of the
//! cutover are called before each attempt, never during one. A pause or a failure discards the answers, and also an
//! operator's command to overrule the hooks; later the hooks are called again.

use super::decide::{hours_wait, needs_approval, next_step};
use super::draft::MigrationDraft;
use super::{ApprovalError, ControlError, Controller, IDLE, clock};
use crate::hooks::{Hook, HookAnswer, HookMessage, Hooks, call};
use crate::store::MigrationPhase;
use crate::store::{HookReply, HookRequest, Snapshot};
use chrono::{DateTime, TimeDelta, Utc};
use futures::stream::{FuturesUnordered, StreamExt};
use plans::failure::RetryClass;
use plans::id::MigrationId;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The pause after the answer of a hook could not be stored.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// Returns the phase that is about to begin, if hooks can be called before it.
fn next_phase(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<MigrationPhase> {
    let m = &snapshot.migration;
    let is_active = matches!(
        m.state,
        MigrationState::Running | MigrationState::Flipped | MigrationState::RolledBack
    );
    let step = next_step(snapshot).filter(|_| is_active && snapshot.running().is_none())?;
    let phase = MigrationPhase::before_step(step.kind, m.plan.mode)?;
    let due = matches!(step.state, StepState::Pending | StepState::Backoff)
        && step.next_at.is_none_or(|at| at <= now);
    let may_begin = match phase {
        // A cutover that has begun continues, because it may have left keys closed.
        MigrationPhase::BeforeCutover => {
            m.ownership == Ownership::Ready
                && !needs_approval(snapshot)
                && hours_wait(snapshot, step, now).is_none()
        }
        // The hold must end first.
        MigrationPhase::BeforeDrop => m.ownership == Ownership::Completed,
        MigrationPhase::BeforeCopy
        | MigrationPhase::Submitted
        | MigrationPhase::Started
        | MigrationPhase::AfterCopy
        | MigrationPhase::Waiting
        | MigrationPhase::Vetoed
        | MigrationPhase::AfterCutover
        | MigrationPhase::Paused
        | MigrationPhase::Resumed
        | MigrationPhase::Failed
        | MigrationPhase::Aborted
        | MigrationPhase::Unwound
        | MigrationPhase::RolledBack
        | MigrationPhase::Completed => true,
    };
    (due && may_begin).then_some(phase)
}

/// Returns whether an operator's command to overrule the hooks of this phase is still valid: until the phase ends, or
/// until the migration is paused or fails.
fn overrule_is_valid(snapshot: &Snapshot, phase: MigrationPhase) -> bool {
    let m = &snapshot.migration;
    let stopped = matches!(m.state, MigrationState::Paused | MigrationState::Failed);
    let at =
        next_step(snapshot).and_then(|step| MigrationPhase::before_step(step.kind, m.plan.mode));
    !stopped && at == Some(phase)
}

/// What to do with the recorded request to hooks (`Migration::hook`).
#[derive(Debug, PartialEq, Eq)]
enum RequestUpdate {
    /// The recorded request does not change.
    Keep,
    /// A new request is recorded: the hooks are to be called before this phase.
    Request(MigrationPhase),
    /// The recorded request is removed.
    Forget,
}

/// Returns what to do with the recorded request to hooks, by the state of the migration.
fn due_update(snapshot: &Snapshot, hooks: &Hooks, now: DateTime<Utc>) -> RequestUpdate {
    let known = snapshot.migration.hook.as_ref();
    if known.is_none() && !hooks.has_hooks_before_phases() {
        return RequestUpdate::Keep;
    }
    let wanted = next_phase(snapshot, now);
    let wanted = wanted.filter(|phase| hooks.called_at(*phase).next().is_some());
    match (known, wanted) {
        (Some(request), Some(phase)) if request.phase == phase => RequestUpdate::Keep,
        (_, Some(phase)) => RequestUpdate::Request(phase),
        (Some(request), None)
            if request.overruled_by.is_some() && overrule_is_valid(snapshot, request.phase) =>
        {
            RequestUpdate::Keep
        }
        (Some(_), None) => RequestUpdate::Forget,
        (None, None) => RequestUpdate::Keep,
    }
}

/// Records a request to the hooks of the next phase, and removes the request of another phase.
pub(super) fn update_request(draft: &mut MigrationDraft, hooks: &Hooks) {
    let now = draft.now;
    match due_update(draft.snapshot(), hooks, now) {
        RequestUpdate::Keep => {}
        RequestUpdate::Forget => draft.migration().hook = None,
        RequestUpdate::Request(phase) => {
            draft.migration().hook = Some(HookRequest {
                phase,
                requested_at: now,
                next_at: now,
                reply: None,
                allowed: false,
                overruled_by: None,
            });
            draft.record("hook.asked", None, json!({ "phase": phase }));
        }
    }
}

/// Returns whether the recorded request must change although the migration has not changed: the pause of a step has
/// ended, or the hooks file is a new one.
pub(super) fn is_stale(snapshot: &Snapshot, hooks: &Hooks) -> bool {
    due_update(snapshot, hooks, clock()) != RequestUpdate::Keep
}

/// Records the operator's command to continue without the hooks. Returns `None` if the migration waits for no hook.
pub(super) fn overrule(
    draft: &mut MigrationDraft,
    data: &Value,
) -> Result<Option<()>, ControlError> {
    let actor = draft.actor().to_owned();
    let migration = draft.snapshot().migration.id.clone();
    let Some(request) = draft
        .migration()
        .hook
        .as_mut()
        .filter(|request| request.is_blocking())
    else {
        return Ok(None);
    };
    // `try_command` passes no field `reason`; then the reason is not checked.
    if let Some(reason) = data.get("reason")
        && reason.as_str().is_none_or(|text| text.trim().is_empty())
    {
        return Err(ApprovalError::NoReason { migration }.into());
    }
    request.overruled_by = Some(actor);
    let (phase, reply) = (request.phase, request.reply.clone());
    let data = json!({ "phase": phase, "said": reply, "reason": data.get("reason") });
    draft.record("hook.overruled", None, data);
    Ok(Some(()))
}

/// Lets the hooks be called again immediately. Returns `false` if the migration does not wait for a hook.
pub(super) fn request_again(draft: &mut MigrationDraft) -> bool {
    let now = draft.now;
    let request = draft.migration().hook.as_mut();
    let Some(request) = request.filter(|request| request.is_blocking() && request.reply.is_some())
    else {
        return false;
    };
    request.next_at = now;
    let phase = request.phase;
    draft.record("hook.asked", None, json!({ "phase": phase }));
    true
}

impl Controller {
    /// Sets the hooks to call. Must be called before [`Controller::run`]; only the first call has an effect.
    pub fn hook(&self, hooks: Hooks) {
        // An error means that the hooks are set already; the first value remains.
        let _ = self.inner.hooks.set(hooks);
    }

    /// Returns the hooks; the list may be empty.
    pub(super) fn hooks(&self) -> &Hooks {
        self.inner.hooks.get_or_init(Hooks::default)
    }

    /// Calls the hooks that migrations wait for. Runs until the task is dropped.
    pub(super) async fn run_hook_requests(&self) {
        let mut changes = self.inner.changes.subscribe();
        let (mut calls, mut running) = (FuturesUnordered::new(), BTreeSet::new());
        if !self.hooks().has_hooks_before_phases() {
            return;
        }
        loop {
            changes.borrow_and_update();
            let mut next = clock() + IDLE;
            match self.board().await {
                Err(error) => {
                    tracing::warn!(%error, "the migrations that wait for hooks could not be read")
                }
                Ok(board) => {
                    for snapshot in board.all() {
                        let id = &snapshot.migration.id;
                        let request = snapshot
                            .migration
                            .hook
                            .as_ref()
                            .filter(|request| request.is_blocking());
                        let Some(request) = request.filter(|_| !running.contains(id)) else {
                            continue;
                        };
                        if request.next_at > clock() {
                            next = next.min(request.next_at);
                            continue;
                        }
                        running.insert(id.clone());
                        calls.push(self.call_hooks(snapshot.as_ref().clone(), request.clone()));
                    }
                }
            }
            let sleep = (next - clock()).to_std().unwrap_or_default();
            tokio::select! {
                Some(id) = calls.next() => { running.remove(&id); }
                _ = changes.changed() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Calls the hooks of the phase one after the other until one refuses or does not answer, and records the result.
    async fn call_hooks(&self, snapshot: Snapshot, request: HookRequest) -> MigrationId {
        let id = snapshot.migration.id.clone();
        let mut reply = None;
        let mut again = TimeDelta::zero();
        for hook in self.hooks().called_at(request.phase) {
            let message =
                HookMessage::request(&hook.name, request.phase, request.requested_at, &snapshot);
            let answer = self.call_until_answered(hook, &message).await;
            let (veto, reason) = match answer {
                HookAnswer::Yes => continue,
                HookAnswer::No(reason) => (true, reason),
                HookAnswer::Silent(reason) => (false, reason),
            };
            tracing::warn!(migration = %id, hook = %hook.name, phase = %request.phase, veto, "a hook refused the phase or did not answer");
            again = TimeDelta::seconds(hook.again_s.into());
            reply = Some(HookReply {
                hook: hook.name.clone(),
                veto,
                reason,
                at: clock(),
            });
            break;
        }
        let edit = |draft: &mut MigrationDraft| {
            record_answer(draft, &request, reply.as_ref(), again);
            Ok(())
        };
        if let Err(error) = self.change(&id, "controller", edit).await {
            tracing::warn!(migration = %id, %error, "the answer of hooks could not be stored");
            tokio::time::sleep(AFTER_ERROR).await;
        }
        id
    }

    /// Calls a hook until it answers, at most as often as its setting `attempts` allows.
    async fn call_until_answered(&self, hook: &Hook, message: &HookMessage) -> HookAnswer {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let answer = call(hook, message).await;
            self.observed().hook(&hook.name, answer.name());
            let silent = matches!(answer, HookAnswer::Silent(_));
            let class = RetryClass::Exponential;
            match self.inner.settings.retry.pause(class, attempt) {
                Some(pause) if silent && attempt < hook.attempts => {
                    tokio::time::sleep(pause).await;
                }
                Some(_) | None => return answer,
            }
        }
    }
}

/// Records the answer, unless the recorded request has changed in the meantime.
fn record_answer(
    draft: &mut MigrationDraft,
    answered: &HookRequest,
    reply: Option<&HookReply>,
    again: TimeDelta,
) {
    let now = draft.now;
    let known = draft.migration().hook.as_mut();
    let is_same_request = |request: &&mut HookRequest| {
        (request.phase, request.requested_at) == (answered.phase, answered.requested_at)
            && request.is_blocking()
    };
    let Some(request) = known.filter(is_same_request) else {
        return;
    };
    let phase = request.phase;
    let Some(reply) = reply else {
        request.allowed = true;
        draft.record("hook.allowed", None, json!({ "phase": phase }));
        return;
    };
    let content = |reply: &HookReply| (reply.hook.clone(), reply.veto, reply.reason.clone());
    let is_new = request.reply.as_ref().map(content) != Some(content(reply));
    request.reply = Some(reply.clone());
    request.next_at = now + again;
    if is_new {
        let kind = if reply.veto {
            "hook.vetoed"
        } else {
            "hook.silent"
        };
        let data = json!({ "phase": phase, "hook": reply.hook, "reason": reply.reason });
        draft.record(kind, None, data);
    }
}
