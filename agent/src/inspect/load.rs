//! Where the load of a shard is: rows and bytes from samples, writes from the log, weights from a query.
//!
//! Order: samples of every table, the operator's query, the log for as long as the task says, then the
//! items. Memory is bounded by the tally, whatever the data's size.

mod items;
mod sample;
mod tally;
mod watch;

use plans::fleet::ShardRef;
use plans::inspection::sweep::Swept;
use plans::inspection::{Load, LoadTask};
use plans::key::{Key, accept};
use plans::request::Measure;
use plans::table::{KeyColumn, MovingTable, TableKey, TableName};
use tokio_postgres::Row;

use crate::error::StepError;
use crate::shard::epoch;
use crate::shard::user_code::CodeProver;
use tally::LoadTally;

/// Drops publications whose maker is gone.
pub(super) async fn sweep(reference: &ShardRef, swept: &mut Swept) -> Result<(), StepError> {
    let session = super::session_to_change(reference, "sweep").await?;
    let shard = reference.name.as_str();
    watch::sweep(&session).await?;
    swept.done.push(format!(
        "shard {shard}: dropped publications of looks that have ended"
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
    /// The rows that the shard owns, over a row called `row`.
    fn owned(&self, task: &LoadTask, row: &str) -> String {
        let columns = self.expressions(row).into_iter();
        let typed: Vec<_> = columns
            .zip(self.key.iter().map(|column| column.kind))
            .collect();
        task.owned.predicate(&typed)
    }

    /// The key's columns of a row called `row`.
    fn expressions(&self, row: &str) -> Vec<String> {
        let names = self.key.iter();
        names
            .map(|column| format!("{row}.{}", plans::sql::quote_ident(&column.name)))
            .collect()
    }
}

/// Measures one shard.
///
/// # Errors
/// When the shard cannot be read, or the operator's query fails or returns something else.
pub(super) async fn run(task: &LoadTask) -> Result<Load, StepError> {
    let client = super::session(&task.shard, "load").await?;
    let tables = sharded(task)?;
    let mut tally = LoadTally::new(task);
    let bare = |table: &ShardedTable| {
        MovingTable::bare(table.table.clone(), TableKey::Columns(table.key.clone()))
    };
    let bare: Vec<_> = tables.iter().map(bare).collect();
    let prover = CodeProver::open(&super::shard(&task.shard)?).await?;
    prover.begin(&client, &bare).await?;
    let sampled = sample::run(&client, task, &tables, &mut tally).await?;
    epoch::rollback(&client).await;
    if let Measure::Query(query) = &task.by {
        sample::weigh(&client, task, query, &prover, &bare, &mut tally).await?;
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
        load.watched_ms = watched.for_ms;
        load.findings = watched.findings;
    }
    load.hottest = tally.hottest(task.watch_seconds > 0, task.hottest);
    load.items = items::divide(task, &tally);
    Ok(load)
}

fn sharded(task: &LoadTask) -> Result<Vec<ShardedTable>, StepError> {
    let mut tables = Vec::with_capacity(task.tables.len());
    for (name, columns) in &task.tables {
        if columns.0.len() != task.key.len() {
            return Err(StepError::refused(
                "load.key",
                format!(
                    "table {name} has {} key column(s), the map {}",
                    columns.0.len(),
                    task.key.len()
                ),
                "correct the map's tables",
            ));
        }
        let named = columns.0.iter().zip(&task.key);
        tables.push(ShardedTable {
            table: TableName::parse(name),
            key: named
                .map(|(name, kind)| KeyColumn {
                    name: name.clone(),
                    kind: *kind,
                })
                .collect(),
        });
    }
    Ok(tables)
}

/// The key in the first columns of a row, which are text; `None` where one of them is null or none of the map's.
fn key_of(task: &LoadTask, row: &Row) -> Option<Key> {
    let texts = (0..task.key.len()).map(|at| row.get::<_, Option<&str>>(at));
    key_from(task, texts)
}

/// A key from its columns' texts.
fn key_from<'a>(task: &LoadTask, texts: impl Iterator<Item = Option<&'a str>>) -> Option<Key> {
    let values: Option<Vec<Key>> = task
        .key
        .iter()
        .zip(texts)
        .map(|(kind, text)| kind.read(text?))
        .collect();
    accept(&task.key, &Key::Row(values?)).ok()
}
