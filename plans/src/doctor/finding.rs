//! A finding: one thing that stands in the way of a move on a shard, or is worth knowing.

use crate::failure::Severity;
use crate::fix::{Fix, FixStatement};
use crate::id::ShardName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

    /// With the statements that remove it from a shard.
    pub fn fixed_by(&mut self, shard: &str, statements: Vec<FixStatement>) {
        self.fix = Some(Fix {
            shard: ShardName::from(shard),
            statements,
        });
    }
}
