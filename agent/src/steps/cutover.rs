//! The cutover, forward or back (docs/protocol.md, C1 to C11): one code for both directions.
//!
//! Order: what an earlier attempt left closed is opened, the tables are looked at, gate, begin in the store,
//! witness and fence, wait-out, marker, check, seal, wait-out, second marker, last look, flip, open.
//! An attempt that fails before the flip is released: the store first, then the witness, then the
//! source's register. After the flip there is only forward.

mod clear_way;
pub(super) mod gate;
mod last_look;
mod offline;
mod rehearsal;
pub(super) mod spare;
mod way_back;
mod window;

use std::time::Duration;

use connect::Connected;
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
use crate::shard::epoch::{self, EpochProof, EpochToken};
use crate::shard::guard::{self, cascade};
use crate::shard::register::{self, RegisterSetting, ShardOpening};

/// Pause between two tries to reach the controller.
const CONTROLLER_PAUSE: Duration = Duration::from_millis(100);

/// Who loses the keys, who gains them, and what proves our ownership on each.
pub(super) struct CutoverParties {
    pub(super) direction: Direction,
    pub(super) sides: StreamShards,
    /// The map version while the attempt is under way.
    pub(super) version: MapVersion,
    /// Cascades skip the copy on the shard that does not own the keys.
    cascades: bool,
}

impl CutoverParties {
    fn of(context: &StepContext, direction: Direction) -> Result<Self, StepError> {
        let version = match direction {
            Direction::Forward => context.dispatch.map_version,
            Direction::Reverse => context.dispatch.map_version.next(),
        };
        Ok(Self {
            direction,
            sides: StreamShards::of(context, direction)?,
            version,
            cascades: context.may_skip_cascades(),
        })
    }

    /// Lets cascades skip rows, again or for the first time, on the shard that does not own the keys and has this `count`.
    async fn allow_cascades(&self, session: &Connected, count: i64) -> Result<(), StepError> {
        if !self.cascades {
            return Ok(());
        }
        let proof = EpochProof::Count(count);
        cascade::allow_skips(session, &self.sides.token, proof).await
    }

    /// The proof for work after this cutover's flip.
    fn token_after(&self) -> EpochToken {
        EpochToken {
            until: self.version.next(),
            ..self.sides.token.clone()
        }
    }
}

pub(super) async fn run(
    context: &StepContext,
    direction: Direction,
) -> Result<CutoverResult, StepError> {
    let mut parties = CutoverParties::of(context, direction)?;
    if let RecoveredRegister::Flipped(attempt, version) = recover(context, &parties).await? {
        return finish_flipped(context, parties, attempt, version).await;
    }
    let kind = match direction {
        Direction::Forward => StepKind::Cutover,
        Direction::Reverse => StepKind::Rollback,
    };
    super::shape::check(context, kind).await?;
    if !context.is_online() {
        return offline::run(context, parties).await;
    }
    let facts = pass_gate(context, &parties).await?;
    match begin(context, &mut parties).await? {
        BegunAttempt::Attempt(attempt, markers) => {
            match window::attempt(context, &parties, attempt, markers, &facts).await {
                Ok(done) => Ok(done),
                Err(error) => Err(give_up(context, &parties, attempt, error).await),
            }
        }
        BegunAttempt::Flipped(attempt, version) => {
            finish_flipped(context, parties, attempt, version).await
        }
    }
}

/// C1: waits at the gate; of a roll back once more, when the slot of the next cutover is there.
async fn pass_gate(
    context: &StepContext,
    parties: &CutoverParties,
) -> Result<gate::GateFacts, StepError> {
    let losing = parties.sides.origin.session("gate").await?;
    let gaining = parties.sides.destination.session("gate").await?;
    if parties.direction == Direction::Forward {
        return gate::pass(context, parties, &losing, &gaining).await;
    }
    // A roll back: the target loses the keys, the source gains them.
    way_back::check(context, &losing, &gaining).await?;
    gate::pass(context, parties, &losing, &gaining).await?;
    way_back::open(context, &losing, &gaining).await?;
    gate::pass(context, parties, &losing, &gaining).await
}

enum BegunAttempt {
    /// With the markers that it writes, where the controller drew them.
    Attempt(AttemptNo, Option<Markers>),
    Flipped(AttemptNo, MapVersion),
}

/// C2: asks the store for the next attempt, which is made at the map version in force: other migrations of
/// the map may have flipped since this one was dispatched.
async fn begin(
    context: &StepContext,
    parties: &mut CutoverParties,
) -> Result<BegunAttempt, StepError> {
    let ask = CutoverQuery::Begin {
        direction: parties.direction,
    };
    let answer = ask_controller(context, ask).await?;
    if let CutoverAnswer::AlreadyFlipped {
        attempt,
        map_version,
    } = answer
    {
        return Ok(BegunAttempt::Flipped(attempt, map_version));
    }
    let CutoverAnswer::Begun {
        attempt,
        map_version,
        markers,
    } = answer
    else {
        return Err(refused("begin the attempt", &answer));
    };
    parties.version = map_version;
    Ok(BegunAttempt::Attempt(attempt, markers))
}

fn refused(what: &str, answer: &CutoverAnswer) -> StepError {
    let reason = if let CutoverAnswer::Refused { reason } = answer {
        reason.clone()
    } else {
        format!("{answer:?}")
    };
    StepError::not_yet(
        "cutover.refused",
        format!("the control store did not {what}: {reason}"),
    )
}

/// One call; the caller decides what an unreachable controller means.
async fn ask_controller(
    context: &StepContext,
    ask: CutoverQuery,
) -> Result<CutoverAnswer, StepError> {
    let call = CutoverCall {
        migration: context.dispatch.migration.clone(),
        epoch: context.dispatch.epoch,
        secret: context.dispatch.secret.clone(),
        query: ask,
    };
    Ok(context.controller.cutover(&call).await?)
}

/// Asks until the controller answers: for questions that must not stay open.
async fn ask_until_answered(
    context: &StepContext,
    ask: &CutoverQuery,
) -> Result<CutoverAnswer, StepError> {
    let call = CutoverCall {
        migration: context.dispatch.migration.clone(),
        epoch: context.dispatch.epoch,
        secret: context.dispatch.secret.clone(),
        query: ask.clone(),
    };
    loop {
        match context.controller.cutover(&call).await {
            Ok(answer) => return Ok(answer),
            Err(error) if error.is_final() => return Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "asking the controller again");
                tokio::time::sleep(CONTROLLER_PAUSE).await;
            }
        }
    }
}

enum RecoveredRegister {
    /// No earlier attempt left the keys closed.
    Open,
    Flipped(AttemptNo, MapVersion),
}

/// After a take-over: an attempt that was interrupted behind its seal is released, or its flip is found.
///
/// The source of an offline move stays closed either way: it is read-only from before the copy on.
async fn recover(
    context: &StepContext,
    parties: &CutoverParties,
) -> Result<RecoveredRegister, StepError> {
    let losing = &parties.sides.origin;
    let session = losing.session("register").await?;
    let what = format!("shard {}: reading the register", losing.name);
    if !register::exists(&session, &context.dispatch.migration).await? {
        return Ok(RecoveredRegister::Open);
    }
    let seen = register::read(&session, &parties.sides.token, &what).await?;
    if seen.register != i64::MAX {
        return Ok(RecoveredRegister::Open);
    }
    let attempt = newest_attempt(parties).await?;
    if attempt == AttemptNo(0) {
        return Ok(RecoveredRegister::Open);
    }
    context.report_message("an earlier attempt was interrupted; finding out how it ended");
    let ask = CutoverQuery::Release {
        direction: parties.direction,
        attempt,
        reason: "an earlier attempt was interrupted".to_owned(),
    };
    let answer = ask_until_answered(context, &ask).await?;
    if let CutoverAnswer::Flipped { map_version } = answer {
        return Ok(RecoveredRegister::Flipped(attempt, map_version));
    }
    if answer != CutoverAnswer::Released {
        return Err(refused("release the attempt", &answer));
    }
    if context.is_online() {
        reopen(parties, attempt.0).await?;
    }
    Ok(RecoveredRegister::Open)
}

/// The newest attempt that either shard has counted: one that died between the witness and the fence has
/// counted on one shard only.
async fn newest_attempt(parties: &CutoverParties) -> Result<AttemptNo, StepError> {
    let mut newest = 0;
    for shard in [&parties.sides.origin, &parties.sides.destination] {
        let session = shard.session("register").await?;
        let number = epoch::newest_attempt(&session, &parties.sides.token).await?;
        newest = newest.max(number);
    }
    Ok(AttemptNo(newest))
}

/// Gives an attempt up before the flip; returns the error to report.
async fn give_up(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    error: StepError,
) -> StepError {
    if error.is_superseded() {
        return error;
    }
    context.report_message(format!("attempt {attempt} is given up: {error}"));
    match release(context, parties, attempt, &error.to_string()).await {
        Ok(()) => {
            if let Some(refused) = refused_so_far(parties).await {
                context.report_message(format!(
                    "{refused} write(s) were refused in all attempts so far"
                ));
            }
            error
        }
        Err(second) => second,
    }
}

/// Writes that the guards of both shards have refused since they were made; none where one of them does not tell.
async fn refused_so_far(parties: &CutoverParties) -> Option<i64> {
    let (losing, gaining) = (&parties.sides.origin, &parties.sides.destination);
    let sessions = tokio::try_join!(losing.session("cutover"), gaining.session("cutover"));
    let (losing, gaining) = sessions.ok()?;
    refused_by_both(parties, &losing, &gaining).await
}

/// As [`refused_so_far`], by sessions that are open. It is evidence, so a shard that does not tell fails nothing.
async fn refused_by_both(
    parties: &CutoverParties,
    losing: &Connected,
    gaining: &Connected,
) -> Option<i64> {
    let token = &parties.sides.token;
    let counted = tokio::try_join!(
        guard::count_refused(losing, &token.migration),
        guard::count_refused(gaining, &token.migration)
    );
    let (here, there) = counted.ok()?;
    Some(here? + there?)
}

/// The store first (a flip is impossible from then on), then the witness, then the register (I4).
async fn release(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    reason: &str,
) -> Result<(), StepError> {
    let ask = CutoverQuery::Release {
        direction: parties.direction,
        attempt,
        reason: reason.to_owned(),
    };
    let answer = ask_until_answered(context, &ask).await?;
    if answer != CutoverAnswer::Released {
        return Err(refused("release the attempt", &answer));
    }
    reopen(parties, attempt.0).await
}

/// Opens the losing shard again, once its rival is seen to be closed and never told of a flip.
async fn reopen(parties: &CutoverParties, attempt: i64) -> Result<(), StepError> {
    let StreamShards {
        origin,
        destination,
        token,
    } = &parties.sides;
    let gaining = destination.session("register").await?;
    let version = parties.version.0;
    let count = register::begin_and_check_witness(&gaining, token, attempt, version).await?;
    let losing = origin.session("register").await?;
    register::begin_and_set(&losing, token, attempt, RegisterSetting::Open).await?;
    parties.allow_cascades(&gaining, count).await
}

/// The target testifies for an abort that it is closed, and was told of no flip (I4); the newest attempt, of which
/// `counted` is the newest on the source.
///
/// A target that does not know the migration has nothing to say: its copy is gone, or was never begun.
pub(super) async fn witness_of_abort(
    context: &StepContext,
    counted: i64,
) -> Result<i64, StepError> {
    let (target, token) = (context.target()?, context.token_for_cleanup());
    let version = context.dispatch.map_version.0;
    let session = target.session("register").await?;
    epoch::take_over(&session, &token).await?;
    if !epoch::is_enrolled(&session, &token).await? {
        return Ok(counted);
    }
    let newest = epoch::newest_attempt(&session, &token).await?;
    let newest = newest.max(counted);
    register::begin_and_check_witness(&session, &token, newest, version).await?;
    Ok(newest)
}

/// C10 and C11 by someone who comes after the flip (also the one who made it).
async fn finish_flipped(
    context: &StepContext,
    mut parties: CutoverParties,
    attempt: AttemptNo,
    version: MapVersion,
) -> Result<CutoverResult, StepError> {
    context.report_message("the map has flipped; opening the new owner");
    parties.version = MapVersion(version.0 - 1);
    let parties = &parties;
    let gaining = parties.sides.destination.session("register").await?;
    let losing = parties.sides.origin.session("register").await?;
    let started = Instant::now();
    // A value that was only read proves nothing after a crash: closed is written again first (R9).
    let token = &parties.sides.token;
    register::begin_and_set(&losing, token, attempt.0, RegisterSetting::Closed).await?;
    let tables = context.captured_tables(parties.direction);
    let storage = catalog::storage(&gaining, tables).await?;
    open(context, parties, attempt, version, &gaining).await?;
    let open = millis(started);
    tell_former(parties, attempt, version, &losing).await?;
    follow(context, parties).await?;
    Ok(CutoverResult {
        attempt: attempt.0,
        map_version: version.0,
        write_block: WriteBlockTimes {
            total: open,
            open,
            ..WriteBlockTimes::default()
        },
        dirty_keys: 0,
        refused: None,
        storage,
    })
}

/// C10: tells the new owner, writes the open marker, opens the register, each committed by itself.
///
/// `gaining` is a session that was open before: none is opened while writes are refused.
pub(super) async fn open(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    version: MapVersion,
    gaining: &Connected,
) -> Result<(), StepError> {
    let opening = ShardOpening {
        client: gaining,
        token: &parties.sides.token,
        after: &parties.token_after(),
        number: attempt.0,
        version: version.0,
    };
    let delayed = |why: &str| {
        context.report_waiting(format!("the map has flipped; waiting for {why}"), why);
    };
    opening.open(delayed).await?;
    fail_point::hit("cutover.opened").await?;
    Ok(())
}

/// Tells the former owner the new version, which its guard then names to clients (R15); cascades skip its copy from then
/// on.
pub(super) async fn tell_former(
    parties: &CutoverParties,
    attempt: AttemptNo,
    version: MapVersion,
    losing: &Connected,
) -> Result<(), StepError> {
    let token = &parties.sides.token;
    let told = register::notify_of_flip(losing, token, attempt.0, version.0).await?;
    parties.allow_cascades(losing, told).await
}

/// C11: the stream in the other direction runs; after a roll back the forward one, for another cutover.
pub(super) async fn follow(
    context: &StepContext,
    parties: &CutoverParties,
) -> Result<(), StepError> {
    context.session.stop_stream().await;
    if !context.is_online() {
        return Ok(());
    }
    let other = spare::opposite(parties.direction);
    context
        .ensure_stream_with_token(other, parties.token_after())
        .await
}

/// After a take-over: keys that an interrupted attempt left closed are opened again, unless the flip was committed;
/// before anything else that is done with the migration, wherever its register is.
///
/// A cutover begins with this by itself, and an unwind opens the source. After a roll back there is nothing to open.
pub(crate) async fn recover_register(context: &StepContext) -> Result<(), StepError> {
    let kind = context.dispatch.step.as_ref().map(|(_, kind)| *kind);
    let by_itself = [StepKind::Cutover, StepKind::Rollback, StepKind::Unwind];
    if kind.is_some_and(|kind| by_itself.contains(&kind)) || context.is_done(StepKind::Rollback) {
        return Ok(());
    }
    let direction = if context.is_done(StepKind::Cutover) {
        Direction::Reverse
    } else {
        Direction::Forward
    };
    let parties = CutoverParties::of(context, direction)?;
    match recover(context, &parties).await? {
        RecoveredRegister::Open => Ok(()),
        RecoveredRegister::Flipped(attempt, version) => {
            finish_flipped(context, parties, attempt, version)
                .await
                .map(|_| ())
        }
    }
}

/// Milliseconds since `start`.
pub(super) fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
