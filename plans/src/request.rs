//! A request: what the operator writes, in YAML or JSON.
//!
//! This module checks a request without a map. The planner checks whether it fits the map.

mod check;
mod operations;
mod options;
mod parse;

pub use operations::{
    Drain, Isolate, Measure, Merge, MoveEntry, MoveOperation, Part, Rebalance, Split, Tables,
};
pub use options::{
    Cutover, Ddl, DualWrite, Hold, LongWriters, Mode, Options, Schema, Seed, TrialRun,
};

use crate::id::MapName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operation on a map, with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "operation", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Divide a shard's keys into parts. One part may stay; the others move to other shards.
    Split(Split),
    /// Move the keys of two or more shards to one shard.
    Merge(Merge),
    /// Move key sets, or all keys of a shard, to another shard.
    Move(MoveOperation),
    /// Give a tenant a shard of its own.
    Isolate(Isolate),
    /// Move all keys of a shard to other shards.
    Drain(Drain),
    /// Distribute the load of a map evenly over its shards.
    Rebalance(Rebalance),
}

/// Why a request cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The text is malformed. The error has a position.
    #[error("the request cannot be read: {message}")]
    Malformed {
        /// The position, the parser's message, and the lines around the position.
        message: String,
        /// The line, from 1.
        line: Option<u64>,
        /// The column, from 1.
        column: Option<u64>,
    },
    /// The request was parsed, but it contradicts itself. The error has all reasons.
    #[error("the request is not valid: {}", problems.join("; "))]
    Invalid {
        /// The reasons.
        problems: Vec<String>,
    },
}

impl Request {
    /// Parses a request from YAML or JSON (JSON is YAML), and checks what can be checked without a map.
    ///
    /// # Errors
    /// [`RequestError`] with line and column, or with every contradiction.
    pub fn parse(text: &str) -> Result<Self, RequestError> {
        let request = Self::read(text)?;
        let problems = request.problems();
        if problems.is_empty() {
            Ok(request)
        } else {
            Err(RequestError::Invalid { problems })
        }
    }

    /// Parses a request that may be unfinished, for an editor: a name can be empty, and the request can contradict
    /// itself.
    ///
    /// # Errors
    /// [`RequestError::Malformed`] with line and column.
    pub fn read(text: &str) -> Result<Self, RequestError> {
        parse::read(text)
    }

    /// Returns the JSON schema of a request, for editors.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Returns the name of the operation.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        match self {
            Self::Split(_) => "split",
            Self::Merge(_) => "merge",
            Self::Move(_) => "move",
            Self::Isolate(_) => "isolate",
            Self::Drain(_) => "drain",
            Self::Rebalance(_) => "rebalance",
        }
    }

    /// Returns the map of the request.
    #[must_use]
    pub fn map(&self) -> &MapName {
        match self {
            Self::Split(request) => &request.map,
            Self::Merge(request) => &request.map,
            Self::Move(request) => &request.map,
            Self::Isolate(request) => &request.map,
            Self::Drain(request) => &request.map,
            Self::Rebalance(request) => &request.map,
        }
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &Options {
        match self {
            Self::Split(request) => &request.options,
            Self::Merge(request) => &request.options,
            Self::Move(request) => &request.options,
            Self::Isolate(request) => &request.options,
            Self::Drain(request) => &request.options,
            Self::Rebalance(request) => &request.options,
        }
    }

    /// Returns the sharded tables, if the request lists them, and the tables that do not belong to the map.
    #[must_use]
    pub fn tables(&self) -> (&Tables, &[String]) {
        match self {
            Self::Split(request) => (&request.tables, &request.ignore),
            Self::Merge(request) => (&request.tables, &request.ignore),
            Self::Move(request) => (&request.tables, &request.ignore),
            Self::Isolate(request) => (&request.tables, &request.ignore),
            Self::Drain(request) => (&request.tables, &request.ignore),
            Self::Rebalance(request) => (&request.tables, &request.ignore),
        }
    }
}
