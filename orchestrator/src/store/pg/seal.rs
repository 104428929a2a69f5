//! The transaction between the seal and the flip, which locks the migration's row.

use super::PgStore;
use super::map_reading::map_of_keys;
use super::maps::{NewVersion, insert_version};
use super::migrations::{ChangeRefusal, apply_change, load_snapshot};
use super::rows::missing_error;
use super::unfinished::{WriteScope, WriteTransaction};
use crate::store::pieces::MapDelta;
use crate::store::{MigrationChange, SealedMigration, Snapshot, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::MigrationId;
use plans::shard_map::ShardMap;
use sqlx::PgConnection;
use std::sync::{MutexGuard, PoisonError};

/// A flip commits synchronously, also if the session has another setting.
const BEGIN: &str = "begin; set local synchronous_commit = on";

struct PgSealed {
    transaction: WriteTransaction,
    sealed: SealSnapshot,
}

/// A migration and its map, as the last seal read them.
#[derive(Debug, Clone)]
pub(super) struct SealSnapshot {
    versions: RowVersions,
    snapshot: Snapshot,
    map: ShardMap,
}

/// The versions of a migration's row and of its map. If they are equal to earlier ones, neither was changed. In a
/// restored store, other rows can have the same numbers, but not the same transaction id and time.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
struct RowVersions {
    revision: Option<i64>,
    written: Option<String>,
    version: Option<i64>,
    made: Option<DateTime<Utc>>,
}

impl PgStore {
    /// Locks the migration's row with `for no key update`, so that other transactions can still insert rows that refer
    /// to the migration.
    pub(super) async fn seal_migration(
        &self,
        id: &MigrationId,
    ) -> Result<Box<dyn SealedMigration>, StoreError> {
        let (term, holder) = self.require_lead()?;
        let mut transaction = self.seal_pool.begin_with(BEGIN).await?;
        let locked = sqlx::query_as("select * from hold($1, $2, $3)")
            .bind(term.0)
            .bind(holder.as_str())
            .bind(id.as_str())
            .fetch_one(&mut *transaction)
            .await;
        let versions: RowVersions = self.checked_proof(term, locked)?;
        let last = self.last_seal().clone();
        let unchanged = last
            .filter(|sealed| sealed.snapshot.migration.id == *id && sealed.versions == versions);
        let sealed = match unchanged {
            Some(sealed) => sealed,
            None => self.read_sealed(&mut transaction, id, versions).await?,
        };
        *self.last_seal() = Some(sealed.clone());
        let transaction = self.write_transaction(transaction, WriteScope::One(id.clone()));
        Ok(Box::new(PgSealed {
            transaction,
            sealed,
        }))
    }

    /// Returns the migration and the map that the last seal read.
    fn last_seal(&self) -> MutexGuard<'_, Option<SealSnapshot>> {
        self.last_seal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_sealed(
        &self,
        session: &mut PgConnection,
        id: &MigrationId,
        versions: RowVersions,
    ) -> Result<SealSnapshot, StoreError> {
        let snapshot = load_snapshot(session, id)
            .await?
            .ok_or_else(|| missing_error("migration", id.as_str()))?;
        let name = &snapshot.migration.plan.map;
        let keys = &snapshot.migration.plan.moving.keys;
        let map = map_of_keys(self, session, name, keys)
            .await?
            .ok_or_else(|| missing_error("map", name.as_str()))?;
        Ok(SealSnapshot {
            versions,
            snapshot,
            map,
        })
    }
}

impl std::fmt::Debug for PgSealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgSealed")
            .field("migration", &self.sealed.snapshot.migration.id)
            .finish_non_exhaustive()
    }
}

impl SealedMigration for PgSealed {
    fn snapshot(&self) -> &Snapshot {
        &self.sealed.snapshot
    }

    fn map(&self) -> &ShardMap {
        &self.sealed.map
    }

    fn write<'a>(
        &'a mut self,
        change: &'a MigrationChange,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let delta = MapDelta::between(&self.sealed.map, map);
            let id = &change.migration.id;
            let version = NewVersion {
                map: &map.name,
                version: map.version,
                migration: Some(id),
                by: id.as_str(),
            };
            insert_version(&mut self.transaction, &version, &delta).await?;
            match apply_change(&mut self.transaction, change).await {
                Ok(true) => {}
                Ok(false) | Err(ChangeRefusal::KeysMoving) => return Err(StoreError::Busy),
                Err(ChangeRefusal::Other(error)) => return Err(error),
            }
            Ok(())
        })
    }

    fn commit(self: Box<Self>) -> StoreFuture<'static, ()> {
        Box::pin(async move { Ok(self.transaction.commit().await?) })
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // If the session is lost, the server rolls the transaction back.
            if let Err(error) = self.transaction.rollback().await {
                tracing::debug!(%error, "sealed transaction was lost");
            }
        })
    }
}
