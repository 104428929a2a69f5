//! The write-blocked window: C3 to C10, from the fence to the opening of the new owner. The agent measures the duration
//! of each part.

use std::future::Future;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{AttemptNo, MapVersion};
use plans::names::Direction;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::wire::{CutoverAnswer, CutoverQuery, Markers};
use tokio::time::Instant;
use uuid::Uuid;

use super::final_recheck::{final_recheck, wait_for_new_standbys, wait_for_standbys};
use super::gate::{GateFacts, begin_attempt_on_witness};
use super::warm_up::{
    CutoverSessions, max_comparison_time, recheck_dirty_keys, warm_up_drain, warm_up_reads,
    warm_up_writes,
};
use super::{
    CutoverParties, call_controller, call_until_answered, count_refused_in, millis_since,
    notify_old_owner, open_new_owner, refusal_error, start_opposite_stream,
};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::epoch::{AttemptCount, EpochProof};
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::marker_after_wait::AwaitedWriters;
use crate::shard::register::RegisterSetting;
use crate::shard::sequences;
use crate::steps::dirty;
use crate::steps::verify;
use crate::stream::{ApplyStream, PromptCommits};

/// If a permission to seal is older than this, the agent requests it again. The controller that granted it may have
/// died; if the agent sealed then, the keys would stay closed until another controller leads.
const MAX_PERMISSION_AGE: Duration = Duration::from_millis(50);

/// The deadlines of an attempt, before the end of the budget, at which the fence expires.
#[derive(Debug, Clone, Copy)]
struct AttemptDeadlines {
    /// The deadline for the work before the seal. The work after the seal takes a fixed number of statements, however
    /// many tables and keys there are.
    seal: Instant,
    /// The deadline for the work before the flip. The rest of the budget is for the flip and the opening, which the
    /// agent cannot give up.
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

/// Warms up the sessions, then runs one attempt from C3 to C11. If this returns an error, the caller must release the
/// attempt.
pub(super) async fn run_attempt(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    markers: Option<Markers>,
    facts: &GateFacts,
) -> Result<CutoverResult, StepError> {
    let new_shard = parties.new_shard();
    let sessions = CutoverSessions::open(context, &parties.shards).await?;
    let new_owner_count =
        begin_attempt_on_witness(context, parties, &sessions.new_owner, attempt).await?;
    let catalog_versions = warm_up_reads(context, parties, facts, &sessions, attempt).await?;
    let refused_before = count_refused_in(parties, &sessions.old_owner, &sessions.new_owner).await;
    warm_up_writes(context, parties, facts, &sessions, attempt, new_owner_count).await?;
    let stream = context.session.stream.lock().await;
    let prompt_commits = stream.as_ref().map(ApplyStream::commit_promptly);
    drop(stream);
    tokio::try_join!(
        recheck_dirty_keys(context, parties, &sessions),
        warm_up_drain(context, parties, &sessions, attempt)
    )?;
    let started = Instant::now();
    let deadlines = AttemptDeadlines::of(budget(context), started);
    let mut cutover = CutoverAttempt {
        context,
        parties,
        number: attempt,
        markers,
        facts,
        catalog_versions,
        sessions,
        fence_count: AttemptCount::default(),
        deadlines,
        changes_at_fence: 0,
        permitted_at: started,
        old_stream: None,
        times: WriteBlockTimes::default(),
    };
    let (version, dirty_keys) = Box::pin(fence_to_flip(&mut cutover, prompt_commits)).await?;
    let open_started = Instant::now();
    open_new_owner(
        context,
        parties,
        attempt,
        version,
        &cutover.sessions.new_owner,
    )
    .await?;
    cutover.times.open = millis_since(open_started);
    cutover.times.total = millis_since(started);
    drop(cutover.old_stream.take());
    let refused_after = count_refused_in(
        parties,
        &cutover.sessions.old_owner,
        &cutover.sessions.new_owner,
    )
    .await;
    context.report_message(format!(
        "shard {} owns the keys; map version {version}",
        new_shard.name
    ));
    notify_old_owner(parties, attempt, version, &cutover.sessions.old_owner).await?;
    start_opposite_stream(context, parties).await?;
    Ok(CutoverResult {
        attempt,
        map_version: version,
        write_block: cutover.times,
        dirty_keys,
        refused: refused_before
            .zip(refused_after)
            .map(|(before, after)| after - before),
        storage: facts.new_owner_storage.clone(),
    })
}

/// Runs an attempt from the fence (C3) to the flip. Returns the new version of the map, and the number of compared
/// dirty keys.
async fn fence_to_flip(
    cutover: &mut CutoverAttempt<'_>,
    prompt_commits: Option<PromptCommits>,
) -> Result<(MapVersion, i64), StepError> {
    let deadlines = cutover.deadlines;
    run_until_deadline(deadlines.seal, "before the seal", cutover.fence_and_drain()).await?;
    let comparison_deadline = deadlines
        .seal
        .min(Instant::now() + max_comparison_time(budget(cutover.context)));
    let dirty_keys =
        run_until_deadline(comparison_deadline, COMPARING, cutover.compare_dirty_keys()).await?;
    run_until_deadline(
        deadlines.seal,
        "before the seal",
        cutover.renew_permission(),
    )
    .await?;
    run_until_deadline(deadlines.flip, "after the seal", cutover.seal()).await?;
    drop(prompt_commits);
    let version = cutover.flip().await?;
    Ok((version, dirty_keys))
}

pub(super) fn budget(context: &StepContext) -> Duration {
    Duration::from_millis(u64::from(context.dispatch.options.write_stop_budget_ms))
}

/// The name of the comparison in the message of `cutover.budget`.
const COMPARING: &str = "comparison of keys that changed before the fence";

/// Runs a part of an attempt. Cancels it if it has not ended at `deadline`.
///
/// # Errors
/// `cutover.budget`, and the errors of the part.
async fn run_until_deadline<T>(
    deadline: Instant,
    part_name: &str,
    part: impl Future<Output = Result<T, StepError>>,
) -> Result<T, StepError> {
    let ended = tokio::time::timeout_at(deadline, part).await;
    ended.unwrap_or_else(|_| {
        Err(StepError::not_yet(
            StepCode::CutoverBudget,
            format!("the budget of the write-blocked window was nearly used up ({part_name})"),
        ))
    })
}

struct CutoverAttempt<'a> {
    context: &'a StepContext,
    parties: &'a CutoverParties,
    number: AttemptNo,
    /// The ids that the controller generated for the markers. The request of the flip contains them, as evidence that
    /// the stream has applied both markers.
    markers: Option<Markers>,
    facts: &'a GateFacts,
    /// The versions (`xmin`) of the catalog rows when the definitions were last checked.
    catalog_versions: String,
    sessions: CutoverSessions,
    /// The value of the old owner's attempt counter (I7) that the fence set. The seal proves that it has not changed.
    fence_count: AttemptCount,
    deadlines: AttemptDeadlines,
    /// The number of changes of moving rows that the stream had applied when it reached the first marker.
    changes_at_fence: u64,
    /// The time when the controller granted the permission to seal.
    permitted_at: Instant,
    /// The stream after it has stopped at the second marker.
    old_stream: Option<ApplyStream>,
    times: WriteBlockTimes,
}

impl CutoverAttempt<'_> {
    /// Runs C3 to C5, and requests the permission to seal at the same time as C5.
    async fn fence_and_drain(&mut self) -> Result<(), StepError> {
        let marker = Marker::new(&self.parties.shards.token, self.number, MarkerKind::Fenced)
            .with_id(self.markers.map(|markers| markers.fenced));
        let marker_writer = self
            .sessions
            .marker_after_wait(&self.parties.shards, &marker);
        let fence = RegisterSetting::FencedFor(self.context.dispatch.options.write_stop_budget_ms);
        let proof = EpochProof::Next(self.number);
        let fence_started = Instant::now();
        let writers;
        let keyed_tables = self.context.keyed_tables();
        let awaited = self.sessions.awaited_writers(&keyed_tables);
        (self.fence_count, writers) = marker_writer.set_and_mark(proof, fence, awaited).await?;
        fail_point::hit(fence_fail_point(self.parties.direction)).await?;
        self.times.fence = millis_since(fence_started);
        let wait_started = Instant::now();
        marker_writer
            .wait_and_mark(writers, self.deadlines.seal)
            .await?;
        self.times.wait_out = millis_since(wait_started);

        // From this request on the controller locks the row of the ownership. The agent does not request it earlier:
        // commands of the operator would have to wait for the writers. It awaits the answer even if the drain fails, so
        // that the release of the attempt comes after the permission and ends it.
        let permission = self.request_permission();
        let (drained, permission) = tokio::join!(self.drain(marker.id), permission);
        (self.changes_at_fence, self.times.drain) = drained?;
        self.permitted_at = permission?;
        Ok(())
    }

    /// C5: waits until the marker is applied. Meanwhile advances the sequences (C6): no session writes to the moving
    /// keys any more. Returns the number of changes of moving rows before the marker, and the duration in milliseconds.
    async fn drain(&self, marker: Uuid) -> Result<(u64, f64), StepError> {
        let drain_started = Instant::now();
        let (applied, ()) =
            tokio::try_join!(self.wait_until_applied(marker), self.advance_sequences())?;
        Ok((applied, millis_since(drain_started)))
    }

    /// Waits until a marker is applied. Returns the number of changes of moving rows before it.
    async fn wait_until_applied(&self, marker: Uuid) -> Result<u64, StepError> {
        wait_until_applied(self.context, marker, self.deadlines.flip).await
    }

    /// Returns an error if the stream has applied changes of moving rows after the first marker: the fence had expired.
    /// `applied` is the number of changes before a later marker.
    fn check_no_change_since_fence(&self, applied: u64) -> Result<(), StepError> {
        if applied == self.changes_at_fence {
            return Ok(());
        }
        Err(StepError::not_yet(
            StepCode::FenceExpired,
            format!(
                "the fence had expired before the seal: the application has made {} change(s) of moving rows after the first marker",
                applied.abs_diff(self.changes_at_fence)
            ),
        ))
    }

    /// C6: sets the new owner's sequences to values after those of the old owner.
    async fn advance_sequences(&self) -> Result<(), StepError> {
        let (old_owner, new_owner) = (&self.sessions.old_owner, &self.sessions.new_owner);
        advance_sequences(self.context, self.parties, self.facts, old_owner, new_owner).await
    }

    /// C6: checks that the rows of all dirty keys are equal on both shards. Returns how many keys were compared.
    ///
    /// The comparison precedes the seal, because its duration depends on the number of keys and tables, and a sealed
    /// shard stays closed without a time limit. If the fence expires during the comparison, later changes precede the
    /// second marker, and the agent gives up the attempt.
    async fn compare_dirty_keys(&mut self) -> Result<i64, StepError> {
        let check_started = Instant::now();
        fail_point::hit("cutover.before_check").await?;
        let (context, shards) = (self.context, &self.parties.shards);
        let (different, compared) =
            dirty::count_differences(context, shards, &self.sessions.comparison_sessions()).await?;
        self.times.check = millis_since(check_started);
        if different > 0 {
            self.check_still_fenced().await?;
            return Err(StepError::refused(
                StepCode::VerifyDifferent,
                format!(
                    "{different} row(s) that changed before the fence differ on the two shards"
                ),
                "find out which session wrote to the new owner; `abort` the migration and plan it again",
            ));
        }
        Ok(i64::try_from(compared).unwrap_or(i64::MAX))
    }

    /// Writes a check marker, and returns an error if a moving row has changed between the first marker and this one:
    /// the fence has expired, so the difference need not be an error.
    async fn check_still_fenced(&self) -> Result<(), StepError> {
        let (shards, session) = (&self.parties.shards, &self.sessions.old_owner);
        let marker = Marker::new(&shards.token, self.number, MarkerKind::Fenced);
        marker.emit(session, &shards.token).await?;
        self.check_no_change_since_fence(self.wait_until_applied(marker.id).await?)
    }

    /// Requests the permission to seal again if it is older than [`MAX_PERMISSION_AGE`].
    async fn renew_permission(&mut self) -> Result<(), StepError> {
        fail_point::hit("cutover.before_seal").await?;
        if self.permitted_at.elapsed() > MAX_PERMISSION_AGE {
            self.permitted_at = self.request_permission().await?;
        }
        Ok(())
    }

    /// Requests the permission to seal (C7), for which the controller locks the row of the ownership. Returns the time
    /// of the answer.
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
        Err(refusal_error("allow the seal", &answer))
    }

    /// C7 and C8: seals the old owner, and waits for the end of the stream. From here on the old owner stays closed,
    /// also if the agent dies.
    async fn seal(&mut self) -> Result<(), StepError> {
        let seal_started = Instant::now();
        let wait_out_ms = self.seal_and_recheck().await?;
        self.end_stream().await;
        self.times.wait_out += wait_out_ms;
        self.times.seal = millis_since(seal_started) - wait_out_ms;
        Ok(())
    }

    /// C7 and C8: seals the old owner, and makes the final recheck while the second marker passes through the stream.
    /// Returns the duration of the wait-out in milliseconds.
    async fn seal_and_recheck(&self) -> Result<f64, StepError> {
        let (context, parties) = (self.context, self.parties);
        let marker = Marker::new(&parties.shards.token, self.number, MarkerKind::Sealed)
            .with_id(self.markers.map(|markers| markers.sealed));
        if let Some(stream) = context.session.stream.lock().await.as_ref() {
            stream.stop_at(marker.id);
        }
        let marker_writer = self.sessions.marker_after_wait(&parties.shards, &marker);
        let proof = EpochProof::Count(self.fence_count);
        let sealing = marker_writer.set_and_mark(
            proof,
            RegisterSetting::Closed,
            AwaitedWriters::PassedExpiredFence,
        );
        let (_, writers) = sealing.await?;
        fail_point::hit("cutover.sealed").await?;
        let wait_started = Instant::now();
        marker_writer
            .wait_and_mark(writers, self.deadlines.flip)
            .await?;
        let wait_out_ms = millis_since(wait_started);
        let old_owner = &self.sessions.old_owner;
        let new_owner = &self.sessions.new_owner;
        let drained = async {
            self.check_no_change_since_fence(self.wait_until_applied(marker.id).await?)?;
            wait_for_new_standbys(context, new_owner, self.deadlines.flip).await
        };
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
        Ok(wait_out_ms)
    }

    /// Waits for the end of the stream, which has stopped exactly at the second marker (R7). Its idle sessions are
    /// closed only when the new owner is open.
    async fn end_stream(&mut self) {
        self.old_stream = self.context.session.stream.lock().await.take();
        if let Some(stream) = &mut self.old_stream {
            stream.wait_until_ended().await;
        }
    }

    /// C9: requests the flip of the map, until the controller answers. If it has flipped the map, the cutover can only
    /// continue.
    async fn flip(&mut self) -> Result<plans::id::MapVersion, StepError> {
        let flip_started = Instant::now();
        let request = CutoverQuery::Flip {
            direction: self.parties.direction,
            attempt: self.number,
            // The agent has waited until the stream has applied both markers.
            applied: self.markers,
        };
        let answer = call_until_answered(self.context, &request).await?;
        let CutoverAnswer::Flipped { map_version } = answer else {
            return Err(refusal_error("flip the map", &answer));
        };
        self.times.flip = millis_since(flip_started);
        fail_point::hit("cutover.flipped").await?;
        Ok(map_version)
    }
}

/// Waits until a marker is applied. Returns the number of changes of moving rows before it.
///
/// # Errors
/// `drain.budget` if the marker is not applied at `deadline`.
pub(super) async fn wait_until_applied(
    context: &StepContext,
    marker: Uuid,
    deadline: Instant,
) -> Result<u64, StepError> {
    let watch = verify::subscribe_to_stream(context).await?;
    tokio::time::timeout_at(deadline, crate::stream::wait_for_marker(watch, marker))
        .await
        .map_err(|_| {
            StepError::not_yet(
                StepCode::DrainBudget,
                "the stream did not apply the marker within the budget of the write-blocked window",
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
    fn a_part_of_each_budget_is_left_after_the_seal_and_after_the_flip() {
        let now = Instant::now();
        let deadlines_ms = |budget| {
            let deadlines = AttemptDeadlines::of(Duration::from_millis(budget), now);
            [deadlines.seal, deadlines.flip]
                .map(|deadline| deadline.duration_since(now).as_millis())
        };
        assert_eq!(deadlines_ms(100), [80, 90]);
        assert_eq!(deadlines_ms(2000), [1600, 1800]);
    }
}
