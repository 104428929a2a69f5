//! The controller's part of a cutover (docs/protocol.md, C1 to C11). The controller begins an attempt (C2), permits the
//! seal (C7), flips (C9), and records that an attempt was given up. The seal closes the old owner without a time limit;
//! the flip is the transaction that makes the new owner the owner in the map.
//!
//! From the seal to the flip a transaction of the control store locks the row of the migration. A time limit can only
//! roll this transaction back; no time limit ever commits it. The controller writes the changes of the flip into the
//! transaction as soon as it has permitted the seal, while the agent seals the shard, so the flip itself is only a
//! commit. If the transaction of a flip has ended, the controller reads the outcome while it locks the row, so that the
//! answer is final.

mod attempts;
mod evidence;

pub(super) use attempts::CutoverAttempts;
pub(super) use evidence::check_verified;

use super::draft::MigrationDraft;
use super::shards::invalid_error;
use super::{CallerTokenName, ControlError, Controller, LeaseProof, clock, delta, fail_points};
use crate::store::{Migration, MigrationChange, SealedMigration};
use attempts::{CutoverAttempt, PreparedSeal};
use plans::id::{AttemptNo, MapVersion, MigrationId};
use plans::names::Direction;
use plans::shard_map::ShardMap;
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::step::StepKind;
use plans::step::verify::TableVerified;
use plans::wire::{CutoverAnswer, CutoverCall, CutoverQuery, Markers};
use serde_json::json;

impl Controller {
    /// Answers a query of an agent during a cutover.
    ///
    /// # Errors
    /// [`ControlError::StaleEpoch`], [`ControlError::NotOwner`]. After an error of the store the outcome is unknown;
    /// the agent must query again.
    pub(crate) async fn cutover(
        &self,
        call: &CutoverCall,
        token: &CallerTokenName,
    ) -> Result<CutoverAnswer, ControlError> {
        let proof = LeaseProof {
            migration: &call.migration,
            epoch: Some(call.epoch),
            secret: call.secret.as_ref(),
            token,
        };
        let answer = match &call.query {
            CutoverQuery::Begin { direction } => self.begin(proof, *direction).await?,
            CutoverQuery::Seal {
                direction,
                attempt,
                compared,
            } => {
                self.seal(proof, (*direction, *attempt), compared.as_deref())
                    .await?
            }
            CutoverQuery::Flip {
                direction,
                attempt,
                applied,
            } => self.flip(proof, (*direction, *attempt), *applied).await?,
            CutoverQuery::Cancel { writers } => self.request_cancel(proof, writers).await?,
            CutoverQuery::Release {
                direction,
                attempt,
                reason,
            } => self.release(proof, (*direction, *attempt), reason).await?,
        };
        tracing::info!(migration = %call.migration, ask = ?call.query, ?answer, "cutover");
        Ok(answer)
    }

    /// Returns whether this process locks the row of the migration between seal and flip.
    pub(super) fn is_sealed(&self, id: &MigrationId) -> bool {
        self.inner.attempts.with(|table| {
            let entry = table.get(id);
            entry.is_some_and(|(_, attempt)| matches!(attempt, CutoverAttempt::Sealed(..)))
        })
    }

    /// Forgets the attempt of a migration. If the attempt is sealed, its transaction is rolled back.
    pub(super) async fn forget_attempts(&self, id: &MigrationId) {
        let known = self.inner.attempts.with(|table| table.remove(id));
        if let Some((_, CutoverAttempt::Sealed(seal, _))) = known {
            tracing::warn!(migration = %id, "sealed attempt was dropped");
            seal.release().await;
        }
    }

    /// Forgets all attempts, and rolls back the transactions of those that are sealed.
    pub(super) async fn forget_every_attempt(&self) {
        let known = self.inner.attempts.with(std::mem::take);
        for (_, attempt) in known.into_values() {
            if let CutoverAttempt::Sealed(seal, _) = attempt {
                seal.release().await;
            }
        }
    }

    /// Forgets sealed attempts that are older than the limit.
    pub(super) async fn drop_old_seals(&self) {
        let limit = clock() - delta(self.inner.settings.seal_limit);
        let old: Vec<MigrationId> = self.inner.attempts.with(|table| {
            let is_old =
                |attempt: &CutoverAttempt| matches!(attempt, CutoverAttempt::Sealed(_, at) if *at < limit);
            let entries = table.iter();
            let old = entries.filter(|(_, (_, attempt))| is_old(attempt));
            old.map(|(id, _)| id.clone()).collect()
        });
        for id in old {
            self.forget_attempts(&id).await;
        }
    }

    /// Begins an attempt (C2): records it in the ownership of the migration, and chooses the ids of its markers.
    /// Refuses it if the cutover step is not running, or if another cutover of the map is in its write-blocked window.
    async fn begin(
        &self,
        proof: LeaseProof<'_>,
        direction: Direction,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = proof.migration;
        let m = self.load(id).await?.migration;
        proof.check(&m)?;
        if let Some(reason) = self.store_is_older() {
            return Ok(CutoverAnswer::Refused { reason });
        }
        let _begin_lock = self.inner.attempts.lock_begin().await;
        if let Some(other) = self.rival_cutover(&m).await? {
            return Ok(refusal(&format!(
                "the cutover of migration {other} is in progress, and must change the map first"
            )));
        }
        let name = m.plan.map;
        let map = self.inner.store.map(&name).await?;
        let map = map.ok_or_else(|| ControlError::missing("map", name.as_str()))?;
        self.forget_attempts(id).await;
        let edit = |draft: &mut MigrationDraft| {
            draft.set_token(proof.token);
            proof.check(&draft.snapshot().migration)?;
            if let Some(refusal) = begin_refusal(draft, direction) {
                return Ok(Err(refusal));
            }
            let event = match direction {
                Direction::Forward => OwnershipEvent::Fence,
                Direction::Reverse => OwnershipEvent::FenceBack,
            };
            let attempt = draft.snapshot().migration.attempt.next();
            draft.apply_to_ownership(
                event,
                json!({ "attempt": attempt, "map_version": map.version }),
            )?;
            let m = draft.migration();
            m.attempt = attempt;
            if direction == Direction::Forward {
                m.map_version_before = map.version;
            }
            Ok(Ok(attempt))
        };
        let (begun, after) = self.change(id, "controller", edit).await?;
        let attempt = match begun {
            Ok(attempt) => attempt,
            Err(refusal) => return Ok(refusal),
        };
        debug_assert_eq!(after.migration.attempt, attempt);
        let markers = evidence::markers_for(&after.migration);
        self.inner.attempts.with(|table| {
            let begun = CutoverAttempt::Begun(map.version, markers);
            table.insert(id.clone(), (attempt, begun));
        });
        fail_point::hit(fail_points::BEGUN).await?;
        self.warm_up_flip(proof, direction).await;
        Ok(CutoverAnswer::Begun {
            attempt,
            map_version: map.version,
            markers,
        })
    }

    /// Writes the flip once into a transaction, and rolls it back. The source still accepts writes at this time.
    /// Afterwards the session of the store has prepared the statements of the flip. An error is only logged: if its
    /// cause remains, the seal fails with the same error and reports it.
    async fn warm_up_flip(&self, proof: LeaseProof<'_>, direction: Direction) {
        let id = proof.migration;
        let warmed_up = async {
            let mut sealed = self.inner.store.seal(id).await?;
            let (change, next) = flip_of(&*sealed, direction, proof.token)?;
            let written = sealed.write(&change, &next).await;
            sealed.release().await;
            Ok::<(), ControlError>(written?)
        };
        if let Err(error) = warmed_up.await {
            tracing::debug!(migration = %id, %error, "the warm-up of the flip failed");
        }
    }

    /// Returns another migration of the map that is in its write-blocked window. Both would flip from the same map
    /// version, so one of the flips would fail.
    async fn rival_cutover(&self, own: &Migration) -> Result<Option<MigrationId>, ControlError> {
        let now = clock();
        let others = self.inner.store.unfinished().await?;
        let mut rivals = others.iter().filter(|other| {
            let m = &other.migration;
            let fences = matches!(m.ownership, Ownership::Fencing | Ownership::RollbackFencing);
            let runs = other.running().is_some() && other.live_owner(now).is_some();
            m.id != own.id && m.plan.map == own.plan.map && fences && runs
        });
        Ok(rivals.next().map(|other| other.migration.id.clone()))
    }

    /// Permits the seal (C7): locks the row of the migration until the flip. Refuses it if the attempt is not the
    /// current one, if the map has another version than at the beginning of the attempt, or if evidence about the
    /// target is missing.
    async fn seal(
        &self,
        proof: LeaseProof<'_>,
        (direction, attempt): (Direction, AttemptNo),
        compared: Option<&[TableVerified]>,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = proof.migration;
        let known = self.inner.attempts.with(|table| match table.get(id) {
            Some((number, CutoverAttempt::Begun(version, markers))) if *number == attempt => {
                Ok((*version, *markers))
            }
            Some((number, CutoverAttempt::Sealed(seal, _))) if *number == attempt => {
                let may = proof.check_epoch_and_holder(seal.epoch, seal.owner.as_ref());
                Err(may.map(|()| CutoverAnswer::Granted))
            }
            _ => Err(Ok(refusal("this controller has no record of the attempt"))),
        });
        let (version, markers) = match known {
            Ok(known) => known,
            Err(answer) => return answer,
        };
        let sealed = self.inner.store.seal(id).await?;
        let m = &sealed.snapshot().migration;
        let proved = proof
            .check(m)
            .and_then(|()| evidence::check_comparison(sealed.snapshot(), direction, compared));
        if let Err(error) = proved {
            sealed.release().await;
            return Err(error);
        }
        let obstacle = seal_obstacle(m, direction, attempt).or_else(|| {
            let is_same_version = sealed.map().version == version;
            let older = self.store_is_older();
            older.or_else(|| {
                (!is_same_version).then(|| {
                    format!(
                        "the map was at version {version} when the attempt began, and is now at version {}",
                        sealed.map().version
                    )
                })
            })
        });
        if let Some(reason) = obstacle {
            let answer = flipped_answer(m, direction).unwrap_or(CutoverAnswer::Refused { reason });
            sealed.release().await;
            return Ok(answer);
        }
        let (change, next) = match flip_of(&*sealed, direction, proof.token) {
            Ok(flip) => flip,
            Err(error) => {
                sealed.release().await;
                return Ok(refusal(&error.to_string()));
            }
        };
        let sealed_attempt =
            CutoverAttempt::Sealed(PreparedSeal::new(sealed, change, next, markers), clock());
        let older = self
            .inner
            .attempts
            .with(|table| table.insert(id.clone(), (attempt, sealed_attempt)));
        drop(older);
        Ok(CutoverAnswer::Granted)
    }

    /// Flips (C9): commits the transaction that holds the lock since the seal. If this process no longer has it,
    /// returns the outcome that the store has recorded.
    async fn flip(
        &self,
        proof: LeaseProof<'_>,
        (direction, attempt): (Direction, AttemptNo),
        applied: Option<Markers>,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = proof.migration;
        let may = |seal: &PreparedSeal| {
            proof.check_epoch_and_holder(seal.epoch, seal.owner.as_ref())?;
            evidence::check_markers(id, seal.markers, applied)
        };
        let Some(seal) = self.inner.attempts.take_sealed(id, attempt, may)? else {
            return self.recorded_flip(proof, direction).await;
        };
        let map_version = seal.version;
        let Some(sealed) = seal.finish_write().await? else {
            return self.recorded_flip(proof, direction).await;
        };
        fail_point::hit(fail_points::BEFORE_FLIP).await?;
        sealed.commit().await?;
        self.announce();
        fail_point::hit(fail_points::AFTER_FLIP).await?;
        Ok(CutoverAnswer::Flipped { map_version })
    }

    /// Returns the outcome of a flip. The function locks the row, so the transaction of the flip has ended: it is
    /// committed, or never will be.
    async fn recorded_flip(
        &self,
        proof: LeaseProof<'_>,
        direction: Direction,
    ) -> Result<CutoverAnswer, ControlError> {
        let sealed = self.inner.store.seal(proof.migration).await?;
        let m = &sealed.snapshot().migration;
        let not_sealed = || refusal("the seal of the attempt has ended without a flip");
        let answer = proof.check(m).map(|()| flipped_answer(m, direction));
        sealed.release().await;
        Ok(answer?.unwrap_or_else(not_sealed))
    }

    /// Records that an attempt was given up. The agent opens the old owner after [`CutoverAnswer::Released`], so this
    /// answer requires that the map still names the old owner.
    async fn release(
        &self,
        proof: LeaseProof<'_>,
        (direction, attempt): (Direction, AttemptNo),
        reason: &str,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = proof.migration;
        let may =
            |seal: &PreparedSeal| proof.check_epoch_and_holder(seal.epoch, seal.owner.as_ref());
        if let Some(seal) = self.inner.attempts.take_sealed(id, attempt, may)? {
            seal.release().await;
        }
        let edit = |draft: &mut MigrationDraft| {
            draft.set_token(proof.token);
            proof.check(&draft.snapshot().migration)?;
            let m = &draft.snapshot().migration;
            if let Some(flipped) = flipped_answer(m, direction) {
                return Ok(flipped);
            }
            if !old_owner_owns(m.ownership, direction) {
                return Ok(refusal(&format!("the keys are {}", m.ownership)));
            }
            let event = match direction {
                Direction::Forward => OwnershipEvent::Release,
                Direction::Reverse => OwnershipEvent::ReleaseBack,
            };
            if m.attempt == attempt && m.ownership == fencing_state(direction) {
                draft.apply_to_ownership(event, json!({ "attempt": attempt, "reason": reason }))?;
            }
            Ok(CutoverAnswer::Released)
        };
        let (answer, _) = self.change(id, "controller", edit).await?;
        Ok(answer)
    }
}

/// Returns what a flip in this direction changes: the migration and the map.
fn flip_of(
    sealed: &dyn SealedMigration,
    direction: Direction,
    token: &CallerTokenName,
) -> Result<(MigrationChange, ShardMap), ControlError> {
    let mut draft = MigrationDraft::new(sealed.snapshot().clone(), "controller", clock());
    draft.set_token(token);
    let m = &sealed.snapshot().migration;
    let moving = &m.plan.moving;
    let (from, to) = match direction {
        Direction::Forward => (&moving.source, &moving.target),
        Direction::Reverse => (&moving.target, &moving.source),
    };
    let next = sealed.map().with_moved(&moving.keys, from, to, &m.id);
    let next = next.map_err(|error| invalid_error(&error.to_string()))?;
    draft_flip(&mut draft, direction, next.version)?;
    let change = draft
        .into_change()
        .ok_or_else(|| invalid_error("nothing to flip"))?;
    Ok((change, next))
}

/// Drafts the changes of a flip to the migration.
pub(super) fn draft_flip(
    draft: &mut MigrationDraft,
    direction: Direction,
    version: MapVersion,
) -> Result<(), ControlError> {
    let attempt = draft.snapshot().migration.attempt;
    let data = json!({ "attempt": attempt, "map_version": version });
    match direction {
        Direction::Forward => {
            draft.apply_to_ownership(OwnershipEvent::Flip, data.clone())?;
            draft.apply_to_migration(MigrationEvent::Flipped, data)?;
            draft.migration().map_version_after = Some(version);
        }
        Direction::Reverse => {
            draft.apply_to_ownership(OwnershipEvent::FlipBack, data.clone())?;
            draft.apply_to_migration(MigrationEvent::RolledBack, data)?;
            let m = draft.migration();
            m.map_version_back = Some(version);
            m.hold_end = None;
            // No stream has kept the reference tables on the target current since the flip.
            m.plan.moving.tables.retain(|table| !table.is_reference());
        }
    }
    Ok(())
}

/// Returns why an attempt cannot begin.
fn begin_refusal(draft: &MigrationDraft, direction: Direction) -> Option<CutoverAnswer> {
    let snapshot = draft.snapshot();
    let m = &snapshot.migration;
    let (kind, state) = match direction {
        Direction::Forward => (StepKind::Cutover, MigrationState::Running),
        Direction::Reverse => (StepKind::Rollback, MigrationState::Flipped),
    };
    if let Some(map_version) = flip_version(m, direction) {
        return Some(CutoverAnswer::AlreadyFlipped {
            attempt: m.attempt,
            map_version,
        });
    }
    if snapshot.running().is_none_or(|step| step.kind != kind) {
        return Some(refusal(&format!("step {kind} is not running")));
    }
    (m.state != state).then(|| refusal(&format!("the migration is {}", m.state)))
}

/// Returns why the seal is not permitted.
fn seal_obstacle(m: &Migration, direction: Direction, attempt: AttemptNo) -> Option<String> {
    let state = match direction {
        Direction::Forward => MigrationState::Running,
        Direction::Reverse => MigrationState::Flipped,
    };
    if m.ownership != fencing_state(direction) {
        return Some(format!("the keys are {}", m.ownership));
    }
    if m.attempt != attempt {
        return Some(format!("another attempt, {}, has begun", m.attempt));
    }
    (m.state != state).then(|| format!("the migration is {}", m.state))
}

/// Returns the state of the ownership during an attempt.
fn fencing_state(direction: Direction) -> Ownership {
    match direction {
        Direction::Forward => Ownership::Fencing,
        Direction::Reverse => Ownership::RollbackFencing,
    }
}

/// Returns the map version in which the shard that is the new owner in `direction` became the owner; `None` if it is
/// not the owner.
///
/// Only the direction decides, not a later request or the progress of the steps. If a rollback is requested before the
/// target is open, the forward flip is still reported. An attempt of a rollback that was given up is not confused with
/// the forward flip before it.
fn flip_version(m: &Migration, direction: Direction) -> Option<MapVersion> {
    match direction {
        Direction::Forward => m.map_version_after,
        Direction::Reverse => m.map_version_back,
    }
    .filter(|_| !old_owner_owns(m.ownership, direction))
}

/// Returns whether the map names the shard that is the old owner in `direction`.
fn old_owner_owns(ownership: Ownership, direction: Direction) -> bool {
    let source = match ownership {
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::RolledBack => true,
        Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed => false,
    };
    source == (direction == Direction::Forward)
}

/// Returns the answer for a flip in this direction that is already in the map.
fn flipped_answer(m: &Migration, direction: Direction) -> Option<CutoverAnswer> {
    flip_version(m, direction).map(|map_version| CutoverAnswer::Flipped { map_version })
}

fn refusal(reason: &str) -> CutoverAnswer {
    CutoverAnswer::Refused {
        reason: reason.to_owned(),
    }
}
