//! The operations that a request can contain.
//!
//! The fields for sources and targets also accept the names that other operations and the command line use.

use super::options::{Mode, Options};
use crate::id::{MapName, ShardName};
use crate::key::Key;
use crate::shard_map::KeyColumns;
use crate::shard_map::Selection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sharded tables with their key columns. They can be omitted if the map's settings list them.
pub type Tables = BTreeMap<String, KeyColumns>;

/// Divides the keys that one shard owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The shard map.
    pub map: MapName,
    /// The shard whose keys are divided.
    #[serde(alias = "from")]
    pub source: ShardName,
    /// The parts. Together they contain exactly the keys of one mapping of the source, or all keys that it owns.
    #[schemars(length(min = 2))]
    #[serde(alias = "to", alias = "targets")]
    pub into: Vec<Part>,
    /// The measure of load by which the planner finds the split points. Each part then has a shard and optionally a
    /// share, but no keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub even: Option<Measure>,
    /// Each sharded table (`schema.name`, or a name without schema in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that do not belong to the map and stay unchanged. Every other table must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Options of the migrations. Every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// One part of a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The shard that owns this part afterwards.
    pub shard: ShardName,
    /// The keys of the part. Omit them with `even`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Selection>,
    /// With `even`: the load of this part relative to the other parts. The default is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u32>,
}

/// How load is measured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// By the number of rows, estimated from samples.
    Rows,
    /// By the bytes of rows, estimated from samples.
    Bytes,
    /// By row changes per second, observed in the log for a time.
    Writes,
    /// By a query that runs on each shard. It returns the key's columns and a number.
    Query(String),
}

/// Moves the keys of several shards to one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The shard map.
    pub map: MapName,
    /// The shards whose keys are moved.
    #[schemars(length(min = 1))]
    #[serde(alias = "from")]
    pub sources: Vec<ShardName>,
    /// The shard that owns the keys afterwards: one of the sources, another live shard, or a new one.
    #[serde(alias = "to", alias = "target")]
    pub into: ShardName,
    /// Each sharded table (`schema.name`, or a name without schema in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that do not belong to the map and stay unchanged. Every other table must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Options of the migrations. Every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// Moves key sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveOperation {
    /// The shard map.
    pub map: MapName,
    /// The key sets, with source and target.
    #[schemars(length(min = 1))]
    pub moves: Vec<MoveEntry>,
    /// Each sharded table (`schema.name`, or a name without schema in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that do not belong to the map and stay unchanged. Every other table must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Options of the migrations. Every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// One key set, with source and target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveEntry {
    /// The shard that owns the keys before the move.
    #[serde(alias = "from")]
    pub source: ShardName,
    /// The shard that owns the keys after the move.
    #[serde(alias = "to", alias = "into")]
    pub target: ShardName,
    /// The keys. Without them, all keys of the source move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Selection>,
    /// Online or offline, if it differs from the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// Gives a tenant a shard of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isolate {
    /// The shard map.
    pub map: MapName,
    /// The tenant's key. In a hash map it becomes an exception of its virtual shard.
    pub key: Key,
    /// The shard that receives the key.
    #[serde(alias = "to", alias = "into")]
    pub target: ShardName,
    /// Each sharded table (`schema.name`, or a name without schema in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that do not belong to the map and stay unchanged. Every other table must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Options of the migrations. Every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// Moves all keys of a shard to other shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// The shard map.
    pub map: MapName,
    /// The shard whose keys move.
    #[serde(alias = "from")]
    pub source: ShardName,
    /// The shards to which the keys may move. Without a list, these are all other shards of the map.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        alias = "to",
        alias = "into"
    )]
    pub targets: Vec<ShardName>,
    /// How the load of keys is measured.
    #[serde(default = "by_rows")]
    pub by: Measure,
    /// True to drop the tables on the shard at the end, when they are empty.
    #[serde(default)]
    pub drop_tables: bool,
    /// Each sharded table (`schema.name`, or a name without schema in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that do not belong to the map and stay unchanged. Every other table must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Options of the migrations. Every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// Distributes the load evenly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebalance {
    /// The shard map.
    pub map: MapName,
    /// How load is measured.
    #[serde(default = "by_rows")]
    pub by: Measure,
    /// Shards that receive keys in addition to the shards that own keys now: new shards.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        alias = "to",
        alias = "targets"
    )]
    pub onto: Vec<ShardName>,
    /// By how many percent a shard may exceed its fair share.
    #[serde(default = "ten_percent")]
    #[schemars(range(min = 1, max = 100))]
    pub threshold_percent: u32,
    /// The maximum number of bytes that move in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// With `by: writes`: how long the log is observed, in seconds (1 to 3600).
    #[serde(default = "ten_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub watch_seconds: u32,
    /// Each sharded table (`schema.name`, or a name without schema in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that do not belong to the map and stay unchanged. Every other table must be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Options of the migrations. Every option has a default.
    #[serde(default)]
    pub options: Options,
}

fn by_rows() -> Measure {
    Measure::Rows
}

fn ten_percent() -> u32 {
    10
}

fn ten_seconds() -> u32 {
    10
}
