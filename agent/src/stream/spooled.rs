//! A run of a stream with a spool. It has up to three modes, in this order:
//! 1. *Spooling*: the stream writes changes to the spool.
//! 2. *Draining*: it applies the changes of the spool, while a capture writes further changes to it.
//! 3. *Live*: it applies changes directly from the slot.
//!
//! A run begins in the mode live if the stream may apply changes, its spool is empty and its downstream shard is
//! available. A stream without a spool is always live.

use std::time::Duration;

use plans::failure::{RetryClass, StepCode};
use plans::wire::StreamMode;
use tokio::time::Instant;

use super::StreamSpec;
use super::batch::ApplyBatch;
use super::capture::{self, SpoolCapture};
use super::confirmable::ConfirmablePosition;
use super::copy_snapshots::CopySnapshots;
use super::feed::EventFeed;
use super::run::{StreamRun, accept_request};
use super::state::StreamState;
use super::supervisor::restart_delay;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::FeedbackMode;
use crate::shard::{apply_progress, published_tables};
use crate::spool::{Spool, SpoolLocation};
use crate::stream::apply::{Applier, Executor};
use crate::stream::dual_write;
use crate::stream::second_lane;
use plans::names::Direction;

/// When fewer bytes than this remain in the spool, the capture ends. The stream then reads the rest of the spool, and
/// afterwards the slot.
const NEARLY_DRAINED_BYTES: u64 = 1 << 20;
/// Under synchronous dual-write, a batch is committed after this time at the latest, also while more changes arrive.
const MAX_UNAWAITED_DELAY: Duration = Duration::from_millis(2);

/// The ways in which a run ends without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The stream has applied the marker after which it ends, or it has been dropped.
    Ended,
    /// The stream continues in another mode, with a new run.
    ChangeMode,
}

/// Runs until the stream has ended or must change its mode.
pub(super) async fn run(shared: &mut StreamState) -> Result<RunEnd, StepError> {
    let Some(location) = shared.spec.spool.clone() else {
        let run = prepare_run(shared).await?;
        return apply_directly(shared, run, None).await;
    };
    // The slot is read before the spool. A writer makes changes durable in the spool before it confirms them to the
    // slot, so the spool contains everything that was confirmed.
    let confirmed = capture::read_confirmed_position(&shared.spec).await?;
    let spool = open_or_discard_spool(location, confirmed).await?;
    let begins_with_spool = std::mem::take(&mut shared.spools_first);
    if spool.covered_range().is_none() && shared.may_apply() && !begins_with_spool {
        match prepare_run(shared).await {
            Ok(run) => return apply_directly(shared, run, None).await,
            Err(error) if is_transient(&error) => {
                tracing::warn!(%error, "changes are spooled until the downstream shard is available");
            }
            Err(error) => return Err(error),
        }
    }
    let mut capture =
        SpoolCapture::start(&shared.spec, &spool, confirmed, shared.publish.subscribe()).await?;
    let Some(run) = spool_until_applicable(shared, &mut capture).await? else {
        return Ok(RunEnd::Ended);
    };
    let drained = drain_spool(shared, &mut capture, &spool, run).await?;
    match drained {
        DrainOutcome::Drained(run) => {
            let end = capture.durable.borrow().end;
            apply_directly(shared, *run, Some(DrainedSpool { spool, end })).await
        }
        DrainOutcome::Ended => Ok(RunEnd::Ended),
        DrainOutcome::MustNotApply => Ok(RunEnd::ChangeMode),
    }
}

/// Opens the spool that earlier runs have left. Discards it if it ends before the confirmed position of the slot: an
/// agent with another spool has continued from the slot since.
async fn open_or_discard_spool(
    location: SpoolLocation,
    confirmed: Lsn,
) -> Result<Spool, StepError> {
    let spool = Spool::open(location.clone()).await?;
    if spool
        .covered_range()
        .is_none_or(|(_, end)| end >= confirmed)
    {
        return Ok(spool);
    }
    tracing::info!(%confirmed, "the spool is discarded, because it ends before the confirmed position of the slot: another agent has continued from the slot");
    spool.remove().await?;
    Spool::open(location).await
}

/// Opens a session on the downstream shard, and reads there the progress, the definitions of the tables, and which
/// changes the copy already contains.
async fn prepare_run(shared: &StreamState) -> Result<StreamRun, StepError> {
    let spec = &shared.spec;
    let shard = spec.downstream.name.as_str();
    let session = spec.downstream.replica_session("apply").await?;
    let progress = apply_progress::read_settled(&session, &spec.token, spec.direction).await?;
    let progress = progress.ok_or_else(|| {
        StepError::refused(
            StepCode::StreamProgress,
            format!(
                "shard {shard}: the row with the progress of the {} stream does not exist",
                spec.direction
            ),
            "`abort` the migration and plan it again",
        )
    })?;
    let (token, direction) = (&spec.token, spec.direction);
    let (copy_snapshots, second) = match direction {
        Direction::Forward => (
            CopySnapshots::load(&session, token, &spec.tables).await?,
            second_lane::read_position_ahead(&session, token, direction, progress.lsn).await?,
        ),
        // Clients with an old map read the downstream shard of a reverse stream, so only one session writes there: each
        // batch becomes visible in one commit.
        Direction::Reverse => (None, None),
    };
    let mut applier = Applier::prepare(&session, &spec.tables).await?;
    let upstream = spec.upstream.session("apply").await?;
    applier.read_upstream_constraints(&upstream).await?;
    let slots = shared.standby_slots.clone();
    let confirmable = ConfirmablePosition::start(spec, slots, &session, progress.lsn).await?;
    let executor = Executor::new(session).await?;
    let batch = ApplyBatch::new(executor, applier, progress, second);
    let retired =
        published_tables::retired(&upstream, &spec.token.migration, spec.direction).await?;
    Ok(StreamRun::new(batch, copy_snapshots, confirmable, retired))
}

fn is_transient(error: &StepError) -> bool {
    matches!(error, StepError::Failed(failure) if failure.retry != RetryClass::None)
}

/// Waits, while `capture` writes to the spool, until changes may be applied and the downstream shard is available.
/// Returns `None` if the stream has been dropped.
async fn spool_until_applicable(
    shared: &mut StreamState,
    capture: &mut SpoolCapture,
) -> Result<Option<StreamRun>, StepError> {
    shared.set_mode(StreamMode::Spooling);
    let mut failures = 0;
    loop {
        shared.answer_pauses();
        if shared.may_apply() {
            match prepare_run(shared).await {
                Ok(run) => {
                    set_downstream_error(shared, None);
                    check_no_gap(&shared.spec, &run, capture.begin)?;
                    return Ok(Some(run));
                }
                Err(error) if is_transient(&error) => {
                    set_downstream_error(shared, Some(error.to_string()));
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let must_retry = shared.may_apply();
        tokio::select! {
            biased;
            request = shared.requests.recv() => if accept_request(shared, request).is_none() {
                return Ok(None);
            },
            failure = capture.wait_for_failure() => return Err(failure),
            () = tokio::time::sleep(restart_delay(failures)), if must_retry => {}
        }
    }
}

fn set_downstream_error(shared: &StreamState, why: Option<String>) {
    shared
        .publish
        .send_modify(|observation| observation.downstream_error = why);
}

/// Checks that the changes of the spool follow the applied ones without a gap (I3).
fn check_no_gap(spec: &StreamSpec, run: &StreamRun, begin: Lsn) -> Result<(), StepError> {
    let applied = run.batch.progress.lsn;
    if begin <= applied {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::SlotGap,
        format!(
            "shard {}: the stream has applied changes up to {applied}, but its spool begins at {begin}",
            spec.downstream.name
        ),
        "the changes between these positions are in the spool of another agent: start that agent again, or `abort` the migration",
    ))
}

/// The ways in which the draining of a spool ends.
enum DrainOutcome {
    /// Every spooled change is applied, and the capture has ended, so another session can read the slot.
    Drained(Box<StreamRun>),
    /// The stream has applied the marker after which it ends, or it has been dropped.
    Ended,
    /// The stream must not apply changes for now.
    MustNotApply,
}

/// Applies the changes of the spool. Ends the capture when the spool is nearly empty.
async fn drain_spool(
    shared: &mut StreamState,
    capture: &mut SpoolCapture,
    spool: &Spool,
    mut run: StreamRun,
) -> Result<DrainOutcome, StepError> {
    shared.set_mode(StreamMode::Draining);
    let upstream = shared.spec.upstream.name.clone();
    let mut feed = EventFeed::Spool(spool.reader(capture.durable.clone()));
    let mut is_capturing = true;
    loop {
        run.answer_pauses_if_idle(shared);
        tokio::select! {
            biased;
            request = shared.requests.recv() => {
                if accept_request(shared, request).is_none() {
                    return Ok(DrainOutcome::Ended);
                }
                if !shared.may_apply() {
                    return Ok(DrainOutcome::MustNotApply);
                }
            }
            failure = capture.wait_for_failure(), if is_capturing => return Err(failure),
            event = feed.next(&upstream) => {
                let Some(event) = event? else { break };
                if run.handle_event(shared, &mut feed, event).await? {
                    capture.stop().await;
                    if run.flushed_end() >= capture.durable.borrow().end {
                        spool.remove().await?;
                    }
                    return Ok(DrainOutcome::Ended);
                }
            }
            // While the capture runs, more changes will follow, so a batch need not be committed because the reader has
            // none.
            () = tokio::time::sleep_until(run.batch.commit_due()), if run.can_commit() && !is_capturing => {
                run.commit(shared, &mut feed).await?;
            }
        }
        spool.remove_applied(run.confirmable.position());
        let remaining_bytes = capture
            .durable
            .borrow()
            .end
            .bytes_since(run.batch.position());
        publish_spooled_bytes(shared, remaining_bytes);
        if is_capturing && remaining_bytes < NEARLY_DRAINED_BYTES {
            capture.stop().await;
            is_capturing = false;
        }
    }
    run.commit(shared, &mut feed).await?;
    publish_spooled_bytes(shared, 0);
    Ok(DrainOutcome::Drained(Box::new(run)))
}

fn publish_spooled_bytes(shared: &StreamState, bytes: u64) {
    shared.publish.send_if_modified(|observation| {
        observation.status.spooled_bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        false
    });
}

/// A spool of which everything is applied.
struct DrainedSpool {
    spool: Spool,
    /// The position after its last transaction.
    end: Lsn,
}

/// Applies the changes of the slot as they arrive. Removes the spool `drained` as soon as the last of its changes are
/// durable on the downstream shard and on its standbys.
async fn apply_directly(
    shared: &mut StreamState,
    mut run: StreamRun,
    mut drained: Option<DrainedSpool>,
) -> Result<RunEnd, StepError> {
    let upstream = shared.spec.upstream.name.clone();
    let is_synchronous = shared.spec.dual_write.is_some();
    let (role, feedback) = if is_synchronous {
        (dual_write::STANDBY_ROLE, FeedbackMode::Prompt)
    } else {
        ("capture", FeedbackMode::Easy)
    };
    remove_if_flushed(&mut drained, run.flushed_end()).await?;
    let stream = capture::open_stream(&shared.spec, run.batch.position(), role, feedback).await?;
    let mut feed = EventFeed::Slot(Box::new(stream));
    shared.set_mode(StreamMode::Live);
    let mut uncommitted_since: Option<Instant> = None;
    loop {
        run.answer_pauses_if_idle(shared);
        if shared.is_prompt() {
            feed.keep_walsender();
        } else {
            feed.note_wal_end(shared.publish.borrow().wal_end);
        }
        let more = wait_for_more(shared.is_prompt(), run.batch.commit_due());
        tokio::select! {
            biased;
            request = shared.requests.recv() => {
                if accept_request(shared, request).is_none() {
                    return Ok(RunEnd::Ended);
                }
                if !shared.may_apply() && shared.spec.spool.is_some() {
                    break;
                }
            }
            event = feed.next(&upstream) => {
                let Some(event) = event? else { break };
                if run.handle_event(shared, &mut feed, event).await? {
                    if drained.is_some() {
                        // The capture has confirmed the slot up to the end of the spool, so the spool may only be
                        // removed when everything is durable, also on the standbys (I3). The cutover does not wait for
                        // them: otherwise the steps that end the migration remove the spool.
                        run.commit(shared, &mut feed).await?;
                    }
                    remove_if_flushed(&mut drained, run.flushed_end()).await?;
                    // The stream applies nothing more, so its end need not wait until the sessions are closed.
                    let close_sessions = shared.close_sessions.clone();
                    tokio::spawn(async move {
                        close_sessions.cancelled().await;
                        drop(run);
                        close_feed(feed).await;
                    });
                    return Ok(RunEnd::Ended);
                }
            }
            () = more, if run.can_commit() => run.commit(shared, &mut feed).await?,
            () = run.confirmable.advanced() => feed.confirm(run.confirmable.position()),
        }
        remove_if_flushed(&mut drained, run.flushed_end()).await?;
        // Under synchronous dual-write, commits may wait for changes of this batch.
        uncommitted_since = (is_synchronous && run.can_commit())
            .then(|| uncommitted_since.unwrap_or_else(Instant::now));
        if uncommitted_since.is_some_and(|since| since.elapsed() >= MAX_UNAWAITED_DELAY) {
            run.commit(shared, &mut feed).await?;
            uncommitted_since = None;
        }
        if must_spool(shared, &run) {
            shared.spools_first = true;
            break;
        }
    }
    drop(run);
    close_feed(feed).await;
    Ok(RunEnd::ChangeMode)
}

/// Removes the spool if its changes are durable on the downstream shard and on its standbys, up to `flushed_end`.
async fn remove_if_flushed(
    drained: &mut Option<DrainedSpool>,
    flushed_end: Lsn,
) -> Result<(), StepError> {
    match drained.take_if(|drained| flushed_end >= drained.end) {
        Some(drained) => drained.spool.remove().await,
        None => Ok(()),
    }
}

/// Waits for more changes of a batch until `due`. If `prompt`, waits only for changes that have already arrived.
async fn wait_for_more(prompt: bool, due: Instant) {
    if prompt {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep_until(due).await;
    }
}

async fn close_feed(feed: EventFeed) {
    if let EventFeed::Slot(stream) = feed {
        // An error is ignored: the server sends unconfirmed changes again.
        let _ = stream.close().await;
    }
}

/// Returns whether the stream is so far behind that it must spool, so that the upstream shard need not retain the WAL.
/// Returns `false` in a cutover, in which the stream has almost no lag.
fn must_spool(shared: &StreamState, run: &StreamRun) -> bool {
    shared.spec.spool.is_some()
        && shared.stop_at.is_none()
        && shared
            .publish
            .borrow()
            .wal_end
            .bytes_since(run.batch.progress.lsn)
            > shared.spec.spool_threshold_bytes
}
