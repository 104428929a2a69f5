//! The copy's figures: rows and bytes per table, rate, time left.

use std::collections::HashMap;
use std::sync::Mutex;

use plans::wire::TableProgress;
use tokio::time::Instant;
use tokio_postgres::Client;

use crate::error::{At, StepError};
use crate::eta::Eta;
use crate::owned::Context;
use crate::pg::catalog;

/// What a row costs beside its bytes, in bytes.
const ROW_COST: f64 = 192.0;
/// Rows of a table after which their own width counts, not that of the whole table's file.
const ROWS_KNOWN: i64 = 1_000;
/// What the primary keys take that are built behind the rows, as a part of the rows' time.
const KEYS_PART: f64 = 0.33;

/// How long the primary keys take, when the rows took `seconds`.
pub(super) fn keys_after(seconds: f64) -> f64 {
    seconds * KEYS_PART
}

/// Figures of a running copy.
#[derive(Debug)]
pub(super) struct CopyProgress {
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Rows and bytes of chunks that are committed, per table.
    done: Vec<(i64, i64)>,
    /// Rows and bytes of chunks in flight, by ordinal, with their table.
    flying: HashMap<i32, (usize, i64, i64)>,
    /// Rows and bytes expected, per table.
    expected: Vec<(i64, i64)>,
    /// Bytes that this run has moved.
    moved: (i64, i64),
    eta: Option<Eta>,
}

impl CopyProgress {
    /// Begins with what earlier runs have copied, and with the planner's estimates of the rest.
    pub(super) async fn start(
        context: &Context,
        target: &Client,
        shard: &str,
    ) -> Result<Self, StepError> {
        let source = context.source()?;
        let session = source.session("estimate").await?;
        let mut state = State::default();
        for table in &context.dispatch.tables {
            let predicate = context.predicate(table);
            let ppm = catalog::selectivity_ppm(&session, table, &predicate, &source.name).await?;
            let part = |amount: i64| (amount as f64 * ppm as f64 / 1e6) as i64;
            state.expected.push((part(table.rows), part(table.bytes)));
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
        context: &Context,
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
    pub(super) fn done(&self, context: &Context, table: usize, chunk: i32, again: bool) {
        if let Ok(mut state) = self.state.lock() {
            if let Some((_, rows, bytes)) = state.flying.remove(&chunk) {
                state.done[table].0 += rows;
                state.done[table].1 += bytes;
                state.moved.0 += rows;
                state.moved.1 += bytes;
            }
            self.publish(context, &mut state);
        }
        if again {
            tracing::info!(chunk, "a chunk that had been begun before was copied again");
        }
    }

    fn publish(&self, context: &Context, state: &mut State) {
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
        let part = part_done(&tables);
        let began = self.started;
        let eta = state.eta.get_or_insert_with(|| Eta::begin(began, part));
        let left = eta.left(Instant::now(), part, 1.0);
        let keys = |left: f64| left + keys_after(seconds + left);
        context.owned.foresee(left.map(keys));
        context.owned.update(|progress| {
            progress.tables = tables;
            progress.rows_per_second = rows_per_second;
            progress.bytes_per_second = bytes_per_second;
        });
    }
}

/// The part of the work that is done, 0 to 1; a row of a wide table is more work than one of a narrow one.
fn part_done(tables: &[TableProgress]) -> f64 {
    let (done, total) = tables.iter().fold((0.0, 0.0), |(done, total), table| {
        let (bytes, rows) = match table.rows_done >= ROWS_KNOWN {
            true => (table.bytes_done, table.rows_done),
            false => (table.bytes_total, table.rows_total.max(1)),
        };
        let each = ROW_COST + bytes as f64 / rows as f64;
        let cost = |rows: i64| rows as f64 * each;
        (done + cost(table.rows_done), total + cost(table.rows_total))
    });
    if total > 0.0 { done / total } else { 0.0 }
}

fn table(context: &Context, state: &State, at: usize) -> TableProgress {
    let flying = state.flying.values().filter(|(table, _, _)| *table == at);
    let (rows, bytes) = flying.fold(state.done[at], |sum, (_, rows, bytes)| {
        (sum.0 + rows, sum.1 + bytes)
    });
    TableProgress {
        table: context.dispatch.tables[at].table.to_string(),
        rows_done: rows,
        rows_total: state.expected[at].0.max(rows),
        bytes_done: bytes,
        bytes_total: state.expected[at].1.max(bytes),
        phase: "copying".to_owned(),
    }
}

fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
