//! Operations and migrations in memory.

use super::MemoryStore;
use super::listing::{after_cursor, sort_key};
use super::sealed::MemorySealed;
use crate::store::{
    CleanupRecord, Event, FigureReading, Migration, MigrationChange, MigrationStore, NewOperation,
    OperationRecord, OwnerBeat, SealedMigration, Snapshot, StoreError, StoreFuture,
    UnfinishedMigrations,
};
use chrono::{DateTime, Utc};
use plans::id::{InstanceId, MigrationId};
use std::sync::Arc;

impl MigrationStore for MemoryStore {
    fn submit<'a>(&'a self, new: &'a NewOperation) -> StoreFuture<'a, Vec<Snapshot>> {
        self.write(|state| state.submit(new))
    }

    fn operation<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<OperationRecord>> {
        self.run(|state| Ok(state.operation(id)))
    }

    fn operations<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<OperationRecord>> {
        self.run(|state| {
            let ids = state.operations.keys();
            let mut all: Vec<OperationRecord> = ids.filter_map(|id| state.operation(id)).collect();
            all.sort_by_key(|operation| std::cmp::Reverse(operation.created_at));
            Ok(after_cursor(all, limit, after, |operation| &operation.id))
        })
    }

    fn load<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<Snapshot>> {
        self.run(|state| Ok(state.migrations.get(id).cloned()))
    }

    fn unfinished(&self) -> StoreFuture<'_, UnfinishedMigrations> {
        self.run(|state| {
            let all = state.migrations.values();
            let open = all.filter(|snapshot| snapshot.migration.finished_at.is_none());
            let mut open: Vec<Arc<Snapshot>> = open.cloned().map(Arc::new).collect();
            open.sort_by_key(|snapshot| sort_key(&snapshot.migration));
            Ok(Arc::new(open))
        })
    }

    fn list<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<Migration>> {
        self.run(|state| {
            let all = state.migrations.values();
            let mut all: Vec<Migration> = all.map(|s| s.migration.clone()).collect();
            all.sort_by_key(|m| {
                (
                    std::cmp::Reverse(m.created_at),
                    m.operation.clone(),
                    m.ordinal,
                )
            });
            Ok(after_cursor(all, limit, after, |m| &m.id))
        })
    }

    fn commit<'a>(&'a self, change: &'a MigrationChange) -> StoreFuture<'a, bool> {
        self.write(|state| {
            if state.sealed.contains_key(&change.migration.id) {
                return Err(StoreError::Busy);
            }
            state.apply(change)
        })
    }

    fn seal<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Box<dyn SealedMigration>> {
        self.write(|state| {
            let (snapshot, map) = state.seal(id)?;
            let sealed: Box<dyn SealedMigration> = Box::new(MemorySealed {
                store: self.clone(),
                snapshot,
                map,
                written: None,
            });
            Ok(sealed)
        })
    }

    fn extend_leases<'a>(
        &'a self,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        beats: &'a [OwnerBeat],
    ) -> StoreFuture<'a, Vec<MigrationId>> {
        self.write(|state| {
            let extended = beats.iter();
            let extended = extended.filter(|beat| state.extend_lease(instance, until, beat));
            Ok(extended.map(|beat| beat.migration.clone()).collect())
        })
    }

    fn readings<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<FigureReading>> {
        self.run(|state| Ok(state.readings.get(id).cloned().unwrap_or_default()))
    }

    fn events<'a>(
        &'a self,
        id: &'a MigrationId,
        after: i64,
        limit: i64,
    ) -> StoreFuture<'a, Vec<Event>> {
        self.run(|state| {
            let all = state.events.get(id).into_iter().flatten();
            let later = all.filter(|event| event.seq > after);
            let limit = usize::try_from(limit).unwrap_or_default();
            Ok(later.take(limit).cloned().collect())
        })
    }

    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.add_cleanup(id, records);
            Ok(())
        })
    }

    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.finish_cleanup(id, records, at);
            Ok(())
        })
    }

    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<CleanupRecord>> {
        self.run(|state| Ok(state.cleanup.get(id).cloned().unwrap_or_default()))
    }
}
