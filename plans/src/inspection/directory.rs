//! Reads an existing directory table, from which a map is imported.

use crate::fleet::ShardRef;
use crate::sql::quote_ident;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of rows in a result. A larger table is refused.
pub const MAX_ROWS: usize = 1_000_000;

/// The maximum size of a result's values as JSON, in bytes.
pub const MAX_BYTES: usize = 12 << 20;

/// The maximum number of characters in a value. A key in a PostgreSQL index is shorter.
pub const MAX_VALUE_CHARS: usize = 8_192;

/// The task to read a directory table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryTask {
    /// The database. Messages contain its name.
    pub shard: ShardRef,
    /// The table.
    pub table: DirectoryTable,
    /// The time limit in milliseconds.
    pub timeout_ms: u32,
}

/// A table that states which shard has which key. Names are as in the catalog; they are quoted when SQL is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryTable {
    /// The schema.
    pub schema: String,
    /// The name. It can be an ordinary or a partitioned table, or a materialized view.
    pub table: String,
    /// The columns of the key, or of the bounds of a range or bucket.
    pub keys: Vec<String>,
    /// The column with the name of the shard.
    pub shard: String,
}

impl DirectoryTable {
    /// Returns the columns in the order in which they are read: those of the key, then the shard's.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let columns = self.keys.iter().chain([&self.shard]);
        columns.cloned().collect()
    }

    /// Returns the quoted name for SQL.
    #[must_use]
    pub fn sql(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.table))
    }

    /// Returns a SELECT of the columns as text, cut to one character more than [`MAX_VALUE_CHARS`].
    ///
    /// It uses the type's output function, because a cast to text could call a function that another user has defined.
    #[must_use]
    pub fn select(&self) -> String {
        let value = |column: &String| {
            let column = quote_ident(column);
            let length = MAX_VALUE_CHARS + 1;
            format!(
                "case when {column} is null then null \
                 else pg_catalog.left(pg_catalog.format('%s', {column}), {length}) end as {column}"
            )
        };
        let values: Vec<String> = self.columns().iter().map(value).collect();
        format!("select {} from {}", values.join(", "), self.sql())
    }
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directory {
    /// The names of the result's columns.
    pub columns: Vec<String>,
    /// The rows as text, in ISO formats and UTC. A null has no value.
    pub rows: Vec<Vec<Option<String>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_special_characters_are_quoted() {
        let table = DirectoryTable {
            schema: "public".to_owned(),
            table: "d\"; select pg_sleep(9); --".to_owned(),
            keys: vec!["te\"nant".to_owned()],
            shard: "home".to_owned(),
        };
        assert_eq!(table.sql(), "\"public\".\"d\"\"; select pg_sleep(9); --\"");
        assert!(table.select().contains("format('%s', \"te\"\"nant\")"));
    }
}
