//! One migration, from the plan to its end.

use super::follow::Follower;
use super::held_points::HeldPoints;
use super::progress::print_line;
use super::step_action::StepAction;
use super::{DemoRun, check, operate};
use crate::api::MigrationStatus;
use crate::error::DemoError;
use crate::ledger::LedgerPhase;
use crate::options::{Trouble, TroubleKind};
use crate::report::{MovedKeys, RunOutcome, RunReport};
use crate::workload::Workload;
use plans::request::Options;
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use plans::step::cutover::CutoverResult;

impl DemoRun<'_> {
    /// Plans, submits and follows one migration to its end, and adds the figures to the report.
    pub(super) async fn migrate(
        &self,
        actions: &[StepAction],
        held_points: &HeldPoints,
        workload: &Workload,
        report: &mut RunReport,
    ) -> Result<RunOutcome, DemoError> {
        let plan = self.api.plan(&self.scenario.request).await?;
        operate::print_plan(&plan);
        self.ledger.set_phase(LedgerPhase::Copy);
        let id = self.api.submit(&plan).await?;
        report.moves = plan
            .moves
            .iter()
            .map(|planned| MovedKeys::new(&id, planned))
            .collect();
        let mut follower = Follower::new(&self.api, &self.ledger, id);
        if let Some(ended) = self
            .follow_to_flip(actions, held_points, &mut follower, report)
            .await?
        {
            return Ok(ended);
        }
        self.follow_after_flip(workload, &mut follower, report)
            .await?;
        if self.options.rollback {
            return self.roll_back(&mut follower, report).await;
        }
        self.finish(actions, held_points, &mut follower, report)
            .await
    }

    /// Follows the migration to its flip. Returns `Some` if it ended before.
    async fn follow_to_flip(
        &self,
        actions: &[StepAction],
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<Option<RunOutcome>, DemoError> {
        if self
            .carry_out_actions(actions, runs_before_gate, held_points, follower, report)
            .await?
        {
            return Ok(Some(RunOutcome::Unwound));
        }
        let migration = follower.until("the gate", is_at_gate).await?;
        add_figures(&migration, report);
        if migration.state == MigrationState::Unwound {
            return Ok(Some(RunOutcome::Unwound));
        }
        self.ledger.set_phase(LedgerPhase::CatchUp);
        self.wait_for_moving(LedgerPhase::CatchUp, self.goal(10))
            .await?;
        self.ledger.set_phase(LedgerPhase::Cutover);
        follower.command("approve").await?;
        let cutover = |step| step == StepKind::Cutover;
        if self
            .carry_out_actions(actions, cutover, held_points, follower, report)
            .await?
        {
            return Ok(Some(RunOutcome::Unwound));
        }
        if let Some(moment) = self.options.orphan {
            self.orphan(moment, held_points, follower, report).await?;
        }
        if let Some(moment) = self.options.stall {
            self.stall(moment, held_points, follower, report).await?;
        }
        let migration = follower.until("the flip", is_flipped).await?;
        if migration.state == MigrationState::Unwound {
            return Ok(Some(RunOutcome::Unwound));
        }
        if let Some(stall) = &mut report.stall {
            stall.give_up_reasons = self.api.give_up_reasons(follower.id()).await?;
        }
        print_line("the map names the new owner; the application keeps writing");
        add_figures(&migration, report);
        Ok(None)
    }

    async fn follow_after_flip(
        &self,
        workload: &Workload,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        self.ledger.set_phase(LedgerPhase::After);
        self.wait_for_moving(LedgerPhase::After, self.goal(20))
            .await?;
        self.wait_for_acknowledged(self.options.goal()).await?;
        if !self.options.has_faults() {
            self.wait_for_enough(LedgerPhase::After).await?;
        }
        check::compare_during_hold(self, workload).await?;
        let has_flipped = |m: &MigrationStatus| m.is_done(StepKind::Cutover);
        add_figures(
            &follower
                .until("the end of the cutover", has_flipped)
                .await?,
            report,
        );
        Ok(())
    }

    /// Rolls the migration back.
    async fn roll_back(
        &self,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<RunOutcome, DemoError> {
        follower.command("rollback").await?;
        follower
            .until("the end of the rollback", |m| {
                m.state == MigrationState::RolledBack
            })
            .await?;
        self.wait_for_acknowledged(self.ledger.tally().acknowledged + self.goal(20))
            .await?;
        follower.command("finish").await?;
        let migration = follower
            .until("the end", |m| m.is_done(StepKind::DropNew))
            .await?;
        add_figures(&migration, report);
        Ok(RunOutcome::RolledBack)
    }

    async fn finish(
        &self,
        actions: &[StepAction],
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<RunOutcome, DemoError> {
        let hold = |step| step == StepKind::Hold;
        self.carry_out_actions(actions, hold, held_points, follower, report)
            .await?;
        follower.command("finish").await?;
        let removes = |step| matches!(step, StepKind::DropOld | StepKind::DropSurplus);
        self.carry_out_actions(actions, removes, held_points, follower, report)
            .await?;
        let migration = follower
            .until("the end", |m| m.state == MigrationState::Completed)
            .await?;
        add_figures(&migration, report);
        Ok(RunOutcome::Completed)
    }
}

/// Returns the options of the migration. They permit few attempts if the run waits until all attempts have failed.
pub(super) fn request_options(demo_options: &crate::options::Options) -> Options {
    let is_down = |trouble: &Trouble| trouble.kind == TroubleKind::Down;
    let options = Options {
        dual_write: demo_options.dual_write,
        seed: demo_options.seeding,
        ..Options::default()
    };
    match demo_options.troubles.iter().any(is_down) {
        true => Options {
            max_attempts: 2,
            ..options
        },
        false => options,
    }
}

fn runs_before_gate(step: StepKind) -> bool {
    matches!(
        step,
        StepKind::Preflight
            | StepKind::CreateTarget
            | StepKind::OpenCapture
            | StepKind::Promote
            | StepKind::Copy
            | StepKind::CatchUp
            | StepKind::BuildIndexes
            | StepKind::Verify
            | StepKind::OpenReverse
    )
}

fn is_at_gate(migration: &MigrationStatus) -> bool {
    migration.state == MigrationState::Waiting
}

fn is_flipped(migration: &MigrationStatus) -> bool {
    matches!(
        migration.state,
        MigrationState::Flipped | MigrationState::Completed
    )
}

/// Adds the results of the steps that are done to the report.
fn add_figures(migration: &MigrationStatus, report: &mut RunReport) {
    report.set_figures(std::slice::from_ref(migration));
    report.rollback_window_ms = migration
        .output::<CutoverResult>(StepKind::Rollback)
        .map(|cut| cut.write_block);
}
