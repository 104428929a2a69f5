//! Maps a relation of the stream to a table of the move: how a row is found, and which columns are written.
//!
//! A row is found by its identity. If only the whole row is an identity, any of several equal rows is taken: they
//! cannot be distinguished on either shard.

use std::borrow::Cow;

use plans::sql::quote_ident;
use plans::table::{Format, MovingTable, TableName, lookup};

use super::known::{KnownColumn, KnownTable};
use super::param::{StatementParam, as_param};
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Relation, Tuple, TupleValue};

/// The alias of a looked-up row in statements.
pub(super) const FOUND: &str = "shardwright_row";

/// A relation as the stream describes it, with its table.
#[derive(Debug)]
pub(super) struct ApplyTarget {
    /// The index of the table among the move's tables.
    pub(super) table: usize,
    pub(super) name: TableName,
    /// The positions in the tuple of the key columns: those of the identity, or all carried columns.
    pub(super) key: Vec<usize>,
    /// The number of leading key columns that the index of the identity contains in its order.
    pub(super) ordered_columns: usize,
    /// Set if only the whole row is an identity: the positions of the shard key's columns, which narrow the search.
    pub(super) whole_row_key: Option<Vec<usize>>,
    /// Whether the plan has each column of the tuple; other columns were dropped on both shards since.
    pub(super) carried: Vec<bool>,
    /// Whether an UPDATE may set each column of the tuple.
    pub(super) settable: Vec<bool>,
    /// The positions of columns that no UPDATE may set and that are not in the key.
    pub(super) fixed: Vec<usize>,
    /// The downstream definition of each column of the tuple.
    pub(super) known: Vec<Option<KnownColumn>>,
    /// Whether changes may be executed by sets.
    pub(super) by_sets: bool,
    /// Whether the table's definition excludes sets in general. If two sessions share changes, the first one executes
    /// all changes of such a table.
    pub(super) never_by_sets: bool,
    /// Whether values beyond the key must be unique: the order of changes of different rows can matter then.
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
        downstream_table: &KnownTable,
        format: Format,
    ) -> Result<Self, StepError> {
        let found: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
        let positions = |names: &[&str]| -> Vec<usize> {
            let at = |name: &&str| found.iter().position(|found| found == name);
            names.iter().filter_map(at).collect()
        };
        let identity: Vec<&str> = plan.identity.iter().map(String::as_str).collect();
        let written: Vec<&str> = plan.written_columns().map(|c| c.name.as_str()).collect();
        let whole = identity.is_empty();
        let key = positions(if whole { &written } else { &identity });
        if !whole && key.len() != identity.len() {
            return Err(StepError::refused(
                "schema.drift",
                format!(
                    "table {}: the relation in the stream lacks a column of the identity",
                    plan.table
                ),
                "`abort` the migration and plan it again",
            ));
        }
        let carried: Vec<bool> = found.iter().map(|name| written.contains(name)).collect();
        let column = |name: &&str| {
            let mut columns = downstream_table.columns.iter();
            columns.find(|known| known.name == *name).cloned()
        };
        let known: Vec<Option<KnownColumn>> = found.iter().map(column).collect();
        let settable = known.iter().zip(&carried).map(|(known, carried)| {
            let always = known.as_ref().is_some_and(|known| known.generated_always);
            *carried && !always
        });
        let settable: Vec<bool> = settable.collect();
        let fixed =
            (0..found.len()).filter(|at| carried[*at] && !settable[*at] && !key.contains(at));
        let fixed = fixed.collect();
        let by_sets = known.iter().zip(&carried).all(|(known, carried)| {
            let fits = known.as_ref().is_some_and(|known| known.fits_array(format));
            !carried || fits
        });
        let is_never_array = known.iter().zip(&carried).any(|(known, carried)| {
            let known = known.as_ref().filter(|_| *carried);
            known.is_some_and(|known| known.is_never_array(format))
        });
        Ok(Self {
            table,
            name: plan.table.clone(),
            never_by_sets: whole || is_never_array,
            ordered_columns: plan.ordered_columns(),
            settable,
            fixed,
            by_sets: by_sets && !whole,
            has_other_unique_keys: downstream_table.has_other_unique_keys,
            known,
            whole_row_key: whole.then(|| positions(&plan.key_names())),
            key,
            carried,
            relation,
        })
    }

    /// Whether changes of different rows have the same effect in any order.
    pub(super) fn is_order_independent(&self) -> bool {
        self.by_sets && !self.has_other_unique_keys
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

    /// Returns the key of a row in the form that the comparison uses; `None` if the row lacks a key value.
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

    /// Whether the row has all key values.
    pub(super) fn is_identified(&self, row: &Tuple) -> bool {
        self.key.iter().all(|index| match row.0.get(*index) {
            Some(TupleValue::Text(_)) => true,
            Some(TupleValue::Null) => self.whole_row_key.is_some(),
            Some(TupleValue::UnchangedToast | TupleValue::LeftOut | TupleValue::Binary(_))
            | None => false,
        })
    }

    /// The error for a change that lacks values that identify its row or that an INSERT writes.
    pub(super) fn incomplete_row_error(&self) -> StepError {
        StepError::refused(
            "capture.incomplete_row",
            format!(
                "table {}: a change arrived without values that identify its row or that it writes",
                self.name
            ),
            "set REPLICA IDENTITY FULL on the table, then `abort` the migration and plan it again",
        )
    }

    /// Whether the first key column is known to be no array.
    fn is_scalar(&self) -> bool {
        let first = self.key.first().and_then(|index| self.known.get(*index));
        first.is_some_and(|known| known.as_ref().is_some_and(|known| known.array.is_some()))
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
            lookup(&columns, values, self.ordered_columns, self.is_scalar())
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
                // In a list the server cannot infer the type of a parameter.
                let known = self.known.get(*index).and_then(Option::as_ref);
                let cast = known.map_or_else(String::new, |known| format!("::{}", known.type_name));
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

    /// Returns the new row of an UPDATE, with unchanged large values taken from the old row as far as that has them.
    pub(super) fn complete_row<'a>(&self, old: &OldRow, new: &'a Tuple) -> Cow<'a, Tuple> {
        if !new.0.contains(&TupleValue::UnchangedToast) {
            return Cow::Borrowed(new);
        }
        let (before, has): (_, fn(bool) -> bool) = match old {
            OldRow::Absent => return Cow::Borrowed(new),
            OldRow::Full(before) => (before, |_| true),
            // Such an old row has NULL in the other columns in place of their values.
            OldRow::Key(before) => (before, |is_key| is_key),
        };
        let columns = self.relation.columns.iter().enumerate();
        let values = columns
            .zip(&new.0)
            .map(|((index, column), value)| match value {
                TupleValue::UnchangedToast if has(column.key) => {
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

    /// Whether the row has every value that an INSERT writes.
    pub(super) fn is_complete(&self, row: &Tuple) -> bool {
        let values = row.0.iter().zip(&self.carried);
        values
            .filter(|(_, carried)| **carried)
            .all(|(value, _)| as_param(value).is_some())
    }
}
