//! Builds one statement for all rows of a set. Each parameter is an array with the values of one column; the server
//! expands the arrays into rows.
//!
//! Values keep the format in which they arrived. Text is sent as an array of text, and a cast calls the input function
//! of the column's type. Binary values are sent as an array of the column's type.

use std::borrow::Cow;
use std::error::Error;

use bytes::{BufMut, Bytes, BytesMut};
use plans::sql::quote_ident;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::net_changes::{RowSet, SetOperation};
use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// The condition that a row of the table is the one that the lookup query has found.
const IS_FOUND_ROW: &str = "t.ctid = found.ctid";

/// A statement with columns of rows as parameters. These are encoded and have known types, so the server need not describe
/// the statement first.
#[derive(Debug)]
pub(super) struct RowsStatement {
    pub(super) sql: String,
    columns: Vec<ColumnArray>,
}

/// The statement of a set.
#[derive(Debug)]
pub(super) struct SetStatement {
    pub(super) statement: RowsStatement,
    /// The number of rows that it must affect.
    pub(super) expected: u64,
    /// The description of the statement for messages.
    pub(super) what: String,
}

impl RowsStatement {
    pub(super) fn params(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        let columns = self.columns.iter();
        columns
            .map(|array| (array as &(dyn ToSql + Sync), array.kind.clone()))
            .collect()
    }
}

/// Builds the statement of a set. `None` if the values of a column do not fit into one array.
pub(super) fn set_statement(set: &RowSet<'_>) -> Option<SetStatement> {
    let target = set.target;
    let mut columns = SetColumns::new(set);
    let table = target.name.sql();
    let sql = match set.operation {
        SetOperation::Insert => columns.insert(&table)?,
        SetOperation::Update => columns.update(&table)?,
        SetOperation::Delete => {
            let found = columns.lookup()?;
            format!(
                "delete from {table} as t using {}, {found} where {IS_FOUND_ROW}",
                columns.unnest_clause()
            )
        }
        SetOperation::ProveMissing => {
            let found = columns.lookup()?;
            format!("select 1 from {}, {found}", columns.unnest_clause())
        }
    };
    let rows = set.rows.len();
    Some(SetStatement {
        statement: columns.into_statement(sql),
        expected: match set.operation {
            SetOperation::ProveMissing => 0,
            SetOperation::Insert | SetOperation::Update | SetOperation::Delete => {
                u64::try_from(rows).ok()?
            }
        },
        what: format!("{:?} to {rows} rows of {}", set.operation, target.name),
    })
}

/// Builds the query for the places of the rows that the table has and that satisfy `condition` on the row `t` there. `None`
/// if the values of a column do not fit into one array.
pub(super) fn present_rows(set: &RowSet<'_>, condition: &str) -> Option<RowsStatement> {
    let mut columns = SetColumns::new(set);
    let found = columns.lookup()?;
    let sql = format!(
        "select u.place, true from {}, {found}, only {} as t where {IS_FOUND_ROW} and {condition}",
        columns.numbered_unnest_clause(),
        set.target.name.sql(),
    );
    Some(columns.into_statement(sql))
}

/// Builds the query for the places of the rows with one of two conditions on the row `r`, which has the values of the
/// columns `indexes` under their names, and which of the two it is: the first, `true`, or the second. `None` if the values
/// of a column do not fit into one array.
pub(super) fn classified_rows(
    set: &RowSet<'_>,
    indexes: &[usize],
    [first, second]: [&str; 2],
) -> Option<RowsStatement> {
    let mut columns = SetColumns::new(set);
    let values = indexes.iter().map(|index| {
        let value = columns.add_column(*index)?;
        Some(format!("{value} as {}", set.target.column(*index)))
    });
    let values = values.collect::<Option<Vec<_>>>()?.join(", ");
    let sql = format!(
        "select u.place, {first} from {}, lateral (select {values}) as r where {first} or {second}",
        columns.numbered_unnest_clause(),
    );
    Some(columns.into_statement(sql))
}

/// The columns of a set's rows that a statement uses, in the order of its parameters.
struct SetColumns<'a> {
    target: &'a ApplyTarget,
    rows: &'a [Cow<'a, Tuple>],
    arrays: Vec<ColumnArray>,
}

impl<'a> SetColumns<'a> {
    fn new(set: &'a RowSet<'_>) -> Self {
        Self {
            target: set.target,
            rows: &set.rows,
            arrays: Vec::new(),
        }
    }

    fn into_statement(self, sql: String) -> RowsStatement {
        RowsStatement {
            sql,
            columns: self.arrays,
        }
    }
}

impl SetColumns<'_> {
    /// Adds a column to the parameters. Returns the SQL expression of its value.
    fn add_column(&mut self, index: usize) -> Option<String> {
        let definition = self.target.downstream_columns.get(index)?.as_ref()?;
        let column = |row: &Cow<'_, Tuple>| row.0.get(index).map(format_of);
        let mut forms = self.rows.iter().map(column);
        let form = forms.try_fold(ArrivedFormat::Null, |one, other| one.combine(other?))?;
        let number = self.arrays.len() + 1;
        let (kind, value) = match form {
            ArrivedFormat::Null | ArrivedFormat::Text => {
                let value = format!("(u.c{number})::{}", definition.type_name);
                (Type::TEXT_ARRAY, value)
            }
            ArrivedFormat::Binary => (definition.array_type.clone()?, format!("u.c{number}")),
        };
        self.arrays.push(ColumnArray::of(self.rows, index, kind)?);
        Some(value)
    }

    /// Adds a column to the parameters. Returns the condition that the table's column has its value.
    fn equality(&mut self, index: usize) -> Option<String> {
        let value = self.add_column(index)?;
        Some(format!("t.{} = {value}", self.target.column(index)))
    }

    /// Adds the key columns to the parameters. Returns a lateral query that finds the ctid of each row.
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
        let parameters: Vec<_> = numbers.map(|n| format!("${n}")).collect();
        format!(
            "unnest({}) as u ({})",
            parameters.join(", "),
            names.join(", ")
        )
    }

    /// As [`SetColumns::unnest_clause`], with a column `place` that numbers the rows from 1.
    fn numbered_unnest_clause(&self) -> String {
        let names: Vec<_> = (1..=self.arrays.len()).map(|n| format!("c{n}")).collect();
        let parameters: Vec<_> = (1..=self.arrays.len()).map(|n| format!("${n}")).collect();
        format!(
            "unnest({}) with ordinality as u ({}, place)",
            parameters.join(", "),
            names.join(", ")
        )
    }

    fn insert(&mut self, table: &str) -> Option<String> {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for index in 0..self.target.relation.columns.len() {
            if self.target.is_written[index] {
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

    /// Builds an UPDATE. It sets every column that the rows have and that an UPDATE may set, and compares the other
    /// columns.
    fn update(&mut self, table: &str) -> Option<String> {
        let target = self.target;
        let found = self.lookup()?;
        let (mut set, mut conditions) = (Vec::new(), vec![IS_FOUND_ROW.to_owned()]);
        for index in 0..target.relation.columns.len() {
            let lacks = |row: &Cow<'_, Tuple>| row.0[index] == TupleValue::UnchangedToast;
            let is_key = target.key.contains(&index);
            // All rows of a set lack the same columns, so the first row shows what is missing.
            if is_key || !target.is_written[index] || self.rows.first().is_some_and(lacks) {
                continue;
            }
            if target.is_settable[index] {
                let value = self.add_column(index)?;
                let column = quote_ident(&target.relation.columns[index].name);
                set.push(format!("{column} = {value}"));
            } else {
                conditions.push(self.equality(index)?);
            }
        }
        let (from, conditions) = (self.unnest_clause(), conditions.join(" and "));
        Some(if set.is_empty() {
            format!(
                "select 1 from {table} as t, {from}, {found} where {conditions} for update of t"
            )
        } else {
            format!(
                "update {table} as t set {} from {from}, {found} where {conditions}",
                set.join(", ")
            )
        })
    }
}

/// The format in which the values of a column arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrivedFormat {
    Null,
    Text,
    Binary,
}

impl ArrivedFormat {
    /// Returns the format of an array with values of both formats; `None` if one is text and the other binary.
    fn combine(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Null, form) | (form, Self::Null) => Some(form),
            (one, other) => (one == other).then_some(one),
        }
    }
}

fn format_of(value: &TupleValue) -> ArrivedFormat {
    match value {
        TupleValue::Null | TupleValue::UnchangedToast | TupleValue::LeftOut => ArrivedFormat::Null,
        TupleValue::Text(_) => ArrivedFormat::Text,
        TupleValue::Binary(_) => ArrivedFormat::Binary,
    }
}

/// One column of a set's rows, as a parameter in the binary format of PostgreSQL arrays.
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
        bytes.put_i32(1); // number of dimensions
        bytes.put_i32(1); // there may be nulls
        bytes.put_u32(member.oid());
        bytes.put_i32(i32::try_from(rows.len()).ok()?);
        bytes.put_i32(1); // index of the first element
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
