//! The messages between controller and agent, as JSON over HTTP. The agent always calls the controller.
//!
//! The paths are `POST /api/v1/agents/claim` (long poll), `/heartbeat`, `/report` and `/cutover`. Every message about a
//! migration contains the epoch with which the agent acts, and the secret that came with the work (ADR 48). The
//! controller refuses an outdated epoch and a wrong secret.

mod cutover;
mod progress;
mod secret;
mod versions;

pub use cutover::{CutoverAnswer, CutoverCall, CutoverQuery, LongWriter, Markers};
pub use progress::{
    DualWriteState, LockWait, Progress, Retained, Statement, StreamMode, StreamStatus,
    TableProgress,
};
pub use secret::{SECRET_HEADER, WireSecret};
pub use versions::{
    FIRST_PROTOCOL_WITH_CASCADES, FIRST_PROTOCOL_WITH_DEPENDENTS, FIRST_PROTOCOL_WITH_EXCEPTIONS,
    FIRST_PROTOCOL_WITH_FOLLOWING, FIRST_PROTOCOL_WITH_SECRETS, FIRST_PROTOCOL_WITH_SEEDING,
    FIRST_PROTOCOL_WITH_WHOLE_TABLES, NEWEST_PROTOCOL, OLDEST_PROTOCOL, ProtocolRange,
};

use crate::failure::Failure;
use crate::fleet::ShardRef;
use crate::id::{AgentName, Epoch, InstanceId, MapName, MapVersion, MigrationId, StepId};
use crate::inspection::{Inspected, InspectionTask};
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::names::Direction;
use crate::plan::FollowedChange;
use crate::request::{Mode, Options};
use crate::shard_map::Sequences;
use crate::step::StepKind;
use crate::step::verify::VerifyRun;
use crate::table::{MovingTable, TableName};
use crate::throttle::{Latency, MigrationLimits};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An agent's request for work. The controller answers when there is work, or with `204 No Content` after about 20 s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The newest protocol version that the agent supports ([`NEWEST_PROTOCOL`]).
    pub protocol: u32,
    /// [`OLDEST_PROTOCOL`]; `None`: the agent supports only `protocol`.
    #[serde(default)]
    pub oldest: Option<u32>,
    /// The name of the agent.
    pub agent: AgentName,
    /// The id of the process. A new process of the same agent immediately ends the leases of the old one.
    pub instance: InstanceId,
    /// The assignments that this process has received. Any other assignment has not arrived, and the controller sends
    /// it again.
    pub holding: Vec<ClaimedWork>,
    /// The inspections on which the process works. Any other inspection has not arrived. `None`: the agent does not
    /// report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspecting: Option<Vec<String>>,
    /// The host on which the process runs, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The key that proves that later calls come from the same process; `None`: an agent with protocol 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<WireSecret>,
    /// The keys of earlier processes of this agent that have ended. The controller need not wait for their leases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlived: Vec<WireSecret>,
}

impl Claim {
    /// Returns the protocol versions that the agent supports.
    #[must_use]
    pub fn protocols(&self) -> ProtocolRange {
        ProtocolRange {
            oldest: self.oldest.unwrap_or(self.protocol),
            newest: self.protocol,
        }
    }

    /// Returns the secret that the process presents for a migration that it holds.
    #[must_use]
    pub fn secret_of(&self, migration: &MigrationId) -> Option<&WireSecret> {
        let mut holding = self.holding.iter();
        let held = holding.find(|held| &held.migration == migration)?;
        held.secret.as_ref()
    }
}

/// An assignment that an agent holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedWork {
    /// The migration.
    pub migration: MigrationId,
    /// The epoch of the assignment.
    pub epoch: Epoch,
    /// The step that runs, until the controller has received its report.
    pub step: Option<StepId>,
    /// The secret of the assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
}

/// Work for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// Execute a step, or without a step only keep a migration's stream running.
    Step(Box<Dispatch>),
    /// Inspect shards, for a plan or a check.
    Inspect(Box<InspectionTask>),
}

/// The assignment of a step of a migration, under an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The migration.
    pub migration: MigrationId,
    /// The operation to which the migration belongs. Moves of one operation may share one reader in the copy. `None`:
    /// the migration copies alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<MigrationId>,
    /// The epoch. It is higher than that of any other process.
    pub epoch: Epoch,
    /// The secret that every call about this migration must contain, until another dispatch brings another one. `None`:
    /// the controller or the agent uses protocol 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
    /// The step; `None`: no step is due, and the agent only holds the migration and keeps its stream running.
    pub step: Option<(StepId, StepKind)>,
    /// The number of the attempt of this step, from 1.
    pub attempt: u32,
    /// The change stream that must run, in addition to those that the step itself starts or stops.
    pub stream: Option<Direction>,
    /// The map.
    pub map: MapName,
    /// The random id of the control store.
    #[serde(default)]
    pub incarnation: String,
    /// The version of the map before the flip.
    pub map_version: MapVersion,
    /// The source of the move.
    pub source: ShardRef,
    /// The target of the move.
    pub target: ShardRef,
    /// The moving keys.
    pub keys: KeySet,
    /// Only with `seed: standby`: all other keys of the map. The target has rows of them and must refuse writes to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus_keys: Option<KeySet>,
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// The moving tables, parents before children.
    pub tables: Vec<MovingTable>,
    /// The fingerprint of the moving tables in the plan.
    pub schema_fingerprint: String,
    /// Whether the application continues to write to the moving keys.
    pub mode: Mode,
    /// How shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// True to drop the tables on the source once they have no rows.
    pub drop_tables: bool,
    /// True if the source owns other keys of this map too.
    pub source_keeps_keys: bool,
    /// The reference tables of the map. An older controller lists none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reference_tables: BTreeSet<TableName>,
    /// The tables that the map names as not its own. An older controller lists none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ignored_tables: BTreeSet<TableName>,
    /// Options of the migration.
    pub options: Options,
    /// Limits on the load that the migration causes; `None`: those of the options.
    #[serde(default)]
    pub limits: Option<MigrationLimits>,
    /// The results of the steps that are done, by step id.
    pub outputs: BTreeMap<StepId, serde_json::Value>,
    /// The comparison that `verify` makes, or that an operator requested during `hold`.
    #[serde(default)]
    pub verify: Option<VerifyRun>,
}

/// A heartbeat with progress, about every second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The name of the agent.
    pub agent: AgentName,
    /// The id of its process.
    pub instance: InstanceId,
    /// One entry for each migration that the process holds.
    pub holding: Vec<MigrationStatus>,
    /// The key of the process, as in its claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<WireSecret>,
}

/// The state of one migration that an agent holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MigrationStatus {
    /// The migration.
    pub migration: MigrationId,
    /// The epoch of the assignment.
    pub epoch: Epoch,
    /// The step that runs, if any.
    pub step: Option<StepId>,
    /// The progress of the step.
    pub progress: Progress,
    /// The change stream, if one runs.
    pub stream: Option<StreamStatus>,
    /// The secret of the dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
}

/// The controller's response to a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeartbeatReply {
    /// How long the agent keeps its leases without another heartbeat, in milliseconds.
    pub lease_ms: u64,
    /// One entry for each migration that the agent holds.
    pub directives: Vec<Directive>,
}

/// What the agent must do with a migration that it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    /// The migration.
    pub migration: MigrationId,
    /// The action.
    pub action: Action,
    /// Limits on the load that the migration causes from now on. If this version cannot parse the limits, it ignores
    /// them, because it must still obey the action.
    #[serde(default, deserialize_with = "parsed_or_none")]
    pub limits: Option<MigrationLimits>,
    /// The latency that the application last reported.
    #[serde(default)]
    pub latency: Option<Latency>,
}

/// Deserializes a value; `None` if this version cannot parse it.
fn parsed_or_none<'de, T, D>(value: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(value)?;
    Ok(serde_json::from_value(value).ok())
}

/// What the agent must do with a migration that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Continue.
    Continue,
    /// End the running step at its next safe point and report it as interrupted. Stop the stream, and keep everything
    /// else.
    Pause,
    /// The same as `Pause`, and give up the lease: the migration has ended or failed, or another process holds the
    /// lease.
    Release,
    /// End the step `hold`, because the operator has sent the command `finish` or `rollback`.
    EndHold,
}

/// How a step or an inspection ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The end of a step.
    Step(StepReport),
    /// The end of an inspection.
    Inspected {
        /// The task's id.
        id: String,
        /// The result, or why the inspection failed.
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
    /// The secret of the dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
    /// The outcome of the step.
    pub outcome: Outcome,
    /// The last progress figures.
    pub progress: Progress,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The step is done. The journal records the result.
    Done {
        /// The result of the step, of the step's own type.
        output: serde_json::Value,
    },
    /// The attempt failed.
    Failed {
        /// The reason.
        failure: Failure,
    },
    /// The step stopped on request.
    Interrupted,
    /// The tables' definitions differ from the plan, but are equal on both shards, and the move can continue with them.
    Reshaped {
        /// The current tables.
        tables: Vec<MovingTable>,
        /// The fingerprint on both shards.
        fingerprint: String,
        /// The differences from the plan, one for each line.
        changes: Vec<String>,
        /// All changes that the agent has made on the other shard since the capture began.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        followed: Vec<FollowedChange>,
        /// Whether the migration continues from the copy, because copied rows have to be compared with the source again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        copy_again: bool,
        /// Partitions that the application has dropped or detached on the owner of the keys. `tables` lacks them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        retired: Vec<TableName>,
    },
    /// The result of an earlier step was lost, for example a snapshot or a slot. The migration continues from that
    /// step.
    Rewind {
        /// The earlier step, which runs again.
        to: StepKind,
        /// The reason.
        failure: Failure,
    },
}
