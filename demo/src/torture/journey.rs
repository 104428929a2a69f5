//! The operator of a run, from the plan to the requested end.

use super::blow::{FaultContext, FaultProgress};
use super::case::{FaultCase, OperatorPath};
use super::course::{MigrationCourse, is_flipped};
use super::fault::{ExpectedOutcome, Fault};
use super::level::ComparisonLevel;
use super::place::PathLeg;
use crate::api::{MigrationStatus, StepStatus};
use crate::drive;
use crate::error::DemoError;
use crate::ledger::LedgerPhase;
use crate::report::RunOutcome;
use plans::request::Request;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::cutover::CutoverResult;
use std::time::Instant;
use tokio::sync::watch;

/// The maximum number of submitted migrations, if they are aborted without a command.
const ATTEMPTS: u32 = 4;
/// The number of acknowledged transactions with moving keys between two commands.
const SOME: u64 = 25;

/// The operator of a run.
pub(super) struct RunOperator<'o> {
    pub(super) case: &'o FaultCase,
    pub(super) path: OperatorPath,
    /// True: the operator aborts as soon as the fault has occurred, and ends the hold without waiting for a comparison
    /// of the rows. False: the operator waits until the fault has ended.
    pub(super) hasty: bool,
    /// True if the application cannot write to the keys until the flip.
    pub(super) offline: bool,
    pub(super) level: ComparisonLevel<'o>,
    /// The number of tables that differed between the shards.
    pub(super) diverged: u64,
    pub(super) request: &'o Request,
    pub(super) journey: &'o watch::Sender<FaultContext>,
    pub(super) attempts: u32,
    /// The write-blocked windows of successful cutovers, in milliseconds.
    pub(super) windows: Vec<f64>,
}

impl RunOperator<'_> {
    /// Follows the whole path, again if the migration is aborted without a command. Returns how it ended.
    pub(super) async fn travel(
        &mut self,
        course: &mut MigrationCourse<'_>,
    ) -> Result<RunOutcome, DemoError> {
        loop {
            self.submit(course).await?;
            let ended = self.steer(course).await;
            if ended.is_ok() && !self.offline {
                let migration = course.until("its figures", |_| true).await?;
                self.windows.extend(windows(&migration));
            }
            let ended = self.judge(course, ended).await?;
            self.attempts += 1;
            let unasked = ended == RunOutcome::Unwound
                && self.path != OperatorPath::Abort
                && self.case.fault.expected() == ExpectedOutcome::Ends;
            if !unasked || self.attempts >= ATTEMPTS {
                return Ok(ended);
            }
            course
                .story
                .write("aborted without a request: submitted again");
        }
    }

    /// Aborts a migration that failed, if the fault may cause a failure.
    async fn judge(
        &self,
        course: &mut MigrationCourse<'_>,
        ended: Result<RunOutcome, DemoError>,
    ) -> Result<RunOutcome, DemoError> {
        match (self.case.fault.expected(), ended) {
            // After the flip an abort is impossible: the owner keeps the keys, and the reason is reported.
            (ExpectedOutcome::EndsOrAborted, Err(DemoError::Stopped { reason, .. }))
                if self.case.place.leg == PathLeg::Flipped =>
            {
                course.story.write(&format!("failed: {reason:?}"));
                Ok(RunOutcome::Failed)
            }
            (
                ExpectedOutcome::Aborted | ExpectedOutcome::EndsOrAborted,
                Err(DemoError::Stopped { .. }),
            ) => {
                course.command("abort", is_unwinding).await?;
                course.until("the unwinding", is_unwound).await?;
                Ok(RunOutcome::Unwound)
            }
            (ExpectedOutcome::Aborted, Ok(RunOutcome::Completed)) => Err(DemoError::Unclean {
                problems: vec!["the migration went on in spite of the fault".to_owned()],
            }),
            (_, ended) => ended,
        }
    }

    async fn submit(&mut self, course: &mut MigrationCourse<'_>) -> Result<(), DemoError> {
        course.ledger.enter(LedgerPhase::Copy);
        drive::ready(course.api).await?;
        let plan = course.plan(self.request).await?;
        self.journey.send_modify(|journey| {
            journey.id = None;
            journey.back = false;
        });
        course.id = course.api.submit(&plan).await?;
        course.story.write(&format!("submitted {}", course.id));
        let id = course.id.clone();
        self.journey.send_modify(|journey| journey.id = Some(id));
        Ok(())
    }

    async fn steer(&mut self, course: &mut MigrationCourse<'_>) -> Result<RunOutcome, DemoError> {
        let path = self.path;
        let early = path == OperatorPath::Abort && self.case.place.leg == PathLeg::Before;
        let struck = course.struck.clone();
        let hasty = self.hasty;
        let now = move || {
            let struck = *struck.borrow();
            early && (struck == FaultProgress::Ended || (hasty && struck == FaultProgress::Now))
        };
        let gate =
            |m: &MigrationStatus| m.state == MigrationState::Waiting || is_unwound(m) || now();
        let migration = course.until("the gate", gate).await?;
        if is_unwound(&migration) {
            return Ok(RunOutcome::Unwound);
        }
        if migration.state == MigrationState::Waiting
            && (path != OperatorPath::Abort || early && !now())
        {
            if !self.offline {
                self.write(course, LedgerPhase::CatchUp).await?;
            }
            if self.case.is_setback() {
                self.level.pause().await?;
                let run = self.level.run;
                run.setback.save(&run.fleet, &run.story).await?;
            }
            course.ledger.enter(LedgerPhase::Cutover);
            let approved = |m: &MigrationStatus| m.state != MigrationState::Waiting;
            course.command("approve", approved).await?;
            let flip = |m: &MigrationStatus| is_flipped(m) || is_unwound(m) || now();
            let migration = course.until("the flip", flip).await?;
            if is_unwound(&migration) {
                return Ok(RunOutcome::Unwound);
            }
        }
        if path == OperatorPath::Abort {
            let is_decided = |m: &MigrationStatus| is_unwinding(m) || is_flipped(m);
            let migration = course.command("abort", is_decided).await?;
            if !is_flipped(&migration) {
                course.until("the unwinding", is_unwound).await?;
                return Ok(RunOutcome::Unwound);
            }
        }
        self.after_the_flip(course).await
    }

    async fn after_the_flip(
        &mut self,
        course: &mut MigrationCourse<'_>,
    ) -> Result<RunOutcome, DemoError> {
        let holds = |m: &MigrationStatus| m.is_done(StepKind::Cutover);
        course.until("the hold", holds).await?;
        self.hold(course).await?;
        match self.path {
            OperatorPath::Forward | OperatorPath::Abort => finish(course).await,
            OperatorPath::Back => {
                self.give_back(course).await?;
                let dropping = |m: &MigrationStatus| {
                    m.hold_end.is_some() || m.step(StepKind::DropNew).is_some_and(is_begun)
                };
                course.command("finish", dropping).await?;
                let dropped = |m: &MigrationStatus| m.is_done(StepKind::DropNew);
                course.until("the end of the way back", dropped).await?;
                Ok(RunOutcome::RolledBack)
            }
            OperatorPath::BackAndForth => {
                self.give_back(course).await?;
                let again = |m: &MigrationStatus| {
                    m.hold_end.is_some() || m.state != MigrationState::RolledBack
                };
                course.command("approve", again).await?;
                let flipped = |m: &MigrationStatus| m.state == MigrationState::Flipped;
                course.until("the second flip", flipped).await?;
                self.hold(course).await?;
                finish(course).await
            }
        }
    }

    /// Waits until the application has written and the fault has occurred. After the end of the fault it compares the
    /// rows of both shards.
    async fn hold(&mut self, course: &mut MigrationCourse<'_>) -> Result<(), DemoError> {
        if !self.case.is_setback() {
            self.write(course, LedgerPhase::After).await?;
        }
        let (struck, place) = (
            course.struck.clone(),
            self.case.place.leg == PathLeg::Flipped,
        );
        let hasty = self.hasty;
        let has_ended = || match *struck.borrow() {
            // If a hold is finished before an agent executes it, its places are never reached.
            FaultProgress::NotYet => !place,
            FaultProgress::Now => hasty,
            FaultProgress::Ended => true,
        };
        course.wait("the fault", has_ended).await?;
        if self.case.is_setback() {
            self.level.workload.resume();
            self.write(course, LedgerPhase::After).await?;
        }
        // The old owner's rows of an offline migration are not updated.
        // A new server has no slot, and a restored one lacks what the stream had written, so the old owner's rows stay
        // outdated.
        let restores_older_state = self.case.fault == Fault::Failover || self.case.is_setback();
        if hasty || self.offline || (place && restores_older_state) {
            return Ok(());
        }
        self.diverged += self.level.differing().await?;
        course.moved = Instant::now();
        Ok(())
    }

    async fn give_back(&self, course: &mut MigrationCourse<'_>) -> Result<(), DemoError> {
        self.journey.send_modify(|journey| journey.back = true);
        let was_requested = |m: &MigrationStatus| {
            m.state == MigrationState::RolledBack
                || m.step(StepKind::Rollback).is_some_and(is_begun)
        };
        course.command("rollback", was_requested).await?;
        let back = |m: &MigrationStatus| m.state == MigrationState::RolledBack;
        course.until("the way back", back).await?;
        self.write(course, LedgerPhase::After).await?;
        if self.case.place.leg != PathLeg::Back || self.case.fault.lets_hurry() {
            return Ok(());
        }
        let struck = course.struck.clone();
        let has_ended = || *struck.borrow() == FaultProgress::Ended;
        course.wait("the fault", has_ended).await
    }

    /// Waits until the application has written to moving keys in a phase.
    async fn write(
        &self,
        course: &mut MigrationCourse<'_>,
        phase: LedgerPhase,
    ) -> Result<(), DemoError> {
        course.ledger.enter(phase);
        let ledger = course.ledger;
        let moving = || ledger.tally().moving_by_phase[phase.index()];
        let goal = moving() + SOME;
        let what = format!("writes to moving keys in phase {phase}");
        course.wait(&what, || moving() >= goal).await
    }
}

/// Returns the write-blocked windows of a migration's cutovers in both directions.
fn windows(migration: &MigrationStatus) -> impl Iterator<Item = f64> {
    let steps = [StepKind::Cutover, StepKind::Rollback];
    let cuts = steps.map(|step| migration.output::<CutoverResult>(step));
    cuts.into_iter().flatten().map(|cut| cut.write_block.total)
}

async fn finish(course: &mut MigrationCourse<'_>) -> Result<RunOutcome, DemoError> {
    let finished = |m: &MigrationStatus| m.hold_end.is_some() || m.is_done(StepKind::Hold);
    course.command("finish", finished).await?;
    let completed = |m: &MigrationStatus| m.state == MigrationState::Completed;
    course.until("the end", completed).await?;
    Ok(RunOutcome::Completed)
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
