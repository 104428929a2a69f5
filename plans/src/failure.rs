//! A failure as it travels from an agent to the operator: what, how to retry, what fixes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether and how a failed step is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryClass {
    /// Trying again cannot help: someone must mend something first (bad password, missing table).
    None,
    /// Try again at a fixed interval (a gate that is not met yet, a lock that is taken).
    Fixed,
    /// Try again with growing pauses (connection loss, serialization, throttling).
    Exponential,
}

/// Why a step did not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Stable code in `noun.reason` form, for example `connect.refused`.
    pub code: String,
    /// What happened, with the objects' names.
    pub message: String,
    /// What mends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How to try again.
    pub retry: RetryClass,
}

/// How grave a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// May hurt.
    Warning,
    /// Nothing starts before this is mended.
    Refused,
}
