//! Conversions: changes of the strategy or the key of a map (ADR 78).

use super::StoreFuture;
use chrono::{DateTime, Utc};
use plans::id::{Epoch, MapName, MapVersion, MigrationId, ShardName};
use plans::shard_map::ShardMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A conversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversionRecord {
    /// The id. On the shards it takes the place of the id of a migration.
    pub id: MigrationId,
    /// The map.
    pub map: MapName,
    /// The epoch: only the owner with this epoch may write on the shards for the conversion.
    pub epoch: Epoch,
    /// The version of the map before the conversion.
    pub before: MapVersion,
    /// The version that the conversion created; `None` before that, and if it was withdrawn.
    pub version: Option<MapVersion>,
    /// The shards on which it replaces guards.
    pub shards: Vec<ShardName>,
    /// The user who began it.
    pub by: String,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When its last guard was removed.
    pub finished_at: Option<DateTime<Utc>>,
}

/// The conversions of maps.
pub trait ConversionStore: Send + Sync + std::fmt::Debug {
    /// Begins a conversion. Until it is finished, migrations and other changes of the map fail with
    /// [`StoreError::Converting`](super::StoreError::Converting).
    ///
    /// It fails with [`StoreError::MapVersion`](super::StoreError::MapVersion) unless `new.before` is in force, with
    /// [`StoreError::SettingsRevision`](super::StoreError::SettingsRevision) unless `revision` of the settings is, and with
    /// [`StoreError::KeysMoving`](super::StoreError::KeysMoving) while a migration of the map is unfinished.
    fn begin_conversion<'a>(
        &'a self,
        new: &'a ConversionRecord,
        revision: i64,
    ) -> StoreFuture<'a, ()>;

    /// Takes an unfinished conversion over: increases its epoch. Returns it.
    fn take_conversion<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, ConversionRecord>;

    /// Writes the version that a conversion creates, with strategy, key types, virtual shards and settings of `map`.
    ///
    /// It fails with [`StoreError::ConversionEnded`](super::StoreError::ConversionEnded) unless the conversion is unfinished, has
    /// the epoch of `conversion`, and has created no version yet.
    fn put_converted<'a>(
        &'a self,
        conversion: &'a ConversionRecord,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()>;

    /// Records that no guard of the conversion is left. Does nothing if it was recorded before.
    fn finish_conversion<'a>(
        &'a self,
        conversion: &'a ConversionRecord,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()>;

    /// Returns all conversions, newest first.
    fn conversions(&self) -> StoreFuture<'_, Vec<ConversionRecord>>;
}
