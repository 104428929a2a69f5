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
pub use watch::{FleetReport, ShardLook};

use super::dispatch::shard_ref;
use super::{ControlError, Controller, clock, delta};
use crate::store::{Migration, ShardRecord, Snapshot};
use chrono::{DateTime, Utc};
use plans::id::ShardName;
use plans::inspection::inventory::{Inventory, InventoryTask, ServerSeen};
use plans::inspection::reconcile::{CloseTask, Finding, FindingKind, Known, compare};
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
pub struct ReconcileOrder {
    /// Move the store forward to what the shards prove.
    pub apply: bool,
    /// Shards whose server is the right one, although it is another, or older, than it was.
    pub accept: Vec<ShardName>,
    /// Why, for the audit trail.
    pub reason: Option<String>,
}

/// That the store is older than the fleet, if some finding says so.
pub(super) fn store_older(findings: Vec<Finding>) -> Option<String> {
    let mut older = findings.into_iter();
    let older = older.find(|finding| finding.kind == FindingKind::StoreOlder)?;
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
        order: &ReconcileOrder,
        actor: &str,
    ) -> Result<FleetReport, ControlError> {
        let shards = self.inner.store.shards().await?;
        for name in &order.accept {
            shard_ref(&shards, name)?;
        }
        futures::future::join_all(shards.iter().map(|shard| self.look_at(shard))).await;
        let mut done = Vec::new();
        for name in &order.accept {
            done.push(self.accept_server(&shards, name, order, actor).await?);
        }
        if order.apply {
            done.extend(self.move_forward(&shards, order, actor).await?);
        }
        if !done.is_empty() {
            futures::future::join_all(shards.iter().map(|shard| self.look_at(shard))).await;
        }
        self.announce();
        Ok(FleetReport {
            done,
            ..self.fleet()
        })
    }

    /// Begins the looks that are due; returns when to come again.
    pub(super) async fn schedule_looks(&self) -> Result<Option<DateTime<Utc>>, ControlError> {
        let Some(every) = self.inner.settings.reconcile_every else {
            return Ok(None);
        };
        let now = clock();
        let shards = self.inner.store.shards().await?;
        for shard in self.inner.fleet.due(shards, now, delta(every)) {
            let controller = self.clone();
            tokio::spawn(async move { controller.look_at(&shard).await });
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
        let unseen = ends.find(|shard| !self.inner.fleet.was_seen(shard))?;
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
        let seen = self.inner.fleet.inventory(source)?.server;
        if known.source.accepts(&seen) {
            return None;
        }
        Some(format!(
            "shard {source} was server {} on timeline {} when the migration began, and is server {} on timeline {}: what the stream back had written there may be missing",
            known.source.system, known.source.timeline, seen.system, seen.timeline
        ))
    }

    /// One look, with everything that follows from it at once.
    async fn look_at(&self, shard: &ShardRecord) {
        let turn = self.inner.fleet.turn(&shard.name);
        let _looking = turn.lock().await;
        let looked = self.look_once(shard).await;
        if let Err(error) = &looked {
            tracing::debug!(shard = %shard.name, %error, "shard could not be looked at");
        }
        let news = self.inner.fleet.keep(&shard.name, clock(), looked);
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

    async fn look_once(
        &self,
        shard: &ShardRecord,
    ) -> Result<(Inventory, Vec<Finding>), ControlError> {
        let before = self.known().await?;
        let inventory = self.inventory(shard).await?;
        let after = self.known().await?;
        let mut seen = self.inner.fleet.others(&shard.name);
        seen.push(inventory.clone());
        let first = compare(&before, &seen);
        // The shard is older than the map only where both readings say so: what the map gained meanwhile it may not know.
        let findings: Vec<Finding> = compare(&after, &seen)
            .into_iter()
            .filter(|finding| finding.shard == shard.name)
            .filter(|finding| {
                finding.kind == FindingKind::StoreOlder || first.iter().any(|f| f.is_same(finding))
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
    async fn with_id(&self, shard: &ShardRecord, mut seen: Inventory) -> Inventory {
        let known = shard.identity.as_ref().and_then(|known| known.id.as_ref());
        if seen.server.id.is_some() || known.is_some() {
            return seen;
        }
        let registered = async {
            let reference = shard_ref(std::slice::from_ref(shard), &shard.name)?;
            self.identify(reference, true, Vec::new()).await
        };
        match registered.await {
            Ok(Some(found)) if seen.server.accepts(&found.identity) => seen.server = found.identity,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(shard = %shard.name, %error, "the database was not given an id");
            }
        }
        seen
    }

    /// Everything of ours on a shard, as an agent sees it now.
    pub(super) async fn inventory(&self, shard: &ShardRecord) -> Result<Inventory, ControlError> {
        let task = InventoryTask {
            shard: shard_ref(std::slice::from_ref(shard), &shard.name)?,
        };
        let asked = Inspection::Inventory(task);
        let Inspected::Inventory(inventory) = self.inspect(asked, Duration::ZERO).await? else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(*inventory)
    }

    /// Closes keys that another shard owns; not while it is in doubt who is older.
    async fn close(&self, shard: &ShardRecord, findings: &[Finding]) {
        let doubt = |finding: &Finding| finding.kind == FindingKind::StoreOlder;
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
                let asked = Inspection::Close(Box::new(task));
                let Inspected::Swept(swept) = self.inspect(asked, WORK).await? else {
                    return Err(ControlError::OtherAnswer);
                };
                Ok(swept)
            };
            let told = match closed.await {
                Ok(swept) => json!({ "done": swept.done }),
                Err(error) => {
                    tracing::warn!(shard = %shard.name, %error, "keys were not closed");
                    json!({ "error": error.to_string() })
                }
            };
            let object = format!("shard {}", shard.name);
            if let Err(error) = self.audit("controller", "fleet.closed", object, told).await {
                tracing::warn!(%error, "a closing was not written into the audit trail");
            }
        }
    }

    async fn note_server(&self, shard: &ShardRecord, seen: &Inventory) -> Result<(), ControlError> {
        let seen = ServerSeen {
            number: shard.number,
            server: seen.server.clone(),
            flushed: seen.flushed,
            missing: 0,
        };
        Ok(self.inner.store.put_server(&seen).await?)
    }

    /// A server that went back is told of until somebody accepts it: its log will pass the old end.
    async fn note_missing(&self, known: &Known, seen: &Inventory) -> Result<(), ControlError> {
        let Some(before) = known.servers.get(&seen.shard) else {
            return Ok(());
        };
        let missing = before.lacks(seen.flushed);
        if before.server != seen.server || missing == before.missing {
            return Ok(());
        }
        let noted = ServerSeen {
            missing,
            ..before.clone()
        };
        Ok(self.inner.store.put_server(&noted).await?)
    }

    async fn accept_server(
        &self,
        shards: &[ShardRecord],
        name: &ShardName,
        order: &ReconcileOrder,
        actor: &str,
    ) -> Result<String, ControlError> {
        let known = shards.iter().find(|shard| &shard.name == name);
        let shard = known.ok_or_else(|| ControlError::missing("shard", name.as_str()))?;
        let mut seen = self.inner.fleet.fresh(name)?;
        self.refuse_taken(name, &seen.server).await?;
        let unidentified = ShardRecord {
            identity: None,
            ..shard.clone()
        };
        seen = self.with_id(&unidentified, seen).await;
        self.note_server(shard, &seen).await?;
        let data = json!({ "server": seen.server, "reason": order.reason });
        self.audit(actor, "fleet.accepted", format!("shard {name}"), data)
            .await?;
        Ok(format!("shard {name} is {} from now on", seen.server))
    }
}
