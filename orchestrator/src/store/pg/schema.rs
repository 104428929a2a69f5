//! The files of the schema, and bringing a store up to date with them.
//!
//! What a newer program has applied is left as it is: this one does not know what it means. A program that runs goes on
//! over a schema that is one version ahead, which the files see to (ADR 32).

use super::OpenError;
use crate::store::StoreError;
use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnection, PgPool};

static MIGRATOR: Migrator = sqlx::migrate!("../migrations");
/// A controller that changes the schema may take longer than any other holder of a lock.
const MIGRATION_WAIT: &str = "set lock_timeout = '60s'";

/// The newest file.
pub(super) fn known() -> i64 {
    let versions = MIGRATOR.iter().map(|file| file.version);
    versions.max().unwrap_or_default()
}

/// The newest file that a store has.
pub(super) async fn found(session: &mut PgConnection) -> Result<i64, StoreError> {
    let text = "select coalesce(max(version), 0) from _sqlx_migrations where success";
    let (found,): (i64,) = sqlx::query_as(text).fetch_one(session).await?;
    Ok(found)
}

/// Brings the schema up to date. Of controllers that start together one does, and the others wait for it.
pub(super) async fn migrate(pool: &PgPool) -> Result<(), OpenError> {
    let session = pool.acquire().await.map_err(StoreError::from)?;
    let mut session = session.detach();
    prepare(&mut session).await.map_err(StoreError::from)?;
    match MIGRATOR.run(&mut session).await {
        Ok(()) => Ok(session.close().await.map_err(StoreError::from)?),
        Err(MigrateError::VersionMissing(_)) => Err(OpenError::Newer {
            found: found(&mut session).await?,
            known: known(),
        }),
        Err(error) => Err(OpenError::Store(StoreError::Unavailable {
            source: error.into(),
        })),
    }
}

async fn prepare(session: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(MIGRATION_WAIT).execute(&mut *session).await?;
    let create = sqlx::query(
        "do $$ begin create schema if not exists shardwright; \
         exception when unique_violation or duplicate_schema then null; end $$",
    );
    create.execute(session).await?;
    Ok(())
}
