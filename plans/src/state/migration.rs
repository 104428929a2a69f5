//! The states of a migration as its operator sees them.

use super::IllegalTransition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The state of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrationState {
    /// Submitted, but not started.
    #[default]
    Planned,
    /// Its steps run.
    Running,
    /// It waits for an approval.
    Waiting,
    /// An operator paused it. The steps that are done stay done.
    Paused,
    /// A step failed and is not repeated. The migration keeps its state until `resume` or `abort`.
    Failed,
    /// It is being aborted: the agent removes everything that it created.
    Unwinding,
    /// It was aborted. The source still has all rows.
    Unwound,
    /// The map names the target as owner. A rollback is possible until `finish`.
    Flipped,
    /// It has ended, and the old rows are removed.
    Completed,
    /// The map names the source as owner again.
    RolledBack,
}

/// An event that changes the state of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrationEvent {
    /// The controller starts the migration.
    Started,
    /// The next step needs an approval.
    Held,
    /// The operator approves.
    Approved,
    /// The reason for which it needed an approval no longer exists.
    Cleared,
    /// The operator pauses it.
    Paused,
    /// The operator resumes a migration that had not started.
    ResumedPlanned,
    /// The operator resumes a migration before its flip.
    Resumed,
    /// The operator resumes a migration after its flip.
    ResumedFlipped,
    /// The operator resumes a migration after a rollback.
    ResumedRolledBack,
    /// A step failed and is not repeated.
    Failed,
    /// The operator aborts it.
    Aborted,
    /// The abort is complete.
    Unwound,
    /// The flip was committed (C9).
    Flipped,
    /// The flip of a rollback was committed.
    RolledBack,
    /// After a rollback the operator requests another cutover.
    Again,
    /// The last step is done.
    Completed,
}

impl MigrationState {
    /// Returns the state after `event`.
    ///
    /// # Errors
    /// [`IllegalTransition`] if the event cannot occur in this state.
    pub fn next(self, event: MigrationEvent) -> Result<Self, IllegalTransition> {
        use {MigrationEvent as E, MigrationState as S};
        match (self, event) {
            (S::Planned, E::Started) => Ok(S::Running),
            (S::Running, E::Held) => Ok(S::Waiting),
            (S::Waiting, E::Approved | E::Cleared) => Ok(S::Running),
            (S::Planned | S::Running | S::Waiting | S::Flipped | S::RolledBack, E::Paused) => {
                Ok(S::Paused)
            }
            (S::Paused | S::Failed, E::ResumedPlanned) => Ok(S::Planned),
            (S::Paused | S::Failed, E::Resumed) => Ok(S::Running),
            (S::Paused | S::Failed, E::ResumedFlipped) => Ok(S::Flipped),
            (S::Paused | S::Failed, E::ResumedRolledBack) => Ok(S::RolledBack),
            (
                S::Planned | S::Running | S::Waiting | S::Paused | S::Flipped | S::RolledBack,
                E::Failed,
            ) => Ok(S::Failed),
            (S::Planned | S::Running | S::Waiting | S::Paused | S::Failed, E::Aborted) => {
                Ok(S::Unwinding)
            }
            (S::Unwinding, E::Unwound) => Ok(S::Unwound),
            (S::Running, E::Flipped) => Ok(S::Flipped),
            (S::Flipped, E::RolledBack) => Ok(S::RolledBack),
            (S::Flipped, E::Completed) => Ok(S::Completed),
            (S::RolledBack, E::Again) => Ok(S::Running),
            (S::RolledBack, E::Completed) => Ok(S::RolledBack),
            (state, event) => Err(IllegalTransition {
                machine: "migration",
                state: state.name().to_owned(),
                event: format!("{event:?}").to_lowercase(),
            }),
        }
    }

    /// All states, in the usual order.
    pub const ALL: [Self; 10] = [
        Self::Planned,
        Self::Running,
        Self::Waiting,
        Self::Paused,
        Self::Failed,
        Self::Unwinding,
        Self::Unwound,
        Self::Flipped,
        Self::Completed,
        Self::RolledBack,
    ];

    /// Returns the name in SQL, JSON and on pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Unwinding => "unwinding",
            Self::Unwound => "unwound",
            Self::Flipped => "flipped",
            Self::Completed => "completed",
            Self::RolledBack => "rolled_back",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl fmt::Display for MigrationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
