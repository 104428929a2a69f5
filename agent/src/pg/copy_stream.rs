//! One chunk: COPY out of the source, COPY into the target.

use connect::Connected;
use plans::table::{MovingTable, quote_ident, quote_literal};

use super::copy_pipe::{self, Failed};
use crate::error::{At, StepError};

/// Rows by where they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
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
pub(crate) enum Extent {
    Blocks(BlockRange),
    Keys(KeyRange),
}

impl Extent {
    fn condition(&self) -> String {
        match self {
            Self::Blocks(range) => range.condition(),
            Self::Keys(range) => range.condition(),
        }
    }
}

/// Copies the rows of one extent that match `predicate`; the sessions of both shards are in their transactions.
/// After an error both are over.
///
/// Returns rows and bytes. `moved` is told of rows and bytes that have been sent on, and may take its time.
pub(crate) async fn copy_chunk<F: Future<Output = ()>>(
    ((source, from), (target, to)): ((&mut Connected, &str), (&mut Connected, &str)),
    table: &MovingTable,
    extent: &Extent,
    predicate: &str,
    moved: impl Fn(u64, u64) -> F,
) -> Result<(u64, u64), StepError> {
    let condition = format!("{} and {predicate}", extent.condition());
    let sessions = ((source, from), (target, to));
    copy_rows(sessions, table, &condition, moved).await
}

/// Copies the rows of a table, named `t` there, that match `condition`; as [`copy_chunk`] otherwise.
pub(crate) async fn copy_rows<F: Future<Output = ()>>(
    ((source, from), (target, to)): ((&mut Connected, &str), (&mut Connected, &str)),
    table: &MovingTable,
    condition: &str,
    moved: impl Fn(u64, u64) -> F,
) -> Result<(u64, u64), StepError> {
    let reading = format!("shard {from}: copying {}: reading", table.table);
    let writing = format!("shard {to}: copying {}: writing", table.table);
    let columns: Vec<String> = table
        .written_columns()
        .map(|c| quote_ident(&c.name))
        .collect();
    let columns = columns.join(", ");
    let format = table.format.name();
    let name = table.table.sql();
    let out = format!(
        "copy (select {columns} from only {name} t where {condition}) to stdout (format {format})"
    );
    let into = format!("copy {name} ({columns}) from stdin (format {format})");
    let copied = copy_pipe::pipe((source, &out), (target, &into), moved).await;
    copied.or_else(|failed| match failed {
        Failed::Reading(error) => Err(error).at(reading),
        Failed::Writing(error) => Err(error).at(writing),
    })
}
