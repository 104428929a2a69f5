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
use plans::shard_map::ShardMap;
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::{FORWARD, StepKind};
use serde_json::json;
use std::collections::BTreeMap;

impl Controller {
    /// Adds the lost flips to the store, and returns a description of what was done, one line for each change.
    pub(super) async fn move_forward(
        &self,
        shards: &[ShardRecord],
        request: &ReconcileRequest,
        actor: &str,
    ) -> Result<Vec<String>, ControlError> {
        let inventories = shards
            .iter()
            .map(|shard| self.inner.fleet.fresh(&shard.name));
        let inventories: Vec<Inventory> = inventories.collect::<Result<_, _>>()?;
        let before = self.known().await?;
        let own = before.from_own_databases(&inventories);
        if let Some(other) = inventories
            .iter()
            .find(|inventory| !own.contains(inventory))
        {
            // Records in another database do not prove a flip.
            let shard = other.shard.clone();
            return Err(ControlError::Unseen { shard });
        }
        let mut done = self.raise_epochs(&inventories, actor).await?;
        let known = self.known().await?;
        let lost = known.lost_flips(&inventories);
        for map in &known.maps {
            let own: Vec<FlipProof> = lost.iter().filter(|p| p.map == map.name).cloned().collect();
            let highest = StoreKnowledge::highest_version(&map.name, &inventories);
            done.extend(self.move_map(map, &own, highest, actor).await?);
        }
        if !done.is_empty() {
            let data = json!({ "done": done, "reason": request.reason });
            self.audit(actor, "fleet.reconciled", "store".to_owned(), data)
                .await?;
        }
        Ok(done)
    }

    /// Raises epochs and attempts in the store above those on the shards, so that none is used twice.
    async fn raise_epochs(
        &self,
        inventories: &[Inventory],
        actor: &str,
    ) -> Result<Vec<String>, ControlError> {
        let mut highest: BTreeMap<&MigrationId, (i64, i64)> = BTreeMap::new();
        for row in inventories.iter().flat_map(|inventory| &inventory.moves) {
            let kept = highest.entry(&row.migration).or_default();
            *kept = (
                kept.0.max(row.epoch),
                kept.1.max(ObservedMove::newest_attempt(row)),
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
                draft.disown("the control store was older than the shards")?;
                raise(draft, epoch, attempt);
                draft.note(
                    "migration.reconciled",
                    None,
                    json!({ "epoch": epoch, "attempt": attempt }),
                );
                Ok(())
            };
            self.change(id, actor, edit).await?;
            done.push(format!(
                "migration {id}: epochs go on after {epoch}, attempts after {attempt}"
            ));
        }
        Ok(done)
    }

    /// Adds the lost flips of one map as new versions. Returns a description of each version.
    async fn move_map(
        &self,
        map: &ShardMap,
        lost: &[FlipProof],
        highest: i64,
        actor: &str,
    ) -> Result<Vec<String>, ControlError> {
        let mut done = Vec::new();
        let versions = forward(map, lost, highest)
            .map_err(|error| super::super::shards::invalid(&error.to_string()))?;
        for version in versions {
            let number = version.map.version;
            let known = match &version.proof {
                Some(proof) => self.inner.store.load(&proof.migration).await?,
                None => None,
            };
            let known = known.filter(|snapshot| snapshot.migration.finished_at.is_none());
            match (&version.proof, known) {
                (Some(proof), Some(_)) => {
                    self.adopt(proof, number, actor).await?;
                    done.push(format!(
                        "map {} version {number}: shard {} owns {}; migration {} goes on from there",
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
                    done.push(format!("map {} version {number}: as before", map.name));
                }
            }
        }
        Ok(done)
    }

    /// Writes a lost flip into the store, in the same kind of transaction as every flip: it locks the row of the
    /// migration.
    async fn adopt(
        &self,
        proof: &FlipProof,
        version: MapVersion,
        actor: &str,
    ) -> Result<(), ControlError> {
        self.forget_attempts(&proof.migration).await;
        let mut sealed = self.inner.store.seal(&proof.migration).await?;
        let next = with_owner(sealed.map(), &proof.keys, &proof.owner);
        let next = next.map_err(|error| super::super::shards::invalid(&error.to_string()))?;
        if next.version != version {
            sealed.release().await;
            return Err(ControlError::Contended {
                migration: proof.migration.clone(),
            });
        }
        let mut draft = MigrationDraft::new(sealed.snapshot().clone(), actor, clock());
        draft.disown("the control store had lost its flip")?;
        raise(&mut draft, proof.epoch, proof.attempt);
        own(&mut draft, proof, version)?;
        let Some(change) = draft.change() else {
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
fn raise(draft: &mut MigrationDraft, epoch: i64, attempt: i64) {
    let m = draft.migration();
    m.epoch = m.epoch.max(Epoch(epoch));
    m.attempt = m.attempt.max(AttemptNo(attempt));
    m.renew = true;
}

/// Gives the draft the ownership, state and steps of a migration whose flip was lost.
fn own(
    draft: &mut MigrationDraft,
    proof: &FlipProof,
    version: MapVersion,
) -> Result<(), ControlError> {
    let data = json!({ "version": version, "lost": true });
    wake(draft)?;
    let m = &draft.snapshot().migration;
    let back = proof.owner == m.plan.moving.source;
    if m.ownership == Ownership::RolledBack && m.map_version_back < Some(version) {
        // The store has also lost that another cutover was started after the rollback.
        ways::go_again(draft)?;
    }
    if matches!(
        draft.snapshot().migration.ownership,
        Ownership::Ready | Ownership::Fencing
    ) {
        let made = MapVersion(version.0 - i64::from(back));
        draft.own(OwnershipEvent::Fence, data.clone())?;
        draft_flip(draft, Direction::Forward, made)?;
        draft.migration().map_version_before = MapVersion(made.0 - 1);
        pass_cutover(draft)?;
    }
    // Without the results of the first steps the migration cannot continue: `cleanup` removes its objects.
    if proof.completed || !can_go_on(draft.snapshot()) {
        draft.own(OwnershipEvent::Complete, data)?;
        return settle::end(draft);
    }
    if back && draft.snapshot().migration.ownership != Ownership::RolledBack {
        draft.own(OwnershipEvent::FenceBack, data)?;
        draft_flip(draft, Direction::Reverse, version)?;
        pass_hold(draft)?;
        return ways::go_back(draft);
    }
    Ok(())
}

/// Changes the draft to a state in which a flip is possible.
fn wake(draft: &mut MigrationDraft) -> Result<(), ControlError> {
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
        draft.migrate(event, data)?;
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
fn pass_cutover(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    for kind in FORWARD {
        let step = draft.snapshot().step_of(kind).cloned();
        let Some(step) = step else { continue };
        if kind == StepKind::Cutover {
            break;
        }
        if step.state != StepState::Done {
            draft.leave(kind)?;
        }
    }
    draft.restore(StepKind::Cutover)?;
    let step = draft.snapshot().step_of(StepKind::Cutover).cloned();
    let rests = |step: &Step| matches!(step.state, StepState::Failed | StepState::Backoff);
    if let Some(step) = step.filter(rests) {
        draft.step(&step.id, StepEvent::Retried, json!({}))?;
    }
    // The keys have already moved, so no approval is needed.
    draft.migration().approved = true;
    Ok(())
}

/// After a lost rollback, marks the cutover and the hold before it as done. If the agent performed them again, the
/// cutover would open the target, and the hold would drop the slot that another cutover needs.
fn pass_hold(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    for kind in [StepKind::Cutover, StepKind::Hold] {
        let step = draft.snapshot().step_of(kind).cloned();
        let Some(step) = step.filter(|step| step.state != StepState::Done) else {
            continue;
        };
        draft.restore(kind)?;
        if step.state == StepState::Failed {
            draft.step(&step.id, StepEvent::Retried, json!({}))?;
        }
        draft.step(&step.id, StepEvent::Dispatched, json!({}))?;
        let done = draft.step(&step.id, StepEvent::Completed, json!({}))?;
        done.output = Some(json!({ "lost": true }));
    }
    Ok(())
}

/// Returns whether the migration can continue: the store must contain the results of its first steps.
fn can_go_on(snapshot: &Snapshot) -> bool {
    [StepKind::Preflight, StepKind::CreateTarget]
        .into_iter()
        .all(|kind| {
            snapshot
                .step_of(kind)
                .is_some_and(|step| step.output.is_some())
        })
}
