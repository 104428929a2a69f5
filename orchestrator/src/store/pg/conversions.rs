//! Conversions: changes of the strategy or the key of a map.

use super::PgStore;
use super::map_reading::map_in_force;
use super::maps::{
    NewVersion, insert_settings_of_version, insert_version, lock_map, lock_row, settings_revision,
    unfinished_migration,
};
use super::rows::missing_error;
use crate::store::pieces::MapDelta;
use crate::store::{ConversionRecord, ConversionStore, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use plans::id::{Epoch, MapName, MapVersion, MigrationId, ShardName};
use plans::shard_map::ShardMap;

#[derive(sqlx::FromRow)]
struct StoredConversion {
    id: String,
    map: String,
    epoch: i64,
    before: i64,
    version: Option<i64>,
    shards: Vec<String>,
    created_by: String,
    created_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
}

impl From<StoredConversion> for ConversionRecord {
    fn from(row: StoredConversion) -> Self {
        Self {
            id: MigrationId(row.id),
            map: MapName(row.map),
            epoch: Epoch(row.epoch),
            before: MapVersion(row.before),
            version: row.version.map(MapVersion),
            shards: row.shards.into_iter().map(ShardName).collect(),
            by: row.created_by,
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

fn ended_error(id: &MigrationId) -> StoreError {
    StoreError::ConversionEnded {
        conversion: id.clone(),
    }
}

impl PgStore {
    async fn insert_conversion(
        &self,
        new: &ConversionRecord,
        revision: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        lock_map(&mut transaction, &new.map).await?;
        let current = map_in_force(self, &mut transaction, &new.map).await?;
        let current = current.ok_or_else(|| missing_error("map", new.map.as_str()))?;
        if current.version != new.before {
            return Err(StoreError::MapVersion {
                map: new.map.clone(),
                current: current.version.0,
                expected: new.before.0,
            });
        }
        let in_force = settings_revision(&mut transaction, &new.map).await?;
        if in_force != revision {
            return Err(StoreError::SettingsRevision {
                map: new.map.clone(),
                current: in_force,
                expected: revision,
            });
        }
        if let Some(migration) = unfinished_migration(&mut transaction, &new.map).await? {
            return Err(StoreError::KeysMoving { migration });
        }
        let shards: Vec<&str> = new.shards.iter().map(ShardName::as_str).collect();
        sqlx::query(
            "insert into conversion (id, map, epoch, before, shards, created_by, created_at) \
             values ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(new.id.as_str())
        .bind(new.map.as_str())
        .bind(new.epoch.0)
        .bind(new.before.0)
        .bind(shards)
        .bind(&new.by)
        .bind(new.created_at)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    async fn raise_epoch(&self, id: &MigrationId) -> Result<ConversionRecord, StoreError> {
        let mut transaction = self.begin().await?;
        let row: Option<StoredConversion> = sqlx::query_as(
            "update conversion set epoch = epoch + 1 where id = $1 and finished_at is null returning *",
        )
        .bind(id.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        let row = row.ok_or_else(|| ended_error(id))?;
        transaction.commit().await?;
        Ok(row.into())
    }

    async fn insert_converted(
        &self,
        conversion: &ConversionRecord,
        map: &ShardMap,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        lock_row(&mut transaction, &map.name).await?;
        let before = map_in_force(self, &mut transaction, &map.name).await?;
        let before = before.filter(|before| before.version == conversion.before);
        let before = before.ok_or_else(|| ended_error(&conversion.id))?;
        let key_types: Vec<&str> = map.key.iter().map(|kind| kind.sql_name()).collect();
        sqlx::query("update map set strategy = $2, key_types = $3, buckets = $4 where name = $1")
            .bind(map.name.as_str())
            .bind(map.strategy.name())
            .bind(key_types)
            .bind(i32::try_from(map.buckets).unwrap_or(i32::MAX))
            .execute(&mut *transaction)
            .await?;
        insert_settings_of_version(&mut transaction, map, &conversion.by).await?;
        let new = NewVersion {
            version: conversion.before.next(),
            ..NewVersion::without_migration(map, &conversion.by)
        };
        // No piece of the version before means the same in another division.
        let delta = MapDelta {
            removed: MapDelta::first(&before).added,
            added: MapDelta::first(map).added,
        };
        insert_version(&mut transaction, &new, &delta).await?;
        let updated = sqlx::query(
            "update conversion set version = $3 \
             where id = $1 and epoch = $2 and version is null and finished_at is null",
        )
        .bind(conversion.id.as_str())
        .bind(conversion.epoch.0)
        .bind(new.version.0)
        .execute(&mut *transaction)
        .await?;
        if updated.rows_affected() != 1 {
            return Err(ended_error(&conversion.id));
        }
        Ok(transaction.commit().await?)
    }

    async fn mark_finished(
        &self,
        conversion: &ConversionRecord,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "update conversion set finished_at = $3 \
             where id = $1 and epoch = $2 and finished_at is null",
        )
        .bind(conversion.id.as_str())
        .bind(conversion.epoch.0)
        .bind(at)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    async fn select_conversions(&self) -> Result<Vec<ConversionRecord>, StoreError> {
        let rows: Vec<StoredConversion> =
            sqlx::query_as("select * from conversion order by created_at desc, id desc")
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(ConversionRecord::from).collect())
    }
}

impl ConversionStore for PgStore {
    fn begin_conversion<'a>(
        &'a self,
        new: &'a ConversionRecord,
        revision: i64,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_conversion(new, revision))
    }

    fn take_conversion<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, ConversionRecord> {
        Box::pin(self.raise_epoch(id))
    }

    fn put_converted<'a>(
        &'a self,
        conversion: &'a ConversionRecord,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_converted(conversion, map))
    }

    fn finish_conversion<'a>(
        &'a self,
        conversion: &'a ConversionRecord,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.mark_finished(conversion, at))
    }

    fn conversions(&self) -> StoreFuture<'_, Vec<ConversionRecord>> {
        Box::pin(self.select_conversions())
    }
}
