//! Copies the moving rows chunk by chunk from one held snapshot, then builds the primary keys.
//!
//! A chunk is a range of blocks of one table; its rows and its DONE mark commit together.
//! Chunks keep a table's file node: a rewrite of the table (VACUUM FULL) voids its block numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use plans::failure::{Failure, RetryClass};
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::table::MovingTable;
use tokio::time::Instant;
use tokio_postgres::Client;

use super::build_indexes;
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::copy_stream::{BlockRange, copy_chunk};
use crate::pg::epoch;
use crate::pg::snapshot::{self, Holders};
use crate::steps::copy_progress::CopyProgress;

/// Chunks are no larger than this, 8 KiB blocks: 256 MiB.
const LARGEST_CHUNK: i64 = 32_768;
/// And no smaller, unless the table is: 256 KiB.
const SMALLEST_CHUNK: i64 = 32;
/// Chunks of one table per stream, so that streams end at about the same time.
const CHUNKS_PER_STREAM: i64 = 8;

/// One chunk to copy.
#[derive(Debug, Clone)]
struct Chunk {
    ordinal: i32,
    table: usize,
    filenode: u32,
    range: BlockRange,
    begun: i32,
}

/// What all streams share.
struct Shared<'a> {
    context: &'a Context,
    queue: Mutex<VecDeque<Chunk>>,
    progress: CopyProgress,
    total: usize,
}

pub(super) async fn run(context: &Context) -> Result<Copied, StepError> {
    let target = context.target()?;
    let session = target.session("copy").await?;
    if context.online() {
        hold_snapshot(context, &session, &target.name).await?;
    }
    plan_chunks(context, &session, &target.name).await?;
    let started = Instant::now();
    let todo = chunks(context, &session, &target.name).await?;
    let shared = Arc::new(Shared {
        context,
        total: count(context, &session, &target.name).await?,
        progress: CopyProgress::start(context, &session, &target.name).await?,
        queue: Mutex::new(todo),
    });
    context.say("copying");
    let streams = (0..context.dispatch.options.copy_streams).map(|_| stream(shared.clone()));
    futures::future::try_join_all(streams).await?;
    let seconds = started.elapsed().as_secs_f64();
    context.say("building primary keys");
    build_indexes::build(context, "key").await?;
    if context.online() {
        *context.owned.holders.lock().await = None;
        snapshot::end_all(&context.source()?, context.dispatch.migration.as_str()).await?;
    }
    copied(context, &session, seconds, &target.name).await
}

/// Makes sure that the snapshot outlives this process, or says that the copy must begin again.
async fn hold_snapshot(context: &Context, target: &Client, shard: &str) -> Result<(), StepError> {
    let mut holders = context.owned.holders.lock().await;
    if holders.as_ref().is_some_and(Holders::alive) {
        return Ok(());
    }
    let planned = count(context, target, shard).await?;
    if planned > 0 && chunks(context, target, shard).await?.is_empty() {
        return Ok(());
    }
    let source = context.source()?;
    let session = source.session("snapshot").await?;
    let id = context.dispatch.migration.as_str();
    for name in snapshot::importable(&session, id, &source.name).await? {
        match Holders::start(&source, id, &name).await {
            Ok(new) => {
                *holders = Some(new);
                return Ok(());
            }
            Err(error) => tracing::debug!(%error, "a holder of the snapshot is gone"),
        }
    }
    Err(snapshot_lost(&source.name))
}

fn snapshot_lost(shard: &str) -> StepError {
    StepError::Rewind {
        to: StepKind::CreateTarget,
        failure: Failure {
            code: "copy.snapshot_lost".to_owned(),
            message: format!(
                "shard {shard}: the copy's snapshot is gone (the server restarted, or no agent lived for too long)"
            ),
            hint: None,
            retry: RetryClass::Exponential,
        },
    }
}

async fn count(context: &Context, session: &Client, shard: &str) -> Result<usize, StepError> {
    let row = session
        .query_one(
            "select count(*) from shardwright.chunk where migration = $1",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: counting chunks"))?;
    Ok(usize::try_from(row.get::<_, i64>(0)).unwrap_or(0))
}

/// Divides every table into chunks and records them, unless that was done before.
async fn plan_chunks(context: &Context, target: &Client, shard: &str) -> Result<(), StepError> {
    if count(context, target, shard).await? > 0 {
        return Ok(());
    }
    let source = context.source()?;
    let session = source.session("copy").await?;
    epoch::begin(target, &context.token(), shard).await?;
    let mut ordinal = 0_i32;
    for table in &context.dispatch.tables {
        let what = format!("shard {}: measuring {}", source.name, table.table);
        let row = session
            .query_one(
                "select pg_catalog.pg_relation_filenode(pg_catalog.to_regclass($1)),
                        pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)) / 8192",
                &[&table.table.sql()],
            )
            .await
            .at(what)?;
        let (filenode, blocks): (u32, i64) = (row.get(0), row.get(1));
        for range in ranges(blocks, context.dispatch.options.copy_streams) {
            target
                .execute(
                    "insert into shardwright.chunk (migration, ordinal, relation, filenode, from_block, to_block)
                     values ($1, $2, $3, $4, $5, $6)",
                    &[
                        &context.dispatch.migration.0,
                        &ordinal,
                        &table.table.to_string(),
                        &filenode,
                        &range.from,
                        &range.to,
                    ],
                )
                .await
                .at(format_args!("shard {shard}: recording chunks"))?;
            ordinal += 1;
        }
    }
    epoch::commit(target, &format!("shard {shard}: recording chunks")).await
}

/// Block ranges that cover a table of `blocks` blocks; the last has no end.
fn ranges(blocks: i64, streams: u32) -> Vec<BlockRange> {
    let even = blocks / (i64::from(streams) * CHUNKS_PER_STREAM);
    let size = even.clamp(SMALLEST_CHUNK, LARGEST_CHUNK);
    let count = ((blocks + size - 1) / size).max(1);
    (0..count)
        .map(|index| BlockRange {
            from: index * size,
            to: (index + 1 < count).then_some((index + 1) * size),
        })
        .collect()
}

/// Chunks that are not done, in their order.
async fn chunks(
    context: &Context,
    session: &Client,
    shard: &str,
) -> Result<VecDeque<Chunk>, StepError> {
    let rows = session
        .query(
            "select ordinal, relation, filenode, from_block, to_block, begun
             from shardwright.chunk where migration = $1 and not done order by ordinal",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading chunks"))?;
    let tables = &context.dispatch.tables;
    Ok(rows
        .iter()
        .filter_map(|row| {
            let relation: String = row.get(1);
            let table = tables
                .iter()
                .position(|t| t.table.to_string() == relation)?;
            Some(Chunk {
                ordinal: row.get(0),
                table,
                filenode: row.get(2),
                range: BlockRange {
                    from: row.get(3),
                    to: row.get(4),
                },
                begun: row.get(5),
            })
        })
        .collect())
}

async fn stream(shared: Arc<Shared<'_>>) -> Result<(), StepError> {
    let source = shared.context.source()?;
    let target = shared.context.target()?;
    let from = source.session("copy").await?;
    let into = target.replica_session("copy").await?;
    loop {
        if shared.context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let (next, left) = {
            let mut queue = shared.queue.lock().map_err(|_| StepError::Interrupted)?;
            (queue.pop_front(), queue.len())
        };
        let Some(chunk) = next else { return Ok(()) };
        one_chunk(&shared, &chunk, &from, &into).await?;
        if left * 2 <= shared.total {
            fail_point::hit("copy.half").await?;
        }
    }
}

async fn one_chunk(
    shared: &Shared<'_>,
    chunk: &Chunk,
    from: &Client,
    into: &Client,
) -> Result<(), StepError> {
    let context = shared.context;
    let table = &context.dispatch.tables[chunk.table];
    let (source, target) = (
        &context.dispatch.source.name.0,
        &context.dispatch.target.name.0,
    );
    let token = context.token();
    let id = &context.dispatch.migration.0;
    let what = format!("shard {target}: recording a chunk of {}", table.table);
    epoch::begin(into, &token, target).await?;
    let begun = into
        .execute(
            "update shardwright.chunk set begun = begun + 1
             where migration = $1 and ordinal = $2 and not done",
            &[id, &chunk.ordinal],
        )
        .await
        .at(&what)?;
    epoch::commit(into, &what).await?;
    if begun == 0 {
        // A commit of ours that was on its way when the list was read has finished it since.
        return Ok(());
    }
    begin_reading(context, from, source).await?;
    epoch::begin(into, &token, target).await?;
    let predicate = context.predicate(table);
    let moved = |rows, bytes| {
        shared
            .progress
            .moving(context, chunk.table, chunk.ordinal, rows, bytes)
    };
    let (rows, bytes) = copy_chunk(from, into, table, &chunk.range, &predicate, moved).await?;
    check_filenode(from, table, chunk.filenode, source).await?;
    from.batch_execute("commit")
        .await
        .at(format_args!("shard {source}: ending a chunk"))?;
    let marked = into
        .execute(
            "update shardwright.chunk set done = true, rows = $3, bytes = $4
         where migration = $1 and ordinal = $2 and not done",
            &[id, &chunk.ordinal, &as_i64(rows), &as_i64(bytes)],
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
    shared
        .progress
        .done(context, chunk.table, chunk.ordinal, chunk.begun > 0);
    Ok(())
}

/// Opens the transaction that a chunk is read in: online on the held snapshot, offline on any, since the
/// moving rows do not change.
async fn begin_reading(context: &Context, from: &Client, source: &str) -> Result<(), StepError> {
    if !context.online() {
        return from
            .batch_execute("begin isolation level repeatable read read only")
            .await
            .at(format_args!("shard {source}: beginning a chunk"));
    }
    if snapshot::begin_held(from, context.dispatch.migration.as_str(), source).await? {
        return Ok(());
    }
    Err(snapshot_lost(source))
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
    Err(StepError::Rewind {
        to: StepKind::CreateTarget,
        failure: Failure {
            code: "copy.rewritten".to_owned(),
            message: format!(
                "shard {shard}: table {} was rewritten during the copy",
                table.table
            ),
            hint: Some(
                "do not run VACUUM FULL or CLUSTER on moving tables during the copy".to_owned(),
            ),
            retry: RetryClass::Exponential,
        },
    })
}

async fn copied(
    context: &Context,
    session: &Client,
    seconds: f64,
    shard: &str,
) -> Result<Copied, StepError> {
    let row = session
        .query_one(
            "select coalesce(sum(rows), 0)::bigint, coalesce(sum(bytes), 0)::bigint,
                    coalesce(sum(bytes * (begun - 1)), 0)::bigint,
                    coalesce(max(bytes), 0)
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
        seconds,
    })
}

fn as_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_ranges_cover_a_table_without_gap_or_overlap() {
        for blocks in [0, 1, 255, 256, 257, 5000, 1_000_000] {
            let ranges = ranges(blocks, 2);
            assert_eq!(ranges[0].from, 0);
            assert!(
                ranges
                    .windows(2)
                    .all(|pair| pair[0].to == Some(pair[1].from))
            );
            assert_eq!(ranges.last().unwrap().to, None);
        }
    }
}
