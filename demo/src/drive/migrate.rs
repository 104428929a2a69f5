//! One migration, from the plan to its end.

use super::follow::Follower;
use super::hand::PointHold;
use super::progress::print_line;
use super::stop::StepAction;
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
        stops: &[StepAction],
        hand: &PointHold,
        workload: &Workload,
        report: &mut RunReport,
    ) -> Result<RunOutcome, DemoError> {
        let plan = self.api.plan(&self.scenario.request).await?;
        operate::print_plan(&plan);
        self.ledger.enter(LedgerPhase::Copy);
        let id = self.api.submit(&plan).await?;
        report.moves = plan
            .moves
            .iter()
            .map(|planned| MovedKeys::begun(&id, planned))
            .collect();
        let mut follower = Follower::new(&self.api, &self.ledger, id);
        if let Some(ended) = self.to_the_flip(stops, hand, &mut follower, report).await? {
            return Ok(ended);
        }
        self.after_the_flip(workload, &mut follower, report).await?;
        if self.options.rollback {
            return self.back(&mut follower, report).await;
        }
        self.finish(stops, hand, &mut follower, report).await
    }

    /// Follows the migration to its flip. Returns `Some` if it ended before.
    async fn to_the_flip(
        &self,
        stops: &[StepAction],
        hand: &PointHold,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<Option<RunOutcome>, DemoError> {
        if self
            .stop_at(stops, is_before_gate, hand, follower, report)
            .await?
        {
            return Ok(Some(RunOutcome::Unwound));
        }
        let migration = follower.until("the gate", is_at_gate).await?;
        figures(&migration, report);
        if migration.state == MigrationState::Unwound {
            return Ok(Some(RunOutcome::Unwound));
        }
        self.ledger.enter(LedgerPhase::CatchUp);
        self.moving(LedgerPhase::CatchUp, self.goal(10)).await?;
        self.ledger.enter(LedgerPhase::Cutover);
        follower.command("approve").await?;
        let cutover = |step| step == StepKind::Cutover;
        if self.stop_at(stops, cutover, hand, follower, report).await? {
            return Ok(Some(RunOutcome::Unwound));
        }
        if let Some(moment) = self.options.orphan {
            self.orphan(moment, hand, follower, report).await?;
        }
        if let Some(moment) = self.options.stall {
            self.stall(moment, hand, follower, report).await?;
        }
        let migration = follower.until("the flip", is_flipped).await?;
        if migration.state == MigrationState::Unwound {
            return Ok(Some(RunOutcome::Unwound));
        }
        if let Some(stall) = &mut report.stall {
            stall.released = self.api.released(follower.id()).await?;
        }
        print_line("the map names the new owner; the application keeps writing");
        figures(&migration, report);
        Ok(None)
    }

    async fn after_the_flip(
        &self,
        workload: &Workload,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        self.ledger.enter(LedgerPhase::After);
        self.moving(LedgerPhase::After, self.goal(20)).await?;
        self.acknowledged(self.options.goal()).await?;
        if !self.options.disturbed() {
            self.enough(LedgerPhase::After).await?;
        }
        check::held(self, workload).await?;
        let holds = |m: &MigrationStatus| m.is_done(StepKind::Cutover);
        figures(
            &follower.until("the end of the cutover", holds).await?,
            report,
        );
        Ok(())
    }

    /// Rolls the migration back.
    async fn back(
        &self,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<RunOutcome, DemoError> {
        follower.command("rollback").await?;
        follower
            .until("the way back", |m| m.state == MigrationState::RolledBack)
            .await?;
        self.acknowledged(self.ledger.tally().acknowledged + self.goal(20))
            .await?;
        follower.command("finish").await?;
        let migration = follower
            .until("the end", |m| m.is_done(StepKind::DropNew))
            .await?;
        figures(&migration, report);
        Ok(RunOutcome::RolledBack)
    }

    async fn finish(
        &self,
        stops: &[StepAction],
        hand: &PointHold,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<RunOutcome, DemoError> {
        let hold = |step| step == StepKind::Hold;
        self.stop_at(stops, hold, hand, follower, report).await?;
        follower.command("finish").await?;
        let drop_old = |step| step == StepKind::DropOld;
        self.stop_at(stops, drop_old, hand, follower, report)
            .await?;
        let migration = follower
            .until("the end", |m| m.state == MigrationState::Completed)
            .await?;
        figures(&migration, report);
        Ok(RunOutcome::Completed)
    }
}

/// Returns the options of the migration. They permit few attempts if the run waits until all attempts have failed.
pub(super) fn behaviour(options: &crate::options::Options) -> Options {
    let down = |trouble: &Trouble| trouble.kind == TroubleKind::Down;
    let usual = Options {
        dual_write: options.dual_write,
        ..Options::default()
    };
    match options.troubles.iter().any(down) {
        true => Options {
            max_attempts: 2,
            ..usual
        },
        false => usual,
    }
}

fn is_before_gate(step: StepKind) -> bool {
    matches!(
        step,
        StepKind::Preflight
            | StepKind::CreateTarget
            | StepKind::OpenCapture
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
fn figures(migration: &MigrationStatus, report: &mut RunReport) {
    report.count(std::slice::from_ref(migration));
    report.rollback_window_ms = migration
        .output::<CutoverResult>(StepKind::Rollback)
        .map(|cut| cut.write_block);
}
