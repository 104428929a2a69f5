//! A request: what the operator writes, in YAML or JSON.

mod parse;

use crate::id::{MapName, ShardName};
use crate::key_set::KeyRange;
use crate::table::TableName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What to do, to which map, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "operation", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Divide a shard's keys; one part moves to another shard.
    Split(Split),
}

/// Divide the keys that one shard owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The shard map.
    pub map: MapName,
    /// The shard whose keys are divided.
    pub source: ShardName,
    /// The parts; together they are exactly the keys of one mapping of the source.
    #[schemars(length(min = 2))]
    pub into: Vec<Part>,
    /// Each sharded table (`schema.name`, or a bare name in `public`) and its key column.
    pub tables: BTreeMap<String, String>,
    /// Tables that stay as they are; every other table must be listed under `tables`.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// How the migration behaves; every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// One part of a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The shard that owns this part afterwards.
    pub shard: ShardName,
    /// Its keys, `from <= key < to`.
    pub keys: KeyRange,
}

/// How a migration behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether the cutover waits for `approve`.
    pub cutover: Cutover,
    /// Longest time that writes to the moving keys may be refused in one attempt, milliseconds (50 to 60000).
    #[schemars(range(min = 50, max = 60_000))]
    pub write_stop_budget_ms: u32,
    /// COPY streams side by side (1 to 16).
    #[schemars(range(min = 1, max = 16))]
    pub copy_streams: u32,
    /// Rows kept on the source after the flip, for a roll back, until `finish` or for a time.
    pub hold: Hold,
    /// Attempts of a step before the migration fails (1 to 100).
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cutover: Cutover::Approve,
            write_stop_budget_ms: 2000,
            copy_streams: 2,
            hold: Hold::UntilFinish,
            max_attempts: 8,
        }
    }
}

/// Who starts the cutover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cutover {
    /// The operator, by `approve`.
    Approve,
    /// The controller, as soon as everything is verified.
    Automatic,
}

/// How long the old copy is kept in step after the flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Until the operator says `finish`.
    UntilFinish,
    /// For this many seconds.
    Seconds(u32),
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

    /// The map that the request is about.
    #[must_use]
    pub fn map(&self) -> &MapName {
        let Self::Split(split) = self;
        &split.map
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Options {
        let Self::Split(split) = self;
        &split.options
    }

    fn problems(&self) -> Vec<String> {
        let Self::Split(split) = self;
        let mut problems = split.options.problems();
        problems.extend(split.name_problems());
        problems.extend(split.part_problems());
        problems
    }
}

impl Split {
    fn name_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let parts = self.into.iter().map(|part| part.shard.as_str());
        let names = [self.map.as_str(), self.source.as_str()];
        if names.into_iter().chain(parts).any(str::is_empty) {
            problems.push("the name of a map or shard is empty".to_owned());
        }
        if self.tables.is_empty() {
            problems.push("no table is listed under `tables`".to_owned());
        }
        let mut seen = BTreeSet::new();
        for text in self.tables.keys().chain(&self.ignore) {
            let table = TableName::parse(text);
            if !seen.insert(table.clone()) {
                problems.push(format!(
                    "table {table} is listed twice under `tables` and `ignore`"
                ));
            }
        }
        problems
    }

    fn part_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.into.len() < 2 {
            problems.push("a split needs at least two parts under `into`".to_owned());
        }
        for (index, part) in self.into.iter().enumerate() {
            if part.keys.is_empty() {
                problems.push(format!(
                    "the keys of part {} ({}) are empty",
                    part.shard, part.keys
                ));
            }
            for other in &self.into[index + 1..] {
                if part.keys.overlaps(&other.keys) {
                    problems.push(format!(
                        "the parts {} ({}) and {} ({}) overlap",
                        part.shard, part.keys, other.shard, other.keys
                    ));
                }
            }
        }
        problems
    }
}

impl Options {
    fn problems(&self) -> Vec<String> {
        let limits = [
            (
                "write_stop_budget_ms",
                self.write_stop_budget_ms,
                50,
                60_000,
            ),
            ("copy_streams", self.copy_streams, 1, 16),
            ("max_attempts", self.max_attempts, 1, 100),
        ];
        limits
            .into_iter()
            .filter(|(_, value, low, high)| value < low || value > high)
            .map(|(name, value, low, high)| {
                format!("option {name} is {value}, not within {low} to {high}")
            })
            .collect()
    }
}
