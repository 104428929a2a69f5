//! The user's tables, as far as a move must know them.

mod copy_by;
mod format;
mod lookup;
mod name;

use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::sql::quote_ident;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub use copy_by::{CopyBy, RowOrder, copy_by};
pub use format::{BinaryForm, CopyFormat, Format, MajorVersions, copy_format, stream_format};
pub use lookup::lookup;
pub use name::TableName;

/// How a table's rows are tied to the shard key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableKey {
    /// Columns of the table hold the shard key.
    Columns(Vec<KeyColumn>),
    /// A row belongs where the row that it refers to belongs; such tables move offline only.
    Through(Box<ThroughTable>),
    /// A reference table: every shard has the same rows, and a new shard gets them all.
    Reference,
}

/// A column of the shard key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyColumn {
    /// The column.
    pub name: String,
    /// The type that the map gives it.
    #[serde(rename = "type")]
    pub kind: KeyType,
}

/// The table that a row belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughTable {
    /// The table that is referred to.
    pub parent: TableName,
    /// Pairs of a column of this table and the parent's column that it equals.
    pub columns: Vec<(String, String)>,
    /// How the parent's rows are tied to the shard key.
    pub key: TableKey,
}

impl TableKey {
    /// The predicate of `keys` over a row called `row` (a table's alias, `new`, `old`); empty: bare columns.
    #[must_use]
    pub fn predicate(&self, keys: &KeySet, row: &str) -> String {
        self.nested(keys, row, 0)
    }

    fn nested(&self, keys: &KeySet, row: &str, depth: usize) -> String {
        let qualified = |row: &str, name: &str| match row {
            "" => quote_ident(name),
            row => format!("{row}.{}", quote_ident(name)),
        };
        match self {
            Self::Columns(columns) => {
                let columns: Vec<(String, KeyType)> = columns
                    .iter()
                    .map(|column| (qualified(row, &column.name), column.kind))
                    .collect();
                keys.predicate(&columns)
            }
            Self::Reference => "(true)".to_owned(),
            Self::Through(through) => {
                let parent = format!("shardwright_parent_{depth}");
                let joined: Vec<String> = through
                    .columns
                    .iter()
                    .map(|(own, theirs)| {
                        format!("{} = {}", qualified(&parent, theirs), qualified(row, own))
                    })
                    .collect();
                format!(
                    "(exists (select from {} {parent} where {} and {}))",
                    through.parent.sql(),
                    joined.join(" and "),
                    through.key.nested(keys, &parent, depth + 1)
                )
            }
        }
    }
}

/// A table whose rows move, with what the copy, the guard and the apply need to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovingTable {
    /// The table; of a partitioned one each leaf is a table of its own.
    pub table: TableName,
    /// For a leaf: the partitioned table at the top, which the map lists and applications name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<TableName>,
    /// How its rows are tied to the shard key.
    pub key: TableKey,
    /// Columns that identify a row: those of the primary key, or of the index that is the replica identity, in its order;
    /// they contain the key's columns. Empty: only the whole row does, which is its replica identity (full).
    #[serde(alias = "primary_key")]
    pub identity: Vec<String>,
    /// How many columns of the identity, from the first on, its index holds in the types' own ascending order; absent: all
    /// of them. With 0 its order is another one, and rows are looked up by equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup_columns: Option<usize>,
    /// All columns in table order.
    pub columns: Vec<Column>,
    /// Estimated rows of the whole table.
    pub rows: i64,
    /// Size of the whole table's heap and TOAST, bytes.
    pub bytes: i64,
    /// How its rows lie, where it can be divided by key.
    #[serde(rename = "order", default, skip_serializing_if = "Option::is_none")]
    pub row_order: Option<RowOrder>,
    /// What the copy divides it by.
    #[serde(default)]
    pub copy_by: CopyBy,
    /// Why.
    #[serde(default)]
    pub copy_why: String,
    /// In which form its rows are copied.
    #[serde(default)]
    pub format: Format,
    /// Why.
    #[serde(default)]
    pub format_why: String,
}

impl MovingTable {
    /// A table of which no more is known than its name and how its rows are tied to the key.
    #[must_use]
    pub fn bare(table: TableName, key: TableKey) -> Self {
        Self {
            table,
            partition_of: None,
            key,
            identity: Vec::new(),
            lookup_columns: None,
            columns: Vec::new(),
            rows: 0,
            bytes: 0,
            row_order: None,
            copy_by: CopyBy::Blocks,
            copy_why: String::new(),
            format: Format::Text,
            format_why: String::new(),
        }
    }

    /// Columns that can be written: all but the stored generated ones.
    pub fn written_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.generated)
    }

    /// The predicate of the moving rows over a row called `row` (an alias, `new`, `old`).
    ///
    /// With an empty `row` the columns stand bare, for a publication and for statements on this table alone;
    /// a table that is tied through another one is then named in full.
    #[must_use]
    pub fn predicate(&self, keys: &KeySet, row: &str) -> String {
        match (&self.key, row) {
            (TableKey::Through(_), "") => self.key.predicate(keys, &self.table.sql()),
            (TableKey::Columns(_) | TableKey::Through(_) | TableKey::Reference, row) => {
                self.key.predicate(keys, row)
            }
        }
    }

    /// The table that maps and foreign keys name: the partitioned one at the top, else this one.
    #[must_use]
    pub fn top(&self) -> &TableName {
        self.partition_of.as_ref().unwrap_or(&self.table)
    }

    /// Whether every shard has the same rows.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        matches!(self.key, TableKey::Reference)
    }

    /// Whether writes can be captured and guarded by the predicate alone: the key is in the row.
    #[must_use]
    pub fn has_key(&self) -> bool {
        matches!(self.key, TableKey::Columns(_))
    }

    /// The columns that hold the shard key, for people; empty where there are none.
    #[must_use]
    pub fn key_names(&self) -> Vec<&str> {
        match &self.key {
            TableKey::Columns(columns) => columns.iter().map(|c| c.name.as_str()).collect(),
            TableKey::Through(_) | TableKey::Reference => Vec::new(),
        }
    }
}

/// One table for each that maps name: of the leaves of a partitioned table the first.
#[must_use]
pub fn one_of_each_top(tables: &[MovingTable]) -> Vec<&MovingTable> {
    let mut names = BTreeSet::new();
    let first = tables.iter().filter(|table| names.insert(table.top()));
    first.collect()
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
    /// What is known of the type's binary form.
    pub binary: BinaryForm,
}
