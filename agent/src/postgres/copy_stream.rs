//! Copies one chunk of a table: COPY TO on the source, COPY FROM on the target.

use connect::Connected;
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;
use tokio::sync::mpsc::Receiver;

use super::copy_pipe::{self, PipeFailure};
pub(crate) use super::copy_pipe::{CopyReceivers, ReceiveOutcome, ReceiverInput};
use crate::error::{StepError, WithIntent};

/// Rows of a table by their block number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockRange {
    pub(crate) from: i64,
    /// None: to the end of the table.
    pub(crate) to: Option<i64>,
}

impl BlockRange {
    /// Returns the condition on `ctid`.
    pub(crate) fn condition(&self) -> String {
        let from = format!("ctid >= '({},0)'::pg_catalog.tid", self.from);
        match self.to {
            Some(to) => format!("{from} and ctid < '({to},0)'::pg_catalog.tid"),
            None => from,
        }
    }
}

/// Rows whose value in `column`, the first column of the primary key, is at least `low` and less than `high`. Both
/// values are text; None means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) column: String,
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
}

impl KeyRange {
    /// Returns the condition on the column.
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

/// The rows of a table that one chunk contains.
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

/// Copies the rows of one extent that match `predicate`, a condition over a row `t`. The caller has opened a
/// transaction on both sessions. After an error both sessions are closed.
///
/// Returns the numbers of rows and bytes. The function calls `moved` with the numbers sent so far and awaits its
/// future.
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

/// Copies the rows of a table that match `condition`, a condition over a row `t`. Otherwise as [`copy_chunk`].
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

/// Reads the rows of one extent once for several receivers. Receiver number n gets the rows `t` that match the nth
/// predicate; the source evaluates the predicates.
///
/// The caller has opened a transaction on `source`; after an error the session is closed. The caller, and not this
/// function, reports to the receivers that they have all rows.
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

/// Writes the rows that a reader sends, in the transaction of `target`. If the reader did not send all rows, or after
/// an error, the session is closed. The function calls `came` for each message of the reader, and `moved` as in
/// [`copy_chunk`].
pub(crate) async fn write_from_receiver<F: Future<Output = ()>>(
    target: &mut Connected,
    table: &MovingTable,
    input: Receiver<ReceiverInput>,
    (came, moved): (impl Fn(), impl Fn(u64, u64) -> F),
) -> Result<ReceiveOutcome, StepError> {
    let what = writing(table, target.name());
    let written = copy_pipe::write_received((target, &into(table)), input, (came, moved)).await;
    written.at(what)
}

/// Describes the action on the source, for messages.
fn reading(table: &MovingTable, shard: &str) -> String {
    format!("shard {shard}: copying {}: reading", table.table)
}

/// Describes the action on the target, for messages.
fn writing(table: &MovingTable, shard: &str) -> String {
    format!("shard {shard}: copying {}: writing", table.table)
}

/// Returns the COPY statement for the source. `condition` is a condition over a row `t`.
pub(crate) fn out_of(table: &MovingTable, condition: &str) -> String {
    let (name, columns) = (table.table.sql(), columns(table));
    let format = table.format.name();
    format!(
        "copy (select {columns} from only {name} t where {condition}) to stdout (format {format})"
    )
}

/// Returns the COPY statement for the target.
pub(crate) fn into(table: &MovingTable) -> String {
    let (name, columns) = (table.table.sql(), columns(table));
    let format = table.format.name();
    format!("copy {name} ({columns}) from stdin (format {format})")
}

/// Returns the list of the columns that are copied, as SQL.
fn columns(table: &MovingTable) -> String {
    let columns = table.written_columns().map(|c| quote_ident(&c.name));
    columns.collect::<Vec<_>>().join(", ")
}
