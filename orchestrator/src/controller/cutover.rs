//! Answers for the map during a cutover: begin (C2), seal (C7), flip (C9), release.
//!
//! Between seal and flip a store transaction holds the migration's row; it is never flipped by time, only dropped.
//! What the flip changes is written into it as soon as the seal is granted, while the agent closes the shard: the flip
//! itself is a commit.
//! A flip whose transaction is gone is looked up under the row's lock, so that the answer is final.

mod attempts;
mod evidence;

pub(super) use attempts::CutoverAttempts;
pub(super) use evidence::check_verified;

use super::draft::MigrationDraft;
use super::shards::invalid;
use super::{CallerBinding, CallerToken, ControlError, Controller, clock, delta, fail_points};
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
    /// Answers a cutover.
    ///
    /// # Errors
    /// [`ControlError::StaleEpoch`], [`ControlError::NotOwner`]; after a store error the outcome is unknown, and asking
    /// again tells.
    pub(crate) async fn cutover(
        &self,
        call: &CutoverCall,
        token: &CallerToken,
    ) -> Result<CutoverAnswer, ControlError> {
        let shown = CallerBinding {
            migration: &call.migration,
            epoch: Some(call.epoch),
            secret: call.secret.as_ref(),
            token,
        };
        let answer = match &call.query {
            CutoverQuery::Begin { direction } => self.begin(shown, *direction).await?,
            CutoverQuery::Seal {
                direction,
                attempt,
                compared,
            } => {
                self.seal(shown, (*direction, *attempt), compared.as_deref())
                    .await?
            }
            CutoverQuery::Flip {
                direction,
                attempt,
                applied,
            } => self.flip(shown, (*direction, *attempt), *applied).await?,
            CutoverQuery::Cancel { writers } => self.request_cancel(shown, writers).await?,
            CutoverQuery::Release {
                direction,
                attempt,
                reason,
            } => self.release(shown, (*direction, *attempt), reason).await?,
        };
        tracing::info!(migration = %call.migration, ask = ?call.query, ?answer, "cutover");
        Ok(answer)
    }

    /// True while the row is held between seal and flip.
    pub(super) fn is_sealed(&self, id: &MigrationId) -> bool {
        self.inner.attempts.with(|table| {
            let entry = table.get(id);
            entry.is_some_and(|(_, attempt)| matches!(attempt, CutoverAttempt::Sealed(..)))
        })
    }

    /// Gives up what this process knows of a migration's attempt.
    pub(super) async fn forget_attempts(&self, id: &MigrationId) {
        let known = self.inner.attempts.with(|table| table.remove(id));
        if let Some((_, CutoverAttempt::Sealed(seal, _))) = known {
            tracing::warn!(migration = %id, "sealed attempt was dropped");
            seal.release().await;
        }
    }

    /// Gives up what this process knows of any attempt, and with it the seals.
    pub(super) async fn forget_every_attempt(&self) {
        let known = self.inner.attempts.with(std::mem::take);
        for (_, attempt) in known.into_values() {
            if let CutoverAttempt::Sealed(seal, _) = attempt {
                seal.release().await;
            }
        }
    }

    /// Gives up seals that are older than the limit.
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

    async fn begin(
        &self,
        shown: CallerBinding<'_>,
        direction: Direction,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = shown.migration;
        let m = self.load(id).await?.migration;
        shown.check(&m)?;
        if let Some(reason) = self.store_is_older() {
            return Ok(CutoverAnswer::Refused { reason });
        }
        let _turn = self.inner.attempts.turn().await;
        if let Some(other) = self.rival_cutover(&m).await? {
            return Ok(refused(&format!(
                "the cutover of migration {other} is under way, and changes the map first"
            )));
        }
        let name = m.plan.map;
        let map = self.inner.store.map(&name).await?;
        let map = map.ok_or_else(|| ControlError::missing("map", name.as_str()))?;
        self.forget_attempts(id).await;
        let edit = |draft: &mut MigrationDraft| {
            draft.by(shown.token);
            shown.check(&draft.snapshot().migration)?;
            if let Some(refusal) = cannot_begin(draft, direction) {
                return Ok(Err(refusal));
            }
            let event = match direction {
                Direction::Forward => OwnershipEvent::Fence,
                Direction::Reverse => OwnershipEvent::FenceBack,
            };
            let attempt = draft.snapshot().migration.attempt.next();
            draft.own(
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
        self.warm_up_flip(shown, direction).await;
        Ok(CutoverAnswer::Begun {
            attempt,
            map_version: map.version,
            markers,
        })
    }

    /// Holds the row and writes the flip once, and takes it back: writes are not refused yet, and the store's session
    /// knows then what it will be asked. What keeps it from that is met, and said, by the seal.
    async fn warm_up_flip(&self, shown: CallerBinding<'_>, direction: Direction) {
        let id = shown.migration;
        let warmed_up = async {
            let mut sealed = self.inner.store.seal(id).await?;
            let (change, next) = flip_of(&*sealed, direction, shown.token)?;
            let written = sealed.write(&change, &next).await;
            sealed.release().await;
            Ok::<(), ControlError>(written?)
        };
        if let Err(error) = warmed_up.await {
            tracing::debug!(migration = %id, %error, "the flip was not rehearsed");
        }
    }

    /// Another migration of the map whose write stop is under way: one of the two would be in vain, because each
    /// flips from the version at which it began.
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

    async fn seal(
        &self,
        shown: CallerBinding<'_>,
        (direction, attempt): (Direction, AttemptNo),
        compared: Option<&[TableVerified]>,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = shown.migration;
        let known = self.inner.attempts.with(|table| match table.get(id) {
            Some((number, CutoverAttempt::Begun(version, markers))) if *number == attempt => {
                Ok((*version, *markers))
            }
            Some((number, CutoverAttempt::Sealed(seal, _))) if *number == attempt => {
                let may = shown.check_holder(seal.epoch, seal.owner.as_ref());
                Err(may.map(|()| CutoverAnswer::Granted))
            }
            _ => Err(Ok(refused("this controller does not know the attempt"))),
        });
        let (version, markers) = match known {
            Ok(known) => known,
            Err(answer) => return answer,
        };
        let sealed = self.inner.store.seal(id).await?;
        let m = &sealed.snapshot().migration;
        let proved = shown
            .check(m)
            .and_then(|()| evidence::check_comparison(sealed.snapshot(), direction, compared));
        if let Err(error) = proved {
            sealed.release().await;
            return Err(error);
        }
        let objection = may_seal(m, direction, attempt).or_else(|| {
            let same = sealed.map().version == version;
            let older = self.store_is_older();
            older.or_else(|| {
                (!same).then(|| {
                    format!(
                        "the map went from version {version} to {}",
                        sealed.map().version
                    )
                })
            })
        });
        if let Some(reason) = objection {
            let answer = flipped(m, direction).unwrap_or(CutoverAnswer::Refused { reason });
            sealed.release().await;
            return Ok(answer);
        }
        let (change, next) = match flip_of(&*sealed, direction, shown.token) {
            Ok(flip) => flip,
            Err(error) => {
                sealed.release().await;
                return Ok(refused(&error.to_string()));
            }
        };
        let held =
            CutoverAttempt::Sealed(PreparedSeal::new(sealed, change, next, markers), clock());
        let older = self
            .inner
            .attempts
            .with(|table| table.insert(id.clone(), (attempt, held)));
        drop(older);
        Ok(CutoverAnswer::Granted)
    }

    async fn flip(
        &self,
        shown: CallerBinding<'_>,
        (direction, attempt): (Direction, AttemptNo),
        applied: Option<Markers>,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = shown.migration;
        let may = |seal: &PreparedSeal| {
            shown.check_holder(seal.epoch, seal.owner.as_ref())?;
            evidence::check_markers(id, seal.markers, applied)
        };
        let Some(seal) = self.inner.attempts.take_sealed(id, attempt, may)? else {
            return self.recorded_flip(shown, direction).await;
        };
        let map_version = seal.version;
        let Some(sealed) = seal.written().await? else {
            return self.recorded_flip(shown, direction).await;
        };
        fail_point::hit(fail_points::BEFORE_FLIP).await?;
        sealed.commit().await?;
        self.announce();
        fail_point::hit(fail_points::AFTER_FLIP).await?;
        Ok(CutoverAnswer::Flipped { map_version })
    }

    /// Under the row's lock: whatever flip was under way is committed or will never be.
    async fn recorded_flip(
        &self,
        shown: CallerBinding<'_>,
        direction: Direction,
    ) -> Result<CutoverAnswer, ControlError> {
        let sealed = self.inner.store.seal(shown.migration).await?;
        let m = &sealed.snapshot().migration;
        let not_sealed = || refused("the attempt is not sealed any more");
        let answer = shown.check(m).map(|()| flipped(m, direction));
        sealed.release().await;
        Ok(answer?.unwrap_or_else(not_sealed))
    }

    /// The losing shard is opened after [`CutoverAnswer::Released`], so that this is only said while the map names it.
    async fn release(
        &self,
        shown: CallerBinding<'_>,
        (direction, attempt): (Direction, AttemptNo),
        reason: &str,
    ) -> Result<CutoverAnswer, ControlError> {
        let id = shown.migration;
        let may = |seal: &PreparedSeal| shown.check_holder(seal.epoch, seal.owner.as_ref());
        if let Some(seal) = self.inner.attempts.take_sealed(id, attempt, may)? {
            seal.release().await;
        }
        let edit = |draft: &mut MigrationDraft| {
            draft.by(shown.token);
            shown.check(&draft.snapshot().migration)?;
            let m = &draft.snapshot().migration;
            if let Some(flipped) = flipped(m, direction) {
                return Ok(flipped);
            }
            if !old_owner_owns(m.ownership, direction) {
                return Ok(refused(&format!("the keys are {}", m.ownership)));
            }
            let event = match direction {
                Direction::Forward => OwnershipEvent::Release,
                Direction::Reverse => OwnershipEvent::ReleaseBack,
            };
            if m.attempt == attempt && m.ownership == fencing(direction) {
                draft.own(event, json!({ "attempt": attempt, "reason": reason }))?;
            }
            Ok(CutoverAnswer::Released)
        };
        let (answer, _) = self.change(id, "controller", edit).await?;
        Ok(answer)
    }
}

/// What a flip in this direction changes: the migration, and the map.
fn flip_of(
    sealed: &dyn SealedMigration,
    direction: Direction,
    token: &CallerToken,
) -> Result<(MigrationChange, ShardMap), ControlError> {
    let mut draft = MigrationDraft::new(sealed.snapshot().clone(), "controller", clock());
    draft.by(token);
    let m = &sealed.snapshot().migration;
    let moving = &m.plan.moving;
    let (from, to) = match direction {
        Direction::Forward => (&moving.source, &moving.target),
        Direction::Reverse => (&moving.target, &moving.source),
    };
    let next = sealed.map().with_moved(&moving.keys, from, to, &m.id);
    let next = next.map_err(|error| invalid(&error.to_string()))?;
    draft_flip(&mut draft, direction, next.version)?;
    let change = draft.change().ok_or_else(|| invalid("nothing to flip"))?;
    Ok((change, next))
}

/// The flip, as far as the migration's own row says it.
pub(super) fn draft_flip(
    draft: &mut MigrationDraft,
    direction: Direction,
    version: MapVersion,
) -> Result<(), ControlError> {
    let attempt = draft.snapshot().migration.attempt;
    let data = json!({ "attempt": attempt, "map_version": version });
    match direction {
        Direction::Forward => {
            draft.own(OwnershipEvent::Flip, data.clone())?;
            draft.migrate(MigrationEvent::Flipped, data)?;
            draft.migration().map_version_after = Some(version);
        }
        Direction::Reverse => {
            draft.own(OwnershipEvent::FlipBack, data.clone())?;
            draft.migrate(MigrationEvent::RolledBack, data)?;
            let m = draft.migration();
            m.map_version_back = Some(version);
            m.hold_end = None;
            // Nothing kept them the same on the target since the flip.
            m.plan.moving.tables.retain(|table| !table.is_reference());
        }
    }
    Ok(())
}

/// Why an attempt cannot begin.
fn cannot_begin(draft: &MigrationDraft, direction: Direction) -> Option<CutoverAnswer> {
    let snapshot = draft.snapshot();
    let m = &snapshot.migration;
    let (kind, state) = match direction {
        Direction::Forward => (StepKind::Cutover, MigrationState::Running),
        Direction::Reverse => (StepKind::Rollback, MigrationState::Flipped),
    };
    if let Some(map_version) = made(m, direction) {
        return Some(CutoverAnswer::AlreadyFlipped {
            attempt: m.attempt,
            map_version,
        });
    }
    if snapshot.running().is_none_or(|step| step.kind != kind) {
        return Some(refused(&format!("step {kind} is not running")));
    }
    (m.state != state).then(|| refused(&format!("the migration is {}", m.state)))
}

/// Why sealing is not allowed.
fn may_seal(m: &Migration, direction: Direction, attempt: AttemptNo) -> Option<String> {
    let state = match direction {
        Direction::Forward => MigrationState::Running,
        Direction::Reverse => MigrationState::Flipped,
    };
    if m.ownership != fencing(direction) {
        return Some(format!("the keys are {}", m.ownership));
    }
    if m.attempt != attempt {
        return Some(format!("attempt {} has begun", m.attempt));
    }
    (m.state != state).then(|| format!("the migration is {}", m.state))
}

/// The ownership while an attempt is under way.
fn fencing(direction: Direction) -> Ownership {
    match direction {
        Direction::Forward => Ownership::Fencing,
        Direction::Reverse => Ownership::RollbackFencing,
    }
}

/// The version by which the shard that gains the keys in `direction` owns them; `None` while it does not.
///
/// The direction decides, not what was ordered since nor how far the steps are: a flip forward stays one when a roll
/// back is ordered before its shard was opened, and a released attempt to go back is not the flip before it.
fn made(m: &Migration, direction: Direction) -> Option<MapVersion> {
    match direction {
        Direction::Forward => m.map_version_after,
        Direction::Reverse => m.map_version_back,
    }
    .filter(|_| !old_owner_owns(m.ownership, direction))
}

/// True while the map names the shard that would lose the keys in `direction`.
fn old_owner_owns(ownership: Ownership, direction: Direction) -> bool {
    let source = match ownership {
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::RolledBack => true,
        Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed => false,
    };
    source == (direction == Direction::Forward)
}

/// The answer when the map was changed in this direction.
fn flipped(m: &Migration, direction: Direction) -> Option<CutoverAnswer> {
    made(m, direction).map(|map_version| CutoverAnswer::Flipped { map_version })
}

fn refused(reason: &str) -> CutoverAnswer {
    CutoverAnswer::Refused {
        reason: reason.to_owned(),
    }
}
