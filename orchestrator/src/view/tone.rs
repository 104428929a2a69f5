//! The tone of a state: how urgent it is for an operator. Pages and the command line show it as a colour, always beside
//! the word of the state.

use crate::controller::operations::OperationState;
use plans::failure::Severity;
use plans::state::step::StepState;
use std::fmt;

/// How urgent a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Nothing happens, or not any more.
    Quiet,
    /// Work is going on.
    Busy,
    /// The operator must act.
    Ask,
    /// Something has failed.
    Bad,
    /// The state is as wanted.
    Good,
}

impl Tone {
    /// Returns the tone of an operation or a migration.
    #[must_use]
    pub fn of_operation(state: OperationState) -> Self {
        match state {
            OperationState::Planned | OperationState::Unwound | OperationState::RolledBack => {
                Self::Quiet
            }
            OperationState::Running | OperationState::Unwinding => Self::Busy,
            OperationState::Waiting | OperationState::Paused | OperationState::Partial => Self::Ask,
            OperationState::Failed => Self::Bad,
            OperationState::Flipped | OperationState::Completed => Self::Good,
        }
    }

    /// Returns the tone of a step.
    #[must_use]
    pub fn of_step(state: StepState) -> Self {
        match state {
            StepState::Pending | StepState::Skipped => Self::Quiet,
            StepState::Running => Self::Busy,
            StepState::Backoff => Self::Ask,
            StepState::Failed => Self::Bad,
            StepState::Done => Self::Good,
        }
    }

    /// Returns the tone of a finding.
    #[must_use]
    pub fn of_finding(severity: Severity) -> Self {
        match severity {
            Severity::Refused => Self::Bad,
            Severity::Warning => Self::Ask,
            Severity::Note => Self::Quiet,
        }
    }

    /// Returns the tone of an agent.
    #[must_use]
    pub fn of_agent(is_connected: bool) -> Self {
        match is_connected {
            true => Self::Good,
            false => Self::Bad,
        }
    }
}

impl fmt::Display for Tone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quiet => "quiet",
            Self::Busy => "busy",
            Self::Ask => "ask",
            Self::Bad => "bad",
            Self::Good => "good",
        })
    }
}
