//! A cache of the version in force of each map, and of the earlier version that was read last. A version never changes,
//! and a map can have a million mappings.
//!
//! All callers share the cached values. The cache keeps the creation time of a version with its number, because a
//! restored store can create another version with the same number. If a newer version is in force, it is built from the
//! cached version and the differences, which are few after the flip of a move.

use super::PgStore;
use super::mappings;
use crate::store::StoreError;
use crate::store::pieces::mappings_after;
use chrono::{DateTime, Utc};
use plans::id::MapName;
use plans::shard_map::{MapSettings, Mapping, ShardMap};
use sqlx::PgConnection;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// If a map has fewer pieces than this number for each changed piece (more than one quarter has changed), the whole map
/// is read.
const MIN_PIECES_PER_CHANGE: i64 = 4;

/// Identifies a version by its number and its creation time.
pub(super) type VersionMark = (i64, DateTime<Utc>);

/// The cached versions of each map.
#[derive(Debug, Clone, Default)]
pub(super) struct MapVersionCache(Arc<Mutex<BTreeMap<MapName, CachedVersions>>>);

/// The cached versions of one map.
#[derive(Debug, Default)]
struct CachedVersions {
    /// The version in force, as it was last read.
    in_force: Option<CachedVersion>,
    /// The earlier version that was read last: pages compare it with another one, or are read again.
    earlier: Option<CachedVersion>,
}

type CachedVersion = (VersionMark, Arc<ShardMap>);

impl MapVersionCache {
    /// Returns this version with `settings`, if it is cached.
    pub(super) fn map(
        &self,
        map: &MapName,
        mark: VersionMark,
        settings: &MapSettings,
    ) -> Option<Arc<ShardMap>> {
        self.with(map, |versions| {
            let mut cached = [&mut versions.in_force, &mut versions.earlier]
                .into_iter()
                .flatten();
            let (_, cached) = cached.find(|(known, _)| *known == mark)?;
            if cached.settings != *settings {
                Arc::make_mut(cached).settings = settings.clone();
            }
            Some(Arc::clone(cached))
        })
    }

    /// Caches the version in force in place of an earlier one.
    pub(super) fn put(&self, mark: VersionMark, map: &Arc<ShardMap>) {
        let cached = Some((mark, Arc::clone(map)));
        self.with(&map.name, |versions| versions.in_force = cached);
    }

    /// Caches an earlier version in place of another one.
    pub(super) fn put_earlier(&self, mark: VersionMark, map: &Arc<ShardMap>) {
        let cached = Some((mark, Arc::clone(map)));
        self.with(&map.name, |versions| versions.earlier = cached);
    }

    /// Returns the version that was in force when it was read.
    fn last(&self, map: &MapName) -> Option<CachedVersion> {
        self.with(map, |versions| versions.in_force.clone())
    }

    fn with<T>(&self, map: &MapName, act: impl FnOnce(&mut CachedVersions) -> T) -> T {
        let mut maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(maps.entry(map.clone()).or_default())
    }
}

/// Builds the mappings of `version`, which is in force and has `buckets` virtual shards, from the cached version.
/// Returns `None` if the map must be read as a whole.
pub(super) async fn mappings_from_cache(
    store: &PgStore,
    session: &mut PgConnection,
    map: &MapName,
    version: i64,
    buckets: u32,
) -> Result<Option<Vec<Mapping>>, StoreError> {
    let Some(((number, at), cached)) = store.map_cache.last(map) else {
        return Ok(None);
    };
    let changes = ChangesBetween::read(session, map, number, version).await?;
    // In a restored store this number belongs to another version, or to none.
    if changes.made != Some(at) || !changes.are_few() {
        return Ok(None);
    }
    let delta = mappings::delta_since(session, map, number).await?;
    Ok(mappings_after(&cached, buckets, delta))
}

/// Builds the mappings of `version`, which had `buckets` virtual shards, from those of the later version in force.
/// Returns `None` if the version must be read as a whole.
pub(super) async fn mappings_before(
    session: &mut PgConnection,
    in_force: &ShardMap,
    version: i64,
    buckets: u32,
) -> Result<Option<Vec<Mapping>>, StoreError> {
    let map = &in_force.name;
    let changes = ChangesBetween::read(session, map, version, in_force.version.0).await?;
    if !changes.are_few() {
        return Ok(None);
    }
    let delta = mappings::delta_since(session, map, version).await?;
    Ok(mappings_after(in_force, buckets, delta.reversed()))
}

/// How much a map has changed since a version.
#[derive(sqlx::FromRow)]
struct ChangesBetween {
    /// The creation time of the earlier version, if it exists.
    made: Option<DateTime<Utc>>,
    changes: i64,
    /// The pieces of the later version.
    pieces: i64,
}

impl ChangesBetween {
    async fn read(
        session: &mut PgConnection,
        map: &MapName,
        earlier: i64,
        later: i64,
    ) -> Result<Self, StoreError> {
        let changes = sqlx::query_as(
            "select max(created_at) filter (where version = $2) as made, \
             coalesce(sum(added + removed) filter (where version > $2), 0)::bigint as changes, \
             coalesce(max(pieces) filter (where version = $3), 0)::bigint as pieces \
             from map_version where map = $1 and version between $2 and $3",
        )
        .bind(map.as_str())
        .bind(earlier)
        .bind(later)
        .fetch_one(session)
        .await?;
        Ok(changes)
    }

    fn are_few(&self) -> bool {
        self.changes <= self.pieces / MIN_PIECES_PER_CHANGE
    }
}
