//! A request: what the operator writes, in YAML or JSON.
//!
//! Absent: whether it fits a map; that is the planner's to say.

mod check;
mod operations;
mod options;
mod parse;

pub use operations::{
    Drain, Isolate, KeyMove, Measure, Merge, MoveKeys, Part, Rebalance, Split, Tables,
};
pub use options::{Cutover, Ddl, DualWrite, Hold, LongWriters, Mode, Options, Schema, TrialRun};

use crate::id::MapName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do, to which map, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "operation", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Divide a shard's keys; all parts but the one that stays go to other shards.
    Split(Split),
    /// Gather the keys of two or more shards on one.
    Merge(Merge),
    /// Give key sets, or all keys of a shard, to another shard.
    Move(MoveKeys),
    /// Give a tenant a shard of its own.
    Isolate(Isolate),
    /// Empty a shard.
    Drain(Drain),
    /// Even out the load of a map's shards.
    Rebalance(Rebalance),
}

/// Why a request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Malformed, with the place.
    #[error("the request cannot be read: {message}")]
    Malformed {
        /// The place, the parser's words, and the lines around the place.
        message: String,
        /// Line, from 1.
        line: Option<u64>,
        /// Column, from 1.
        column: Option<u64>,
    },
    /// Read, but contradictory; all reasons at once.
    #[error("the request is not valid: {}", problems.join("; "))]
    Invalid {
        /// Each reason.
        problems: Vec<String>,
    },
}

impl Request {
    /// Reads a request from YAML or JSON (JSON is YAML) and checks what can be checked without a map.
    ///
    /// # Errors
    /// [`RequestError`] with line and column, or with every contradiction found.
    pub fn parse(text: &str) -> Result<Self, RequestError> {
        let request = parse::read(text)?;
        let problems = request.problems();
        if problems.is_empty() {
            Ok(request)
        } else {
            Err(RequestError::Invalid { problems })
        }
    }

    /// The JSON schema of a request, for editors.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// The operation's name.
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

    /// The map that the request is about.
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

    /// The options.
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

    /// The sharded tables, where the request lists them, and the tables to leave alone.
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
