//! What the library had to do, counted since the map was connected.

use plans::id::MapVersion;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counters of one [`crate::Map`], and how old what it knows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Keys that were looked up, by transactions too.
    pub lookups: u64,
    /// Of these, keys that have no shard, or are no keys of the map, or were asked for while the map was too old.
    pub lookups_refused: u64,
    /// Attempts after the first, for any reason.
    pub retries: u64,
    /// Writes refused with SM001: the shard does not own the key, or not for the moment.
    pub not_owner: u64,
    /// Writes refused with SM002: the shard does not own the key yet.
    pub not_open: u64,
    /// Newer versions of the map taken over.
    pub refreshes: u64,
    /// Times that the change feed was opened again.
    pub reconnects: u64,
    /// Commits whose outcome is unknown.
    pub commits_unknown: u64,
    /// The version of the map in use.
    pub version: MapVersion,
    /// For how long no controller has said anything: the map may be older than the fleet by as much.
    pub silence: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) lookups: AtomicU64,
    pub(crate) lookups_refused: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) not_owner: AtomicU64,
    pub(crate) not_open: AtomicU64,
    pub(crate) commits_unknown: AtomicU64,
}

impl Counters {
    /// What is counted here; the rest as `feed` has it.
    pub(crate) fn read(&self, feed: Stats) -> Stats {
        Stats {
            lookups: self.lookups.load(Relaxed),
            lookups_refused: self.lookups_refused.load(Relaxed),
            retries: self.retries.load(Relaxed),
            not_owner: self.not_owner.load(Relaxed),
            not_open: self.not_open.load(Relaxed),
            commits_unknown: self.commits_unknown.load(Relaxed),
            ..feed
        }
    }
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
