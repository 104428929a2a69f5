//! Divides tables into units and chunks, records these on the target, and reads which chunks are not done.

use std::collections::{BTreeSet, VecDeque};

use connect::Connected;
use plans::sql::quote_ident;
use plans::table::{CopyBy, MovingTable};

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::postgres::copy_stream::{BlockRange, CopyExtent, KeyRange};
use crate::shard::epoch::{self, EpochToken};
use crate::shared_scan::participants::ArrivedParticipant;

/// Maximum number of 8 KiB blocks in a chunk: 256 MiB.
const MAX_CHUNK_BLOCKS: i64 = 32_768;
/// Minimum number of blocks in a chunk, unless the table is smaller: 256 KiB.
const MIN_CHUNK_BLOCKS: i64 = 32;
/// The number of chunks of a table for each COPY stream. It is small, because a chunk costs a few milliseconds in
/// addition to its rows. Small tables are copied last, so the streams nevertheless end at about the same time.
const CHUNKS_PER_STREAM: i64 = 4;

/// The number of moving rows in the sample that determines the limits of key ranges.
const SAMPLE_ROWS: i64 = 30_000;

/// One chunk to copy.
#[derive(Debug, Clone)]
pub(super) struct CopyChunk {
    /// The number of the chunk in the order of the copy.
    pub(super) ordinal: i32,
    pub(super) unit: i32,
    /// The index of the table among the move's tables.
    pub(super) table: usize,
    /// The file node of the table when it was divided into chunks.
    pub(super) filenode: u32,
    pub(super) extent: CopyExtent,
    /// How often an agent has begun to write the chunk.
    pub(super) begun: i32,
    /// The first snapshot with which the chunk may be copied: above 0 for a partition that the migration adopted.
    pub(super) first_snapshot: i32,
}

/// Returns the number of recorded chunks.
pub(super) async fn count_chunks(
    context: &StepContext,
    session: &Connected,
) -> Result<usize, StepError> {
    let shard = session.name();
    let row = session
        .query_one(
            "select count(*) from shardwright.chunk where migration = $1",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: counting chunks"))?;
    Ok(usize::try_from(row.get::<_, i64>(0)).unwrap_or(0))
}

/// Returns the units that are partly copied: some of their chunks are done, and some are not.
pub(super) async fn begun_units(
    context: &StepContext,
    session: &Connected,
) -> Result<BTreeSet<i32>, StepError> {
    let shard = session.name();
    let rows = session
        .query(
            "select unit from shardwright.chunk where migration = $1
             group by unit having bool_or(done) and not bool_and(done)",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading units"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Divides every table into units and chunks, the largest table first, and records them, unless this has been done for a
/// table. Partitions that the migration adopted get numbers after those of the other tables. All participants of a
/// shared scan use the same sizes of tables, so their chunks are the same.
///
/// It locks one table at a time, so that it never waits for a lock while it holds another.
pub(super) async fn plan_chunks(
    context: &StepContext,
    target: &Connected,
    arrived: Option<&ArrivedParticipant>,
) -> Result<(), StepError> {
    let planned = read_planned_tables(context, target).await?;
    let tables = context.dispatch.tables.iter().enumerate();
    let undivided: Vec<(usize, &MovingTable)> = tables
        .filter(|(_, table)| !planned.tables.contains(&table.table.to_string()))
        .collect();
    if undivided.is_empty() {
        return Ok(());
    }
    let source = context.source()?;
    let session = source.session("copy").await?;
    let prover = context.session.code_prover(&source).await?;
    let mut sized = Vec::new();
    for (at, table) in undivided {
        prover.begin(&session, std::slice::from_ref(table)).await?;
        let measured = table_size(&session, table).await?;
        epoch::rollback(&session).await;
        let name = table.table.to_string();
        let agreed = arrived.map(|arrived| arrived.scan().agree_on_size(&name, measured));
        sized.push((at, table, agreed.unwrap_or(measured)));
    }
    sized.sort_by_key(|(_, _, (_, blocks))| std::cmp::Reverse(*blocks));
    let mut chunks = Vec::new();
    let mut unit = planned.next_unit;
    for (at, table, (filenode, blocks)) in sized {
        let by_key = table.copy_by == CopyBy::KeyRanges && context.is_online();
        let extents = if by_key {
            prover.begin(&session, std::slice::from_ref(table)).await?;
            let ranges = key_ranges(context, &session, table, blocks).await?;
            epoch::rollback(&session).await;
            ranges
        } else {
            let ranges = block_ranges(blocks, context.dispatch.options.copy_streams);
            ranges.into_iter().map(CopyExtent::Blocks).collect()
        };
        for extent in extents {
            chunks.push(CopyChunk {
                ordinal: planned.next_ordinal + i32::try_from(chunks.len()).unwrap_or(i32::MAX),
                unit,
                table: at,
                filenode,
                extent,
                begun: 0,
                first_snapshot: 0,
            });
            unit += i32::from(by_key);
        }
        unit += i32::from(!by_key);
    }
    record_chunks(context, target, &chunks).await
}

/// The tables that are divided into chunks, and the numbers that follow those of their chunks and units.
struct PlannedTables {
    tables: BTreeSet<String>,
    next_ordinal: i32,
    next_unit: i32,
}

async fn read_planned_tables(
    context: &StepContext,
    target: &Connected,
) -> Result<PlannedTables, StepError> {
    let shard = target.name();
    let row = target
        .query_one(
            "select coalesce(pg_catalog.array_agg(distinct relation), '{}'), coalesce(max(ordinal) + 1, 0),
                    coalesce(max(unit) + 1, 0)
             from shardwright.chunk where migration = $1",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading which tables are divided"))?;
    Ok(PlannedTables {
        tables: row.get::<_, Vec<String>>(0).into_iter().collect(),
        next_ordinal: row.get(1),
        next_unit: row.get(2),
    })
}

/// Records the chunks on the target.
async fn record_chunks(
    context: &StepContext,
    target: &Connected,
    chunks: &[CopyChunk],
) -> Result<(), StepError> {
    let shard = target.name();
    let what = format!("shard {shard}: recording chunks");
    epoch::begin(target, &context.token()).await?;
    for chunk in chunks {
        let (from, to, low, high) = match &chunk.extent {
            CopyExtent::Blocks(range) => (range.from, range.to, None, None),
            CopyExtent::Keys(range) => (0, None, range.low.as_ref(), range.high.as_ref()),
        };
        target
            .execute(
                "insert into shardwright.chunk
                   (migration, ordinal, unit, relation, filenode, from_block, to_block, low, high, by_key)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                &[
                    &context.dispatch.migration.0,
                    &chunk.ordinal,
                    &chunk.unit,
                    &context.dispatch.tables[chunk.table].table.to_string(),
                    &chunk.filenode,
                    &from,
                    &to,
                    &low,
                    &high,
                    &matches!(chunk.extent, CopyExtent::Keys(_)),
                ],
            )
            .await
            .at(&what)?;
    }
    epoch::commit(target, &what).await
}

/// Records on the target that these tables, partitions that the application created after the flip, are copied. So
/// another copy compares their rows as it compares those of the other tables (FORGET_EARLIER_SLOT).
pub(in crate::steps) async fn record_copied_tables(
    token: &EpochToken,
    (source, target): (&Connected, &Connected),
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let shard = target.name();
    let what = format!("shard {shard}: recording chunks");
    for table in tables {
        let (filenode, _) = table_size(source, table).await?;
        epoch::begin(target, token).await?;
        // No change that the snapshots of the copy see is in a stream that exists after the flip.
        target
            .execute(
                "insert into shardwright.chunk
                   (migration, ordinal, unit, relation, filenode, from_block, by_key, done, snapshot)
                 select $1, coalesce(max(ordinal) + 1, 0), coalesce(max(unit) + 1, 0), $2, $3, 0, false, true,
                   (select max(s.number) from shardwright.snapshot s where s.migration = $1)
                 from shardwright.chunk where migration = $1
                 having not coalesce(bool_or(relation = $2), false)",
                &[&token.migration.0, &table.table.to_string(), &filenode],
            )
            .await
            .at(&what)?;
        epoch::commit(target, &what).await?;
    }
    Ok(())
}

/// Returns the file node and the number of blocks of a table.
pub(super) async fn table_size(
    session: &Connected,
    table: &MovingTable,
) -> Result<(u32, i64), StepError> {
    let shard = session.name();
    let row = session
        .query_one(
            "select pg_catalog.pg_relation_filenode(pg_catalog.to_regclass($1)),
                    pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)) / 8192",
            &[&table.table.sql()],
        )
        .await
        .at(format_args!("shard {shard}: measuring {}", table.table))?;
    Ok((row.get(0), row.get(1)))
}

/// Returns block ranges that cover a table of `blocks` blocks. The last range has no upper limit.
fn block_ranges(blocks: i64, streams: u32) -> Vec<BlockRange> {
    let size = chunk_blocks(blocks, streams);
    let count = ((blocks + size - 1) / size).max(1);
    (0..count)
        .map(|index| BlockRange {
            from: index * size,
            to: (index + 1 < count).then_some((index + 1) * size),
        })
        .collect()
}

/// Returns the number of blocks in a chunk of a table that has `blocks` blocks.
fn chunk_blocks(blocks: i64, streams: u32) -> i64 {
    (blocks / (i64::from(streams) * CHUNKS_PER_STREAM)).clamp(MIN_CHUNK_BLOCKS, MAX_CHUNK_BLOCKS)
}

/// Returns ranges of the first column of the identity that have about the same number of moving rows each. The first
/// range has no lower limit, and the last one no upper limit.
async fn key_ranges(
    context: &StepContext,
    session: &Connected,
    table: &MovingTable,
    blocks: i64,
) -> Result<Vec<CopyExtent>, StepError> {
    let shard = session.name();
    let predicate = context.predicate(table, "");
    let ppm = catalog::selectivity_ppm(session, table, &predicate).await?;
    let moving_blocks = (blocks * ppm / 1_000_000).max(1);
    let count =
        (moving_blocks / chunk_blocks(moving_blocks, context.dispatch.options.copy_streams)).max(1);
    let column = table.identity.first().cloned().unwrap_or_default();
    let percent = (SAMPLE_ROWS * 100) as f64 / (table.rows.max(1) as f64 * ppm.max(1) as f64 / 1e6);
    let quantiles: Vec<f64> = (1..count).map(|n| n as f64 / count as f64).collect();
    let sql = format!(
        "select distinct value from (
           select pg_catalog.unnest(pg_catalog.percentile_disc($1::float8[]) within group (order by {column}))::text as value
           from only {} tablesample system ({}) where {predicate}) q where value is not null",
        table.table.sql(),
        percent.clamp(0.01, 100.0),
        column = quote_ident(&column),
    );
    let rows = session
        .query(&sql, &[&quantiles])
        .await
        .at(format_args!("shard {shard}: dividing {}", table.table))?;
    let limits = sort_limits(rows.iter().map(|row| row.get(0)).collect());
    Ok(ranges_between(&column, &limits)
        .map(CopyExtent::Keys)
        .collect())
}

/// Sorts integers by their value, and UUIDs by their text. This is the order of the column.
fn sort_limits(mut limits: Vec<String>) -> Vec<String> {
    limits.sort_by_key(|end| (end.parse::<i64>().ok(), end.clone()));
    limits
}

/// Returns the ranges into which `limits` divide the values of the column. The first range has no lower limit, and the
/// last one no upper limit.
fn ranges_between(column: &str, limits: &[String]) -> impl Iterator<Item = KeyRange> {
    let lows = std::iter::once(None).chain(limits.iter().cloned().map(Some));
    let highs = limits
        .iter()
        .cloned()
        .map(Some)
        .chain(std::iter::once(None));
    lows.zip(highs).map(|(low, high)| KeyRange {
        column: column.to_owned(),
        low,
        high,
    })
}

/// Returns the chunks that are not done, in their order.
pub(super) async fn remaining_chunks(
    context: &StepContext,
    session: &Connected,
) -> Result<VecDeque<CopyChunk>, StepError> {
    let shard = session.name();
    let rows = session
        .query(
            "select ordinal, relation, filenode, from_block, to_block, begun, unit, by_key, low, high,
                    coalesce(a.snapshot, 0)
             from shardwright.chunk c left join shardwright.adopted a using (migration, relation)
             where migration = $1 and not done order by ordinal",
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
            let extent = if row.get(7) {
                CopyExtent::Keys(KeyRange {
                    column: tables[table].identity.first()?.clone(),
                    low: row.get(8),
                    high: row.get(9),
                })
            } else {
                CopyExtent::Blocks(BlockRange {
                    from: row.get(3),
                    to: row.get(4),
                })
            };
            Some(CopyChunk {
                ordinal: row.get(0),
                unit: row.get(6),
                table,
                filenode: row.get(2),
                extent,
                begun: row.get(5),
                first_snapshot: row.get(10),
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_ranges_cover_a_table_without_gap_or_overlap() {
        for blocks in [0, 1, 255, 256, 257, 5000, 1_000_000] {
            let ranges = block_ranges(blocks, 2);
            assert_eq!(ranges[0].from, 0);
            assert!(
                ranges
                    .windows(2)
                    .all(|pair| pair[0].to == Some(pair[1].from))
            );
            assert_eq!(ranges.last().expect("at least one range").to, None);
        }
    }

    #[test]
    fn key_ranges_cover_all_values_without_gap_or_overlap() {
        let limits = sort_limits(["10", "9", "-2"].map(str::to_owned).to_vec());
        assert_eq!(limits, ["-2", "9", "10"]);
        let ranges: Vec<KeyRange> = ranges_between("id", &limits).collect();
        assert_eq!(ranges.len(), 4);
        assert_eq!((&ranges[0].low, &ranges[3].high), (&None, &None));
        assert!(ranges.windows(2).all(|pair| pair[0].high == pair[1].low));
        assert_eq!(ranges_between("id", &[]).count(), 1);
    }
}
