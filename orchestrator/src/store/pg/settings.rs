//! Settings of maps, in append-only revisions.

use super::PgStore;
use super::maps::lock_map;
use super::rows::missing_error;
use crate::store::{SettingsRecord, StoreError};
use chrono::{DateTime, Utc};
use plans::id::MapName;
use plans::shard_map::MapSettings;
use sqlx::PgConnection;
use sqlx::types::Json;

#[derive(sqlx::FromRow)]
struct StoredSettings {
    revision: i64,
    settings: Json<MapSettings>,
    created_by: String,
    created_at: DateTime<Utc>,
}

impl PgStore {
    pub(super) async fn insert_next_settings(
        &self,
        new: &SettingsRecord,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        lock_map(&mut transaction, &new.map).await?;
        let (current,): (Option<i64>,) =
            sqlx::query_as("select max(revision) from map_settings where map = $1")
                .bind(new.map.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        let current = current.ok_or_else(|| missing_error("map", new.map.as_str()))?;
        if new.revision != current + 1 {
            return Err(StoreError::SettingsRevision {
                map: new.map.clone(),
                current,
                expected: new.revision - 1,
            });
        }
        insert_settings(&mut transaction, new).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn select_settings(
        &self,
        name: &MapName,
    ) -> Result<Vec<SettingsRecord>, StoreError> {
        let rows: Vec<StoredSettings> = sqlx::query_as(
            "select revision, settings, created_by, created_at from map_settings \
             where map = $1 order by revision desc",
        )
        .bind(name.as_str())
        .fetch_all(&self.pool)
        .await?;
        let record = |row: StoredSettings| SettingsRecord {
            map: name.clone(),
            revision: row.revision,
            settings: row.settings.0,
            by: row.created_by,
            created_at: row.created_at,
        };
        Ok(rows.into_iter().map(record).collect())
    }
}

pub(super) async fn insert_settings(
    session: &mut PgConnection,
    new: &SettingsRecord,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into map_settings (map, revision, settings, created_by, created_at) \
         values ($1, $2, $3, $4, $5)",
    )
    .bind(new.map.as_str())
    .bind(new.revision)
    .bind(Json(&new.settings))
    .bind(&new.by)
    .bind(new.created_at)
    .execute(session)
    .await?;
    Ok(())
}
