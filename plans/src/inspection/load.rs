//! The load of a shard: rows, bytes and writes of virtual shards, ranges or keys.

use crate::doctor::Finding;
use crate::fleet::ShardRef;
use crate::id::{MapName, ShardName};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::request::Measure;
use crate::shard_map::{KeyColumns, MapSettings, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The task to measure the load of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadTask {
    /// The map.
    pub map: MapName,
    /// The shard.
    pub shard: ShardRef,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// The number of virtual shards of a hash map.
    pub buckets: u32,
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// The sharded tables and their key columns.
    pub tables: BTreeMap<String, KeyColumns>,
    /// The settings of the map, if its keys are schemas or groups of tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<MapSettings>,
    /// The keys that the shard owns. Only these are measured.
    pub owned: KeySet,
    /// The measure of the items' weights. Rows and bytes are always measured.
    pub by: Measure,
    /// How long the log is observed for writes, in seconds; 0: not at all.
    pub watch_seconds: u32,
    /// The maximum number of items into which the keys of a range map are divided.
    pub items: u32,
    /// The number of hottest keys that the result names.
    pub hottest: u32,
}

/// The load of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The shard.
    pub shard: ShardName,
    /// Virtual shards, ranges or keys in key order. Together they are the keys that the shard owns.
    pub items: Vec<ItemLoad>,
    /// The hottest keys first: by writes if the log was observed, otherwise by rows.
    pub hottest: Vec<KeyLoad>,
    /// How long the log was observed, in milliseconds.
    pub watched_ms: u64,
    /// True if rows and bytes are estimated from samples.
    pub sampled: bool,
    /// The tables whose writes could not be observed, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The load of one virtual shard, range or key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemLoad {
    /// The keys.
    pub keys: KeySet,
    /// The estimated number of rows in all sharded tables.
    pub rows: u64,
    /// The estimated bytes of these rows.
    pub bytes: u64,
    /// The number of row changes while the log was observed.
    pub writes: u64,
    /// The sum of the results of the operator's query; 0 without a query.
    pub weight: u64,
}

/// The load of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLoad {
    /// The key.
    pub key: Key,
    /// The estimated number of rows.
    pub rows: u64,
    /// The number of row changes while the log was observed.
    pub writes: u64,
}

impl ItemLoad {
    /// Returns the figure of the measure `by`.
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
