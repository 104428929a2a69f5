//! The command `cleanup`: finds objects of Shardwright on shards that belong to no unfinished migration, and removes
//! them.
//!
//! Agents list the objects of every shard, then `plans::inspection::sweep` decides, then agents carry the decisions
//! out. Agents first refuse writes permanently where the decision requires it. If one of these refusals fails, nothing
//! else is changed, so that no shard starts to accept writes.

use super::dispatch::shard_ref;
use super::reconcile::{WORK, store_older};
use super::seeding::is_copy;
use super::shards::invalid_error;
use super::standby_slots::needed_slots;
use super::{ControlError, Controller, clock};
use crate::store::ShardRecord;
use plans::fleet::ShardRef;
use plans::id::{MapName, ShardName};
use plans::inspection::inventory::Inventory;
use plans::inspection::reconcile::compare;
use plans::inspection::sweep::{
    Guards, Leftover, Sweep, SweepInput, SweepTask, SweepVerdict, decide_sweeps,
};
use plans::inspection::{Inspected, Inspection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// A shard that is not registered. It is used for one request only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnregisteredShard {
    /// The name of the shard in the answer.
    pub name: ShardName,
    /// The connection string. It must contain a reference to the password instead of the password.
    pub dsn: String,
}

/// Which shards to clean up, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanupRequest {
    /// Names of registered shards. If this list and `others` are empty, all registered shards are cleaned up.
    pub shards: Vec<ShardName>,
    /// Shards that are not registered.
    #[serde(rename = "others")]
    pub unregistered: Vec<UnregisteredShard>,
    /// True to remove what may be removed. Otherwise nothing is changed.
    pub apply: bool,
    /// The shard that owns the closed keys of a map, by the name of the map. Needed if no current map names the owner
    /// of these keys.
    pub owners: BTreeMap<MapName, ShardName>,
    /// The reason, for the audit trail. Required with `owners`.
    pub reason: Option<String>,
}

/// What a cleanup found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupReport {
    /// Every object of Shardwright on the shards, with the decision about it.
    pub leftovers: Vec<Leftover>,
    /// What was done.
    pub done: Vec<String>,
    /// What failed, and the shards that could not be inspected.
    pub failed: Vec<String>,
    /// Shards that are standbys. Their objects are their primaries', and nothing is removed there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standbys: Vec<ShardName>,
}

impl Controller {
    /// Finds the objects on shards that belong to no unfinished migration, and removes them if the request has `apply`.
    ///
    /// # Errors
    /// A shard is unknown, `owners` are given without a reason, or the store is older than the fleet: the shards have
    /// recorded flips that the store does not contain.
    pub async fn cleanup(
        &self,
        request: &CleanupRequest,
        actor: &str,
    ) -> Result<CleanupReport, ControlError> {
        let reason = request.reason.as_deref().map(str::trim).unwrap_or_default();
        if !request.owners.is_empty() && reason.is_empty() {
            return Err(invalid_error("owners needs a reason"));
        }
        if let Some(why) = self.store_is_older().filter(|_| request.apply) {
            return Err(ControlError::StoreOlder { why });
        }
        let shards = self.requested_shards(request).await?;
        for owner in request.owners.values() {
            if !shards.iter().any(|shard| &shard.name == owner) {
                return Err(ControlError::missing("shard", owner.as_str()));
            }
        }
        let mut report = CleanupReport::default();
        // Read before the inspection: a slot that is recorded later may not exist yet.
        let recorded = self.inner.store.standby_slots().await?;
        let mut inventories: Vec<Inventory> = Vec::new();
        let mut reached: Vec<ShardRef> = Vec::new();
        for shard in &shards {
            match self.inventory(shard).await {
                Ok(inventory) if is_copy(shard, &inventory) => {
                    report.standbys.push(shard.name.clone());
                }
                Ok(inventory) => {
                    let mut reference = shard_ref(std::slice::from_ref(shard), &shard.name)?;
                    // The sweep must reach the database that was inspected, also if the shard is not registered.
                    reference.identity.get_or_insert(inventory.server.clone());
                    inventories.push(inventory);
                    reached.push(reference);
                }
                Err(error) => report.failed.push(format!("shard {}: {error}", shard.name)),
            }
        }
        // The other registered shards show who owns the keys. Nothing is changed on them.
        inventories.extend(self.rest_of_fleet(&shards).await?);
        if request.apply {
            self.refuse_older_store(&inventories).await?;
        }
        // Read after the inspection: a migration that has begun since then counts as unfinished.
        let input = self.sweep_input(request).await?;
        let mut tasks = Vec::new();
        for (shard, (leftovers, sweeps)) in
            reached.into_iter().zip(decide_sweeps(&input, &inventories))
        {
            report.leftovers.extend(leftovers);
            if !sweeps.is_empty() {
                tasks.push(SweepTask { shard, sweeps });
            }
        }
        if request.apply {
            let data = json!({ "owners": request.owners, "reason": request.reason });
            self.audit(actor, "fleet.swept", "fleet".to_owned(), data)
                .await?;
            self.sweep(tasks, &mut report).await;
            self.forget_dropped_slots(&recorded, &input, &inventories)
                .await?;
        }
        Ok(report)
    }

    /// Returns the shards of the request, registered or not.
    async fn requested_shards(
        &self,
        request: &CleanupRequest,
    ) -> Result<Vec<ShardRecord>, ControlError> {
        let mut shards = self.inner.store.shards().await?;
        for name in &request.shards {
            shard_ref(&shards, name)?;
        }
        let none_named = request.shards.is_empty() && request.unregistered.is_empty();
        shards.retain(|shard| none_named || request.shards.contains(&shard.name));
        for other in &request.unregistered {
            super::shards::check_dsn(&other.name, &other.dsn)?;
            shards.push(ShardRecord {
                name: other.name.clone(),
                number: 0,
                dsn: other.dsn.clone(),
                labels: BTreeMap::new(),
                capacity: 1,
                space: None,
                created_at: clock(),
                identity: None,
            });
        }
        Ok(shards)
    }

    /// Returns the inventories of the registered shards that are not in `chosen`, except of shards that cannot be
    /// reached.
    async fn rest_of_fleet(&self, chosen: &[ShardRecord]) -> Result<Vec<Inventory>, ControlError> {
        let mut shards = self.inner.store.shards().await?;
        shards.retain(|shard| !chosen.iter().any(|chosen| chosen.name == shard.name));
        let inventories = shards.iter().map(|shard| self.inventory(shard));
        let inventories = futures::future::join_all(inventories).await;
        let probed = shards.iter().zip(inventories);
        let own = probed.filter_map(|(shard, inventory)| {
            let inventory = inventory.ok()?;
            (!is_copy(shard, &inventory)).then_some(inventory)
        });
        Ok(own.collect())
    }

    /// Returns an error if the store has lost flips, because its maps then name the wrong owners. The reconciler may
    /// not have found this yet.
    async fn refuse_older_store(&self, inventories: &[Inventory]) -> Result<(), ControlError> {
        let mut inventories = inventories.to_vec();
        let registered = self.inner.store.shards().await?;
        inventories
            .retain(|inventory| registered.iter().any(|shard| shard.name == inventory.shard));
        let findings = compare(&self.store_knowledge().await?, &inventories);
        match store_older(findings) {
            Some(why) => Err(ControlError::StoreOlder { why }),
            None => Ok(()),
        }
    }

    /// Reads from the store what decides which objects may be removed.
    async fn sweep_input(&self, request: &CleanupRequest) -> Result<SweepInput, ControlError> {
        let unfinished = self.inner.store.unfinished().await?;
        let unfinished_ids = unfinished
            .iter()
            .map(|snapshot| snapshot.migration.id.clone());
        // On the shards the id of a conversion takes the place of the id of a migration.
        let conversions = self.inner.store.conversions().await?;
        let conversions = conversions.into_iter().filter(|c| c.finished_at.is_none());
        let slots = self.inner.store.standby_slots().await?;
        let shards = self.inner.store.shards().await?;
        Ok(SweepInput {
            needed_slots: needed_slots(&slots, &shards),
            standby_slots: slots
                .into_iter()
                .map(|slot| (slot.slot, slot.standby))
                .collect(),
            unfinished: unfinished_ids.chain(conversions.map(|c| c.id)).collect(),
            maps: self.inner.store.maps().await?,
            owners: request.owners.clone(),
            incarnation: self.inner.store.incarnation().to_owned(),
        })
    }

    /// Carries out the tasks. The parts that make shards refuse writes permanently come first; if one of them fails,
    /// nothing else is changed.
    async fn sweep(&self, tasks: Vec<SweepTask>, report: &mut CleanupReport) {
        let closes = |sweep: &Sweep| {
            let refuses = |guards: &Guards| guards.refuse.is_some();
            matches!(sweep, Sweep::Migration { guards: Some(guards), .. } if refuses(guards))
        };
        for first in [true, false] {
            for task in &tasks {
                let sweeps = task.sweeps.iter().filter(|sweep| closes(sweep) == first);
                let part = SweepTask {
                    shard: task.shard.clone(),
                    sweeps: sweeps.cloned().collect(),
                };
                if part.sweeps.is_empty() {
                    continue;
                }
                let name = part.shard.name.clone();
                let sweep = Inspection::Sweep(Box::new(part));
                match self.inspect(sweep, WORK).await {
                    Err(error) => report.failed.push(format!("shard {name}: {error}")),
                    Ok(answer) => {
                        if let Inspected::Swept(swept) = answer {
                            report.done.extend(swept.done);
                        }
                    }
                }
            }
            let closes = |leftover: &Leftover| leftover.verdict == SweepVerdict::Close;
            if first && !report.failed.is_empty() && report.leftovers.iter().any(closes) {
                return;
            }
        }
    }
}
