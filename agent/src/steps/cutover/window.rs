//! The write-blocked window: C3 to C10, from the fence to the open register. The agent measures the duration of each
//! part.

use std::future::Future;
use std::time::Duration;

use connect::Connected;
use plans::id::AttemptNo;
use plans::names::Direction;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::wire::{CutoverAnswer, CutoverQuery, Markers};
use tokio::time::Instant;
use uuid::Uuid;

use super::final_recheck::{final_recheck, wait_for_standbys};
use super::gate::{GateFacts, begin_witness};
use super::warm_up::{
    CutoverSessions, max_comparison_time, recheck_dirty_keys, warm_up_drain, warm_up_reads,
    warm_up_writes,
};
use super::{
    CutoverParties, call_controller, call_until_answered, count_refused_with, millis_since,
    notify_old_owner, open_new_owner, refused_error, start_opposite_stream,
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

/// Maximum age of a permission to seal. If it is older, the agent requests it again: the controller that granted it may
/// have died, and then the sealed keys would stay closed until another controller leads.
const MAX_PERMISSION_AGE: Duration = Duration::from_millis(50);

/// The deadlines of an attempt. They are within the budget, at whose end the fence expires.
#[derive(Debug, Clone, Copy)]
struct AttemptDeadlines {
    /// The deadline before the seal. The number of statements after the seal does not depend on the number of tables
    /// and keys.
    seal: Instant,
    /// The deadline before the flip. The rest of the budget is for the flip and the opening, which cannot be given up.
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

/// Runs one attempt from C3 to C11. The caller must release an attempt that returns an error before the flip.
pub(super) async fn run_attempt(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    markers: Option<Markers>,
    facts: &GateFacts,
) -> Result<CutoverResult, StepError> {
    let new_shard = parties.new_shard();
    let sessions = CutoverSessions::open(context, &parties.shards).await?;
    let witnessed = begin_witness(context, parties, &sessions.new_owner, attempt).await?;
    let catalog_versions = warm_up_reads(context, parties, facts, &sessions, attempt).await?;
    let before = count_refused_with(parties, &sessions.old_owner, &sessions.new_owner).await;
    warm_up_writes(context, parties, facts, &sessions, attempt, witnessed).await?;
    let stream = context.session.stream.lock().await;
    let prompt_commits = stream.as_ref().map(ApplyStream::commit_promptly);
    drop(stream);
    tokio::try_join!(
        recheck_dirty_keys(context, parties, &sessions),
        warm_up_drain(context, parties, &sessions, attempt)
    )?;
    let started = Instant::now();
    let deadlines = AttemptDeadlines::of(budget(context), started);
    let mut run = CutoverAttempt {
        context,
        parties,
        number: attempt,
        markers,
        facts,
        catalog_versions,
        sessions,
        fence_count: 0,
        deadlines,
        changes_at_fence: 0,
        permitted_at: started,
        old_stream: None,
        window: WriteBlockTimes::default(),
    };
    run_before(deadlines.seal, "before the seal", run.fence_to_drain()).await?;
    let checked_by = deadlines
        .seal
        .min(Instant::now() + max_comparison_time(budget(context)));
    let dirty_keys = run_before(checked_by, COMPARING, run.compare_dirty_keys()).await?;
    run_before(deadlines.seal, "before the seal", run.renew_permission()).await?;
    run_before(deadlines.flip, "after the seal", run.seal()).await?;
    drop(prompt_commits);
    let version = run.flip().await?;
    let opening = Instant::now();
    open_new_owner(context, parties, attempt, version, &run.sessions.new_owner).await?;
    run.window.open = millis_since(opening);
    run.window.total = millis_since(started);
    drop(run.old_stream.take());
    let after = count_refused_with(parties, &run.sessions.old_owner, &run.sessions.new_owner).await;
    context.report_message(format!(
        "shard {} owns the keys; map version {version}",
        new_shard.name
    ));
    notify_old_owner(parties, attempt, version, &run.sessions.old_owner).await?;
    start_opposite_stream(context, parties).await?;
    Ok(CutoverResult {
        attempt: attempt.0,
        map_version: version.0,
        write_block: run.window,
        dirty_keys,
        refused: before.zip(after).map(|(before, after)| after - before),
        storage: facts.new_owner_storage.clone(),
    })
}

pub(super) fn budget(context: &StepContext) -> Duration {
    Duration::from_millis(u64::from(context.dispatch.options.write_stop_budget_ms))
}

/// The description of the comparison in a message.
const COMPARING: &str = "comparing keys that changed before the fence";

/// Runs a part of an attempt, and ends the attempt if the part has not ended at `deadline`.
///
/// # Errors
/// `cutover.budget`, and the errors of the part.
async fn run_before<T>(
    deadline: Instant,
    doing: &str,
    part: impl Future<Output = Result<T, StepError>>,
) -> Result<T, StepError> {
    let ended = tokio::time::timeout_at(deadline, part).await;
    ended.unwrap_or_else(|_| {
        Err(StepError::not_yet(
            "cutover.budget",
            format!("the budget of the write-blocked window was nearly used up ({doing})"),
        ))
    })
}

struct CutoverAttempt<'a> {
    context: &'a StepContext,
    parties: &'a CutoverParties,
    number: AttemptNo,
    /// The ids that the controller generated for the markers. The flip reports them to the controller after the markers
    /// are applied.
    markers: Option<Markers>,
    facts: &'a GateFacts,
    /// The versions (`xmin`) of the catalog rows when all facts were as at the gate.
    catalog_versions: String,
    sessions: CutoverSessions,
    /// The attempt count that the fence set on the old owner. It is the proof for the seal.
    fence_count: i64,
    deadlines: AttemptDeadlines,
    /// The number of row changes that were applied before the first marker.
    changes_at_fence: u64,
    /// The time when the controller granted the permission to seal.
    permitted_at: Instant,
    /// The stream, which has stopped at the second marker.
    old_stream: Option<ApplyStream>,
    window: WriteBlockTimes,
}

impl CutoverAttempt<'_> {
    /// Runs C3 to C5, and requests the permission to seal.
    async fn fence_to_drain(&mut self) -> Result<(), StepError> {
        let marker = Marker::new(
            &self.parties.shards.token,
            self.number.0,
            MarkerKind::Fenced,
        )
        .with_id(self.markers.map(|markers| markers.fenced));
        let marking = self
            .sessions
            .marker_after_wait(&self.parties.shards, &marker);
        let fence = RegisterSetting::FencedFor(self.context.dispatch.options.write_stop_budget_ms);
        let proof = EpochProof::Next(self.number.0);
        let fencing = Instant::now();
        let writers;
        let keyed_tables = self.context.keyed_tables();
        let awaited = self.sessions.awaited_writers(&keyed_tables);
        (self.fence_count, writers) = marking.set_and_mark(proof, fence, awaited).await?;
        fail_point::hit(fence_fail_point(self.parties.direction)).await?;
        self.window.fence = millis_since(fencing);
        let waiting = Instant::now();
        marking.wait_and_mark(writers, self.deadlines.seal).await?;
        self.window.wait_out = millis_since(waiting);

        // The controller locks the migration's row from here on, and not earlier: otherwise a command would have to
        // wait for the writers. The agent awaits the answer even if the drain fails, so that a later release also ends
        // this permission.
        let permission = self.request_permission();
        let (drained, permission) = tokio::join!(self.drain(marker.id), permission);
        (self.changes_at_fence, self.window.drain) = drained?;
        self.permitted_at = permission?;
        Ok(())
    }

    /// C5, and the sequences of C6: no session writes to the moving keys any more, so the sequence values are final.
    /// Returns the number of row changes before the marker, and the duration.
    async fn drain(&self, marker: Uuid) -> Result<(u64, f64), StepError> {
        let draining = Instant::now();
        let (applied, ()) =
            tokio::try_join!(self.wait_until_applied(marker), self.advance_sequences())?;
        Ok((applied, millis_since(draining)))
    }

    /// Waits until a marker is applied. Returns the number of row changes before it.
    async fn wait_until_applied(&self, marker: Uuid) -> Result<u64, StepError> {
        wait_until_applied(self.context, marker, self.deadlines.flip).await
    }

    /// Returns an error if the stream has applied changes of moving keys after the first marker: the fence had expired.
    fn check_no_change_since_fence(&self, applied: u64) -> Result<(), StepError> {
        if applied == self.changes_at_fence {
            return Ok(());
        }
        Err(StepError::not_yet(
            "fence.expired",
            format!(
                "{} change(s) of moving keys arrived between fence and seal: the fence had expired",
                applied.abs_diff(self.changes_at_fence)
            ),
        ))
    }

    /// C6: sets the new owner's sequences to values after those of the old owner.
    async fn advance_sequences(&self) -> Result<(), StepError> {
        let (old_owner, new_owner) = (&self.sessions.old_owner, &self.sessions.new_owner);
        advance_sequences(self.context, self.parties, self.facts, old_owner, new_owner).await
    }

    /// C6: checks that every key that changed before the fence is equal on both shards. Returns how many keys were
    /// compared.
    ///
    /// The seal comes later, because the duration of a comparison depends on the number of keys and tables, and a
    /// sealed shard stays closed without a limit. The fence may expire during the comparison. Changes after that
    /// precede the second marker, and the attempt then ends.
    async fn compare_dirty_keys(&mut self) -> Result<i64, StepError> {
        let checking = Instant::now();
        fail_point::hit("cutover.before_check").await?;
        let (context, shards) = (self.context, &self.parties.shards);
        let (different, compared) =
            dirty::count_differences(context, shards, &self.sessions.comparison_sessions()).await?;
        self.window.check = millis_since(checking);
        if different > 0 {
            self.check_still_fenced().await?;
            return Err(StepError::refused(
                "verify.different",
                format!(
                    "{different} row(s) that changed before the fence differ on the two shards"
                ),
                "find out who wrote to the new shard; `abort` the migration and plan it again",
            ));
        }
        Ok(i64::try_from(compared).unwrap_or(i64::MAX))
    }

    /// Checks by another marker that the fence has not expired. A difference is an error only if no row has changed
    /// since the fence.
    async fn check_still_fenced(&self) -> Result<(), StepError> {
        let (shards, session) = (&self.parties.shards, &self.sessions.old_owner);
        let marker = Marker::new(&shards.token, self.number.0, MarkerKind::Fenced);
        marker.emit(session, &shards.token).await?;
        self.check_no_change_since_fence(self.wait_until_applied(marker.id).await?)
    }

    /// Requests the permission to seal again if it is old: the controller that granted it may have died.
    async fn renew_permission(&mut self) -> Result<(), StepError> {
        fail_point::hit("cutover.before_seal").await?;
        if self.permitted_at.elapsed() > MAX_PERMISSION_AGE {
            self.permitted_at = self.request_permission().await?;
        }
        Ok(())
    }

    /// Requests that the controller locks the migration's row; without this lock nothing is sealed (C7). Returns the
    /// time when it was granted.
    async fn request_permission(&self) -> Result<Instant, StepError> {
        let request = CutoverQuery::Seal {
            direction: self.parties.direction,
            attempt: self.number,
            compared: self.facts.compared.clone(),
        };
        let answer = call_controller(self.context, request).await?;
        if answer == CutoverAnswer::Granted {
            return Ok(Instant::now());
        }
        Err(refused_error("allow the seal", &answer))
    }

    /// C7 and C8: seals the old owner. From here on it stays closed, also if the agent dies.
    async fn seal(&mut self) -> Result<(), StepError> {
        let sealing = Instant::now();
        let waited = self.close_old_owner().await?;
        self.end_stream().await;
        self.window.wait_out += waited;
        self.window.seal = millis_since(sealing) - waited;
        Ok(())
    }

    /// C7 and C8: closes the old owner, and runs the final recheck while the marker passes through the stream. Returns
    /// the duration of the wait-out.
    async fn close_old_owner(&self) -> Result<f64, StepError> {
        let (context, parties) = (self.context, self.parties);
        let marker = Marker::new(&parties.shards.token, self.number.0, MarkerKind::Sealed)
            .with_id(self.markers.map(|markers| markers.sealed));
        if let Some(stream) = context.session.stream.lock().await.as_ref() {
            stream.stop_at(marker.id);
        }
        let marking = self.sessions.marker_after_wait(&parties.shards, &marker);
        let proof = EpochProof::Count(self.fence_count);
        let sealing = marking.set_and_mark(
            proof,
            RegisterSetting::Closed,
            AwaitedWriters::PassedExpiredFence,
        );
        let (_, passed) = sealing.await?;
        fail_point::hit("cutover.sealed").await?;
        let waiting = Instant::now();
        marking.wait_and_mark(passed, self.deadlines.flip).await?;
        let waited = millis_since(waiting);
        let old_owner = &self.sessions.old_owner;
        let drained =
            async { self.check_no_change_since_fence(self.wait_until_applied(marker.id).await?) };
        tokio::try_join!(
            drained,
            wait_for_standbys(context, parties, old_owner, self.deadlines.flip),
            final_recheck(
                context,
                parties,
                old_owner,
                self.facts,
                &self.catalog_versions
            ),
        )?;
        Ok(waited)
    }

    /// Waits for the end of the stream, which has stopped exactly at the second marker (R7). Its idle sessions are
    /// closed after the new owner is open.
    async fn end_stream(&mut self) {
        self.old_stream = self.context.session.stream.lock().await.take();
        if let Some(stream) = &mut self.old_stream {
            stream.wait_until_ended().await;
        }
    }

    /// C9: flips the map. From here on the cutover can only continue. If the controller is unreachable, the agent
    /// calls it until it answers.
    async fn flip(&mut self) -> Result<plans::id::MapVersion, StepError> {
        let flipping = Instant::now();
        let request = CutoverQuery::Flip {
            direction: self.parties.direction,
            attempt: self.number,
            // Both markers were awaited on the new owner before this point.
            applied: self.markers,
        };
        let answer = call_until_answered(self.context, &request).await?;
        let CutoverAnswer::Flipped { map_version } = answer else {
            return Err(refused_error("flip the map", &answer));
        };
        self.window.flip = millis_since(flipping);
        fail_point::hit("cutover.flipped").await?;
        Ok(map_version)
    }
}

/// Waits until a marker is applied. Returns the number of row changes before it.
///
/// # Errors
/// `drain.budget` if the marker is not applied at `deadline`.
pub(super) async fn wait_until_applied(
    context: &StepContext,
    marker: Uuid,
    deadline: Instant,
) -> Result<u64, StepError> {
    let watch = verify::watch_stream(context).await?;
    tokio::time::timeout_at(deadline, crate::stream::wait_for_marker(watch, marker))
        .await
        .map_err(|_| {
            StepError::not_yet(
                "drain.budget",
                "the marker was not applied within the budget of the write-blocked window",
            )
        })?
}

fn fence_fail_point(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "cutover.fenced",
        Direction::Reverse => "rollback.fenced",
    }
}

/// Sets the new owner's sequences to values after those of the old owner.
pub(super) async fn advance_sequences(
    context: &StepContext,
    parties: &CutoverParties,
    facts: &GateFacts,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<(), StepError> {
    let values = sequences::read_values(old_owner, &facts.sequences).await?;
    let share = parties
        .new_shard()
        .sequence_share(context.dispatch.sequences);
    let token = &parties.shards.token;
    sequences::advance(new_owner, token, &values, share).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_budget_leaves_time_after_the_seal_and_for_the_opening() {
        let now = Instant::now();
        let deadlines_ms = |budget| {
            let of = AttemptDeadlines::of(Duration::from_millis(budget), now);
            [of.seal, of.flip].map(|at| at.duration_since(now).as_millis())
        };
        assert_eq!(deadlines_ms(100), [80, 90]);
        assert_eq!(deadlines_ms(2000), [1600, 1800]);
    }
}
