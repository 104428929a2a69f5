//! The error of `standby create`.

use crate::controller::ControllerError;
use crate::error::StepError;

/// Why the standby could not be created.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StandbyError {
    message: String,
    hints: Vec<String>,
}

impl StandbyError {
    /// Creates an error with a remedy, which can be empty.
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        Self {
            message: message.into(),
            hints: if hint.is_empty() { vec![] } else { vec![hint] },
        }
    }

    /// Returns the function that adds the action to the error of the operating system.
    pub(super) fn io(action: &str, hint: &str) -> impl FnOnce(std::io::Error) -> Self {
        let (action, hint) = (action.to_owned(), hint.to_owned());
        move |error| Self::new(format!("could not {action}: {error}"), hint)
    }

    pub(super) fn adding_hint(mut self, hint: &str) -> Self {
        self.hints.push(hint.to_owned());
        self
    }

    /// Returns the remedies, and what exists afterwards.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<ControllerError> for StandbyError {
    fn from(error: ControllerError) -> Self {
        let hint = match &error {
            ControllerError::Refused {
                status: 401 | 403, ..
            } => "the command needs the token of an administrator: --token-file",
            ControllerError::Refused { .. } | ControllerError::UnknownWork { .. } => "",
            ControllerError::Unreachable { .. } => "--controller names its URL",
        };
        Self::new(error.to_string(), hint)
    }
}

impl From<StepError> for StandbyError {
    fn from(error: StepError) -> Self {
        let hint = error.failure().and_then(|failure| failure.hint.clone());
        Self::new(error.to_string(), hint.unwrap_or_default())
    }
}
