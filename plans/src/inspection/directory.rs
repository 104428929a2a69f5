//! An existing directory table, read to import a map from it.

use crate::fleet::ShardRef;
use crate::sql::quote_ident;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows that an answer holds at most; a table that has more is refused.
pub const MOST_ROWS: usize = 1_000_000;

/// What an answer's values take at most, written in JSON: bytes.
pub const MOST_BYTES: usize = 12 << 20;

/// Characters of a value at most; a key that PostgreSQL indexes is shorter.
pub const LONGEST_VALUE: usize = 8_192;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryTask {
    /// The database; its name stands in messages.
    pub shard: ShardRef,
    /// The table.
    pub table: DirectoryTable,
    /// The reading is given up after this time, milliseconds.
    pub timeout_ms: u32,
}

/// A table that says which shard has which key. Names are as the catalog has them; they are quoted here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryTable {
    /// Its schema.
    pub schema: String,
    /// Its name; an ordinary or partitioned table, or a materialized view.
    pub table: String,
    /// The columns of the key, or of a range's or bucket's bounds.
    pub keys: Vec<String>,
    /// The column with the shard's name.
    pub shard: String,
}

impl DirectoryTable {
    /// The columns in the order in which they are read: those of the key, then the shard's.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let columns = self.keys.iter().chain([&self.shard]);
        columns.cloned().collect()
    }

    /// The table as SQL names it.
    #[must_use]
    pub fn sql(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.table))
    }

    /// A SELECT of the columns as text, one character longer than [`LONGEST_VALUE`] at most.
    ///
    /// A type's own output is taken, because a cast to text may be a function of whoever made the type.
    #[must_use]
    pub fn select(&self) -> String {
        let value = |column: &String| {
            let column = quote_ident(column);
            let most = LONGEST_VALUE + 1;
            format!(
                "case when {column} is null then null \
                 else pg_catalog.left(pg_catalog.format('%s', {column}), {most}) end as {column}"
            )
        };
        let values: Vec<String> = self.columns().iter().map(value).collect();
        format!("select {} from {}", values.join(", "), self.sql())
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directory {
    /// Names of the result's columns.
    pub columns: Vec<String>,
    /// The rows as text in ISO formats and UTC; a null is none.
    pub rows: Vec<Vec<Option<String>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_whatever_they_hold() {
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
