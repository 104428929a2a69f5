//! Stops on a migration's way: where the driver aborts it, pauses it, or makes trouble.

use super::Run;
use super::follow::Follower;
use super::hand::Hand;
use crate::api::Migration;
use crate::error::DemoError;
use crate::options::{Options, Then, Trouble, TroubleKind};
use crate::points;
use crate::report::Report;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::{FORWARD, StepKind};

/// Something to do while a step runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    Abort(StepKind),
    Pause(StepKind),
    Trouble(Trouble),
}

impl Stop {
    /// What is to be done in the migration number `attempt`, from 1, in the order of the steps.
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

impl Run<'_> {
    /// Does what is to be done in the steps that `which` names.
    /// True if the migration was aborted and is unwound.
    pub(super) async fn stop_at(
        &self,
        stops: &[Stop],
        which: impl Fn(StepKind) -> bool,
        hand: &Hand,
        follower: &mut Follower<'_>,
        report: &mut Report,
    ) -> Result<bool, DemoError> {
        for stop in stops.iter().filter(|stop| which(stop.step())) {
            match *stop {
                Stop::Abort(step) => {
                    let arrival = follower.meet(hand, &points::of_step(step)).await?;
                    follower.command("abort").await?;
                    drop(arrival);
                    follower.unwound().await?;
                    report.aborted_at.push(step);
                    return Ok(true);
                }
                Stop::Pause(step) => {
                    self.pause_in(step, hand, follower).await?;
                    report.paused_in.push(step);
                }
                Stop::Trouble(trouble) => {
                    self.trouble(trouble, hand, follower, report).await?;
                    if trouble.then == Then::Abort {
                        follower.command("abort").await?;
                        follower.unwound().await?;
                        report.aborted_at.push(trouble.step);
                        return Ok(true);
                    }
                    if trouble.kind != TroubleKind::Away {
                        follower.command("resume").await?;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Pauses while the step runs, lets the application write, and resumes.
    async fn pause_in(
        &self,
        step: StepKind,
        hand: &Hand,
        follower: &mut Follower<'_>,
    ) -> Result<(), DemoError> {
        let gate = |m: &Migration| is_running(m, step) || m.is_done(step);
        if step == StepKind::Hold {
            follower.until("the step", gate).await?;
            follower.command("pause").await?;
        } else {
            let arrival = follower.meet(hand, &points::of_step(step)).await?;
            follower.command("pause").await?;
            drop(arrival);
        }
        // The agent hears of it by its next heartbeat, and ends what it is doing.
        let paused = |m: &Migration| {
            let busy = m.steps.iter().any(|s| s.state == StepState::Running);
            m.state == MigrationState::Paused && !busy
        };
        follower.until("the pause", paused).await?;
        self.acknowledged(self.ledger.tally().acknowledged + self.goal(4))
            .await?;
        follower.command("resume").await
    }
}

fn is_running(migration: &Migration, kind: StepKind) -> bool {
    migration
        .step(kind)
        .is_some_and(|step| step.state == StepState::Running)
}
