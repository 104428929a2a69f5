//! Copies the moving rows by units and chunks, and then builds the primary keys.
//!
//! A *unit* is a table that the agent reads by blocks, or a range of keys of a table. The agent copies all rows of a
//! unit with one snapshot. A *chunk* is a part of a unit; its rows and its mark `done` commit together. Meanwhile the
//! change stream writes captured changes to the spool.
//!
//! In this folder a *COPY stream* is one of the pairs of sessions that copy chunks at the same time.
//!
//! If the agent dies, only the chunks in progress are copied again. If the source crashes, the snapshot is lost: units
//! that are not done begin again with a later snapshot, and the stream skips changes that the snapshot contains
//! (docs/protocol.md, units and snapshots).
//!
//! If moves of one operation with the same source run in this process, one of them reads each chunk for all (a shared
//! scan).

mod chunk;
mod hours;
mod progress;
mod reader;
mod resync;
mod shared_chunks;
mod snapshots;
mod unfinished;
mod units;
mod work;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::identity::DatabaseIdentity;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::throttle::MAX_STREAMS;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::build_indexes;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::user_code::CodeProver;
use crate::shard::{identity, snapshot};
use crate::shared_scan::calls::BoardMembership;
use crate::shared_scan::participants::{ArrivedParticipant, SharedScan};
use chunk::ChunkOutcome;
use progress::CopyProgress;
use reader::CopyReader;
use resync::ResyncEnd;
pub(super) use resync::compare_copied_rows_again;
use shared_chunks::CopyMethod;
pub(crate) use snapshots::hold_newest_snapshot;
pub(super) use snapshots::record_adoption;
pub(crate) use snapshots::record_slot_snapshot;
pub(super) use unfinished::empty_partly_copied_units;
#[cfg(test)]
pub(crate) use unfinished::empty_unfinished_units;
use units::CopyChunk;
pub(super) use units::record_copied_tables;

/// The state that all COPY streams of a copy share.
struct CopyRun<'a> {
    context: &'a StepContext,
    /// (source, target): they prove that reading and writing rows runs no untrusted code.
    provers: (Arc<CodeProver>, Arc<CodeProver>),
    queue: Mutex<ChunkQueue>,
    progress: CopyProgress,
    /// The number of chunks of the copy, done or not.
    total_chunks: usize,
    /// The snapshot as text (`xmin:xmax:xip`); an offline move has none.
    snapshot: Option<String>,
    /// The entry of this move in the shared scan, if other moves may copy the same chunks.
    membership: Option<BoardMembership>,
    /// Cancelled when the queue has no further chunk that may be copied now.
    finished: CancellationToken,
}

/// The chunks that are left to copy with one snapshot.
struct ChunkQueue {
    chunks: VecDeque<CopyChunk>,
    /// Units of which a chunk has been taken. All their chunks must be copied with the same snapshot.
    begun_units: BTreeSet<i32>,
    /// No further unit may begin after this time, at which the snapshot reaches its maximum age. `None`: no limit.
    begin_until: Option<Instant>,
    /// True if the snapshot can no longer be imported.
    snapshot_lost: bool,
}

impl ChunkQueue {
    /// Takes the first chunk that may be copied now. If `may_begin_units` is false, only chunks of units that have
    /// begun may.
    fn take_next(&mut self, may_begin_units: bool) -> Option<CopyChunk> {
        self.take_first(may_begin_units, |_| true)
    }

    /// Like [`ChunkQueue::take_next`], among the chunks for which `is_wanted` is true.
    fn take_first(
        &mut self,
        may_begin_units: bool,
        is_wanted: impl Fn(&CopyChunk) -> bool,
    ) -> Option<CopyChunk> {
        if self.snapshot_lost {
            return None;
        }
        let only_begun_units = !may_begin_units
            || self
                .begin_until
                .is_some_and(|begin_until| Instant::now() >= begin_until);
        let mut chunks = self.chunks.iter();
        let is_eligible =
            |chunk: &CopyChunk| !only_begun_units || self.begun_units.contains(&chunk.unit);
        let index = chunks.position(|chunk| is_eligible(chunk) && is_wanted(chunk))?;
        let chunk = self.chunks.remove(index)?;
        self.begun_units.insert(chunk.unit);
        Some(chunk)
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Copied, StepError> {
    let target = context.target()?;
    let session = target.session("copy").await?;
    let server = identity::read_named(&session).await?;
    if context.is_online() {
        context.ensure_capture().await?;
    }
    let arrived = ArrivedParticipant::arrive(&context.dispatch);
    // The result is not used: this check only fills caches while the chunks are planned. Each writing transaction
    // checks again.
    let fill_caches = async {
        context
            .session
            .code_prover(&target)
            .await?
            .prove_locked(&context.dispatch.tables)
            .await
    };
    let planned = units::plan_chunks(context, &session, arrived.as_ref());
    tokio::try_join!(planned, fill_caches)?;
    let shared_scan = wait_for_participants(context, arrived.as_ref()).await;
    let started = Instant::now();
    context.report_message("copying");
    while copy_with_one_snapshot(context, &session, shared_scan).await? > 0 {}
    drop(arrived);
    let seconds = started.elapsed().as_secs_f64();
    context.report_message("building primary keys");
    context
        .session
        .set_eta_seconds(Some(progress::primary_key_seconds(seconds)));
    build_indexes::build(context, "key").await?;
    if context.is_online() {
        end_holders(context).await?;
    }
    copy_result(context, &session, seconds, server).await
}

/// Ends the sessions that hold the copy's snapshot, also those of an earlier agent.
pub(super) async fn end_holders(context: &StepContext) -> Result<(), StepError> {
    *context.session.snapshot_holders.lock().await = None;
    let source = context.source()?;
    let session = source.session("snapshot").await?;
    snapshot::end_holders(&session, context.dispatch.migration.as_str()).await
}

/// Waits for the participants that have not arrived yet, and reports the wait. Returns the shared scan, if this move
/// takes part in one.
async fn wait_for_participants<'a>(
    context: &StepContext,
    arrived: Option<&'a ArrivedParticipant>,
) -> Option<&'a Arc<SharedScan>> {
    let arrived = arrived?;
    let missing = arrived.missing();
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
        let others = format!(
            "migrations that read the source together with this one: {}",
            names.join(", ")
        );
        context.report_waiting(format!("waiting for {others}"), &others);
    }
    let is_shared = arrived.wait_for_participants().await;
    context.session.set_expected_participant(None);
    is_shared.then(|| arrived.scan())
}

/// Resynchronizes the tables and copies the chunks that the current snapshot permits. Returns how many tables and chunks
/// are left for a later snapshot.
async fn copy_with_one_snapshot(
    context: &StepContext,
    target: &Connected,
    shared_scan: Option<&Arc<SharedScan>>,
) -> Result<usize, StepError> {
    hours::wait_for_hours(context, target).await?;
    let current = snapshots::current_snapshot(context, target, shared_scan).await?;
    let number = current.as_ref().map(|current| current.number);
    let begin_until = current.as_ref().map(|current| current.begin_until);
    if resync::run(context, target, (number, begin_until)).await? == ResyncEnd::NeedsLaterSnapshot {
        return snapshots::count_remaining(context, target).await;
    }
    let mut remaining = units::remaining_chunks(context, target).await?;
    if let Some(current) = &current {
        remaining.retain(|chunk| chunk.first_snapshot <= current.number);
    }
    if remaining.is_empty() {
        return Ok(0);
    }
    let total_chunks = units::count_chunks(context, target).await?;
    let progress = CopyProgress::start(context, &remaining, target).await?;
    let queue = ChunkQueue {
        begun_units: units::begun_units(context, target).await?,
        chunks: remaining,
        begin_until,
        snapshot_lost: false,
    };
    let snapshot = current.map(|current| current.text);
    let scan_and_snapshot = shared_scan.zip(snapshot.as_ref());
    let (from, to) = (context.source()?, context.target()?);
    let shared = Arc::new(CopyRun {
        context,
        provers: tokio::try_join!(
            context.session.code_prover(&from),
            context.session.code_prover(&to)
        )?,
        total_chunks,
        progress,
        membership: scan_and_snapshot.map(|(scan, text)| {
            let pieces = shared_chunks::shared_pieces(context, &queue);
            BoardMembership::enter(scan, &context.dispatch.migration, text, pieces)
        }),
        snapshot,
        queue: Mutex::new(queue),
        finished: CancellationToken::new(),
    });
    if let Some(scan) = shared_scan {
        scan.wait_until_all_entered().await;
    }
    let streams = (0..MAX_STREAMS).map(|own| run_stream(shared.clone(), own, number));
    futures::future::try_join_all(streams).await?;
    snapshots::count_remaining(context, target).await
}

/// Runs the COPY stream with the number `own` (from 0) whenever the throttle permits more than `own` streams.
async fn run_stream(
    shared: Arc<CopyRun<'_>>,
    own: u32,
    snapshot: Option<i32>,
) -> Result<(), StepError> {
    let throttle = &shared.context.session.throttle;
    loop {
        tokio::select! {
            biased;
            () = shared.finished.cancelled() => return Ok(()),
            () = throttle.wait_until_allowed(own) => copy_while_allowed(&shared, own, snapshot).await?,
        }
    }
}

/// Copies chunks in new sessions, until the throttle permits fewer streams or the queue has no further chunk.
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
    while own < throttle.max_streams() {
        if shared.context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let (next, left) =
            shared_chunks::take_next(shared, throttle.hours_to_wait_for().is_none())?;
        let Some((chunk, method)) = next else {
            shared.finished.cancel();
            return Ok(());
        };
        let outcome = match method {
            CopyMethod::Alone => {
                chunk::copy_alone(shared, &chunk, snapshot, &mut reader, &mut into).await?
            }
            CopyMethod::ReadForAll(call) => {
                shared_chunks::read_for_participants(
                    shared,
                    &chunk,
                    snapshot,
                    &mut reader,
                    &mut into,
                    call,
                )
                .await?
            }
            CopyMethod::Receive(receiver) => {
                shared_chunks::write_received(shared, &chunk, snapshot, &mut into, receiver).await?
            }
        };
        match outcome {
            ChunkOutcome::Done => {}
            // This chunk is not done, so the next call of `copy_with_one_snapshot` copies it. This stream continues
            // with new sessions.
            ChunkOutcome::ReaderEnded => return Ok(()),
            ChunkOutcome::SnapshotLost => {
                let mut queue = shared.queue.lock().map_err(|_| StepError::Interrupted)?;
                queue.snapshot_lost = true;
                shared.finished.cancel();
                return Ok(());
            }
        }
        if left * 2 <= shared.total_chunks {
            fail_point::hit("copy.half").await?;
        }
    }
    Ok(())
}

/// Returns the error for a table that was rewritten, so that its chunks are no longer valid. The copy begins again.
fn rewritten_error(message: String) -> StepError {
    StepError::Rewind {
        to: StepKind::CreateTarget,
        failure: Failure {
            code: StepCode::CopyRewritten.into(),
            message,
            hint: Some(
                "do not run VACUUM FULL or CLUSTER on moving tables during the copy".to_owned(),
            ),
            retry: RetryClass::Exponential,
        },
    }
}

/// Returns the output of the step, from the chunks and snapshots that are recorded on the target.
async fn copy_result(
    context: &StepContext,
    session: &Connected,
    seconds: f64,
    server: DatabaseIdentity,
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
        .at(format_args!(
            "shard {shard}: reading the totals of the copy"
        ))?;
    Ok(Copied {
        rows: row.get(0),
        bytes: row.get(1),
        bytes_twice: row.get(2),
        largest_chunk_bytes: row.get(3),
        units: row.get(4),
        snapshots: row.get(5),
        seconds,
        target: Some(server),
        resync: resync::totals(context, session).await?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::copy_stream::{BlockRange, CopyExtent};

    /// Returns a queue with chunks of three units, of which unit 2 has begun.
    fn test_queue(begin_until: Option<Instant>) -> ChunkQueue {
        let chunk = |(ordinal, unit)| CopyChunk {
            ordinal,
            unit,
            table: 0,
            filenode: 1,
            extent: CopyExtent::Blocks(BlockRange { from: 0, to: None }),
            begun: 0,
            first_snapshot: 0,
        };
        ChunkQueue {
            chunks: [(3, 1), (4, 1), (5, 2), (7, 3), (8, 2)].map(chunk).into(),
            begun_units: BTreeSet::from([2]),
            begin_until,
            snapshot_lost: false,
        }
    }

    /// Takes all chunks that may be copied, and returns their numbers.
    fn take_all(mut queue: ChunkQueue) -> Vec<i32> {
        std::iter::from_fn(|| queue.take_next(true).map(|chunk| chunk.ordinal)).collect()
    }

    #[test]
    fn with_an_old_snapshot_only_units_that_have_begun_are_copied() {
        assert_eq!(take_all(test_queue(Some(Instant::now()))), [5, 8]);
    }

    #[test]
    fn with_a_young_snapshot_all_chunks_are_copied_in_their_order_and_with_a_lost_one_none() {
        assert_eq!(take_all(test_queue(None)), [3, 4, 5, 7, 8]);
        let lost = ChunkQueue {
            snapshot_lost: true,
            ..test_queue(None)
        };
        assert_eq!(take_all(lost), [] as [i32; 0]);
    }
}
