//! Which events each hook was notified of, in memory.

use super::MemoryStore;
use super::missing_error;
use super::state::MemoryState;
use crate::store::{HookCursor, HookStore, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

impl MemoryState {
    pub(super) fn add_hook(&mut self, hook: &str) {
        if self.hooks.contains_key(hook) {
            return;
        }
        let mut cursors = BTreeMap::new();
        for (id, snapshot) in &self.migrations {
            let seq = self.events.get(id).map_or(0, Vec::len) as i64;
            cursors.insert(id.clone(), (seq, snapshot.migration.revision));
        }
        self.hooks.insert(hook.to_owned(), cursors);
    }

    pub(super) fn hook_backlog(&self, hook: &str) -> Vec<HookCursor> {
        let cursors_of_hook = self.hooks.get(hook);
        let mut all: Vec<_> = self.migrations.values().map(|s| &s.migration).collect();
        all.sort_by_key(|m| (m.created_at, &m.operation, m.ordinal));
        let backlog = all.into_iter().filter_map(|m| {
            let cursor = cursors_of_hook
                .and_then(|cursors| cursors.get(&m.id))
                .copied();
            let (seq, published) = cursor.unwrap_or((0, 0));
            (published != m.revision).then(|| HookCursor {
                migration: m.id.clone(),
                seq,
                revision: m.revision,
            })
        });
        backlog.collect()
    }

    pub(super) fn advance_hook(
        &mut self,
        hook: &str,
        cursor: &HookCursor,
    ) -> Result<(), StoreError> {
        let cursors = self.hooks.get_mut(hook);
        let cursors = cursors.ok_or_else(|| missing_error("hook", hook))?;
        let published = (cursor.seq, cursor.revision);
        cursors.insert(cursor.migration.clone(), published);
        Ok(())
    }
}

impl HookStore for MemoryStore {
    fn add_hook<'a>(&'a self, hook: &'a str, _: DateTime<Utc>) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.add_hook(hook);
            Ok(())
        })
    }

    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>> {
        self.run(|state| Ok(state.hook_backlog(hook)))
    }

    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()> {
        self.write(|state| state.advance_hook(hook, cursor))
    }
}
