//! Compares the rows of both shards at exact positions in the owner's WAL while writes continue.
//!
//! Order:
//! - The agent pauses the apply stream. A temporary slot provides a position, and a snapshot of exactly the commits
//!   before it.
//! - The stream continues exactly to that position, and the agent opens a snapshot of the copy.
//! - The agent compares the rows in chunks, and records each result durably (`compare::ComparisonRecords`).
//!
//! An interrupted run continues with the remaining chunks at a new position. So does a run whose snapshots are too old.
//! A chunk that was equal at an older position still counts, because the key of every later change is marked as dirty:
//! - A stream marks dirty keys from the time when this step is the next one.
//! - This step removes only marks that are older than every position of a counted chunk.

mod point;
mod remaining;
mod repair;

use std::sync::Arc;

use connect::Connected;
use plans::failure::{Failure, RetryClass};
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
use remaining::RemainingTables;

/// Number of rows per chunk. An interrupted comparison repeats at most one chunk.
const CHUNK_ROWS: u32 = 500_000;
/// Number of rows per chunk if the request limits the application's latency: the comparison rests after each chunk.
const LATENCY_CHUNK_ROWS: u32 = 50_000;
/// Maximum number of repairs in one run. A row that differs again after a repair is changed by another writer.
const MAX_REPAIRS: u32 = 2;

/// The upstream and the downstream shard of a change stream.
pub(crate) struct StreamShards {
    pub(crate) upstream: Shard,
    pub(crate) downstream: Shard,
    pub(crate) token: EpochToken,
}

impl StreamShards {
    /// Begins a transaction on each of two sessions, on the upstream and on the downstream shard. It locks the moving
    /// tables and checks that reading them runs no untrusted code (ADR 49).
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
    let verified = run_comparison(context, Direction::Forward, run, chunk_rows(context)).await?;
    if verified.different > 0 {
        return Err(different_error(context, verified.different));
    }
    Ok(verified)
}

/// Compares the rows on the source with the new owner's during the hold. Differences do not end the hold, but their
/// dirty keys block a rollback.
pub(super) async fn compare_in_hold(
    context: &StepContext,
    run: VerifyRun,
) -> Result<Verified, StepError> {
    run_comparison(context, Direction::Reverse, run, chunk_rows(context)).await
}

fn chunk_rows(context: &StepContext) -> u32 {
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
    rows_each: u32,
) -> Result<Verified, StepError> {
    // The stream must mark dirty keys before the first position, so that every later change has a mark.
    if let Some(stream) = context.session.stream.lock().await.as_ref() {
        stream.record_dirty();
    }
    let shards = StreamShards::of(context, direction)?;
    let session = shards.downstream.session("verify").await?;
    let storage = owner_storage(context, direction, &shards.upstream).await?;
    let comparison = ComparisonRun {
        context,
        direction,
        shards: &shards,
        session: &session,
        repair: run.repair,
        rows_each,
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

/// Returns the file nodes of the compared tables. They are read before the first position, so that a later rewrite is
/// detected.
async fn owner_storage(
    context: &StepContext,
    direction: Direction,
    owner: &Shard,
) -> Result<TableStorage, StepError> {
    let session = owner.session("verify").await?;
    catalog::storage(&session, context.captured_tables(direction)).await
}

struct ComparisonRun<'a> {
    context: &'a StepContext,
    direction: Direction,
    shards: &'a StreamShards,
    /// The session that records the results.
    session: &'a Connected,
    repair: bool,
    rows_each: u32,
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

    async fn compare_until_done(&self) -> Result<(), StepError> {
        let mut repairs = 0;
        loop {
            while self.has_remaining_chunks().await? {
                self.context.wait_for_permitted_hours().await;
                self.context
                    .report_message("finding an exact position on both shards");
                let point = point::find_point(self.context, self.shards).await?;
                self.cut_tables(&point).await?;
                self.compare_from(&point).await?;
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
        let uncut = |moving: &MovingRows<'_>| {
            let name = moving.table.table.to_string();
            chunks.iter().all(|chunk| chunk.relation != name)
        };
        Ok(chunks.iter().any(|chunk| chunk.at.is_none()) || self.tables().any(|t| uncut(&t)))
    }

    async fn cut_tables(&self, point: &ComparisonPoint) -> Result<(), StepError> {
        let known = self.records().chunks().await?;
        for moving in self.tables() {
            let name = moving.table.table.to_string();
            if known.iter().any(|chunk| chunk.relation == name) {
                continue;
            }
            let table = std::slice::from_ref(moving.table);
            point.upstream.prove_tables(table).await?;
            let parts =
                compare::cut_into_chunks(point.upstream.connection(), &moving, self.rows_each)
                    .await?;
            self.records().record_chunks(&name, &parts).await?;
        }
        Ok(())
    }

    /// Compares the remaining chunks until the snapshots are too old.
    async fn compare_from(&self, point: &ComparisonPoint) -> Result<(), StepError> {
        let age = Duration::from_secs(u64::from(self.context.dispatch.options.snapshot_age_s));
        let mut chunks = self.records().chunks().await?;
        let started = Instant::now();
        let mut remaining = RemainingTables::begin(self.context, &chunks, self.session).await?;
        let throttle = &self.context.session.throttle;
        let work = throttle.begin_work();
        for moving in self.tables() {
            let name = moving.table.table.to_string();
            let mine = |chunk: &ChunkRecord| chunk.relation == name && chunk.at.is_none();
            if !chunks.iter().any(mine) {
                continue;
            }
            let table = std::slice::from_ref(moving.table);
            tokio::try_join!(
                point.upstream.prove_tables(table),
                point.downstream.prove_tables(table)
            )?;
            let mine = |chunk: &&mut ChunkRecord| mine(chunk);
            for chunk in chunks.iter_mut().filter(mine) {
                if started.elapsed() > age || throttle.hours_to_wait_for().is_some() {
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
            return Err(unnamed_error(&chunk.relation));
        }
        Ok((owner_digest, found))
    }

    async fn finish(&self, compared_before: i64) -> Result<Verified, StepError> {
        let sums = RunTotals::of(&self.records().chunks().await?);
        let tables = self.records().digests().await?;
        let repaired = self.records().end_run(sums).await?;
        Ok(Verified {
            rows_compared: sums.rows,
            different: sums.different,
            at: sums.oldest.unwrap_or_default().to_string(),
            chunks: sums.chunks,
            chunks_kept: compared_before,
            repaired,
            tables,
        })
    }
}

fn different_error(context: &StepContext, rows: i64) -> StepError {
    let id = &context.dispatch.migration;
    StepError::Failed(Failure {
        code: "verify.different".to_owned(),
        message: format!("the copies differ in {rows} row(s)"),
        hint: Some(format!(
            "`shardwright verify {id} --report` names them, `verify {id} --repair` writes them again; find out who wrote to the target, or `abort` it and plan it again"
        )),
        retry: RetryClass::None,
    })
}

/// Returns the error for digests that differ although no row differs: a digest includes all rows, but single rows are
/// matched by their keys.
fn unnamed_error(relation: &str) -> StepError {
    StepError::refused(
        "verify.unnamed",
        format!("the copies of {relation} differ, but no single row does"),
        "most likely one shard has two rows with one key: find them with index scans off, reindex what identifies them, then `abort` it and plan it again",
    )
}

/// Returns a receiver of the stream's status.
pub(super) async fn watch_stream(
    context: &StepContext,
) -> Result<tokio::sync::watch::Receiver<crate::stream::StreamObservation>, StepError> {
    let slot = context.session.stream.lock().await;
    slot.as_ref()
        .map(ApplyStream::watch)
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))
}
