//! Shards.

use super::PgStore;
use super::rows::{exists_error, missing_error};
use super::servers::identity;
use crate::store::{NewShard, ShardRecord, ShardStore, ShardUpdate, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use plans::fleet::StandbySlot;
use plans::id::{MapName, MigrationId, ShardName};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::ObservedServer;
use sqlx::PgConnection;
use sqlx::types::Json;
use std::collections::BTreeMap;

#[derive(sqlx::FromRow)]
struct StoredShard {
    name: String,
    number: i32,
    dsn: String,
    labels: Json<BTreeMap<String, String>>,
    capacity: i64,
    space: Option<i64>,
    created_at: DateTime<Utc>,
    system: Option<String>,
    timeline: Option<i32>,
    database: Option<i64>,
    identity: Option<String>,
    standby: Option<bool>,
}

/// Selects registered shards, with their databases if these are known: the shard of parameter 1, or all if it is null.
const SHARDS: &str = "select s.name, s.number, s.dsn, s.labels, s.capacity, s.space, s.created_at, \
    d.system, d.timeline, d.database, d.identity, d.standby \
    from shard s left join server_seen d on d.number = s.number where s.removed_at is null and ($1::text is null or s.name = $1) order by s.name";

impl From<StoredShard> for ShardRecord {
    fn from(row: StoredShard) -> Self {
        Self {
            name: ShardName(row.name),
            number: row.number,
            dsn: row.dsn,
            labels: row.labels.0,
            capacity: u32::try_from(row.capacity).unwrap_or(u32::MAX),
            space: row.space.and_then(|bytes| u64::try_from(bytes).ok()),
            created_at: row.created_at,
            identity: row
                .system
                .zip(row.timeline)
                .map(|(system, timeline)| DatabaseIdentity {
                    standby: row.standby.unwrap_or(false),
                    ..identity(system, timeline, row.database, row.identity)
                }),
        }
    }
}

impl PgStore {
    async fn insert_shard(&self, new: &NewShard) -> Result<ShardRecord, StoreError> {
        let mut transaction = self.begin().await?;
        // The lock prevents two transactions from using the same number, and a gap in the numbers.
        sqlx::query("lock table shard in share row exclusive mode")
            .execute(&mut *transaction)
            .await?;
        let done = sqlx::query(
            "insert into shard (number, name, dsn, labels, capacity, space) \
             select coalesce(max(number), 0) + 1, $1, $2, $3, $4, $5 from shard \
             on conflict do nothing",
        )
        .bind(new.name.as_str())
        .bind(&new.dsn)
        .bind(Json(&new.labels))
        .bind(i64::from(new.capacity))
        .bind(stored_bytes(new.space))
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() == 0 {
            return Err(exists_error("shard", new.name.as_str()));
        }
        let row = select_one(&mut transaction, &new.name).await?;
        let row = row.ok_or_else(|| missing_error("shard", new.name.as_str()))?;
        transaction.commit().await?;
        Ok(row.into())
    }

    async fn change_shard(&self, update: &ShardUpdate) -> Result<ShardRecord, StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "update shard set dsn = coalesce($2, dsn), labels = $3, capacity = $4, space = $5 \
             where name = $1 and removed_at is null",
        )
        .bind(update.name.as_str())
        .bind(update.dsn.as_deref())
        .bind(Json(&update.labels))
        .bind(i64::from(update.capacity))
        .bind(stored_bytes(update.space))
        .execute(&mut *transaction)
        .await?;
        let row = select_one(&mut transaction, &update.name).await?;
        let row = row.ok_or_else(|| missing_error("shard", update.name.as_str()))?;
        transaction.commit().await?;
        Ok(row.into())
    }

    async fn select_shard(&self, name: &ShardName) -> Result<Option<ShardRecord>, StoreError> {
        let mut session = self.pool.acquire().await?;
        let row = select_one(&mut session, name).await?;
        Ok(row.map(Into::into))
    }

    async fn select_shards(&self) -> Result<Vec<ShardRecord>, StoreError> {
        let rows: Vec<StoredShard> = sqlx::query_as(SHARDS)
            .bind(None::<&str>)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.into_iter().map(ShardRecord::from).collect())
    }

    async fn retire_shard(&self, name: &ShardName) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        // A transaction that writes this shard's name into a map or a migration holds a lock on this row, so this
        // statement waits for it.
        let number: Option<(i32,)> = sqlx::query_as(
            "select number from shard where name = $1 and removed_at is null for update",
        )
        .bind(name.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        let (number,) = number.ok_or_else(|| missing_error("shard", name.as_str()))?;
        if let Some(map) = named_by_map(&mut transaction, number).await? {
            let shard = name.clone();
            return Err(StoreError::ShardInUse { shard, map });
        }
        if let Some(migration) = named_by_migration(&mut transaction, name).await? {
            let shard = name.clone();
            return Err(StoreError::ShardMoving { shard, migration });
        }
        sqlx::query("update shard set removed_at = now() where number = $1")
            .bind(number)
            .execute(&mut *transaction)
            .await?;
        // The database may later be registered again as another shard.
        sqlx::query("delete from server_seen where number = $1")
            .bind(number)
            .execute(&mut *transaction)
            .await?;
        Ok(transaction.commit().await?)
    }
}

impl PgStore {
    async fn insert_standby_slot(&self, slot: &StandbySlot) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let done = sqlx::query(
            "insert into standby_slot (slot, standby, source) values ($1, $2, $3) on conflict do nothing",
        )
        .bind(&slot.slot)
        .bind(slot.standby.as_str())
        .bind(slot.source.as_str())
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() == 0 {
            return Err(exists_error("standby slot", &slot.slot));
        }
        Ok(transaction.commit().await?)
    }

    async fn select_standby_slots(&self) -> Result<Vec<StandbySlot>, StoreError> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "select slot, standby, source from standby_slot order by created_at, slot",
        )
        .fetch_all(&self.pool)
        .await?;
        let slots = rows.into_iter().map(|(slot, standby, source)| StandbySlot {
            slot,
            standby: ShardName(standby),
            source: ShardName(source),
        });
        Ok(slots.collect())
    }

    async fn delete_standby_slot(&self, slot: &str) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("delete from standby_slot where slot = $1")
            .bind(slot)
            .execute(&mut *transaction)
            .await?;
        Ok(transaction.commit().await?)
    }
}

impl ShardStore for PgStore {
    fn add_shard<'a>(&'a self, new: &'a NewShard) -> StoreFuture<'a, ShardRecord> {
        Box::pin(self.insert_shard(new))
    }

    fn update_shard<'a>(&'a self, update: &'a ShardUpdate) -> StoreFuture<'a, ShardRecord> {
        Box::pin(self.change_shard(update))
    }

    fn shards(&self) -> StoreFuture<'_, Vec<ShardRecord>> {
        Box::pin(self.select_shards())
    }

    fn shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, Option<ShardRecord>> {
        Box::pin(self.select_shard(name))
    }

    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, ()> {
        Box::pin(self.retire_shard(name))
    }

    fn add_standby_slot<'a>(&'a self, slot: &'a StandbySlot) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_standby_slot(slot))
    }

    fn standby_slots(&self) -> StoreFuture<'_, Vec<StandbySlot>> {
        Box::pin(self.select_standby_slots())
    }

    fn remove_standby_slot<'a>(&'a self, slot: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.delete_standby_slot(slot))
    }

    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>> {
        Box::pin(self.select_servers())
    }

    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()> {
        Box::pin(self.upsert_server(server))
    }
}

async fn select_one(
    session: &mut PgConnection,
    name: &ShardName,
) -> Result<Option<StoredShard>, StoreError> {
    let row = sqlx::query_as(SHARDS)
        .bind(name.as_str())
        .fetch_optional(session)
        .await?;
    Ok(row)
}

/// Returns the numbers of registered shards, and locks their rows so that they stay registered until the transaction
/// ends.
pub(super) async fn lock_shards(
    session: &mut PgConnection,
    names: &[&str],
) -> Result<BTreeMap<ShardName, i32>, StoreError> {
    let rows: Vec<(String, i32)> = sqlx::query_as(
        "select name, number from shard where name = any($1) and removed_at is null \
         order by number for key share",
    )
    .bind(names)
    .fetch_all(session)
    .await?;
    let named = rows.into_iter();
    Ok(named
        .map(|(name, number)| (ShardName(name), number))
        .collect())
}

async fn named_by_map(
    session: &mut PgConnection,
    number: i32,
) -> Result<Option<MapName>, StoreError> {
    let row: Option<(String,)> =
        sqlx::query_as("select map from mapping where shard = $1 and until is null limit 1")
            .bind(number)
            .fetch_optional(session)
            .await?;
    Ok(row.map(|(map,)| MapName(map)))
}

async fn named_by_migration(
    session: &mut PgConnection,
    name: &ShardName,
) -> Result<Option<MigrationId>, StoreError> {
    let row: Option<(String,)> = sqlx::query_as(
        "select id from migration where finished_at is null and $1 in (source, target) \
         order by created_at, id limit 1",
    )
    .bind(name.as_str())
    .fetch_optional(session)
    .await?;
    Ok(row.map(|(id,)| MigrationId(id)))
}

fn stored_bytes(space: Option<u64>) -> Option<i64> {
    space.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
}
