//! One chunk: read on the unit's snapshot, written and marked in one transaction.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::Client;

use super::units::Chunk;
use super::{Shared, rewritten};
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pace::Turn;
use crate::pg::copy_stream::{Extent, copy_chunk};
use crate::pg::{epoch, snapshot};
use plans::table::MovingTable;

/// What came of a chunk.
pub(super) enum Outcome {
    Done,
    /// Its snapshot cannot be imported any more.
    SnapshotLost,
}

/// Copies a chunk with snapshot `number`; offline there is none, since the moving rows do not change.
pub(super) async fn copy(
    shared: &Shared<'_>,
    chunk: &Chunk,
    number: Option<i32>,
    (from, into): (&Client, &Client),
    turn: &Turn<'_>,
) -> Result<Outcome, StepError> {
    let context = shared.context;
    let table = &context.dispatch.tables[chunk.table];
    let source = &context.dispatch.source.name.0;
    let target = &context.dispatch.target.name.0;
    if !begin_writing(context, chunk, into).await? {
        // A commit of ours that was on its way when the list was read has finished it since.
        return Ok(Outcome::Done);
    }
    if !begin_reading(context, from, source).await? {
        return Ok(Outcome::SnapshotLost);
    }
    epoch::begin(into, &context.token(), target).await?;
    let predicate = context.predicate(table);
    let spent = AtomicU64::new(0);
    let moved = |rows, bytes| {
        shared
            .progress
            .moving(context, chunk.table, chunk.ordinal, rows, bytes);
        turn.spend(bytes - spent.swap(bytes, Ordering::Relaxed))
    };
    let sides = ((from, source.as_str()), (into, target.as_str()));
    let (rows, bytes) = copy_chunk(sides, table, &chunk.extent, &predicate, moved).await?;
    if matches!(chunk.extent, Extent::Blocks(_)) {
        check_filenode(from, table, chunk.filenode, source).await?;
    }
    from.batch_execute("commit")
        .await
        .at(format_args!("shard {source}: ending a chunk"))?;
    let what = format!("shard {target}: recording a chunk of {}", table.table);
    let marked = into
        .execute(
            "update shardwright.chunk set done = true, rows = $3, bytes = $4, snapshot = $5
             where migration = $1 and ordinal = $2 and not done",
            &[
                &context.dispatch.migration.0,
                &chunk.ordinal,
                &as_i64(rows),
                &as_i64(bytes),
                &number,
            ],
        )
        .await
        .at(&what)?;
    if marked != 1 {
        epoch::rollback(into).await;
        return Err(StepError::passing(
            "copy.chunk",
            format!("{what}: it is done already"),
        ));
    }
    fail_point::hit("copy.chunk_copied").await?;
    epoch::commit(into, &what).await?;
    let again = chunk.begun > 0;
    shared
        .progress
        .done(context, chunk.table, chunk.ordinal, again);
    Ok(Outcome::Done)
}

/// Counts that the chunk begins; `false` when it is done.
async fn begin_writing(context: &Context, chunk: &Chunk, into: &Client) -> Result<bool, StepError> {
    let target = &context.dispatch.target.name.0;
    let what = format!("shard {target}: recording a chunk");
    epoch::begin(into, &context.token(), target).await?;
    let begun = into
        .execute(
            "update shardwright.chunk set begun = begun + 1
             where migration = $1 and ordinal = $2 and not done",
            &[&context.dispatch.migration.0, &chunk.ordinal],
        )
        .await
        .at(&what)?;
    epoch::commit(into, &what).await?;
    Ok(begun > 0)
}

/// Opens the transaction that a chunk is read in; `false` when the snapshot is gone.
async fn begin_reading(context: &Context, from: &Client, source: &str) -> Result<bool, StepError> {
    if context.online() {
        return snapshot::begin_held(from, context.dispatch.migration.as_str(), source).await;
    }
    from.batch_execute("begin isolation level repeatable read read only")
        .await
        .at(format_args!("shard {source}: beginning a chunk"))?;
    Ok(true)
}

/// Block numbers only mean something while the table keeps its file.
async fn check_filenode(
    session: &Client,
    table: &MovingTable,
    expected: u32,
    shard: &str,
) -> Result<(), StepError> {
    let row = session
        .query_one(
            "select pg_catalog.pg_relation_filenode(pg_catalog.to_regclass($1))",
            &[&table.table.sql()],
        )
        .await
        .at(format_args!("shard {shard}: checking {}", table.table))?;
    if row.get::<_, u32>(0) == expected {
        return Ok(());
    }
    Err(rewritten(format!(
        "shard {shard}: table {} was rewritten during the copy",
        table.table
    )))
}

fn as_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
