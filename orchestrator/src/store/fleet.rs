//! Shards, map versions and map settings, as the store keeps them.

use super::StoreFuture;
use chrono::{DateTime, Utc};
use plans::fleet::{DEFAULT_CAPACITY, ShardInfo, ShardRef, StandbySlot};
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::MapSettings;
use plans::shard_map::ShardMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

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

    /// Returns true if the shard is registered as a standby. Its objects are copies of its primary's, until a migration
    /// promotes it.
    #[must_use]
    pub fn is_standby(&self) -> bool {
        self.identity.as_ref().is_some_and(|known| known.standby)
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

/// The register of shards, and their servers.
pub trait ShardStore: Send + Sync + std::fmt::Debug {
    /// Registers a shard under the next free number. The registration is durable when the call returns.
    ///
    /// The name of a removed shard can be used again, but its number cannot.
    fn add_shard<'a>(&'a self, new: &'a NewShard) -> StoreFuture<'a, ShardRecord>;

    /// Replaces a shard's properties. The change is durable when the call returns.
    fn update_shard<'a>(&'a self, update: &'a ShardUpdate) -> StoreFuture<'a, ShardRecord>;

    /// Returns all registered shards, ordered by name.
    fn shards(&self) -> StoreFuture<'_, Vec<ShardRecord>>;

    /// Returns one registered shard, or `None` if no shard has this name.
    fn shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, Option<ShardRecord>>;

    /// Removes a shard from the register of shards. The change is durable when the call returns. Older versions of a
    /// map may still name the shard.
    ///
    /// Fails with [`StoreError::ShardInUse`] while the version in force of a map names the shard, and with
    /// [`StoreError::ShardMoving`] while it is source or target of an unfinished migration.
    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, ()>;

    /// Records a slot that is to be created. The record is durable when the call returns.
    ///
    /// Fails with [`StoreError::Exists`](super::StoreError::Exists) if a record of this slot exists.
    fn add_standby_slot<'a>(&'a self, slot: &'a StandbySlot) -> StoreFuture<'a, ()>;

    /// Returns the recorded slots of standbys, in the order in which they were recorded.
    fn standby_slots(&self) -> StoreFuture<'_, Vec<StandbySlot>>;

    /// Removes the record of a slot that does not exist any more. Does nothing if there is no such record.
    fn remove_standby_slot<'a>(&'a self, slot: &'a str) -> StoreFuture<'a, ()>;

    /// Returns the servers of the shards as they were last observed.
    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>>;

    /// Stores the last observation of a server, and replaces the earlier one.
    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()>;
}

/// The shard maps: their versions and their settings.
pub trait MapStore: Send + Sync + std::fmt::Debug {
    /// Creates the first version of a map and of its settings in one transaction. The shards of the map must exist.
    ///
    /// Returns the number of the version: 1, or the number after the last one of a removed map of this name.
    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, MapVersion>;

    /// Writes the next version of a map without a migration, for example to join adjacent ranges or to map new keys.
    ///
    /// `map.version` must be the version in force plus one; otherwise it fails with [`StoreError::MapVersion`]. It
    /// fails with [`StoreError::KeysMoving`] if keys of an unfinished migration would change their owner. Of `map` only
    /// the mappings are used.
    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// Writes the next version of a map as [`MapStore::put_version`] does, but without the check for unfinished
    /// migrations: the registers on the shards prove that the owner has already changed.
    fn put_proven_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// Returns the version in force of every map, ordered by name.
    fn maps(&self) -> StoreFuture<'_, Vec<Arc<ShardMap>>>;

    /// Returns the version in force of one map. All callers share one value until the map or its settings change.
    fn map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Option<Arc<ShardMap>>>;

    /// Returns a version of a map with the settings that are in force now, or `None` if the map or the version does not
    /// exist.
    fn map_at<'a>(
        &'a self,
        name: &'a MapName,
        version: MapVersion,
    ) -> StoreFuture<'a, Option<Arc<ShardMap>>>;

    /// Returns every version of a map, oldest first, without mappings.
    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>>;

    /// Returns the registered shards, ordered by name, that occur in any version of the map or in any migration of it.
    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>>;

    /// Writes a new revision of a map's settings. Fails with [`StoreError::SettingsRevision`] unless `new.revision` is
    /// the revision in force plus one.
    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()>;

    /// Returns every revision of a map's settings, newest first. The first one is in force.
    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>>;

    /// Removes a map: its last version has no mappings. Fails with [`StoreError::MapMoved`] if a migration of the map
    /// exists, also if it has ended: then shards have evidence about versions of the map.
    fn remove_map<'a>(&'a self, name: &'a MapName, by: &'a str) -> StoreFuture<'a, ()>;
}
