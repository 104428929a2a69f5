//! The operator of a run, from the plan to the requested end.

use super::case::{FaultCase, OperatorPath};
use super::equality::EqualityCheck;
use super::fault::ExpectedOutcome;
use super::follow::{MigrationFollower, is_flipped};
use super::place::PathLeg;
use super::planned_fault::{FaultContext, FaultProgress};
use super::source_restore::RestoreContext;
use crate::api::{MigrationStatus, StepStatus};
use crate::drive;
use crate::error::DemoError;
use crate::ledger::LedgerPhase;
use crate::options::Process;
use crate::report::RunOutcome;
use plans::request::Request;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::cutover::CutoverResult;
use plans::step::open_capture::CaptureOpened;
use std::time::Instant;
use tokio::sync::watch;

/// The maximum number of submitted migrations. Another one is submitted if one was aborted without a command.
const MAX_SUBMISSIONS: u32 = 4;
/// The number of acknowledged transactions with moving keys between two commands.
const WRITES_BETWEEN_COMMANDS: u64 = 25;

/// The operator of a run.
pub(super) struct RunOperator<'o> {
    pub(super) case: &'o FaultCase,
    pub(super) path: OperatorPath,
    /// True: the operator aborts as soon as the fault has occurred, and ends the hold without waiting for a comparison
    /// of the rows. False: the operator waits until the fault has ended.
    pub(super) hasty: bool,
    /// True if the application cannot write to the keys until the flip.
    pub(super) offline: bool,
    pub(super) equality: EqualityCheck<'o>,
    /// The number of tables that differed between the shards.
    pub(super) diverged: u64,
    pub(super) request: &'o Request,
    pub(super) context: &'o watch::Sender<FaultContext>,
    pub(super) submissions: u32,
    /// The write-blocked windows of successful cutovers, in milliseconds.
    pub(super) windows: Vec<f64>,
    /// As [`RunRecord::capture`](super::record::RunRecord::capture).
    pub(super) capture: String,
}

impl RunOperator<'_> {
    /// Submits a migration and sends the commands of the path. Repeats this if the migration is aborted without a
    /// command. Returns how the last migration ended.
    pub(super) async fn follow_path(
        &mut self,
        follower: &mut MigrationFollower<'_>,
    ) -> Result<RunOutcome, DemoError> {
        loop {
            self.submit(follower).await?;
            let ended = self.follow_path_once(follower).await;
            if ended.is_ok() {
                let migration = follower
                    .until("the final state of the migration", |_| true)
                    .await?;
                if !self.offline {
                    self.windows.extend(windows(&migration));
                }
                capture_outcome(&migration).clone_into(&mut self.capture);
            }
            let ended = self.abort_failed(follower, ended).await?;
            self.submissions += 1;
            // Another migration would need another standby.
            let aborted_without_command = ended == RunOutcome::Unwound
                && !self.case.seeded
                && self.path != OperatorPath::Abort
                && self.case.expected() == ExpectedOutcome::Ends;
            if !aborted_without_command || self.submissions >= MAX_SUBMISSIONS {
                return Ok(ended);
            }
            follower
                .run_log
                .write("aborted without a command: submitted again");
        }
    }

    /// Aborts a migration that failed, if the fault may cause a failure.
    async fn abort_failed(
        &self,
        follower: &mut MigrationFollower<'_>,
        ended: Result<RunOutcome, DemoError>,
    ) -> Result<RunOutcome, DemoError> {
        match (self.case.expected(), ended) {
            (ExpectedOutcome::Aborted, Err(DemoError::Stopped { .. })) => {
                follower.command("abort", is_unwinding).await?;
                follower.until("the end of the abort", is_unwound).await?;
                Ok(RunOutcome::Unwound)
            }
            (ExpectedOutcome::Aborted, Ok(RunOutcome::Completed)) => Err(DemoError::Unclean {
                problems: vec![
                    "the migration completed in spite of a fault after which it must fail"
                        .to_owned(),
                ],
            }),
            (_, ended) => ended,
        }
    }

    async fn submit(&mut self, follower: &mut MigrationFollower<'_>) -> Result<(), DemoError> {
        follower.ledger.set_phase(LedgerPhase::Copy);
        drive::ready(follower.api).await?;
        let plan = follower.plan(self.request).await?;
        self.context.send_modify(|context| {
            context.id = None;
            context.rollback_requested = false;
        });
        follower.id = follower.api.submit(&plan).await?;
        follower
            .run_log
            .write(&format!("submitted {}", follower.id));
        let id = follower.id.clone();
        self.context.send_modify(|context| context.id = Some(id));
        Ok(())
    }

    async fn follow_path_once(
        &mut self,
        follower: &mut MigrationFollower<'_>,
    ) -> Result<RunOutcome, DemoError> {
        let path = self.path;
        // The operator aborts as soon as the fault permits it, and does not wait for the gate.
        let aborts_at_fault = path == OperatorPath::Abort && self.case.place.leg == PathLeg::Before;
        let fault_progress = follower.fault_progress.clone();
        let hasty = self.hasty;
        let aborts_now = move || {
            let fault_progress = *fault_progress.borrow();
            aborts_at_fault
                && (fault_progress == FaultProgress::Ended
                    || (hasty && fault_progress == FaultProgress::Now))
        };
        let gate = |m: &MigrationStatus| {
            m.state == MigrationState::Waiting || is_unwound(m) || aborts_now()
        };
        let migration = follower.until("the gate", gate).await?;
        if is_unwound(&migration) {
            return Ok(RunOutcome::Unwound);
        }
        if migration.state == MigrationState::Waiting
            && (path != OperatorPath::Abort || aborts_at_fault && !aborts_now())
        {
            if !self.offline {
                self.wait_for_writes(follower, LedgerPhase::CatchUp).await?;
            }
            if self.case.restores_source() {
                self.equality.pause().await?;
                let run = self.equality.run;
                run.source_copy.save(&run.fleet, &run.run_log).await?;
            }
            self.wait_for_slot(follower).await?;
            follower.ledger.set_phase(LedgerPhase::Cutover);
            // After a failover the migration waits again: the first approval was for another state.
            let waits_again = |m: &MigrationStatus| {
                self.case.fault.promotes_standby() && m.state == MigrationState::Waiting
            };
            loop {
                let approved = |m: &MigrationStatus| m.state != MigrationState::Waiting;
                follower.command("approve", approved).await?;
                let flip = |m: &MigrationStatus| {
                    is_flipped(m) || is_unwound(m) || aborts_now() || waits_again(m)
                };
                let migration = follower.until("the flip", flip).await?;
                if is_unwound(&migration) {
                    return Ok(RunOutcome::Unwound);
                }
                if is_flipped(&migration) || aborts_now() {
                    break;
                }
            }
        }
        if path == OperatorPath::Abort {
            let is_decided = |m: &MigrationStatus| is_unwinding(m) || is_flipped(m);
            let migration = follower.command("abort", is_decided).await?;
            if !is_flipped(&migration) {
                follower.until("the end of the abort", is_unwound).await?;
                return Ok(RunOutcome::Unwound);
            }
        }
        self.after_the_flip(follower).await
    }

    /// Waits until the standby has a copy of the slot, if its server fails over in the cutover or after the flip.
    async fn wait_for_slot(&self, follower: &mut MigrationFollower<'_>) -> Result<(), DemoError> {
        if !self.offline
            && self.case.waits_for_slot_before_cutover()
            && let Some(standby) = &self.equality.run.standby
        {
            standby.wait_for_slot().await?;
            follower.last_change = Instant::now();
        }
        Ok(())
    }

    async fn after_the_flip(
        &mut self,
        follower: &mut MigrationFollower<'_>,
    ) -> Result<RunOutcome, DemoError> {
        let holds = |m: &MigrationStatus| m.is_done(StepKind::Cutover);
        follower.until("the hold", holds).await?;
        self.wait_in_hold(follower).await?;
        match self.path {
            OperatorPath::Forward | OperatorPath::Abort => self.finish(follower).await,
            OperatorPath::Back => {
                if !self.roll_back(follower).await? {
                    return self.finish(follower).await;
                }
                let dropping = |m: &MigrationStatus| {
                    m.hold_end.is_some() || m.step(StepKind::DropNew).is_some_and(is_begun)
                };
                follower.command("finish", dropping).await?;
                let dropped = |m: &MigrationStatus| m.is_done(StepKind::DropNew);
                follower
                    .until("the removal of the new owner's rows", dropped)
                    .await?;
                Ok(RunOutcome::RolledBack)
            }
            OperatorPath::BackAndForth => {
                if !self.roll_back(follower).await? {
                    return self.finish(follower).await;
                }
                let again = |m: &MigrationStatus| {
                    m.hold_end.is_some() || m.state != MigrationState::RolledBack
                };
                follower.command("approve", again).await?;
                let flipped = |m: &MigrationStatus| m.state == MigrationState::Flipped;
                follower.until("the second flip", flipped).await?;
                self.wait_in_hold(follower).await?;
                self.finish(follower).await
            }
        }
    }

    /// Finishes the migration. If a standby of the source was promoted, first accepts it as an operator does: the old rows
    /// are not deleted before.
    async fn finish(&self, follower: &mut MigrationFollower<'_>) -> Result<RunOutcome, DemoError> {
        let is_source = self.case.component == Process::Source;
        let is_replaced = is_source && self.case.fault.promotes_standby();
        let occurs_later = self.case.place.leg == PathLeg::Finish;
        if is_replaced && !occurs_later {
            self.accept_source().await?;
        }
        let finished = |m: &MigrationStatus| m.hold_end.is_some() || m.is_done(StepKind::Hold);
        follower.command("finish", finished).await?;
        if is_replaced && occurs_later {
            self.accept_source().await?;
        }
        let completed = |m: &MigrationStatus| m.state == MigrationState::Completed;
        follower.until("the end", completed).await?;
        Ok(RunOutcome::Completed)
    }

    /// Waits until the reconciler has found the promoted source, and accepts it.
    async fn accept_source(&self) -> Result<(), DemoError> {
        let run = self.equality.run;
        let context = RestoreContext {
            fleet: &run.fleet,
            ledger: self.equality.ledger,
            api: self.equality.api,
            run_log: &run.run_log,
        };
        context.accept_reported().await
    }

    /// Waits until the application has written and the fault has occurred. After the end of the fault it compares the
    /// rows of both shards.
    async fn wait_in_hold(
        &mut self,
        follower: &mut MigrationFollower<'_>,
    ) -> Result<(), DemoError> {
        if !self.case.restores_source() {
            self.wait_for_writes(follower, LedgerPhase::After).await?;
        }
        let fault_progress = follower.fault_progress.clone();
        let occurs_in_hold = self.case.place.leg == PathLeg::Flipped;
        let hasty = self.hasty;
        let has_ended = || match *fault_progress.borrow() {
            // A fault of the hold must occur before the operator finishes the hold: otherwise no agent may reach its
            // place.
            FaultProgress::NotYet => !occurs_in_hold,
            FaultProgress::Now => hasty,
            FaultProgress::Ended => true,
        };
        follower.wait("the fault", has_ended).await?;
        if self.case.restores_source() {
            self.equality.workload.resume();
            self.wait_for_writes(follower, LedgerPhase::After).await?;
        }
        // The old owner's rows of an offline migration are not updated. A target may have lost the slot of the reverse
        // stream. A restored source lacks the changes that this stream had written.
        let is_outdated =
            self.case.may_lose_reverse_slot() || occurs_in_hold && self.case.restores_source();
        if hasty || self.offline || is_outdated {
            return Ok(());
        }
        self.diverged += self.equality.differing().await?;
        follower.last_change = Instant::now();
        Ok(())
    }

    /// Returns false if the rollback is refused, because the target has lost the slot of the reverse stream.
    async fn roll_back(&self, follower: &mut MigrationFollower<'_>) -> Result<bool, DemoError> {
        self.context
            .send_modify(|context| context.rollback_requested = true);
        let may_be_refused = self.case.may_lose_reverse_slot();
        let refused = |m: &MigrationStatus| may_be_refused && has_lost_reverse_stream(m);
        let was_requested = |m: &MigrationStatus| {
            m.state == MigrationState::RolledBack
                || m.step(StepKind::Rollback).is_some_and(is_begun)
                || refused(m)
        };
        follower.command("rollback", was_requested).await?;
        let back = |m: &MigrationStatus| m.state == MigrationState::RolledBack || refused(m);
        let migration = follower.until("the end of the rollback", back).await?;
        if migration.state != MigrationState::RolledBack {
            follower.run_log.write("the rollback is refused");
            return Ok(false);
        }
        self.wait_for_writes(follower, LedgerPhase::After).await?;
        if self.case.place.leg != PathLeg::Back || self.case.fault.permits_hasty_operator() {
            return Ok(true);
        }
        let fault_progress = follower.fault_progress.clone();
        let has_ended = || *fault_progress.borrow() == FaultProgress::Ended;
        follower.wait("the fault", has_ended).await.map(|()| true)
    }

    /// Waits until the application has written to moving keys in a phase.
    async fn wait_for_writes(
        &self,
        follower: &mut MigrationFollower<'_>,
        phase: LedgerPhase,
    ) -> Result<(), DemoError> {
        follower.ledger.set_phase(phase);
        let ledger = follower.ledger;
        let moving = || ledger.tally().moving_by_phase[phase.index()];
        let goal = moving() + WRITES_BETWEEN_COMMANDS;
        let what = format!("writes to moving keys in phase {phase}");
        follower.wait(&what, || moving() >= goal).await
    }
}

/// Returns the write-blocked windows of a migration's cutovers in both directions.
fn windows(migration: &MigrationStatus) -> impl Iterator<Item = f64> {
    let steps = [StepKind::Cutover, StepKind::Rollback];
    let cuts = steps.map(|step| migration.output::<CutoverResult>(step));
    cuts.into_iter().flatten().map(|cut| cut.write_block.total)
}

/// Returns what became of the capture, by the results of the steps; empty if the migration ended before its copy.
fn capture_outcome(migration: &MigrationStatus) -> &'static str {
    let opened = migration.output::<CaptureOpened>(StepKind::OpenCapture);
    let copied = migration.output::<Copied>(StepKind::Copy);
    match (opened, copied) {
        (Some(opened), _) if opened.continued_from.is_some() => "continued",
        (_, Some(copied)) if copied.resync.is_some() => "resynchronized",
        (_, Some(_)) => "kept",
        _ => "",
    }
}

/// Returns whether the hold continues without the stream that a rollback needs. Only the controller that leads has the
/// status of the stream, but each has the message of the step.
fn has_lost_reverse_stream(migration: &MigrationStatus) -> bool {
    let hold = migration.step(StepKind::Hold);
    let hold = hold.filter(|hold| hold.state == StepState::Running);
    let progress = hold.and_then(|hold| hold.progress.as_ref());
    // A rollback that has begun is refused by its step, and the hold then continues.
    migration.hold_end.is_none()
        && progress.is_some_and(|it| it.message.contains("a rollback is impossible"))
}

/// Returns whether an agent has executed the step.
fn is_begun(step: &StepStatus) -> bool {
    step.attempt > 0 && step.state != StepState::Skipped
}

fn is_unwinding(migration: &MigrationStatus) -> bool {
    matches!(
        migration.state,
        MigrationState::Unwinding | MigrationState::Unwound
    )
}

fn is_unwound(migration: &MigrationStatus) -> bool {
    migration.state == MigrationState::Unwound
}
