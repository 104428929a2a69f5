//! One statement for all rows of a set: each column is an array, which the server makes rows of.
//!
//! Values stay in the form in which they arrived: text becomes a value by the type's own input function
//! (an explicit cast from text), binary ones travel as arrays of their type.

use std::borrow::Cow;
use std::error::Error;

use bytes::{BufMut, Bytes, BytesMut};
use plans::sql::quote_ident;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::net::{RowSet, SetOperation};
use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// The condition that a row of the table is the one that was found.
const AT_FOUND: &str = "t.ctid = found.ctid";

/// A set as a statement, with its parameters as they are sent: the server need not wait for them.
#[derive(Debug)]
pub(super) struct SetStatement {
    pub(super) sql: String,
    columns: Vec<ColumnArray>,
    /// How many rows it must touch.
    pub(super) expected: u64,
    /// For messages.
    pub(super) what: String,
}

impl SetStatement {
    pub(super) fn params(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        let columns = self.columns.iter();
        columns
            .map(|array| (array as &(dyn ToSql + Sync), array.kind.clone()))
            .collect()
    }
}

/// The statement of a set; `None` when its values do not fit into arrays.
pub(super) fn statement(set: &RowSet<'_>) -> Option<SetStatement> {
    let target = set.target;
    let mut made = SetColumns {
        target,
        rows: &set.rows,
        arrays: Vec::new(),
    };
    let table = target.name.sql();
    let sql = match set.verb {
        SetOperation::Insert => made.insert(&table)?,
        SetOperation::Update => made.update(&table)?,
        SetOperation::Delete => {
            let found = made.found()?;
            format!(
                "delete from {table} as t using {}, {found} where {AT_FOUND}",
                made.from()
            )
        }
        SetOperation::Miss => {
            let found = made.found()?;
            format!("select 1 from {}, {found}", made.from())
        }
    };
    let rows = set.rows.len();
    Some(SetStatement {
        sql,
        columns: made.arrays,
        expected: match set.verb {
            SetOperation::Miss => 0,
            SetOperation::Insert | SetOperation::Update | SetOperation::Delete => {
                u64::try_from(rows).ok()?
            }
        },
        what: format!("{:?} to {rows} rows of {}", set.verb, target.name),
    })
}

/// The columns that a statement takes, in the order of its parameters.
struct SetColumns<'a> {
    target: &'a ApplyTarget,
    rows: &'a [Cow<'a, Tuple>],
    arrays: Vec<ColumnArray>,
}

impl SetColumns<'_> {
    /// Takes a column; the expression of its value.
    fn take(&mut self, index: usize) -> Option<String> {
        let known = self.target.known.get(index)?.as_ref()?;
        let column = |row: &Cow<'_, Tuple>| row.0.get(index).map(form);
        let mut forms = self.rows.iter().map(column);
        let form = forms.try_fold(ValueForm::Null, |one, other| one.and(other?))?;
        let number = self.arrays.len() + 1;
        let (kind, value) = match form {
            ValueForm::Null | ValueForm::Text => {
                let value = format!("(u.c{number})::{}", known.type_name);
                (Type::TEXT_ARRAY, value)
            }
            ValueForm::Binary => (known.array.clone()?, format!("u.c{number}")),
        };
        self.arrays.push(ColumnArray::of(self.rows, index, kind)?);
        Some(value)
    }

    /// Takes a column of the table; the condition that its value is the row's.
    fn equal(&mut self, index: usize) -> Option<String> {
        let value = self.take(index)?;
        Some(format!("t.{} = {value}", self.target.column(index)))
    }

    /// Takes what rows are found by; the places of those rows, one for each row that was taken.
    fn found(&mut self) -> Option<String> {
        let target = self.target;
        let values: Option<Vec<_>> = target.key.iter().map(|index| self.take(*index)).collect();
        Some(format!("lateral ({}) as found", target.found(&values?)))
    }

    /// What was taken so far, as a table.
    fn from(&self) -> String {
        let numbers = 1..=self.arrays.len();
        let names: Vec<_> = numbers.clone().map(|n| format!("c{n}")).collect();
        let places: Vec<_> = numbers.map(|n| format!("${n}")).collect();
        format!("unnest({}) as u ({})", places.join(", "), names.join(", "))
    }

    fn insert(&mut self, table: &str) -> Option<String> {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for index in 0..self.target.relation.columns.len() {
            if self.target.carried[index] {
                columns.push(self.target.column(index));
                values.push(self.take(index)?);
            }
        }
        Some(format!(
            "insert into {table} ({}) overriding system value select {} from {}",
            columns.join(", "),
            values.join(", "),
            self.from()
        ))
    }

    /// Sets every column that the rows have, and compares those that no UPDATE may set.
    fn update(&mut self, table: &str) -> Option<String> {
        let target = self.target;
        let found = self.found()?;
        let (mut set, mut matched) = (Vec::new(), vec![AT_FOUND.to_owned()]);
        for index in 0..target.relation.columns.len() {
            let lacks = |row: &Cow<'_, Tuple>| row.0[index] == TupleValue::UnchangedToast;
            let is_key = target.key.contains(&index);
            // All rows of a set lack the same.
            if is_key || !target.carried[index] || self.rows.first().is_some_and(lacks) {
                continue;
            }
            if target.settable[index] {
                let value = self.take(index)?;
                let column = quote_ident(&target.relation.columns[index].name);
                set.push(format!("{column} = {value}"));
            } else {
                matched.push(self.equal(index)?);
            }
        }
        let (from, matched) = (self.from(), matched.join(" and "));
        Some(if set.is_empty() {
            format!("select 1 from {table} as t, {from}, {found} where {matched} for update of t")
        } else {
            format!(
                "update {table} as t set {} from {from}, {found} where {matched}",
                set.join(", ")
            )
        })
    }
}

/// In which form the values of a column arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    Null,
    Text,
    Binary,
}

impl ValueForm {
    /// `None`: values of both forms do not fit into one array.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Null, form) | (form, Self::Null) => Some(form),
            (one, other) => (one == other).then_some(one),
        }
    }
}

fn form(value: &TupleValue) -> ValueForm {
    match value {
        TupleValue::Null | TupleValue::UnchangedToast | TupleValue::LeftOut => ValueForm::Null,
        TupleValue::Text(_) => ValueForm::Text,
        TupleValue::Binary(_) => ValueForm::Binary,
    }
}

/// One column of a set's rows as an array in binary form.
#[derive(Debug)]
struct ColumnArray {
    kind: Type,
    bytes: BytesMut,
}

impl ColumnArray {
    /// `None` when it is larger than an array can be.
    fn of(rows: &[Cow<'_, Tuple>], index: usize, kind: Type) -> Option<Self> {
        let Kind::Array(member) = kind.kind() else {
            return None;
        };
        let values = || {
            rows.iter()
                .map(|row| row.0.get(index).and_then(TupleValue::bytes))
        };
        let size: usize = values()
            .map(|value| LENGTH + value.map_or(0, Bytes::len))
            .sum();
        let mut bytes = BytesMut::with_capacity(5 * LENGTH + size);
        bytes.put_i32(1); // dimensions
        bytes.put_i32(1); // there may be nulls
        bytes.put_u32(member.oid());
        bytes.put_i32(i32::try_from(rows.len()).ok()?);
        bytes.put_i32(1); // number of the first
        for value in values() {
            match value {
                Some(value) => {
                    bytes.put_i32(i32::try_from(value.len()).ok()?);
                    bytes.put_slice(value);
                }
                None => bytes.put_i32(-1),
            }
        }
        Some(Self { kind, bytes })
    }
}

/// Bytes of a length.
const LENGTH: usize = 4;

impl ToSql for ColumnArray {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(&self.bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
