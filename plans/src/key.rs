//! A value of a shard key, and the types of shard keys.
//!
//! Values compare as PostgreSQL compares them (text by bytes, as under collation "C"), and they hash as
//! PostgreSQL hashes them. Tests compare both with vectors that a server has computed.
//! A request may contain any key as a plain string or number. [`accept`] converts it to the type of the map's key.

mod hash;
mod json;
mod order;
mod time;

use crate::sql::quote_literal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one column of a shard key.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum KeyType {
    /// 16-bit integer.
    Smallint,
    /// 32-bit integer.
    Integer,
    /// 64-bit integer.
    Bigint,
    /// `text` or `varchar`, ordered by bytes.
    Text,
    /// `uuid`.
    Uuid,
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `timestamptz`.
    Timestamptz,
}

impl KeyType {
    /// All types.
    pub const ALL: [Self; 8] = [
        Self::Smallint,
        Self::Integer,
        Self::Bigint,
        Self::Text,
        Self::Uuid,
        Self::Bytea,
        Self::Date,
        Self::Timestamptz,
    ];

    /// Returns the name of the type in SQL, in requests and in the control store.
    #[must_use]
    pub fn sql_name(self) -> &'static str {
        match self {
            Self::Smallint => "smallint",
            Self::Integer => "integer",
            Self::Bigint => "bigint",
            Self::Text => "text",
            Self::Uuid => "uuid",
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Timestamptz => "timestamptz",
        }
    }

    /// Returns the type with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.sql_name() == name)
    }

    /// Returns the name in `pg_type`. A column of type `varchar` is a [`KeyType::Text`] too.
    #[must_use]
    pub fn catalog_name(self) -> &'static str {
        match self {
            Self::Smallint => "int2",
            Self::Integer => "int4",
            Self::Bigint => "int8",
            Self::Text => "text",
            Self::Uuid => "uuid",
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Timestamptz => "timestamptz",
        }
    }

    /// Returns an SQL expression for the column. PostgreSQL compares its values in the same way as Rust compares
    /// [`Key`].
    #[must_use]
    pub fn comparable_expression(self, column: &str) -> String {
        match self {
            Self::Text => format!("({column}::pg_catalog.text collate pg_catalog.\"C\")"),
            Self::Smallint
            | Self::Integer
            | Self::Bigint
            | Self::Uuid
            | Self::Bytea
            | Self::Date
            | Self::Timestamptz => column.to_owned(),
        }
    }

    /// Returns an SQL expression for a column's 64-bit hash with seed 0. It uses built-in immutable functions that
    /// every supported version has.
    #[must_use]
    pub fn hash_expression(self, column: &str) -> String {
        match self {
            Self::Smallint | Self::Integer | Self::Bigint => {
                format!("pg_catalog.hashint8extended({column}::pg_catalog.int8, 0)")
            }
            Self::Text => format!(
                "pg_catalog.hashtextextended({column}::pg_catalog.text collate pg_catalog.\"C\", 0)"
            ),
            Self::Uuid => format!("pg_catalog.uuid_hash_extended({column}, 0)"),
            // The hash function of bytea itself exists in SQL only since PostgreSQL 18.
            Self::Bytea => format!(
                "pg_catalog.hashtextextended(pg_catalog.encode({column}, 'hex') collate pg_catalog.\"C\", 0)"
            ),
            // A row hashes its only field with the hash function of this type, which SQL cannot call directly.
            Self::Date | Self::Timestamptz => {
                format!("pg_catalog.hash_record_extended(row({column}), 0)")
            }
        }
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sql_name())
    }
}

/// One value of a shard key.
///
/// In JSON, an integer is a number, a text is a string, and a composite key is an array. Each other key is an object
/// with the name of its type, as in `{"uuid": "…"}`. A request may contain such a key as a plain string too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// `smallint`, `integer` or `bigint`.
    Int(i64),
    /// `text` or `varchar`.
    Text(String),
    /// `uuid`.
    Uuid([u8; 16]),
    /// `bytea`.
    Bytes(Vec<u8>),
    /// `date`: days since 2000-01-01. The least and the greatest value are the infinities.
    Date(i32),
    /// `timestamptz`: microseconds since 2000-01-01 00:00 UTC. The least and the greatest value are the infinities.
    Timestamp(i64),
    /// A composite key, with one value for each column.
    Row(Vec<Key>),
}

/// Why a value is not a key of the map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The value has another type, or its text is not a value of this type.
    #[error("{key} is not a {expected}")]
    Type {
        /// The value.
        key: String,
        /// The type of the map's key.
        expected: KeyType,
    },
    /// The number of values is not the number of the key's columns.
    #[error("{key} has {found} value(s), the key has {expected} column(s)")]
    Columns {
        /// The value.
        key: String,
        /// The number of values.
        found: usize,
        /// The number of the key's columns.
        expected: usize,
    },
}

/// Converts `key` to the types of the map's key columns.
///
/// # Errors
/// [`KeyError`] with the value and the expected type.
pub fn accept(types: &[KeyType], key: &Key) -> Result<Key, KeyError> {
    let columns_error = |found: usize| KeyError::Columns {
        key: key.to_string(),
        found,
        expected: types.len(),
    };
    match (types, key) {
        ([only], Key::Row(values)) => match values.as_slice() {
            [value] => only.accept(value),
            _ => Err(columns_error(values.len())),
        },
        ([only], value) => only.accept(value),
        (_, Key::Row(values)) if values.len() == types.len() => types
            .iter()
            .zip(values)
            .map(|(kind, value)| kind.accept(value))
            .collect::<Result<Vec<_>, _>>()
            .map(Key::Row),
        (_, Key::Row(values)) => Err(columns_error(values.len())),
        (_, _) => Err(columns_error(1)),
    }
}

impl KeyType {
    /// Converts `key` to a value of this type.
    ///
    /// # Errors
    /// [`KeyError::Type`].
    pub fn accept(self, key: &Key) -> Result<Key, KeyError> {
        let accepted = match (self, key) {
            (Self::Smallint, Key::Int(value)) if i16::try_from(*value).is_err() => None,
            (Self::Integer, Key::Int(value)) if i32::try_from(*value).is_err() => None,
            (Self::Date, Key::Date(days)) if !time::is_date(*days) => None,
            (Self::Timestamptz, Key::Timestamp(micros)) if !time::is_timestamp(*micros) => None,
            (Self::Text, Key::Text(text)) if text.contains('\0') => None,
            (Self::Smallint | Self::Integer | Self::Bigint, Key::Int(_))
            | (Self::Text, Key::Text(_))
            | (Self::Uuid, Key::Uuid(_))
            | (Self::Bytea, Key::Bytes(_))
            | (Self::Date, Key::Date(_))
            | (Self::Timestamptz, Key::Timestamp(_)) => Some(key.clone()),
            (_, Key::Text(text)) => self.read(text),
            (_, _) => None,
        };
        accepted.ok_or_else(|| KeyError::Type {
            key: key.to_string(),
            expected: self,
        })
    }

    /// Returns the smallest value of this type.
    #[must_use]
    pub fn least(self) -> Key {
        match self {
            Self::Smallint => Key::Int(i16::MIN.into()),
            Self::Integer => Key::Int(i32::MIN.into()),
            Self::Bigint => Key::Int(i64::MIN),
            Self::Text => Key::Text(String::new()),
            Self::Uuid => Key::Uuid([0; 16]),
            Self::Bytea => Key::Bytes(Vec::new()),
            Self::Date => Key::Date(i32::MIN),
            Self::Timestamptz => Key::Timestamp(i64::MIN),
        }
    }

    /// Reads a value of this type from the text in a CSV file or a command line.
    #[must_use]
    pub fn read(self, text: &str) -> Option<Key> {
        match self {
            Self::Smallint => text.parse::<i16>().ok().map(|value| Key::Int(value.into())),
            Self::Integer => text.parse::<i32>().ok().map(|value| Key::Int(value.into())),
            Self::Bigint => text.parse().ok().map(Key::Int),
            // A text in PostgreSQL cannot contain a zero byte.
            Self::Text => (!text.contains('\0')).then(|| Key::Text(text.to_owned())),
            Self::Uuid => uuid::Uuid::parse_str(text)
                .ok()
                .map(|value| Key::Uuid(value.into_bytes())),
            Self::Bytea => read_hex(text.strip_prefix("\\x")?).map(Key::Bytes),
            Self::Date => time::read_date(text).map(Key::Date),
            Self::Timestamptz => time::read_timestamp(text).map(Key::Timestamp),
        }
    }
}

fn read_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|start| u8::from_str_radix(&text[start..start + 2], 16).ok())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Key {
    /// Returns the value as PostgreSQL prints it (`DateStyle` ISO, time zone UTC). A composite key is in parentheses.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Text(text) => text.clone(),
            Self::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).to_string(),
            Self::Bytes(bytes) => format!("\\x{}", hex(bytes)),
            Self::Date(days) => time::date_text(*days),
            Self::Timestamp(micros) => time::timestamp_text(*micros),
            Self::Row(values) => {
                let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("({})", texts.join(", "))
            }
        }
    }

    /// Returns the value as files and commands contain it: a composite key as JSON, any other key as [`Key::text`].
    #[must_use]
    pub(crate) fn file_text(&self) -> String {
        match self {
            Self::Row(_) => serde_json::to_string(self).unwrap_or_else(|_| self.text()),
            Self::Int(_)
            | Self::Text(_)
            | Self::Uuid(_)
            | Self::Bytes(_)
            | Self::Date(_)
            | Self::Timestamp(_) => self.text(),
        }
    }

    /// Returns the value as an SQL literal of the column's type, which is safe in any statement.
    ///
    /// The end of a range can be an integer that the type cannot hold. It becomes a `bigint`, which can be compared
    /// with the column.
    #[must_use]
    pub fn sql_literal(&self, kind: KeyType) -> String {
        let literal = quote_literal(&self.text());
        let kind = match self {
            Self::Int(_) if kind.accept(self).is_err() => KeyType::Bigint,
            Self::Int(_)
            | Self::Text(_)
            | Self::Uuid(_)
            | Self::Bytes(_)
            | Self::Date(_)
            | Self::Timestamp(_)
            | Self::Row(_) => kind,
        };
        format!("{literal}::pg_catalog.{}", kind.catalog_name())
    }

    /// Returns the values, one for each column of the key.
    #[must_use]
    pub fn values(&self) -> &[Self] {
        match self {
            Self::Row(values) => values,
            Self::Int(_)
            | Self::Text(_)
            | Self::Uuid(_)
            | Self::Bytes(_)
            | Self::Date(_)
            | Self::Timestamp(_) => std::slice::from_ref(self),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Int(_)
            | Self::Uuid(_)
            | Self::Bytes(_)
            | Self::Date(_)
            | Self::Timestamp(_)
            | Self::Row(_) => f.write_str(&self.text()),
        }
    }
}

impl From<i64> for Key {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
