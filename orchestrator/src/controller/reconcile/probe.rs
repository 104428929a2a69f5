//! The probes of shards at the same time.
//!
//! The probes of a large fleet share the reads of the control store: the controller reads it once before all probes, and
//! once after those that have ended meanwhile. So the number of reads does not depend on the number of shards, and no
//! shard waits for a slower one.

use super::super::dispatch::shard_ref;
use super::super::seeding::is_copy;
use super::super::{ControlError, Controller, clock};
use crate::store::ShardRecord;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use plans::inspection::inventory::{Inventory, InventoryTask};
use plans::inspection::reconcile::{Contradiction, ContradictionKind, StoreKnowledge, compare};
use plans::inspection::{Inspected, Inspection};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinSet;

/// A shard whose objects an agent has listed. No other probe of the shard begins before this value is dropped.
struct ListedShard {
    shard: ShardRecord,
    inventory: Arc<Inventory>,
    probing: OwnedMutexGuard<()>,
}

impl Controller {
    /// Probes shards once, and carries out what follows from each result immediately.
    pub(super) async fn probe_shards(&self, shards: &[ShardRecord]) {
        if shards.is_empty() {
            return;
        }
        let before = match self.store_knowledge().await {
            Ok(before) => before,
            Err(error) => {
                let failed = |shard| self.note_failed_probe(shard, &error);
                return shards.iter().for_each(failed);
            }
        };
        let listings: FuturesUnordered<_> = shards.iter().map(|shard| self.list(shard)).collect();
        let mut listings = listings.ready_chunks(shards.len());
        let mut conclusions = JoinSet::new();
        while let Some(listed) = listings.next().await {
            let listed: Vec<ListedShard> = listed.into_iter().flatten().collect();
            match self.compare_with_store(&before, &listed).await {
                Ok((after, findings)) => {
                    for listed in listed {
                        let mut own = findings.clone();
                        own.retain(|finding| finding.shard == listed.shard.name);
                        let (controller, after) = (self.clone(), Arc::clone(&after));
                        conclusions
                            .spawn(async move { controller.conclude(listed, &after, own).await });
                    }
                }
                Err(error) => {
                    let failed =
                        |listed: &ListedShard| self.note_failed_probe(&listed.shard, &error);
                    listed.iter().for_each(failed);
                }
            }
        }
        conclusions.join_all().await;
    }

    /// Lists the objects of a shard. Returns `None` if this failed.
    async fn list(&self, shard: &ShardRecord) -> Option<ListedShard> {
        let probing = self.inner.fleet.probe_lock(&shard.name).lock_owned().await;
        match self.inventory(shard).await {
            Ok(inventory) => Some(ListedShard {
                shard: shard.clone(),
                inventory: Arc::new(inventory),
                probing,
            }),
            Err(error) => {
                self.note_failed_probe(shard, &error);
                None
            }
        }
    }

    fn note_failed_probe(&self, shard: &ShardRecord, error: &ControlError) {
        tracing::debug!(shard = %shard.name, %error, "the probe of a shard failed");
        self.inner.fleet.record_failure(&shard.name, error);
    }

    /// Reads the store again, and compares the listed shards with it.
    ///
    /// A shard counts as older than the map only if both reads of the store show it: the shard may not know a version
    /// that was created during the probe.
    async fn compare_with_store(
        &self,
        before: &StoreKnowledge,
        listed: &[ListedShard],
    ) -> Result<(Arc<StoreKnowledge>, Vec<Contradiction>), ControlError> {
        let after = Arc::new(self.store_knowledge().await?);
        let names: BTreeSet<_> = listed.iter().map(|listed| &listed.shard.name).collect();
        let mut inventories = self.inner.fleet.other_inventories(&names);
        inventories.extend(listed.iter().map(|listed| Arc::clone(&listed.inventory)));
        let mut findings = compare(&after, &inventories);
        findings.retain(|finding| names.contains(&finding.shard));
        if !findings.is_empty() {
            let first = compare(before, &inventories);
            findings.retain(|finding| {
                finding.kind == ContradictionKind::StoreOlder
                    || first.iter().any(|known| known.is_same(finding))
            });
        }
        Ok((after, findings))
    }

    /// Carries out what follows from a comparison, and keeps its result.
    async fn conclude(
        &self,
        listed: ListedShard,
        after: &StoreKnowledge,
        findings: Vec<Contradiction>,
    ) {
        let shard = &listed.shard.name;
        let probed = match self.act_on(&listed, after, &findings).await {
            Ok(probed) => probed,
            Err(error) => return self.note_failed_probe(&listed.shard, &error),
        };
        let news = self
            .inner
            .fleet
            .record_probe(shard, clock(), probed, findings);
        if news.first {
            self.announce();
        }
        for finding in news.findings {
            tracing::warn!(shard = %finding.shard, kind = %finding.kind, "{}", finding.message);
            let data = json!({ "kind": finding.kind, "message": finding.message, "migration": finding.migration });
            let object = format!("shard {}", finding.shard);
            if let Err(error) = self.audit("controller", "fleet.found", object, data).await {
                tracing::warn!(%error, "a finding could not be recorded in the audit trail");
            }
            self.announce();
        }
        drop(listed.probing);
    }

    /// Closes the keys of other shards, and records what the store is to know of the server. Returns the inventory with
    /// the id that the database has afterwards.
    async fn act_on(
        &self,
        listed: &ListedShard,
        after: &StoreKnowledge,
        findings: &[Contradiction],
    ) -> Result<Inventory, ControlError> {
        let shard = &listed.shard;
        let inventory = Inventory::clone(&listed.inventory);
        self.close(shard, findings).await;
        let is_copy = is_copy(shard, &inventory);
        if !is_copy {
            self.mark_records(&inventory).await?;
        }
        if findings.iter().any(|finding| finding.kind.is_of_server()) {
            self.note_missing(after, &inventory).await?;
        } else if is_copy {
            self.note_standby(shard, &inventory).await?;
        } else {
            let inventory = self.with_id(shard, inventory).await;
            self.note_server(shard, &inventory).await?;
            return Ok(inventory);
        }
        Ok(inventory)
    }

    /// Lets an agent list all objects of Shardwright on a shard.
    pub(in crate::controller) async fn inventory(
        &self,
        shard: &ShardRecord,
    ) -> Result<Inventory, ControlError> {
        let task = InventoryTask {
            shard: shard_ref(std::slice::from_ref(shard), &shard.name)?,
        };
        let inspection = Inspection::Inventory(task);
        let Inspected::Inventory(inventory) = self.inspect(inspection, Duration::ZERO).await?
        else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(*inventory)
    }
}
