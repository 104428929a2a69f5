//! Counts the changes of moving rows, for the status and for the markers of a cutover.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plans::table::MovingTable;

/// The number of changes of moving rows, without those of reference tables.
#[derive(Debug, Default)]
pub(super) struct MovingRowCount {
    /// Changes of the current batch, without those of dependent tables.
    gathered: u64,
    /// Changes that are durable and not yet published, without those of dependent tables.
    durable: u64,
    /// Executed changes of dependent tables, in all batches: only their execution shows which rows move.
    dependents: Arc<AtomicU64>,
    /// The part of `dependents` that is published.
    published_dependents: u64,
}

impl MovingRowCount {
    /// The counter to which the execution adds changes of dependent tables.
    pub(super) fn dependents(&self) -> Arc<AtomicU64> {
        self.dependents.clone()
    }

    /// Counts a gathered change of a row that moves if the table has the key.
    pub(super) fn add_change(&mut self, table: &MovingTable) {
        self.gathered += u64::from(!table.is_reference() && table.through().is_none());
    }

    /// Counts a row that the agent has copied itself, and which moves.
    pub(super) fn add_copied_row(&mut self, table: &MovingTable) {
        self.gathered += u64::from(!table.is_reference());
    }

    /// Returns the number of gathered changes, and begins the next batch.
    pub(super) fn take_gathered(&mut self) -> u64 {
        std::mem::take(&mut self.gathered)
    }

    pub(super) fn add_durable(&mut self, changes: u64) {
        self.durable += changes;
    }

    /// The number of changes that are not published yet, durable or not. `closed` is the number of those in batches whose
    /// commits are in progress. Changes of dependent tables are included when they are executed.
    pub(super) fn unpublished(&self, closed: u64) -> u64 {
        let executed = self.dependents.load(Ordering::SeqCst);
        self.durable + closed + self.gathered + executed - self.published_dependents
    }

    /// Returns the number of changes that became durable since the last call, with the executed changes of dependent
    /// tables.
    pub(super) fn take_durable(&mut self) -> u64 {
        let executed = self.dependents.load(Ordering::SeqCst);
        let dependents = executed - std::mem::replace(&mut self.published_dependents, executed);
        std::mem::take(&mut self.durable) + dependents
    }
}
