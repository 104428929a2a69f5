//! What controller and agent say to each other, as JSON over HTTP; the agent always calls.
//!
//! `POST /api/v1/agents/claim` (long poll), `/heartbeat`, `/report`, `/cutover`.
//! Everything carries the epoch under which the agent acts, and the secret that came with the work (ADR 48); the
//! controller refuses a stale epoch, and whoever does not show the secret.

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
pub use versions::{CASCADES, OLDEST_PROTOCOL, PROTOCOL, Protocols, SECRETS};

use crate::failure::Failure;
use crate::fleet::ShardRef;
use crate::id::{AgentName, Epoch, InstanceId, MapName, MapVersion, MigrationId, StepId};
use crate::inspection::{Inspected, InspectionTask};
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::names::Direction;
use crate::request::{Mode, Options};
use crate::shard_map::Sequences;
use crate::step::StepKind;
use crate::step::verify::VerifyRun;
use crate::table::MovingTable;
use crate::throttle::{Latency, MigrationLimits};
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
    pub holding: Vec<ClaimedWork>,
    /// The inspections that it works on; others that it was given were lost on the way. `None`: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspecting: Option<Vec<String>>,
    /// The host that it runs on, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Proves that later calls come from the same process; `None`: an agent of protocol 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<WireSecret>,
    /// Keys of processes of this agent that this one has outlived: what they left needs no waiting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlived: Vec<WireSecret>,
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

    /// What the process shows of a migration that it holds.
    #[must_use]
    pub fn secret_of(&self, migration: &MigrationId) -> Option<&WireSecret> {
        let mut holding = self.holding.iter();
        let held = holding.find(|held| &held.migration == migration)?;
        held.secret.as_ref()
    }
}

/// What an agent knows that it owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedWork {
    /// The migration.
    pub migration: MigrationId,
    /// The epoch it is owned under.
    pub epoch: Epoch,
    /// The step that runs, until its report is heard.
    pub step: Option<StepId>,
    /// What came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
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
    /// What every call about this migration must show, until another dispatch brings another one; `None`: the
    /// controller, or the agent, speaks protocol 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
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
    pub limits: Option<MigrationLimits>,
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
    pub holding: Vec<MigrationStatus>,
    /// As in its claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<WireSecret>,
}

/// The state of one owned migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MigrationStatus {
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
    /// What came with the dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
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
    pub limits: Option<MigrationLimits>,
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
    /// What came with the dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
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
