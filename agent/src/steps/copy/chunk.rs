//! One chunk: read on the unit's snapshot, written and marked in one transaction, in few round trips.

use std::sync::atomic::{AtomicU64, Ordering};

use connect::Connected;
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

/// What came of a chunk.
pub(super) enum ChunkOutcome {
    Done,
    /// Its snapshot cannot be imported any more.
    SnapshotLost,
    /// Whoever read it has gone: nothing of it is kept, and the sessions are over.
    Left,
}

/// Copies a chunk with snapshot `number`; offline there is none.
pub(super) async fn copy(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    number: Option<i32>,
    reader: &mut CopyReader,
    into: &mut Connected,
) -> Result<ChunkOutcome, StepError> {
    let context = shared.context;
    let turn = context.session.throttle.turn_of_stream().await;
    let table = &context.dispatch.tables[chunk.table];
    if !reader.begin(context, chunk).await? {
        return Ok(ChunkOutcome::SnapshotLost);
    }
    if !begin_writing(shared, chunk, into).await? {
        // A commit of ours that was on its way when the list was read has finished it since.
        epoch::rollback(into).await;
        return Ok(ChunkOutcome::Done);
    }
    let predicate = context.predicate(table, "t");
    let spent = AtomicU64::new(0);
    let moved = |rows, bytes| {
        shared
            .progress
            .moving(context, chunk.table, chunk.ordinal, rows, bytes);
        turn.spend(bytes - spent.swap(bytes, Ordering::Relaxed))
    };
    let (source, target) = (&mut reader.session, &mut *into);
    let copied = copy_chunk(source, target, table, &chunk.extent, &predicate, moved).await?;
    reader.check(context, chunk).await?;
    fail_point::hit("copy.chunk_copied").await?;
    commit(context, chunk, number, copied, into).await?;
    reader.rest().await?;
    let again = chunk.begun > 0;
    shared
        .progress
        .done(context, chunk.table, chunk.ordinal, again);
    Ok(ChunkOutcome::Done)
}

/// Counts that the chunk begins, which stays counted whatever becomes of it, and opens the transaction that it is
/// written in, with the proof that its rows run no code that is not trusted; `false` when it is done.
pub(super) async fn begin_writing(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    into: &Connected,
) -> Result<bool, StepError> {
    let context = shared.context;
    let table = std::slice::from_ref(&context.dispatch.tables[chunk.table]);
    let what = format!("shard {}: recording a chunk", into.name());
    let this = this(context, chunk);
    let count = format!("update shardwright.chunk set begun = begun + 1 where {this}");
    let look = format!(
        "{}; select {SERVER} from shardwright.chunk where {this}",
        user_code::lock_sql(table)
    );
    let token = context.token();
    let proven = |sql| ProvenTransaction {
        token: &token,
        proof: EpochProof::Work,
        sql,
    };
    let (counted, looked) = (proven(count.as_str()), proven(look.as_str()));
    let row = epoch::transact_and_open(into, &counted, &looked, &what).await?;
    let Some(row) = row else { return Ok(false) };
    let prover = &shared.provers.1;
    prover.check_server(row.get(0))?;
    prover.prove_locked(table).await?;
    Ok(true)
}

/// Marks the chunk as done, with its rows in one transaction.
pub(super) async fn commit(
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
    // Where it was done already this divides by zero, and the rows are not kept.
    let sql = format!(
        "with marked as (
           update shardwright.chunk set done = true, rows = {rows}, bytes = {bytes}, snapshot = {snapshot}
           where {} returning 1)
         select 1 / pg_catalog.count(*) from marked; commit",
        this(context, chunk)
    );
    let done = into.batch_execute(&sql).await;
    match done {
        Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => {
            epoch::rollback(into).await;
            Err(StepError::passing(
                "copy.chunk",
                format!("{what}: it is done already"),
            ))
        }
        Ok(()) | Err(_) => done.at(&what),
    }
}

/// The condition on the chunk's own row, while it is not done.
fn this(context: &StepContext, chunk: &CopyChunk) -> String {
    format!(
        "migration = {} and ordinal = {} and not done",
        quote_literal(context.dispatch.migration.as_str()),
        chunk.ordinal
    )
}
