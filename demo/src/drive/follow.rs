//! Waits for other processes, with a time limit.

use crate::api::{Api, MigrationStatus};
use crate::error::DemoError;
use crate::ledger::{Ledger, LedgerPhase};
use plans::failure::Failure;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use std::time::{Duration, Instant};

use super::hand::PointHold;
use super::progress::print_line;
use crate::points::PassedPoint;
use fail_point::Arrival;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longer than any gate, lease or retry should take.
const LIMIT: Duration = Duration::from_secs(120);

/// Waits until `condition` is true.
pub(super) async fn until(what: &str, condition: impl Fn() -> bool) -> Result<(), DemoError> {
    let begun = Instant::now();
    while !condition() {
        limit(what, begun)?;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Waits until the controller answers.
pub(crate) async fn ready(api: &Api) -> Result<(), DemoError> {
    let begun = Instant::now();
    while !api.is_ready().await {
        limit("the controller", begun)?;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

fn limit(what: &str, begun: Instant) -> Result<(), DemoError> {
    if begun.elapsed() < LIMIT {
        return Ok(());
    }
    Err(DemoError::Stalled {
        what: what.to_owned(),
        seconds: LIMIT.as_secs(),
    })
}

/// Follows one migration, and prints its changes.
#[derive(Debug)]
pub(super) struct Follower<'f> {
    api: &'f Api,
    ledger: &'f Ledger,
    id: String,
    printed: String,
}

impl<'f> Follower<'f> {
    /// Returns the id of the migration.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn new(api: &'f Api, ledger: &'f Ledger, id: String) -> Self {
        Self {
            api,
            ledger,
            id,
            printed: String::new(),
        }
    }

    /// Waits until `goal` is true or the migration stops. It also updates the phase in the ledger.
    ///
    /// The controller may be unreachable for a while.
    pub(super) async fn until(
        &mut self,
        what: &str,
        goal: impl Fn(&MigrationStatus) -> bool,
    ) -> Result<MigrationStatus, DemoError> {
        let mut changed = Instant::now();
        loop {
            if let Ok(migration) = self.api.migration(&self.id).await {
                if self.print_state(&migration) {
                    changed = Instant::now();
                }
                self.keep_phase(&migration);
                if goal(&migration) || migration.state == MigrationState::Unwound {
                    return Ok(migration);
                }
                if migration.state == MigrationState::Failed {
                    return Err(DemoError::Stopped {
                        id: migration.id.clone(),
                        state: migration.state,
                        reason: migration.reason(),
                    });
                }
            }
            limit(what, changed)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until an agent waits at a fail point that the driver holds.
    pub(super) async fn meet(
        &mut self,
        hand: &PointHold,
        point: &PassedPoint,
    ) -> Result<Arrival, DemoError> {
        let what = format!("an agent at {}", point.name);
        tokio::select! {
            arrival = hand.arrived(point) => arrival,
            ended = self.until(&what, |_| false) => {
                ended?;
                Err(DemoError::Stalled { what, seconds: 0 })
            }
        }
    }

    /// Waits until the migration has failed, and returns the reason.
    pub(super) async fn failed(&mut self) -> Result<(MigrationStatus, Failure), DemoError> {
        let begun = Instant::now();
        loop {
            if let Ok(migration) = self.api.migration(&self.id).await {
                self.print_state(&migration);
                if let (MigrationState::Failed, Some(failure)) =
                    (migration.state, migration.failure.clone())
                {
                    return Ok((migration, failure));
                }
            }
            limit("the failure", begun)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the abort is complete.
    pub(super) async fn unwound(&mut self) -> Result<(), DemoError> {
        let unwound = |m: &MigrationStatus| m.state == MigrationState::Unwound;
        self.until("the end of the unwinding", unwound).await?;
        Ok(())
    }

    /// Sends a command, and repeats it while the controller is unreachable.
    pub(super) async fn command(&self, verb: &str) -> Result<(), DemoError> {
        print_line(&format!("{verb} {}", self.id));
        let begun = Instant::now();
        loop {
            match self.api.command(&self.id, verb).await {
                Err(crate::api::ApiError::Unreachable { .. }) => limit(verb, begun)?,
                done => return Ok(done?),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Updates the phase according to the steps. The driver itself sets the phase `cutover`, which is too short to be
    /// observed.
    fn keep_phase(&self, migration: &MigrationStatus) {
        let flipped = matches!(
            migration.state,
            MigrationState::Flipped | MigrationState::Completed | MigrationState::RolledBack
        );
        if flipped {
            self.ledger.enter(LedgerPhase::After);
        } else if self.ledger.phase() == LedgerPhase::Copy && migration.is_done(StepKind::Copy) {
            self.ledger.enter(LedgerPhase::CatchUp);
        }
    }

    /// Prints the state if it has changed.
    fn print_state(&mut self, migration: &MigrationStatus) -> bool {
        let mut line = format!("{} {}", migration.id, migration.state);
        for step in &migration.steps {
            let busy = matches!(
                step.state,
                StepState::Running | StepState::Backoff | StepState::Failed
            );
            if busy {
                line.push_str(&format!(", {} {}", step.kind, step.state));
                if step.attempt > 1 {
                    line.push_str(&format!(" (attempt {})", step.attempt));
                }
                if step.state != StepState::Running
                    && let Some(failure) = &step.failure
                {
                    line.push_str(&format!(": {}", failure.message));
                }
            }
        }
        let new = line != self.printed;
        if new {
            print_line(&line);
            self.printed = line;
        }
        new
    }
}
