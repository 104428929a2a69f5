//! The servers of shards, as they were last observed.

use super::PgStore;
use crate::store::StoreError;
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::ObservedServer;

type StoredServer = (
    i32,
    String,
    i32,
    i64,
    i64,
    Option<i64>,
    Option<String>,
    bool,
);

impl PgStore {
    pub(super) async fn select_servers(&self) -> Result<Vec<ObservedServer>, StoreError> {
        let rows: Vec<StoredServer> = sqlx::query_as(
            "select number, system, timeline, flushed, missing, database, identity, standby from server_seen order by number",
        )
        .fetch_all(&self.pool)
        .await?;
        let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        let server =
            |(number, system, timeline, flushed, missing, database, id, standby)| ObservedServer {
                number,
                server: DatabaseIdentity {
                    standby,
                    ..identity(system, timeline, database, id)
                },
                flushed: bytes(flushed),
                missing: bytes(missing),
            };
        Ok(rows.into_iter().map(server).collect())
    }

    pub(super) async fn upsert_server(&self, server: &ObservedServer) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "insert into server_seen (number, system, timeline, flushed, missing, database, identity, standby, seen_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, now()) \
             on conflict (number) do update set system = excluded.system, timeline = excluded.timeline, \
             flushed = excluded.flushed, missing = excluded.missing, database = excluded.database, \
             identity = excluded.identity, standby = excluded.standby, seen_at = excluded.seen_at",
        )
        .bind(server.number)
        .bind(&server.server.system)
        .bind(server.server.timeline)
        .bind(i64::try_from(server.flushed).unwrap_or(i64::MAX))
        .bind(i64::try_from(server.missing).unwrap_or(i64::MAX))
        .bind(server.server.database.map(i64::from))
        .bind(server.server.id.as_deref())
        .bind(server.server.standby)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }
}

/// Reads a database's identity from the columns of a row.
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
        standby: false,
    }
}
