//! Operations: one transaction writes a submitted operation with a migration for each of its moves.

use super::mappings::{SpanEnds, migration_moving};
use super::migrations::{SELECT_MIGRATIONS, insert_events, upsert_step};
use super::rows::{OPERATIONS, StoredMigration, StoredOperation, exists_error, missing_error};
use super::{PgStore, maps, shards};
use crate::store::{Migration, NewOperation, OperationRecord, Snapshot, StoreError};
use plans::id::MigrationId;
use plans::key_set::KeySet;
use sqlx::PgConnection;
use sqlx::types::Json;

impl PgStore {
    pub(super) async fn insert_operation(
        &self,
        new: &NewOperation,
    ) -> Result<Vec<Snapshot>, StoreError> {
        let mut transaction = self.begin().await?;
        maps::lock_map(&mut transaction, &new.plan.map).await?;
        check_admission(&mut transaction, new).await?;
        let snapshots = new.snapshots();
        insert_operation_row(&mut transaction, new).await?;
        for snapshot in &snapshots {
            let id = &snapshot.migration.id;
            insert_migration(&mut transaction, &snapshot.migration).await?;
            for step in &snapshot.steps {
                upsert_step(&mut transaction, id, step).await?;
            }
            insert_events(&mut transaction, id, &[new.event()]).await?;
        }
        transaction.commit().await?;
        Ok(snapshots)
    }

    pub(super) async fn select_operation(
        &self,
        id: &MigrationId,
    ) -> Result<Option<OperationRecord>, StoreError> {
        let sql = sqlx::AssertSqlSafe(format!("{OPERATIONS} where o.id = $1"));
        let row: Option<StoredOperation> = sqlx::query_as(sql)
            .bind(id.as_str())
            .fetch_optional(&self.pool)
            .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(self.with_migrations(vec![row]).await?.pop())
    }

    pub(super) async fn select_operations(
        &self,
        limit: i64,
        after: Option<&MigrationId>,
    ) -> Result<Vec<OperationRecord>, StoreError> {
        let rows: Vec<StoredOperation> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{OPERATIONS} where $2::text is null or exists (select from operation a where a.id = $2 \
             and (o.created_at < a.created_at or o.created_at = a.created_at and o.id > a.id)) \
             order by o.created_at desc, o.id limit $1"
        )))
        .bind(limit)
        .bind(after.map(MigrationId::as_str))
        .fetch_all(&self.pool)
        .await?;
        self.with_migrations(rows).await
    }

    /// Adds the migrations to operations. They come from a second statement with a newer snapshot; an operation never
    /// changes.
    async fn with_migrations(
        &self,
        rows: Vec<StoredOperation>,
    ) -> Result<Vec<OperationRecord>, StoreError> {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let migrations: Vec<StoredMigration> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT_MIGRATIONS} where m.operation = any($1) order by m.operation, m.ordinal"
        )))
        .bind(ids)
        .fetch_all(&self.pool)
        .await?;
        let migrations: Result<Vec<Migration>, StoreError> = migrations
            .into_iter()
            .map(StoredMigration::into_record)
            .collect();
        let mut migrations = migrations?;
        let record = |row: StoredOperation| {
            let own = migrations.extract_if(.., |m| m.operation.as_str() == row.id);
            let own = own.collect();
            row.into_record(own)
        };
        Ok(rows.into_iter().map(record).collect())
    }
}

/// Fails if the operation may not be submitted. The map's row is locked, so the checked state cannot change before the
/// commit.
async fn check_admission(session: &mut PgConnection, new: &NewOperation) -> Result<(), StoreError> {
    let plan = &new.plan;
    let current = maps::version_in_force(session, &plan.map).await?;
    let buckets = maps::bucket_count(session, &plan.map).await?;
    let has_other_count = plan.moves.iter().any(|planned| match &planned.moving.keys {
        KeySet::Hash(keys) => keys.of != buckets,
        KeySet::Range(_) | KeySet::List(_) => false,
    });
    if has_other_count {
        return Err(StoreError::MapVersion {
            map: plan.map.clone(),
            current: current.0,
            expected: new.map_version.0,
        });
    }
    if !new.queue {
        for planned in &plan.moves {
            let other = migration_moving(session, &plan.map, &planned.moving.keys).await?;
            if let Some(migration) = other {
                return Err(StoreError::KeysMoving { migration });
            }
        }
        if current != new.map_version {
            return Err(StoreError::MapVersion {
                map: plan.map.clone(),
                current: current.0,
                expected: new.map_version.0,
            });
        }
    }
    let moves = plan.moves.iter();
    let mut names: Vec<&str> = moves
        .flat_map(|planned| [&planned.moving.source, &planned.moving.target])
        .map(|shard| shard.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let locked = shards::lock_shards(session, &names).await?;
    let absent = names
        .into_iter()
        .find(|name| !locked.contains_key(&(*name).into()));
    absent.map_or(Ok(()), |name| Err(missing_error("shard", name)))
}

async fn insert_operation_row(
    session: &mut PgConnection,
    new: &NewOperation,
) -> Result<(), StoreError> {
    let inserted = sqlx::query(
        "insert into operation (id, plan, plan_hash, queued, override_reason, submitted_by, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing",
    )
    .bind(new.id.as_str())
    .bind(Json(&new.plan))
    .bind(&new.plan.hash)
    .bind(new.queue)
    .bind(new.override_reason.as_deref())
    .bind(&new.by)
    .bind(new.at)
    .execute(session)
    .await?;
    if inserted.rows_affected() == 0 {
        return Err(exists_error("migration", new.id.as_str()));
    }
    Ok(())
}

async fn insert_migration(session: &mut PgConnection, m: &Migration) -> Result<(), StoreError> {
    let ends = SpanEnds::of(&m.plan.moving.keys);
    let inserted = sqlx::query(
        "insert into migration (id, operation, move, ordinal, map, source, target, spans, plan, state, \
         ownership, map_version_before, submitted_by, created_at, since) \
         values ($1, $2, $3, $4, $5, $6, $7, spans($8::bytea[], $9::bytea[]), $10, $11, $12, $13, $14, $15, $15) \
         on conflict (id) do nothing",
    )
    .bind(m.id.as_str())
    .bind(m.operation.as_str())
    .bind(&m.plan.id)
    .bind(m.ordinal)
    .bind(m.plan.map.as_str())
    .bind(m.plan.moving.source.as_str())
    .bind(m.plan.moving.target.as_str())
    .bind(ends.lower)
    .bind(ends.upper)
    .bind(Json(&m.plan))
    .bind(m.state.name())
    .bind(m.ownership.name())
    .bind(m.map_version_before.0)
    .bind(&m.submitted_by)
    .bind(m.created_at)
    .execute(session)
    .await?;
    if inserted.rows_affected() == 0 {
        return Err(exists_error("migration", m.id.as_str()));
    }
    Ok(())
}
