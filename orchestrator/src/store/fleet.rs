//! Shards, map versions, map settings and the audit trail, as the store keeps them.

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
    /// The name of the shard.
    pub name: ShardName,
    /// The number of the shard in the fleet, from 1. It is never reused for another shard.
    pub number: i32,
    /// The connection string. Instead of a password it has a reference to one, `${env:NAME}` or `${file:PATH}`.
    pub dsn: String,
    /// Labels that the operator assigns, such as region=eu.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much load the shard should carry, relative to the other shards.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// The bytes of rows that the shard can hold. Without a value there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
    /// When the shard was registered.
    pub created_at: DateTime<Utc>,
    /// The database to which the connection string must lead. It has no value until an agent has connected to the
    /// shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<DatabaseIdentity>,
}

impl ShardRecord {
    /// Returns the data with which an agent connects to the shard.
    #[must_use]
    pub fn reference(&self) -> ShardRef {
        ShardRef {
            name: self.name.clone(),
            number: self.number,
            dsn: self.dsn.clone(),
            identity: self.identity.clone(),
        }
    }

    /// Returns the data that the planner needs.
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
    /// The name of the shard.
    pub name: ShardName,
    /// The connection string. Instead of a password it has a reference to one, `${env:NAME}` or `${file:PATH}`.
    pub dsn: String,
    /// Labels that the operator assigns, such as region=eu.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much load the shard should carry, relative to the other shards.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// The bytes of rows that the shard can hold. Without a value there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
}

impl NewShard {
    /// Creates a shard with the default properties.
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

/// The new properties of a registered shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardUpdate {
    /// The name of the shard.
    pub name: ShardName,
    /// All labels of the shard. They replace the existing ones.
    pub labels: BTreeMap<String, String>,
    /// How much load the shard should carry, relative to the other shards.
    pub capacity: u32,
    /// The bytes of rows that the shard can hold; `None`: not limited.
    pub space: Option<u64>,
    /// A new connection string; `None`: it stays as it is.
    pub dsn: Option<String>,
}

fn default_capacity() -> u32 {
    DEFAULT_CAPACITY
}

/// One version of a map: when, by whom and by which migration it was created.
///
/// A piece is one range, one range of virtual shards, or one key of a list map. A mapping of a list map can contain
/// many keys, and therefore many pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapVersionRecord {
    /// The number of the version.
    pub version: MapVersion,
    /// When the version was created.
    pub created_at: DateTime<Utc>,
    /// The user or component that created the version.
    pub by: String,
    /// The migration whose flip created the version, if any.
    pub migration: Option<MigrationId>,
    /// The number of pieces in this version.
    pub pieces: i64,
    /// The number of pieces that this version has and the version before has not.
    pub added: i64,
    /// The number of pieces that the version before has and this version has not.
    pub removed: i64,
}

/// One revision of a map's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsRecord {
    /// The name of the map.
    pub map: MapName,
    /// The number of the revision. It starts at 1 and grows by one.
    pub revision: i64,
    /// The settings.
    pub settings: MapSettings,
    /// The user who created the revision.
    pub by: String,
    /// When the revision was created.
    pub created_at: DateTime<Utc>,
}

/// A change that an operator made outside of migrations, for the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// When the change was made.
    pub at: DateTime<Utc>,
    /// The user who made the change.
    pub actor: String,
    /// The kind of change, in `noun.verb` form.
    pub action: String,
    /// The changed object, as in `shard a` or `map tenants`.
    pub object: String,
    /// Details of the change.
    pub data: Value,
}

/// A numbered line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// The number of the line. Later lines have greater numbers.
    pub line: i64,
    /// The recorded change.
    #[serde(flatten)]
    pub record: AuditRecord,
}
