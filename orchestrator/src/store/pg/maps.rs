//! Shards and maps.

use super::PgStore;
use super::rows::{bounds, key_set, unknown};
use crate::store::{MapVersionRecord, ShardRecord, StoreError};
use chrono::{DateTime, Utc};
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::key_set::KeyType;
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use sqlx::PgConnection;

#[derive(sqlx::FromRow)]
struct MapRow {
    strategy: String,
    key_types: Vec<String>,
    version: i64,
    migration: Option<String>,
}

#[derive(sqlx::FromRow)]
struct MappingRow {
    version: i64,
    lower: Option<i64>,
    upper: Option<i64>,
    shard: String,
}

#[derive(sqlx::FromRow)]
struct VersionRow {
    version: i64,
    created_at: DateTime<Utc>,
    created_by: String,
    migration: Option<String>,
}

impl From<MappingRow> for Mapping {
    fn from(row: MappingRow) -> Self {
        Self {
            keys: key_set(row.lower, row.upper),
            shard: ShardName(row.shard),
            state: MappingState::Active,
        }
    }
}

impl PgStore {
    pub(super) async fn insert_shard(
        &self,
        name: &ShardName,
        dsn: &str,
    ) -> Result<ShardRecord, StoreError> {
        let created: Option<(DateTime<Utc>,)> = sqlx::query_as(
            "insert into shard (name, dsn) values ($1, $2) on conflict do nothing returning created_at",
        )
        .bind(name.as_str())
        .bind(dsn)
        .fetch_optional(&self.pool)
        .await?;
        let (created_at,) = created.ok_or_else(|| StoreError::Exists {
            what: "shard",
            name: name.to_string(),
        })?;
        Ok(ShardRecord {
            name: name.clone(),
            dsn: dsn.to_owned(),
            created_at,
        })
    }

    pub(super) async fn select_shards(&self) -> Result<Vec<ShardRecord>, StoreError> {
        let rows: Vec<(String, String, DateTime<Utc>)> =
            sqlx::query_as("select name, dsn, created_at from shard order by name")
                .fetch_all(&self.pool)
                .await?;
        let record = |(name, dsn, created_at)| ShardRecord {
            name: ShardName(name),
            dsn,
            created_at,
        };
        Ok(rows.into_iter().map(record).collect())
    }

    pub(super) async fn delete_shard(&self, name: &ShardName) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("select from shard where name = $1 for update")
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        let used: Option<(String,)> =
            sqlx::query_as("select map from mapping where shard = $1 limit 1")
                .bind(name.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
        if let Some((map,)) = used {
            return Err(StoreError::ShardInUse {
                shard: name.clone(),
                map: MapName(map),
            });
        }
        let gone = sqlx::query("delete from shard where name = $1")
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        if gone.rows_affected() == 0 {
            return Err(missing("shard", name.as_str()));
        }
        Ok(transaction.commit().await?)
    }

    pub(super) async fn insert_map(&self, map: &ShardMap, by: &str) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let Strategy::Range = map.strategy;
        let key_types: Vec<String> = map.key.iter().map(|k| k.sql_name().to_owned()).collect();
        let made = sqlx::query(
            "insert into map (name, strategy, key_types) values ($1, 'range', $2) on conflict do nothing",
        )
        .bind(map.name.as_str())
        .bind(key_types)
        .execute(&mut *transaction)
        .await?;
        if made.rows_affected() == 0 {
            return Err(StoreError::Exists {
                what: "map",
                name: map.name.to_string(),
            });
        }
        insert_version(&mut transaction, map, by).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn select_maps(&self) -> Result<Vec<ShardMap>, StoreError> {
        let mut session = self.pool.acquire().await?;
        let names: Vec<(String,)> = sqlx::query_as("select name from map order by name")
            .fetch_all(&mut *session)
            .await?;
        let mut maps = Vec::with_capacity(names.len());
        for (name,) in names {
            maps.extend(current(&mut session, &self.incarnation, &MapName(name)).await?);
        }
        Ok(maps)
    }

    pub(super) async fn select_history(
        &self,
        name: &MapName,
    ) -> Result<Vec<MapVersionRecord>, StoreError> {
        let mut session = self.pool.acquire().await?;
        // Versions are append-only and whole when they are seen, so two statements suffice.
        let versions: Vec<VersionRow> = sqlx::query_as(
            "select version, created_at, created_by, migration from map_version where map = $1 order by version",
        )
        .bind(name.as_str())
        .fetch_all(&mut *session)
        .await?;
        let mut mappings: Vec<MappingRow> = sqlx::query_as(
            "select version, lower, upper, shard from mapping where map = $1 order by version, keys",
        )
        .bind(name.as_str())
        .fetch_all(&mut *session)
        .await?;
        let record = |row: VersionRow| MapVersionRecord {
            version: MapVersion(row.version),
            created_at: row.created_at,
            by: row.created_by,
            migration: row.migration.map(MigrationId),
            mappings: mappings
                .extract_if(.., |mapping| mapping.version == row.version)
                .map(Mapping::from)
                .collect(),
        };
        Ok(versions.into_iter().map(record).collect())
    }
}

/// The version of a map that is in force.
pub(super) async fn current(
    session: &mut PgConnection,
    incarnation: &str,
    name: &MapName,
) -> Result<Option<ShardMap>, StoreError> {
    let row: Option<MapRow> = sqlx::query_as(
        "select m.strategy, m.key_types, v.version, v.migration from map m join map_version v on v.map = m.name \
         where m.name = $1 order by v.version desc limit 1",
    )
    .bind(name.as_str())
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let mappings: Vec<MappingRow> = sqlx::query_as(
        "select version, lower, upper, shard from mapping where map = $1 and version = $2 order by keys",
    )
    .bind(name.as_str())
    .bind(row.version)
    .fetch_all(&mut *session)
    .await?;
    let strategy = match row.strategy.as_str() {
        "range" => Strategy::Range,
        other => return Err(unknown("strategy", other)),
    };
    let key_type = |name: &String| match name.as_str() {
        "bigint" => Ok(KeyType::Bigint),
        other => Err(unknown("key type", other)),
    };
    let key: Result<Vec<KeyType>, StoreError> = row.key_types.iter().map(key_type).collect();
    Ok(Some(ShardMap {
        name: name.clone(),
        strategy,
        key: key?,
        version: MapVersion(row.version),
        incarnation: incarnation.to_owned(),
        migration: row.migration.map(MigrationId),
        mappings: mappings.into_iter().map(Mapping::from).collect(),
    }))
}

/// Writes a version with its mappings; constraints refuse a gap in the numbers and an overlap.
pub(super) async fn insert_version(
    session: &mut PgConnection,
    map: &ShardMap,
    by: &str,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into map_version (map, version, migration, created_by) values ($1, $2, $3, $4)",
    )
    .bind(map.name.as_str())
    .bind(map.version.0)
    .bind(map.migration.as_ref().map(MigrationId::as_str))
    .bind(by)
    .execute(&mut *session)
    .await?;
    for mapping in &map.mappings {
        let (lower, upper) = bounds(&mapping.keys);
        let inserted = sqlx::query(
            "insert into mapping (map, version, lower, upper, shard) \
             select $1, $2, $3, $4, name from shard where name = $5",
        )
        .bind(map.name.as_str())
        .bind(map.version.0)
        .bind(lower)
        .bind(upper)
        .bind(mapping.shard.as_str())
        .execute(&mut *session)
        .await?;
        if inserted.rows_affected() == 0 {
            return Err(missing("shard", mapping.shard.as_str()));
        }
    }
    Ok(())
}

/// Nothing has this name.
pub(super) fn missing(what: &'static str, name: &str) -> StoreError {
    StoreError::Missing {
        what,
        name: name.to_owned(),
    }
}
