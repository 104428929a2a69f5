//! SQL that removes a finding: statements, each with the stage of a script at which it runs.

use crate::id::ShardName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a statement runs: all of a stage before those of the next, so that each finds what it needs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FixStage {
    /// Roles, memberships, privileges.
    Roles,
    /// Settings of the server, the database and the role.
    Settings,
    /// Functions, which every later statement may call.
    Functions,
    /// Deletes rows; a script has such statements only where they are asked for.
    Deletes,
    /// Columns and how a table is stored.
    Tables,
    /// Indexes, built beside the application's writes.
    Indexes,
    /// What identifies rows: it needs columns and indexes.
    Identities,
    /// Constraints that are checked against the rows.
    Constraints,
    /// Triggers, rules, sequences.
    Others,
}

/// One statement, or a few that belong together, for `psql`; it can run again, and then changes nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixStatement {
    /// When it runs.
    pub stage: FixStage,
    /// With its last semicolon; a condition is one of `psql`.
    pub sql: String,
}

/// What removes a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// The shard in whose database it runs.
    pub shard: ShardName,
    /// In the order in which they run.
    pub statements: Vec<FixStatement>,
}

impl FixStatement {
    /// Statements with commands of `psql` between them, as they are.
    #[must_use]
    pub fn psql(stage: FixStage, text: impl Into<String>) -> Self {
        let sql = text.into();
        Self { stage, sql }
    }

    /// A statement of this stage; the last semicolon is added.
    #[must_use]
    pub fn new(stage: FixStage, sql: impl AsRef<str>) -> Self {
        let sql = sql.as_ref().trim_end_matches(';');
        Self {
            stage,
            sql: format!("{sql};"),
        }
    }
}
