//! Maps that were read before: a version never changes, and a list map may have a million keys.
//!
//! All who ask share what is kept. The time of its making stands beside a version's number, since a store may be
//! restored to an earlier version and make another one of the same number.
//! A version that follows the one that is kept is made from it and from what differs, which is little where a move has
//! flipped.

use super::PgStore;
use super::mappings;
use crate::store::StoreError;
use crate::store::pieces::changed;
use chrono::{DateTime, Utc};
use plans::id::MapName;
use plans::shard_map::{MapSettings, Mapping, ShardMap};
use sqlx::PgConnection;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A map of which more than this part has changed is read as a whole.
const FEW: i64 = 4;

/// A version by number and time of its making.
pub(super) type VersionMark = (i64, DateTime<Utc>);

/// The version in force that was read last, of each map.
#[derive(Debug, Clone, Default)]
pub(super) struct MapVersionCache(Arc<Mutex<VersionsInForce>>);

type VersionsInForce = BTreeMap<MapName, (VersionMark, Arc<ShardMap>)>;

impl MapVersionCache {
    /// This version under `settings`.
    pub(super) fn map(
        &self,
        map: &MapName,
        made: VersionMark,
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
    pub(super) fn keep(&self, made: VersionMark, map: &Arc<ShardMap>) {
        self.with(|versions| versions.insert(map.name.clone(), (made, Arc::clone(map))));
    }

    /// The version that is kept, whether it is in force or not.
    fn last(&self, map: &MapName) -> Option<(VersionMark, Arc<ShardMap>)> {
        self.with(|versions| versions.get(map).cloned())
    }

    fn with<T>(&self, act: impl FnOnce(&mut VersionsInForce) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The mappings of `version`, which is in force, from the version that is kept; `None`: it must be read as a whole.
pub(super) async fn later(
    store: &PgStore,
    session: &mut PgConnection,
    map: &MapName,
    version: i64,
) -> Result<Option<Vec<Mapping>>, StoreError> {
    let Some(((number, at), kept)) = store.known.last(map) else {
        return Ok(None);
    };
    let since: ChangesSince = sqlx::query_as(
        "select max(created_at) filter (where version = $2) as made, \
         coalesce(sum(added + removed) filter (where version > $2), 0)::bigint as changes, \
         coalesce(max(pieces) filter (where version = $3), 0)::bigint as pieces \
         from map_version where map = $1 and version between $2 and $3",
    )
    .bind(map.as_str())
    .bind(number)
    .bind(version)
    .fetch_one(&mut *session)
    .await?;
    // A restored store has another version of that number, or none.
    if since.made != Some(at) || since.changes > since.pieces / FEW {
        return Ok(None);
    }
    let delta = mappings::since(session, map, number).await?;
    Ok(changed(&kept, delta))
}

/// What became of a map since a version.
#[derive(sqlx::FromRow)]
struct ChangesSince {
    made: Option<DateTime<Utc>>,
    changes: i64,
    pieces: i64,
}
