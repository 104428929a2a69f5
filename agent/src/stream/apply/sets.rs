//! Builds one statement for all rows of a set: each column is an array, which the server expands into rows.
//!
//! Values keep the format in which they arrived: the input function of the type converts text (an explicit cast from
//! text); binary values are sent as arrays of their type.

use std::borrow::Cow;
use std::error::Error;

use bytes::{BufMut, Bytes, BytesMut};
use plans::sql::quote_ident;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::net::{RowSet, SetOperation};
use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// The condition that a row of the table is the row that was looked up.
const AT_FOUND: &str = "t.ctid = found.ctid";

/// The statement of a set, with its parameters in wire format: the server need not describe them first.
#[derive(Debug)]
pub(super) struct SetStatement {
    pub(super) sql: String,
    columns: Vec<ColumnArray>,
    /// The number of rows that it must affect.
    pub(super) expected: u64,
    /// The description of the statement for messages.
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

/// Builds the statement of a set; `None` if its values do not fit into arrays.
pub(super) fn set_statement(set: &RowSet<'_>) -> Option<SetStatement> {
    let target = set.target;
    let mut statement = SetColumns {
        target,
        rows: &set.rows,
        arrays: Vec::new(),
    };
    let table = target.name.sql();
    let sql = match set.operation {
        SetOperation::Insert => statement.insert(&table)?,
        SetOperation::Update => statement.update(&table)?,
        SetOperation::Delete => {
            let found = statement.lookup()?;
            format!(
                "delete from {table} as t using {}, {found} where {AT_FOUND}",
                statement.unnest_clause()
            )
        }
        SetOperation::ProveMissing => {
            let found = statement.lookup()?;
            format!("select 1 from {}, {found}", statement.unnest_clause())
        }
    };
    let rows = set.rows.len();
    Some(SetStatement {
        sql,
        columns: statement.arrays,
        expected: match set.operation {
            SetOperation::ProveMissing => 0,
            SetOperation::Insert | SetOperation::Update | SetOperation::Delete => {
                u64::try_from(rows).ok()?
            }
        },
        what: format!("{:?} to {rows} rows of {}", set.operation, target.name),
    })
}

/// The columns of a statement, in the order of its parameters.
struct SetColumns<'a> {
    target: &'a ApplyTarget,
    rows: &'a [Cow<'a, Tuple>],
    arrays: Vec<ColumnArray>,
}

impl SetColumns<'_> {
    /// Adds a column to the parameters; returns the expression of its value.
    fn add_column(&mut self, index: usize) -> Option<String> {
        let known = self.target.known.get(index)?.as_ref()?;
        let column = |row: &Cow<'_, Tuple>| row.0.get(index).map(value_form);
        let mut forms = self.rows.iter().map(column);
        let form = forms.try_fold(ValueForm::Null, |one, other| one.combine(other?))?;
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

    /// Adds a column to the parameters; returns the condition that the table's column has its value.
    fn equality(&mut self, index: usize) -> Option<String> {
        let value = self.add_column(index)?;
        Some(format!("t.{} = {value}", self.target.column(index)))
    }

    /// Adds the key columns; returns a lateral query that finds the ctid of each row.
    fn lookup(&mut self) -> Option<String> {
        let target = self.target;
        let values: Option<Vec<_>> = target
            .key
            .iter()
            .map(|index| self.add_column(*index))
            .collect();
        Some(format!(
            "lateral ({}) as found",
            target.lookup_query(&values?)
        ))
    }

    /// Returns the added columns as a table expression.
    fn unnest_clause(&self) -> String {
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
                values.push(self.add_column(index)?);
            }
        }
        Some(format!(
            "insert into {table} ({}) overriding system value select {} from {}",
            columns.join(", "),
            values.join(", "),
            self.unnest_clause()
        ))
    }

    /// Builds an UPDATE that sets every column that the rows have and that an UPDATE may set. It compares the other
    /// columns.
    fn update(&mut self, table: &str) -> Option<String> {
        let target = self.target;
        let found = self.lookup()?;
        let (mut set, mut matched) = (Vec::new(), vec![AT_FOUND.to_owned()]);
        for index in 0..target.relation.columns.len() {
            let lacks = |row: &Cow<'_, Tuple>| row.0[index] == TupleValue::UnchangedToast;
            let is_key = target.key.contains(&index);
            // All rows of a set lack the same columns.
            if is_key || !target.carried[index] || self.rows.first().is_some_and(lacks) {
                continue;
            }
            if target.settable[index] {
                let value = self.add_column(index)?;
                let column = quote_ident(&target.relation.columns[index].name);
                set.push(format!("{column} = {value}"));
            } else {
                matched.push(self.equality(index)?);
            }
        }
        let (from, matched) = (self.unnest_clause(), matched.join(" and "));
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

/// The format in which the values of a column arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    Null,
    Text,
    Binary,
}

impl ValueForm {
    /// Combines two formats; `None` if they are text and binary, which do not fit into one array.
    fn combine(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Null, form) | (form, Self::Null) => Some(form),
            (one, other) => (one == other).then_some(one),
        }
    }
}

fn value_form(value: &TupleValue) -> ValueForm {
    match value {
        TupleValue::Null | TupleValue::UnchangedToast | TupleValue::LeftOut => ValueForm::Null,
        TupleValue::Text(_) => ValueForm::Text,
        TupleValue::Binary(_) => ValueForm::Binary,
    }
}

/// One column of a set's rows, as an array in binary format.
#[derive(Debug)]
struct ColumnArray {
    kind: Type,
    bytes: BytesMut,
}

impl ColumnArray {
    /// Builds the array of a column; `None` if it is larger than an array can be.
    fn of(rows: &[Cow<'_, Tuple>], index: usize, kind: Type) -> Option<Self> {
        let Kind::Array(member) = kind.kind() else {
            return None;
        };
        let values = || {
            rows.iter()
                .map(|row| row.0.get(index).and_then(TupleValue::bytes))
        };
        let size: usize = values()
            .map(|value| LENGTH_BYTES + value.map_or(0, Bytes::len))
            .sum();
        let mut bytes = BytesMut::with_capacity(5 * LENGTH_BYTES + size);
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

/// The size of a length field in bytes.
const LENGTH_BYTES: usize = 4;

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
