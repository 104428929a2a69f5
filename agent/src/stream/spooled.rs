//! The modes of a run: spooling, draining the spool, live; it begins where the last one has stopped.
//!
//! A stream that may apply, has nothing in its spool and reaches the destination is live at once.

use std::time::Duration;

use plans::failure::RetryClass;
use plans::wire::StreamMode;
use tokio::time::Instant;

use super::batch::ApplyBatch;
use super::capture::{self, SpoolCapture};
use super::feed::EventFeed;
use super::run::{RunEnd, StreamRun, took};
use super::visible::VisibleRows;
use super::{StreamSpec, StreamState, pause};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::FeedbackMode;
use crate::postgres::replication::SLOT_GAP;
use crate::shard::apply_progress;
use crate::spool::{Spool, SpoolLocation};
use crate::stream::apply::{Applier, Executor};
use crate::stream::dual_write;
use crate::stream::second_lane;
use plans::names::Direction;

/// The spool is as good as drained: the capture ends, the rest is read, then the slot itself.
const NEARLY_DRAINED: u64 = 1 << 20;
/// Changes that nobody waits for are committed that soon where commits on the origin wait for others.
const PROMPT: Duration = Duration::from_millis(2);

/// Runs until the stream has ended, or should go on in another mode.
pub(super) async fn run(shared: &mut StreamState) -> Result<RunEnd, StepError> {
    let Some(place) = shared.spec.spool.clone() else {
        let run = open(&shared.spec).await?;
        return live(shared, run, None).await;
    };
    // Whoever shares this spool makes durable first and confirms then: the slot is read before the spool.
    let confirmed = capture::confirmed(&shared.spec).await?;
    let spool = open_spool(place, confirmed).await?;
    let was_behind = std::mem::take(&mut shared.behind);
    if spool.covered().is_none() && shared.may_apply() && !was_behind {
        match open(&shared.spec).await {
            Ok(run) => return live(shared, run, None).await,
            Err(error) if is_passing(&error) => {
                tracing::warn!(%error, "changes are spooled until the other shard is back");
            }
            Err(error) => return Err(error),
        }
    }
    let mut capture =
        SpoolCapture::start(&shared.spec, &spool, confirmed, shared.publish.subscribe()).await?;
    let Some(run) = spooling(shared, &mut capture).await? else {
        return Ok(RunEnd::Done);
    };
    let drained = drain(shared, &mut capture, &spool, run).await?;
    match drained {
        DrainOutcome::Level(run) => live(shared, *run, Some(spool)).await,
        DrainOutcome::Done => {
            spool.remove().await?;
            Ok(RunEnd::Done)
        }
        DrainOutcome::Held => Ok(RunEnd::Again),
    }
}

/// What earlier runs have left; nothing, if an agent with another spool has gone on from the slot since.
async fn open_spool(place: SpoolLocation, confirmed: Lsn) -> Result<Spool, StepError> {
    let spool = Spool::open(place.clone()).await?;
    if spool.covered().is_none_or(|(_, end)| end >= confirmed) {
        return Ok(spool);
    }
    tracing::info!(%confirmed, "the spool is older than the slot: another agent went on");
    spool.remove().await?;
    Spool::open(place).await
}

/// Prepares the destination: session, progress, statements, what the copy holds.
async fn open(spec: &StreamSpec) -> Result<StreamRun, StepError> {
    let shard = spec.destination.name.as_str();
    let session = spec.destination.replica_session("apply").await?;
    let progress = apply_progress::read_settled(&session, &spec.token, spec.direction).await?;
    let progress = progress.ok_or_else(|| {
        StepError::refused(
            "stream.progress",
            format!(
                "shard {shard}: the {} stream has no progress row",
                spec.direction
            ),
            "`abort` it and plan it again",
        )
    })?;
    let (token, direction) = (&spec.token, spec.direction);
    let (visible, second) = match direction {
        Direction::Forward => (
            VisibleRows::load(&session, token, &spec.tables).await?,
            second_lane::read_settled(&session, token, direction, progress.lsn).await?,
        ),
        // Its destination is read by whoever has an old map, and so written by one session.
        Direction::Reverse => (None, None),
    };
    let mut applier = Applier::prepare(&session, &spec.tables).await?;
    let origin = spec.origin.session("apply").await?;
    applier.learn_rivals(&origin).await?;
    let executor = Executor::new(session).await?;
    let batch = ApplyBatch::new(executor, applier, progress, second);
    Ok(StreamRun::new(batch, visible))
}

fn is_passing(error: &StepError) -> bool {
    matches!(error, StepError::Failed(failure) if failure.retry != RetryClass::None)
}

/// Captures until changes may be applied and the destination is there; `None` when nobody wants it any more.
async fn spooling(
    shared: &mut StreamState,
    capture: &mut SpoolCapture,
) -> Result<Option<StreamRun>, StepError> {
    shared.mode(StreamMode::Spooling);
    let mut failures = 0;
    loop {
        shared.settle();
        if shared.may_apply() {
            match open(&shared.spec).await {
                Ok(run) => {
                    away(shared, None);
                    check_gap(&shared.spec, &run, capture.begin)?;
                    return Ok(Some(run));
                }
                Err(error) if is_passing(&error) => {
                    away(shared, Some(error.to_string()));
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let again = shared.may_apply();
        tokio::select! {
            biased;
            request = shared.requests.recv() => if took(shared, request).is_none() {
                return Ok(None);
            },
            failure = capture.failure() => return Err(failure),
            () = tokio::time::sleep(pause(failures)), if again => {}
        }
    }
}

fn away(shared: &StreamState, why: Option<String>) {
    shared.publish.send_modify(|seen| seen.away = why);
}

/// What the slot was confirmed for must be in the spool, or be applied (I3).
fn check_gap(spec: &StreamSpec, run: &StreamRun, begin: Lsn) -> Result<(), StepError> {
    let applied = run.batch.progress.lsn;
    if begin <= applied {
        return Ok(());
    }
    Err(StepError::refused(
        SLOT_GAP,
        format!(
            "shard {}: changes are applied up to {applied}, the spool begins at {begin}",
            spec.destination.name
        ),
        "the spool of the agent that captured them is needed: start that agent again, or `abort` it",
    ))
}

/// How the draining of a spool ends.
enum DrainOutcome {
    /// Everything is applied; the slot is free.
    Level(Box<StreamRun>),
    /// The marker to stop at is applied.
    Done,
    /// Nothing more may be applied for now.
    Held,
}

async fn drain(
    shared: &mut StreamState,
    capture: &mut SpoolCapture,
    spool: &Spool,
    mut run: StreamRun,
) -> Result<DrainOutcome, StepError> {
    shared.mode(StreamMode::Draining);
    let origin = shared.spec.origin.name.clone();
    let mut feed = EventFeed::Spool(spool.reader(capture.durable.clone()));
    let mut capturing = true;
    loop {
        run.settle(shared);
        tokio::select! {
            biased;
            request = shared.requests.recv() => {
                if took(shared, request).is_none() {
                    return Ok(DrainOutcome::Done);
                }
                if !shared.may_apply() {
                    return Ok(DrainOutcome::Held);
                }
            }
            failure = capture.failure(), if capturing => return Err(failure),
            event = feed.next(&origin) => {
                let Some(event) = event? else { break };
                if run.handle(shared, &mut feed, event).await? {
                    capture.stop().await;
                    return Ok(DrainOutcome::Done);
                }
            }
            // While it captures there is more in the spool than a pause of its reader could tell.
            () = tokio::time::sleep_until(run.batch.due()), if run.may_commit() && !capturing => {
                run.commit(shared, &mut feed).await?;
            }
        }
        spool.applied(run.batch.progress.lsn);
        let left = capture
            .durable
            .borrow()
            .end
            .bytes_since(run.batch.position());
        tell(shared, left);
        if capturing && left < NEARLY_DRAINED {
            capture.stop().await;
            capturing = false;
        }
    }
    run.commit(shared, &mut feed).await?;
    tell(shared, 0);
    Ok(DrainOutcome::Level(Box::new(run)))
}

fn tell(shared: &StreamState, left: u64) {
    shared.publish.send_if_modified(|seen| {
        seen.status.spooled_bytes = i64::try_from(left).unwrap_or(i64::MAX);
        false
    });
}

/// Applies what the slot sends, at once; `drained` goes as soon as all of it is durable on the other shard.
async fn live(
    shared: &mut StreamState,
    mut run: StreamRun,
    mut drained: Option<Spool>,
) -> Result<RunEnd, StepError> {
    let origin = shared.spec.origin.name.clone();
    let prompt = shared.spec.dual_write.is_some();
    let (role, feedback) = if prompt {
        (dual_write::ROLE, FeedbackMode::Prompt)
    } else {
        ("capture", FeedbackMode::Easy)
    };
    if run.batch.is_empty() {
        remove(&mut drained).await?;
    }
    let stream = capture::open(&shared.spec, run.batch.position(), role, feedback).await?;
    let mut feed = EventFeed::Live(Box::new(stream));
    shared.mode(StreamMode::Live);
    let mut waits_since: Option<Instant> = None;
    loop {
        run.settle(shared);
        if shared.is_prompt() {
            feed.stay();
        } else {
            feed.wrote(shared.publish.borrow().written);
        }
        let patience = linger(shared.is_prompt(), run.batch.due());
        tokio::select! {
            biased;
            request = shared.requests.recv() => {
                if took(shared, request).is_none() {
                    return Ok(RunEnd::Done);
                }
                if !shared.may_apply() && shared.spec.spool.is_some() {
                    break;
                }
            }
            event = feed.next(&origin) => {
                let Some(event) = event? else { break };
                if run.handle(shared, &mut feed, event).await? {
                    if drained.is_some() {
                        // The slot is confirmed up to its end.
                        run.commit(shared, &mut feed).await?;
                    }
                    remove(&mut drained).await?;
                    // Nothing is applied any more. The last report to the slot may take its time.
                    let let_go = shared.let_go.clone();
                    tokio::spawn(async move {
                        let_go.cancelled().await;
                        drop(run);
                        close(feed).await;
                    });
                    return Ok(RunEnd::Done);
                }
            }
            () = patience, if run.may_commit() => run.commit(shared, &mut feed).await?,
        }
        if drained.is_some() && run.batch.is_empty() {
            remove(&mut drained).await?;
        }
        // Changes that nobody waits for must not keep back those that somebody does.
        waits_since =
            (prompt && run.may_commit()).then(|| waits_since.unwrap_or_else(Instant::now));
        if waits_since.is_some_and(|since| since.elapsed() >= PROMPT) {
            run.commit(shared, &mut feed).await?;
            waits_since = None;
        }
        if is_far_behind(shared, &run) {
            shared.behind = true;
            break;
        }
    }
    drop(run);
    close(feed).await;
    Ok(RunEnd::Again)
}

async fn remove(drained: &mut Option<Spool>) -> Result<(), StepError> {
    match drained.take() {
        Some(spool) => spool.remove().await,
        None => Ok(()),
    }
}

/// How long a batch waits for more; a prompt one only for what has arrived already.
async fn linger(prompt: bool, due: Instant) {
    if prompt {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep_until(due).await;
    }
}

async fn close(feed: EventFeed) {
    if let EventFeed::Live(stream) = feed {
        // What was not reported is sent again.
        let _ = stream.close().await;
    }
}

/// The origin would have to keep too much of its log; not in a cutover, which is level.
fn is_far_behind(shared: &StreamState, run: &StreamRun) -> bool {
    shared.spec.spool.is_some()
        && shared.stop_at.is_none()
        && shared
            .publish
            .borrow()
            .written
            .bytes_since(run.batch.progress.lsn)
            > shared.spec.spool_beyond
}
