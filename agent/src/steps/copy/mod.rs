//! Copies the moving rows unit by unit, chunk by chunk, then builds the primary keys.
//!
//! A unit is what one snapshot copies: a table read by blocks, or a range of its keys. A chunk is a part of a
//! unit; its rows and its DONE mark commit together. Captured changes go into the spool meanwhile.
//! An agent that dies costs the chunks in flight; a source that dies costs the units that are not done: they
//! begin again with a later snapshot, and the stream's filter tells what it holds (docs/protocol.md, copy).
//! Moves of one operation that leave the same source are read together where they meet in this process.

mod chunk;
mod hours;
mod progress;
mod reader;
mod snapshots;
mod together;
mod units;
mod work;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use connect::Connected;
use plans::failure::{Failure, RetryClass};
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::throttle::MOST_STREAMS;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::build_indexes;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::snapshot;
use crate::shard::user_code::CodeProver;
use crate::shared_scan::calls::BoardMembership;
use crate::shared_scan::participants::{ArrivedParticipant, SharedScan};
use chunk::ChunkOutcome;
use progress::CopyProgress;
use reader::CopyReader;
#[cfg(test)]
pub(crate) use snapshots::empty_unfinished;
pub(crate) use snapshots::keep as keep_snapshot;
pub(crate) use snapshots::record_first;
use together::CopyMethod;
use units::CopyChunk;

/// What all streams share.
struct CopyRun<'a> {
    context: &'a StepContext,
    /// On the source and on the target: nothing that is read or written runs code that is not trusted.
    provers: (Arc<CodeProver>, Arc<CodeProver>),
    queue: Mutex<ChunkQueue>,
    progress: CopyProgress,
    total: usize,
    /// How the snapshot prints; offline there is none.
    snapshot: Option<String>,
    /// Others may copy the same chunks.
    membership: Option<BoardMembership>,
    /// No stream finds a chunk in the queue any more.
    over: CancellationToken,
}

/// What is left to copy with one snapshot.
struct ChunkQueue {
    chunks: VecDeque<CopyChunk>,
    /// Units that have begun: they must end with the same snapshot.
    begun: BTreeSet<i32>,
    /// No unit begins after this moment: the snapshot has its age.
    until: Option<Instant>,
    /// The snapshot is gone.
    lost: bool,
}

impl ChunkQueue {
    /// The first chunk that may be copied now: of any unit, or only of one that has begun.
    fn next(&mut self, open: bool) -> Option<CopyChunk> {
        self.first(open, |_| true)
    }

    /// The first of those that are `wanted`.
    fn first(&mut self, open: bool, wanted: impl Fn(&CopyChunk) -> bool) -> Option<CopyChunk> {
        if self.lost {
            return None;
        }
        let too_late = !open || self.until.is_some_and(|until| Instant::now() >= until);
        let mut chunks = self.chunks.iter();
        let may = |chunk: &CopyChunk| !too_late || self.begun.contains(&chunk.unit);
        let at = chunks.position(|chunk| may(chunk) && wanted(chunk))?;
        let chunk = self.chunks.remove(at)?;
        self.begun.insert(chunk.unit);
        Some(chunk)
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Copied, StepError> {
    let target = context.target()?;
    let session = target.session("copy").await?;
    if context.is_online() {
        context.ensure_capture().await?;
    }
    let arrived = ArrivedParticipant::begin(&context.dispatch);
    // Planned beside the other: the writers' own transactions prove it again.
    let ready = async {
        context
            .session
            .code_prover(&target)
            .await?
            .prove_locked(&context.dispatch.tables)
            .await
    };
    let planned = units::plan(context, &session, arrived.as_ref());
    tokio::try_join!(planned, ready)?;
    let company = gather(context, arrived.as_ref()).await;
    let started = Instant::now();
    context.report_message("copying");
    while with_one_snapshot(context, &session, company).await? > 0 {}
    drop(arrived);
    let seconds = started.elapsed().as_secs_f64();
    context.report_message("building primary keys");
    context
        .session
        .set_eta_seconds(Some(progress::keys_after(seconds)));
    build_indexes::build(context, "key").await?;
    if context.is_online() {
        end_holders(context).await?;
    }
    copied(context, &session, seconds).await
}

/// Ends the sessions that hold the copy's snapshot.
async fn end_holders(context: &StepContext) -> Result<(), StepError> {
    *context.session.snapshot_holders.lock().await = None;
    let source = context.source()?;
    let session = source.session("snapshot").await?;
    snapshot::end_holders(&session, context.dispatch.migration.as_str()).await
}

/// Waits for expected participants, and reports so; returns the shared scan, if this move has one now.
async fn gather<'a>(
    context: &StepContext,
    arrived: Option<&'a ArrivedParticipant>,
) -> Option<&'a Arc<SharedScan>> {
    let arrived = arrived?;
    let awaited = arrived.awaited();
    if !awaited.is_empty() {
        let names: Vec<_> = awaited.iter().map(ToString::to_string).collect();
        let others = format!("migrations to read with: {}", names.join(", "));
        context.report_waiting(format!("waiting for {others}"), &others);
    }
    let company = arrived.gather().await;
    context.session.set_expected_participant(None);
    company.then(|| arrived.scan())
}

/// Copies what can be copied with the current snapshot; how many chunks are left for a later one.
async fn with_one_snapshot(
    context: &StepContext,
    target: &Connected,
    company: Option<&Arc<SharedScan>>,
) -> Result<usize, StepError> {
    hours::wait(context, target).await?;
    let current = snapshots::current(context, target, company).await?;
    let todo = units::left(context, target).await?;
    if todo.is_empty() {
        return Ok(0);
    }
    let total = units::count(context, target).await?;
    let progress = CopyProgress::start(context, &todo, target).await?;
    let queue = ChunkQueue {
        begun: units::begun(context, target).await?,
        chunks: todo,
        until: current.as_ref().map(|current| current.until),
        lost: false,
    };
    let number = current.as_ref().map(|current| current.number);
    let snapshot = current.map(|current| current.text);
    let meeting = company.zip(snapshot.as_ref());
    let (from, to) = (context.source()?, context.target()?);
    let shared = Arc::new(CopyRun {
        context,
        provers: tokio::try_join!(
            context.session.code_prover(&from),
            context.session.code_prover(&to)
        )?,
        total,
        progress,
        membership: meeting.map(|(scan, text)| {
            let pieces = together::pieces(context, &queue);
            BoardMembership::enter(scan, &context.dispatch.migration, text, pieces)
        }),
        snapshot,
        queue: Mutex::new(queue),
        over: CancellationToken::new(),
    });
    if let Some(scan) = company {
        scan.until_entered().await;
    }
    let streams = (0..MOST_STREAMS).map(|own| stream(shared.clone(), own, number));
    futures::future::try_join_all(streams).await?;
    Ok(units::left(context, target).await?.len())
}

/// The stream with the number `own` copies while so many are allowed.
async fn stream(
    shared: Arc<CopyRun<'_>>,
    own: u32,
    snapshot: Option<i32>,
) -> Result<(), StepError> {
    let throttle = &shared.context.session.throttle;
    loop {
        tokio::select! {
            biased;
            () = shared.over.cancelled() => return Ok(()),
            () = throttle.allows(own) => copy_while_allowed(&shared, own, snapshot).await?,
        }
    }
}

async fn copy_while_allowed(
    shared: &CopyRun<'_>,
    own: u32,
    snapshot: Option<i32>,
) -> Result<(), StepError> {
    let throttle = &shared.context.session.throttle;
    let source = shared.context.source()?;
    let target = shared.context.target()?;
    let session = source.session("copy").await?;
    let prover = &shared.provers.0;
    let mut reader = CopyReader::new(session, prover.clone());
    let mut into = target.replica_session("copy").await?;
    while own < throttle.streams() {
        if shared.context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let (next, left) = together::next(shared, throttle.closed().is_none())?;
        let Some((chunk, way)) = next else {
            shared.over.cancel();
            return Ok(());
        };
        let outcome = match way {
            CopyMethod::Alone => {
                chunk::copy(shared, &chunk, snapshot, &mut reader, &mut into).await?
            }
            CopyMethod::Reading(call) => {
                together::read(shared, &chunk, snapshot, &mut reader, &mut into, call).await?
            }
            CopyMethod::Given(given) => {
                together::write(shared, &chunk, snapshot, &mut into, given).await?
            }
        };
        match outcome {
            ChunkOutcome::Done => {}
            // The chunk's turn comes again behind the others; the stream goes on with new sessions.
            ChunkOutcome::Left => return Ok(()),
            ChunkOutcome::SnapshotLost => {
                let mut queue = shared.queue.lock().map_err(|_| StepError::Interrupted)?;
                queue.lost = true;
                shared.over.cancel();
                return Ok(());
            }
        }
        if left * 2 <= shared.total {
            fail_point::hit("copy.half").await?;
        }
    }
    Ok(())
}

/// What the copy's chunks rely on is not so any more: it begins again.
fn rewritten(message: String) -> StepError {
    StepError::Rewind {
        to: StepKind::CreateTarget,
        failure: Failure {
            code: "copy.rewritten".to_owned(),
            message,
            hint: Some(
                "do not run VACUUM FULL or CLUSTER on moving tables during the copy".to_owned(),
            ),
            retry: RetryClass::Exponential,
        },
    }
}

async fn copied(
    context: &StepContext,
    session: &Connected,
    seconds: f64,
) -> Result<Copied, StepError> {
    let shard = session.name();
    let row = session
        .query_one(
            "select coalesce(sum(rows), 0)::bigint, coalesce(sum(bytes), 0)::bigint,
                    coalesce(sum(bytes * (begun - 1)), 0)::bigint, coalesce(max(bytes), 0),
                    count(distinct unit),
                    (select count(*) from shardwright.snapshot s where s.migration = $1)
             from shardwright.chunk where migration = $1",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: adding up the copy"))?;
    Ok(Copied {
        rows: row.get(0),
        bytes: row.get(1),
        bytes_twice: row.get(2),
        largest_chunk_bytes: row.get(3),
        units: row.get(4),
        snapshots: row.get(5),
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::copy_stream::{BlockRange, CopyExtent};

    fn queue(until: Option<Instant>) -> ChunkQueue {
        let chunk = |(ordinal, unit)| CopyChunk {
            ordinal,
            unit,
            table: 0,
            filenode: 1,
            extent: CopyExtent::Blocks(BlockRange { from: 0, to: None }),
            begun: 0,
        };
        ChunkQueue {
            chunks: [(3, 1), (4, 1), (5, 2), (7, 3), (8, 2)].map(chunk).into(),
            begun: BTreeSet::from([2]),
            until,
            lost: false,
        }
    }

    fn order(mut queue: ChunkQueue) -> Vec<i32> {
        std::iter::from_fn(|| queue.next(true).map(|chunk| chunk.ordinal)).collect()
    }

    #[test]
    fn a_unit_that_has_begun_ends_with_an_old_snapshot_although_another_stands_before_it() {
        assert_eq!(order(queue(Some(Instant::now()))), [5, 8]);
    }

    #[test]
    fn with_a_young_snapshot_chunks_are_copied_in_their_order_and_without_one_none() {
        assert_eq!(order(queue(None)), [3, 4, 5, 7, 8]);
        let lost = ChunkQueue {
            lost: true,
            ..queue(None)
        };
        assert_eq!(order(lost), [] as [i32; 0]);
    }
}
