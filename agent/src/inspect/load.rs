//! Measures the load of a shard by key: rows and bytes from samples, writes from the log, weights from a query of the
//! operator.
//!
//! The agent first samples every table, then runs the operator's query, then reads the log for the time in the task,
//! and at last divides the keys into items. `LoadTally` limits the memory, independently of the number of rows.

mod items;
mod sample;
mod tally;
mod watch;
mod whole;

use connect::Connected;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::inspection::sweep::Swept;
use plans::inspection::{Load, LoadTask};
use plans::key::{Key, accept};
use plans::request::Measure;
use plans::shard_map::MapSettings;
use plans::table::{KeyColumn, MovingTable, TableKey, TableName};
use tokio_postgres::Row;

use crate::error::StepError;
use crate::shard::epoch;
use crate::shard::user_code::CodeProver;
use tally::LoadTally;
use whole::WholeTables;

/// Drops the publications that ended load inspections have left.
pub(super) async fn drop_abandoned_publications(
    reference: &ShardRef,
    swept: &mut Swept,
) -> Result<(), StepError> {
    let session = super::session_to_change(reference, "sweep").await?;
    let shard = reference.name.as_str();
    watch::drop_abandoned_publications(&session).await?;
    swept.done.push(format!(
        "shard {shard}: dropped publications of load inspections that have ended"
    ));
    Ok(())
}

/// A sharded table of the task.
#[derive(Debug)]
struct ShardedTable {
    table: TableName,
    key: Vec<KeyColumn>,
}

impl ShardedTable {
    /// Returns the SQL condition that the shard owns the key of the row `row`.
    fn owned_predicate(&self, task: &LoadTask, row: &str) -> String {
        let columns = self.key_expressions(row).into_iter();
        let typed: Vec<_> = columns
            .zip(self.key.iter().map(|column| column.kind))
            .collect();
        task.owned.predicate(&typed)
    }

    /// Returns the key columns of the row `row` as SQL expressions.
    fn key_expressions(&self, row: &str) -> Vec<String> {
        let names = self.key.iter();
        names
            .map(|column| format!("{row}.{}", plans::sql::quote_ident(&column.name)))
            .collect()
    }
}

/// Measures one shard.
///
/// # Errors
/// If the shard cannot be read, or the operator's query fails or returns other columns.
pub(super) async fn run(task: &LoadTask) -> Result<Load, StepError> {
    let client = super::session(&task.shard, "load").await?;
    if let Some(settings) = &task.whole {
        return measure_whole_tables(&client, task, settings).await;
    }
    let tables = sharded_tables(task)?;
    let mut tally = LoadTally::new(task);
    let to_moving = |table: &ShardedTable| {
        MovingTable::bare(table.table.clone(), TableKey::Columns(table.key.clone()))
    };
    let moving_tables: Vec<_> = tables.iter().map(to_moving).collect();
    let prover = CodeProver::open(&super::shard(&task.shard)?).await?;
    prover.begin(&client, &moving_tables).await?;
    let sampled = sample::run(&client, task, &tables, &mut tally).await?;
    epoch::rollback(&client).await;
    if let Measure::Query(query) = &task.by {
        sample::add_query_weights(&client, task, query, &prover, &moving_tables, &mut tally)
            .await?;
    }
    let mut load = Load {
        shard: task.shard.name.clone(),
        items: Vec::new(),
        hottest: Vec::new(),
        watched_ms: 0,
        sampled,
        findings: Vec::new(),
    };
    if task.watch_seconds > 0 {
        let watched = watch::run(task, &tables, &mut tally).await?;
        load.watched_ms = watched.duration_ms;
        load.findings = watched.findings;
    }
    load.hottest = tally.hottest_keys(task.watch_seconds > 0, task.hottest);
    load.items = items::divide_into_items(task, &tally);
    Ok(load)
}

/// Measures the schemas or groups of tables that the shard owns.
async fn measure_whole_tables(
    client: &Connected,
    task: &LoadTask,
    settings: &MapSettings,
) -> Result<Load, StepError> {
    let tables = WholeTables::read(client, task, settings).await?;
    let mut tally = LoadTally::new(task);
    tables.count_rows(&mut tally);
    if let Measure::Query(query) = &task.by {
        let prover = CodeProver::open(&super::shard(&task.shard)?).await?;
        sample::add_query_weights(client, task, query, &prover, &tables.bare(), &mut tally).await?;
    }
    let watched_ms = match task.watch_seconds {
        0 => 0,
        _ => tables.count_writes(client, task, &mut tally).await?,
    };
    Ok(Load {
        shard: task.shard.name.clone(),
        hottest: tally.hottest_keys(task.watch_seconds > 0, task.hottest),
        items: items::divide_into_items(task, &tally),
        watched_ms,
        sampled: true,
        findings: Vec::new(),
    })
}

fn sharded_tables(task: &LoadTask) -> Result<Vec<ShardedTable>, StepError> {
    let mut tables = Vec::with_capacity(task.tables.len());
    for (name, columns) in &task.tables {
        if columns.0.len() != task.key.len() {
            return Err(StepError::refused(
                StepCode::LoadKey,
                format!(
                    "table {name} has {} key column(s), the map {}",
                    columns.0.len(),
                    task.key.len()
                ),
                "correct the map's tables",
            ));
        }
        let columns_with_types = columns.0.iter().zip(&task.key);
        tables.push(ShardedTable {
            table: TableName::parse(name),
            key: columns_with_types
                .map(|(name, kind)| KeyColumn {
                    name: name.clone(),
                    kind: *kind,
                })
                .collect(),
        });
    }
    Ok(tables)
}

/// Returns the key in the first columns of a result row, which are of type text. Returns `None` if a column is null or
/// is not a valid value of the map's key.
fn read_key(task: &LoadTask, row: &Row) -> Option<Key> {
    let texts = (0..task.key.len()).map(|index| row.get::<_, Option<&str>>(index));
    parse_key(task, texts)
}

/// Returns the key from the texts of its columns.
fn parse_key<'a>(task: &LoadTask, texts: impl Iterator<Item = Option<&'a str>>) -> Option<Key> {
    let values: Option<Vec<Key>> = task
        .key
        .iter()
        .zip(texts)
        .map(|(kind, text)| kind.read(text?))
        .collect();
    accept(&task.key, &Key::Row(values?)).ok()
}
