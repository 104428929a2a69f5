//! Shards, versions and settings of maps, and the audit trail, as the store keeps them.

use chrono::{DateTime, Utc};
use plans::fleet::ShardRef;
use plans::fleet::{DEFAULT_CAPACITY, ShardInfo};
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::identity::DatabaseIdentity;
use plans::shard_map::MapSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A registered shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardRecord {
    /// Its name.
    pub name: ShardName,
    /// Its number in the fleet, from 1; never given to another shard.
    pub number: i32,
    /// Connection string; its password is a reference.
    pub dsn: String,
    /// Labels of the operator's, such as region=eu.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much load it should carry, relative to the others.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// Bytes of rows that it can hold; none: not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
    /// When it was registered.
    pub created_at: DateTime<Utc>,
    /// The database that its connection string must lead to; none: no agent has reached it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<DatabaseIdentity>,
}

impl ShardRecord {
    /// The shard as an agent needs it.
    #[must_use]
    pub fn reference(&self) -> ShardRef {
        ShardRef {
            name: self.name.clone(),
            number: self.number,
            dsn: self.dsn.clone(),
            identity: self.identity.clone(),
        }
    }

    /// What a plan must know of it.
    #[must_use]
    pub fn info(&self) -> ShardInfo {
        ShardInfo {
            name: self.name.clone(),
            number: self.number,
            labels: self.labels.clone(),
            capacity: self.capacity,
            space: self.space,
        }
    }
}

/// A shard to register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewShard {
    /// Its name.
    pub name: ShardName,
    /// Connection string; its password is a reference.
    pub dsn: String,
    /// Labels of the operator's, such as region=eu.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much load it should carry, relative to the others.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// Bytes of rows that it can hold; none: not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
}

impl NewShard {
    /// A shard of which no more is said than how to reach it.
    #[must_use]
    pub fn plain(name: ShardName, dsn: String) -> Self {
        Self {
            name,
            dsn,
            labels: BTreeMap::new(),
            capacity: DEFAULT_CAPACITY,
            space: None,
        }
    }
}

/// What is said about a registered shard from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardUpdate {
    /// The shard.
    pub name: ShardName,
    /// All its labels.
    pub labels: BTreeMap<String, String>,
    /// How much load it should carry, relative to the others.
    pub capacity: u32,
    /// Bytes of rows that it can hold; none: not limited.
    pub space: Option<u64>,
    /// Another connection string; none: as it is.
    pub dsn: Option<String>,
}

fn default_capacity() -> u32 {
    DEFAULT_CAPACITY
}

/// One version of a map, with who made it.
///
/// A piece is one range, one range of virtual shards, or one key of a list map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapVersionRecord {
    /// The version.
    pub version: MapVersion,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub by: String,
    /// The migration whose flip made it, if any.
    pub migration: Option<MigrationId>,
    /// Pieces of the map in this version.
    pub pieces: i64,
    /// Pieces that are in this version and not in the one before.
    pub added: i64,
    /// Pieces that are in the version before and not in this one.
    pub removed: i64,
}

/// Settings of a map, with who made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsRecord {
    /// The map.
    pub map: MapName,
    /// Grows by one, from 1.
    pub revision: i64,
    /// The settings.
    pub settings: MapSettings,
    /// Who made them.
    pub by: String,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// A line of the audit trail: what an operator changed outside of migrations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// What, in `noun.verb` form.
    pub action: String,
    /// To what, as in `shard a` or `map tenants`.
    pub object: String,
    /// Details.
    pub data: Value,
}

/// A line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// Its number; later lines have larger ones.
    pub line: i64,
    /// What it says.
    #[serde(flatten)]
    pub record: AuditRecord,
}
