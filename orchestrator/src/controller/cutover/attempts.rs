//! The cutover attempts that this process knows: attempts that have begun, and locked rows that wait for the flip.

use crate::controller::ControlError;
use crate::store::{LeaseHolder, MigrationChange, SealedMigration, StoreError};
use chrono::{DateTime, Utc};
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::shard_map::ShardMap;
use plans::wire::Markers;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::task::JoinHandle;

/// A cutover attempt that this process knows.
#[derive(Debug)]
pub(super) enum CutoverAttempt {
    /// The attempt began when the map had this version. The agent writes these markers.
    Begun(MapVersion, Option<Markers>),
    /// The attempt is sealed: its transaction has locked the row of the migration since this time.
    Sealed(PreparedSeal, DateTime<Utc>),
}

/// A locked row, and the flip that is written into its transaction.
#[derive(Debug)]
pub(super) struct PreparedSeal {
    /// The task that writes the flip; it returns the transaction.
    write_task: JoinHandle<Result<Box<dyn SealedMigration>, StoreError>>,
    /// The agent process for which the row is locked.
    pub(super) owner: Option<LeaseHolder>,
    pub(super) epoch: Epoch,
    /// The markers that the new owner must have applied; `None` if the controller does not require this evidence.
    pub(super) markers: Option<Markers>,
    /// The map version that the flip creates.
    pub(super) version: MapVersion,
}

impl PreparedSeal {
    /// Starts to write the flip into the transaction.
    pub(super) fn new(
        mut sealed: Box<dyn SealedMigration>,
        change: MigrationChange,
        next: ShardMap,
        markers: Option<Markers>,
    ) -> Self {
        let (epoch, version) = (change.migration.epoch, next.version);
        let owner = change.migration.owner.clone();
        let write_task = tokio::spawn(async move {
            sealed.write(&change, &next).await?;
            Ok(sealed)
        });
        Self {
            write_task,
            owner,
            markers,
            epoch,
            version,
        }
    }

    /// Waits until the flip is written, and returns the transaction; `None` if the task that writes has ended without a
    /// result.
    pub(super) async fn finish_write(self) -> Result<Option<Box<dyn SealedMigration>>, StoreError> {
        self.write_task.await.ok().transpose()
    }

    /// Rolls the transaction back, which unlocks the row.
    pub(super) async fn release(self) {
        if let Ok(Some(sealed)) = self.finish_write().await {
            sealed.release().await;
        }
    }
}

type AttemptTable = BTreeMap<MigrationId, (AttemptNo, CutoverAttempt)>;

/// The attempts of each migration. If the process ends they are lost, and with them the possibility to flip them.
#[derive(Debug, Default)]
pub(in crate::controller) struct CutoverAttempts {
    table: Mutex<AttemptTable>,
    /// A lock that is held while an attempt begins.
    begin_lock: tokio::sync::Mutex<()>,
}

impl CutoverAttempts {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut AttemptTable) -> T) -> T {
        act(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until no other attempt is about to begin, so that each attempt finds those that began earlier.
    pub(super) async fn lock_begin(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.begin_lock.lock().await
    }

    /// Removes and returns the sealed attempt with this number, if `may` accepts its seal. If `may` returns an error,
    /// the attempt remains.
    pub(super) fn take_sealed(
        &self,
        id: &MigrationId,
        attempt: AttemptNo,
        may: impl FnOnce(&PreparedSeal) -> Result<(), ControlError>,
    ) -> Result<Option<PreparedSeal>, ControlError> {
        self.with(|table| {
            if let Some((number, CutoverAttempt::Sealed(seal, _))) = table.get(id)
                && *number == attempt
            {
                may(seal)?;
                if let Some((_, CutoverAttempt::Sealed(seal, _))) = table.remove(id) {
                    return Ok(Some(seal));
                }
            }
            Ok(None)
        })
    }
}
