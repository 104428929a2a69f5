//! SQL that fixes a finding: statements, each with the stage of the script in which it runs.

use crate::id::ShardName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The stage in which a statement runs. All statements of a stage run before those of the next, so that each finds what
/// it needs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FixStage {
    /// Roles, memberships and privileges.
    Roles,
    /// Settings of the server, the database and the role.
    Settings,
    /// Functions, which later statements may call.
    Functions,
    /// Deletions of rows. A script contains them only if they were requested.
    Deletes,
    /// Columns, and how a table is stored.
    Tables,
    /// Indexes, created with CONCURRENTLY.
    Indexes,
    /// Replica identities, which need columns and indexes.
    Identities,
    /// Constraints that are checked against the rows.
    Constraints,
    /// Triggers, rules and sequences.
    Others,
}

/// One statement, or a few related ones, for `psql`. If it runs again, it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixStatement {
    /// The stage.
    pub stage: FixStage,
    /// The text with its last semicolon. A condition is written as a command of `psql`.
    pub sql: String,
}

/// The SQL that fixes a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// The shard in whose database it runs.
    pub shard: ShardName,
    /// The statements in the order in which they run.
    pub statements: Vec<FixStatement>,
}

impl FixStatement {
    /// Creates a fix of this stage from a text of statements and commands of `psql`. The text is not changed.
    #[must_use]
    pub fn psql(stage: FixStage, text: impl Into<String>) -> Self {
        let sql = text.into();
        Self { stage, sql }
    }

    /// Creates a fix of this stage from one statement, and adds the last semicolon.
    #[must_use]
    pub fn new(stage: FixStage, sql: impl AsRef<str>) -> Self {
        let sql = sql.as_ref().trim_end_matches(';');
        Self {
            stage,
            sql: format!("{sql};"),
        }
    }
}
