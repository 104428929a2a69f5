//! After a take-over, or before an abort: finds out how an interrupted attempt ended, and reopens the old owner if the
//! map has not flipped.

use plans::id::{AttemptNo, MapVersion};
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::{CutoverAnswer, CutoverQuery};

use super::{
    CutoverParties, call_until_answered, finish_after_flip, refusal_error, reopen_old_owner,
};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::epoch;
use crate::shard::register::{self, Register};

/// After a take-over: opens the keys that an interrupted attempt left closed. If the attempt has flipped the map,
/// completes the cutover. This precedes all other work of the migration.
///
/// Some steps do not need it: a cutover begins with the same recovery, and an unwind opens the source. After a rollback
/// no key is closed.
pub(crate) async fn recover_register(context: &StepContext) -> Result<(), StepError> {
    let kind = context.dispatch.step.as_ref().map(|(_, kind)| *kind);
    let recovers_by_itself = [StepKind::Cutover, StepKind::Rollback, StepKind::Unwind];
    if kind.is_some_and(|kind| recovers_by_itself.contains(&kind))
        || context.is_done(StepKind::Rollback)
        // No cutover has begun, and the target is no shard of its own yet.
        || context.awaits_promotion()
    {
        return Ok(());
    }
    let direction = if context.is_done(StepKind::Cutover) {
        Direction::Reverse
    } else {
        Direction::Forward
    };
    let parties = CutoverParties::of(context, direction)?;
    match recover_attempt(context, &parties).await? {
        RecoveredRegister::Open => Ok(()),
        RecoveredRegister::Flipped(attempt, version) => {
            finish_after_flip(context, parties, attempt, version)
                .await
                .map(|_| ())
        }
    }
}

/// What the recovery of an interrupted attempt found.
pub(super) enum RecoveredRegister {
    /// The old owner is open, or open again, unless the move is offline.
    Open,
    /// This attempt has flipped the map, to this version.
    Flipped(AttemptNo, MapVersion),
}

/// Releases an attempt that was interrupted after its seal, unless it has flipped the map.
///
/// In an offline move the source stays closed in any case, because its keys are read-only from before the copy to the
/// flip.
pub(super) async fn recover_attempt(
    context: &StepContext,
    parties: &CutoverParties,
) -> Result<RecoveredRegister, StepError> {
    let old_owner = parties.old_shard();
    let session = old_owner.session("register").await?;
    let what = format!("shard {}: reading the register", old_owner.name);
    if !register::exists(&session, &context.dispatch.migration).await? {
        return Ok(RecoveredRegister::Open);
    }
    let status = register::read(&session, &parties.shards.token, &what).await?;
    if status.register != Register::Closed {
        return Ok(RecoveredRegister::Open);
    }
    let attempt = newest_attempt(parties).await?;
    if attempt == AttemptNo(0) {
        return Ok(RecoveredRegister::Open);
    }
    context.report_message("an earlier attempt was interrupted; the agent finds out how it ended");
    let request = CutoverQuery::Release {
        direction: parties.direction,
        attempt,
        reason: "an earlier attempt was interrupted".to_owned(),
    };
    let answer = call_until_answered(context, &request).await?;
    if let CutoverAnswer::Flipped { map_version } = answer {
        return Ok(RecoveredRegister::Flipped(attempt, map_version));
    }
    if answer != CutoverAnswer::Released {
        return Err(refusal_error("release the attempt", &answer));
    }
    if context.is_online() {
        reopen_old_owner(parties, attempt).await?;
    }
    Ok(RecoveredRegister::Open)
}

/// Returns the newest attempt that the two shards have recorded. An attempt that was interrupted before its fence is
/// recorded on the witness only. A promoted standby may be from before the migration, and have no records.
async fn newest_attempt(parties: &CutoverParties) -> Result<AttemptNo, StepError> {
    let mut newest = AttemptNo(0);
    for shard in [parties.old_shard(), parties.new_shard()] {
        let session = shard.session("register").await?;
        if epoch::is_enrolled(&session, &parties.shards.token).await? {
            let number = epoch::newest_attempt(&session, &parties.shards.token).await?;
            newest = newest.max(number);
        }
    }
    Ok(newest)
}

/// For an abort: proves that the target is closed and has recorded no flip (I4). Returns the newest attempt of the two
/// shards; `newest_on_source` is the newest one on the source.
///
/// A target without a row of the migration needs no proof: its copy was removed, or was never begun.
pub(in crate::steps) async fn check_abort_witness(
    context: &StepContext,
    newest_on_source: AttemptNo,
) -> Result<AttemptNo, StepError> {
    let (target, token) = (context.target()?, context.token_for_cleanup());
    let version = context.dispatch.map_version;
    let session = target.session("register").await?;
    epoch::take_over(&session, &token).await?;
    if !epoch::is_enrolled(&session, &token).await? {
        return Ok(newest_on_source);
    }
    let newest = epoch::newest_attempt(&session, &token).await?;
    let newest = newest.max(newest_on_source);
    register::begin_and_check_witness(&session, &token, newest, version).await?;
    Ok(newest)
}
