//! Adds to the control store the flips that the shards have recorded, if the store was restored from an old backup.
//!
//! Every shard must have been probed. The controller first raises epochs and attempts of the store above those on the
//! shards. Then, map by map, each lost flip becomes a map version again, and the migration that made it gets the state
//! that fits its shards. If the store does not contain the migration, `cleanup` later removes its objects; it then
//! knows the owner of the keys.

use super::super::cutover::draft_flip;
use super::super::draft::MigrationDraft;
use super::super::settle;
use super::super::ways;
use super::super::{ControlError, Controller, clock};
use super::ReconcileRequest;
use crate::store::{ShardRecord, Snapshot, Step};
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::inspection::inventory::{Inventory, ObservedMove};
use plans::inspection::reconcile::{FlipProof, StoreKnowledge, forward, with_owner};
use plans::names::Direction;
use plans::request::Seed;
use plans::shard_map::ShardMap;
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Controller {
    /// Adds the lost flips to the store, and returns a description of what was done, one line for each change.
    pub(super) async fn add_lost_flips(
        &self,
        shards: &[ShardRecord],
        request: &ReconcileRequest,
        actor: &str,
    ) -> Result<Vec<String>, ControlError> {
        // A standby has records of its primary only.
        let inventories = shards
            .iter()
            .filter(|shard| !shard.is_standby())
            .map(|shard| self.inner.fleet.inventory_of_last_probe(&shard.name));
        let inventories: Vec<Arc<Inventory>> = inventories.collect::<Result<_, _>>()?;
        self.refuse_promoted_standbys(shards)?;
        let before = self.store_knowledge().await?;
        let own = before.from_own_databases(&inventories);
        if let Some(other) = inventories
            .iter()
            .find(|inventory| !own.contains(&inventory.as_ref()))
        {
            // Records in another database do not prove a flip.
            let shard = other.shard.clone();
            return Err(ControlError::ProbeFailed { shard });
        }
        let mut done = self.raise_epochs(&inventories, actor).await?;
        let known = self.store_knowledge().await?;
        let lost = known.lost_flips(&inventories);
        for map in &known.maps {
            let own: Vec<FlipProof> = lost.iter().filter(|p| p.map == map.name).cloned().collect();
            let highest = StoreKnowledge::highest_version(&map.name, &inventories);
            done.extend(
                self.add_lost_flips_of_map(map, &own, highest, actor)
                    .await?,
            );
        }
        if !done.is_empty() {
            let data = json!({ "done": done, "reason": request.reason });
            self.audit(actor, "fleet.reconciled", "store".to_owned(), data)
                .await?;
        }
        Ok(done)
    }

    /// Refuses to read lost flips from the shards while one of them is registered as a standby and is none: it may have
    /// recorded a flip.
    fn refuse_promoted_standbys(&self, shards: &[ShardRecord]) -> Result<(), ControlError> {
        for shard in shards.iter().filter(|shard| shard.is_standby()) {
            let inventory = self.inner.fleet.inventory_of_last_probe(&shard.name)?;
            if !inventory.server.standby {
                let name = &shard.name;
                return Err(super::super::shards::invalid_error(&format!(
                    "shard {name} is registered as a standby and was promoted, so it may have recorded a flip: first run `shardwright shard set {name} --replaced --reason TEXT`"
                )));
            }
        }
        Ok(())
    }

    /// Raises epochs and attempts in the store above those on the shards, so that none is used twice.
    async fn raise_epochs(
        &self,
        inventories: &[Arc<Inventory>],
        actor: &str,
    ) -> Result<Vec<String>, ControlError> {
        let mut highest: BTreeMap<&MigrationId, (i64, i64)> = BTreeMap::new();
        for row in inventories.iter().flat_map(|inventory| &inventory.moves) {
            let max = highest.entry(&row.migration).or_default();
            *max = (
                max.0.max(row.epoch),
                max.1.max(ObservedMove::newest_attempt(row)),
            );
        }
        let mut done = Vec::new();
        for snapshot in self.inner.store.unfinished().await?.iter() {
            let id = &snapshot.migration.id;
            let Some((epoch, attempt)) = highest.get(id).copied() else {
                continue;
            };
            if epoch <= snapshot.migration.epoch.0 && attempt <= snapshot.migration.attempt.0 {
                continue;
            }
            let edit = |draft: &mut MigrationDraft| {
                draft.remove_owner("the control store was older than the shards")?;
                raise_numbers(draft, epoch, attempt);
                draft.record(
                    "migration.reconciled",
                    None,
                    json!({ "epoch": epoch, "attempt": attempt }),
                );
                Ok(())
            };
            self.change(id, actor, edit).await?;
            done.push(format!(
                "migration {id}: the next epoch is above {epoch}, the next attempt above {attempt}"
            ));
        }
        Ok(done)
    }

    /// Adds the lost flips of one map as new versions. Returns a description of each version.
    async fn add_lost_flips_of_map(
        &self,
        map: &ShardMap,
        lost: &[FlipProof],
        highest: i64,
        actor: &str,
    ) -> Result<Vec<String>, ControlError> {
        let mut done = Vec::new();
        let versions = forward(map, lost, highest)
            .map_err(|error| super::super::shards::invalid_error(&error.to_string()))?;
        for version in versions {
            let number = version.map.version;
            let known = match &version.proof {
                Some(proof) => self.inner.store.load(&proof.migration).await?,
                None => None,
            };
            let known = known.filter(|snapshot| snapshot.migration.finished_at.is_none());
            match (&version.proof, known) {
                (Some(proof), Some(_)) => {
                    self.write_lost_flip(proof, number, actor).await?;
                    done.push(format!(
                        "map {} version {number}: shard {} owns {}; migration {} continues after this flip",
                        map.name, proof.owner, proof.keys, proof.migration
                    ));
                }
                (Some(proof), None) => {
                    let map = &version.map;
                    self.inner.store.put_proven_version(map, actor).await?;
                    done.push(format!(
                        "map {} version {number}: shard {} owns {}; `cleanup` removes what migration {} left",
                        map.name, proof.owner, proof.keys, proof.migration
                    ));
                }
                (None, _) => {
                    self.inner.store.put_version(&version.map, actor).await?;
                    done.push(format!(
                        "map {} version {number}: no change of owners",
                        map.name
                    ));
                }
            }
        }
        Ok(done)
    }

    /// Writes a lost flip into the store, in the same kind of transaction as every flip: it locks the row of the
    /// migration.
    async fn write_lost_flip(
        &self,
        proof: &FlipProof,
        version: MapVersion,
        actor: &str,
    ) -> Result<(), ControlError> {
        self.forget_attempts(&proof.migration).await;
        let mut sealed = self.inner.store.seal(&proof.migration).await?;
        let next = with_owner(sealed.map(), &proof.keys, &proof.owner);
        let next = next.map_err(|error| super::super::shards::invalid_error(&error.to_string()))?;
        if next.version != version {
            sealed.release().await;
            return Err(ControlError::Contended {
                migration: proof.migration.clone(),
            });
        }
        let mut draft = MigrationDraft::new(sealed.snapshot().clone(), actor, clock());
        draft.remove_owner("the control store had lost its flip")?;
        raise_numbers(&mut draft, proof.epoch, proof.attempt);
        apply_lost_flip(&mut draft, proof, version)?;
        let Some(change) = draft.into_change() else {
            return Ok(());
        };
        let next = ShardMap {
            migration: Some(proof.migration.clone()),
            ..next
        };
        sealed.write(&change, &next).await?;
        Ok(sealed.commit().await?)
    }
}

/// Raises epoch and attempt of the draft to at least these values.
fn raise_numbers(draft: &mut MigrationDraft, epoch: i64, attempt: i64) {
    let m = draft.migration();
    m.epoch = m.epoch.max(Epoch(epoch));
    m.attempt = m.attempt.max(AttemptNo(attempt));
    m.needs_new_epoch = true;
}

/// Gives the draft the ownership, state and steps of a migration whose flip was lost.
fn apply_lost_flip(
    draft: &mut MigrationDraft,
    proof: &FlipProof,
    version: MapVersion,
) -> Result<(), ControlError> {
    let data = json!({ "version": version, "lost": true });
    make_flippable(draft)?;
    let m = &draft.snapshot().migration;
    let is_rollback = proof.owner == m.plan.moving.source;
    if m.ownership == Ownership::RolledBack && m.map_version_back < Some(version) {
        // The store has also lost that another cutover was started after the rollback.
        ways::go_again(draft)?;
    }
    if matches!(
        draft.snapshot().migration.ownership,
        Ownership::Ready | Ownership::Fencing
    ) {
        let forward_version = MapVersion(version.0 - i64::from(is_rollback));
        draft.apply_to_ownership(OwnershipEvent::Fence, data.clone())?;
        draft_flip(draft, Direction::Forward, forward_version)?;
        draft.migration().map_version_before = MapVersion(forward_version.0 - 1);
        skip_to_cutover(draft)?;
    }
    // Without the results of the first steps the migration cannot continue: `cleanup` removes its objects.
    if proof.completed || !can_continue(draft.snapshot()) {
        draft.apply_to_ownership(OwnershipEvent::Complete, data)?;
        return settle::end_migration(draft);
    }
    if is_rollback && draft.snapshot().migration.ownership != Ownership::RolledBack {
        draft.apply_to_ownership(OwnershipEvent::FenceBack, data)?;
        draft_flip(draft, Direction::Reverse, version)?;
        mark_hold_done(draft)?;
        return ways::go_back(draft);
    }
    Ok(())
}

/// Changes the draft to a state in which a flip is possible.
fn make_flippable(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    let data = json!({ "lost": true });
    let m = &draft.snapshot().migration;
    let event = match (m.state, m.ownership) {
        (MigrationState::Planned, _) => Some(MigrationEvent::Started),
        (MigrationState::Waiting, _) => Some(MigrationEvent::Approved),
        (
            MigrationState::Paused | MigrationState::Failed,
            Ownership::Flipped | Ownership::RollbackFencing,
        ) => Some(MigrationEvent::ResumedFlipped),
        (MigrationState::Paused | MigrationState::Failed, Ownership::RolledBack) => {
            Some(MigrationEvent::ResumedRolledBack)
        }
        (MigrationState::Paused | MigrationState::Failed, _) => Some(MigrationEvent::Resumed),
        (
            MigrationState::Running
            | MigrationState::Unwinding
            | MigrationState::Unwound
            | MigrationState::Flipped
            | MigrationState::Completed
            | MigrationState::RolledBack,
            _,
        ) => None,
    };
    if let Some(event) = event {
        draft.apply_to_migration(event, data)?;
    }
    let now = draft.now;
    let m = draft.migration();
    m.failure = None;
    // The store may have lost the start of the migration too.
    m.started_at.get_or_insert(now);
    Ok(())
}

/// Skips the steps before the cutover that are not done. The cutover step itself is performed again, as after a flip
/// whose answer did not reach the agent.
fn skip_to_cutover(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    let steps = draft.snapshot().steps.iter();
    let before_cutover = steps.take_while(|step| step.kind != StepKind::Cutover);
    let open: Vec<StepKind> = before_cutover
        .filter(|step| step.state != StepState::Done)
        .map(|step| step.kind)
        .collect();
    for kind in open {
        draft.skip_step(kind)?;
    }
    draft.reopen_step(StepKind::Cutover)?;
    let step = draft.snapshot().step_of(StepKind::Cutover).cloned();
    let is_resting = |step: &Step| matches!(step.state, StepState::Failed | StepState::Backoff);
    if let Some(step) = step.filter(is_resting) {
        draft.apply_to_step(&step.id, StepEvent::Retried, json!({}))?;
    }
    // The keys have already moved, so no approval is needed.
    draft.migration().approved = true;
    Ok(())
}

/// After a lost rollback, marks the cutover and the hold as done. If the agent performed them again, the cutover would
/// open the target, and the hold would drop the slot that another cutover needs.
fn mark_hold_done(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    for kind in [StepKind::Cutover, StepKind::Hold] {
        let step = draft.snapshot().step_of(kind).cloned();
        let Some(step) = step.filter(|step| step.state != StepState::Done) else {
            continue;
        };
        draft.reopen_step(kind)?;
        if step.state == StepState::Failed {
            draft.apply_to_step(&step.id, StepEvent::Retried, json!({}))?;
        }
        draft.apply_to_step(&step.id, StepEvent::Dispatched, json!({}))?;
        let done = draft.apply_to_step(&step.id, StepEvent::Completed, json!({}))?;
        done.output = Some(json!({ "lost": true }));
    }
    Ok(())
}

/// Returns whether the migration can continue: the store must contain the results of its first steps.
fn can_continue(snapshot: &Snapshot) -> bool {
    let needed: &[StepKind] = match snapshot.migration.plan.options.seed {
        Seed::Copy => &[StepKind::Preflight, StepKind::CreateTarget],
        Seed::Standby => &[
            StepKind::Preflight,
            StepKind::OpenCapture,
            StepKind::Promote,
        ],
    };
    let has_output = |kind: &StepKind| {
        let step = snapshot.step_of(*kind);
        step.is_some_and(|step| step.output.is_some())
    };
    needed.iter().all(has_output)
}
