//! Which events each hook was notified of.

use super::PgStore;
use super::rows::missing_error;
use crate::store::{HookCursor, HookStore, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use plans::id::MigrationId;

impl PgStore {
    async fn insert_hook(&self, hook: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let text = "insert into hook (name, since) values ($1, $2) on conflict do nothing";
        let new = sqlx::query(text)
            .bind(hook)
            .bind(at)
            .execute(&mut *transaction)
            .await?;
        if new.rows_affected() > 0 {
            sqlx::query(
                "insert into hook_cursor (hook, migration, seq, revision) \
                 select $1, m.id, coalesce(max(e.seq), 0), m.revision from migration m \
                 left join event e on e.migration = m.id group by m.id",
            )
            .bind(hook)
            .execute(&mut *transaction)
            .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn select_backlog(&self, hook: &str) -> Result<Vec<HookCursor>, StoreError> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "select m.id, coalesce(c.seq, 0), m.revision from migration m \
             left join hook_cursor c on c.hook = $1 and c.migration = m.id \
             where c.revision is distinct from m.revision \
             order by m.created_at, m.operation, m.ordinal",
        )
        .bind(hook)
        .fetch_all(&self.pool)
        .await?;
        let cursors = rows.into_iter().map(|(id, seq, revision)| HookCursor {
            migration: MigrationId(id),
            seq,
            revision,
        });
        Ok(cursors.collect())
    }

    async fn upsert_cursor(&self, hook: &str, cursor: &HookCursor) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let upserted = sqlx::query(
            "insert into hook_cursor (hook, migration, seq, revision) \
             select name, $2, $3, $4 from hook where name = $1 \
             on conflict (hook, migration) do update set seq = excluded.seq, revision = excluded.revision",
        )
        .bind(hook)
        .bind(cursor.migration.as_str())
        .bind(cursor.seq)
        .bind(cursor.revision)
        .execute(&mut *transaction)
        .await?;
        if upserted.rows_affected() == 0 {
            return Err(missing_error("hook", hook));
        }
        Ok(transaction.commit().await?)
    }
}

impl HookStore for PgStore {
    fn add_hook<'a>(&'a self, hook: &'a str, at: DateTime<Utc>) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_hook(hook, at))
    }

    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>> {
        Box::pin(self.select_backlog(hook))
    }

    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()> {
        Box::pin(self.upsert_cursor(hook, cursor))
    }
}
