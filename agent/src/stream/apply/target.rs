//! How one relation of the stream maps to a table of the move: what finds a row, and what is written.
//!
//! A row is found by its identity. Where only the whole row is one, any of several equal rows is taken:
//! they cannot be told apart, on either side.

use std::borrow::Cow;

use plans::sql::quote_ident;
use plans::table::{Format, MovingTable, TableName, lookup};

use super::known::{KnownColumn, KnownTable};
use super::param::{StatementParam, sent};
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Relation, Tuple, TupleValue};

/// What a row that is looked up is called in our statements.
pub(super) const FOUND: &str = "shardwright_row";

/// A relation as the stream describes it, with its table.
#[derive(Debug)]
pub(super) struct ApplyTarget {
    /// Index of the table among the move's tables.
    pub(super) table: usize,
    pub(super) name: TableName,
    /// Position in the tuple of each column that a row is found by: of the identity, or all that are carried.
    pub(super) key: Vec<usize>,
    /// How many of them the index of the identity holds, and gives in their own order.
    pub(super) ordered: usize,
    /// Only the whole row is an identity; the columns of the shard key, which narrow the search, are these.
    pub(super) whole: Option<Vec<usize>>,
    /// Columns of the tuple that the plan has; others were dropped since, on both shards.
    pub(super) carried: Vec<bool>,
    /// Columns of the tuple that an UPDATE may set.
    pub(super) settable: Vec<bool>,
    /// Columns of the tuple that no UPDATE may set, and that rows are not found by.
    pub(super) fixed: Vec<usize>,
    /// What the destination knows of each column of the tuple.
    pub(super) known: Vec<Option<KnownColumn>>,
    /// Its changes may be executed by sets.
    pub(super) by_sets: bool,
    /// They never are, by its definition alone: where two sessions share changes the first one has all of them.
    pub(super) one_by_one: bool,
    /// Values beyond what rows are found by must be unique: the order of changes of different rows may matter.
    pub(super) rivals: bool,
    pub(super) relation: Relation,
}

impl ApplyTarget {
    /// Maps `relation` to the table `plan`, which is the one at index `table`; values arrive in this format.
    ///
    /// # Errors
    /// `schema.drift` when it lacks a column of the identity.
    pub(super) fn new(
        table: usize,
        plan: &MovingTable,
        relation: Relation,
        there: &KnownTable,
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
                    "table {}: the stream carries rows without their identity",
                    plan.table
                ),
                "`abort` it and plan it again",
            ));
        }
        let carried: Vec<bool> = found.iter().map(|name| written.contains(name)).collect();
        let column = |name: &&str| {
            let mut columns = there.columns.iter();
            columns.find(|known| known.name == *name).cloned()
        };
        let known: Vec<Option<KnownColumn>> = found.iter().map(column).collect();
        let settable = known.iter().zip(&carried).map(|(known, carried)| {
            let always = known.as_ref().is_some_and(|known| known.always);
            *carried && !always
        });
        let settable: Vec<bool> = settable.collect();
        let fixed =
            (0..found.len()).filter(|at| carried[*at] && !settable[*at] && !key.contains(at));
        let fixed = fixed.collect();
        let by_sets = known.iter().zip(&carried).all(|(known, carried)| {
            let fits = known.as_ref().is_some_and(|known| known.fits(format));
            !carried || fits
        });
        let never_fits = known.iter().zip(&carried).any(|(known, carried)| {
            let known = known.as_ref().filter(|_| *carried);
            known.is_some_and(|known| known.never_fits(format))
        });
        Ok(Self {
            table,
            name: plan.table.clone(),
            one_by_one: whole || never_fits,
            ordered: plan.ordered_columns(),
            settable,
            fixed,
            by_sets: by_sets && !whole,
            rivals: there.rivals,
            known,
            whole: whole.then(|| positions(&plan.key_names())),
            key,
            carried,
            relation,
        })
    }

    /// Changes of different rows have the same effect in any order.
    pub(super) fn is_free(&self) -> bool {
        self.by_sets && !self.rivals
    }

    /// The quoted name of a column.
    pub(super) fn column(&self, index: usize) -> String {
        quote_ident(&self.relation.columns[index].name)
    }

    /// The text of the first value of a row's identity, by which copy units are divided; empty where there is
    /// none: such a table is one unit. `None` when the row does not say.
    pub(super) fn first(&self, row: &Tuple) -> Option<String> {
        if self.whole.is_some() {
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

    /// What a row is found by, as the comparison writes it; `None` when the row does not say.
    pub(super) fn key_text(&self, row: &Tuple) -> Option<String> {
        let mut key = Vec::with_capacity(self.key.len());
        for index in &self.key {
            key.push(match (row.0.get(*index)?, &self.whole) {
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

    /// Whether the row says what it is found by.
    pub(super) fn is_identified(&self, row: &Tuple) -> bool {
        self.key.iter().all(|index| match row.0.get(*index) {
            Some(TupleValue::Text(_)) => true,
            Some(TupleValue::Null) => self.whole.is_some(),
            Some(TupleValue::UnchangedToast | TupleValue::LeftOut | TupleValue::Binary(_))
            | None => false,
        })
    }

    /// A change lacks values that identify its row, or that it is made of.
    pub(super) fn incomplete(&self) -> StepError {
        StepError::refused(
            "capture.incomplete_row",
            format!(
                "table {}: a change came without values that identify its row, or that it is made of",
                self.name
            ),
            "set REPLICA IDENTITY FULL on the table, then `abort` it and plan it again",
        )
    }

    /// The first value that a row is found by is known to be no array.
    fn is_scalar(&self) -> bool {
        let first = self.key.first().and_then(|index| self.known.get(*index));
        first.is_some_and(|known| known.as_ref().is_some_and(|known| known.array.is_some()))
    }

    /// The query for the place of the one row with these values of its identity.
    pub(super) fn found(&self, values: &[String]) -> String {
        let columns = self.key.iter();
        let columns: Vec<String> = columns
            .map(|index| format!("{FOUND}.{}", self.column(*index)))
            .collect();
        format!(
            "select {FOUND}.ctid from only {} {FOUND} {}",
            self.name.sql(),
            lookup(&columns, values, self.ordered, self.is_scalar())
        )
    }

    /// The condition that finds `row`; `None` when the row does not say.
    pub(super) fn condition(
        &self,
        row: &Tuple,
        params: &mut Vec<StatementParam>,
    ) -> Option<String> {
        let mut terms = Vec::with_capacity(self.key.len());
        let equal = |index: &usize, params: &mut Vec<StatementParam>| {
            params.push(row.0.get(*index).and_then(sent)?);
            Some(format!("{} = ${}", self.column(*index), params.len()))
        };
        let Some(shard_key) = &self.whole else {
            let mut values = Vec::with_capacity(self.key.len());
            for index in &self.key {
                params.push(row.0.get(*index).and_then(sent)?);
                // In a list the server does not see of which type a parameter is.
                let known = self.known.get(*index).and_then(Option::as_ref);
                let cast = known.map_or_else(String::new, |known| format!("::{}", known.type_name));
                values.push(format!("${}{cast}", params.len()));
            }
            return Some(format!("ctid = ({})", self.found(&values)));
        };
        for index in shard_key {
            terms.push(equal(index, params)?);
        }
        for index in &self.key {
            params.push(row.0.get(*index).and_then(sent)?);
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

    /// The new row of an UPDATE with the large values that it left out because they did not change, as far as
    /// the old row has them.
    pub(super) fn complete<'a>(&self, old: &OldRow, new: &'a Tuple) -> Cow<'a, Tuple> {
        if !new.0.contains(&TupleValue::UnchangedToast) {
            return Cow::Borrowed(new);
        }
        let (before, has): (_, fn(bool) -> bool) = match old {
            OldRow::Absent => return Cow::Borrowed(new),
            OldRow::Full(before) => (before, |_| true),
            // Other columns are null there, whatever they were.
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
            .all(|(value, _)| sent(value).is_some())
    }
}
