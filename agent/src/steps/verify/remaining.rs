//! The progress of a comparison, and the estimate of the remaining time, for which the number of copied rows is used.

use std::collections::BTreeMap;

use connect::Connected;
use plans::wire::TableProgress;
use tokio::time::Instant;

use crate::compare::ChunkRecord;
use crate::error::{StepError, WithIntent};
use crate::eta::Eta;
use crate::migration::context::StepContext;

/// The work for a row in addition to its bytes. The unit is the work for one byte.
const ROW_WORK: i64 = 64;

/// The tables of a run, and the estimate of the remaining time.
pub(super) struct RemainingTables<'a> {
    context: &'a StepContext,
    started: Instant,
    eta: Eta,
    tables: Vec<RemainingTable>,
}

#[derive(Debug, Default)]
struct RemainingTable {
    name: String,
    /// Number of copied rows; 0 if another migration copied them.
    rows: i64,
    /// The bytes of these rows.
    bytes: i64,
    chunks: usize,
    chunks_compared: usize,
    rows_compared: i64,
}

impl<'a> RemainingTables<'a> {
    /// Begins to measure a run over `chunks`, with the rows that the copy recorded on `target`.
    pub(super) async fn begin(
        context: &'a StepContext,
        chunks: &[ChunkRecord],
        target: &Connected,
    ) -> Result<Self, StepError> {
        let shard = target.name();
        let rows = target
            .query(
                "select relation, sum(rows)::bigint, sum(bytes)::bigint from shardwright.chunk
                 where migration = $1 and done group by relation",
                &[&context.dispatch.migration.0],
            )
            .await
            .at(format_args!(
                "shard {shard}: reading the numbers of copied rows"
            ))?;
        let copied: BTreeMap<String, (i64, i64)> = rows
            .iter()
            .map(|row| (row.get(0), (row.get(1), row.get(2))))
            .collect();
        let mut tables: Vec<RemainingTable> = Vec::new();
        for chunk in chunks {
            if tables
                .last()
                .is_none_or(|table| table.name != chunk.relation)
            {
                let (rows, bytes) = copied.get(&chunk.relation).copied().unwrap_or_default();
                tables.push(RemainingTable {
                    name: chunk.relation.clone(),
                    rows,
                    bytes,
                    ..RemainingTable::default()
                });
            }
            if let Some(table) = tables.last_mut() {
                table.chunks += 1;
                table.chunks_compared += usize::from(chunk.at.is_some());
                table.rows_compared += chunk.rows;
            }
        }
        let started = Instant::now();
        let eta = Eta::begin(started, work_done(&tables));
        Ok(Self {
            context,
            started,
            eta,
            tables,
        })
    }

    /// Records that a chunk of `rows` of `relation` was compared.
    pub(super) fn add_compared(&mut self, relation: &str, rows: i64) {
        let table = self.tables.iter_mut().find(|table| table.name == relation);
        if let Some(table) = table {
            table.chunks_compared += 1;
            table.rows_compared += rows;
        }
        let total = self.tables.iter().map(RemainingTable::total_work).sum();
        let seconds_left = self
            .eta
            .seconds_left(Instant::now(), work_done(&self.tables), total);
        self.context.session.set_eta_seconds(seconds_left);
        let rows: i64 = self.tables.iter().map(|table| table.rows_compared).sum();
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        self.context.session.update(|progress| {
            progress.tables = self.tables.iter().map(RemainingTable::progress).collect();
            progress.rows_per_second = rows as f64 / seconds;
        });
    }
}

fn work_done(tables: &[RemainingTable]) -> f64 {
    tables
        .iter()
        .map(|table| table.total_work() * table.fraction_done())
        .sum()
}

impl RemainingTable {
    /// Returns the work to compare the table; the unit is the work for one byte.
    fn total_work(&self) -> f64 {
        (self.rows * ROW_WORK + self.bytes).max(1) as f64
    }

    /// Returns the fraction of chunks that are compared. Chunks of one table have about the same size.
    fn fraction_done(&self) -> f64 {
        self.chunks_compared as f64 / self.chunks.max(1) as f64
    }

    fn progress(&self) -> TableProgress {
        let is_finished = self.chunks_compared == self.chunks;
        let phase = if is_finished { "compared" } else { "comparing" };
        TableProgress {
            table: self.name.clone(),
            rows_done: self.rows_compared,
            rows_total: if is_finished {
                self.rows_compared
            } else {
                self.rows.max(self.rows_compared)
            },
            phase: phase.to_owned(),
            ..TableProgress::default()
        }
    }
}
