//! The control store: everything that the controller records durably. Each method is one transaction.
//!
//! - Every change of a migration is one compare-and-set on the migration's revision. The same transaction writes the
//!   events of the change.
//! - Every transaction that writes proves that the process leads (`leader`). Followers only read.
//! - Two implementations fulfil this contract: PostgreSQL (`pg`), and an implementation in memory for tests. One test
//!   suite tests both.
//! - The store decides nothing. It refuses only what would violate an invariant of docs/protocol.md.

mod access;
mod agents;
mod answer;
mod fleet;
mod leader;
pub mod memory;
mod operation;
pub mod pg;
mod phase;
mod pieces;
mod reading;
mod records;

pub use access::{SessionRecord, TokenRecord};
pub use agents::{AgentProcess, AgentRecord, Registered};
pub use answer::{EarlierCommand, KeptAnswer, KeyedCommand};
pub use fleet::{
    AuditLine, AuditRecord, MapVersionRecord, NewShard, SettingsRecord, ShardRecord, ShardUpdate,
};
pub use leader::{Leader, LeaderCandidate, RemoteChange, Term};
pub use operation::{NewOperation, OperationRecord};
pub use phase::MigrationPhase;
pub use reading::{FigureReading, StreamReading};
pub use records::{
    Approval, CancelRequest, CleanupRecord, Event, HoldEnd, HookCursor, HookReply, HookRequest,
    Migration, MigrationChange, MigrationOwner, NewEvent, OwnerBeat, Snapshot, Step,
};

use crate::access::SecretDigest;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::{InstanceId, MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::ShardMap;
use std::sync::Arc;

/// Versions of the control store's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The version that the store has.
    pub found: i64,
    /// The version for which this program was built.
    pub known: i64,
}

/// The future that a method of the store returns.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Every migration that has not ended, oldest first. Concurrent callers share one value.
pub type UnfinishedMigrations = Arc<Vec<Arc<Snapshot>>>;

/// Why the store did not carry out a call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is already in use.
    #[error("{what} {name} exists already")]
    Exists {
        /// The kind of object: shard, map or migration.
        what: &'static str,
        /// The name of the object.
        name: String,
    },
    /// No object has the name.
    #[error("there is no {what} {name}")]
    Missing {
        /// The kind of object: shard, map or migration.
        what: &'static str,
        /// The name of the object.
        name: String,
    },
    /// The shard cannot be removed: the version in force of a map names it.
    #[error("shard {shard} is named by map {map}")]
    ShardInUse {
        /// The shard.
        shard: ShardName,
        /// The map.
        map: MapName,
    },
    /// The shard cannot be removed: it is the source or the target of an unfinished migration.
    #[error("shard {shard} is source or target of migration {migration}")]
    ShardMoving {
        /// The shard.
        shard: ShardName,
        /// The migration.
        migration: MigrationId,
    },
    /// Another migration moves some of these keys (I8).
    #[error("migration {migration} is moving some of these keys")]
    KeysMoving {
        /// The other migration.
        migration: MigrationId,
    },
    /// The map is not at the version that the caller expects.
    #[error("map {map} is at version {current}, not {expected}")]
    MapVersion {
        /// The map.
        map: MapName,
        /// The version in force.
        current: i64,
        /// The version that the caller expects.
        expected: i64,
    },
    /// The map's settings have changed since the caller read them.
    #[error("the settings of map {map} are at revision {current}, not {expected}")]
    SettingsRevision {
        /// The map.
        map: MapName,
        /// The revision in force.
        current: i64,
        /// The revision that the caller expects.
        expected: i64,
    },
    /// No controller leads, or another one has taken over. Nothing was written.
    #[error("this controller does not lead")]
    NotLeading,
    /// Another transaction holds the lock on the row, for example the sealed transaction of a cutover.
    #[error("the migration's row is held by a cutover for the moment")]
    Busy,
    /// A text contains a character that the store cannot hold, such as U+0000. Nothing was written.
    #[error("a name or a text has a character that cannot be kept: {reason}")]
    Unwritable {
        /// The error message of the store.
        reason: String,
    },
    /// The store could not be queried, or the query failed. After a write the outcome is unknown.
    #[error("the control store could not be used")]
    Unavailable {
        /// The underlying error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The control store, as one process accesses it: its handle.
///
/// Every method that writes fails with [`StoreError::NotLeading`] unless the handle leads. The transaction that writes
/// proves the leader's term.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Returns the random id of this store (its incarnation). It never changes.
    fn incarnation(&self) -> &str;

    /// Returns `Ok` if the store can be queried.
    fn ping(&self) -> StoreFuture<'_, ()>;

    /// Returns the version of the schema and the version for which this program was built.
    fn schema(&self) -> StoreFuture<'_, SchemaVersion>;

    /// Renews the lease of this handle, or takes over if no controller leads any more. Returns the current leader.
    ///
    /// If it returns another leader than before, every transaction of older terms has ended, and none can begin. If it
    /// returns `candidate`, this handle writes under the new term from now on. If the future was dropped, call it
    /// again.
    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader>;

    /// Returns the term under which this handle writes, or `None` if it is a follower.
    fn term(&self) -> Option<Term>;

    /// Makes this handle a follower, which writes nothing. It sends nothing to the store.
    fn step_down(&self);

    /// Makes this handle a follower, and ends its lease, so that another controller can take over immediately.
    fn resign(&self) -> StoreFuture<'_, ()>;

    /// Returns the controller that leads or that led last, or `None` if no controller has ever led.
    fn leader(&self) -> StoreFuture<'_, Option<Leader>>;

    /// Waits until another process may have changed something. After an error, a change may have been missed.
    fn news(&self) -> StoreFuture<'_, RemoteChange>;

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

    /// Creates version 1 of a map and revision 1 of its settings in one transaction. The shards of the map must exist.
    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// Writes the next version of a map without a migration, for example to join adjacent ranges or to map new keys.
    ///
    /// `map.version` must be the version in force plus one; otherwise it fails with [`StoreError::MapVersion`]. It
    /// fails with [`StoreError::KeysMoving`] if keys of an unfinished migration would change their owner. Of `map` only
    /// the mappings are used.
    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// Writes the next version of a map as [`Store::put_version`] does, but without the check for unfinished
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
    ) -> StoreFuture<'a, Option<ShardMap>>;

    /// Returns every version of a map, oldest first, without mappings.
    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>>;

    /// Returns the registered shards, ordered by name, that occur in any version of the map or in any migration of it.
    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>>;

    /// Writes a new revision of a map's settings. Fails with [`StoreError::SettingsRevision`] unless `new.revision` is
    /// the revision in force plus one.
    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()>;

    /// Returns every revision of a map's settings, newest first. The first one is in force.
    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>>;

    /// Writes an operation: one migration for each move, with its steps and its first event, all in one transaction.
    ///
    /// Fails unless the map is at the plan's version and no unfinished migration moves any of the keys. With `queue` it
    /// checks neither. Returns the migrations in the order of the moves.
    fn submit<'a>(&'a self, new: &'a NewOperation) -> StoreFuture<'a, Vec<Snapshot>>;

    /// Returns one operation with its migrations in the order of the moves.
    fn operation<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<OperationRecord>>;

    /// Returns up to `limit` operations, newest first: those that are older than `after`, or the newest.
    fn operations<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<OperationRecord>>;

    /// Returns one migration with its steps and its lease, read in one snapshot.
    fn load<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<Snapshot>>;

    /// Returns every migration that has not ended, oldest first, read in one snapshot that is not older than the call.
    ///
    /// If this handle leads, the progress figures of a running step can be older: as of the last change of the
    /// migration.
    fn unfinished(&self) -> StoreFuture<'_, UnfinishedMigrations>;

    /// Returns up to `limit` migrations without their steps, newest first: those that follow `after`, or the newest.
    fn list<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<Migration>>;

    /// Applies a change if the migration still has the revision on which the change is based. Returns `false` if it has
    /// not.
    ///
    /// Migration, steps, lease and events change in one transaction, which is durable when the call returns `true`. A
    /// change that starts a migration (it sets `started_at`) fails with [`StoreError::KeysMoving`] while another
    /// migration that has started and not ended moves some of the keys (I8). After [`StoreError::Unavailable`] the
    /// outcome is unknown, and the caller must load the migration again.
    fn commit<'a>(&'a self, change: &'a MigrationChange) -> StoreFuture<'a, bool>;

    /// Locks a migration and its map until the returned session is committed, dropped or lost (C7, docs/protocol.md).
    ///
    /// It first waits for any transaction that is changing the migration. Therefore the state that it reads is final:
    /// if a flip whose reply was lost is not in this state, it will never be committed.
    fn seal<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Box<dyn SealedMigration>>;

    /// Extends the leases that `instance` holds, and stores the figures of running steps and the readings. Returns the
    /// migrations whose lease it extended.
    ///
    /// It never waits for a lock: it skips migrations of another process, and those that another transaction is
    /// changing or has sealed. The commit is not durable: a crash of the store can lose it, which costs only time. It
    /// proves the term even if no lease is to be extended.
    fn extend_leases<'a>(
        &'a self,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        beats: &'a [OwnerBeat],
    ) -> StoreFuture<'a, Vec<MigrationId>>;

    /// Returns the readings (progress figures) of a migration, oldest first.
    fn readings<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<FigureReading>>;

    /// Returns the events of a migration with a number above `after`, oldest first.
    fn events<'a>(
        &'a self,
        id: &'a MigrationId,
        after: i64,
        limit: i64,
    ) -> StoreFuture<'a, Vec<Event>>;

    /// Begins to record how far this hook was notified. A new hook is not notified of events that happened before.
    fn add_hook<'a>(&'a self, hook: &'a str, at: DateTime<Utc>) -> StoreFuture<'a, ()>;

    /// Returns the migrations that have changed since this hook was notified of them, oldest first. Each cursor has the
    /// last event of which the hook was notified, and the current revision of the migration.
    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>>;

    /// Records how far this hook was notified. The record is durable when the call returns.
    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()>;

    /// Writes cleanup records. They are durable when the call returns; only then may an agent create the objects.
    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> StoreFuture<'a, ()>;

    /// Marks the objects of these records as removed.
    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()>;

    /// Returns the cleanup records of a migration in the order in which they were written.
    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<CleanupRecord>>;

    /// Records that an agent's process sent a request at `at`, if the process has the agent's name or may take it over.
    ///
    /// A process may take the name over from a process that was last observed before `silent_since`, or whose key is
    /// among the keys in `process.outlived`. Only the key proves this, because every client can read the instance id. A
    /// process that has the name must present the key with which it registered.
    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered>;

    /// Returns all agents, ordered by name.
    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>>;

    /// Returns the servers of the shards as they were last observed.
    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>>;

    /// Stores the last observation of a server, and replaces the earlier one.
    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()>;

    /// Adds a line to the audit trail. The line is durable when the call returns.
    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()>;

    /// Returns up to `limit` lines of the audit trail, newest first: those with a number below `before`, or the newest.
    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>>;

    /// Stores a token, durably. Fails with [`StoreError::Exists`] if a token with this name exists and is not revoked.
    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()>;

    /// Returns every token, oldest first, including revoked ones.
    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>>;

    /// Revokes the token with this name, durably. Fails with [`StoreError::Missing`] if no such token exists.
    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord>;

    /// Stores a session of the dashboard, and deletes sessions that ended before this one began.
    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()>;

    /// Returns the session with this digest, even if it has ended.
    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>>;

    /// Deletes a session. Returns whether it existed: if two callers end the same session, only one gets `true`.
    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool>;

    /// Records that a command with an idempotency key begins, and deletes records that are older than one day. If a
    /// command with the same key was recorded before, returns that record and leaves it unchanged.
    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>>;

    /// Stores the response to a command with an idempotency key.
    fn keep_answer<'a>(&'a self, key: SecretDigest, answer: &'a KeptAnswer) -> StoreFuture<'a, ()>;

    /// Deletes the record of a command with an idempotency key, because the command changed nothing.
    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()>;
}

/// A migration whose row is locked for the flip. Dropping the value rolls the transaction back, which releases the
/// lock.
pub trait SealedMigration: Send + Sync + std::fmt::Debug {
    /// Returns the migration. It cannot change while this lock is held.
    fn snapshot(&self) -> &Snapshot;

    /// Returns the map in force, which cannot change while this lock is held. Of a list map it has only the moving
    /// keys.
    fn map(&self) -> &ShardMap;

    /// Writes the change and the new map version. Other sessions see it only after [`SealedMigration::commit`].
    ///
    /// `map` is the map in force with other mappings and the next version number.
    fn write<'a>(
        &'a mut self,
        change: &'a MigrationChange,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()>;

    /// Commits what [`SealedMigration::write`] has written, and releases the lock. This is the flip (C9), the point of
    /// no return.
    ///
    /// The commit is synchronous. After an error the outcome is unknown; [`Store::seal`] then reads the final state.
    fn commit(self: Box<Self>) -> StoreFuture<'static, ()>;

    /// Rolls the transaction back, which releases the lock.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}
