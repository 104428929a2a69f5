//! What controller and agent say to each other, as JSON over HTTP; the agent always calls.
//!
//! `POST /api/v1/agents/claim` (long poll), `/heartbeat`, `/report`, `/cutover`.
//! Everything carries the epoch under which the agent acts; the controller refuses a stale one.

mod versions;

pub use versions::{OLDEST_PROTOCOL, PROTOCOL, Protocols};

use crate::failure::Failure;
use crate::id::{
    AgentName, AttemptNo, Epoch, InstanceId, MapName, MapVersion, MigrationId, ShardName, StepId,
};
use crate::inspection::{Inspected, InspectionTask};
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::names::Direction;
use crate::plan::ShardRef;
use crate::request::{Mode, Options};
use crate::shard_map::Sequences;
use crate::step::StepKind;
use crate::step::verify::VerifyRun;
use crate::table::MovingTable;
use crate::throttle::{Latency, Limits, Slowed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An agent asks for work; answered at once or when there is some, with `204 No Content` after about 20 s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// [`OLDEST_PROTOCOL`]; `None`: it speaks `protocol` alone.
    #[serde(default)]
    pub oldest: Option<u32>,
    /// Who asks.
    pub agent: AgentName,
    /// Which process of it; a new one loses what the old one held at once.
    pub instance: InstanceId,
    /// What this process was given and has heard of: anything else was lost on the way and is given again.
    pub holding: Vec<Held>,
}

impl Claim {
    /// The versions of these messages that the agent understands.
    #[must_use]
    pub fn protocols(&self) -> Protocols {
        Protocols {
            oldest: self.oldest.unwrap_or(self.protocol),
            newest: self.protocol,
        }
    }
}

/// What an agent knows that it owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The migration.
    pub migration: MigrationId,
    /// The epoch it is owned under.
    pub epoch: Epoch,
    /// The step that runs, until its report is heard.
    pub step: Option<StepId>,
}

/// What an agent is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// Perform a step, or only keep a migration going.
    Step(Box<Dispatch>),
    /// Look at shards, for a plan or a check.
    Inspect(Box<InspectionTask>),
}

/// A step of a migration under an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The migration.
    pub migration: MigrationId,
    /// The operation that it is one move of: moves of one operation may be copied by one reader. `None`: it is copied
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<MigrationId>,
    /// Ownership token; higher than any that another process was given.
    pub epoch: Epoch,
    /// The step's node; `None`: no step is due, own the migration and keep its stream going.
    pub step: Option<(StepId, StepKind)>,
    /// Attempt of this step, from 1.
    pub attempt: u32,
    /// The change stream that must be running (besides what the step itself starts or stops).
    pub stream: Option<Direction>,
    /// The map.
    pub map: MapName,
    /// Random id of the control store.
    #[serde(default)]
    pub incarnation: String,
    /// The version of the map before the flip.
    pub map_version: MapVersion,
    /// Where the keys are.
    pub source: ShardRef,
    /// Where they go.
    pub target: ShardRef,
    /// The keys.
    pub keys: KeySet,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// The tables, parents before children.
    pub tables: Vec<MovingTable>,
    /// The fingerprint in the plan.
    pub schema_fingerprint: String,
    /// Whether the application goes on writing.
    pub mode: Mode,
    /// How the shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// Drop the tables on the source once nothing is left in them.
    pub drop_tables: bool,
    /// The source owns other keys of this map too.
    pub source_keeps_keys: bool,
    /// How the migration behaves.
    pub options: Options,
    /// What it may take of its shards now; `None`: what the options say.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// Outputs of the steps that are done, by step id.
    pub outputs: BTreeMap<StepId, serde_json::Value>,
    /// The comparison that `verify` is to make, or that was ordered of `hold`.
    #[serde(default)]
    pub verify: Option<VerifyRun>,
}

/// A sign of life with progress, about every second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Who.
    pub agent: AgentName,
    /// Which process.
    pub instance: InstanceId,
    /// One entry for each migration that it owns.
    pub holding: Vec<Holding>,
}

/// The state of one owned migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Holding {
    /// The migration.
    pub migration: MigrationId,
    /// The epoch it is owned under.
    pub epoch: Epoch,
    /// The step that runs, if any.
    pub step: Option<StepId>,
    /// How far it is.
    pub progress: Progress,
    /// The change stream, if one runs.
    pub stream: Option<StreamStatus>,
}

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
    pub slowed: Option<Slowed>,
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

/// The controller's answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeartbeatReply {
    /// How long the agent owns what it holds without another heartbeat, milliseconds.
    pub lease_ms: u64,
    /// One entry for each held migration.
    pub directives: Vec<Directive>,
}

/// What to do with an owned migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    /// The migration.
    pub migration: MigrationId,
    /// What to do.
    pub action: Action,
    /// What it may take of its shards from now on; what this version does not understand changes nothing, because
    /// the rest must be obeyed.
    #[serde(default, deserialize_with = "understood")]
    pub limits: Option<Limits>,
    /// What the application reported of itself last.
    #[serde(default)]
    pub latency: Option<Latency>,
}

fn understood<'de, T, D>(value: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(value)?;
    Ok(serde_json::from_value(value).ok())
}

/// What to do with an owned migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Go on.
    Continue,
    /// End the running step at its next safe point and report it interrupted; stop the stream, keep the rest.
    Pause,
    /// As pause, and give the migration up: it is over, failed for good, or another process owns it.
    Release,
    /// Ends the `hold` step: the operator finishes or rolls back.
    EndHold,
}

/// How a step, or an inspection, ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// A step.
    Step(StepReport),
    /// An inspection.
    Inspected {
        /// The task's id.
        id: String,
        /// What was seen, or why nothing.
        result: Result<Inspected, Failure>,
    },
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The migration.
    pub migration: MigrationId,
    /// The step.
    pub step: StepId,
    /// The epoch under which it ran.
    pub epoch: Epoch,
    /// What came of it.
    pub outcome: Outcome,
    /// Last figures.
    pub progress: Progress,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The promise holds; the output goes into the journal.
    Done {
        /// The step's typed output.
        output: serde_json::Value,
    },
    /// The attempt failed.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// Stopped on request.
    Interrupted,
    /// The tables have another definition than the plan says, the same on both shards; the move can go on with it.
    Reshaped {
        /// The tables as they are now.
        tables: Vec<MovingTable>,
        /// The fingerprint of both sides.
        fingerprint: String,
        /// What is different from the plan, line by line.
        changes: Vec<String>,
    },
    /// What an earlier step promised is gone (a snapshot, a slot); go on from there.
    Rewind {
        /// The step to run again.
        to: StepKind,
        /// Why.
        failure: Failure,
    },
}

/// What the cutover asks of the control store (C2, C7, C9); answered synchronously.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutoverCall {
    /// The migration.
    pub migration: MigrationId,
    /// The caller's epoch.
    pub epoch: Epoch,
    /// What it asks.
    pub ask: CutoverAsk,
}

/// A transaction of somebody else that has written to the moving tables and does not end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongWriter {
    /// The shard.
    pub shard: ShardName,
    /// Its server process.
    pub pid: i32,
    /// When the process began, as the server prints it: a pid alone may be somebody else's by now.
    pub backend_start: String,
    /// Who.
    pub user: String,
    /// `application_name`, of letters that can be printed.
    pub application: String,
    /// Since when its transaction is open, to the microsecond: its session may be in another one by now.
    pub since: String,
    /// Its last statement, every literal replaced by `?`.
    pub query: String,
}

impl LongWriter {
    /// True when both are the same transaction of the same process.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (&self.shard, self.pid, &self.backend_start, &self.since)
            == (&other.shard, other.pid, &other.backend_start, &other.since)
    }
}

/// What the cutover asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum CutoverAsk {
    /// C2: READY (or an interrupted attempt) to FENCING(n); `Reverse` asks for the way back.
    Begin {
        /// Which cutover.
        direction: Direction,
    },
    /// C7: may the source be sealed? The controller locks the row until the flip, the release or the loss of its session.
    Seal {
        /// Which cutover.
        direction: Direction,
        /// The attempt.
        attempt: AttemptNo,
    },
    /// C9: the flip, in the session that granted the seal.
    Flip {
        /// Which cutover: a flip of the other direction is never taken for this one.
        direction: Direction,
        /// The attempt.
        attempt: AttemptNo,
    },
    /// C1: may these writers be ended, which keep the cutover from starting? An empty list: nobody is in the way any more.
    Cancel {
        /// The writers, by how long they have been open.
        writers: Vec<LongWriter>,
    },
    /// The attempt is given up; asked before the shard that would lose the keys is reopened.
    Release {
        /// Which cutover: it says which shard is opened after [`CutoverAnswer::Released`].
        direction: Direction,
        /// The attempt.
        attempt: AttemptNo,
        /// Why.
        reason: String,
    },
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum CutoverAnswer {
    /// FENCING under this number; a flip would make this map version.
    Begun {
        /// The attempt.
        attempt: AttemptNo,
        /// The map version that is valid now.
        map_version: MapVersion,
    },
    /// What was asked is allowed.
    Granted,
    /// The operator has not answered yet.
    Asked,
    /// The map names the shard that gains the keys in the direction asked for, whichever attempt gave them to it.
    Flipped {
        /// The new version.
        map_version: MapVersion,
    },
    /// Nothing of this attempt will be flipped any more, and the shard that would have lost the keys owns them.
    Released,
    /// Answer to `Begin`: the flip of this direction was committed before; only forward from here (C10).
    AlreadyFlipped {
        /// The attempt that went through.
        attempt: AttemptNo,
        /// The version that it made.
        map_version: MapVersion,
    },
    /// Not possible; the attempt is over for the caller.
    Refused {
        /// Why.
        reason: String,
    },
}
