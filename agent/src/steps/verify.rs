//! Compares both copies at exact points of the owner's log while writes go on.
//!
//! Order: the applier holds; a temporary slot gives a point and a snapshot that sees exactly what
//! committed before it; the applier goes on exactly to there; the copy's snapshot is opened; then
//! chunk by chunk is compared at leisure, and each result is durable (`pg::compare::record`).
//!
//! A run that was interrupted goes on with the chunks that are left, at a new point, and so does one
//! whose snapshots have grown old. A chunk that was equal at an older point still counts: the key of
//! every change since the first point of the run is dirty, because a stream marks keys from the moment
//! when this step is the next one, and no mark that is newer than the oldest point of a chunk that
//! counts is taken away for having been compared here.

mod left;
mod point;
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
use left::RemainingTables;
use point::ComparisonPoint;

/// Rows of a chunk: what an interruption costs at most.
const CHUNK_ROWS: u32 = 500_000;
/// The same where an application's latency is held: a chunk is what the comparison rests behind.
const GENTLE_ROWS: u32 = 50_000;
/// How often one run repairs: a row that differs again has another writer.
const REPAIRS: u32 = 2;

/// The two sides of a change stream: where changes are made, and where they are applied.
pub(crate) struct StreamShards {
    pub(crate) origin: Shard,
    pub(crate) destination: Shard,
    pub(crate) token: EpochToken,
}

impl StreamShards {
    /// Begins a transaction of each of two sessions, on origin and destination, in which the moving tables can be read:
    /// none has code that is not trusted, nor gets any.
    ///
    /// # Errors
    /// `code.untrusted`; what the servers say.
    pub(crate) async fn begin_reading(
        &self,
        context: &StepContext,
        origin: &Connected,
        destination: &Connected,
    ) -> Result<(), StepError> {
        let tables = &context.dispatch.tables;
        let (here, there) = self.provers(context).await?;
        tokio::try_join!(here.begin(origin, tables), there.begin(destination, tables)).map(drop)
    }

    async fn provers(
        &self,
        context: &StepContext,
    ) -> Result<(Arc<CodeProver>, Arc<CodeProver>), StepError> {
        let session = &context.session;
        tokio::try_join!(
            session.code_prover(&self.origin),
            session.code_prover(&self.destination)
        )
    }

    pub(crate) fn of(context: &StepContext, direction: Direction) -> Result<Self, StepError> {
        Ok(match direction {
            Direction::Forward => Self {
                origin: context.source()?,
                destination: context.target()?,
                token: context.token(),
            },
            Direction::Reverse => Self {
                origin: context.target()?,
                destination: context.source()?,
                token: context.token_after_flip(),
            },
        })
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Verified, StepError> {
    let run = context.dispatch.verify.unwrap_or_default();
    let verified = compare(context, Direction::Forward, run, chunk_rows(context)).await?;
    if verified.different > 0 {
        return Err(differs(context, verified.different));
    }
    Ok(verified)
}

/// Compares the old copy with its owner during the hold; what differs does not end the hold, but its
/// marks as dirty keep a roll back from going through.
pub(super) async fn in_hold(context: &StepContext, run: VerifyRun) -> Result<Verified, StepError> {
    compare(context, Direction::Reverse, run, chunk_rows(context)).await
}

fn chunk_rows(context: &StepContext) -> u32 {
    if context.session.throttle.is_gentle() {
        GENTLE_ROWS
    } else {
        CHUNK_ROWS
    }
}

/// Makes one run to its end, or goes on with it.
pub(super) async fn compare(
    context: &StepContext,
    direction: Direction,
    run: VerifyRun,
    rows_each: u32,
) -> Result<Verified, StepError> {
    // Marks come before the first point: what changes after it is known.
    if let Some(stream) = context.session.stream.lock().await.as_ref() {
        stream.record_dirty();
    }
    let sides = StreamShards::of(context, direction)?;
    let session = sides.destination.session("verify").await?;
    let storage = storage(context, direction, &sides.origin).await?;
    let comparison = ComparisonRun {
        context,
        direction,
        sides: &sides,
        session: &session,
        repair: run.repair,
        rows_each,
    };
    let ended = comparison
        .records()
        .begin_run(run.number, &context.dispatch.schema_fingerprint, &storage)
        .await?;
    let kept = comparison.kept().await?;
    if !ended {
        comparison.to_the_end().await?;
    }
    comparison.end(kept).await
}

/// Where the rows lie that are compared, before the first point: a rewrite that comes later is found by it.
async fn storage(
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
    sides: &'a StreamShards,
    /// Where results are recorded.
    session: &'a Connected,
    repair: bool,
    rows_each: u32,
}

impl ComparisonRun<'_> {
    fn records(&self) -> ComparisonRecords<'_> {
        ComparisonRecords {
            client: self.session,
            token: &self.sides.token,
            direction: self.direction,
        }
    }

    /// Chunks that an interrupted attempt has compared already.
    async fn kept(&self) -> Result<i64, StepError> {
        let chunks = self.records().chunks().await?;
        let kept = chunks.iter().filter(|chunk| chunk.at.is_some()).count();
        Ok(i64::try_from(kept).unwrap_or(i64::MAX))
    }

    async fn to_the_end(&self) -> Result<(), StepError> {
        let mut repairs = 0;
        loop {
            while self.has_more().await? {
                self.context.wait_until_open().await;
                self.context
                    .report_message("finding an exact point on both sides");
                let point = point::find(self.context, self.sides).await?;
                self.cut(&point).await?;
                self.compare_from(&point).await?;
            }
            let different = RunTotals::of(&self.records().chunks().await?).different;
            if different == 0 || !self.repair || repairs == REPAIRS {
                return Ok(());
            }
            repairs += 1;
            self.context
                .report_message(format!("writing {different} row(s) again that differ"));
            let written = repair::run(self, different).await?;
            self.records().reset_differing_chunks(written).await?;
        }
    }

    /// Tables that are compared in this direction.
    fn tables(&self) -> impl Iterator<Item = MovingRows<'_>> {
        let keys = &self.context.dispatch.keys;
        let tables = self.context.captured_tables(self.direction);
        tables.map(|table| MovingRows::new(table, keys))
    }

    async fn has_more(&self) -> Result<bool, StepError> {
        let chunks = self.records().chunks().await?;
        let uncut = |moving: &MovingRows<'_>| {
            let name = moving.table.table.to_string();
            chunks.iter().all(|chunk| chunk.relation != name)
        };
        Ok(chunks.iter().any(|chunk| chunk.at.is_none()) || self.tables().any(|t| uncut(&t)))
    }

    async fn cut(&self, point: &ComparisonPoint) -> Result<(), StepError> {
        let known = self.records().chunks().await?;
        for moving in self.tables() {
            let name = moving.table.table.to_string();
            if known.iter().any(|chunk| chunk.relation == name) {
                continue;
            }
            let table = std::slice::from_ref(moving.table);
            point.origin.prove(table).await?;
            let parts =
                compare::cut_into_chunks(point.origin.side(), &moving, self.rows_each).await?;
            self.records().record_chunks(&name, &parts).await?;
        }
        Ok(())
    }

    /// Compares what is left until the snapshots are too old to be kept.
    async fn compare_from(&self, point: &ComparisonPoint) -> Result<(), StepError> {
        let age = Duration::from_secs(u64::from(self.context.dispatch.options.snapshot_age_s));
        let mut chunks = self.records().chunks().await?;
        let started = Instant::now();
        let mut left = RemainingTables::begin(self.context, &chunks, self.session).await?;
        let throttle = &self.context.session.throttle;
        let turn = throttle.turn();
        for moving in self.tables() {
            let name = moving.table.table.to_string();
            let mine = |chunk: &ChunkRecord| chunk.relation == name && chunk.at.is_none();
            if !chunks.iter().any(mine) {
                continue;
            }
            let table = std::slice::from_ref(moving.table);
            tokio::try_join!(point.origin.prove(table), point.destination.prove(table))?;
            let mine = |chunk: &&mut ChunkRecord| mine(chunk);
            for chunk in chunks.iter_mut().filter(mine) {
                if started.elapsed() > age || throttle.closed().is_some() {
                    return Ok(());
                }
                self.context.report_message(format!("comparing {name}"));
                let (digest, found) = self.compare_chunk(point, &moving, chunk).await?;
                self.records()
                    .record_result(chunk, point.at, &digest, &found)
                    .await?;
                (chunk.rows, chunk.at) = (digest.rows, Some(point.at));
                chunk.different = found.different();
                left.compared(&name, digest.rows);
                fail_point::hit("verify.compared").await?;
                turn.spend(0).await;
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
        let (origin, copy) = (point.origin.side(), point.destination.side());
        let here = compare::digest(origin, moving, &chunk.part);
        let there = compare::digest(copy, moving, &chunk.part);
        let (here, there) = if self.context.session.throttle.is_gentle() {
            (here.await?, there.await?)
        } else {
            tokio::try_join!(here, there)?
        };
        if here == there {
            return Ok((here, RowDifferences::default()));
        }
        let most = if self.repair {
            ROWS_REPAIRED + 1
        } else {
            ROWS_NAMED
        };
        let found = compare::find_differences(origin, copy, moving, &chunk.part, most).await?;
        if found.different() == 0 {
            return Err(unnamed(&chunk.relation));
        }
        Ok((here, found))
    }

    async fn end(&self, kept: i64) -> Result<Verified, StepError> {
        let sums = RunTotals::of(&self.records().chunks().await?);
        let tables = self.records().digests().await?;
        let repaired = self.records().end_run(sums).await?;
        Ok(Verified {
            rows_compared: sums.rows,
            different: sums.different,
            at: sums.oldest.unwrap_or_default().to_string(),
            chunks: sums.chunks,
            chunks_kept: kept,
            repaired,
            tables,
        })
    }
}

fn differs(context: &StepContext, rows: i64) -> StepError {
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

/// Digests are taken over all rows, and rows are told apart by their keys.
fn unnamed(relation: &str) -> StepError {
    StepError::refused(
        "verify.unnamed",
        format!("the copies of {relation} differ, and no single row does"),
        "most likely one side has two rows with one key: find them with index scans off, reindex what identifies them, then `abort` it and plan it again",
    )
}

/// The stream of the context, for those that only watch it.
pub(super) async fn watch(
    context: &StepContext,
) -> Result<tokio::sync::watch::Receiver<crate::stream::StreamObservation>, StepError> {
    let slot = context.session.stream.lock().await;
    slot.as_ref()
        .map(ApplyStream::watch)
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))
}
