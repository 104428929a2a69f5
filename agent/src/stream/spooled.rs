//! The modes of a run: spooling, draining the spool, live. A run begins in the mode that follows from the spool of
//! the last one.
//!
//! A stream is live from its start if it may apply changes, its spool is empty and its downstream shard is available.

use std::time::Duration;

use plans::failure::{RetryClass, StepCode};
use plans::wire::StreamMode;
use tokio::time::Instant;

use super::StreamSpec;
use super::batch::ApplyBatch;
use super::capture::{self, SpoolCapture};
use super::feed::EventFeed;
use super::run::{StreamRun, take_request};
use super::state::StreamState;
use super::supervisor::restart_delay;
use super::visible::VisibleRows;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::FeedbackMode;
use crate::shard::apply_progress;
use crate::spool::{Spool, SpoolLocation};
use crate::stream::apply::{Applier, Executor};
use crate::stream::dual_write;
use crate::stream::second_lane;
use plans::names::Direction;

/// When fewer bytes than this are left in the spool, the capture ends; the stream then reads the rest and afterwards
/// the slot.
const NEARLY_DRAINED_BYTES: u64 = 1 << 20;
/// With synchronous dual-write, changes for which no commit waits are themselves committed after this time.
const MAX_PROMPT_WAIT: Duration = Duration::from_millis(2);

/// The ways in which a run ends without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The marker to stop at is applied, or the stream has been dropped.
    Ended,
    /// The stream continues in another mode.
    ChangeMode,
}

/// Runs until the stream has ended or must change its mode.
pub(super) async fn run(shared: &mut StreamState) -> Result<RunEnd, StepError> {
    let Some(location) = shared.spec.spool.clone() else {
        let run = prepare_run(&shared.spec).await?;
        return apply_live(shared, run, None).await;
    };
    // The order is safe because the writer of a spool makes changes durable before it confirms them: the slot is read
    // before the spool.
    let confirmed = capture::read_confirmed(&shared.spec).await?;
    let spool = open_spool(location, confirmed).await?;
    let lagged = std::mem::take(&mut shared.lags);
    if spool.covered().is_none() && shared.may_apply() && !lagged {
        match prepare_run(&shared.spec).await {
            Ok(run) => return apply_live(shared, run, None).await,
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
        DrainOutcome::Drained(run) => apply_live(shared, *run, Some(spool)).await,
        DrainOutcome::Ended => {
            spool.remove().await?;
            Ok(RunEnd::Ended)
        }
        DrainOutcome::MustNotApply => Ok(RunEnd::ChangeMode),
    }
}

/// Opens the spool that earlier runs have left. Discards it if an agent with another spool has continued from the
/// slot since.
async fn open_spool(location: SpoolLocation, confirmed: Lsn) -> Result<Spool, StepError> {
    let spool = Spool::open(location.clone()).await?;
    if spool.covered().is_none_or(|(_, end)| end >= confirmed) {
        return Ok(spool);
    }
    tracing::info!(%confirmed, "the spool is older than the slot: another agent has continued from the slot");
    spool.remove().await?;
    Spool::open(location).await
}

/// Prepares the downstream shard: the session, the progress, the tables, and what the copy already contains.
async fn prepare_run(spec: &StreamSpec) -> Result<StreamRun, StepError> {
    let shard = spec.downstream.name.as_str();
    let session = spec.downstream.replica_session("apply").await?;
    let progress = apply_progress::read_settled(&session, &spec.token, spec.direction).await?;
    let progress = progress.ok_or_else(|| {
        StepError::refused(
            StepCode::StreamProgress,
            format!(
                "shard {shard}: the {} stream has no row with its progress",
                spec.direction
            ),
            "`abort` it and plan it again",
        )
    })?;
    let (token, direction) = (&spec.token, spec.direction);
    let (visible_rows, second) = match direction {
        Direction::Forward => (
            VisibleRows::load(&session, token, &spec.tables).await?,
            second_lane::read_position_ahead(&session, token, direction, progress.lsn).await?,
        ),
        // Clients with an old map read the downstream shard of a reverse stream, so one session writes it.
        Direction::Reverse => (None, None),
    };
    let mut applier = Applier::prepare(&session, &spec.tables).await?;
    let upstream = spec.upstream.session("apply").await?;
    applier.read_upstream_constraints(&upstream).await?;
    let executor = Executor::new(session).await?;
    let batch = ApplyBatch::new(executor, applier, progress, second);
    Ok(StreamRun::new(batch, visible_rows))
}

fn is_transient(error: &StepError) -> bool {
    matches!(error, StepError::Failed(failure) if failure.retry != RetryClass::None)
}

/// Captures until changes may be applied and the downstream shard is available. Returns `None` if the stream has been
/// dropped.
async fn spool_until_applicable(
    shared: &mut StreamState,
    capture: &mut SpoolCapture,
) -> Result<Option<StreamRun>, StepError> {
    shared.set_mode(StreamMode::Spooling);
    let mut failures = 0;
    loop {
        shared.answer_pauses();
        if shared.may_apply() {
            match prepare_run(&shared.spec).await {
                Ok(run) => {
                    set_downstream_error(shared, None);
                    check_gap(&shared.spec, &run, capture.begin)?;
                    return Ok(Some(run));
                }
                Err(error) if is_transient(&error) => {
                    set_downstream_error(shared, Some(error.to_string()));
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let retry = shared.may_apply();
        tokio::select! {
            biased;
            request = shared.requests.recv() => if take_request(shared, request).is_none() {
                return Ok(None);
            },
            failure = capture.wait_for_failure() => return Err(failure),
            () = tokio::time::sleep(restart_delay(failures)), if retry => {}
        }
    }
}

fn set_downstream_error(shared: &StreamState, why: Option<String>) {
    shared
        .publish
        .send_modify(|observation| observation.downstream_error = why);
}

/// Checks that everything before the confirmed position of the slot is in the spool or applied (I3).
fn check_gap(spec: &StreamSpec, run: &StreamRun, begin: Lsn) -> Result<(), StepError> {
    let applied = run.batch.progress.lsn;
    if begin <= applied {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::SlotGap,
        format!(
            "shard {}: changes are applied up to {applied}, but the spool begins at {begin}",
            spec.downstream.name
        ),
        "the changes between are in the spool of another agent: start that agent again, or `abort` the migration",
    ))
}

/// The ways in which the draining of a spool ends.
enum DrainOutcome {
    /// Every spooled change is applied, and the slot is free.
    Drained(Box<StreamRun>),
    /// The marker to stop at is applied, or the stream has been dropped.
    Ended,
    /// The stream must not apply changes for now.
    MustNotApply,
}

async fn drain_spool(
    shared: &mut StreamState,
    capture: &mut SpoolCapture,
    spool: &Spool,
    mut run: StreamRun,
) -> Result<DrainOutcome, StepError> {
    shared.set_mode(StreamMode::Draining);
    let upstream = shared.spec.upstream.name.clone();
    let mut feed = EventFeed::Spool(spool.reader(capture.durable.clone()));
    let mut capturing = true;
    loop {
        run.answer_pauses_if_idle(shared);
        tokio::select! {
            biased;
            request = shared.requests.recv() => {
                if take_request(shared, request).is_none() {
                    return Ok(DrainOutcome::Ended);
                }
                if !shared.may_apply() {
                    return Ok(DrainOutcome::MustNotApply);
                }
            }
            failure = capture.wait_for_failure(), if capturing => return Err(failure),
            event = feed.next(&upstream) => {
                let Some(event) = event? else { break };
                if run.handle_event(shared, &mut feed, event).await? {
                    capture.stop().await;
                    return Ok(DrainOutcome::Ended);
                }
            }
            // While the capture runs, more changes follow in the spool even if its reader pauses.
            () = tokio::time::sleep_until(run.batch.commit_due()), if run.can_commit() && !capturing => {
                run.commit(shared, &mut feed).await?;
            }
        }
        spool.remove_applied(run.batch.progress.lsn);
        let left = capture
            .durable
            .borrow()
            .end
            .bytes_since(run.batch.position());
        publish_spooled_bytes(shared, left);
        if capturing && left < NEARLY_DRAINED_BYTES {
            capture.stop().await;
            capturing = false;
        }
    }
    run.commit(shared, &mut feed).await?;
    publish_spooled_bytes(shared, 0);
    Ok(DrainOutcome::Drained(Box::new(run)))
}

fn publish_spooled_bytes(shared: &StreamState, left: u64) {
    shared.publish.send_if_modified(|observation| {
        observation.status.spooled_bytes = i64::try_from(left).unwrap_or(i64::MAX);
        false
    });
}

/// Applies the changes of the slot as they arrive. Removes the spool `drained` as soon as all of it is durable on the
/// downstream shard.
async fn apply_live(
    shared: &mut StreamState,
    mut run: StreamRun,
    mut drained: Option<Spool>,
) -> Result<RunEnd, StepError> {
    let upstream = shared.spec.upstream.name.clone();
    let is_synchronous = shared.spec.dual_write.is_some();
    let (role, feedback) = if is_synchronous {
        (dual_write::STANDBY_ROLE, FeedbackMode::Prompt)
    } else {
        ("capture", FeedbackMode::Easy)
    };
    if run.batch.is_empty() {
        remove_spool(&mut drained).await?;
    }
    let stream = capture::open_stream(&shared.spec, run.batch.position(), role, feedback).await?;
    let mut feed = EventFeed::Live(Box::new(stream));
    shared.set_mode(StreamMode::Live);
    let mut waits_since: Option<Instant> = None;
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
                if take_request(shared, request).is_none() {
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
                        // The slot is confirmed up to the end of the spool.
                        run.commit(shared, &mut feed).await?;
                    }
                    remove_spool(&mut drained).await?;
                    // The stream applies nothing more. Its last feedback to the slot need not be waited for.
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
        }
        if drained.is_some() && run.batch.is_empty() {
            remove_spool(&mut drained).await?;
        }
        // Changes for which no commit waits must not delay those for which one does.
        waits_since =
            (is_synchronous && run.can_commit()).then(|| waits_since.unwrap_or_else(Instant::now));
        if waits_since.is_some_and(|since| since.elapsed() >= MAX_PROMPT_WAIT) {
            run.commit(shared, &mut feed).await?;
            waits_since = None;
        }
        if lags_too_far(shared, &run) {
            shared.lags = true;
            break;
        }
    }
    drop(run);
    close_feed(feed).await;
    Ok(RunEnd::ChangeMode)
}

async fn remove_spool(drained: &mut Option<Spool>) -> Result<(), StepError> {
    match drained.take() {
        Some(spool) => spool.remove().await,
        None => Ok(()),
    }
}

/// Waits for more changes of a batch. A prompt stream waits only for those that have arrived already.
async fn wait_for_more(prompt: bool, due: Instant) {
    if prompt {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep_until(due).await;
    }
}

async fn close_feed(feed: EventFeed) {
    if let EventFeed::Live(stream) = feed {
        // The server sends unconfirmed changes again.
        let _ = stream.close().await;
    }
}

/// Returns whether the upstream shard retains so much WAL that the stream must spool. Returns `false` in a cutover, in
/// which the stream has almost no lag.
fn lags_too_far(shared: &StreamState, run: &StreamRun) -> bool {
    shared.spec.spool.is_some()
        && shared.stop_at.is_none()
        && shared
            .publish
            .borrow()
            .wal_end
            .bytes_since(run.batch.progress.lsn)
            > shared.spec.spool_threshold_bytes
}
