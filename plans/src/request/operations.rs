//! What can be asked for, operation by operation.

use super::options::{Mode, Options};
use crate::id::{MapName, ShardName};
use crate::key::Key;
use crate::shard_map::KeyColumns;
use crate::shard_map::Selection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sharded tables with their key columns; a map that knows its tables need not be told again.
pub type Tables = BTreeMap<String, KeyColumns>;

/// Divide the keys that one shard owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The shard map.
    pub map: MapName,
    /// The shard whose keys are divided.
    pub source: ShardName,
    /// The parts; together they are exactly the keys of one mapping of the source, or all that it owns.
    #[schemars(length(min = 2))]
    pub into: Vec<Part>,
    /// Finds the split points: the parts then name shards and, where they are not to be even, shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub even: Option<Measure>,
    /// Each sharded table (`schema.name`, or a bare name in `public`) and its key column or columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// Tables that stay as they are; every other table must be listed somewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// How the migration behaves; every option has a default.
    #[serde(default)]
    pub options: Options,
}

/// One part of a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The shard that owns this part afterwards.
    pub shard: ShardName,
    /// Its keys; left out with `even`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Selection>,
    /// With `even`: its share relative to the other parts' shares; 1 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u32>,
}

/// What load is counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Rows, estimated from samples.
    Rows,
    /// Bytes of rows, estimated from samples.
    Bytes,
    /// Row changes per second, seen in the log for a while.
    Writes,
    /// A query of the operator's, run on each shard; it returns the key's columns and a number.
    Query(String),
}

/// Gather shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The shard map.
    pub map: MapName,
    /// The shards whose keys are gathered.
    #[schemars(length(min = 1))]
    pub sources: Vec<ShardName>,
    /// The shard that owns them afterwards: one of the sources, another live shard, or a new one.
    pub into: ShardName,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// Move key sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveKeys {
    /// The shard map.
    pub map: MapName,
    /// What goes where.
    #[schemars(length(min = 1))]
    pub moves: Vec<KeyMove>,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// One key set and where it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyMove {
    /// Where the keys are.
    pub source: ShardName,
    /// Where they go.
    pub target: ShardName,
    /// The keys; without them all that the source owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Selection>,
    /// Online or offline, where it differs from the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// Give a tenant a shard of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isolate {
    /// The shard map.
    pub map: MapName,
    /// The tenant's key; on a hash map its whole virtual shard goes along.
    pub key: Key,
    /// The shard that it gets.
    pub target: ShardName,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// Empty a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// The shard map.
    pub map: MapName,
    /// The shard that is emptied.
    pub source: ShardName,
    /// Where its keys may go; without it every other shard of the map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<ShardName>,
    /// What the load of keys is counted by.
    #[serde(default = "by_rows")]
    pub by: Measure,
    /// Drop the emptied tables on the shard at the end.
    #[serde(default)]
    pub drop_tables: bool,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
    #[serde(default)]
    pub options: Options,
}

/// Even out the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebalance {
    /// The shard map.
    pub map: MapName,
    /// What load is counted by.
    #[serde(default = "by_rows")]
    pub by: Measure,
    /// Shards that take part beside those that own keys: new ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub onto: Vec<ShardName>,
    /// How much more than its fair share a shard may carry, percent.
    #[serde(default = "ten_percent")]
    #[schemars(range(min = 1, max = 100))]
    pub threshold_percent: u32,
    /// Most bytes to move in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Seconds for which writes are watched, when load is counted by them.
    #[serde(default = "ten_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub watch_seconds: u32,
    /// As in a split.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: Tables,
    /// As in a split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// As in a split.
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
