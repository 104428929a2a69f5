//! The counters of the library, since the map was connected.

use plans::id::MapVersion;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The counters of one [`crate::Map`], and the age of its information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The number of looked-up keys, including those of transactions.
    pub lookups: u64,
    /// The number of these keys that have no shard, are not keys of the map, or were looked up while the map was too
    /// old.
    pub lookups_refused: u64,
    /// The number of attempts after the first one, for any reason.
    pub retries: u64,
    /// The number of writes refused with SM001: the shard does not own the key any more, or refuses it for the moment.
    pub not_owner: u64,
    /// The number of writes refused with SM002: the shard does not own the key yet.
    pub not_open: u64,
    /// The number of newer map versions that replaced the cached one.
    pub refreshes: u64,
    /// How often the change feed was opened again.
    pub reconnects: u64,
    /// The number of commits with an unknown outcome.
    pub commits_unknown: u64,
    /// The version of the map in use.
    pub version: MapVersion,
    /// The time since a controller last answered. The map may be out of date by this time.
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
    /// Returns these counters together with those of `feed`.
    pub(crate) fn combined_with(&self, feed: Stats) -> Stats {
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

/// Adds one to a counter.
pub(crate) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
