//! The registered shards, with the data that a plan needs.

use crate::id::ShardName;
use crate::identity::DatabaseIdentity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A shard and its connection string. Secrets in it are references that only an agent resolves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardRef {
    /// The name of the shard.
    pub name: ShardName,
    /// The number of the shard in the fleet. It determines which sequence values the shard issues.
    pub number: i32,
    /// The connection string, without secrets.
    pub dsn: String,
    /// The database to which the connection string must lead. It has no value until the database is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<DatabaseIdentity>,
}

/// The properties of a shard in the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardInfo {
    /// The name of the shard.
    pub name: ShardName,
    /// The number of the shard in the fleet, from 1. It is never reused for another shard, and determines which
    /// sequence values the shard issues.
    pub number: i32,
    /// Labels that the operator assigns, such as region=eu.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much load the shard should carry, relative to the other shards. The default is 100.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// The bytes of rows that the shard can hold. Without a value there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
}

/// A standby that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStandby {
    /// The name of the shard that the standby will be.
    pub name: ShardName,
    /// The shard whose server the standby copies.
    pub source: ShardName,
}

/// The physical replication slot from which a standby streams. The control store has this record before the slot exists,
/// so that a slot without a standby is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StandbySlot {
    /// The name of the slot. It begins with [`STANDBY_SLOT_PREFIX`](crate::names::STANDBY_SLOT_PREFIX).
    pub slot: String,
    /// The name of the shard that the standby is, or will be.
    pub standby: ShardName,
    /// The shard on whose server the slot is.
    pub source: ShardName,
}

/// The default capacity of a shard.
pub const DEFAULT_CAPACITY: u32 = 100;

fn default_capacity() -> u32 {
    DEFAULT_CAPACITY
}
