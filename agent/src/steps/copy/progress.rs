//! The copy's figures: rows and bytes per table, rate, time left.

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

/// Bytes of a block.
const BLOCK: i64 = 8_192;
/// What the primary keys take that are built behind the rows, as a part of the rows' time.
const KEYS_PART: f64 = 0.36;

/// How long the primary keys take, when the rows took `seconds`.
pub(super) fn keys_after(seconds: f64) -> f64 {
    seconds * KEYS_PART
}

/// Figures of a running copy.
#[derive(Debug)]
pub(super) struct CopyProgress {
    started: Instant,
    state: Mutex<CopyState>,
}

#[derive(Debug, Default)]
struct CopyState {
    /// Rows and bytes of chunks that are committed, per table.
    done: Vec<(i64, i64)>,
    /// Chunks that are not committed, per table.
    left: Vec<usize>,
    /// Rows and bytes of chunks in flight, by ordinal, with their table.
    flying: HashMap<i32, (usize, i64, i64)>,
    /// What is expected, per table.
    expected: Vec<TableEstimate>,
    /// Bytes that this run has moved.
    moved: (i64, i64),
    eta: Option<Eta>,
}

impl CopyProgress {
    /// Begins with what earlier runs have copied, and with the planner's estimates of the rest.
    pub(super) async fn start(
        context: &StepContext,
        todo: &VecDeque<CopyChunk>,
        target: &Connected,
    ) -> Result<Self, StepError> {
        let shard = target.name();
        let source = context.source()?;
        let session = source.session("estimate").await?;
        let mut state = CopyState::default();
        for (at, table) in context.dispatch.tables.iter().enumerate() {
            let left = todo.iter().filter(|chunk| chunk.table == at).count();
            state.left.push(left);
            let predicate = context.predicate(table, "");
            let ppm = catalog::selectivity_ppm(&session, table, &predicate).await?;
            let (_, blocks) = units::size(&session, table).await?;
            let expected = TableEstimate::of(table.rows, table.bytes, blocks * BLOCK, ppm);
            state.expected.push(expected);
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

    /// Rows and bytes of a chunk so far.
    pub(super) fn moving(
        &self,
        context: &StepContext,
        table: usize,
        chunk: i32,
        rows: u64,
        bytes: u64,
    ) {
        let figures = (table, clamp(rows), clamp(bytes));
        if let Ok(mut state) = self.state.lock() {
            state.flying.insert(chunk, figures);
            self.publish(context, &mut state);
        }
    }

    /// A chunk is committed.
    pub(super) fn done(&self, context: &StepContext, table: usize, chunk: i32, again: bool) {
        if let Ok(mut state) = self.state.lock() {
            if let Some((_, rows, bytes)) = state.flying.remove(&chunk) {
                state.done[table].0 += rows;
                state.done[table].1 += bytes;
                state.moved.0 += rows;
                state.moved.1 += bytes;
            }
            state.left[table] = state.left[table].saturating_sub(1);
            self.publish(context, &mut state);
        }
        if again {
            tracing::info!(chunk, "a chunk that had been begun before was copied again");
        }
    }

    fn publish(&self, context: &StepContext, state: &mut CopyState) {
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let flying: (i64, i64) = state.flying.values().fold((0, 0), |sum, (_, rows, bytes)| {
            (sum.0 + rows, sum.1 + bytes)
        });
        let rate = |done: i64| done as f64 / seconds;
        let rows_per_second = rate(state.moved.0 + flying.0);
        let bytes_per_second = rate(state.moved.1 + flying.1);
        let tables: Vec<TableProgress> = (0..state.done.len())
            .map(|at| table(context, state, at))
            .collect();
        let part = part_done(&tables, state);
        let began = self.started;
        let eta = state.eta.get_or_insert_with(|| Eta::begin(began, part));
        let left = eta.seconds_left(Instant::now(), part, 1.0);
        let keys = |left: f64| left + keys_after(seconds + left);
        context.session.set_eta_seconds(left.map(keys));
        context.session.update(|progress| {
            progress.tables = tables;
            progress.rows_per_second = rows_per_second;
            progress.bytes_per_second = bytes_per_second;
        });
    }
}

/// The part of the work that is done, 0 to 1.
fn part_done(tables: &[TableProgress], state: &CopyState) -> f64 {
    let works = tables.iter().enumerate().map(|(at, table)| {
        let (done, all) = state.expected[at].work(table.rows_done, table.bytes_done);
        // What was expected of a table does not matter any more when it is copied.
        (done, if state.left[at] == 0 { done } else { all })
    });
    let (done, total) = works.fold((0.0, 0.0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
    if total > 0.0 { done / total } else { 0.0 }
}

fn table(context: &StepContext, state: &CopyState, at: usize) -> TableProgress {
    let flying = state.flying.values().filter(|(table, _, _)| *table == at);
    let (rows, bytes) = flying.fold(state.done[at], |sum, (_, rows, bytes)| {
        (sum.0 + rows, sum.1 + bytes)
    });
    TableProgress {
        table: context.dispatch.tables[at].table.to_string(),
        rows_done: rows,
        rows_total: state.expected[at].rows.max(rows),
        bytes_done: bytes,
        bytes_total: state.expected[at].bytes().max(bytes),
        phase: "copying".to_owned(),
    }
}

fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
