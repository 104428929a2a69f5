//! What this process knows of cutovers under way: which attempts have begun, and the rows that are held for a flip.

use crate::controller::ControlError;
use crate::store::{MigrationChange, MigrationOwner, SealedMigration, StoreError};
use chrono::{DateTime, Utc};
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::shard_map::ShardMap;
use plans::wire::Markers;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::task::JoinHandle;

/// An attempt that this process knows of.
#[derive(Debug)]
pub(super) enum CutoverAttempt {
    /// Begun while the map was at this version, with these markers.
    Begun(MapVersion, Option<Markers>),
    /// The row is held since then.
    Sealed(PreparedSeal, DateTime<Utc>),
}

/// A held row, and the flip that is written into its transaction.
#[derive(Debug)]
pub(super) struct PreparedSeal {
    written: JoinHandle<Result<Box<dyn SealedMigration>, StoreError>>,
    /// Whom the row is held for.
    pub(super) owner: Option<MigrationOwner>,
    pub(super) epoch: Epoch,
    /// What the gaining shard must have applied; none: nobody was asked to show it.
    pub(super) markers: Option<Markers>,
    /// The version that the flip makes.
    pub(super) version: MapVersion,
}

impl PreparedSeal {
    /// Begins to write the flip.
    pub(super) fn new(
        mut sealed: Box<dyn SealedMigration>,
        change: MigrationChange,
        next: ShardMap,
        markers: Option<Markers>,
    ) -> Self {
        let (epoch, version) = (change.migration.epoch, next.version);
        let owner = change.migration.owner.clone();
        let written = tokio::spawn(async move {
            sealed.write(&change, &next).await?;
            Ok(sealed)
        });
        Self {
            written,
            owner,
            markers,
            epoch,
            version,
        }
    }

    /// The transaction once the flip is written; `None` when its task is gone.
    pub(super) async fn written(self) -> Result<Option<Box<dyn SealedMigration>>, StoreError> {
        self.written.await.ok().transpose()
    }

    /// Changes nothing and unlocks.
    pub(super) async fn release(self) {
        if let Ok(Some(sealed)) = self.written().await {
            sealed.release().await;
        }
    }
}

type AttemptTable = BTreeMap<MigrationId, (AttemptNo, CutoverAttempt)>;

/// Attempts by migration; lost with the process, and with them every chance to flip.
#[derive(Debug, Default)]
pub(in crate::controller) struct CutoverAttempts {
    table: Mutex<AttemptTable>,
    /// Held by the one attempt that is being begun.
    turn: tokio::sync::Mutex<()>,
}

impl CutoverAttempts {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut AttemptTable) -> T) -> T {
        act(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One attempt is begun after the other, so that each sees those before it.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// What this attempt holds, for whoever `may` have it; to others it stays held.
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
