//! What an agent reads from a shard so that a plan can be made; nothing is changed there.

use crate::failure::Finding;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyTask {
    /// Names the answer.
    pub id: String,
    /// The shard that the keys leave.
    pub source: crate::plan::ShardRef,
    /// The shard that the keys come to.
    pub target: crate::plan::ShardRef,
    /// Sharded tables and their key columns.
    pub tables: std::collections::BTreeMap<String, String>,
    /// Tables left alone by intent.
    pub ignore: Vec<String>,
    /// The moving keys, for the estimates.
    pub keys: crate::key_set::KeySet,
    /// The type that each key column must have.
    pub key_type: crate::key_set::KeyType,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// The moving tables, parents before children.
    pub tables: Vec<MovingTable>,
    /// Estimated share of rows that move, per million, in the order of `tables`.
    pub moving_ppm: Vec<i64>,
    /// Hash over columns, types, keys and indexes of the moving tables on the source.
    pub schema_fingerprint: String,
    /// Everything that stands in the way or is worth knowing.
    pub findings: Vec<Finding>,
}
