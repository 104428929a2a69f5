//! The cutover and the rollback (docs/protocol.md, C1 to C11): one implementation for both directions.
//!
//! Order: recover an interrupted attempt, check the definitions of the tables, gate, begin the attempt in the control
//! store and on the witness, fence, wait-out, marker, comparison, seal, wait-out, second marker, final recheck, flip,
//! open. The *witness* is the new owner: it records the attempt while it is closed (I4).
//!
//! If an attempt fails before the flip, the agent *releases* it: it ends the attempt in the control store, then proves
//! on the witness that no flip has happened, then opens the old owner's register. After the flip the cutover can only
//! continue.

pub(crate) mod before_rollback;
mod final_recheck;
pub(super) mod gate;
mod obstacles;
mod offline;
mod recovery;
pub(super) mod unread_slot;
mod warm_up;
mod window;

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{AttemptNo, MapVersion};
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::wire::{CutoverAnswer, CutoverCall, CutoverQuery, Markers};
use tokio::time::Instant;

use super::verify::StreamShards;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::database::Shard;
use crate::shard::epoch::{AttemptCount, EpochProof, EpochToken};
use crate::shard::guard::{self, cascade};
use crate::shard::register::{self, RegisterSetting, ShardOpening};
pub(super) use recovery::check_abort_witness;
pub(crate) use recovery::recover_register;
use recovery::{RecoveredRegister, recover_attempt};

/// The pause before the agent repeats a call that the controller did not answer.
const CONTROLLER_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The two shards of a cutover, with the proof of the migration's epoch.
pub(super) struct CutoverParties {
    pub(super) direction: Direction,
    pub(super) shards: StreamShards,
    /// The map version before the flip.
    pub(super) version: MapVersion,
    /// If true, cascades may skip rows on the shard that does not own the keys (ADR 55).
    may_skip_cascades: bool,
}

impl CutoverParties {
    fn of(context: &StepContext, direction: Direction) -> Result<Self, StepError> {
        let version = match direction {
            Direction::Forward => context.dispatch.map_version,
            Direction::Reverse => context.dispatch.map_version.next(),
        };
        Ok(Self {
            direction,
            shards: StreamShards::of(context, direction)?,
            version,
            may_skip_cascades: context.may_skip_cascades(),
        })
    }

    /// Permits cascades to skip rows on the shard that does not own the keys. `count` is the attempt counter of that
    /// shard (I7).
    async fn allow_cascade_skips(
        &self,
        session: &Connected,
        count: AttemptCount,
    ) -> Result<(), StepError> {
        if !self.may_skip_cascades {
            return Ok(());
        }
        let proof = EpochProof::Count(count);
        cascade::allow_skips(session, &self.shards.token, proof).await
    }

    /// Returns the shard that owns the keys before the flip.
    pub(super) fn old_shard(&self) -> &Shard {
        &self.shards.upstream
    }

    /// Returns the shard that owns the keys after the flip.
    pub(super) fn new_shard(&self) -> &Shard {
        &self.shards.downstream
    }

    /// Returns the proof of epoch for writes after the flip of this cutover.
    fn token_after_flip(&self) -> EpochToken {
        EpochToken {
            until: self.version.next(),
            ..self.shards.token.clone()
        }
    }
}

pub(super) async fn run(
    context: &StepContext,
    direction: Direction,
) -> Result<CutoverResult, StepError> {
    let mut parties = CutoverParties::of(context, direction)?;
    // Boxed futures keep the stack of the thread small: a future that contains all of them needs it at each poll.
    let recovered = Box::pin(recover_attempt(context, &parties)).await?;
    if let RecoveredRegister::Flipped(attempt, version) = recovered {
        return Box::pin(finish_after_flip(context, parties, attempt, version)).await;
    }
    let kind = match direction {
        Direction::Forward => StepKind::Cutover,
        Direction::Reverse => StepKind::Rollback,
    };
    Box::pin(super::definitions::check(context, kind)).await?;
    if !context.is_online() {
        return Box::pin(offline::run(context, parties)).await;
    }
    let facts = Box::pin(wait_at_gates(context, &parties)).await?;
    match begin_attempt(context, &mut parties).await? {
        AttemptBegin::Attempt(attempt, markers) => {
            let run = window::run_attempt(context, &parties, attempt, markers, &facts);
            match Box::pin(run).await {
                Ok(done) => Ok(done),
                Err(error) => Err(Box::pin(give_up(context, &parties, attempt, error)).await),
            }
        }
        AttemptBegin::Flipped(attempt, version) => {
            Box::pin(finish_after_flip(context, parties, attempt, version)).await
        }
    }
}

/// C1: waits at the gate. A rollback waits twice: before and after it creates the slot for another cutover, because the
/// creation can take long.
async fn wait_at_gates(
    context: &StepContext,
    parties: &CutoverParties,
) -> Result<gate::GateFacts, StepError> {
    let old_owner = parties.old_shard().session("gate").await?;
    let new_owner = parties.new_shard().session("gate").await?;
    if parties.direction == Direction::Forward {
        return gate::wait_at_gate(context, parties, &old_owner, &new_owner).await;
    }
    // In a rollback the target is the old owner, and the source the new one.
    before_rollback::check_possible(context, &old_owner, &new_owner).await?;
    gate::wait_at_gate(context, parties, &old_owner, &new_owner).await?;
    before_rollback::create_forward_slot(context, &old_owner, &new_owner).await?;
    gate::wait_at_gate(context, parties, &old_owner, &new_owner).await
}

/// The controller's answer to the request for another attempt.
enum AttemptBegin {
    /// The attempt has begun. The ids of its markers are set if the controller has generated them.
    Attempt(AttemptNo, Option<Markers>),
    /// An earlier attempt has flipped the map, to this version.
    Flipped(AttemptNo, MapVersion),
}

/// C2: begins the next attempt in the control store. Sets the version of `parties` to the current one: other migrations
/// may have changed the map since this step was dispatched.
async fn begin_attempt(
    context: &StepContext,
    parties: &mut CutoverParties,
) -> Result<AttemptBegin, StepError> {
    let request = CutoverQuery::Begin {
        direction: parties.direction,
    };
    let answer = call_controller(context, request).await?;
    if let CutoverAnswer::AlreadyFlipped {
        attempt,
        map_version,
    } = answer
    {
        return Ok(AttemptBegin::Flipped(attempt, map_version));
    }
    let CutoverAnswer::Begun {
        attempt,
        map_version,
        markers,
    } = answer
    else {
        return Err(refusal_error("begin the attempt", &answer));
    };
    parties.version = map_version;
    Ok(AttemptBegin::Attempt(attempt, markers))
}

/// Returns the error for an answer of the controller that does not permit the attempt to continue.
fn refusal_error(what: &str, answer: &CutoverAnswer) -> StepError {
    let reason = if let CutoverAnswer::Refused { reason } = answer {
        reason.clone()
    } else {
        format!("{answer:?}")
    };
    StepError::not_yet(
        StepCode::CutoverRefused,
        format!("the control store did not {what}: {reason}"),
    )
}

/// Calls the controller once. Returns an error if it does not answer.
async fn call_controller(
    context: &StepContext,
    request: CutoverQuery,
) -> Result<CutoverAnswer, StepError> {
    let call = CutoverCall {
        migration: context.dispatch.migration.clone(),
        epoch: context.dispatch.epoch,
        secret: context.dispatch.secret.clone(),
        query: request,
    };
    Ok(context.controller.cutover(&call).await?)
}

/// Calls the controller until it answers, because the agent must know the outcome of the request.
async fn call_until_answered(
    context: &StepContext,
    request: &CutoverQuery,
) -> Result<CutoverAnswer, StepError> {
    let call = CutoverCall {
        migration: context.dispatch.migration.clone(),
        epoch: context.dispatch.epoch,
        secret: context.dispatch.secret.clone(),
        query: request.clone(),
    };
    loop {
        match context.controller.cutover(&call).await {
            Ok(answer) => return Ok(answer),
            Err(error) if error.is_final() => return Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "the controller did not answer; the agent sends the request again");
                tokio::time::sleep(CONTROLLER_RETRY_INTERVAL).await;
            }
        }
    }
}

/// Releases an attempt that failed with `error` before the flip. Returns the error to report: `error`, or the error of
/// the release.
async fn give_up(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    error: StepError,
) -> StepError {
    if error.is_superseded() {
        return error;
    }
    context.report_message(format!("the agent gives up attempt {attempt}: {error}"));
    match release_attempt(context, parties, attempt, &error.to_string()).await {
        Ok(()) => {
            if let Some(refused) = count_refused(parties).await {
                context.report_message(format!(
                    "all attempts so far have refused {refused} write(s)"
                ));
            }
            error
        }
        Err(release_error) => release_error,
    }
}

/// Returns how many writes the guards of both shards have refused since they were created; `None` if the agent cannot
/// read it on a shard.
async fn count_refused(parties: &CutoverParties) -> Option<i64> {
    let (old_owner, new_owner) = (parties.old_shard(), parties.new_shard());
    let sessions = tokio::try_join!(old_owner.session("cutover"), new_owner.session("cutover"));
    let (old_owner, new_owner) = sessions.ok()?;
    count_refused_in(parties, &old_owner, &new_owner).await
}

/// Returns the same as [`count_refused`], read in open sessions. The number is only for reports, so a failure to read
/// it is no error.
async fn count_refused_in(
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Option<i64> {
    let token = &parties.shards.token;
    let counts = tokio::try_join!(
        guard::count_refused(old_owner, &token.migration),
        guard::count_refused(new_owner, &token.migration)
    );
    let (by_old_owner, by_new_owner) = counts.ok()?;
    Some(by_old_owner? + by_new_owner?)
}

/// Releases an attempt: first in the control store, which makes a flip impossible. Then checks the witness, and opens
/// the old owner (I4).
async fn release_attempt(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    reason: &str,
) -> Result<(), StepError> {
    let request = CutoverQuery::Release {
        direction: parties.direction,
        attempt,
        reason: reason.to_owned(),
    };
    let answer = call_until_answered(context, &request).await?;
    if answer != CutoverAnswer::Released {
        return Err(refusal_error("release the attempt", &answer));
    }
    reopen_old_owner(parties, attempt).await
}

/// Opens the old owner again. First proves that the new owner is closed and has recorded no flip.
///
/// # Errors
/// `register.outdated` if the old owner lacks its own opening.
async fn reopen_old_owner(parties: &CutoverParties, attempt: AttemptNo) -> Result<(), StepError> {
    let StreamShards {
        upstream,
        downstream,
        token,
    } = &parties.shards;
    let new_owner = downstream.session("register").await?;
    let version = parties.version;
    let count = register::begin_and_check_witness(&new_owner, token, attempt, version).await?;
    let old_owner = upstream.session("register").await?;
    register::begin_and_set(&old_owner, token, attempt, RegisterSetting::OpenAgain).await?;
    parties.allow_cascade_skips(&new_owner, count).await
}

/// Runs C10 and C11 for an attempt that has flipped the map. The agent that requested the flip may have died since, and
/// the new owner may have been restored to an earlier state.
async fn finish_after_flip(
    context: &StepContext,
    mut parties: CutoverParties,
    attempt: AttemptNo,
    version: MapVersion,
) -> Result<CutoverResult, StepError> {
    context.report_message("the map has flipped; the agent opens the new owner");
    parties.version = MapVersion(version.0 - 1);
    let parties = &parties;
    let new_owner = parties.new_shard().session("register").await?;
    let old_owner = parties.old_shard().session("register").await?;
    let started = Instant::now();
    let token = &parties.shards.token;
    register::require_attempt(&new_owner, token, attempt).await?;
    // The value that the agent has read may not be durable, so the agent writes it again first (R9).
    register::begin_and_set(&old_owner, token, attempt, RegisterSetting::Closed).await?;
    let tables = context.captured_tables(parties.direction);
    let storage = catalog::storage(&new_owner, tables).await?;
    open_new_owner(context, parties, attempt, version, &new_owner).await?;
    let open_ms = millis_since(started);
    notify_old_owner(parties, attempt, version, &old_owner).await?;
    start_opposite_stream(context, parties).await?;
    Ok(CutoverResult {
        attempt,
        map_version: version,
        write_block: WriteBlockTimes {
            total: open_ms,
            open: open_ms,
            ..WriteBlockTimes::default()
        },
        dirty_keys: 0,
        refused: None,
        storage,
    })
}

/// C10: records the flip on the new owner, writes the open marker and opens the register, in three transactions. The
/// caller has opened the session `new_owner` earlier, because no session is opened inside the write-blocked window.
pub(super) async fn open_new_owner(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    version: MapVersion,
    new_owner: &Connected,
) -> Result<(), StepError> {
    let opening = ShardOpening {
        client: new_owner,
        token: &parties.shards.token,
        after: &parties.token_after_flip(),
        number: attempt,
        version,
    };
    let report_delay = |why: &str| {
        context.report_waiting(format!("the map has flipped; waiting for {why}"), why);
    };
    opening.open(report_delay).await?;
    fail_point::hit("cutover.opened").await?;
    Ok(())
}

/// Records the new map version on the old owner, whose guard then reports it to clients (R15). Afterwards cascades may
/// skip rows on the old owner.
pub(super) async fn notify_old_owner(
    parties: &CutoverParties,
    attempt: AttemptNo,
    version: MapVersion,
    old_owner: &Connected,
) -> Result<(), StepError> {
    let token = &parties.shards.token;
    let count = register::notify_of_flip(old_owner, token, attempt, version).await?;
    parties.allow_cascade_skips(old_owner, count).await
}

/// C11: starts the stream in the other direction. After a rollback this is the forward stream, for another cutover.
pub(super) async fn start_opposite_stream(
    context: &StepContext,
    parties: &CutoverParties,
) -> Result<(), StepError> {
    context.session.stop_stream().await;
    if !context.is_online() {
        return Ok(());
    }
    let opposite = unread_slot::opposite(parties.direction);
    context
        .ensure_stream_with_token(opposite, parties.token_after_flip())
        .await
}

/// Returns the milliseconds since `start`.
pub(super) fn millis_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
