//! Mappings that were read before: a version never changes, and a list map may have a million keys.
//!
//! The time of its making stands beside its number, since a store may be restored to an earlier version and
//! make another one of the same number.

use chrono::{DateTime, Utc};
use plans::id::MapName;
use plans::shard_map::Mapping;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A version by number and time of its making.
pub(super) type Made = (i64, DateTime<Utc>);

/// The version in force that was read last, of each map.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<Mutex<Versions>>);

type Versions = BTreeMap<MapName, (Made, Arc<Vec<Mapping>>)>;

impl Known {
    /// The mappings of this version.
    pub(super) fn mappings(&self, map: &MapName, made: Made) -> Option<Arc<Vec<Mapping>>> {
        self.with(|versions| {
            let (known, mappings) = versions.get(map)?;
            (*known == made).then(|| Arc::clone(mappings))
        })
    }

    /// Keeps them in place of those of another version.
    pub(super) fn keep(&self, map: &MapName, made: Made, mappings: &[Mapping]) {
        self.with(|versions| {
            if versions.get(map).is_none_or(|(known, _)| *known != made) {
                versions.insert(map.clone(), (made, Arc::new(mappings.to_vec())));
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Versions) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
