//! Follows one migration and sends its operator's commands, even while parts of the system are unreachable.
//!
//! A failed migration is resumed, as an operator would do, after the fault has ended, and only a few times.

use super::blow::FaultProgress;
use super::story::StoryFile;
use crate::api::{Api, MigrationStatus};
use crate::error::DemoError;
use crate::ledger::{Ledger, LedgerPhase};
use plans::plan::Plan;
use plans::request::Request;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// A migration without any change for this time is stuck.
const STANDSTILL: Duration = Duration::from_secs(90);
const MOST_RESUMES: u32 = 3;

/// A migration that runs.
#[derive(Debug)]
pub(super) struct MigrationCourse<'c> {
    pub(super) api: &'c Api,
    pub(super) ledger: &'c Ledger,
    pub(super) story: &'c StoryFile,
    pub(super) struck: watch::Receiver<FaultProgress>,
    /// The time at which it must have ended.
    pub(super) deadline: Instant,
    /// When the migration or its fault last changed.
    pub(super) moved: Instant,
    pub(super) id: String,
    pub(super) resumes: u32,
    /// True if a failed migration is resumed.
    pub(super) resumable: bool,
    pub(super) journal_text: String,
}

impl MigrationCourse<'_> {
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
                if migration.state == MigrationState::Failed && self.struck() != FaultProgress::Now
                {
                    self.resume(&migration).await?;
                }
            }
            self.limit(what)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends a command repeatedly, until its effect is observed.
    pub(super) async fn command(
        &mut self,
        verb: &str,
        worked: impl Fn(&MigrationStatus) -> bool,
    ) -> Result<MigrationStatus, DemoError> {
        self.story.write(&format!("{verb} {}", self.id));
        loop {
            if let Some(migration) = self.read_migration().await
                && worked(&migration)
            {
                return Ok(migration);
            }
            self.give(verb).await;
            self.limit(verb)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Makes a plan, as soon as an agent is available that can survey the shards.
    pub(super) async fn plan(&mut self, request: &Request) -> Result<Plan, DemoError> {
        loop {
            match self.api.plan(request).await {
                Ok(plan) => return Ok(plan),
                Err(error) => self.story.write(&format!("plan: {error}")),
            }
            self.limit("a plan")?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for a condition that does not depend on the migration.
    pub(super) async fn wait(
        &mut self,
        what: &str,
        condition: impl Fn() -> bool,
    ) -> Result<(), DemoError> {
        self.moved = Instant::now();
        while !condition() {
            self.limit(what)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Returns the progress of the fault.
    pub(super) fn struck(&self) -> FaultProgress {
        *self.struck.borrow()
    }

    /// Returns the migration, if it can be read, and updates the phase in the ledger.
    pub(super) async fn read_migration(&mut self) -> Option<MigrationStatus> {
        let call = self.api.migration(&self.id);
        let Ok(answer) = tokio::time::timeout(CALL_LIMIT, call).await else {
            self.api.turn();
            return None;
        };
        let migration = answer.ok()?;
        self.note_state(&migration);
        if is_flipped(&migration) {
            self.ledger.enter(LedgerPhase::After);
        } else if self.ledger.phase() == LedgerPhase::Copy && migration.is_done(StepKind::Copy) {
            self.ledger.enter(LedgerPhase::CatchUp);
        }
        Some(migration)
    }

    async fn resume(&mut self, migration: &MigrationStatus) -> Result<(), DemoError> {
        if !self.resumable || self.resumes >= MOST_RESUMES {
            return Err(DemoError::Stopped {
                id: self.id.clone(),
                state: migration.state,
                reason: migration.reason(),
            });
        }
        self.resumes += 1;
        self.story.write(&format!("resume {}", self.id));
        self.give("resume").await;
        Ok(())
    }

    async fn give(&self, verb: &str) {
        let call = self.api.command(&self.id, verb);
        match tokio::time::timeout(CALL_LIMIT, call).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.story.write(&format!("{verb}: {error}")),
            Err(_) => {
                self.api.turn();
                self.story.write(&format!("{verb}: no answer"));
            }
        }
    }

    fn limit(&mut self, what: &str) -> Result<(), DemoError> {
        if self.struck() == FaultProgress::Now {
            self.moved = Instant::now();
        }
        let still = self.moved.elapsed();
        if still < STANDSTILL && Instant::now() < self.deadline {
            return Ok(());
        }
        Err(DemoError::Stalled {
            what: what.to_owned(),
            seconds: still.as_secs(),
        })
    }

    fn note_state(&mut self, migration: &MigrationStatus) {
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
        if line != self.journal_text {
            self.story.write(&line);
            self.journal_text = line;
            self.moved = Instant::now();
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
