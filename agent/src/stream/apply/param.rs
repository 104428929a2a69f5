//! A value of the stream as a parameter of a statement.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use crate::postgres::pgoutput::TupleValue;

/// A value in the format in which it arrived, for a parameter of any type.
#[derive(Debug, Clone)]
pub(super) struct StatementParam {
    /// `None` is NULL.
    bytes: Option<Bytes>,
    format: Format,
}

impl StatementParam {
    pub(super) fn text(bytes: Option<Bytes>) -> Self {
        Self {
            bytes,
            format: Format::Text,
        }
    }
}

impl ToSql for StatementParam {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.bytes {
            None => Ok(IsNull::Yes),
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        self.format
    }

    to_sql_checked!();
}

/// Returns the value as a parameter; `None` if the stream did not carry it.
pub(super) fn as_param(value: &TupleValue) -> Option<StatementParam> {
    match value {
        TupleValue::Null => Some(StatementParam::text(None)),
        TupleValue::Text(text) => Some(StatementParam::text(Some(text.clone()))),
        TupleValue::Binary(bytes) => Some(StatementParam {
            bytes: Some(bytes.clone()),
            format: Format::Binary,
        }),
        TupleValue::UnchangedToast | TupleValue::LeftOut => None,
    }
}
