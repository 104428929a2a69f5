//! The progress of a step and of its change stream, which heartbeats report.

use crate::failure::Failure;
use crate::id::ShardName;
use crate::names::Direction;
use crate::throttle::ThrottleStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The progress of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// What the step is doing, or for what it waits, for people.
    pub message: String,
    /// Figures of each table, if the step works table by table.
    pub tables: Vec<TableProgress>,
    /// Rows per second in the last seconds.
    pub rows_per_second: f64,
    /// Bytes per second in the last seconds.
    pub bytes_per_second: f64,
    /// The estimated time to the end of the step, in seconds.
    pub eta_seconds: Option<f64>,
    /// What throttles heavy work now, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<ThrottleStatus>,
    /// A condition on the shards that must end before the step continues, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// The lock for which the step waits now, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Box<LockWait>>,
    /// The statements that the step's sessions execute at this moment, the longest-running first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
}

/// A statement that a session of the migration executes. It contains names of tables and moving keys, but never values
/// of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// The shard.
    pub shard: ShardName,
    /// The purpose of the session.
    pub role: String,
    /// The beginning of the statement, with single spaces.
    pub text: String,
    /// How long it has run, in milliseconds.
    pub ms: i64,
}

/// A lock for which a session of the migration waits, and the blocking session with the oldest transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockWait {
    /// The shard.
    pub shard: ShardName,
    /// The locked table or other object.
    pub object: String,
    /// The process id of the waiting server process.
    pub pid: i32,
    /// How long it has waited, in milliseconds.
    pub waited_ms: Option<i64>,
    /// The process id of the blocking server process; 0: a prepared transaction.
    pub holder: i32,
    /// The role of the blocking session; empty if it cannot be read.
    pub user: String,
    /// The `application_name` of the blocking session.
    pub application: String,
    /// The state of the blocking session: active or idle in transaction; empty if it cannot be read.
    pub state: String,
    /// How long the blocking transaction has been open, in milliseconds.
    pub open_ms: Option<i64>,
}

/// The progress of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableProgress {
    /// `schema.name`.
    pub table: String,
    /// The number of completed rows.
    pub rows_done: i64,
    /// The expected number of rows. It is an estimate until the table is done.
    pub rows_total: i64,
    /// The number of completed bytes.
    pub bytes_done: i64,
    /// The expected number of bytes.
    pub bytes_total: i64,
    /// The current work: copying, done, indexing, comparing.
    pub phase: String,
}

/// The status of a change stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamStatus {
    /// The direction of the stream.
    pub direction: Direction,
    /// The mode of the stream.
    #[serde(default)]
    pub mode: StreamMode,
    /// The bytes of log in the agent's spool.
    #[serde(default)]
    pub spooled_bytes: i64,
    /// The log that the upstream shard retains for the stream's slot.
    #[serde(default)]
    pub retained: Retained,
    /// Whether a write is acknowledged only when it is durable on both shards.
    #[serde(default)]
    pub dual_write: DualWriteState,
    /// The bytes of log between the write position and the applied position.
    pub lag_bytes: i64,
    /// The known write position in the upstream shard's log, in bytes from the beginning; 0 if unknown.
    #[serde(default)]
    pub written_at: i64,
    /// The position up to which all changes of the stream are applied.
    #[serde(default)]
    pub applied_at: i64,
    /// The age of the newest applied commit while changes are pending, in milliseconds; 0 without pending changes.
    pub lag_ms: i64,
    /// The number of transactions applied since the stream was opened.
    pub transactions: i64,
    /// The number of row changes applied since the stream was opened.
    pub changes: i64,
    /// Why the stream has failed; `None` while it runs.
    pub failure: Option<Failure>,
}

/// The mode of a change stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamMode {
    /// Changes are applied directly on the other shard.
    #[default]
    Live,
    /// Changes are kept in the agent's spool, because the copy runs or the other shard is unreachable.
    Spooling,
    /// The spool is being applied, while new changes are still added to it.
    Draining,
}

/// Whether a write is acknowledged only when it is durable on both shards.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DualWriteState {
    /// The other shard follows within milliseconds. This is also the state before synchronous dual-write begins.
    #[default]
    Asynchronous,
    /// Every acknowledged write is on both shards.
    Synchronous,
    /// It was synchronous, and is asynchronous for now.
    Degraded {
        /// When it became asynchronous, in milliseconds since 1970.
        since_ms: i64,
        /// The reason.
        why: String,
    },
}

/// The log that a server retains for a replication slot, as it was last observed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Retained {
    /// The bytes of log now.
    pub bytes: i64,
    /// The greatest number of bytes so far.
    pub peak_bytes: i64,
    /// `wal_status` of the slot: reserved, extended, unreserved or lost.
    pub wal_status: String,
    /// The bytes that may still be written before the slot is in danger, if the server has a limit.
    pub safe_bytes: Option<i64>,
}
