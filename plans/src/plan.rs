//! A plan: what will be done, with a hash over it; `apply` takes no other.

use crate::doctor::Finding;
use crate::graph::StepGraph;
use crate::id::{MapName, MapVersion, ShardName};
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::request::{Mode, Options};
use crate::shard_map::{Sequences, Strategy};
use crate::survey::Trial;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Keys that go from one shard to another, with their tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// Where the keys are.
    pub source: ShardName,
    /// Where they go.
    pub target: ShardName,
    /// The keys.
    pub keys: KeySet,
    /// The tables, parents before children.
    pub tables: Vec<MovingTable>,
}

/// What a plan expects; orientation only, never a safety decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Rows that move.
    pub rows: i64,
    /// Heap bytes that move.
    pub bytes: i64,
    /// Write stop of the moving keys that the budget allows, milliseconds; offline: until the flip.
    pub write_stop_budget_ms: u32,
}

/// What a move waits for before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct After {
    /// The other move of the same plan.
    #[serde(rename = "move")]
    pub id: String,
    /// How far it must be.
    pub until: Until,
}

/// How far another move must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// The map names its target.
    Flipped,
    /// Its old rows are gone.
    Finished,
}

/// Whether the target has the tables already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetState {
    /// It is empty; the move creates the tables.
    New,
    /// It is a live shard with the same tables.
    Live,
}

/// One move of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedMove {
    /// Its name within the plan: m1, m2 and so on.
    pub id: String,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<After>,
    /// Why it is made, for people.
    pub why: String,
    /// Whether the application goes on writing.
    pub mode: Mode,
    /// Whether the target has the tables already.
    pub target: TargetState,
    /// Drop the tables on the source once nothing is left in them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_tables: bool,
    /// Hash over the moving tables' schema on the source.
    pub schema_fingerprint: String,
    /// The move.
    #[serde(rename = "move")]
    pub moving: Move,
    /// Steps and their order.
    pub graph: StepGraph,
    /// What is to be expected.
    pub estimate: Estimate,
}

/// What will be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Form of this document.
    pub api_version: String,
    /// The operation's name.
    pub operation: String,
    /// The map.
    pub map: MapName,
    /// The version of the map that the plan was made for.
    pub map_version: MapVersion,
    /// The control store that the version belongs to.
    pub incarnation: String,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// How the shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// Tables that are left alone.
    pub ignore: Vec<String>,
    /// How the migration behaves.
    pub options: Options,
    /// The moves, in the order in which they start where nothing else decides.
    pub moves: Vec<PlannedMove>,
    /// What is to be expected of all moves together.
    pub estimate: Estimate,
    /// What was considered, for people: balance before and after, keys that are left where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Warnings and notes of the surveys; a plan with a refusal is never made.
    pub findings: Vec<Finding>,
    /// Moves that were tried; figures, which are no part of what is agreed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<MoveTrial>,
    /// SHA-256 over all of the above but the trials.
    #[serde(default)]
    pub hash: String,
}

/// A move of a plan that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveTrial {
    /// The move.
    #[serde(rename = "move")]
    pub id: String,
    /// What was tried.
    #[serde(flatten)]
    pub figures: Trial,
}

/// The plan of one migration: one move with what it needs of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovePlan {
    /// The operation that it is part of.
    pub operation: String,
    /// The map.
    pub map: MapName,
    /// The version of the map that the plan was made for.
    pub map_version: MapVersion,
    /// The control store that the version belongs to.
    pub incarnation: String,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// How the shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// Tables that are left alone.
    pub ignore: Vec<String>,
    /// How the migration behaves.
    pub options: Options,
    /// Its name within the plan.
    pub id: String,
    /// What it waits for.
    pub after: Vec<After>,
    /// Why it is made, for people.
    pub why: String,
    /// Whether the application goes on writing.
    pub mode: Mode,
    /// Whether the target has the tables already.
    pub target: TargetState,
    /// Drop the tables on the source once nothing is left in them.
    pub drop_tables: bool,
    /// Hash over the moving tables' schema on the source.
    pub schema_fingerprint: String,
    /// The move.
    #[serde(rename = "move")]
    pub moving: Move,
    /// Steps and their order.
    pub graph: StepGraph,
    /// What is to be expected.
    pub estimate: Estimate,
    /// Findings of the whole plan.
    pub findings: Vec<Finding>,
    /// The hash of the whole plan.
    pub hash: String,
}

/// The form that this version writes.
pub const API_VERSION: &str = "shardwright/v2";

impl Plan {
    /// The plan with its hash filled in.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.hash = self.computed_hash();
        self
    }

    /// The plan of each move, in order.
    pub fn migrations(&self) -> impl Iterator<Item = MovePlan> {
        self.moves.iter().cloned().map(|planned| MovePlan {
            operation: self.operation.clone(),
            map: self.map.clone(),
            map_version: self.map_version,
            incarnation: self.incarnation.clone(),
            strategy: self.strategy,
            key: self.key.clone(),
            sequences: self.sequences,
            ignore: self.ignore.clone(),
            options: self.options.clone(),
            id: planned.id,
            after: planned.after,
            why: planned.why,
            mode: planned.mode,
            target: planned.target,
            drop_tables: planned.drop_tables,
            schema_fingerprint: planned.schema_fingerprint,
            moving: planned.moving,
            graph: planned.graph,
            estimate: planned.estimate,
            findings: self.findings.clone(),
            hash: self.hash.clone(),
        })
    }

    /// SHA-256 in hex over the plan without its trials and its hash field.
    #[must_use]
    pub fn computed_hash(&self) -> String {
        let bare = Self {
            trials: Vec::new(),
            hash: String::new(),
            ..self.clone()
        };
        let text = serde_json::to_vec(&bare).unwrap_or_default();
        Sha256::digest(text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// [`PlanFileError`] when it is malformed, of another form, or was edited after it was written.
    pub fn parse(text: &str) -> Result<Self, PlanFileError> {
        let plan: Self = serde_json::from_str(text).map_err(|error| PlanFileError::Malformed {
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        })?;
        if plan.api_version != API_VERSION {
            return Err(PlanFileError::Form {
                found: plan.api_version,
            });
        }
        if plan.hash != plan.computed_hash() {
            return Err(PlanFileError::Edited);
        }
        Ok(plan)
    }
}

/// Why a plan file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanFileError {
    /// Not JSON of this form.
    #[error("the plan cannot be read: {message}")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// Written by another version.
    #[error("the plan has the form {found:?}, this version reads {API_VERSION:?}")]
    Form {
        /// What the file says.
        found: String,
    },
    /// Contents and hash differ.
    #[error("the plan was changed after it was written: its hash does not match its contents")]
    Edited,
}
