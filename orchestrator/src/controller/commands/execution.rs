//! The effect of each command on a migration: its states, and the steps that run next.

use super::super::decide::needs_approval;
use super::super::draft::MigrationDraft;
use super::super::{
    ApprovalError, ControlError, approval_of, approvals, cancel, hooks, settle, ways,
};
use super::Command;
use crate::store::{HoldEnd, Migration};
use plans::failure::{Failure, StepCode};
use plans::id::StepId;
use plans::names::Direction;
use plans::request::{Cutover, Mode};
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::wire::StreamStatus;
use serde_json::{Value, json};

/// Failures after which the agent compares both shards again when the migration is resumed.
const COMPARE_AGAIN: [StepCode; 2] = [StepCode::SchemaDrift, StepCode::GuardChanged];

/// The lag of the reverse stream above which a rollback is refused, in milliseconds: it would only wait for the stream.
const MAX_LAG_MS: i64 = 30_000;

/// Failures of the reverse stream after which a rollback is impossible, besides those that lose changes.
const STREAM_IS_LOST: [StepCode; 3] = [
    StepCode::PublicationChanged,
    StepCode::ServerChanged,
    StepCode::StreamProgress,
];

/// Returns why a rollback is impossible now.
pub(super) fn rollback_obstacle(m: &Migration, stream: Option<&StreamStatus>) -> Option<String> {
    let stream = stream.filter(|stream| stream.direction == Direction::Reverse);
    let failures = [
        m.failure.as_ref(),
        stream.and_then(|stream| stream.failure.as_ref()),
    ];
    let lost = |failure: &&Failure| failure.loses_changes() || failure.has_code_of(&STREAM_IS_LOST);
    if let Some(failure) = failures.into_iter().flatten().find(lost) {
        return Some(failure.message.clone());
    }
    let stream = stream?;
    if stream.retained.wal_status == "lost" {
        return Some("the log that the reverse stream needs was removed".to_owned());
    }
    (stream.lag_ms > MAX_LAG_MS).then(|| {
        format!(
            "the reverse stream is {} s behind; wait until it has caught up",
            stream.lag_ms / 1000
        )
    })
}

/// Returns the command that plans the move of the keys back to the source, for an offline migration. It has no reverse
/// stream, so a rollback is impossible.
pub(in crate::controller) fn move_back_command(m: &Migration) -> String {
    let moving = &m.plan.moving;
    format!(
        "shardwright plan move {} --from {} --to {}",
        m.plan.map, moving.target, moving.source
    )
}

pub(super) fn illegal_error(draft: &MigrationDraft, command: Command) -> ControlError {
    let m = &draft.snapshot().migration;
    if command == Command::Rollback && m.plan.mode == Mode::Offline && m.map_version_after.is_some()
    {
        return ControlError::MovedOffline {
            migration: m.id.clone(),
            map: m.plan.map.clone(),
            from: m.plan.moving.source.clone(),
            to: m.plan.moving.target.clone(),
        };
    }
    ControlError::Illegal {
        command: command.to_string(),
        migration: m.id.clone(),
        state: m.state,
        ownership: m.ownership,
        hint: command.hint(m),
    }
}

/// Carries out a command for one of several migrations of an operation. An approval is also recorded if the cutover is
/// not due yet.
pub(in crate::controller) fn carry_out_for_operation(
    draft: &mut MigrationDraft,
    command: Command,
    data: Value,
) -> Result<Option<()>, ControlError> {
    let m = &draft.snapshot().migration;
    let due = m.state == MigrationState::Waiting;
    if command != Command::Approve || due {
        return match carry_out(draft, command, data) {
            // Other migrations of the operation may still wait for this approval.
            Err(ControlError::Approval(ApprovalError::AlreadyApproved { .. })) => Ok(None),
            other => other,
        };
    }
    let before = matches!(m.ownership, Ownership::Ready | Ownership::Fencing);
    if m.approved || !before || m.plan.options.cutover == Cutover::Automatic {
        return Ok(None);
    }
    match approvals::give(draft, &data) {
        Ok(true) => {}
        Ok(false) => return Ok(Some(())),
        // Other migrations of the operation may still wait for this approval.
        Err(ControlError::Approval(ApprovalError::AlreadyApproved { .. })) => return Ok(None),
        Err(error) => return Err(error),
    }
    draft.migration().approved = true;
    draft.record(
        "migration.approved",
        None,
        json!({ "ahead": true, "reason": data.get("reason") }),
    );
    Ok(Some(()))
}

/// Carries out a command on the draft. Returns `None` if the state does not allow the command. A migration that has
/// ended allows no command.
pub(super) fn carry_out(
    draft: &mut MigrationDraft,
    command: Command,
    data: Value,
) -> Result<Option<()>, ControlError> {
    if draft.snapshot().migration.finished_at.is_some() {
        return Ok(None);
    }
    match command {
        Command::Approve => {
            let m = &draft.snapshot().migration;
            if m.ownership == Ownership::RolledBack {
                return approve_another_cutover(draft, data);
            }
            if m.state != MigrationState::Waiting || m.cancel.is_some() {
                return Ok(None);
            }
            if !approvals::give(draft, &data)? {
                let m = draft.migration();
                m.waiting_for = Some(approval_of(m));
                return Ok(Some(()));
            }
            draft.migration().approved = true;
            Ok(draft
                .apply_to_migration(MigrationEvent::Approved, data)
                .ok())
        }
        Command::ApproveCancel => cancel::approve(draft, &data),
        Command::Overrule => hooks::overrule(draft, &data),
        Command::Pause => Ok(draft.apply_to_migration(MigrationEvent::Paused, data).ok()),
        Command::Resume => resume(draft, data),
        Command::Retry if draft.snapshot().migration.state == MigrationState::Failed => {
            resume(draft, data)
        }
        Command::Retry => retry_now(draft, &data),
        Command::Abort => abort(draft, data),
        Command::Rollback => end_hold(draft, HoldEnd::Rollback, data),
        Command::Finish => end_hold(draft, HoldEnd::Finish, data),
    }
}

pub(in crate::controller) fn resume(
    draft: &mut MigrationDraft,
    data: Value,
) -> Result<Option<()>, ControlError> {
    let m = &draft.snapshot().migration;
    let event = match m.ownership {
        Ownership::Ready if m.started_at.is_none() => MigrationEvent::ResumedPlanned,
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted => MigrationEvent::Resumed,
        Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed => {
            MigrationEvent::ResumedFlipped
        }
        Ownership::RolledBack => MigrationEvent::ResumedRolledBack,
    };
    if draft.apply_to_migration(event, data).is_err() {
        return Ok(None);
    }
    for id in failed_or_waiting_steps(draft) {
        draft.apply_to_step(&id, StepEvent::Retried, json!({}))?;
    }
    let failed = draft.snapshot().migration.failure.as_ref();
    if failed.is_some_and(|failure| failure.has_code_of(&COMPARE_AGAIN)) {
        ways::compare_again(draft)?;
    }
    // The pause stopped the stream. If no step is due, a new dispatch must start the stream again.
    let idle = needs_approval(draft.snapshot());
    let m = draft.migration();
    m.failure = None;
    m.needs_new_epoch |= idle;
    Ok(Some(()))
}

/// Ends the backoff of steps immediately, and calls the hooks that hold the migration again.
fn retry_now(draft: &mut MigrationDraft, data: &Value) -> Result<Option<()>, ControlError> {
    if draft.snapshot().migration.state == MigrationState::Paused {
        return Ok(None);
    }
    let hooks_requested = hooks::request_again(draft);
    let failed_or_waiting_steps = failed_or_waiting_steps(draft);
    for id in &failed_or_waiting_steps {
        draft.apply_to_step(id, StepEvent::Retried, data.clone())?;
    }
    Ok((hooks_requested || !failed_or_waiting_steps.is_empty()).then_some(()))
}

/// Returns the steps that have failed or are in backoff.
fn failed_or_waiting_steps(draft: &MigrationDraft) -> Vec<StepId> {
    let steps = draft.snapshot().steps.iter();
    let failed_or_waiting_steps =
        steps.filter(|s| matches!(s.state, StepState::Failed | StepState::Backoff));
    failed_or_waiting_steps
        .map(|step| step.id.clone())
        .collect()
}

/// Aborts the migration: adds the step `unwind`, or ends the migration at once if it has not started.
fn abort(draft: &mut MigrationDraft, data: Value) -> Result<Option<()>, ControlError> {
    if draft.snapshot().step_of(StepKind::Unwind).is_some() {
        return Ok(None);
    }
    let owned = draft
        .apply_to_ownership(OwnershipEvent::Abort, data.clone())
        .is_ok();
    if !owned
        || draft
            .apply_to_migration(MigrationEvent::Aborted, data)
            .is_err()
    {
        return Ok(None);
    }
    if draft.snapshot().migration.started_at.is_none() {
        // The migration has created nothing, so no agent is needed.
        return settle::end_migration(draft).map(Some);
    }
    draft.append_steps(&[StepKind::Unwind])?;
    let m = draft.migration();
    m.failure = None;
    m.needs_new_epoch = true;
    Ok(Some(()))
}

/// Approves another cutover after a rollback. The cutover begins when there are enough approvals.
fn approve_another_cutover(
    draft: &mut MigrationDraft,
    data: Value,
) -> Result<Option<()>, ControlError> {
    let mut tried = MigrationDraft::new(draft.snapshot().clone(), draft.actor(), draft.now);
    if end_hold(&mut tried, HoldEnd::Again, data.clone())?.is_none() {
        return Ok(None);
    }
    if approvals::give(draft, &data)? {
        end_hold(draft, HoldEnd::Again, data)
    } else {
        Ok(Some(()))
    }
}

/// Records how the hold is to end, if the ownership of the keys allows it.
fn end_hold(
    draft: &mut MigrationDraft,
    end: HoldEnd,
    data: Value,
) -> Result<Option<()>, ControlError> {
    let m = &draft.snapshot().migration;
    let possible = match end {
        HoldEnd::Finish => matches!(m.ownership, Ownership::Flipped | Ownership::RolledBack),
        HoldEnd::Rollback => m.ownership == Ownership::Flipped && m.plan.mode == Mode::Online,
        HoldEnd::Again => m.ownership == Ownership::RolledBack,
    };
    if !possible {
        return Ok(None);
    }
    if end == HoldEnd::Finish && ways::may_withdraw(draft) {
        ways::withdraw(draft)?;
    }
    let m = &draft.snapshot().migration;
    if m.hold_end.is_some() {
        return Ok(None);
    }
    let is_going = matches!(
        m.state,
        MigrationState::Flipped | MigrationState::RolledBack
    );
    if !is_going && resume(draft, data.clone())?.is_none() {
        return Ok(None);
    }
    draft.migration().hold_end = Some(end);
    let data = json!({ "end": end, "reason": data.get("reason") });
    draft.record("hold.ended", None, data);
    Ok(Some(()))
}
