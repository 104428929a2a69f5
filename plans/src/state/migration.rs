//! The life of a migration as its operator sees it.

use super::IllegalTransition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a migration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrationState {
    /// Submitted, not begun.
    #[default]
    Planned,
    /// Steps run.
    Running,
    /// Waits for an approval.
    Waiting,
    /// Stopped by the operator; keeps its state.
    Paused,
    /// A step failed for good; keeps its state until `resume` or `abort`.
    Failed,
    /// Taking back what was created.
    Unwinding,
    /// Taken back; the source was never changed.
    Unwound,
    /// The map names the target; a roll back is possible until `finish`.
    Flipped,
    /// Done; the old rows are gone.
    Completed,
    /// The map names the source again.
    RolledBack,
}

/// What happens to a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrationEvent {
    /// The controller takes it up.
    Started,
    /// The next step needs an approval.
    Held,
    /// The operator approves.
    Approved,
    /// What it asked the operator about has gone away.
    Cleared,
    /// The operator stops it.
    Paused,
    /// The operator lets it go on; it had not begun.
    ResumedPlanned,
    /// The operator lets it go on; before the flip.
    Resumed,
    /// The operator lets it go on; after the flip.
    ResumedFlipped,
    /// The operator lets it go on; after a roll back.
    ResumedRolledBack,
    /// A step failed for good.
    Failed,
    /// The operator takes it back.
    Aborted,
    /// Everything was taken back.
    Unwound,
    /// The flip was committed (C9).
    Flipped,
    /// The flip back was committed.
    RolledBack,
    /// The operator wants another cutover after a roll back.
    Again,
    /// The last step is done.
    Completed,
}

impl MigrationState {
    /// The state after `event`.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the event cannot happen in this state.
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

    /// Every state, in the order of a life.
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

    /// The name in SQL, JSON and on screens.
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

    /// The state called `name`.
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
