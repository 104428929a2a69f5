//! What the library had to do, counted since the map was connected.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one [`crate::Map`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Attempts after the first, for any reason.
    pub retries: u64,
    /// Writes refused with SM001: the shard does not own the key, or not for the moment.
    pub not_owner: u64,
    /// Writes refused with SM002: the shard does not own the key yet.
    pub not_open: u64,
    /// Newer versions of the map taken over.
    pub refreshes: u64,
    /// Commits whose outcome is unknown.
    pub commits_unknown: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) retries: AtomicU64,
    pub(crate) not_owner: AtomicU64,
    pub(crate) not_open: AtomicU64,
    pub(crate) commits_unknown: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self, refreshes: u64) -> Stats {
        Stats {
            retries: self.retries.load(Relaxed),
            not_owner: self.not_owner.load(Relaxed),
            not_open: self.not_open.load(Relaxed),
            refreshes,
            commits_unknown: self.commits_unknown.load(Relaxed),
        }
    }
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
