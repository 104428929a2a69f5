//! What the control store contains, in the form that the reconciler compares with the shards.

use super::super::{ControlError, Controller, clock};
use super::watch::MigrationsAtLastRead;
use crate::store::{CleanupRecord, Migration, Snapshot};
use plans::id::{MigrationId, ShardName};
use plans::inspection::inventory::{Inventory, ObjectOwner, ObservedServer};
use plans::inspection::reconcile::{KnownMove, StoreKnowledge};
use plans::request::Seed;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

/// How many of the migrations that ended before this process started, the newest ones, get their cleanup records
/// checked.
const REMEMBERED: usize = 100;

impl Controller {
    /// Returns the maps, the migrations that have started, and the servers of the shards. Each process reads the
    /// migrations that have ended only once.
    pub(in crate::controller) async fn store_knowledge(
        &self,
    ) -> Result<StoreKnowledge, ControlError> {
        let store = &self.inner.store;
        let unfinished = store.unfinished().await?;
        let open: BTreeSet<MigrationId> = unfinished
            .iter()
            .map(|snapshot| snapshot.migration.id.clone())
            .collect();
        let conversions = store.conversions().await?;
        // A conversion has replaced the guards of the moves before it.
        let is_replaced = |m: &KnownMove| {
            let mut after = conversions.iter().filter(|c| c.map == m.map);
            after.any(|c| {
                c.version
                    .is_some_and(|version| m.recorded_version < version.0)
            })
        };
        let mut ended = self.ended(&open).await?;
        ended.retain(|m| !is_replaced(m));
        let converting = conversions.iter().filter(|c| c.finished_at.is_none());
        let converting = converting.map(|c| c.map.clone()).collect();
        let started = unfinished
            .iter()
            .filter(|s| s.migration.started_at.is_some());
        let shards = store.shards().await?;
        let name = |server: &ObservedServer| {
            let mut shards = shards.iter();
            let shard = shards.find(|shard| shard.number == server.number)?;
            Some((shard.name.clone(), server.clone()))
        };
        let servers: BTreeMap<ShardName, ObservedServer> =
            store.servers().await?.iter().filter_map(name).collect();
        Ok(StoreKnowledge {
            moves: started
                .map(|snapshot| known_move(snapshot))
                .chain(ended)
                .collect(),
            maps: store.maps().await?,
            converting,
            servers,
        })
    }

    /// Marks the cleanup records of ended migrations on this shard as done, once the shard has no object of them.
    pub(super) async fn mark_records(&self, inventory: &Inventory) -> Result<(), ControlError> {
        let unmarked = &self.inner.fleet.unmarked;
        let ids = unmarked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let store = &self.inner.store;
        for id in ids {
            let whose = ObjectOwner::Migration(id.clone());
            let snapshot = store.load(&id).await?;
            let open: Vec<CleanupRecord> = store.cleanup(&id).await?;
            let open: Vec<CleanupRecord> = open
                .into_iter()
                .filter(|record| record.done_at.is_none() && !is_kept(record, snapshot.as_ref()))
                .collect();
            let records: Vec<CleanupRecord> = open
                .iter()
                .filter(|record| record.shard == inventory.shard)
                .cloned()
                .collect();
            let left = inventory.objects.iter().any(|object| object.whose == whose);
            if !records.is_empty() && !left {
                store.finish_cleanup(&id, &records, clock()).await?;
            }
            if open.len() == records.len() && !left {
                unmarked
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&id);
            }
        }
        Ok(())
    }

    /// Returns the migrations that have ended.
    async fn ended(&self, open: &BTreeSet<MigrationId>) -> Result<Vec<KnownMove>, ControlError> {
        let fleet = &self.inner.fleet;
        let last_read = fleet
            .last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (mut ended, before) = match last_read {
            Some(last) => (last.ended, last.unfinished),
            None => {
                let all = self.inner.store.list(i64::MAX, None).await?;
                let ended = all.iter().filter(|m| m.finished_at.is_some());
                let newest = ended.clone().take(REMEMBERED).map(|m| m.id.clone());
                fleet
                    .unmarked
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(newest);
                let ended = ended.map(|m| (m.id.clone(), of_migration(m)));
                (ended.collect(), BTreeSet::new())
            }
        };
        for id in before.difference(open) {
            if let Some(snapshot) = self.inner.store.load(id).await? {
                ended.insert(id.clone(), of_migration(&snapshot.migration));
                fleet
                    .unmarked
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(id.clone());
            }
        }
        let moves = ended.values().cloned().collect();
        let unfinished = open.clone();
        let mut last_read = fleet
            .last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last_read = Some(MigrationsAtLastRead { ended, unfinished });
        Ok(moves)
    }
}

/// Returns whether the object of the record stays on the shard permanently, so that its record is never marked.
fn is_kept(record: &CleanupRecord, snapshot: Option<&Snapshot>) -> bool {
    let created = |snapshot: &Snapshot| snapshot.step_of(StepKind::CreateTarget)?.output.clone();
    snapshot.is_some_and(|snapshot| {
        // A standby has the tables of the source.
        let existed = snapshot.migration.plan.options.seed == Seed::Standby
            || TargetCreated::existed(created(snapshot).as_ref());
        record.is_kept(snapshot.migration.state, existed)
    })
}

fn known_move(snapshot: &Snapshot) -> KnownMove {
    let done = |kind| {
        let step = snapshot.step_of(kind);
        step.is_some_and(|step| step.state == StepState::Done)
    };
    KnownMove {
        opened: done(StepKind::Cutover) && !snapshot.has_open_rollback(),
        // From its first dispatch on, and also after an abort, a promotion can take effect.
        promotes: snapshot
            .step_of(StepKind::Promote)
            .is_some_and(|step| step.started_at.is_some()),
        ..of_migration(&snapshot.migration)
    }
}

fn of_migration(m: &Migration) -> KnownMove {
    let moving = &m.plan.moving;
    KnownMove {
        id: m.id.clone(),
        map: m.plan.map.clone(),
        source: moving.source.clone(),
        target: moving.target.clone(),
        keys: moving.keys.clone(),
        tables: moving.tables.clone(),
        ownership: m.ownership,
        epoch: m.epoch.0,
        finished: m.finished_at.is_some(),
        opened: false,
        promotes: false,
        version: m
            .map_version_back
            .max(m.map_version_after)
            .map(|version| version.0),
        recorded_version: m
            .map_version_back
            .max(m.map_version_after)
            .max(Some(m.map_version_before))
            .map_or(0, |version| version.0),
    }
}
