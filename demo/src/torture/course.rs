//! Follows one migration and gives its operator's commands, whatever is unreachable meanwhile.
//!
//! A failed migration is resumed, as an operator would, once the fault is over and a few times only.

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
/// A migration that shows no change for so long is stuck.
const STANDSTILL: Duration = Duration::from_secs(90);
const MOST_RESUMES: u32 = 3;

/// One migration under way.
#[derive(Debug)]
pub(super) struct MigrationCourse<'c> {
    pub(super) api: &'c Api,
    pub(super) ledger: &'c Ledger,
    pub(super) story: &'c StoryFile,
    pub(super) struck: watch::Receiver<FaultProgress>,
    /// When it must have ended, whatever goes on.
    pub(super) deadline: Instant,
    /// When something of it was last seen to change, or to be disturbed.
    pub(super) moved: Instant,
    pub(super) id: String,
    pub(super) resumes: u32,
    /// Whether a failed migration is resumed.
    pub(super) resumable: bool,
    pub(super) journal_text: String,
}

impl MigrationCourse<'_> {
    /// Waits until `goal` holds.
    ///
    /// # Errors
    /// [`DemoError::Stalled`] at the deadline, [`DemoError::Stopped`] for a migration that failed too often.
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

    /// Gives a command again and again until it is seen to have worked.
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

    /// Makes a plan, as soon as an agent is there that can look at the shards.
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

    /// Waits until a condition holds that is not the migration's.
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

    /// How far the fault is.
    pub(super) fn struck(&self) -> FaultProgress {
        *self.struck.borrow()
    }

    /// The migration, unless it cannot be seen; keeps the ledger's phase.
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

/// Whether the map names the target, or did.
pub(super) fn is_flipped(migration: &MigrationStatus) -> bool {
    matches!(
        migration.state,
        MigrationState::Flipped | MigrationState::Completed | MigrationState::RolledBack
    )
}
