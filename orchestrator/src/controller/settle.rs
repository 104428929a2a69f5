//! Applies results to migrations: the decisions of the controller and the reports of agents.

use super::approval_of;
use super::decide::{Decision, decide};
use super::dispatch::kind_of;
use super::draft::MigrationDraft;
use super::leftovers::leftovers;
use super::queue::StartGate;
use super::{
    CallerTokenName, ControlError, Controller, LeaseProof, clock, cutover, delta, fail_points,
    failovers, rewind, seeding, ways,
};
use crate::store::{HoldEnd, Snapshot, Step};
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::StepId;
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::wire::{Outcome, Report, StepReport};
use serde_json::json;
use std::time::Duration;

/// Carries out the first decision on the draft, if it needs no agent.
pub(super) fn settle_next(
    draft: &mut MigrationDraft,
    gate: Option<&StartGate>,
) -> Result<(), ControlError> {
    let now = draft.now;
    match decide(draft.snapshot(), gate, now).into_iter().next() {
        None | Some(Decision::Offer(_)) => {}
        Some(Decision::Wait(what)) => draft.migration().waiting_for = Some(what),
        Some(Decision::Refuse(message)) => draft.fail(&Failure {
            code: StepCode::MapChanged.into(),
            message,
            hint: StepCode::MapChanged.hint().map(str::to_owned),
            retry: RetryClass::None,
        })?,
        Some(Decision::Start) => {
            draft.apply_to_migration(MigrationEvent::Started, json!({}))?;
            draft.migration().started_at = Some(now);
        }
        Some(Decision::ExpireLease) => draft.remove_owner("no heartbeat within the lease")?,
        Some(Decision::AwaitApproval) => {
            draft.apply_to_migration(MigrationEvent::Held, json!({}))?;
            let m = draft.migration();
            m.waiting_for = Some(approval_of(m));
        }
        Some(Decision::EndHold) => {
            draft.migration().hold_end = Some(HoldEnd::Finish);
            draft.record("hold.ended", None, json!({ "end": HoldEnd::Finish }));
        }
        Some(Decision::Complete) => {
            let is_open_hold =
                |step: &Step| step.kind == StepKind::Hold && step.state != StepState::Done;
            skip_steps(draft, is_open_hold)?;
            draft.apply_to_ownership(OwnershipEvent::Complete, json!({}))?;
        }
        Some(Decision::AddRollback) => ways::go_back(draft)?,
        Some(Decision::EndHoldBack) => draft.skip_step(StepKind::HoldBack)?,
        Some(Decision::AddNextCutover) => ways::go_again(draft)?,
        Some(Decision::EndMigration) => end_migration(draft)?,
    }
    Ok(())
}

/// Ends the migration. Steps that are not done are skipped.
pub(super) fn end_migration(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    let is_abort = draft.snapshot().migration.state == MigrationState::Unwinding;
    let event = if is_abort {
        MigrationEvent::Unwound
    } else {
        MigrationEvent::Completed
    };
    skip_steps(draft, |step| step.state != StepState::Done)?;
    let data = match leftovers(draft.snapshot()) {
        none if none.is_empty() => json!({}),
        left => json!({ "leftovers": left }),
    };
    draft.apply_to_migration(event, data)?;
    let now = draft.now;
    let m = draft.migration();
    m.finished_at = Some(now);
    m.owner = None;
    m.failure = None;
    Ok(())
}

/// Skips the steps that `which` selects.
fn skip_steps(
    draft: &mut MigrationDraft,
    which: impl Fn(&Step) -> bool,
) -> Result<(), ControlError> {
    let open = draft.snapshot().steps.iter();
    let open = open.filter(|step| step.state != StepState::Skipped && which(step));
    let open: Vec<StepId> = open.map(|step| step.id.clone()).collect();
    for id in open {
        draft.apply_to_step(&id, StepEvent::Dropped, json!({}))?;
    }
    Ok(())
}

impl Controller {
    /// Processes the report of an agent. If the same report arrives again, it is accepted and changes nothing.
    ///
    /// # Errors
    /// [`ControlError::StaleEpoch`], [`ControlError::NotOwner`] or [`ControlError::NotRunning`] if the caller is not
    /// performing the step.
    pub async fn report(
        &self,
        report: Report,
        token: &CallerTokenName,
    ) -> Result<(), ControlError> {
        let report = match report {
            Report::Inspected { id, result } => {
                self.inner.inspections.send_answer(&id, result);
                return Ok(());
            }
            Report::Step(report) => report,
        };
        let settings = &self.inner.settings;
        let before = self.load(&report.migration).await?;
        let owner = before.migration.owner.clone();
        let actor = owner.map_or_else(|| "agent".to_owned(), |owner| owner.agent.0);
        let edit = |draft: &mut MigrationDraft| {
            draft.set_token(token);
            apply_report(draft, &report, token, settings)
        };
        let (changed, after) = self.change(&report.migration, &actor, edit).await?;
        if changed && let Some(kind) = kind_of(&after, &report.step) {
            self.forget_figures(&report.migration, &report.step);
            self.count_in_metrics(&before, &report, kind);
            if kind == StepKind::Promote {
                // If this fails, the next dispatch or probe records the promotion.
                if let Err(error) = self.target_of(&after).await {
                    tracing::warn!(migration = %report.migration, %error, "the promotion could not be recorded");
                }
            }
            fail_point::hit(fail_points::settled(kind)).await?;
        }
        tracing::info!(migration = %report.migration, step = %report.step, "settled");
        Ok(())
    }

    /// Adds the outcome and the duration of a try of a step to the metrics.
    fn count_in_metrics(&self, before: &Snapshot, report: &StepReport, kind: StepKind) {
        let step = before.steps.iter().find(|step| step.id == report.step);
        let begun = step.and_then(|step| step.dispatched_at);
        let duration = begun.and_then(|begun| (clock() - begun).to_std().ok());
        let duration = duration.unwrap_or_default();
        self.inner.observed.step(kind, &report.outcome, duration);
    }
}

/// Applies a report to the draft. Returns `true` if the report changed something.
fn apply_report(
    draft: &mut MigrationDraft,
    report: &StepReport,
    token: &CallerTokenName,
    settings: &super::ControllerSettings,
) -> Result<bool, ControlError> {
    let id = &report.step;
    let step = reported_step(draft, report)?;
    let proof = LeaseProof {
        migration: &report.migration,
        epoch: Some(report.epoch),
        secret: report.secret.as_ref(),
        token,
    };
    let m = &draft.snapshot().migration;
    if let Some(owner) = m.owner.as_ref().filter(|_| m.epoch == report.epoch) {
        proof.check_token_and_secret(owner, m.epoch)?;
    }
    if step.state != StepState::Running || step.epoch != report.epoch {
        let done = matches!(report.outcome, Outcome::Done { .. });
        let known = step.epoch == report.epoch && done == (step.state == StepState::Done);
        if known {
            return Ok(false);
        }
        proof.check(m)?;
        return Err(not_running(report));
    }
    proof.check(m)?;
    match &report.outcome {
        Outcome::Done { output } => {
            let is_hold = matches!(step.kind, StepKind::Hold | StepKind::HoldBack);
            if is_hold && draft.snapshot().migration.hold_end.is_none() {
                draft.apply_to_step(id, StepEvent::Interrupted, json!({}))?;
                return Ok(true);
            }
            check_ownership(draft, step.kind, report)?;
            if step.kind == StepKind::Verify {
                cutover::check_verified(&draft.snapshot().migration, output)?;
            }
            let done = draft.apply_to_step(id, StepEvent::Completed, json!({}))?;
            done.output = Some(output.clone());
            done.progress = serde_json::to_value(&report.progress).ok();
            failovers::record(draft);
        }
        Outcome::Interrupted => {
            draft.apply_to_step(id, StepEvent::Interrupted, json!({}))?;
        }
        Outcome::Reshaped {
            tables,
            fingerprint,
            changes,
            followed,
            copy_again,
            retired,
        } => {
            let definitions = ways::PresentDefinitions {
                tables,
                fingerprint,
                changes,
                followed,
                copy_again: *copy_again,
                retired,
            };
            ways::reshape(draft, &step, definitions)?;
        }
        Outcome::Failed { failure } if ways::is_impossible(draft, &step, failure) => {
            ways::refuse_rollback(draft, failure)?;
        }
        Outcome::Failed { failure } if seeding::has_lost_changes(draft, failure) => {
            let last = seeding::without_copy(draft, failure);
            apply_failure(draft, &step, &last, settings)?;
        }
        Outcome::Failed { failure } => apply_failure(draft, &step, failure, settings)?,
        Outcome::Rewind { to, failure } => rewind::apply(draft, &step, *to, failure, settings)?,
    }
    Ok(true)
}

/// Returns the step of the report.
fn reported_step(draft: &MigrationDraft, report: &StepReport) -> Result<Step, ControlError> {
    let mut steps = draft.snapshot().steps.iter();
    let found = steps.find(|step| step.id == report.step).cloned();
    found.ok_or_else(|| ControlError::missing("step", report.step.as_str()))
}

fn not_running(report: &StepReport) -> ControlError {
    ControlError::NotRunning {
        migration: report.migration.clone(),
        step: report.step.to_string(),
        epoch: report.epoch,
    }
}

/// Returns an error if an agent reports that a cutover or rollback is done although the flip is not in the map.
fn check_ownership(
    draft: &MigrationDraft,
    kind: StepKind,
    report: &StepReport,
) -> Result<(), ControlError> {
    let ownership = draft.snapshot().migration.ownership;
    let fits = (kind != StepKind::Cutover || ownership == Ownership::Flipped)
        && (kind != StepKind::Rollback || ownership == Ownership::RolledBack);
    if fits {
        Ok(())
    } else {
        Err(not_running(report))
    }
}

/// Applies the failure of a step: schedules the next try after a pause, or lets the migration fail.
pub(super) fn apply_failure(
    draft: &mut MigrationDraft,
    step: &Step,
    failure: &Failure,
    settings: &super::ControllerSettings,
) -> Result<(), ControlError> {
    let state = draft.snapshot().migration.state;
    let pause = pause_after(draft, step, step.attempt, failure, settings);
    let data = json!({ "failure": failure, "attempt": step.attempt });
    let has_failed_before = state == MigrationState::Failed
        || (state == MigrationState::Unwinding && step.kind != StepKind::Unwind);
    if has_failed_before {
        draft.apply_to_step(&step.id, StepEvent::Interrupted, data)?;
        return Ok(());
    }
    // The next dispatch must not share its epoch with what the failed one may have left running on the shards.
    draft.migration().needs_new_epoch = true;
    let Some(pause) = pause else {
        draft
            .apply_to_step(&step.id, StepEvent::GaveUp, data)?
            .failure = Some(failure.clone());
        return Ok(draft.fail(failure)?);
    };
    let next_at = draft.now + delta(pause);
    let step = draft.apply_to_step(&step.id, StepEvent::Faulted, data)?;
    step.failure = Some(failure.clone());
    step.next_at = Some(next_at);
    Ok(())
}

/// Returns the pause before the next try of the step; `None` if the controller does not try it again. `attempt` is the
/// number of tries so far.
pub(super) fn pause_after(
    draft: &MigrationDraft,
    step: &Step,
    attempt: u32,
    failure: &Failure,
    settings: &super::ControllerSettings,
) -> Option<Duration> {
    // A cutover or rollback fails with the class `Fixed` if it must still wait for something. Then the controller tries
    // again without limit, after growing pauses.
    let waits = matches!(step.kind, StepKind::Cutover | StepKind::Rollback)
        && failure.retry == RetryClass::Fixed;
    let class = if waits {
        RetryClass::Exponential
    } else {
        failure.retry
    };
    let pause = settings.retry.pause(class, attempt);
    if step.kind == StepKind::Unwind {
        return Some(pause.unwrap_or(settings.unwind_pause));
    }
    let m = &draft.snapshot().migration;
    let spent = attempt >= m.plan.options.max_attempts;
    pause.filter(|_| waits || !spent || may_be_closed(step.kind, m.ownership))
}

/// Returns whether the moving keys may be closed on both shards, from the seal of the old owner to the opening of the
/// new owner (C7 to C10). Then the controller tries the step again without limit.
fn may_be_closed(step: StepKind, ownership: Ownership) -> bool {
    let forward = matches!(ownership, Ownership::Fencing | Ownership::Flipped);
    let back = matches!(
        ownership,
        Ownership::RollbackFencing | Ownership::RolledBack
    );
    (step == StepKind::Cutover && forward) || (step == StepKind::Rollback && back)
}
