//! Compares the rows of both shards at exact positions in the owner's WAL while writes continue.
//!
//! Order:
//! 1. The agent pauses the change stream. It creates a temporary slot, which gives a position, and a snapshot that sees
//!    exactly the commits before it.
//! 2. The stream applies the changes up to exactly this position. Then the agent opens a snapshot on the downstream
//!    shard.
//! 3. The agent compares the rows in chunks, and records each result durably (`compare::ComparisonRecords`).
//!
//! An interrupted run continues with the remaining chunks at a new position. So does a run whose snapshots are too old.
//! A chunk that was equal at an older position still counts, because the key of every later change is marked as dirty:
//! - The stream marks dirty keys as soon as `build_indexes`, the step before this one, is done.
//! - This step removes only marks that are older than the positions of all chunks that count.

mod point;
mod remaining;
mod repair;

use std::sync::Arc;

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::names::Direction;
use plans::step::verify::{ROWS_NAMED, ROWS_REPAIRED, Verified, VerifyRun};
use tokio::time::{Duration, Instant};

use crate::compare::{
    self, ChunkRecord, ComparisonRecords, MovingRows, RowDifferences, RowsDigest, RunTotals,
    TableStorage,
};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::shard::user_code::CodeProver;
use crate::stream::ApplyStream;
use point::ComparisonPoint;
#[cfg(test)]
pub(crate) use point::open_offline_point;
use remaining::RemainingTables;

/// The number of rows in a chunk. An interrupted comparison repeats at most one chunk.
const CHUNK_ROWS: u32 = 500_000;
/// The number of rows in a chunk if the request limits the application's latency: the comparison pauses after each
/// chunk.
const LATENCY_CHUNK_ROWS: u32 = 50_000;
/// Maximum number of repairs in one run. If a row differs again after a repair, another program changes it.
const MAX_REPAIRS: u32 = 2;

/// The upstream and the downstream shard of a change stream, with the proof of epoch for writes on them.
pub(crate) struct StreamShards {
    pub(crate) upstream: Shard,
    pub(crate) downstream: Shard,
    pub(crate) token: EpochToken,
}

impl StreamShards {
    /// Begins a transaction in a session on the upstream shard and in one on the downstream shard. Each transaction
    /// locks the moving tables, and proves that reading them runs no untrusted code (ADR 49).
    ///
    /// # Errors
    /// `code.untrusted`; the errors of the servers.
    pub(crate) async fn begin_reading(
        &self,
        context: &StepContext,
        upstream: &Connected,
        downstream: &Connected,
    ) -> Result<(), StepError> {
        let tables = &context.dispatch.tables;
        let (upstream_prover, downstream_prover) = self.code_provers(context).await?;
        tokio::try_join!(
            upstream_prover.begin(upstream, tables),
            downstream_prover.begin(downstream, tables)
        )
        .map(drop)
    }

    async fn code_provers(
        &self,
        context: &StepContext,
    ) -> Result<(Arc<CodeProver>, Arc<CodeProver>), StepError> {
        let session = &context.session;
        tokio::try_join!(
            session.code_prover(&self.upstream),
            session.code_prover(&self.downstream)
        )
    }

    pub(crate) fn of(context: &StepContext, direction: Direction) -> Result<Self, StepError> {
        Ok(match direction {
            Direction::Forward => Self {
                upstream: context.source()?,
                downstream: context.target()?,
                token: context.token(),
            },
            Direction::Reverse => Self {
                upstream: context.target()?,
                downstream: context.source()?,
                token: context.token_after_flip(),
            },
        })
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Verified, StepError> {
    let run = context.dispatch.verify.unwrap_or_default();
    let verified =
        run_comparison(context, Direction::Forward, run, max_chunk_rows(context)).await?;
    if verified.different > 0 {
        return Err(different_error(context, verified.different));
    }
    Ok(verified)
}

/// Compares the rows on the source with those of the new owner during the hold. Differences do not end the hold, but
/// the keys of these rows stay dirty, and prevent a rollback.
pub(super) async fn compare_in_hold(
    context: &StepContext,
    run: VerifyRun,
) -> Result<Verified, StepError> {
    run_comparison(context, Direction::Reverse, run, max_chunk_rows(context)).await
}

fn max_chunk_rows(context: &StepContext) -> u32 {
    if context.session.throttle.has_latency_limit() {
        LATENCY_CHUNK_ROWS
    } else {
        CHUNK_ROWS
    }
}

/// Runs a comparison to its end, or continues an interrupted one.
pub(super) async fn run_comparison(
    context: &StepContext,
    direction: Direction,
    run: VerifyRun,
    chunk_rows: u32,
) -> Result<Verified, StepError> {
    // The stream must mark dirty keys before the first position, so that every later change has a mark.
    if let Some(stream) = context.session.stream.lock().await.as_ref() {
        stream.start_recording_dirty_keys();
    }
    let shards = StreamShards::of(context, direction)?;
    let session = shards.downstream.session("verify").await?;
    let storage = read_owner_storage(context, direction, &shards.upstream).await?;
    let comparison = ComparisonRun {
        context,
        direction,
        shards: &shards,
        session: &session,
        repair: run.repair,
        chunk_rows,
    };
    let is_finished = comparison
        .records()
        .begin_run(run.number, &context.dispatch.schema_fingerprint, &storage)
        .await?;
    let compared_before = comparison.compared_before().await?;
    if !is_finished {
        comparison.compare_until_done().await?;
    }
    comparison.finish(compared_before).await
}

/// Returns the file nodes of the owner's tables. They are read before the first position, so that a later rewrite of a
/// table is detected.
async fn read_owner_storage(
    context: &StepContext,
    direction: Direction,
    owner: &Shard,
) -> Result<TableStorage, StepError> {
    let session = owner.session("verify").await?;
    catalog::storage(&session, context.captured_tables(direction)).await
}

/// A run of the comparison, until every chunk is compared.
struct ComparisonRun<'a> {
    context: &'a StepContext,
    direction: Direction,
    shards: &'a StreamShards,
    /// The session that records the results.
    session: &'a Connected,
    /// Whether rows that differ are repaired.
    repair: bool,
    /// The number of rows in a chunk.
    chunk_rows: u32,
}

impl ComparisonRun<'_> {
    fn records(&self) -> ComparisonRecords<'_> {
        ComparisonRecords {
            client: self.session,
            token: &self.shards.token,
            direction: self.direction,
        }
    }

    /// Returns how many chunks an interrupted run has already compared.
    async fn compared_before(&self) -> Result<i64, StepError> {
        let chunks = self.records().chunks().await?;
        let compared_before = chunks.iter().filter(|chunk| chunk.at.is_some()).count();
        Ok(i64::try_from(compared_before).unwrap_or(i64::MAX))
    }

    /// Compares until no chunk remains. If the run repairs rows, compares their chunks again.
    async fn compare_until_done(&self) -> Result<(), StepError> {
        let mut repairs = 0;
        loop {
            while self.has_remaining_chunks().await? {
                self.context.wait_for_permitted_hours().await;
                self.context
                    .report_message("opening snapshots of both shards at one exact position");
                let point = point::open_point(self.context, self.shards).await?;
                self.divide_tables_into_chunks(&point).await?;
                self.compare_at_point(&point).await?;
            }
            let different = RunTotals::of(&self.records().chunks().await?).different;
            if different == 0 || !self.repair || repairs == MAX_REPAIRS {
                return Ok(());
            }
            repairs += 1;
            self.context
                .report_message(format!("rewriting {different} row(s) that differ"));
            let written = repair::repair_rows(self, different).await?;
            self.records().reset_differing_chunks(written).await?;
        }
    }

    /// Returns the tables that are compared in this direction.
    fn tables(&self) -> impl Iterator<Item = MovingRows<'_>> {
        let keys = &self.context.dispatch.keys;
        let tables = self.context.captured_tables(self.direction);
        tables.map(|table| MovingRows::new(table, keys))
    }

    async fn has_remaining_chunks(&self) -> Result<bool, StepError> {
        let chunks = self.records().chunks().await?;
        let is_undivided = |moving: &MovingRows<'_>| {
            let name = moving.table.table.to_string();
            chunks.iter().all(|chunk| chunk.relation != name)
        };
        Ok(chunks.iter().any(|chunk| chunk.at.is_none())
            || self.tables().any(|table| is_undivided(&table)))
    }

    /// Divides each table into chunks that has none yet.
    async fn divide_tables_into_chunks(&self, point: &ComparisonPoint) -> Result<(), StepError> {
        let known = self.records().chunks().await?;
        for moving in self.tables() {
            let name = moving.table.table.to_string();
            if known.iter().any(|chunk| chunk.relation == name) {
                continue;
            }
            let table = std::slice::from_ref(moving.table);
            point.upstream.lock_and_prove_tables(table).await?;
            let parts =
                compare::cut_into_chunks(point.upstream.connection(), &moving, self.chunk_rows)
                    .await?;
            self.records().record_chunks(&name, &parts).await?;
        }
        Ok(())
    }

    /// Compares the remaining chunks, until the snapshots are too old or the permitted hours end.
    async fn compare_at_point(&self, point: &ComparisonPoint) -> Result<(), StepError> {
        let max_age = Duration::from_secs(u64::from(self.context.dispatch.options.snapshot_age_s));
        let mut chunks = self.records().chunks().await?;
        let started = Instant::now();
        let mut remaining = RemainingTables::begin(self.context, &chunks, self.session).await?;
        let throttle = &self.context.session.throttle;
        let work = throttle.begin_work();
        for moving in self.tables() {
            let name = moving.table.table.to_string();
            let is_due = |chunk: &ChunkRecord| chunk.relation == name && chunk.at.is_none();
            if !chunks.iter().any(is_due) {
                continue;
            }
            let table = std::slice::from_ref(moving.table);
            tokio::try_join!(
                point.upstream.lock_and_prove_tables(table),
                point.downstream.lock_and_prove_tables(table)
            )?;
            for chunk in chunks.iter_mut().filter(|chunk| is_due(chunk)) {
                if started.elapsed() > max_age || throttle.hours_to_wait_for().is_some() {
                    return Ok(());
                }
                self.context.report_message(format!("comparing {name}"));
                let (digest, found) = self.compare_chunk(point, &moving, chunk).await?;
                self.records()
                    .record_result(chunk, point.at, &digest, &found)
                    .await?;
                (chunk.rows, chunk.at) = (digest.rows, Some(point.at));
                chunk.different = found.different();
                remaining.add_compared(&name, digest.rows);
                fail_point::hit("verify.compared").await?;
                work.finish_piece(0).await;
            }
        }
        Ok(())
    }

    /// Compares the digests of a chunk, and its rows if the digests differ. Returns the owner's digest, and the
    /// differences.
    async fn compare_chunk(
        &self,
        point: &ComparisonPoint,
        moving: &MovingRows<'_>,
        chunk: &ChunkRecord,
    ) -> Result<(RowsDigest, RowDifferences), StepError> {
        let (upstream, downstream) = (point.upstream.connection(), point.downstream.connection());
        let owner_digest = compare::digest(upstream, moving, &chunk.part);
        let copy_digest = compare::digest(downstream, moving, &chunk.part);
        let (owner_digest, copy_digest) = if self.context.session.throttle.has_latency_limit() {
            (owner_digest.await?, copy_digest.await?)
        } else {
            tokio::try_join!(owner_digest, copy_digest)?
        };
        if owner_digest == copy_digest {
            return Ok((owner_digest, RowDifferences::default()));
        }
        let max_rows = if self.repair {
            ROWS_REPAIRED + 1
        } else {
            ROWS_NAMED
        };
        let found =
            compare::find_differences(upstream, downstream, moving, &chunk.part, max_rows).await?;
        if found.different() == 0 {
            return Err(unexplained_difference_error(&chunk.relation));
        }
        Ok((owner_digest, found))
    }

    /// Ends the run, and returns the output of the step. `compared_before`: see [`ComparisonRun::compared_before`].
    async fn finish(&self, compared_before: i64) -> Result<Verified, StepError> {
        let totals = RunTotals::of(&self.records().chunks().await?);
        let tables = self.records().digests().await?;
        let repaired = self.records().end_run(totals).await?;
        Ok(Verified {
            rows_compared: totals.rows,
            different: totals.different,
            at: totals.oldest.unwrap_or_default().to_string(),
            chunks: totals.chunks,
            chunks_kept: compared_before,
            repaired,
            tables,
        })
    }
}

fn different_error(context: &StepContext, rows: i64) -> StepError {
    let id = &context.dispatch.migration;
    StepError::Failed(Failure {
        code: StepCode::VerifyDifferent.into(),
        message: format!("{rows} row(s) differ on the two shards"),
        hint: Some(format!(
            "`shardwright verify {id} --report` names them, `verify {id} --repair` writes them again; find out which program wrote to the target, or `abort` the migration and plan it again"
        )),
        retry: RetryClass::None,
    })
}

/// Returns the error for digests that differ although no row differs. A digest includes every row, but the comparison
/// of rows finds a row by its key, and so finds only one of two rows with the same key.
fn unexplained_difference_error(relation: &str) -> StepError {
    StepError::refused(
        StepCode::VerifyUnnamed,
        format!("the digests of {relation} on the two shards differ, but no single row differs"),
        "most likely one shard has two rows with one key: find them with index scans off, reindex the identity of the table, then `abort` the migration and plan it again",
    )
}

/// Returns a receiver of the stream's status.
pub(super) async fn subscribe_to_stream(
    context: &StepContext,
) -> Result<tokio::sync::watch::Receiver<crate::stream::StreamObservation>, StepError> {
    let stream = context.session.stream.lock().await;
    stream
        .as_ref()
        .map(ApplyStream::subscribe)
        .ok_or_else(|| StepError::passing(StepCode::StreamEnded, "no change stream runs"))
}
