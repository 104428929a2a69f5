//! A migration and its map, locked for a flip.

use super::MemoryStore;
use crate::store::{MigrationChange, SealedMigration, Snapshot, StoreError, StoreFuture};
use futures::future::BoxFuture;
use plans::shard_map::ShardMap;

/// One migration and its map. Other callers cannot change them until this value is committed or dropped.
#[derive(Debug)]
pub(super) struct MemorySealed {
    pub(super) store: MemoryStore,
    pub(super) snapshot: Snapshot,
    pub(super) map: ShardMap,
    /// The changes that a commit makes.
    pub(super) written: Option<(MigrationChange, ShardMap)>,
}

impl SealedMigration for MemorySealed {
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn map(&self) -> &ShardMap {
        &self.map
    }

    fn write<'a>(
        &'a mut self,
        change: &'a MigrationChange,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()> {
        self.written = Some((change.clone(), map.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn commit(mut self: Box<Self>) -> StoreFuture<'static, ()> {
        let written = self.written.take();
        self.store.clone().write(move |state| {
            let Some((change, map)) = written else {
                return Ok(());
            };
            let id = &change.migration.id;
            state.add_version(&map, Some(id), id.as_str())?;
            match state.apply(&change)? {
                true => Ok(()),
                false => Err(StoreError::Busy),
            }
        })
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Drop for MemorySealed {
    fn drop(&mut self) {
        self.store
            .state()
            .sealed
            .remove(&self.snapshot.migration.id);
    }
}
