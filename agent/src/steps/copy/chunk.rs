//! Copies one chunk: the agent reads it with the unit's snapshot, and writes its rows and its mark `done` in one
//! transaction.

use std::sync::atomic::{AtomicU64, Ordering};

use connect::Connected;
use plans::failure::StepCode;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;

use super::CopyRun;
use super::reader::CopyReader;
use super::units::CopyChunk;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::copy_chunk;
use crate::shard::epoch::{self, EpochProof, ProvenTransaction};
use crate::shard::user_code::{self, SERVER};

/// The outcome of a chunk.
pub(super) enum ChunkOutcome {
    /// The chunk is done, by this call or by an earlier run.
    Done,
    /// The unit's snapshot can no longer be imported.
    SnapshotLost,
    /// The reading session has ended. The transaction of the chunk is rolled back, and the sessions cannot be used any
    /// more.
    ReaderEnded,
}

/// Copies a chunk with snapshot `number`, for this move only. An offline move has no snapshot.
pub(super) async fn copy_alone(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    number: Option<i32>,
    reader: &mut CopyReader,
    target: &mut Connected,
) -> Result<ChunkOutcome, StepError> {
    let context = shared.context;
    let work = context.session.throttle.begin_stream_work().await;
    let table = &context.dispatch.tables[chunk.table];
    if !reader.begin_chunk(context, chunk).await? {
        return Ok(ChunkOutcome::SnapshotLost);
    }
    if !begin_writing(shared, chunk, target).await? {
        // A commit of an earlier run was still in progress when this run listed the chunks, and has completed this
        // chunk since.
        epoch::rollback(target).await;
        return Ok(ChunkOutcome::Done);
    }
    let predicate = context.predicate(table, "t");
    let reported_bytes = AtomicU64::new(0);
    let on_progress = |rows, bytes| {
        shared
            .progress
            .update_chunk(context, chunk.table, chunk.ordinal, rows, bytes);
        work.finish_piece(bytes - reported_bytes.swap(bytes, Ordering::Relaxed))
    };
    let copied = copy_chunk(
        &mut reader.session,
        &mut *target,
        table,
        &chunk.extent,
        &predicate,
        on_progress,
    )
    .await?;
    reader.check_filenode(context, chunk).await?;
    fail_point::hit("copy.chunk_copied").await?;
    commit_chunk(context, chunk, number, copied, target).await?;
    reader.end_if_old().await?;
    let was_begun_before = chunk.begun > 0;
    shared
        .progress
        .finish_chunk(context, chunk.table, chunk.ordinal, was_begun_before);
    Ok(ChunkOutcome::Done)
}

/// Increases the chunk's counter `begun` in a transaction of its own. Then opens the transaction that writes the chunk,
/// and proves in it that the writes run no untrusted code. Returns `false` if the chunk is already done.
pub(super) async fn begin_writing(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    into: &Connected,
) -> Result<bool, StepError> {
    let context = shared.context;
    let table = std::slice::from_ref(&context.dispatch.tables[chunk.table]);
    let what = format!("shard {}: recording a chunk", into.name());
    let condition = chunk_condition(context, chunk);
    let count_sql = format!("update shardwright.chunk set begun = begun + 1 where {condition}");
    let find_sql = format!(
        "{}; select {SERVER} from shardwright.chunk where {condition}",
        user_code::lock_sql(table)
    );
    let token = context.token();
    let proven = |sql| ProvenTransaction {
        token: &token,
        proof: EpochProof::Work,
        sql,
    };
    let (count_begin, find_chunk) = (proven(count_sql.as_str()), proven(find_sql.as_str()));
    let row = epoch::transact_and_open(into, &count_begin, &find_chunk, &what).await?;
    let Some(row) = row else { return Ok(false) };
    let prover = &shared.provers.1;
    prover.check_server(row.get(0))?;
    prover.prove_locked(table).await?;
    Ok(true)
}

/// Marks the chunk as done in the transaction of its rows, and commits it. `copied`: the number of rows, and of bytes.
pub(super) async fn commit_chunk(
    context: &StepContext,
    chunk: &CopyChunk,
    number: Option<i32>,
    copied: (u64, u64),
    into: &Connected,
) -> Result<(), StepError> {
    let (rows, bytes) = copied;
    let table = &context.dispatch.tables[chunk.table];
    let what = format!(
        "shard {}: recording a chunk of {}",
        into.name(),
        table.table
    );
    let snapshot = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    // If the chunk is already done, this statement fails with a division by zero, and the transaction with the rows is
    // rolled back.
    let sql = format!(
        "with marked as (
           update shardwright.chunk set done = true, rows = {rows}, bytes = {bytes}, snapshot = {snapshot}
           where {} returning 1)
         select 1 / pg_catalog.count(*) from marked; commit",
        chunk_condition(context, chunk)
    );
    let done = into.batch_execute(&sql).await;
    match done {
        Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => {
            epoch::rollback(into).await;
            Err(StepError::passing(
                StepCode::CopyChunk,
                format!("{what}: the chunk is already done"),
            ))
        }
        Ok(()) | Err(_) => done.at(&what),
    }
}

/// Returns the condition that selects the chunk's row in `shardwright.chunk` while it is not done.
fn chunk_condition(context: &StepContext, chunk: &CopyChunk) -> String {
    format!(
        "migration = {} and ordinal = {} and not done",
        quote_literal(context.dispatch.migration.as_str()),
        chunk.ordinal
    )
}
