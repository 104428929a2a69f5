//! The window: C3 to C10, from the fence to the open register; every part is measured.

use std::future::Future;
use std::time::Duration;

use connect::Connected;
use plans::id::AttemptNo;
use plans::names::Direction;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::wire::{CutoverAnswer, CutoverQuery, Markers};
use tokio::time::Instant;
use uuid::Uuid;

use super::gate::{GateFacts, witness};
use super::last_look::{last_look, standbys_flushed};
use super::rehearsal::{
    CutoverSessions, check_within, recheck, rehearse, rehearse_drain, rehearse_writes,
};
use super::{
    CutoverParties, ask_controller, ask_until_answered, follow, millis, open, refused,
    refused_by_both, tell_former,
};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::epoch::EpochProof;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::marker_after_wait::AwaitedWriters;
use crate::shard::register::RegisterSetting;
use crate::shard::sequences;
use crate::steps::dirty;
use crate::steps::verify;
use crate::stream::ApplyStream;

/// A permission to seal that is older is asked for again: who granted it may be gone, and sealed keys stay closed then.
const FRESH: Duration = Duration::from_millis(50);

/// When the parts of an attempt must have ended: all within the budget, at whose end the fence ends by itself.
#[derive(Debug, Clone, Copy)]
struct AttemptDeadlines {
    /// Everything before the seal. What comes later is a fixed number of statements, whatever the tables and keys are.
    seal: Instant,
    /// Everything before the flip; what is left is for flip and opening, which are not given up any more.
    flip: Instant,
}

impl AttemptDeadlines {
    fn of(budget: Duration, started: Instant) -> Self {
        Self {
            seal: started + budget * 8 / 10,
            flip: started + budget * 9 / 10,
        }
    }
}

/// Runs one attempt from C3 to C11. An error before the flip means: to be released.
pub(super) async fn attempt(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    markers: Option<Markers>,
    facts: &GateFacts,
) -> Result<CutoverResult, StepError> {
    let destination = &parties.sides.destination;
    let sessions = CutoverSessions::open(context, &parties.sides).await?;
    let witnessed = witness(context, parties, &sessions.gaining, attempt).await?;
    let seen = rehearse(context, parties, facts, &sessions, attempt).await?;
    let before = refused_by_both(parties, &sessions.losing, &sessions.gaining).await;
    rehearse_writes(context, parties, facts, &sessions, attempt, witnessed).await?;
    let stream = context.session.stream.lock().await;
    let hurried = stream.as_ref().map(ApplyStream::commit_promptly);
    drop(stream);
    tokio::try_join!(
        recheck(context, parties, &sessions),
        rehearse_drain(context, parties, &sessions, attempt)
    )?;
    let started = Instant::now();
    let deadlines = AttemptDeadlines::of(budget(context), started);
    let mut run = CutoverAttempt {
        context,
        parties,
        number: attempt,
        markers,
        facts,
        seen,
        sessions,
        fenced: 0,
        deadlines,
        applied_at_fence: 0,
        permitted: started,
        former: None,
        window: WriteBlockTimes::default(),
    };
    within(deadlines.seal, "before the seal", run.fence_to_drain()).await?;
    let checked_by = deadlines
        .seal
        .min(Instant::now() + check_within(budget(context)));
    let dirty_keys = within(checked_by, CHECKING, run.check()).await?;
    within(deadlines.seal, "before the seal", run.allowed()).await?;
    within(deadlines.flip, "behind the seal", run.seal()).await?;
    drop(hurried);
    let version = run.flip().await?;
    let opening = Instant::now();
    open(context, parties, attempt, version, &run.sessions.gaining).await?;
    run.window.open = millis(opening);
    run.window.total = millis(started);
    drop(run.former.take());
    let after = refused_by_both(parties, &run.sessions.losing, &run.sessions.gaining).await;
    context.report_message(format!(
        "shard {} owns the keys; map version {version}",
        destination.name
    ));
    tell_former(parties, attempt, version, &run.sessions.losing).await?;
    follow(context, parties).await?;
    Ok(CutoverResult {
        attempt: attempt.0,
        map_version: version.0,
        write_block: run.window,
        dirty_keys,
        refused: before.zip(after).map(|(before, after)| after - before),
        storage: facts.gaining_storage.clone(),
    })
}

pub(super) fn budget(context: &StepContext) -> Duration {
    Duration::from_millis(u64::from(context.dispatch.options.write_stop_budget_ms))
}

/// What an attempt does while it compares changed keys.
const CHECKING: &str = "comparing keys that changed before the fence";

/// A part of an attempt, which ends the attempt when it has not ended at `deadline`.
///
/// # Errors
/// `cutover.budget`, and what the part says.
async fn within<T>(
    deadline: Instant,
    doing: &str,
    part: impl Future<Output = Result<T, StepError>>,
) -> Result<T, StepError> {
    let ended = tokio::time::timeout_at(deadline, part).await;
    ended.unwrap_or_else(|_| {
        Err(StepError::not_yet(
            "cutover.budget",
            format!("the write-stop budget was nearly used up ({doing})"),
        ))
    })
}

struct CutoverAttempt<'a> {
    context: &'a StepContext,
    parties: &'a CutoverParties,
    number: AttemptNo,
    /// The ids that the controller drew for the markers, which the flip shows once they are applied.
    markers: Option<Markers>,
    facts: &'a GateFacts,
    /// Versions of the catalog's rows when everything was as at the gate.
    seen: String,
    sessions: CutoverSessions,
    /// The losing shard's count while this attempt holds it.
    fenced: i64,
    deadlines: AttemptDeadlines,
    /// Row changes that were applied before the first marker.
    applied_at_fence: u64,
    /// When the controller granted the seal.
    permitted: Instant,
    /// The stream that has stopped at the second marker.
    former: Option<ApplyStream>,
    window: WriteBlockTimes,
}

impl CutoverAttempt<'_> {
    /// C3 to C5, and the seal allowed.
    async fn fence_to_drain(&mut self) -> Result<(), StepError> {
        let marker = Marker::new(&self.parties.sides.token, self.number.0, MarkerKind::Fenced)
            .with_id(self.markers.map(|markers| markers.fenced));
        let behind = self.sessions.behind(&self.parties.sides, &marker);
        let fence = RegisterSetting::FencedFor(self.context.dispatch.options.write_stop_budget_ms);
        let proof = EpochProof::Next(self.number.0);
        let fencing = Instant::now();
        let writers;
        let keyed = self.context.keyed_tables();
        let awaited = self.sessions.writers(&keyed);
        (self.fenced, writers) = behind.set_and_mark(proof, fence, awaited).await?;
        fail_point::hit(fenced_point(self.parties.direction)).await?;
        self.window.fence = millis(fencing);
        let waiting = Instant::now();
        behind.wait_and_mark(writers, self.deadlines.seal).await?;
        self.window.wait_out = millis(waiting);

        // The controller holds the migration's row meanwhile, and not before: a command would have to wait for the
        // writers. Its answer is awaited whatever becomes of the drain: what it grants is given back by a release that
        // it hears of afterwards.
        let permission = self.permitted();
        let (drained, permission) = tokio::join!(self.drain(marker.id), permission);
        (self.applied_at_fence, self.window.drain) = drained?;
        self.permitted = permission?;
        Ok(())
    }

    /// C5, and the sequences of C6: nobody writes to the moving keys any more, so they are where they will stay. Row
    /// changes before the marker, and how long that took.
    async fn drain(&self, marker: Uuid) -> Result<(u64, f64), StepError> {
        let draining = Instant::now();
        let (applied, ()) = tokio::try_join!(self.applied(marker), self.carry_sequences())?;
        Ok((applied, millis(draining)))
    }

    /// Waits until a marker is applied.
    async fn applied(&self, marker: Uuid) -> Result<u64, StepError> {
        applied(self.context, marker, self.deadlines.flip).await
    }

    /// Refuses to go on where changes of moving keys were applied after the first marker.
    fn nothing_since_the_fence(&self, applied: u64) -> Result<(), StepError> {
        if applied == self.applied_at_fence {
            return Ok(());
        }
        Err(StepError::not_yet(
            "fence.expired",
            format!(
                "{} change(s) of moving keys arrived between fence and seal: the fence had expired",
                applied.abs_diff(self.applied_at_fence)
            ),
        ))
    }

    /// C6: sequences are set past the losing shard's.
    async fn carry_sequences(&self) -> Result<(), StepError> {
        let (losing, gaining) = (&self.sessions.losing, &self.sessions.gaining);
        carry_sequences(self.context, self.parties, self.facts, losing, gaining).await
    }

    /// C6: every key that changed before the fence is equal on both shards; how many there were.
    ///
    /// Nothing is sealed before: how long a comparison takes depends on keys and tables, and a sealed shard would stay
    /// closed as long. The fence may end meanwhile; what changes then comes before the second marker, which ends the
    /// attempt.
    async fn check(&mut self) -> Result<i64, StepError> {
        let checking = Instant::now();
        fail_point::hit("cutover.before_check").await?;
        let (context, sides) = (self.context, &self.parties.sides);
        let (different, compared) =
            dirty::differences(context, sides, &self.sessions.both()).await?;
        self.window.check = millis(checking);
        if different > 0 {
            self.still_fenced().await?;
            return Err(StepError::refused(
                "verify.different",
                format!(
                    "{different} row(s) that changed before the fence differ on the two shards"
                ),
                "find out who wrote to the new shard; `abort` it and plan it again",
            ));
        }
        Ok(i64::try_from(compared).unwrap_or(i64::MAX))
    }

    /// A difference is one only while nothing moves, and a fence ends by itself: another marker says whether it had.
    async fn still_fenced(&self) -> Result<(), StepError> {
        let (sides, session) = (&self.parties.sides, &self.sessions.losing);
        let marker = Marker::new(&sides.token, self.number.0, MarkerKind::Fenced);
        marker.emit(session, &sides.token).await?;
        self.nothing_since_the_fence(self.applied(marker.id).await?)
    }

    /// The seal is allowed now: who allowed it a while ago may be gone.
    async fn allowed(&mut self) -> Result<(), StepError> {
        fail_point::hit("cutover.before_seal").await?;
        if self.permitted.elapsed() > FRESH {
            self.permitted = self.permitted().await?;
        }
        Ok(())
    }

    /// Asks the controller to hold the migration's row, without which nothing is sealed (C7); when it granted that.
    async fn permitted(&self) -> Result<Instant, StepError> {
        let ask = CutoverQuery::Seal {
            direction: self.parties.direction,
            attempt: self.number,
            compared: self.facts.compared.clone(),
        };
        let answer = ask_controller(self.context, ask).await?;
        if answer == CutoverAnswer::Granted {
            return Ok(Instant::now());
        }
        Err(refused("allow the seal", &answer))
    }

    /// C7 and C8: from here on the losing shard stays closed whatever happens to us.
    async fn seal(&mut self) -> Result<(), StepError> {
        let sealing = Instant::now();
        let waited = self.close().await?;
        self.end_stream().await;
        self.window.wait_out += waited;
        self.window.seal = millis(sealing) - waited;
        Ok(())
    }

    /// C7 and C8: how long the wait-out took. While the marker is on its way everything is looked at once more.
    async fn close(&self) -> Result<f64, StepError> {
        let (context, parties) = (self.context, self.parties);
        let marker = Marker::new(&parties.sides.token, self.number.0, MarkerKind::Sealed)
            .with_id(self.markers.map(|markers| markers.sealed));
        if let Some(stream) = context.session.stream.lock().await.as_ref() {
            stream.stop_at(marker.id);
        }
        let behind = self.sessions.behind(&parties.sides, &marker);
        let proof = EpochProof::Count(self.fenced);
        let sealing = behind.set_and_mark(
            proof,
            RegisterSetting::Closed,
            AwaitedWriters::PassedExpiredFence,
        );
        let (_, passed) = sealing.await?;
        fail_point::hit("cutover.sealed").await?;
        let waiting = Instant::now();
        behind.wait_and_mark(passed, self.deadlines.flip).await?;
        let waited = millis(waiting);
        let losing = &self.sessions.losing;
        let drained = async { self.nothing_since_the_fence(self.applied(marker.id).await?) };
        tokio::try_join!(
            drained,
            standbys_flushed(context, parties, losing, self.deadlines.flip),
            last_look(context, parties, losing, self.facts, &self.seen),
        )?;
        Ok(waited)
    }

    /// The applier has stopped exactly at the second marker (R7); its sessions do nothing any more, and end once the new
    /// owner is open.
    async fn end_stream(&mut self) {
        self.former = self.context.session.stream.lock().await.take();
        if let Some(stream) = &mut self.former {
            stream.wait_until_ended().await;
        }
    }

    /// C9: the point of no return. An unreachable controller is asked until it answers.
    async fn flip(&mut self) -> Result<plans::id::MapVersion, StepError> {
        let flipping = Instant::now();
        let ask = CutoverQuery::Flip {
            direction: self.parties.direction,
            attempt: self.number,
            // Both were awaited on the gaining shard: nothing comes here otherwise.
            applied: self.markers,
        };
        let answer = ask_until_answered(self.context, &ask).await?;
        let CutoverAnswer::Flipped { map_version } = answer else {
            return Err(refused("flip the map", &answer));
        };
        self.window.flip = millis(flipping);
        fail_point::hit("cutover.flipped").await?;
        Ok(map_version)
    }
}

/// Waits until a marker is applied; row changes before it.
///
/// # Errors
/// `drain.budget` when it is not at `deadline`.
pub(super) async fn applied(
    context: &StepContext,
    marker: Uuid,
    deadline: Instant,
) -> Result<u64, StepError> {
    let watch = verify::watch(context).await?;
    tokio::time::timeout_at(deadline, crate::stream::wait_for_marker(watch, marker))
        .await
        .map_err(|_| {
            StepError::not_yet(
                "drain.budget",
                "the marker was not applied within the write-stop budget",
            )
        })?
}

fn fenced_point(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "cutover.fenced",
        Direction::Reverse => "rollback.fenced",
    }
}

/// Sequences on the gaining shard are set past the losing shard's.
pub(super) async fn carry_sequences(
    context: &StepContext,
    parties: &CutoverParties,
    facts: &GateFacts,
    losing: &Connected,
    gaining: &Connected,
) -> Result<(), StepError> {
    let values = sequences::read_values(losing, &facts.sequences).await?;
    let share = parties
        .sides
        .destination
        .sequence_share(context.dispatch.sequences);
    let token = &parties.sides.token;
    sequences::advance(gaining, token, &values, share).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_budget_something_is_left_behind_the_seal_and_for_the_opening() {
        let now = Instant::now();
        let millis = |budget| {
            let of = AttemptDeadlines::of(Duration::from_millis(budget), now);
            [of.seal, of.flip].map(|at| at.duration_since(now).as_millis())
        };
        assert_eq!(millis(100), [80, 90]);
        assert_eq!(millis(2000), [1600, 1800]);
    }
}
