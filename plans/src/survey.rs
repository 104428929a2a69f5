//! What an agent reads from a shard so that a plan can be made; nothing is changed there.

use crate::failure::Finding;
use crate::plan::TargetState;
use crate::shard_map::MapSettings;
use crate::table::{Majors, MovingTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyTask {
    /// The map.
    pub map: crate::id::MapName,
    /// The shard that the keys leave.
    pub source: crate::plan::ShardRef,
    /// The shard that the keys come to.
    pub target: crate::plan::ShardRef,
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
    pub majors: Majors,
    /// Hash over columns, types, keys and indexes of the moving tables on the source.
    pub schema_fingerprint: String,
    /// Everything that stands in the way or is worth knowing.
    pub findings: Vec<Finding>,
}
