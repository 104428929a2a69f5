//! The registered shards, as far as a plan must know them.

use crate::id::ShardName;
use crate::identity::DatabaseIdentity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A shard and how to reach it; secrets are references that only an agent resolves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardRef {
    /// The shard's name.
    pub name: ShardName,
    /// Its number in the fleet, by which sequences are shared out.
    pub number: i32,
    /// Connection string without inline secrets.
    pub dsn: String,
    /// The database that it must lead to; none: it was not registered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<DatabaseIdentity>,
}

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
