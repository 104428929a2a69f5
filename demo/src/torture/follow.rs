//! Follows one migration and sends its operator's commands, even while parts of the system are unreachable.
//!
//! A failed migration is resumed, as an operator would do, after the fault has ended, and only a few times.

use super::planned_fault::FaultProgress;
use super::run_log::RunLog;
use crate::api::{Api, MigrationStatus};
use crate::error::DemoError;
use crate::ledger::{Ledger, LedgerPhase};
use plans::plan::Plan;
use plans::request::Request;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// A migration without any change for this time is stuck.
const NO_CHANGE_LIMIT: Duration = Duration::from_secs(90);
const MAX_RESUMES: u32 = 3;

/// A migration that runs.
#[derive(Debug)]
pub(super) struct MigrationFollower<'c> {
    pub(super) api: &'c Api,
    pub(super) ledger: &'c Ledger,
    pub(super) run_log: &'c RunLog,
    pub(super) fault_progress: watch::Receiver<FaultProgress>,
    /// The time at which the migration must have ended.
    pub(super) deadline: Instant,
    /// When the migration or its fault last changed.
    pub(super) last_change: Instant,
    pub(super) id: String,
    pub(super) resumes: u32,
    /// True if the operator resumes a failed migration.
    pub(super) resumable: bool,
    pub(super) last_line: String,
}

impl MigrationFollower<'_> {
    /// Waits until `goal` is true.
    ///
    /// # Errors
    /// [`DemoError::Stalled`] at the deadline, [`DemoError::Stopped`] if the migration has failed too often.
    pub(super) async fn until(
        &mut self,
        what: &str,
        goal: impl Fn(&MigrationStatus) -> bool,
    ) -> Result<MigrationStatus, DemoError> {
        loop {
            if let Some(migration) = self.read_migration().await {
                if goal(&migration) {
                    return Ok(migration);
                }
                if migration.state == MigrationState::Failed
                    && self.fault_progress() != FaultProgress::Now
                {
                    self.resume(&migration).await?;
                }
            }
            self.check_limits(what)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends a command repeatedly, until its effect is observed.
    pub(super) async fn command(
        &mut self,
        verb: &str,
        has_effect: impl Fn(&MigrationStatus) -> bool,
    ) -> Result<MigrationStatus, DemoError> {
        self.run_log.write(&format!("{verb} {}", self.id));
        loop {
            if let Some(migration) = self.read_migration().await
                && has_effect(&migration)
            {
                return Ok(migration);
            }
            self.send_command(verb).await;
            self.check_limits(verb)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Makes a plan, as soon as an agent is available that can survey the shards.
    pub(super) async fn plan(&mut self, request: &Request) -> Result<Plan, DemoError> {
        loop {
            match self.api.plan(request).await {
                Ok(plan) => return Ok(plan),
                Err(error) => self.run_log.write(&format!("plan: {error}")),
            }
            self.check_limits("a plan")?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for a condition that does not depend on the migration.
    pub(super) async fn wait(
        &mut self,
        what: &str,
        condition: impl Fn() -> bool,
    ) -> Result<(), DemoError> {
        self.last_change = Instant::now();
        while !condition() {
            self.check_limits(what)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Returns the progress of the fault.
    pub(super) fn fault_progress(&self) -> FaultProgress {
        *self.fault_progress.borrow()
    }

    /// Returns the migration, if it can be read, and updates the phase in the ledger.
    pub(super) async fn read_migration(&mut self) -> Option<MigrationStatus> {
        let call = self.api.migration(&self.id);
        let Ok(answer) = tokio::time::timeout(CALL_LIMIT, call).await else {
            self.api.switch_controller();
            return None;
        };
        let migration = answer.ok()?;
        self.log_state(&migration);
        if is_flipped(&migration) {
            self.ledger.set_phase(LedgerPhase::After);
        } else if self.ledger.phase() == LedgerPhase::Copy && migration.has_rows() {
            self.ledger.set_phase(LedgerPhase::CatchUp);
        }
        Some(migration)
    }

    async fn resume(&mut self, migration: &MigrationStatus) -> Result<(), DemoError> {
        if !self.resumable || self.resumes >= MAX_RESUMES {
            return Err(DemoError::Stopped {
                id: self.id.clone(),
                state: migration.state,
                reason: migration.reason(),
            });
        }
        self.resumes += 1;
        self.run_log.write(&format!("resume {}", self.id));
        self.send_command("resume").await;
        Ok(())
    }

    async fn send_command(&self, verb: &str) {
        let call = self.api.command(&self.id, verb);
        match tokio::time::timeout(CALL_LIMIT, call).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.run_log.write(&format!("{verb}: {error}")),
            Err(_) => {
                self.api.switch_controller();
                self.run_log.write(&format!("{verb}: no answer"));
            }
        }
    }

    fn check_limits(&mut self, what: &str) -> Result<(), DemoError> {
        if self.fault_progress() == FaultProgress::Now {
            self.last_change = Instant::now();
        }
        let unchanged_for = self.last_change.elapsed();
        if unchanged_for < NO_CHANGE_LIMIT && Instant::now() < self.deadline {
            return Ok(());
        }
        Err(DemoError::Stalled {
            what: what.to_owned(),
            seconds: unchanged_for.as_secs(),
        })
    }

    fn log_state(&mut self, migration: &MigrationStatus) {
        let mut line = format!("{} {}", migration.id, migration.state);
        if let Some(owner) = &migration.owner {
            line.push_str(&format!(" by {}", owner.agent));
        }
        for step in &migration.steps {
            let busy = matches!(
                step.state,
                StepState::Running | StepState::Backoff | StepState::Failed
            );
            if busy {
                line.push_str(&format!(", {} {} {}", step.kind, step.state, step.attempt));
            }
            if let Some(failure) = step.failure.as_ref().filter(|_| busy) {
                line.push_str(&format!(" ({})", failure.message));
            }
        }
        if line != self.last_line {
            self.run_log.write(&line);
            self.last_line = line;
            self.last_change = Instant::now();
        }
    }
}

/// Returns whether the map names the target as owner, or did so before.
pub(super) fn is_flipped(migration: &MigrationStatus) -> bool {
    matches!(
        migration.state,
        MigrationState::Flipped | MigrationState::Completed | MigrationState::RolledBack
    )
}
