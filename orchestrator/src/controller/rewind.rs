//! The return of a migration to an earlier step whose result was lost.

use super::draft::MigrationDraft;
use super::settle::{apply_failure, pause_after};
use super::{ControlError, ControllerSettings, delta, seeding, ways};
use crate::store::Step;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::StepId;
use plans::names::Direction;
use plans::request::Ddl;
use plans::state::cutover::Ownership;
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::wire::StreamStatus;
use serde_json::json;

/// Repeats all steps from `to` up to this step, after a pause. If the flip has happened, if `to` was tried too often, or
/// if the migration has no such step, the step fails instead.
pub(super) fn apply(
    draft: &mut MigrationDraft,
    step: &Step,
    to: StepKind,
    failure: &Failure,
    settings: &ControllerSettings,
) -> Result<(), ControlError> {
    let m = &draft.snapshot().migration;
    let possible = matches!(m.ownership, Ownership::Ready | Ownership::Fencing)
        && matches!(m.state, MigrationState::Running | MigrationState::Paused);
    let target = draft.snapshot().step_of(to).cloned();
    if possible && target.is_none() {
        let last = seeding::without_copy(draft, failure);
        return apply_failure(draft, step, &last, settings);
    }
    let target = target.filter(|target| possible && target.ordinal <= step.ordinal);
    let Some(target) = target else {
        return apply_failure(draft, step, failure, settings);
    };
    let again = Failure {
        retry: RetryClass::Exponential,
        ..failure.clone()
    };
    let Some(pause) = pause_after(draft, &target, target.attempt, &again, settings) else {
        let last = Failure {
            retry: RetryClass::None,
            ..failure.clone()
        };
        return apply_failure(draft, step, &last, settings);
    };
    let span = target.ordinal..=step.ordinal;
    let steps = draft.snapshot().steps.iter();
    let back: Vec<StepId> = steps
        .filter(|row| span.contains(&row.ordinal) && row.state != StepState::Skipped)
        .map(|row| row.id.clone())
        .collect();
    let next_at = draft.now + delta(pause);
    // The hint of a lost slot is for a migration that cannot continue.
    let captures_again = failure.loses_changes();
    let failure = &Failure {
        hint: failure.hint.clone().filter(|_| !captures_again),
        ..failure.clone()
    };
    for id in back {
        let data = json!({ "to": to, "failure": failure });
        let row = draft.apply_to_step(&id, StepEvent::Rewound, data)?;
        if id == target.id {
            row.next_at = Some(next_at);
            row.failure = Some(failure.clone());
        } else {
            row.attempt = 0;
        }
    }
    draft.migration().needs_new_epoch = true;
    Ok(())
}

/// Returns whether the agent must capture again after this failure of a stream: it is the forward stream before the
/// flip.
pub(super) fn must_capture_again(
    draft: &MigrationDraft,
    stream: &StreamStatus,
    failure: &Failure,
) -> bool {
    let m = &draft.snapshot().migration;
    stream.direction == Direction::Forward
        && matches!(m.ownership, Ownership::Ready | Ownership::Fencing)
        && failure.loses_changes()
        && draft.snapshot().step_of(StepKind::OpenCapture).is_some()
}

/// Returns whether the step after the flip decides what follows from this failure of its stream: the stream may continue on
/// a promoted standby, a hold continues without a stream that has lost changes, and the removal of rows needs none.
pub(super) fn is_for_step_after_flip(draft: &MigrationDraft, failure: &Failure) -> bool {
    let is_after_flip = match draft.snapshot().migration.ownership {
        Ownership::Flipped | Ownership::RolledBack | Ownership::Completed | Ownership::Aborted => {
            true
        }
        Ownership::Ready | Ownership::Fencing | Ownership::RollbackFencing => false,
    };
    is_after_flip && failure.loses_changes()
}

/// Returns whether the cause of a stream's failure can be a change of a definition that the agent follows, or of a
/// partition that it adopts or retires: in a step that runs, or, before the flip, in the next one.
///
/// The stream sends changes of a partition from the moment at which a step publishes it, and the plan contains the
/// partition only after the step has reported it. A detached partition can have another name before a step retires it.
pub(super) fn may_follow(draft: &MigrationDraft, failure: &Failure) -> bool {
    let m = &draft.snapshot().migration;
    let waits_before_flip = m.state == MigrationState::Waiting
        && matches!(m.ownership, Ownership::Ready | Ownership::Fencing);
    let may_change = m.plan.options.ddl == Ddl::Follow || failure.has_code(StepCode::CaptureTable);
    may_change && (waits_before_flip || draft.snapshot().running().is_some())
}

/// The stream of a migration that waits has failed, perhaps because of a change of a definition: the verification runs
/// again. It begins by following the change; if that is not the cause, it fails.
pub(super) fn follow_again(
    draft: &mut MigrationDraft,
    failure: &Failure,
) -> Result<(), ControlError> {
    draft.apply_to_migration(MigrationEvent::Cleared, json!({ "failure": failure }))?;
    draft.migration().needs_new_epoch = true;
    ways::compare_again(draft)
}

/// The stream of a migration that waits has failed: returns to the step that opens the capture. The steps after it run
/// again, and the migration waits again afterwards.
pub(super) fn capture_again(
    draft: &mut MigrationDraft,
    failure: &Failure,
    settings: &ControllerSettings,
) -> Result<(), ControlError> {
    // It waits before its cutover, which is not done.
    let cutover = draft.snapshot().step_of(StepKind::Cutover).cloned();
    let opening = draft.snapshot().step_of(StepKind::OpenCapture).cloned();
    let again = Failure {
        retry: RetryClass::Exponential,
        ..failure.clone()
    };
    let may_repeat = opening
        .filter(|opening| pause_after(draft, opening, opening.attempt, &again, settings).is_some());
    let (Some(cutover), Some(_)) = (cutover, may_repeat) else {
        draft.fail(failure)?;
        return Ok(());
    };
    draft.apply_to_migration(MigrationEvent::Cleared, json!({ "failure": failure }))?;
    apply(draft, &cutover, StepKind::OpenCapture, failure, settings)
}
