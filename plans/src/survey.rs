//! What an agent reads from a shard so that a plan can be made; nothing is changed there.

use crate::doctor::Finding;
use crate::plan::TargetState;
use crate::shard_map::MapSettings;
use crate::table::{MajorVersions, MovingTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyTask {
    /// The map.
    pub map: crate::id::MapName,
    /// The shard that the keys leave.
    pub source: crate::fleet::ShardRef,
    /// The shard that the keys come to.
    pub target: crate::fleet::ShardRef,
    /// The map's tables and rules, with the tables of the request.
    pub settings: MapSettings,
    /// The moving keys, for the estimates.
    pub keys: crate::key_set::KeySet,
    /// The types that the key columns must have.
    pub key: Vec<crate::key::KeyType>,
    /// Whether the application goes on writing.
    pub mode: crate::request::Mode,
    /// Tables that nobody lists are left alone: they were when the plan was made.
    #[serde(default)]
    pub again: bool,
    /// Whether the move is tried.
    #[serde(default)]
    pub trial: bool,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// The moving tables, parents before children.
    pub tables: Vec<MovingTable>,
    /// Estimated share of rows that move, per million, in the order of `tables`.
    pub moving_ppm: Vec<i64>,
    /// Whether the target has the tables already.
    pub target: TargetState,
    /// Major versions of both servers.
    #[serde(default)]
    pub majors: MajorVersions,
    /// Hash over columns, types, keys and indexes of the moving tables on the source.
    pub schema_fingerprint: String,
    /// Everything that stands in the way or is worth knowing.
    pub findings: Vec<Finding>,
    /// What was tried, where it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

/// How long a trial may take.
pub const TRIAL_LIMIT: Duration = Duration::from_secs(300);

/// A move that was tried: its steps in small on the target, and rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Objects of the schema that were created.
    pub objects: u64,
    /// Tables whose rows were tried.
    pub tables: u64,
    /// Of these, tables of which no row was seen that moves.
    pub without_rows: u64,
    /// Rows that were copied, compared and changed.
    pub rows: u64,
    /// Their bytes as they were copied.
    pub bytes: u64,
    /// How long it took, milliseconds.
    pub milliseconds: u64,
}
