//! Keys and parameters of the requests as values of Rust, and rows as JSON.

use bytes::BytesMut;
use client::Key;
use plans::key::KeyType;
use serde_json::Value;
use std::error::Error;
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// Returns the key that an application would pass; `None` if Rust has no such key.
pub(crate) fn key_of(value: &Value) -> Option<Key> {
    match value {
        // A number beyond 64 bits is in the application a number of another type, or a text.
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            Some(Key::Text(number.to_string()))
        }
        Value::Array(values) => values
            .iter()
            .map(key_of)
            .collect::<Option<_>>()
            .map(Key::Row),
        // Only keys of the other types have an object.
        Value::Object(object) if object.keys().any(|name| is_plain(name)) => None,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            serde_json::from_value(value.clone()).ok()
        }
    }
}

fn is_plain(name: &str) -> bool {
    KeyType::parse(name).is_some_and(|kind| matches!(kind.least(), Key::Int(_) | Key::Text(_)))
}

/// A parameter of a statement.
#[derive(Debug)]
pub(crate) struct Parameter<'v>(pub(crate) &'v Value);

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, self.0.as_i64()) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::String(text), _) => text.to_sql(kind, out),
            (_, Some(number)) if *kind == Type::INT8 => number.to_sql(kind, out),
            (_, Some(number)) if *kind == Type::INT4 => i32::try_from(number)?.to_sql(kind, out),
            _ => Err(format!("{} is no parameter of type {kind}", self.0).into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Returns the rows of a result as JSON.
pub(crate) fn rows_of(rows: &[Row]) -> Value {
    rows.iter().map(row_of).collect()
}

fn row_of(row: &Row) -> Value {
    let value = |(at, column): (usize, &tokio_postgres::Column)| -> Value {
        match *column.type_() {
            Type::INT4 => row.get::<_, Option<i32>>(at).into(),
            Type::INT8 => row.get::<_, Option<i64>>(at).into(),
            Type::BOOL => row.get::<_, Option<bool>>(at).into(),
            Type::TEXT => row.get::<_, Option<String>>(at).into(),
            // Its value has no meaning for a scenario.
            _ => Value::Null,
        }
    };
    row.columns().iter().enumerate().map(value).collect()
}
