//! The names of maps: a map gets one when it is created, and frees it when it is removed.

use super::PgStore;
use super::map_reading::map_in_force;
use super::maps::{NewVersion, insert_version, lock_map};
use super::rows::{exists_error, missing_error};
use super::settings::insert_settings;
use crate::store::pieces::MapDelta;
use crate::store::{SettingsRecord, StoreError};
use chrono::Utc;
use plans::id::{MapName, MapVersion, MigrationId};
use plans::shard_map::ShardMap;

impl PgStore {
    pub(super) async fn insert_map(
        &self,
        map: &ShardMap,
        by: &str,
    ) -> Result<MapVersion, StoreError> {
        let mut transaction = self.begin().await?;
        let key_types: Vec<&str> = map.key.iter().map(|kind| kind.sql_name()).collect();
        // The next statement must see the last version of a map that another transaction is removing.
        lock_map(&mut transaction, &map.name).await?;
        // The versions and the settings of a removed map stay, under their numbers.
        let inserted: Option<(i64, i64)> = sqlx::query_as(
            "insert into map (name, strategy, key_types, buckets) values ($1, $2, $3, $4) \
             on conflict (name) do update set strategy = $2, key_types = $3, buckets = $4, removed_at = null, \
                 first_version = 1 + (select max(v.version) from map_version v where v.map = $1) \
             where map.removed_at is not null \
             returning first_version, 1 + coalesce((select max(s.revision) from map_settings s where s.map = $1), 0)",
        )
        .bind(map.name.as_str())
        .bind(map.strategy.name())
        .bind(key_types)
        .bind(i32::try_from(map.buckets).unwrap_or(i32::MAX))
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((version, revision)) = inserted else {
            return Err(exists_error("map", map.name.as_str()));
        };
        let settings = SettingsRecord {
            map: map.name.clone(),
            revision,
            settings: map.settings.clone(),
            by: by.to_owned(),
            created_at: Utc::now(),
        };
        insert_settings(&mut transaction, &settings).await?;
        let version = NewVersion {
            version: MapVersion(version),
            ..NewVersion::without_migration(map, by)
        };
        insert_version(&mut transaction, &version, &MapDelta::first(map)).await?;
        transaction.commit().await?;
        Ok(version.version)
    }

    pub(super) async fn retire_map(&self, name: &MapName, by: &str) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        lock_map(&mut transaction, name).await?;
        let map = map_in_force(self, &mut transaction, name).await?;
        let map = map.ok_or_else(|| missing_error("map", name.as_str()))?;
        let first: Option<(String,)> = sqlx::query_as(
            "select id from migration where map = $1 order by created_at, id limit 1",
        )
        .bind(name.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        if let Some((migration,)) = first {
            return Err(StoreError::MapMoved {
                map: name.clone(),
                migration: MigrationId(migration),
            });
        }
        // Without mappings the map prevents no removal of a shard, and routing by SQL finds no owner.
        let empty = ShardMap {
            version: map.version.next(),
            mappings: Vec::new(),
            ..ShardMap::clone(&map)
        };
        let version = NewVersion::without_migration(&empty, by);
        insert_version(&mut transaction, &version, &MapDelta::between(&map, &empty)).await?;
        sqlx::query("update map set removed_at = now() where name = $1")
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        Ok(transaction.commit().await?)
    }
}
