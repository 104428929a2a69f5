//! The states of one step.

use super::IllegalTransition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// The step has not begun. Steps on which it depends are possibly not done yet.
    #[default]
    Pending,
    /// An agent executes it.
    Running,
    /// Its last attempt failed. The controller dispatches it again after a pause.
    Backoff,
    /// Its last execution failed and is not repeated: all tries are used, or another one cannot help.
    Failed,
    /// It is done, and its result is still valid.
    Done,
    /// It is not needed, because the migration took another path.
    Skipped,
}

/// An event that changes the state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEvent {
    /// The controller dispatched the step to an agent.
    Dispatched,
    /// The agent reports that it is done.
    Completed,
    /// The attempt failed and will be repeated.
    Faulted,
    /// The attempt failed and will not be repeated.
    GaveUp,
    /// The agent stopped on request, or has ended.
    Interrupted,
    /// The operator requests another attempt.
    Retried,
    /// An earlier step must run again, and therefore this one too.
    Rewound,
    /// The step is not needed any more.
    Dropped,
    /// The step is needed after all, because the migration returns to its earlier path.
    Restored,
}

impl StepState {
    /// Returns the state after `event`.
    ///
    /// # Errors
    /// [`IllegalTransition`] if the event cannot occur in this state.
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

    /// Returns the name in SQL, JSON and on pages.
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

    /// Returns the state with this name.
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
