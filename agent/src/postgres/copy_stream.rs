//! One chunk: COPY out of the source, COPY into the target.

use connect::Connected;
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;
use tokio::sync::mpsc::Receiver;

use super::copy_pipe::{self, PipeFailure};
pub(crate) use super::copy_pipe::{CopyReceivers, ReceiveOutcome, ReceiverInput};
use crate::error::{StepError, WithIntent};

/// Rows by where they lie.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockRange {
    pub(crate) from: i64,
    /// Missing: to the end of the table.
    pub(crate) to: Option<i64>,
}

impl BlockRange {
    /// The condition on `ctid`.
    pub(crate) fn condition(&self) -> String {
        let from = format!("ctid >= '({},0)'::pg_catalog.tid", self.from);
        match self.to {
            Some(to) => format!("{from} and ctid < '({to},0)'::pg_catalog.tid"),
            None => from,
        }
    }
}

/// Rows from `low` to before `high` of the table's first primary key column, values as text; open where missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) column: String,
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
}

impl KeyRange {
    /// The condition on the column.
    pub(crate) fn condition(&self) -> String {
        let end = |sign: &str, value: &Option<String>| {
            value.as_ref().map(|value| {
                format!(
                    "{} {sign} {}",
                    quote_ident(&self.column),
                    quote_literal(value)
                )
            })
        };
        let ends = [end(">=", &self.low), end("<", &self.high)];
        let ends: Vec<String> = ends.into_iter().flatten().collect();
        if ends.is_empty() {
            "true".to_owned()
        } else {
            ends.join(" and ")
        }
    }
}

/// Which rows of a table a chunk holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyExtent {
    Blocks(BlockRange),
    Keys(KeyRange),
}

impl CopyExtent {
    fn condition(&self) -> String {
        match self {
            Self::Blocks(range) => range.condition(),
            Self::Keys(range) => range.condition(),
        }
    }
}

/// Copies the rows of one extent that match `predicate` over a row called `t`; the sessions of both shards are in their transactions.
/// After an error both are over.
///
/// Returns rows and bytes. `moved` is told of rows and bytes that have been sent on, and may take its time.
pub(crate) async fn copy_chunk<F: Future<Output = ()>>(
    source: &mut Connected,
    target: &mut Connected,
    table: &MovingTable,
    extent: &CopyExtent,
    predicate: &str,
    moved: impl Fn(u64, u64) -> F,
) -> Result<(u64, u64), StepError> {
    let condition = format!("{} and {predicate}", extent.condition());
    copy_rows(source, target, table, &condition, moved).await
}

/// Copies the rows of a table, named `t` there, that match `condition`; as [`copy_chunk`] otherwise.
pub(crate) async fn copy_rows<F: Future<Output = ()>>(
    source: &mut Connected,
    target: &mut Connected,
    table: &MovingTable,
    condition: &str,
    moved: impl Fn(u64, u64) -> F,
) -> Result<(u64, u64), StepError> {
    let out = out_of(table, condition);
    let (read, write) = (reading(table, source.name()), writing(table, target.name()));
    let copied = copy_pipe::pipe((source, &out), (target, &into(table)), moved).await;
    copied.or_else(|failed| match failed {
        PipeFailure::Reading(error) => Err(error).at(read),
        PipeFailure::Writing(error) => Err(error).at(write),
    })
}

/// Reads the rows of one extent once for several receivers, those that match a predicate for each over a row called
/// `t`; the session is in its transaction, and after an error over. Receivers are not told yet that these were all.
///
/// The server itself says by the predicates which row is whose.
pub(crate) async fn read_for_all(
    source: &mut Connected,
    table: &MovingTable,
    extent: &CopyExtent,
    predicates: &[String],
    receivers: &mut CopyReceivers,
) -> Result<(), StepError> {
    let numbered: Vec<String> = predicates
        .iter()
        .enumerate()
        .map(|(number, predicate)| format!("when {predicate} then {number}"))
        .collect();
    let out = format!(
        "copy (select (case {} end)::pg_catalog.int2, {} from only {} t where {} and ({})) to stdout (format binary)",
        numbered.join(" "),
        columns(table),
        table.table.sql(),
        extent.condition(),
        predicates.join(" or ")
    );
    let what = reading(table, source.name());
    let read = copy_pipe::fan_out(source, &out, receivers).await;
    read.at(what)
}

/// Writes the rows that a reader gives, in its transaction. Where these were not all, and after an error, the session is
/// over. `came` is told that a piece has come, `moved` as in [`copy_chunk`].
pub(crate) async fn write_given<F: Future<Output = ()>>(
    target: &mut Connected,
    table: &MovingTable,
    given: Receiver<ReceiverInput>,
    (came, moved): (impl Fn(), impl Fn(u64, u64) -> F),
) -> Result<ReceiveOutcome, StepError> {
    let what = writing(table, target.name());
    let written = copy_pipe::take_in((target, &into(table)), given, (came, moved)).await;
    written.at(what)
}

fn reading(table: &MovingTable, shard: &str) -> String {
    format!("shard {shard}: copying {}: reading", table.table)
}

fn writing(table: &MovingTable, shard: &str) -> String {
    format!("shard {shard}: copying {}: writing", table.table)
}

/// What is asked of the source: rows, named `t` there, that match `condition`.
pub(crate) fn out_of(table: &MovingTable, condition: &str) -> String {
    let (name, columns) = (table.table.sql(), columns(table));
    let format = table.format.name();
    format!(
        "copy (select {columns} from only {name} t where {condition}) to stdout (format {format})"
    )
}

/// What is asked of the target.
pub(crate) fn into(table: &MovingTable) -> String {
    let (name, columns) = (table.table.sql(), columns(table));
    let format = table.format.name();
    format!("copy {name} ({columns}) from stdin (format {format})")
}

fn columns(table: &MovingTable) -> String {
    let columns = table.written_columns().map(|c| quote_ident(&c.name));
    columns.collect::<Vec<_>>().join(", ")
}
