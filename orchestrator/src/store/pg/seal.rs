//! The transaction between the seal and the flip.

use super::PgStore;
use super::mappings::Part;
use super::maps::{NewVersion, insert_version, load};
use super::migrations::{Refusal, apply, snapshot};
use super::rows::missing;
use crate::store::pieces::Delta;
use crate::store::{Answer, Change, Sealed, Snapshot, StoreError};
use futures::future::BoxFuture;
use plans::id::MigrationId;
use plans::shard_map::ShardMap;
use sqlx::{Postgres, Transaction};

struct PgSealed {
    transaction: Transaction<'static, Postgres>,
    snapshot: Snapshot,
    map: ShardMap,
}

impl PgStore {
    /// `no key update`: rows that refer to the migration can still be written.
    pub(super) async fn hold_row(&self, id: &MigrationId) -> Result<Box<dyn Sealed>, StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "select from map where name = \
             (select map from migration where id = $1 for no key update) for update",
        )
        .bind(id.as_str())
        .execute(&mut *transaction)
        .await?;
        let snapshot = snapshot(&mut transaction, id)
            .await?
            .ok_or_else(|| missing("migration", id.as_str()))?;
        let name = &snapshot.migration.plan.map;
        let keys = Part::Keys(&snapshot.migration.plan.moving.keys);
        let map = load(self, &mut transaction, name, keys)
            .await?
            .ok_or_else(|| missing("map", name.as_str()))?;
        Ok(Box::new(PgSealed {
            transaction,
            snapshot,
            map,
        }))
    }
}

impl std::fmt::Debug for PgSealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgSealed")
            .field("migration", &self.snapshot.migration.id)
            .finish_non_exhaustive()
    }
}

impl Sealed for PgSealed {
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn map(&self) -> &ShardMap {
        &self.map
    }

    fn write<'a>(&'a mut self, change: &'a Change, map: &'a ShardMap) -> Answer<'a, ()> {
        Box::pin(async move {
            let delta = Delta::between(&self.map, map);
            let id = &change.migration.id;
            let version = NewVersion {
                map: &map.name,
                version: map.version,
                migration: Some(id),
                by: id.as_str(),
            };
            insert_version(&mut self.transaction, &version, &delta).await?;
            match apply(&mut self.transaction, change).await {
                Ok(true) => {}
                Ok(false) | Err(Refusal::KeysMoving) => return Err(StoreError::Busy),
                Err(Refusal::Other(error)) => return Err(error),
            }
            sqlx::query("set local synchronous_commit = on")
                .execute(&mut *self.transaction)
                .await?;
            Ok(())
        })
    }

    fn commit(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move { Ok(self.transaction.commit().await?) })
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // A transaction whose session is lost is rolled back by the server.
            if let Err(error) = self.transaction.rollback().await {
                tracing::debug!(%error, "sealed transaction was lost");
            }
        })
    }
}
