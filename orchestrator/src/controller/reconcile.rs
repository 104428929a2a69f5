//! The reconciler: every shard is looked at again and again, and compared with the map.
//!
//! Order of a look: the store is read, the shard, the store again. A shard that is older than the map is closed at
//! once; a store that is older than the fleet stops everything until an operator mends it. Nothing is dispatched for
//! a migration before both of its shards were looked at by this process.
//! Absent: what contradicts what; `plans::inspection::reconcile` says that.

mod apply;
mod known;
mod watch;

pub(super) use watch::FleetWatch;
pub use watch::{FleetReport, ShardProbe};

use super::dispatch::shard_ref;
use super::{ControlError, Controller, clock, delta};
use crate::store::{Migration, ShardRecord, Snapshot};
use chrono::{DateTime, Utc};
use plans::id::ShardName;
use plans::inspection::inventory::{Inventory, InventoryTask, ObservedServer};
use plans::inspection::reconcile::{
    CloseTask, Contradiction, ContradictionKind, StoreKnowledge, compare,
};
use plans::inspection::{Inspected, Inspection};
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use plans::step::preflight::Preflighted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// Extra time for an agent that closes or sweeps.
pub(super) const WORK: Duration = Duration::from_secs(300);

/// What an operator orders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReconcileRequest {
    /// Move the store forward to what the shards prove.
    pub apply: bool,
    /// Shards whose server is the right one, although it is another, or older, than it was.
    pub accept: Vec<ShardName>,
    /// Why, for the audit trail.
    pub reason: Option<String>,
}

/// That the store is older than the fleet, if some finding says so.
pub(super) fn store_older(findings: Vec<Contradiction>) -> Option<String> {
    let mut older = findings.into_iter();
    let older = older.find(|finding| finding.kind == ContradictionKind::StoreOlder)?;
    Some(format!(
        "the control store is older than the fleet: shard {}: {}",
        older.shard, older.message
    ))
}

impl Controller {
    /// What the last looks at the shards showed.
    #[must_use]
    pub fn fleet(&self) -> FleetReport {
        self.inner.fleet.report()
    }

    /// Looks at every shard now, and does what the operator orders.
    ///
    /// # Errors
    /// What the store says, a shard that was not reached although the order needs all of them, or a mend that is refused.
    pub async fn reconcile(
        &self,
        request: &ReconcileRequest,
        actor: &str,
    ) -> Result<FleetReport, ControlError> {
        let shards = self.inner.store.shards().await?;
        for name in &request.accept {
            shard_ref(&shards, name)?;
        }
        futures::future::join_all(shards.iter().map(|shard| self.probe_shard(shard))).await;
        let mut done = Vec::new();
        for name in &request.accept {
            done.push(self.accept_server(&shards, name, request, actor).await?);
        }
        if request.apply {
            done.extend(self.move_forward(&shards, request, actor).await?);
        }
        if !done.is_empty() {
            futures::future::join_all(shards.iter().map(|shard| self.probe_shard(shard))).await;
        }
        self.announce();
        Ok(FleetReport {
            done,
            ..self.fleet()
        })
    }

    /// Begins the looks that are due; returns when to come again.
    pub(super) async fn schedule_probes(&self) -> Result<Option<DateTime<Utc>>, ControlError> {
        let Some(every) = self.inner.settings.reconcile_every else {
            return Ok(None);
        };
        let now = clock();
        let shards = self.inner.store.shards().await?;
        for shard in self.inner.fleet.due(shards, now, delta(every)) {
            let controller = self.clone();
            tokio::spawn(async move { controller.probe_shard(&shard).await });
        }
        Ok(Some(self.inner.fleet.next(now + delta(every))))
    }

    /// Why no work is given out for a migration: the fleet was not looked at, or contradicts the store.
    ///
    /// An abort needs the source alone: what it opens is proved on the shards (I4), and a target may be lost for good.
    pub(super) fn held_by_fleet(&self, m: &Migration) -> Option<String> {
        self.inner.settings.reconcile_every?;
        if let Some(why) = self.store_is_older() {
            return Some(why);
        }
        let moving = &m.plan.moving;
        let aborts = m.state == MigrationState::Unwinding;
        let target = (!aborts).then_some(&moving.target);
        let mut ends = [Some(&moving.source), target].into_iter().flatten();
        let unseen = ends.find(|shard| !self.inner.fleet.was_observed(shard))?;
        Some(format!("shard {unseen} has not been looked at yet"))
    }

    /// Why nothing may be moved, while the store is older than the fleet.
    #[must_use]
    pub fn store_is_older(&self) -> Option<String> {
        store_older(self.inner.fleet.report().findings)
    }

    /// Why the keys cannot go back: the source is not the server any more that the stream back wrote to (I10).
    #[must_use]
    pub fn source_changed(&self, snapshot: &Snapshot) -> Option<String> {
        let output = snapshot.step_of(StepKind::Preflight)?.output.clone()?;
        let known: Preflighted = serde_json::from_value(output).ok()?;
        let source = &snapshot.migration.plan.moving.source;
        let observed_server = self.inner.fleet.inventory(source)?.server;
        if known.source.accepts(&observed_server) {
            return None;
        }
        Some(format!(
            "shard {source} was server {} on timeline {} when the migration began, and is server {} on timeline {}: what the stream back had written there may be missing",
            known.source.system,
            known.source.timeline,
            observed_server.system,
            observed_server.timeline
        ))
    }

    /// One look, with everything that follows from it at once.
    async fn probe_shard(&self, shard: &ShardRecord) {
        let turn = self.inner.fleet.turn(&shard.name);
        let _looking = turn.lock().await;
        let probed = self.read_shard(shard).await;
        if let Err(error) = &probed {
            tracing::debug!(shard = %shard.name, %error, "shard could not be looked at");
        }
        let news = self.inner.fleet.keep(&shard.name, clock(), probed);
        if news.first {
            self.announce();
        }
        for finding in news.findings {
            tracing::warn!(shard = %finding.shard, kind = %finding.kind, "{}", finding.message);
            let data = json!({ "kind": finding.kind, "message": finding.message, "migration": finding.migration });
            let object = format!("shard {}", finding.shard);
            if let Err(error) = self.audit("controller", "fleet.found", object, data).await {
                tracing::warn!(%error, "a finding was not written into the audit trail");
            }
            self.announce();
        }
    }

    async fn read_shard(
        &self,
        shard: &ShardRecord,
    ) -> Result<(Inventory, Vec<Contradiction>), ControlError> {
        let before = self.known().await?;
        let inventory = self.inventory(shard).await?;
        let after = self.known().await?;
        let mut inventories = self.inner.fleet.other_inventories(&shard.name);
        inventories.push(inventory.clone());
        let first = compare(&before, &inventories);
        // The shard is older than the map only where both readings say so: what the map gained meanwhile it may not know.
        let findings: Vec<Contradiction> = compare(&after, &inventories)
            .into_iter()
            .filter(|finding| finding.shard == shard.name)
            .filter(|finding| {
                finding.kind == ContradictionKind::StoreOlder
                    || first.iter().any(|f| f.is_same(finding))
            })
            .collect();
        self.close(shard, &findings).await;
        self.mark_records(&inventory).await?;
        if findings.iter().any(|finding| finding.kind.is_of_server()) {
            self.note_missing(&after, &inventory).await?;
        } else {
            let inventory = self.with_id(shard, inventory).await;
            self.note_server(shard, &inventory).await?;
            return Ok((inventory, findings));
        }
        Ok((inventory, findings))
    }

    /// Gives a database its random id that was registered before there were any, or while no agent reached it. Where
    /// that fails the shard is known by what it has: server, timeline and OID.
    async fn with_id(&self, shard: &ShardRecord, mut inventory: Inventory) -> Inventory {
        let known = shard.identity.as_ref().and_then(|known| known.id.as_ref());
        if inventory.server.id.is_some() || known.is_some() {
            return inventory;
        }
        let registered = async {
            let reference = shard_ref(std::slice::from_ref(shard), &shard.name)?;
            self.identify(reference, true, Vec::new()).await
        };
        match registered.await {
            Ok(Some(found)) if inventory.server.accepts(&found.identity) => {
                inventory.server = found.identity
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(shard = %shard.name, %error, "the database was not given an id");
            }
        }
        inventory
    }

    /// Everything of ours on a shard, as an agent sees it now.
    pub(super) async fn inventory(&self, shard: &ShardRecord) -> Result<Inventory, ControlError> {
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

    /// Closes keys that another shard owns; not while it is in doubt who is older.
    async fn close(&self, shard: &ShardRecord, findings: &[Contradiction]) {
        let doubt = |finding: &Contradiction| finding.kind == ContradictionKind::StoreOlder;
        if findings.iter().any(doubt) || self.store_is_older().is_some() {
            return;
        }
        for finding in findings {
            let Some(closing) = finding.close.clone() else {
                continue;
            };
            let closed = async {
                let task = CloseTask {
                    shard: shard_ref(std::slice::from_ref(shard), &shard.name)?,
                    closing,
                };
                let inspection = Inspection::Close(Box::new(task));
                let Inspected::Swept(swept) = self.inspect(inspection, WORK).await? else {
                    return Err(ControlError::OtherAnswer);
                };
                Ok(swept)
            };
            let outcome = match closed.await {
                Ok(swept) => json!({ "done": swept.done }),
                Err(error) => {
                    tracing::warn!(shard = %shard.name, %error, "keys were not closed");
                    json!({ "error": error.to_string() })
                }
            };
            let object = format!("shard {}", shard.name);
            if let Err(error) = self
                .audit("controller", "fleet.closed", object, outcome)
                .await
            {
                tracing::warn!(%error, "a closing was not written into the audit trail");
            }
        }
    }

    async fn note_server(
        &self,
        shard: &ShardRecord,
        inventory: &Inventory,
    ) -> Result<(), ControlError> {
        let observed = ObservedServer {
            number: shard.number,
            server: inventory.server.clone(),
            flushed: inventory.flushed,
            missing: 0,
        };
        Ok(self.inner.store.put_server(&observed).await?)
    }

    /// A server that went back is told of until somebody accepts it: its log will pass the old end.
    async fn note_missing(
        &self,
        known: &StoreKnowledge,
        inventory: &Inventory,
    ) -> Result<(), ControlError> {
        let Some(before) = known.servers.get(&inventory.shard) else {
            return Ok(());
        };
        let missing = before.lacks(inventory.flushed);
        if before.server != inventory.server || missing == before.missing {
            return Ok(());
        }
        let noted = ObservedServer {
            missing,
            ..before.clone()
        };
        Ok(self.inner.store.put_server(&noted).await?)
    }

    async fn accept_server(
        &self,
        shards: &[ShardRecord],
        name: &ShardName,
        request: &ReconcileRequest,
        actor: &str,
    ) -> Result<String, ControlError> {
        let known = shards.iter().find(|shard| &shard.name == name);
        let shard = known.ok_or_else(|| ControlError::missing("shard", name.as_str()))?;
        let mut inventories = self.inner.fleet.fresh(name)?;
        self.refuse_duplicate(name, &inventories.server).await?;
        let unidentified = ShardRecord {
            identity: None,
            ..shard.clone()
        };
        inventories = self.with_id(&unidentified, inventories).await;
        self.note_server(shard, &inventories).await?;
        let data = json!({ "server": inventories.server, "reason": request.reason });
        self.audit(actor, "fleet.accepted", format!("shard {name}"), data)
            .await?;
        Ok(format!(
            "shard {name} is {} from now on",
            inventories.server
        ))
    }
}
