//! A failure as an agent reports it to the operator: what happened, whether to try again, and what fixes it.

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
    /// A stable code in the form `noun.reason`, for example `connect.refused`.
    pub code: String,
    /// What happened, with the names of the objects.
    pub message: String,
    /// What the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether and how the controller tries again.
    pub retry: RetryClass,
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
