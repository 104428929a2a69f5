//! Where the load of a shard is: rows, bytes and writes by virtual shard, range or key.

use crate::doctor::Finding;
use crate::fleet::ShardRef;
use crate::id::{MapName, ShardName};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::request::Measure;
use crate::shard_map::{KeyColumns, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to measure on one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadTask {
    /// The map.
    pub map: MapName,
    /// The shard.
    pub shard: ShardRef,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// Virtual shards of a hash map.
    pub buckets: u32,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// The sharded tables and their key columns.
    pub tables: BTreeMap<String, KeyColumns>,
    /// What the shard owns; only these keys are looked at.
    pub owned: KeySet,
    /// What the weights of items are: rows and bytes are always measured.
    pub by: Measure,
    /// Seconds for which the log is watched for writes; 0: not at all.
    pub watch_seconds: u32,
    /// Into how many items a range map's keys are divided, at most.
    pub items: u32,
    /// How many of the hottest keys are named.
    pub hottest: u32,
}

/// The load of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The shard.
    pub shard: ShardName,
    /// Virtual shards, ranges or keys in key order; together what the shard owns.
    pub items: Vec<ItemLoad>,
    /// The hottest keys first: by writes when they were watched, by rows otherwise.
    pub hottest: Vec<KeyLoad>,
    /// Milliseconds for which the log was watched.
    pub watched_ms: u64,
    /// True when rows and bytes come from samples.
    pub sampled: bool,
    /// Tables whose writes could not be watched, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The load of one virtual shard, range or key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemLoad {
    /// The keys.
    pub keys: KeySet,
    /// Rows of all sharded tables, estimated.
    pub rows: u64,
    /// Bytes of these rows, estimated.
    pub bytes: u64,
    /// Row changes seen while the log was watched.
    pub writes: u64,
    /// What the operator's query returned, summed; 0 without one.
    pub weight: u64,
}

/// The load of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLoad {
    /// The key.
    pub key: Key,
    /// Rows, estimated.
    pub rows: u64,
    /// Row changes seen while the log was watched.
    pub writes: u64,
}

impl ItemLoad {
    /// The figure that `by` names.
    #[must_use]
    pub fn cost(&self, by: &Measure) -> u64 {
        match by {
            Measure::Rows => self.rows,
            Measure::Bytes => self.bytes,
            Measure::Writes => self.writes,
            Measure::Query(_) => self.weight,
        }
    }
}
