//! A failure as it travels from an agent to the operator: what, how to retry, what mends it.

use crate::fix::{Fix, Statement};
use crate::id::ShardName;
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

/// One thing that preflight found on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The number of its chapter in docs/doctor.md, for example `SW0102`; empty in what older versions have stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sw: String,
    /// Stable name, for example `server.wal_level`.
    pub code: String,
    /// How grave it is.
    pub severity: Severity,
    /// Shard and object, for example `shard a, table public.orders`.
    pub object: String,
    /// What would go wrong.
    pub problem: String,
    /// The statement or setting that fixes it.
    pub remedy: String,
    /// The same as SQL for a script, where SQL alone removes the finding and is right whatever the application is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Finding {
    /// A finding of the row `name`, which gives it its number and how grave it is.
    #[must_use]
    pub fn new(
        name: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let code = crate::doctor::find(name);
        Self {
            sw: code.map_or_else(String::new, |code| code.sw.to_owned()),
            code: name.to_owned(),
            severity: code.map_or(Severity::Refused, |code| code.severity),
            object: object.into(),
            problem: problem.into(),
            remedy: remedy.into(),
            fix: None,
        }
    }

    /// With the statements that remove it from a shard.
    pub fn fixed_by(&mut self, shard: &str, statements: Vec<Statement>) {
        self.fix = Some(Fix {
            shard: ShardName::from(shard),
            statements,
        });
    }
}
