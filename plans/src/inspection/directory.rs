//! An existing directory table, read to import a map from it.

use crate::plan::ShardRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows that an answer holds at most; a query that returns more is refused.
pub const MOST_ROWS: usize = 5_000_000;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryTask {
    /// The database; its name stands in messages.
    pub shard: ShardRef,
    /// One SELECT, run in a read-only transaction.
    pub query: String,
    /// The query is given up after this time, milliseconds.
    pub timeout_ms: u32,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directory {
    /// Names of the result's columns.
    pub columns: Vec<String>,
    /// The rows as text in ISO formats and UTC; a null is none.
    pub rows: Vec<Vec<Option<String>>>,
}
