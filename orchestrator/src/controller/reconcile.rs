//! The reconciler probes every shard repeatedly, and compares the objects and records of Shardwright there with the
//! control store.
//!
//! For a probe the controller reads the store, then lets an agent list the objects of the shard, then reads the store
//! again. If the shard is older than the map, the controller immediately closes the keys there that belong to other
//! shards. If the store is older than the fleet, that is, if shards have recorded flips that the store does not
//! contain, the controller dispatches nothing until an operator repairs the store. It dispatches nothing for a
//! migration before this process has probed both of its shards. `plans::inspection::reconcile` defines what counts as a
//! contradiction.

mod apply;
mod imbalance;
mod known;
mod probe;
mod probed;
mod watch;

pub(crate) use probed::ProbedShard;
pub use probed::{DetailedProbe, ShardActivity};
pub(super) use watch::FleetWatch;
pub use watch::{FleetReport, ShardProbe};

use super::dispatch::shard_ref;
use super::seeding::check_acceptable;
use super::{ControlError, Controller, clock, delta};
use crate::store::{Migration, ShardRecord, Snapshot};
use chrono::{DateTime, Utc};
use plans::id::ShardName;
use plans::inspection::inventory::{Inventory, ObservedServer};
use plans::inspection::reconcile::{CloseTask, Contradiction, ContradictionKind, StoreKnowledge};
use plans::inspection::{Inspected, Inspection};
use plans::state::migration::MigrationState;
use plans::step::{StepKind, servers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Additional time for an agent that closes keys or removes objects.
pub(super) const WORK: Duration = Duration::from_secs(300);

/// What the reconciler is to do in addition to a probe of every shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReconcileRequest {
    /// True to add to the store the flips that the shards have recorded.
    pub apply: bool,
    /// Shards whose server the operator accepts, although it is another server than before, or lacks a part of the log
    /// that the earlier server had written.
    pub accept: Vec<ShardName>,
    /// The reason, for the audit trail.
    pub reason: Option<String>,
}

/// Returns why the store is older than the fleet, if a finding shows this.
pub(super) fn store_older(findings: Vec<Contradiction>) -> Option<String> {
    let mut older = findings.into_iter();
    let older = older.find(|finding| finding.kind == ContradictionKind::StoreOlder)?;
    Some(format!(
        "the control store is older than the fleet: shard {}: {}",
        older.shard, older.message
    ))
}

impl Controller {
    /// Returns the result of the last probes of the shards.
    #[must_use]
    pub fn fleet(&self) -> FleetReport {
        self.inner.fleet.report()
    }

    /// Probes every shard now, and does what the operator requests.
    ///
    /// # Errors
    /// An error of the store, a shard that cannot be reached although the request needs every shard, or a refused
    /// repair.
    pub async fn reconcile(
        &self,
        request: &ReconcileRequest,
        actor: &str,
    ) -> Result<FleetReport, ControlError> {
        let shards = self.inner.store.shards().await?;
        for name in &request.accept {
            shard_ref(&shards, name)?;
        }
        self.probe_shards(&shards).await;
        let mut done = Vec::new();
        for name in &request.accept {
            done.push(self.accept_server(&shards, name, request, actor).await?);
        }
        if request.apply {
            done.extend(self.add_lost_flips(&shards, request, actor).await?);
        }
        if !done.is_empty() {
            self.probe_shards(&shards).await;
        }
        self.announce();
        Ok(FleetReport {
            done,
            ..self.fleet()
        })
    }

    /// Starts the probes that are due. Returns when to call this function again.
    pub(super) async fn schedule_probes(&self) -> Result<Option<DateTime<Utc>>, ControlError> {
        let Some(every) = self.inner.settings.reconcile_every else {
            return Ok(None);
        };
        let now = clock();
        let shards = self.inner.store.shards().await?;
        if let Err(error) = self.sample_imbalance(&shards, now).await {
            tracing::warn!(%error, "the imbalance of the fleet could not be stored");
        }
        let due = self.inner.fleet.begin_due(shards, now, delta(every));
        let controller = self.clone();
        tokio::spawn(async move { controller.probe_shards(&due).await });
        Ok(Some(self.inner.fleet.next_check(now + delta(every))))
    }

    /// Returns why nothing may be dispatched for a migration: a shard was not probed yet, or the store is older than
    /// the fleet.
    ///
    /// An abort needs only a probe of the source, because the target may be lost permanently. Before the agent opens
    /// the source, it checks the evidence on the shards (I4).
    pub(super) fn dispatch_obstacle(&self, m: &Migration) -> Option<String> {
        self.inner.settings.reconcile_every?;
        if let Some(why) = self.store_is_older() {
            return Some(why);
        }
        let moving = &m.plan.moving;
        let aborts = m.state == MigrationState::Unwinding;
        let target = (!aborts).then_some(&moving.target);
        let mut shards = [Some(&moving.source), target].into_iter().flatten();
        let unprobed = shards.find(|shard| !self.inner.fleet.was_observed(shard))?;
        Some(format!("shard {unprobed} was not probed yet"))
    }

    /// Returns why no keys may move, if the store is older than the fleet.
    #[must_use]
    pub fn store_is_older(&self) -> Option<String> {
        store_older(self.inner.fleet.report().findings)
    }

    /// Returns why a rollback is impossible, if the source is no longer the server to which the reverse stream wrote
    /// (I10). Whether the stream can continue on a promoted standby, the agent proves.
    #[must_use]
    pub fn source_changed(&self, snapshot: &Snapshot) -> Option<String> {
        let output = |kind| snapshot.step_of(kind)?.output.clone();
        let preflight = serde_json::from_value(output(StepKind::Preflight)?).ok()?;
        let (known, _) = servers::recorded(preflight, output);
        let source = &snapshot.migration.plan.moving.source;
        let observed_server = &self.inner.fleet.inventory(source)?.server;
        if known.accepts(observed_server) || known.was_promoted_to(observed_server) {
            return None;
        }
        Some(format!(
            "shard {source} was server {} on timeline {} when the agent began to capture its changes, and is server {} on timeline {}: changes that the reverse stream had written there may be missing",
            known.system, known.timeline, observed_server.system, observed_server.timeline
        ))
    }

    /// Gives a database its random id if it has none, because it was registered by an earlier release or while no agent
    /// could reach it. If this fails, the server, the timeline and the OID identify the database.
    async fn with_id(&self, shard: &ShardRecord, mut inventory: Inventory) -> Inventory {
        let known = shard.identity.as_ref().and_then(|known| known.id.as_ref());
        if inventory.server.id.is_some() || inventory.server.standby || known.is_some() {
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
                tracing::warn!(shard = %shard.name, %error, "the database could not be given an id");
            }
        }
        inventory
    }

    /// Closes keys that another shard owns. Does nothing while the store may be older than the fleet.
    async fn close(&self, shard: &ShardRecord, findings: &[Contradiction]) {
        let is_store_older =
            |finding: &Contradiction| finding.kind == ContradictionKind::StoreOlder;
        if findings.iter().any(is_store_older) || self.store_is_older().is_some() {
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
                    tracing::warn!(shard = %shard.name, %error, "keys could not be closed");
                    json!({ "error": error.to_string() })
                }
            };
            let object = format!("shard {}", shard.name);
            if let Err(error) = self
                .audit("controller", "fleet.closed", object, outcome)
                .await
            {
                tracing::warn!(%error, "a closing of keys could not be recorded in the audit trail");
            }
        }
    }

    /// Records the server of a shard, and how much log it has flushed.
    pub(super) async fn note_server(
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

    /// Records the log that the server of a shard lacks. This is reported until an operator accepts the server; it
    /// cannot be detected later, when the new log has passed the old end.
    async fn note_missing(
        &self,
        known: &StoreKnowledge,
        inventory: &Inventory,
    ) -> Result<(), ControlError> {
        let Some(before) = known.servers.get(&inventory.shard) else {
            return Ok(());
        };
        let missing = before.missing_bytes(inventory.flushed);
        if before.server != inventory.server || missing == before.missing {
            return Ok(());
        }
        let noted = ObservedServer {
            missing,
            ..before.clone()
        };
        Ok(self.inner.store.put_server(&noted).await?)
    }

    /// Records the server of a shard as the right one, as the operator requests. Returns a text that says so.
    async fn accept_server(
        &self,
        shards: &[ShardRecord],
        name: &ShardName,
        request: &ReconcileRequest,
        actor: &str,
    ) -> Result<String, ControlError> {
        let known = shards.iter().find(|shard| &shard.name == name);
        let shard = known.ok_or_else(|| ControlError::missing("shard", name.as_str()))?;
        let inventory = self.inner.fleet.inventory_of_last_probe(name)?;
        check_acceptable(shard, &inventory)?;
        self.refuse_duplicate(name, &shard.dsn, &inventory.server)
            .await?;
        let unidentified = ShardRecord {
            identity: None,
            ..shard.clone()
        };
        let inventory = self
            .with_id(&unidentified, Arc::unwrap_or_clone(inventory))
            .await;
        self.note_server(shard, &inventory).await?;
        let data = json!({ "server": inventory.server, "reason": request.reason });
        self.audit(actor, "fleet.accepted", format!("shard {name}"), data)
            .await?;
        Ok(format!("shard {name} is {} from now on", inventory.server))
    }
}
