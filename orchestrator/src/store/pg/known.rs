//! Maps that were read before: a version never changes, and a list map may have a million keys.
//!
//! All who ask share what is kept. The time of its making stands beside a version's number, since a store may be
//! restored to an earlier version and make another one of the same number.

use chrono::{DateTime, Utc};
use plans::id::MapName;
use plans::shard_map::{MapSettings, ShardMap};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A version by number and time of its making.
pub(super) type Made = (i64, DateTime<Utc>);

/// The version in force that was read last, of each map.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<Mutex<Versions>>);

type Versions = BTreeMap<MapName, (Made, Arc<ShardMap>)>;

impl Known {
    /// This version under `settings`.
    pub(super) fn map(
        &self,
        map: &MapName,
        made: Made,
        settings: &MapSettings,
    ) -> Option<Arc<ShardMap>> {
        self.with(|versions| {
            let (known, kept) = versions.get_mut(map)?;
            if *known != made {
                return None;
            }
            if kept.settings != *settings {
                Arc::make_mut(kept).settings = settings.clone();
            }
            Some(Arc::clone(kept))
        })
    }

    /// Keeps it in place of another version.
    pub(super) fn keep(&self, made: Made, map: &Arc<ShardMap>) {
        self.with(|versions| versions.insert(map.name.clone(), (made, Arc::clone(map))));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Versions) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
