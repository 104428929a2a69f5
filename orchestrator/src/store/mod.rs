//! What the controller remembers, as whole transactions.
//!
//! Every change of a migration is one compare-and-set on its revision, with its events in the same transaction.
//! Two stores keep this contract: PostgreSQL, and its twin in memory for tests; one suite holds both to it.
//! Absent: decisions. The store refuses only what would break a stated invariant.

pub mod memory;
pub mod pg;
mod records;

pub use records::{
    AgentRecord, Change, CleanupRecord, Event, HoldEnd, MapVersionRecord, Migration, NewEvent,
    NewMigration, Owner, ShardRecord, Snapshot, Step,
};

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::{AgentName, InstanceId, MapName, MigrationId, ShardName, StepId};
use plans::shard_map::ShardMap;

/// The answer of a store.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is taken.
    #[error("{what} {name} exists already")]
    Exists {
        /// Shard, map or migration.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing has the name.
    #[error("there is no {what} {name}")]
    Missing {
        /// Shard, map or migration.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A shard that a map names cannot go.
    #[error("shard {shard} is named by map {map}")]
    ShardInUse {
        /// The shard.
        shard: ShardName,
        /// The map.
        map: MapName,
    },
    /// Another migration moves some of these keys (I8).
    #[error("migration {migration} is moving some of these keys")]
    KeysMoving {
        /// The other one.
        migration: MigrationId,
    },
    /// The map has another version than the one named.
    #[error("map {map} is at version {current}, not {expected}")]
    MapVersion {
        /// The map.
        map: MapName,
        /// In force.
        current: i64,
        /// Named.
        expected: i64,
    },
    /// Something else holds the row for the moment, as a sealed cutover does.
    #[error("the migration's row is held by a cutover for the moment")]
    Busy,
    /// The store could not be asked, or did not understand; after a write the outcome is unknown.
    #[error("the control store could not be used")]
    Unavailable {
        /// What it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The control store.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The random id of this store; constant for its life.
    fn incarnation(&self) -> &str;

    /// Answers when the store can be used.
    fn ping(&self) -> Answer<'_, ()>;

    /// Registers a shard; durable when it returns.
    fn add_shard<'a>(&'a self, name: &'a ShardName, dsn: &'a str) -> Answer<'a, ShardRecord>;

    /// All shards by name.
    fn shards(&self) -> Answer<'_, Vec<ShardRecord>>;

    /// Forgets a shard that no version of a map names; durable when it returns.
    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> Answer<'a, ()>;

    /// Makes version 1 of a map, all or nothing; its shards must be there.
    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> Answer<'a, ()>;

    /// The version in force of every map, by name.
    fn maps(&self) -> Answer<'_, Vec<ShardMap>>;

    /// The version in force of one map.
    fn map<'a>(&'a self, name: &'a MapName) -> Answer<'a, Option<ShardMap>>;

    /// Every version of a map, oldest first.
    fn history<'a>(&'a self, name: &'a MapName) -> Answer<'a, Vec<MapVersionRecord>>;

    /// Admits a migration with its steps and first event, all or nothing.
    ///
    /// Refused unless the map is at the plan's version and no unfinished migration meets the keys.
    fn submit<'a>(&'a self, new: &'a NewMigration) -> Answer<'a, Snapshot>;

    /// One migration with its steps and lease, as one moment saw them.
    fn load<'a>(&'a self, id: &'a MigrationId) -> Answer<'a, Option<Snapshot>>;

    /// Every migration that has not ended, oldest first.
    fn unfinished(&self) -> Answer<'_, Vec<Snapshot>>;

    /// The newest migrations, newest first, without steps.
    fn list(&self, limit: i64) -> Answer<'_, Vec<Migration>>;

    /// Applies a change if the revision is still the one that it was made from; `false` if not.
    ///
    /// All or nothing: migration, steps, lease, events; durable when it returns `true`.
    /// On [`StoreError::Unavailable`] the change may or may not have happened: load again.
    fn commit<'a>(&'a self, change: &'a Change) -> Answer<'a, bool>;

    /// Locks a migration and its map until the returned session is used, dropped or lost (C7).
    ///
    /// It waits for whoever changes the migration, so what it reads is settled:
    /// a flip whose reply was lost is seen, and one that is not seen will never happen.
    fn seal<'a>(&'a self, id: &'a MigrationId) -> Answer<'a, Box<dyn Sealed>>;

    /// Extends the lease of `instance`, and keeps the running step's figures; `false` if it is another's.
    ///
    /// Never waits for a sealed migration. May be lost in a crash of the store: only time is lost then.
    fn extend_lease<'a>(
        &'a self,
        id: &'a MigrationId,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        progress: Option<(&'a StepId, &'a serde_json::Value)>,
    ) -> Answer<'a, bool>;

    /// Events of a migration after `after`, oldest first.
    fn events<'a>(&'a self, id: &'a MigrationId, after: i64, limit: i64) -> Answer<'a, Vec<Event>>;

    /// Writes cleanup records; durable when it returns, so that the objects may be created then.
    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> Answer<'a, ()>;

    /// Marks the objects of these records as gone.
    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> Answer<'a, ()>;

    /// The cleanup records of a migration in the order of their making.
    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> Answer<'a, Vec<CleanupRecord>>;

    /// Notes that an agent spoke; `true` if it is a new process of that name.
    fn see_agent<'a>(
        &'a self,
        agent: &'a AgentName,
        instance: &'a InstanceId,
        at: DateTime<Utc>,
    ) -> Answer<'a, bool>;

    /// All agents by name.
    fn agents(&self) -> Answer<'_, Vec<AgentRecord>>;
}

/// A migration whose row is locked for the flip; dropping it changes nothing and unlocks.
pub trait Sealed: Send + Sync + std::fmt::Debug {
    /// The migration as it is and stays while this is held.
    fn snapshot(&self) -> &Snapshot;

    /// The map in force, which stays so while this is held.
    fn map(&self) -> &ShardMap;

    /// Applies the change with the new map version and unlocks: the point of no return (C9).
    ///
    /// Committed synchronously. On an error the outcome is unknown: [`Store::seal`] again tells.
    fn flip<'a>(self: Box<Self>, change: &'a Change, map: &'a ShardMap) -> Answer<'a, ()>
    where
        Self: 'a;

    /// Changes nothing and unlocks.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}
