//! The user's tables, as far as a move must know them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A table by schema and name.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct TableName {
    /// Schema.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
}

impl TableName {
    /// `schema.name`, or a bare name for a table in `public`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.split_once('.') {
            Some((schema, name)) => Self {
                schema: schema.to_owned(),
                name: name.to_owned(),
            },
            None => Self {
                schema: "public".to_owned(),
                name: text.to_owned(),
            },
        }
    }

    /// Quoted for SQL, with its schema.
    #[must_use]
    pub fn sql(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// A table whose rows move, with what the copy, the guard and the apply need to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovingTable {
    /// The table.
    pub table: TableName,
    /// The column that holds the shard key.
    pub key_column: String,
    /// Columns of the primary key, in its order; they contain the key column.
    pub primary_key: Vec<String>,
    /// All columns in table order.
    pub columns: Vec<Column>,
    /// Estimated rows of the whole table.
    pub rows: i64,
    /// Size of the whole table's heap and TOAST, bytes.
    pub bytes: i64,
}

impl MovingTable {
    /// Columns that can be written: all but the stored generated ones.
    pub fn written_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.generated)
    }
}

/// One column of a moving table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type with its modifier, as `format_type` prints it.
    pub data_type: String,
    /// True for a stored generated column, which the target computes itself.
    pub generated: bool,
    /// True when the type's binary form is the same on every shard (built-in types).
    pub binary_safe: bool,
}

/// Quotes an identifier for SQL, always.
#[must_use]
pub fn quote_ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a string literal for SQL (standard_conforming_strings is on in every session of ours).
#[must_use]
pub fn quote_literal(text: &str) -> String {
    if text.contains('\\') {
        format!("e'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}
