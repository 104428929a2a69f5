//! A finding: one thing on a shard that prevents a move, or that is worth knowing.

use crate::failure::Severity;
use crate::fix::{Fix, FixStatement};
use crate::id::ShardName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finding on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The number of its chapter in docs/doctor.md, for example `SW0102`; empty if an older version has stored the
    /// finding.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sw: String,
    /// A stable name, for example `server.wal_level`.
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// The shard and the object, for example `shard a, table public.orders`.
    pub object: String,
    /// What would go wrong.
    pub problem: String,
    /// The statement or the setting that fixes it.
    pub remedy: String,
    /// SQL that fixes it, if SQL alone suffices and is correct for every application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Finding {
    /// Creates a finding of the kind `name`, which determines its number and its severity.
    #[must_use]
    pub fn new(
        name: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let code = super::find(name);
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

    /// Adds the SQL statements that fix it on a shard.
    pub fn fixed_by(&mut self, shard: &str, statements: Vec<FixStatement>) {
        self.fix = Some(Fix {
            shard: ShardName::from(shard),
            statements,
        });
    }
}
