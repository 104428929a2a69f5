//! The store in memory, for tests. It fulfils the same contract without PostgreSQL, and its data ends with its process.
//!
//! One lock around all data makes each call one transaction. Clones are the same handle; `for_another_process` makes
//! the handle of another process.

mod access;
mod agents;
mod commands;
mod conversions;
mod fleet;
mod hooks;
mod imbalance;
mod leader;
mod listing;
mod migrations;
mod sealed;
mod state;

use super::leader::OwnTerm;
use super::{SchemaVersion, Store, StoreError, StoreFuture};
use state::MemoryState;
use std::sync::{Arc, Mutex, MutexGuard};

/// A store whose data exists as long as this value.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    incarnation: String,
    state: Arc<Mutex<MemoryState>>,
    own_term: Arc<OwnTerm>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            incarnation: uuid::Uuid::new_v4().to_string(),
            state: Arc::default(),
            own_term: Arc::default(),
        }
    }

    /// Returns a handle for the same store that acts like another process.
    #[must_use]
    pub fn for_another_process(&self) -> Self {
        Self {
            own_term: Arc::default(),
            ..self.clone()
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        // A panic in another test thread does not corrupt the data, so a poisoned lock is accepted.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Calls `act` with the data under the lock, and returns its result as a future that is ready.
    fn run<'a, T: Send + 'a>(
        &self,
        act: impl FnOnce(&mut MemoryState) -> Result<T, StoreError>,
    ) -> StoreFuture<'a, T> {
        let result = act(&mut self.state());
        Box::pin(std::future::ready(result))
    }

    /// Does the same as [`MemoryStore::run`], but fails unless this handle leads.
    fn write<'a, T: Send + 'a>(
        &self,
        act: impl FnOnce(&mut MemoryState) -> Result<T, StoreError>,
    ) -> StoreFuture<'a, T> {
        self.run(|state| {
            state.prove_term(&self.own_term)?;
            act(state)
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn incarnation(&self) -> &str {
        &self.incarnation
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        self.run(|_| Ok(()))
    }

    fn schema(&self) -> StoreFuture<'_, SchemaVersion> {
        self.run(|_| Ok(SchemaVersion { found: 1, known: 1 }))
    }
}

fn exists_error(what: &'static str, name: &str) -> StoreError {
    let name = name.to_owned();
    StoreError::Exists { what, name }
}

fn missing_error(what: &'static str, name: &str) -> StoreError {
    let name = name.to_owned();
    StoreError::Missing { what, name }
}
