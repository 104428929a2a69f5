//! How far a step and its change stream are: what a heartbeat tells, and people read.

use crate::failure::Failure;
use crate::id::ShardName;
use crate::names::Direction;
use crate::throttle::ThrottleStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// What it is doing or waiting for, for people.
    pub message: String,
    /// Figures per table, where the step works table by table.
    pub tables: Vec<TableProgress>,
    /// Rows per second over the last seconds.
    pub rows_per_second: f64,
    /// Bytes per second over the last seconds.
    pub bytes_per_second: f64,
    /// Estimated seconds to the end of the step.
    pub eta_seconds: Option<f64>,
    /// What holds heavy work back now, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<ThrottleStatus>,
    /// What it found on the shards that has to end before it goes on, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// The lock that it waits for now, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Box<LockWait>>,
    /// What its sessions execute on the shards at this moment, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
}

/// A statement that a session of the migration executes: it names tables and moving keys, never values of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// The shard.
    pub shard: ShardName,
    /// What the session is for.
    pub role: String,
    /// Its beginning, with single spaces.
    pub text: String,
    /// How long it has run, milliseconds.
    pub ms: i64,
}

/// A lock that a session of the migration waits for, and the session in its way whose transaction is the oldest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockWait {
    /// The shard.
    pub shard: ShardName,
    /// The table, or what else is locked.
    pub object: String,
    /// Our server process.
    pub pid: i32,
    /// How long it has waited, milliseconds.
    pub waited_ms: Option<i64>,
    /// The other's server process; 0: a prepared transaction.
    pub holder: i32,
    /// Its role; empty where it may not be seen.
    pub user: String,
    /// What it calls itself.
    pub application: String,
    /// active, idle in transaction, or empty where it may not be seen.
    pub state: String,
    /// How long its transaction is open, milliseconds.
    pub open_ms: Option<i64>,
}

/// How far a table is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableProgress {
    /// `schema.name`.
    pub table: String,
    /// Rows done.
    pub rows_done: i64,
    /// Rows expected; an estimate until the table is done.
    pub rows_total: i64,
    /// Bytes done.
    pub bytes_done: i64,
    /// Bytes expected.
    pub bytes_total: i64,
    /// What is happening to it: copying, done, indexing, comparing.
    pub phase: String,
}

/// A change stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamStatus {
    /// Which way.
    pub direction: Direction,
    /// What it is doing.
    #[serde(default)]
    pub mode: StreamMode,
    /// Log that waits in the agent's spool, bytes.
    #[serde(default)]
    pub spooled_bytes: i64,
    /// Log that the origin keeps for the stream's slot.
    #[serde(default)]
    pub retained: Retained,
    /// Whether writes are acknowledged once they are on both shards.
    #[serde(default)]
    pub dual_write: DualWriteState,
    /// Log bytes between what was written and what was applied.
    pub lag_bytes: i64,
    /// How far the origin's log is known to reach, bytes from its beginning; 0 when unknown.
    #[serde(default)]
    pub written_at: i64,
    /// Up to where all of it that concerns the stream is applied.
    #[serde(default)]
    pub applied_at: i64,
    /// Age of the newest applied commit while changes are pending, milliseconds; 0 when level.
    pub lag_ms: i64,
    /// Transactions applied since the stream was opened.
    pub transactions: i64,
    /// Row changes applied since the stream was opened.
    pub changes: i64,
    /// Why it stopped for good, if it did.
    pub failure: Option<Failure>,
}

/// What a change stream is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamMode {
    /// Changes go straight to the other shard.
    #[default]
    Live,
    /// Changes are kept in the agent's spool: the copy is under way, or the other shard is away.
    Spooling,
    /// The spool is being applied while new changes still go into it.
    Draining,
}

/// Whether a write is acknowledged only once it is on both shards.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DualWriteState {
    /// The other shard follows within milliseconds; also before a synchronous one begins.
    #[default]
    Asynchronous,
    /// Every acknowledged write is on both shards.
    Synchronous,
    /// It was synchronous, and is asynchronous for now.
    Degraded {
        /// Since when, milliseconds since 1970.
        since_ms: i64,
        /// Why.
        why: String,
    },
}

/// Log that a server keeps for a replication slot, as it was seen last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Retained {
    /// Bytes now.
    pub bytes: i64,
    /// Most bytes seen so far.
    pub peak_bytes: i64,
    /// `wal_status` of the slot: reserved, extended, unreserved or lost.
    pub wal_status: String,
    /// Bytes that may still be written before the slot is in danger, where the server has a limit.
    pub safe_bytes: Option<i64>,
}
