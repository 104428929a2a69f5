//! Steps in which the driver aborts a migration, pauses it, or causes a failure.

use super::DemoRun;
use super::follow::Follower;
use super::hand::PointHold;
use crate::api::MigrationStatus;
use crate::error::DemoError;
use crate::options::{AfterRepair, Options, Trouble, TroubleKind};
use crate::points;
use crate::report::RunReport;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::{FORWARD, StepKind};

/// What the driver does while a step runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepAction {
    Abort(StepKind),
    Pause(StepKind),
    Trouble(Trouble),
}

impl StepAction {
    /// Returns what the driver does in migration `attempt`, from 1, in the order of the steps.
    pub(super) fn of(options: &Options, aborted: usize) -> Vec<Self> {
        let abort = options.abort_at.get(aborted).copied().map(Self::Abort);
        let pauses = options.pause_in.iter().copied().map(Self::Pause);
        let troubles = options.troubles.iter().copied().map(Self::Trouble);
        let mut stops: Vec<Self> = abort.into_iter().chain(pauses).chain(troubles).collect();
        stops.sort_by_key(|stop| FORWARD.iter().position(|step| *step == stop.step()));
        stops
    }

    pub(super) fn step(self) -> StepKind {
        match self {
            Self::Abort(step) | Self::Pause(step) => step,
            Self::Trouble(trouble) => trouble.step,
        }
    }
}

impl DemoRun<'_> {
    /// Carries out the actions in the steps that `which` names. Returns true if the migration was aborted.
    pub(super) async fn stop_at(
        &self,
        stops: &[StepAction],
        which: impl Fn(StepKind) -> bool,
        hand: &PointHold,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<bool, DemoError> {
        for stop in stops.iter().filter(|stop| which(stop.step())) {
            match *stop {
                StepAction::Abort(step) => {
                    let arrival = follower.meet(hand, &points::of_step(step)).await?;
                    follower.command("abort").await?;
                    drop(arrival);
                    follower.unwound().await?;
                    report.aborted_at.push(step);
                    return Ok(true);
                }
                StepAction::Pause(step) => {
                    self.pause_in(step, hand, follower).await?;
                    report.paused_in.push(step);
                }
                StepAction::Trouble(trouble) => {
                    self.trouble(trouble, hand, follower, report).await?;
                    if trouble.then == AfterRepair::Abort {
                        follower.command("abort").await?;
                        follower.unwound().await?;
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
        hand: &PointHold,
        follower: &mut Follower<'_>,
    ) -> Result<(), DemoError> {
        let gate = |m: &MigrationStatus| is_running(m, step) || m.is_done(step);
        if step == StepKind::Hold {
            follower.until("the step", gate).await?;
            follower.command("pause").await?;
        } else {
            let arrival = follower.meet(hand, &points::of_step(step)).await?;
            follower.command("pause").await?;
            drop(arrival);
        }
        // The agent receives the pause with its next heartbeat, and ends its current work.
        let paused = |m: &MigrationStatus| {
            let busy = m.steps.iter().any(|s| s.state == StepState::Running);
            m.state == MigrationState::Paused && !busy
        };
        follower.until("the pause", paused).await?;
        self.acknowledged(self.ledger.tally().acknowledged + self.goal(4))
            .await?;
        follower.command("resume").await
    }
}

fn is_running(migration: &MigrationStatus, kind: StepKind) -> bool {
    migration
        .step(kind)
        .is_some_and(|step| step.state == StepState::Running)
}
