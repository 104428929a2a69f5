//! The migration files of the schema, and the update of a store to the newest file.
//!
//! A schema that a newer program has updated stays unchanged. A running program can use a schema that is one version
//! newer; the migration files guarantee this (ADR 32).

use super::OpenError;
use crate::store::StoreError;
use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnection, PgPool};

static MIGRATOR: Migrator = sqlx::migrate!("../migrations");
/// A controller that updates the schema may hold its lock for longer than other transactions do.
const MIGRATION_WAIT: &str = "set lock_timeout = '60s'";

/// Returns the version of the newest file.
pub(super) fn known_version() -> i64 {
    let versions = MIGRATOR.iter().map(|file| file.version);
    versions.max().unwrap_or_default()
}

/// Returns the version of the newest file that was applied to the store.
pub(super) async fn applied_version(session: &mut PgConnection) -> Result<i64, StoreError> {
    let text = "select coalesce(max(version), 0) from _sqlx_migrations where success";
    let (found,): (i64,) = sqlx::query_as(text).fetch_one(session).await?;
    Ok(found)
}

/// Updates the schema. If several controllers start together, one of them does it, and the others wait.
pub(super) async fn update(pool: &PgPool) -> Result<(), OpenError> {
    let session = pool.acquire().await.map_err(StoreError::from)?;
    let mut session = session.detach();
    create_schema(&mut session)
        .await
        .map_err(StoreError::from)?;
    match MIGRATOR.run(&mut session).await {
        Ok(()) => Ok(session.close().await.map_err(StoreError::from)?),
        Err(MigrateError::VersionMissing(_)) => Err(OpenError::Newer {
            found: applied_version(&mut session).await?,
            known: known_version(),
        }),
        Err(error) => Err(OpenError::Store(StoreError::Unavailable {
            source: error.into(),
        })),
    }
}

async fn create_schema(session: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(MIGRATION_WAIT).execute(&mut *session).await?;
    let create = sqlx::query(
        "do $$ begin create schema if not exists shardwright; \
         exception when unique_violation or duplicate_schema then null; end $$",
    );
    create.execute(session).await?;
    Ok(())
}
