//! The progress of the copy: rows and bytes per table, rates, and the remaining time.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use connect::Connected;
use plans::wire::TableProgress;
use tokio::time::Instant;

use super::units::{self, CopyChunk};
use super::work::TableEstimate;
use crate::error::{StepError, WithIntent};
use crate::eta::Eta;
use crate::migration::context::StepContext;
use crate::postgres::catalog;

/// The size of a block in bytes.
const BLOCK_BYTES: i64 = 8_192;
/// The estimated time to build the primary keys, as a fraction of the time to copy the rows.
const PRIMARY_KEY_TIME_RATIO: f64 = 0.36;

/// Estimates how long the primary keys take, if the rows took `seconds`.
pub(super) fn primary_key_seconds(seconds: f64) -> f64 {
    seconds * PRIMARY_KEY_TIME_RATIO
}

/// The progress of a running copy.
#[derive(Debug)]
pub(super) struct CopyProgress {
    started: Instant,
    state: Mutex<CopyState>,
}

#[derive(Debug, Default)]
struct CopyState {
    /// Rows and bytes of committed chunks, per table.
    done: Vec<(i64, i64)>,
    /// Number of chunks that are not done, per table.
    remaining_chunks: Vec<usize>,
    /// Rows and bytes of the chunks in progress, by ordinal, with the index of their table.
    in_progress: HashMap<i32, (usize, i64, i64)>,
    /// The estimate of each table.
    estimates: Vec<TableEstimate>,
    /// Rows and bytes of the chunks that this run has committed.
    copied: (i64, i64),
    eta: Option<Eta>,
}

impl CopyProgress {
    /// Starts with the rows that earlier runs have copied, and with the server's estimates of the other rows.
    pub(super) async fn start(
        context: &StepContext,
        remaining: &VecDeque<CopyChunk>,
        target: &Connected,
    ) -> Result<Self, StepError> {
        let shard = target.name();
        let source = context.source()?;
        let session = source.session("estimate").await?;
        let mut state = CopyState::default();
        for (index, table) in context.dispatch.tables.iter().enumerate() {
            let left = remaining
                .iter()
                .filter(|chunk| chunk.table == index)
                .count();
            state.remaining_chunks.push(left);
            let predicate = context.predicate(table, "");
            let ppm = catalog::selectivity_ppm(&session, table, &predicate).await?;
            let (_, blocks) = units::table_size(&session, table).await?;
            let estimate = TableEstimate::of(table.rows, table.bytes, blocks * BLOCK_BYTES, ppm);
            state.estimates.push(estimate);
            let row = target
                .query_one(
                    "select coalesce(sum(rows), 0)::bigint, coalesce(sum(bytes), 0)::bigint
                     from shardwright.chunk where migration = $1 and relation = $2 and done",
                    &[&context.dispatch.migration.0, &table.table.to_string()],
                )
                .await
                .at(format_args!("shard {shard}: reading chunks"))?;
            state.done.push((row.get(0), row.get(1)));
        }
        Ok(Self {
            started: Instant::now(),
            state: Mutex::new(state),
        })
    }

    /// Records how many rows and bytes of a chunk in progress are copied so far.
    pub(super) fn update_chunk(
        &self,
        context: &StepContext,
        table: usize,
        chunk: i32,
        rows: u64,
        bytes: u64,
    ) {
        let copied_so_far = (table, to_i64(rows), to_i64(bytes));
        if let Ok(mut state) = self.state.lock() {
            state.in_progress.insert(chunk, copied_so_far);
            self.publish(context, &mut state);
        }
    }

    /// Records that a chunk is committed.
    pub(super) fn finish_chunk(
        &self,
        context: &StepContext,
        table: usize,
        chunk: i32,
        was_begun_before: bool,
    ) {
        if let Ok(mut state) = self.state.lock() {
            if let Some((_, rows, bytes)) = state.in_progress.remove(&chunk) {
                state.done[table].0 += rows;
                state.done[table].1 += bytes;
                state.copied.0 += rows;
                state.copied.1 += bytes;
            }
            state.remaining_chunks[table] = state.remaining_chunks[table].saturating_sub(1);
            self.publish(context, &mut state);
        }
        if was_begun_before {
            tracing::info!(
                chunk,
                "the agent has copied a chunk again that an earlier attempt had begun"
            );
        }
    }

    /// Updates the progress of the session, and its estimate of the remaining time.
    fn publish(&self, context: &StepContext, state: &mut CopyState) {
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let in_progress: (i64, i64) = state
            .in_progress
            .values()
            .fold((0, 0), |sum, (_, rows, bytes)| {
                (sum.0 + rows, sum.1 + bytes)
            });
        let rate = |done: i64| done as f64 / seconds;
        let rows_per_second = rate(state.copied.0 + in_progress.0);
        let bytes_per_second = rate(state.copied.1 + in_progress.1);
        let tables: Vec<TableProgress> = (0..state.done.len())
            .map(|index| table_progress(context, state, index))
            .collect();
        let fraction = fraction_done(&tables, state);
        let started = self.started;
        let eta = state
            .eta
            .get_or_insert_with(|| Eta::begin(started, fraction));
        let seconds_left = eta.seconds_left(Instant::now(), fraction, 1.0);
        let with_keys =
            |seconds_left: f64| seconds_left + primary_key_seconds(seconds + seconds_left);
        context.session.set_eta_seconds(seconds_left.map(with_keys));
        context.session.update(|progress| {
            progress.tables = tables;
            progress.rows_per_second = rows_per_second;
            progress.bytes_per_second = bytes_per_second;
        });
    }
}

/// Returns the fraction of the work that is done, from 0 to 1.
fn fraction_done(tables: &[TableProgress], state: &CopyState) -> f64 {
    let works = tables.iter().enumerate().map(|(index, table)| {
        let (done, all) =
            state.estimates[index].done_and_total_work(table.rows_done, table.bytes_done);
        // When a table is copied, its actual work replaces the estimate.
        (
            done,
            if state.remaining_chunks[index] == 0 {
                done
            } else {
                all
            },
        )
    });
    let (done, total) = works.fold((0.0, 0.0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
    if total > 0.0 { done / total } else { 0.0 }
}

fn table_progress(context: &StepContext, state: &CopyState, index: usize) -> TableProgress {
    let in_progress = state
        .in_progress
        .values()
        .filter(|(table, _, _)| *table == index);
    let (rows, bytes) = in_progress.fold(state.done[index], |sum, (_, rows, bytes)| {
        (sum.0 + rows, sum.1 + bytes)
    });
    TableProgress {
        table: context.dispatch.tables[index].table.to_string(),
        rows_done: rows,
        rows_total: state.estimates[index].rows.max(rows),
        bytes_done: bytes,
        bytes_total: state.estimates[index].bytes().max(bytes),
        phase: "copying".to_owned(),
    }
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
