//! Waits for other processes, with a time limit.

use crate::api::{Api, MigrationStatus};
use crate::error::DemoError;
use crate::ledger::{Ledger, LedgerPhase};
use plans::failure::Failure;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use std::time::{Duration, Instant};

use super::held_points::HeldPoints;
use super::progress::print_line;
use crate::points::PassedPoint;
use fail_point::Arrival;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long the driver waits without any change. It is longer than any step without a change
/// should take: 2,000 guards are replaced in two minutes at rest.
const LIMIT: Duration = Duration::from_secs(600);

/// Waits until `condition` is true.
pub(super) async fn until(what: &str, condition: impl Fn() -> bool) -> Result<(), DemoError> {
    let begun = Instant::now();
    while !condition() {
        check_limit(what, begun)?;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Waits until the controller answers.
pub(crate) async fn ready(api: &Api) -> Result<(), DemoError> {
    let begun = Instant::now();
    while !api.is_ready().await {
        check_limit("the controller", begun)?;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

fn check_limit(what: &str, begun: Instant) -> Result<(), DemoError> {
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
                self.update_phase(&migration);
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
            check_limit(what, changed)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until an agent waits at a fail point that the driver holds.
    pub(super) async fn until_arrival(
        &mut self,
        held_points: &HeldPoints,
        point: &PassedPoint,
    ) -> Result<Arrival, DemoError> {
        let what = format!("an agent at {}", point.name);
        tokio::select! {
            arrival = held_points.wait_at(point) => arrival,
            ended = self.until(&what, |_| false) => {
                ended?;
                Err(DemoError::Stalled { what, seconds: 0 })
            }
        }
    }

    /// Waits until the migration has failed, and returns the reason.
    pub(super) async fn until_failed(&mut self) -> Result<(MigrationStatus, Failure), DemoError> {
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
            check_limit("the failure", begun)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the abort is complete.
    pub(super) async fn until_unwound(&mut self) -> Result<(), DemoError> {
        let unwound = |m: &MigrationStatus| m.state == MigrationState::Unwound;
        self.until("the end of the abort", unwound).await?;
        Ok(())
    }

    /// Sends a command, and repeats it while the controller is unreachable.
    pub(super) async fn command(&self, verb: &str) -> Result<(), DemoError> {
        print_line(&format!("{verb} {}", self.id));
        let begun = Instant::now();
        loop {
            match self.api.command(&self.id, verb).await {
                Err(crate::api::ApiError::Unreachable { .. }) => check_limit(verb, begun)?,
                done => return Ok(done?),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Updates the phase according to the steps. The driver itself sets the phase `cutover`, which is too short to be
    /// observed.
    fn update_phase(&self, migration: &MigrationStatus) {
        let flipped = matches!(
            migration.state,
            MigrationState::Flipped | MigrationState::Completed | MigrationState::RolledBack
        );
        if flipped {
            self.ledger.set_phase(LedgerPhase::After);
        } else if self.ledger.phase() == LedgerPhase::Copy && migration.has_rows() {
            self.ledger.set_phase(LedgerPhase::CatchUp);
        }
    }

    /// Prints the state if it has changed. Returns whether it has.
    fn print_state(&mut self, migration: &MigrationStatus) -> bool {
        let mut line = format!("{} {}", migration.id, migration.state);
        for step in &migration.steps {
            let is_active = matches!(
                step.state,
                StepState::Running | StepState::Backoff | StepState::Failed
            );
            if is_active {
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
        let has_changed = line != self.printed;
        if has_changed {
            print_line(&line);
            self.printed = line;
        }
        has_changed
    }
}
