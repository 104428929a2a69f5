//! A failure as an agent reports it to the operator: what happened, whether to try again, and what fixes it.

mod step_code;

pub use step_code::{SQL_CODE_PREFIX, StepCode};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether and how the controller tries a failed step again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryClass {
    /// Not at all: a person must fix something first, for example a wrong password or a missing table.
    None,
    /// At a fixed interval, for example when a condition does not hold yet or a lock is taken.
    Fixed,
    /// With growing pauses, for example after a lost connection, a serialization failure or throttling.
    Exponential,
}

/// Why a step or an inspection failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The name of a [`StepCode`], or `sql.` and an SQLSTATE.
    pub code: String,
    /// What happened, with the names of the objects.
    pub message: String,
    /// What the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether and how the controller tries again.
    pub retry: RetryClass,
}

impl Failure {
    /// Returns true if the failure has this code.
    #[must_use]
    pub fn has_code(&self, code: StepCode) -> bool {
        self.code == code.name()
    }

    /// Returns true if the failure has one of these codes.
    #[must_use]
    pub fn has_code_of(&self, codes: &[StepCode]) -> bool {
        codes.iter().any(|code| self.has_code(*code))
    }

    /// Returns true if a stream lacks changes after this failure: its slot is gone, invalidated or has a gap, or a standby
    /// was promoted. Before the flip the agent then captures again, and compares the copied rows.
    #[must_use]
    pub fn loses_changes(&self) -> bool {
        self.has_code_of(&[
            StepCode::LogLimit,
            StepCode::ServerPromoted,
            StepCode::SlotGap,
            StepCode::SlotLost,
            StepCode::SlotMissing,
        ])
    }

    /// Returns the SQLSTATE if the failure is an error of PostgreSQL.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        self.code.strip_prefix(SQL_CODE_PREFIX)
    }
}

/// The severity of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Useful to know.
    Note,
    /// Possibly harmful.
    Warning,
    /// Nothing starts before it is fixed.
    Refused,
}

impl Severity {
    /// Returns the word for the severity.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Refused => "refused",
        }
    }
}
