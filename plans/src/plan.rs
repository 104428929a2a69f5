//! A plan: what will be done, with a hash of its content. The command `apply` accepts only plans with a correct hash.

use crate::doctor::Finding;
use crate::graph::StepGraph;
use crate::id::{MapName, MapVersion, ShardName};
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::request::{Mode, Options};
use crate::shard_map::{Sequences, Strategy};
use crate::speed::{CopySpeed, DurationEstimate};
use crate::survey::Trial;
use crate::table::{MovingTable, TableName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A key set that moves from one shard to another, with its tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// The shard that owns the keys before the move.
    pub source: ShardName,
    /// The shard that owns the keys after the move.
    pub target: ShardName,
    /// The moving keys.
    pub keys: KeySet,
    /// The moving tables, parents before children.
    pub tables: Vec<MovingTable>,
}

/// Estimated figures of a move. No safety decision depends on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The number of rows that move.
    pub rows: i64,
    /// The heap bytes that move.
    pub bytes: i64,
    /// The longest time in milliseconds for which an attempt may refuse writes to the moving keys. Offline: until the
    /// flip.
    pub write_stop_budget_ms: u32,
    /// How long the moves are expected to take; `None` if no rows are copied. Plans of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<DurationEstimate>,
    /// The same figures for each moving table, in the order of the tables. Plans of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<MovingRowsEstimate>,
}

impl Estimate {
    /// Returns the figures of one table, if the estimate has them.
    #[must_use]
    pub fn of(&self, table: &TableName) -> Option<&MovingRowsEstimate> {
        self.tables.iter().find(|estimate| &estimate.table == table)
    }
}

/// Estimated figures of one table of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovingRowsEstimate {
    /// The table.
    pub table: TableName,
    /// The number of its rows that move.
    pub rows: i64,
    /// The heap bytes of these rows.
    pub bytes: i64,
}

/// A dependency: another move for which a move waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct After {
    /// The id of the other move in the same plan.
    #[serde(rename = "move")]
    pub id: String,
    /// How far the other move must be.
    pub until: Until,
}

/// How far the other move must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// The map names its target as owner.
    Flipped,
    /// Its old rows are removed.
    Finished,
}

/// Whether the target already has the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetState {
    /// The target is empty. The move creates the tables.
    New,
    /// The target is a live shard with the same tables.
    Live,
    /// The target is a physical standby of the source. The move promotes it.
    Standby,
}

/// One move of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedMove {
    /// The id of the move in the plan: m1, m2 and so on.
    pub id: String,
    /// The moves for which this one waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<After>,
    /// The reason for the move, for people.
    pub why: String,
    /// Whether the application continues to write to the moving keys.
    pub mode: Mode,
    /// Whether the target already has the tables.
    pub target: TargetState,
    /// True to drop the tables on the source once they have no rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_tables: bool,
    /// A hash of the moving tables' definitions on the source.
    pub schema_fingerprint: String,
    /// The source, the target, the keys and the tables.
    #[serde(rename = "move")]
    pub moving: Move,
    /// The steps and their order.
    pub graph: StepGraph,
    /// The estimated figures.
    pub estimate: Estimate,
}

/// A plan of an operation, with all its moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The version of the format of this document.
    pub api_version: String,
    /// The name of the operation.
    pub operation: String,
    /// The name of the map.
    pub map: MapName,
    /// The version of the map for which the plan was made.
    pub map_version: MapVersion,
    /// The id of the control store to which this version belongs.
    pub incarnation: String,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// How shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// Tables that do not belong to the map.
    pub ignore: Vec<String>,
    /// Options of the migrations.
    pub options: Options,
    /// The moves, in the order in which they start unless a dependency requires another order.
    pub moves: Vec<PlannedMove>,
    /// The estimated figures of all moves together.
    pub estimate: Estimate,
    /// Notes for people: the balance before and after, and keys that stay on their shard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Warnings and notes of the surveys. A plan with a refusal is never made.
    pub findings: Vec<Finding>,
    /// The results of trial runs. They are figures, and the hash does not include them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<MoveTrial>,
    /// The SHA-256 over all fields except `trials`.
    #[serde(default)]
    pub hash: String,
}

/// A move of a plan that was tried on its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveTrial {
    /// The id of the move.
    #[serde(rename = "move")]
    pub id: String,
    /// The results.
    #[serde(flatten)]
    pub figures: Trial,
}

/// The plan of one migration: one move, with the fields of the whole plan that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovePlan {
    /// The name of the operation to which the move belongs.
    pub operation: String,
    /// The name of the map.
    pub map: MapName,
    /// The version of the map for which the plan was made.
    pub map_version: MapVersion,
    /// The id of the control store to which this version belongs.
    pub incarnation: String,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// How shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// Tables that do not belong to the map.
    pub ignore: Vec<String>,
    /// Options of the migration.
    pub options: Options,
    /// The id of the move in the plan.
    pub id: String,
    /// The moves for which this one waits.
    pub after: Vec<After>,
    /// The reason for the move, for people.
    pub why: String,
    /// Whether the application continues to write to the moving keys.
    pub mode: Mode,
    /// Whether the target already has the tables.
    pub target: TargetState,
    /// True to drop the tables on the source once they have no rows.
    pub drop_tables: bool,
    /// A hash of the moving tables' definitions on the source.
    pub schema_fingerprint: String,
    /// The source, the target, the keys and the tables.
    #[serde(rename = "move")]
    pub moving: Move,
    /// The steps and their order.
    pub graph: StepGraph,
    /// The estimated figures.
    pub estimate: Estimate,
    /// Findings of the whole plan.
    pub findings: Vec<Finding>,
    /// The hash of the whole plan.
    pub hash: String,
    /// Changes of the tables' definitions that the agent has made on the other shard since, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed: Vec<FollowedChange>,
    /// The standbys that were promoted in the place of a shard's server since, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failovers: Vec<Failover>,
}

/// The promotion of a standby in the place of a shard's server during a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failover {
    /// The shard.
    pub shard: ShardName,
    /// The timeline of the server before.
    pub timeline_before: i32,
    /// The timeline of the promoted server.
    pub timeline: i32,
    /// The position at which its log branched off, if the stream continued there without a comparison of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_at: Option<String>,
    /// Whether it was promoted in a hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_hold: bool,
}

/// A change of a moving table's definition that the application made on one shard, and the agent on the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FollowedChange {
    /// The shard on which the application made it.
    pub shard: ShardName,
    /// The position in this shard's log at which the agent read the new definition.
    pub position: String,
    /// The change as a statement.
    pub change: String,
}

/// The version of the format that this program writes.
pub const API_VERSION: &str = "shardwright/v2";

impl Plan {
    /// Returns the plan with its hash.
    #[must_use]
    pub fn with_hash(mut self) -> Self {
        self.hash = self.computed_hash();
        self
    }

    /// Returns the plan with estimates of the time that each move takes. `speed` returns the speed for a move.
    #[must_use]
    pub fn with_durations(mut self, speed: impl Fn(&Move) -> CopySpeed) -> Self {
        let copies = self.moves.iter_mut();
        let copies = copies.filter(|planned| planned.target != TargetState::Standby);
        let durations = copies.map(|planned| {
            let duration = speed(&planned.moving).duration(planned.estimate.bytes);
            planned.estimate.duration = Some(duration.clone());
            duration
        });
        let durations: Vec<DurationEstimate> = durations.collect();
        self.estimate.duration = DurationEstimate::of_moves(&durations, self.options.moves_at_once);
        self.with_hash()
    }

    /// Returns the plan of each move, in order.
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
            followed: Vec::new(),
            failovers: Vec::new(),
        })
    }

    /// Returns the SHA-256 of the plan without its trials and its hash, in hexadecimal.
    #[must_use]
    pub fn computed_hash(&self) -> String {
        let hashed = Self {
            trials: Vec::new(),
            hash: String::new(),
            ..self.clone()
        };
        let text = serde_json::to_vec(&hashed).unwrap_or_default();
        Sha256::digest(text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Parses a plan file.
    ///
    /// # Errors
    /// [`PlanFileError`] if the file is malformed, has another format, or was edited after it was written.
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
    /// The file is not a JSON document with the fields of a plan.
    #[error("the plan cannot be read: {message}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The error message of the parser.
        message: String,
    },
    /// Another version has written the file.
    #[error("the plan has the format {found:?}, this version reads {API_VERSION:?}")]
    Form {
        /// The format in the file.
        found: String,
    },
    /// The content does not have the hash in the file.
    #[error("the plan was changed after it was written: its hash does not match its contents")]
    Edited,
}
