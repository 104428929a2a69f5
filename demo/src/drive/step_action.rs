//! Steps in which the driver aborts a migration, pauses it, or causes a failure.

use super::DemoRun;
use super::follow::Follower;
use super::held_points::HeldPoints;
use crate::api::MigrationStatus;
use crate::error::DemoError;
use crate::options::{AfterRepair, Options, Trouble, TroubleKind};
use crate::points;
use crate::report::RunReport;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;

/// What the driver does while a step runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepAction {
    Abort(StepKind),
    Pause(StepKind),
    Trouble(Trouble),
}

impl StepAction {
    /// Returns what the driver does in the next migration, in the order of the steps. `aborted` is the number of
    /// earlier migrations that the driver has aborted.
    pub(super) fn for_migration(options: &Options, aborted: usize) -> Vec<Self> {
        let abort = options.abort_at.get(aborted).copied().map(Self::Abort);
        let pauses = options.pause_in.iter().copied().map(Self::Pause);
        let troubles = options.troubles.iter().copied().map(Self::Trouble);
        let mut actions: Vec<Self> = abort.into_iter().chain(pauses).chain(troubles).collect();
        let steps = options.steps();
        actions.sort_by_key(|action| steps.iter().position(|step| *step == action.step()));
        actions
    }

    pub(super) fn step(self) -> StepKind {
        match self {
            Self::Abort(step) | Self::Pause(step) => step,
            Self::Trouble(trouble) => trouble.step,
        }
    }
}

impl DemoRun<'_> {
    /// Carries out the actions in the steps for which `is_selected` is true. Returns true if the migration was aborted.
    pub(super) async fn carry_out_actions(
        &self,
        actions: &[StepAction],
        is_selected: impl Fn(StepKind) -> bool,
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<bool, DemoError> {
        for action in actions.iter().filter(|action| is_selected(action.step())) {
            match *action {
                StepAction::Abort(step) => {
                    let arrival = follower
                        .until_arrival(held_points, &points::of_step(step))
                        .await?;
                    follower.command("abort").await?;
                    drop(arrival);
                    follower.until_unwound().await?;
                    report.aborted_at.push(step);
                    return Ok(true);
                }
                StepAction::Pause(step) => {
                    self.pause_in(step, held_points, follower).await?;
                    report.paused_in.push(step);
                }
                StepAction::Trouble(trouble) => {
                    self.trouble(trouble, held_points, follower, report).await?;
                    if trouble.then == AfterRepair::Abort {
                        follower.command("abort").await?;
                        follower.until_unwound().await?;
                        report.aborted_at.push(trouble.step);
                        return Ok(true);
                    }
                    if trouble.kind != TroubleKind::Outage {
                        follower.command("resume").await?;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Pauses the migration while the step runs, lets the application write, and resumes the migration.
    async fn pause_in(
        &self,
        step: StepKind,
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
    ) -> Result<(), DemoError> {
        let has_begun = |m: &MigrationStatus| is_running(m, step) || m.is_done(step);
        if step == StepKind::Hold {
            follower.until("the step", has_begun).await?;
            follower.command("pause").await?;
        } else {
            let arrival = follower
                .until_arrival(held_points, &points::of_step(step))
                .await?;
            follower.command("pause").await?;
            drop(arrival);
        }
        // The agent receives the pause with its next heartbeat, and ends its current work.
        let paused = |m: &MigrationStatus| {
            let runs = m.steps.iter().any(|s| s.state == StepState::Running);
            m.state == MigrationState::Paused && !runs
        };
        follower.until("the pause", paused).await?;
        self.wait_for_acknowledged(self.ledger.tally().acknowledged + self.goal(4))
            .await?;
        follower.command("resume").await
    }
}

fn is_running(migration: &MigrationStatus, kind: StepKind) -> bool {
    migration
        .step(kind)
        .is_some_and(|step| step.state == StepState::Running)
}
