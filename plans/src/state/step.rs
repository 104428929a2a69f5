//! The life of one step.

use super::IllegalTransition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Not begun; its dependencies may not be done.
    #[default]
    Pending,
    /// An agent holds it.
    Running,
    /// Its last attempt failed; it runs again when its pause is over.
    Backoff,
    /// Its attempts are spent, or trying again cannot help.
    Failed,
    /// Its promise holds.
    Done,
    /// Never needed: the migration took another way.
    Skipped,
}

/// What happens to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEvent {
    /// Given to an agent.
    Dispatched,
    /// The agent reports that the promise holds.
    Completed,
    /// The attempt failed and will be repeated.
    Faulted,
    /// The attempt failed for good.
    GaveUp,
    /// The agent stopped because it was told to, or is gone.
    Interrupted,
    /// The operator wants another try.
    Retried,
    /// An earlier step must run again, and with it this one.
    Rewound,
    /// Not needed any more.
    Dropped,
    /// Needed after all: the migration takes the way that it had left.
    Restored,
}

impl StepState {
    /// The state after `event`.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the event cannot happen in this state.
    pub fn next(self, event: StepEvent) -> Result<Self, IllegalTransition> {
        use {StepEvent as E, StepState as S};
        match (self, event) {
            (S::Pending | S::Backoff, E::Dispatched) => Ok(S::Running),
            (S::Running, E::Completed) => Ok(S::Done),
            (S::Running, E::Faulted) => Ok(S::Backoff),
            (S::Running, E::GaveUp) => Ok(S::Failed),
            (S::Running, E::Interrupted) => Ok(S::Pending),
            (S::Failed | S::Backoff, E::Retried) => Ok(S::Pending),
            (S::Pending | S::Running | S::Backoff | S::Failed | S::Done, E::Rewound) => {
                Ok(S::Pending)
            }
            (S::Pending | S::Running | S::Backoff | S::Failed, E::Dropped) => Ok(S::Skipped),
            (S::Skipped, E::Restored) => Ok(S::Pending),
            (state, event) => Err(IllegalTransition {
                machine: "step",
                state: format!("{state:?}").to_lowercase(),
                event: format!("{event:?}").to_lowercase(),
            }),
        }
    }

    /// The name in SQL, JSON and on screens.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Backoff => "backoff",
            Self::Failed => "failed",
            Self::Done => "done",
            Self::Skipped => "skipped",
        }
    }

    /// The state called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::Pending,
            Self::Running,
            Self::Backoff,
            Self::Failed,
            Self::Done,
            Self::Skipped,
        ]
        .into_iter()
        .find(|state| state.name() == name)
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
