//! Servers as they were seen last.

use super::PgStore;
use crate::store::StoreError;
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::ServerSeen;

type ServerRow = (i32, String, i32, i64, i64, Option<i64>, Option<String>);

impl PgStore {
    pub(super) async fn select_servers(&self) -> Result<Vec<ServerSeen>, StoreError> {
        let rows: Vec<ServerRow> = sqlx::query_as(
            "select number, system, timeline, flushed, missing, database, identity from server_seen order by number",
        )
        .fetch_all(&self.pool)
        .await?;
        let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        let seen = |(number, system, timeline, flushed, missing, database, id)| ServerSeen {
            number,
            server: identity(system, timeline, database, id),
            flushed: bytes(flushed),
            missing: bytes(missing),
        };
        Ok(rows.into_iter().map(seen).collect())
    }

    pub(super) async fn upsert_server(&self, seen: &ServerSeen) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "insert into server_seen (number, system, timeline, flushed, missing, database, identity, seen_at) \
             values ($1, $2, $3, $4, $5, $6, $7, now()) \
             on conflict (number) do update set system = excluded.system, timeline = excluded.timeline, \
             flushed = excluded.flushed, missing = excluded.missing, database = excluded.database, \
             identity = excluded.identity, seen_at = excluded.seen_at",
        )
        .bind(seen.number)
        .bind(&seen.server.system)
        .bind(seen.server.timeline)
        .bind(i64::try_from(seen.flushed).unwrap_or(i64::MAX))
        .bind(i64::try_from(seen.missing).unwrap_or(i64::MAX))
        .bind(seen.server.database.map(i64::from))
        .bind(seen.server.id.as_deref())
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }
}

/// The identity that the columns of a row say.
pub(super) fn identity(
    system: String,
    timeline: i32,
    database: Option<i64>,
    id: Option<String>,
) -> DatabaseIdentity {
    DatabaseIdentity {
        system,
        timeline,
        database: database.and_then(|oid| u32::try_from(oid).ok()),
        id,
    }
}
