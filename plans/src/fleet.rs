//! The registered shards, as far as a plan must know them.

use crate::id::ShardName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A shard's place in the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardInfo {
    /// Its name.
    pub name: ShardName,
    /// Its number in the fleet, from 1; never given to another shard. Sequences are shared out by it.
    pub number: i32,
    /// Labels of the operator's, such as region=eu.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much load it should carry, relative to the others; 100 unless said otherwise.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// Bytes of rows that it can hold; none: not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
}

/// The capacity of a shard of which nothing is said.
pub const DEFAULT_CAPACITY: u32 = 100;

fn default_capacity() -> u32 {
    DEFAULT_CAPACITY
}
