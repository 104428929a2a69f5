//! The roles of the store for operations and migrations, and for hooks.

use super::{
    CleanupRecord, Event, FigureReading, HookCursor, Migration, MigrationChange, NewOperation,
    OperationRecord, OwnerBeat, Snapshot, StoreFuture, UnfinishedMigrations,
};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::{InstanceId, MigrationId};
use plans::shard_map::ShardMap;

/// Operations and migrations, with their steps, leases, journals, progress figures and cleanup records.
pub trait MigrationStore: Send + Sync + std::fmt::Debug {
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
}

/// Which events of the journals each hook was notified of.
pub trait HookStore: Send + Sync + std::fmt::Debug {
    /// Begins to record how far this hook was notified. A new hook is not notified of events that happened before.
    fn add_hook<'a>(&'a self, hook: &'a str, at: DateTime<Utc>) -> StoreFuture<'a, ()>;

    /// Returns the migrations that have changed since this hook was notified of them, oldest first. Each cursor has the
    /// last event of which the hook was notified, and the current revision of the migration.
    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>>;

    /// Records how far this hook was notified. The record is durable when the call returns.
    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()>;
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
    /// The commit is synchronous. After an error the outcome is unknown; [`MigrationStore::seal`] then reads the final
    /// state.
    fn commit(self: Box<Self>) -> StoreFuture<'static, ()>;

    /// Rolls the transaction back, which releases the lock.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}
