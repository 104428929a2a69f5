//! Maps: their versions and their history.

use super::PgStore;
use super::map_reading::{map_at, map_in_force, version_row};
use super::mappings;
use super::rows::missing_error;
use super::settings::insert_settings;
use crate::store::pieces::{AllowedOwners, MapDelta, piece_count};
use crate::store::{MapStore, MapVersionRecord, SettingsRecord, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::shard_map::ShardMap;
use sqlx::PgConnection;
use std::sync::Arc;

/// Begins a read-only transaction in which all statements use one snapshot.
pub(super) const BEGIN_ONE_SNAPSHOT: &str = "begin isolation level repeatable read, read only";

#[derive(sqlx::FromRow)]
struct StoredVersion {
    version: i64,
    created_at: DateTime<Utc>,
    created_by: String,
    migration: Option<String>,
    pieces: i64,
    added: i64,
    removed: i64,
}

impl PgStore {
    async fn insert_next_version(
        &self,
        map: &ShardMap,
        by: &str,
        owners: AllowedOwners,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        lock_map(&mut transaction, &map.name).await?;
        let before = map_in_force(self, &mut transaction, &map.name)
            .await?
            .ok_or_else(|| missing_error("map", map.name.as_str()))?;
        if before.version.next() != map.version {
            return Err(StoreError::MapVersion {
                map: map.name.clone(),
                current: before.version.0,
                expected: map.version.0 - 1,
            });
        }
        if before.buckets != map.buckets {
            change_bucket_count(&mut transaction, &before, map, owners, by).await?;
        }
        let delta = MapDelta::between(&before, map);
        if owners == AllowedOwners::Checked {
            let reassigned = delta.reassigned_keys(before.empty_key_set());
            let moved =
                mappings::migration_moving(&mut transaction, &map.name, &reassigned).await?;
            if let Some(migration) = moved {
                return Err(StoreError::KeysMoving { migration });
            }
        }
        insert_version(
            &mut transaction,
            &NewVersion::without_migration(map, by),
            &delta,
        )
        .await?;
        Ok(transaction.commit().await?)
    }

    async fn select_maps(&self) -> Result<Vec<Arc<ShardMap>>, StoreError> {
        let names: Vec<(String,)> =
            sqlx::query_as("select name from map where removed_at is null order by name")
                .fetch_all(&self.pool)
                .await?;
        let mut maps = Vec::with_capacity(names.len());
        for (name,) in names {
            maps.extend(self.select_map(&MapName(name)).await?);
        }
        Ok(maps)
    }

    /// Reads the version in force, in one snapshot.
    async fn select_map(&self, name: &MapName) -> Result<Option<Arc<ShardMap>>, StoreError> {
        // In most cases the cache has this version, and only its row in `map_version` is read.
        let Some(row) = version_row(&mut *self.pool.acquire().await?, name, None).await? else {
            return Ok(None);
        };
        if let Some(cached) = row.cached(self, name) {
            return Ok(Some(cached));
        }
        let mut transaction = self.pool.begin_with(BEGIN_ONE_SNAPSHOT).await?;
        map_in_force(self, &mut transaction, name).await
    }

    /// Reads the version `version`, in one snapshot.
    async fn select_version(
        &self,
        name: &MapName,
        version: MapVersion,
    ) -> Result<Option<Arc<ShardMap>>, StoreError> {
        let mut transaction = self.pool.begin_with(BEGIN_ONE_SNAPSHOT).await?;
        map_at(self, &mut transaction, name, version).await
    }

    async fn select_history(&self, name: &MapName) -> Result<Vec<MapVersionRecord>, StoreError> {
        let rows: Vec<StoredVersion> = sqlx::query_as(
            "select v.version, v.created_at, v.created_by, v.migration, v.pieces, v.added, v.removed \
             from map_version v join map m on m.name = v.map and v.version >= m.first_version \
             where v.map = $1 and m.removed_at is null order by v.version",
        )
        .bind(name.as_str())
        .fetch_all(&self.pool)
        .await?;
        let record = |row: StoredVersion| MapVersionRecord {
            version: MapVersion(row.version),
            created_at: row.created_at,
            by: row.created_by,
            migration: row.migration.map(MigrationId),
            pieces: row.pieces,
            added: row.added,
            removed: row.removed,
        };
        Ok(rows.into_iter().map(record).collect())
    }

    async fn select_shards_of_map(&self, name: &MapName) -> Result<Vec<ShardName>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "select s.name from shard s \
             where s.removed_at is null and \
                   (exists (select from mapping m where m.map = $1 and m.shard = s.number) \
                    or exists (select from migration g where g.map = $1 and s.name in (g.source, g.target))) \
             order by s.name collate \"C\"",
        )
        .bind(name.as_str())
        .fetch_all(&self.pool)
        .await?;
        Ok(names.into_iter().map(ShardName).collect())
    }
}

impl MapStore for PgStore {
    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, MapVersion> {
        Box::pin(self.insert_map(map, by))
    }

    fn remove_map<'a>(&'a self, name: &'a MapName, by: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.retire_map(name, by))
    }

    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_next_version(map, by, AllowedOwners::Checked))
    }

    fn put_proven_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_next_version(map, by, AllowedOwners::Proven))
    }

    fn maps(&self) -> StoreFuture<'_, Vec<Arc<ShardMap>>> {
        Box::pin(self.select_maps())
    }

    fn map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Option<Arc<ShardMap>>> {
        Box::pin(self.select_map(name))
    }

    fn map_at<'a>(
        &'a self,
        name: &'a MapName,
        version: MapVersion,
    ) -> StoreFuture<'a, Option<Arc<ShardMap>>> {
        Box::pin(self.select_version(name, version))
    }

    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>> {
        Box::pin(self.select_history(name))
    }

    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>> {
        Box::pin(self.select_shards_of_map(name))
    }

    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_next_settings(new))
    }

    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>> {
        Box::pin(self.select_settings(name))
    }
}

/// Locks a map's row. Until the transaction ends, no other transaction can write a version, settings or an operation of
/// this map. Fails while the map is being converted.
pub(super) async fn lock_map(session: &mut PgConnection, name: &MapName) -> Result<(), StoreError> {
    lock_row(session, name).await?;
    // A statement of its own, so that it sees what the earlier holder of the lock has committed.
    let converting: Option<(String,)> =
        sqlx::query_as("select id from conversion where map = $1 and finished_at is null")
            .bind(name.as_str())
            .fetch_optional(session)
            .await?;
    converting.map_or(Ok(()), |(conversion,)| {
        Err(StoreError::Converting {
            map: name.clone(),
            conversion: MigrationId(conversion),
        })
    })
}

/// Locks a map's row, also while the map is being converted.
pub(super) async fn lock_row(session: &mut PgConnection, name: &MapName) -> Result<(), StoreError> {
    sqlx::query("select from map where name = $1 for update")
        .bind(name.as_str())
        .execute(session)
        .await?;
    Ok(())
}

/// Returns the oldest unfinished migration of a map.
pub(super) async fn unfinished_migration(
    session: &mut PgConnection,
    name: &MapName,
) -> Result<Option<MigrationId>, StoreError> {
    let found: Option<(String,)> = sqlx::query_as(
        "select id from migration where map = $1 and finished_at is null order by created_at, id limit 1",
    )
    .bind(name.as_str())
    .fetch_optional(session)
    .await?;
    Ok(found.map(|(id,)| MigrationId(id)))
}

/// Returns the revision of a map's settings that is in force.
pub(super) async fn settings_revision(
    session: &mut PgConnection,
    name: &MapName,
) -> Result<i64, StoreError> {
    let (revision,): (i64,) =
        sqlx::query_as("select coalesce(max(revision), 0) from map_settings where map = $1")
            .bind(name.as_str())
            .fetch_one(session)
            .await?;
    Ok(revision)
}

/// Writes the next revision of a map's settings, together with a version. The revision refuses a change of the settings
/// that was made with the earlier version in mind.
pub(super) async fn insert_settings_of_version(
    session: &mut PgConnection,
    map: &ShardMap,
    by: &str,
) -> Result<(), StoreError> {
    let settings = SettingsRecord {
        map: map.name.clone(),
        revision: settings_revision(session, &map.name).await? + 1,
        settings: map.settings.clone(),
        by: by.to_owned(),
        created_at: Utc::now(),
    };
    insert_settings(session, &settings).await
}

/// Changes the number of virtual shards, and with it the rules that name some of them, before the version `next` is
/// written. Unfinished migrations name virtual shards of the old number, so they prevent the change.
async fn change_bucket_count(
    session: &mut PgConnection,
    before: &ShardMap,
    next: &ShardMap,
    owners: AllowedOwners,
    by: &str,
) -> Result<(), StoreError> {
    if let Some(migration) = unfinished_migration(session, &next.name).await? {
        return Err(StoreError::KeysMoving { migration });
    }
    let same = before.with_bucket_count(next.buckets);
    // Another request may have changed the map since the caller read it.
    let same = same
        .ok()
        .filter(|same| owners == AllowedOwners::Proven || same.mappings == next.mappings);
    let Some(same) = same else {
        return Err(StoreError::MapVersion {
            map: next.name.clone(),
            current: before.version.0,
            expected: next.version.0 - 1,
        });
    };
    sqlx::query("update map set buckets = $2 where name = $1")
        .bind(next.name.as_str())
        .bind(i32::try_from(next.buckets).unwrap_or(i32::MAX))
        .execute(&mut *session)
        .await?;
    insert_settings_of_version(session, &same, by).await
}

/// Returns the number of virtual shards of the version in force; 0 for a map without them.
pub(super) async fn bucket_count(
    session: &mut PgConnection,
    name: &MapName,
) -> Result<u32, StoreError> {
    let (buckets,): (i32,) = sqlx::query_as("select buckets from map where name = $1")
        .bind(name.as_str())
        .fetch_one(session)
        .await?;
    Ok(u32::try_from(buckets).unwrap_or_default())
}

/// Returns the number of the version in force.
pub(super) async fn version_in_force(
    session: &mut PgConnection,
    name: &MapName,
) -> Result<MapVersion, StoreError> {
    let (version,): (Option<i64>,) = sqlx::query_as(
        "select max(v.version) from map_version v \
             join map m on m.name = v.map and m.removed_at is null where v.map = $1",
    )
    .bind(name.as_str())
    .fetch_one(session)
    .await?;
    let version = version.ok_or_else(|| missing_error("map", name.as_str()))?;
    Ok(MapVersion(version))
}

/// A map version that is about to be written.
pub(super) struct NewVersion<'a> {
    pub(super) map: &'a MapName,
    pub(super) version: MapVersion,
    pub(super) migration: Option<&'a MigrationId>,
    pub(super) by: &'a str,
}

impl<'a> NewVersion<'a> {
    pub(super) fn without_migration(map: &'a ShardMap, by: &'a str) -> Self {
        Self {
            map: &map.name,
            version: map.version,
            migration: None,
            by,
        }
    }
}

/// Writes a version that differs from the one before by `delta`.
///
/// Constraints of the schema refuse a gap in the version numbers, and overlapping mappings.
pub(super) async fn insert_version(
    session: &mut PgConnection,
    new: &NewVersion<'_>,
    delta: &MapDelta,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into map_version (map, version, migration, created_by, pieces, added, removed) \
         select $1, $2, $3, $4, $5 - $6 + coalesce( \
             (select pieces from map_version where map = $1 and version = $2 - 1), 0), $5, $6",
    )
    .bind(new.map.as_str())
    .bind(new.version.0)
    .bind(new.migration.map(MigrationId::as_str))
    .bind(new.by)
    .bind(piece_count(&delta.added))
    .bind(piece_count(&delta.removed))
    .execute(&mut *session)
    .await?;
    mappings::write_delta(session, new.map, new.version, delta).await
}
