//! A request: what the operator writes, in YAML or JSON.
//!
//! Absent: whether it fits a map; that is the planner's to say.

mod check;
mod parse;
mod selection;

use crate::id::{MapName, ShardName};
use crate::key::Key;
use crate::shard_map::KeyColumns;
use schemars::JsonSchema;
pub use selection::Selection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// Sharded tables with their key columns; a map that knows its tables need not be told again.
pub type Tables = BTreeMap<String, KeyColumns>;

/// Divide the keys that one shard owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The shard map.
    pub map: MapName,
    /// The shard whose keys are divided.
    pub source: ShardName,
    /// The parts; together they are exactly the keys of one mapping of the source, or all that it owns.
    #[schemars(length(min = 2))]
    pub into: Vec<Part>,
    /// Finds the split points: the parts then name shards and, where they are not to be even, shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub even: Option<Measure>,
    /// Each sharded table (`schema.name`, or a bare name in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that stay as they are; every other table must be listed somewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    /// Its keys; left out with `even`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Selection>,
    /// With `even`: its share relative to the other parts' shares; 1 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u32>,
}

/// What load is counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Rows, estimated from samples.
    Rows,
    /// Bytes of rows, estimated from samples.
    Bytes,
    /// Row changes per second, seen in the log for a while.
    Writes,
    /// A query of the operator's, run on each shard; it returns the key's columns and a number.
    Query(String),
}

/// Gather shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The shard map.
    pub map: MapName,
    /// The shards whose keys are gathered.
    #[schemars(length(min = 1))]
    pub sources: Vec<ShardName>,
    /// The shard that owns them afterwards: one of the sources, another live shard, or a new one.
    pub into: ShardName,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// Move key sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveKeys {
    /// The shard map.
    pub map: MapName,
    /// What goes where.
    #[schemars(length(min = 1))]
    pub moves: Vec<KeyMove>,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// One key set and where it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyMove {
    /// Where the keys are.
    pub source: ShardName,
    /// Where they go.
    pub target: ShardName,
    /// The keys; without them all that the source owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Selection>,
    /// Online or offline, where it differs from the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// Give a tenant a shard of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isolate {
    /// The shard map.
    pub map: MapName,
    /// The tenant's key; on a hash map its whole virtual shard goes along.
    pub key: Key,
    /// The shard that it gets.
    pub target: ShardName,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// Empty a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// The shard map.
    pub map: MapName,
    /// The shard that is emptied.
    pub source: ShardName,
    /// Where its keys may go; without it every other shard of the map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<ShardName>,
    /// What the load of keys is counted by.
    #[serde(default = "by_rows")]
    pub by: Measure,
    /// Drop the emptied tables on the shard at the end.
    #[serde(default)]
    pub drop_tables: bool,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// Even out the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebalance {
    /// The shard map.
    pub map: MapName,
    /// What load is counted by.
    #[serde(default = "by_rows")]
    pub by: Measure,
    /// Shards that take part beside those that own keys: new ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub onto: Vec<ShardName>,
    /// How much more than its fair share a shard may carry, percent.
    #[serde(default = "ten_percent")]
    #[schemars(range(min = 1, max = 100))]
    pub threshold_percent: u32,
    /// Most bytes to move in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Seconds for which writes are watched, when load is counted by them.
    #[serde(default = "ten_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub watch_seconds: u32,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

fn by_rows() -> Measure {
    Measure::Rows
}

fn ten_percent() -> u32 {
    10
}

fn ten_seconds() -> u32 {
    10
}

/// Whether the application writes to the moving keys meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It does; writes are refused for milliseconds at the cutover.
    #[default]
    Online,
    /// The moving keys are read-only from the copy to the flip.
    Offline,
}

impl Mode {
    /// The name in requests and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
        }
    }
}

/// How a migration behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether the application goes on writing to the moving keys.
    pub mode: Mode,
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
    /// Moves of this operation that are under way at once (1 to 64).
    #[schemars(range(min = 1, max = 64))]
    pub moves_at_once: u32,
    /// Of these, at most so many that touch one shard (1 to 64).
    #[schemars(range(min = 1, max = 64))]
    pub moves_per_shard: u32,
    /// Pause between two batches of deleted rows, milliseconds (0 to 60000).
    #[schemars(range(max = 60_000))]
    pub drop_pause_ms: u32,
    /// When a write to the moving keys is acknowledged while both shards are kept in step.
    #[serde(skip_serializing_if = "is_usual")]
    pub dual_write: DualWrite,
    /// Longest time that a commit waits for the other shard when dual-write is synchronous, milliseconds (200 to 60000).
    #[schemars(range(min = 200, max = 60_000))]
    #[serde(skip_serializing_if = "is_usual_limit")]
    pub dual_write_limit_ms: u32,
    /// What is done about a writer that does not end and so keeps the cutover from starting.
    #[serde(skip_serializing_if = "is_usual")]
    pub long_writers: LongWriters,
    /// What is done about a change of the moving tables' definitions.
    #[serde(skip_serializing_if = "is_usual")]
    pub ddl: Ddl,
    /// Standbys, by `application_name`, that a cutover does not wait for: they must not be promoted afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_standbys: Vec<String>,
    /// Oldest snapshot that the copy may hold on the source, seconds (10 to 86400); a table that takes longer is copied in ranges of its key.
    #[schemars(range(min = 10, max = 86_400))]
    pub snapshot_age_s: u32,
    /// Most log that a shard may have to keep for this migration, MiB (64 to 1048576).
    #[schemars(range(min = 64, max = 1_048_576))]
    pub wal_cap_mb: u32,
    /// Why rules of the map may be broken; without a reason a plan that breaks one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_rules: Option<String>,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const DUAL_WRITE_LIMIT_MS: u32 = 3000;

fn is_usual_limit(limit: &u32) -> bool {
    *limit == DUAL_WRITE_LIMIT_MS
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Online,
            cutover: Cutover::Approve,
            write_stop_budget_ms: 2000,
            copy_streams: 2,
            hold: Hold::UntilFinish,
            max_attempts: 8,
            moves_at_once: 2,
            moves_per_shard: 2,
            drop_pause_ms: 10,
            dual_write: DualWrite::Asynchronous,
            dual_write_limit_ms: DUAL_WRITE_LIMIT_MS,
            long_writers: LongWriters::Wait,
            ddl: Ddl::Halt,
            ignore_standbys: Vec::new(),
            snapshot_age_s: 600,
            wal_cap_mb: 4096,
            override_rules: None,
        }
    }
}

/// When a write to the moving keys is acknowledged while both shards are kept in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DualWrite {
    /// Once it is durable on its shard; the other one follows within milliseconds.
    #[default]
    Asynchronous,
    /// Once it is durable on both shards.
    Synchronous,
}

/// What is done about a writer that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongWriters {
    /// The cutover waits and says for whom.
    #[default]
    Wait,
    /// Once it has waited this many seconds it asks for leave to cancel the writer, naming pid and query.
    CancelAfter(u32),
}

/// What is done about a change of the moving tables' definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ddl {
    /// It is noticed, and the migration halts until both sides are equal again.
    #[default]
    Halt,
    /// It is refused on both shards while the migration is under way; this takes the rights of a superuser.
    Refuse,
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
