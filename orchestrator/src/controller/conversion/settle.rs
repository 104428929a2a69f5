//! The end of a conversion: its guards are replaced or removed, also after the process that ran it has ended.

use super::shards::some_at_once;
use super::{ControlError, Controller, clock, division_of, fail_points};
use futures::StreamExt;
use plans::id::{MigrationId, ShardName};
use plans::inspection::convert::ConversionPhase;

impl Controller {
    /// Ends the conversions that another process has left.
    pub(in crate::controller) async fn settle_conversions(&self) -> Result<(), ControlError> {
        let all = self.inner.store.conversions().await?;
        for conversion in all.iter().filter(|c| c.finished_at.is_none()) {
            let running = &self.inner.conversions;
            if !running.with(|all| all.insert(conversion.id.clone())) {
                continue;
            }
            let running = super::Running {
                controller: self.clone(),
                id: conversion.id.clone(),
            };
            let controller = self.clone();
            tokio::spawn(async move {
                let settled = controller.settle_conversion(&running.id).await;
                if let Err(error) = settled {
                    tracing::warn!(%error, conversion = %running.id, "a conversion has not ended yet");
                }
            });
        }
        Ok(())
    }

    /// Takes a conversion over. If its version was written, the guards of released keys are replaced on every shard, and
    /// otherwise the guards of the conversion are removed.
    ///
    /// The new epoch comes first: from then on the earlier owner can neither write the version nor create a guard.
    pub(super) async fn settle_conversion(&self, id: &MigrationId) -> Result<(), ControlError> {
        let record = self.inner.store.take_conversion(id).await?;
        let shards = self.inner.store.shards().await?;
        let map = self.bare_map(&record.map).await?;
        let division = division_of(&map);
        // A shard that was removed meanwhile owns no keys of any map.
        let is_known = |name: &&ShardName| shards.iter().any(|shard| &shard.name == *name);
        let tasks = record.shards.iter().filter(is_known).map(|shard| {
            let phase = match record.version {
                Some(version) => ConversionPhase::Finish {
                    refused: map.refused_by(shard),
                    version,
                },
                None => ConversionPhase::Withdraw,
            };
            self.convert_shard(&record, &shards, shard, &division, phase)
        });
        // Each shard is tried, also if another one cannot be reached.
        let results: Vec<_> = some_at_once(tasks).collect().await;
        results.into_iter().collect::<Result<Vec<_>, _>>()?;
        fail_point::hit(fail_points::CONVERSION_SETTLED).await?;
        let store = &self.inner.store;
        store.finish_conversion(&record, clock()).await?;
        self.announce();
        Ok(())
    }
}
