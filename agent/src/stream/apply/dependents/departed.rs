//! Removes copied rows whose parents have left the moving keys. The log has no change of them: for example, an UPDATE gave
//! their parent a key that does not move.

use connect::Connected;
use plans::sql::quote_ident;
use plans::table::{MovingTable, ThroughTable};

use super::super::change::{RowChange, RowChangeKind};
use super::super::target::ApplyTarget;
use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// Rows of one table that were deleted from the copy, by the values to which dependents refer.
#[derive(Debug)]
struct DepartedRows {
    /// The index of the table among the move's tables.
    table: usize,
    /// For each column: its name, and the text of its value in each row.
    columns: Vec<(String, Vec<String>)>,
}

/// The parents that a batch has deleted, and those that its rows refer to and that are missing.
#[derive(Debug, Default)]
pub(crate) struct DepartedParents(Vec<DepartedRows>);

impl DepartedParents {
    /// Records the deletions among the executed changes.
    pub(crate) fn record(&mut self, tables: &[MovingTable], changes: &[RowChange]) {
        for change in changes {
            let RowChangeKind::Delete(row) = &change.kind else {
                continue;
            };
            let columns = referenced_columns(tables, change.table());
            let pairs = columns.into_iter().map(|column| (column.clone(), column));
            self.add_row(change.table(), &change.target, row, pairs);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Records the missing parent to which the new row of a change refers.
    pub(super) fn record_missing(
        &mut self,
        tables: &[MovingTable],
        target: &ApplyTarget,
        row: &Tuple,
    ) {
        let Some(through) = tables[target.table].through() else {
            return;
        };
        let is_parent = |table: &MovingTable| *table.top() == through.parent;
        if let Some(parent) = tables.iter().position(is_parent) {
            let mut pairs = through.columns.clone();
            pairs.sort_by(|one, other| one.1.cmp(&other.1));
            self.add_row(parent, target, row, pairs.into_iter());
        }
    }

    /// Adds a row of `table`. `columns` has pairs of a column of `row` and the name of the column of `table` that has its
    /// value.
    fn add_row(
        &mut self,
        table: usize,
        target: &ApplyTarget,
        row: &Tuple,
        columns: impl Iterator<Item = (String, String)>,
    ) {
        let texts = columns.map(|(own, name)| {
            let index = target.position(&own)?;
            match row.0.get(index)? {
                TupleValue::Text(text) => Some((name, String::from_utf8_lossy(text).into_owned())),
                TupleValue::Null
                | TupleValue::UnchangedToast
                | TupleValue::LeftOut
                | TupleValue::Binary(_) => None,
            }
        });
        if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
            self.add(table, texts);
        }
    }

    fn add(&mut self, table: usize, texts: Vec<(String, String)>) {
        if texts.is_empty() {
            return;
        }
        let has_names = |rows: &DepartedRows| {
            let (known, names) = (rows.columns.iter(), texts.iter());
            known.map(|(name, _)| name).eq(names.map(|(name, _)| name))
        };
        let mut known = self.0.iter();
        let known = known.position(|rows| rows.table == table && has_names(rows));
        let index = known.unwrap_or_else(|| {
            let columns = texts.iter().map(|(name, _)| (name.clone(), Vec::new()));
            let columns = columns.collect();
            self.0.push(DepartedRows { table, columns });
            self.0.len() - 1
        });
        for ((_, values), (_, text)) in self.0[index].columns.iter_mut().zip(texts) {
            values.push(text);
        }
    }

    /// Deletes the rows that refer to recorded parents and have none, and then those that refer to these rows, at the end
    /// of a batch. Returns the key of each deleted row with the index of its table.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) async fn remove_dependents(
        &mut self,
        session: &Connected,
        tables: &[MovingTable],
    ) -> Result<Vec<(usize, String)>, StepError> {
        let mut removed = Vec::new();
        while let Some(parents) = self.0.pop() {
            for (index, table) in tables.iter().enumerate() {
                let through = table.through();
                let Some(through) = through.filter(|t| t.parent == *tables[parents.table].top())
                else {
                    continue;
                };
                let referenced = referenced_columns(tables, index);
                let rows = delete_rows(session, table, through, &parents, tables, &referenced);
                for (key, values) in rows.await? {
                    removed.push((index, serde_json::json!(key).to_string()));
                    self.add(index, referenced.iter().cloned().zip(values).collect());
                }
            }
        }
        Ok(removed)
    }
}

/// Returns the columns to which rows of dependent tables refer.
fn referenced_columns(tables: &[MovingTable], table: usize) -> Vec<String> {
    let through = tables.iter().filter_map(MovingTable::through);
    let of_table = through.filter(|through| through.parent == *tables[table].top());
    let names =
        of_table.flat_map(|through| through.columns.iter().map(|(_, theirs)| theirs.clone()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// A deleted row: the texts of its identity, and those of the columns to which other rows refer.
type DeletedRow = (Vec<String>, Vec<String>);

/// Deletes the rows of a table that refer to one of the parents, if no parent exists. Does nothing if the columns of the
/// parents are those of another relation.
async fn delete_rows(
    session: &Connected,
    table: &MovingTable,
    through: &ThroughTable,
    parents: &DepartedRows,
    tables: &[MovingTable],
    referenced: &[String],
) -> Result<Vec<DeletedRow>, StepError> {
    let what = format!(
        "shard {}: deleting rows of {} whose parents have left",
        session.name(),
        table.table
    );
    let mut arrays = Vec::new();
    let mut conditions = vec![through.lacks_parent("t")];
    for (own, theirs) in &through.columns {
        let column = parents.columns.iter().find(|(name, _)| name == theirs);
        let mut definitions = tables[parents.table].columns.iter();
        let definition = definitions.find(|definition| &definition.name == theirs);
        let (Some((_, values)), Some(definition)) = (column, definition) else {
            return Ok(Vec::new());
        };
        arrays.push(values);
        conditions.push(format!(
            "t.{} = (u.c{})::{}",
            quote_ident(own),
            arrays.len(),
            definition.data_type
        ));
    }
    let unnests = (1..=arrays.len()).map(|n| format!("pg_catalog.unnest(${n}::text[])"));
    let names: Vec<String> = (1..=arrays.len()).map(|n| format!("c{n}")).collect();
    let texts = |columns: &[String]| {
        let texts = columns
            .iter()
            .map(|column| format!("pg_catalog.format('%s', t.{})", quote_ident(column)));
        format!("array[{}]::text[]", texts.collect::<Vec<_>>().join(", "))
    };
    let sql = format!(
        "delete from only {} as t using rows from ({}) as u ({}) where {} returning {}, {}",
        table.table.sql(),
        unnests.collect::<Vec<_>>().join(", "),
        names.join(", "),
        conditions.join(" and "),
        texts(&table.identity),
        texts(referenced),
    );
    let params: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> =
        arrays.iter().map(|values| *values as _).collect();
    let rows = session.query(&sql, &params).await.at(what)?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
