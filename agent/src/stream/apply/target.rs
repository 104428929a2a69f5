//! Maps a relation of the stream to a table of the move: how statements find a row, and which columns they write.
//!
//! Statements find a row by its identity. If only the whole row is an identity, a statement finds any one of several
//! equal rows, because these cannot be distinguished on either shard.

use std::borrow::Cow;

use plans::failure::StepCode;
use plans::sql::quote_ident;
use plans::table::{Format, MovingTable, TableName, lookup};

use super::downstream_table::{DownstreamColumn, DownstreamTable};
use super::param::{StatementParam, as_param};
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Relation, Tuple, TupleValue};

/// The alias under which a lookup query reads the table.
pub(super) const FOUND: &str = "shardwright_row";

/// A table of the move, with the relation as the stream describes it. Positions and columns of the tuple are those of
/// the relation.
#[derive(Debug)]
pub(super) struct ApplyTarget {
    /// The index of the table among the move's tables.
    pub(super) table: usize,
    pub(super) name: TableName,
    /// The positions of the key columns in the tuple: the columns of the identity, or all written columns if the table
    /// has no identity.
    pub(super) key: Vec<usize>,
    /// The number of key columns with which the index of the identity begins, in the same order.
    pub(super) ordered_columns: usize,
    /// For a table without an identity: the positions of the shard key's columns, which narrow the search for a row.
    /// `None` for other tables.
    pub(super) whole_row_key: Option<Vec<usize>>,
    /// For each column of the tuple: whether the stream writes it, because the plan has it. The other columns were
    /// dropped on both shards after the change.
    pub(super) is_written: Vec<bool>,
    /// For each column of the tuple: whether an UPDATE may set it.
    pub(super) is_settable: Vec<bool>,
    /// The positions of the written columns that no UPDATE may set, without those of the key.
    pub(super) unsettable: Vec<usize>,
    /// For each column of the tuple: its definition on the downstream shard.
    pub(super) downstream_columns: Vec<Option<DownstreamColumn>>,
    /// Whether changes of the table may be executed by sets.
    pub(super) allows_sets: bool,
    /// Whether no change of the table can ever be executed by sets. If two sessions share changes, the first one
    /// executes all changes of such a table.
    pub(super) excludes_sets: bool,
    /// See [`DownstreamTable::has_other_unique_keys`]: the order of changes of different rows can then matter.
    pub(super) has_other_unique_keys: bool,
    pub(super) relation: Relation,
}

impl ApplyTarget {
    /// Maps `relation` to the table `plan`, which has the index `table`; values arrive in `format`.
    ///
    /// # Errors
    /// `schema.drift` if the relation lacks a column of the identity.
    pub(super) fn new(
        table: usize,
        plan: &MovingTable,
        relation: Relation,
        downstream_table: &DownstreamTable,
        format: Format,
    ) -> Result<Self, StepError> {
        let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
        let positions = |wanted: &[&str]| -> Vec<usize> {
            let position = |name: &&str| names.iter().position(|found| found == name);
            wanted.iter().filter_map(position).collect()
        };
        let identity: Vec<&str> = plan.identity.iter().map(String::as_str).collect();
        let planned: Vec<&str> = plan.written_columns().map(|c| c.name.as_str()).collect();
        let has_no_identity = identity.is_empty();
        let key = positions(if has_no_identity { &planned } else { &identity });
        if !has_no_identity && key.len() != identity.len() {
            return Err(StepError::refused(
                StepCode::SchemaDrift,
                format!(
                    "table {}: the changes in the stream lack a column of the identity",
                    plan.table
                ),
                "`abort` the migration and plan it again",
            ));
        }
        let is_written: Vec<bool> = names.iter().map(|name| planned.contains(name)).collect();
        let column = |name: &&str| {
            let mut columns = downstream_table.columns.iter();
            columns.find(|known| known.name == *name).cloned()
        };
        let downstream_columns: Vec<Option<DownstreamColumn>> = names.iter().map(column).collect();
        let is_settable = downstream_columns
            .iter()
            .zip(&is_written)
            .map(|(column, is_written)| {
                let always = column
                    .as_ref()
                    .is_some_and(|column| column.is_generated_always);
                *is_written && !always
            });
        let is_settable: Vec<bool> = is_settable.collect();
        let unsettable = (0..names.len())
            .filter(|index| is_written[*index] && !is_settable[*index] && !key.contains(index))
            .collect();
        let fits_arrays = downstream_columns
            .iter()
            .zip(&is_written)
            .all(|(column, is_written)| {
                let fits = column
                    .as_ref()
                    .is_some_and(|column| column.fits_array(format));
                !is_written || fits
            });
        let is_never_array =
            downstream_columns
                .iter()
                .zip(&is_written)
                .any(|(column, is_written)| {
                    let column = column.as_ref().filter(|_| *is_written);
                    column.is_some_and(|column| column.is_never_array(format))
                });
        Ok(Self {
            table,
            name: plan.table.clone(),
            excludes_sets: has_no_identity || is_never_array,
            ordered_columns: plan.ordered_columns(),
            is_settable,
            unsettable,
            allows_sets: fits_arrays && !has_no_identity,
            has_other_unique_keys: downstream_table.has_other_unique_keys,
            downstream_columns,
            whole_row_key: has_no_identity.then(|| positions(&plan.key_names())),
            key,
            is_written,
            relation,
        })
    }

    /// Returns whether changes of different rows have the same effect in any order.
    pub(super) fn is_order_independent(&self) -> bool {
        self.allows_sets && !self.has_other_unique_keys
    }

    /// Returns the position of a column in the tuple.
    pub(super) fn position(&self, column: &str) -> Option<usize> {
        let mut columns = self.relation.columns.iter();
        columns.position(|found| found.name == column)
    }

    /// Returns the quoted name of a column.
    pub(super) fn column(&self, index: usize) -> String {
        quote_ident(&self.relation.columns[index].name)
    }

    /// Returns the text of the first value of a row's identity, by which copy units are divided. It is empty for a
    /// table without an identity, which is one unit. `None` if the row lacks the value.
    pub(super) fn first_key_text(&self, row: &Tuple) -> Option<String> {
        if self.whole_row_key.is_some() {
            return Some(String::new());
        }
        match row.0.get(*self.key.first()?)? {
            TupleValue::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            TupleValue::Null
            | TupleValue::UnchangedToast
            | TupleValue::LeftOut
            | TupleValue::Binary(_) => None,
        }
    }

    /// Returns the key of a row as a JSON array of text, as the comparison writes it. `None` if the row lacks a key
    /// value.
    pub(super) fn key_text(&self, row: &Tuple) -> Option<String> {
        let mut key = Vec::with_capacity(self.key.len());
        for index in &self.key {
            key.push(match (row.0.get(*index)?, &self.whole_row_key) {
                (TupleValue::Text(text), None) => String::from_utf8_lossy(text).into_owned(),
                (TupleValue::Text(text), Some(_)) => format!("'{}'", String::from_utf8_lossy(text)),
                (TupleValue::Null, Some(_)) => "NULL".to_owned(),
                (TupleValue::Null, None)
                | (TupleValue::UnchangedToast | TupleValue::LeftOut | TupleValue::Binary(_), _) => {
                    return None;
                }
            });
        }
        Some(serde_json::json!(key).to_string())
    }

    /// Returns whether the row has all key values.
    pub(super) fn is_identified(&self, row: &Tuple) -> bool {
        self.key.iter().all(|index| match row.0.get(*index) {
            Some(TupleValue::Text(_)) => true,
            Some(TupleValue::Null) => self.whole_row_key.is_some(),
            Some(TupleValue::UnchangedToast | TupleValue::LeftOut | TupleValue::Binary(_))
            | None => false,
        })
    }

    /// Returns the error for a change that lacks key values, or values that an INSERT writes.
    pub(super) fn incomplete_row_error(&self) -> StepError {
        StepError::refused(
            StepCode::CaptureIncompleteRow,
            format!(
                "table {}: a change in the stream lacks values that identify its row, or that an INSERT writes",
                self.name
            ),
            "set REPLICA IDENTITY FULL on the table, then `abort` the migration and plan it again",
        )
    }

    /// Returns whether the first key column is known not to be an array.
    fn has_scalar_first_key(&self) -> bool {
        let first = self
            .key
            .first()
            .and_then(|index| self.downstream_columns.get(*index));
        first.is_some_and(|column| {
            column
                .as_ref()
                .is_some_and(|column| column.array_type.is_some())
        })
    }

    /// Returns the query for the ctid of the one row with these values of its identity.
    pub(super) fn lookup_query(&self, values: &[String]) -> String {
        let columns = self.key.iter();
        let columns: Vec<String> = columns
            .map(|index| format!("{FOUND}.{}", self.column(*index)))
            .collect();
        format!(
            "select {FOUND}.ctid from only {} {FOUND} {}",
            self.name.sql(),
            lookup(
                &columns,
                values,
                self.ordered_columns,
                self.has_scalar_first_key()
            )
        )
    }

    /// Returns the condition that finds `row`; `None` if the row lacks a key value.
    pub(super) fn row_condition(
        &self,
        row: &Tuple,
        params: &mut Vec<StatementParam>,
    ) -> Option<String> {
        let mut terms = Vec::with_capacity(self.key.len());
        let equal = |index: &usize, params: &mut Vec<StatementParam>| {
            params.push(row.0.get(*index).and_then(as_param)?);
            Some(format!("{} = ${}", self.column(*index), params.len()))
        };
        let Some(shard_key) = &self.whole_row_key else {
            let mut values = Vec::with_capacity(self.key.len());
            for index in &self.key {
                params.push(row.0.get(*index).and_then(as_param)?);
                // The cast is necessary because the server cannot infer the type of a parameter in a lookup query.
                let column = self.downstream_columns.get(*index).and_then(Option::as_ref);
                let cast =
                    column.map_or_else(String::new, |column| format!("::{}", column.type_name));
                values.push(format!("${}{cast}", params.len()));
            }
            return Some(format!("ctid = ({})", self.lookup_query(&values)));
        };
        for index in shard_key {
            terms.push(equal(index, params)?);
        }
        for index in &self.key {
            params.push(row.0.get(*index).and_then(as_param)?);
            terms.push(format!(
                "(case when pg_catalog.num_nonnulls({column}) = 1 then pg_catalog.format('%s', {column}) end) collate pg_catalog.\"C\" is not distinct from ${}::pg_catalog.text",
                params.len(),
                column = self.column(*index),
            ));
        }
        Some(format!(
            "ctid = (select ctid from only {} where {} limit 1)",
            self.name.sql(),
            terms.join(" and ")
        ))
    }

    /// Returns the new row of an UPDATE. Unchanged large values, which the stream did not send, are taken from the old
    /// row if it has them.
    pub(super) fn complete_row<'a>(&self, old: &OldRow, new: &'a Tuple) -> Cow<'a, Tuple> {
        if !new.0.contains(&TupleValue::UnchangedToast) {
            return Cow::Borrowed(new);
        }
        let (before, has_value): (_, fn(bool) -> bool) = match old {
            OldRow::Absent => return Cow::Borrowed(new),
            OldRow::Full(before) => (before, |_| true),
            // Here the old row has only key values; its other columns are NULL.
            OldRow::Key(before) => (before, |is_key| is_key),
        };
        let columns = self.relation.columns.iter().enumerate();
        let values = columns
            .zip(&new.0)
            .map(|((index, column), value)| match value {
                TupleValue::UnchangedToast if has_value(column.key) => {
                    before.0.get(index).unwrap_or(value).clone()
                }
                TupleValue::Null
                | TupleValue::UnchangedToast
                | TupleValue::LeftOut
                | TupleValue::Text(_)
                | TupleValue::Binary(_) => value.clone(),
            });
        Cow::Owned(Tuple(values.collect()))
    }

    /// Returns whether the row has every value that an INSERT writes.
    pub(super) fn is_complete(&self, row: &Tuple) -> bool {
        let values = row.0.iter().zip(&self.is_written);
        values
            .filter(|(_, is_written)| **is_written)
            .all(|(value, _)| as_param(value).is_some())
    }
}
