//! The parts of a shard's catalog that are needed for a first map.

use plans::id::ShardName;
use plans::key::KeyType;
use plans::table::TableName;
use std::collections::BTreeMap;

/// The tables of one shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) tables: BTreeMap<TableName, Table>,
    pub(crate) references: Vec<Reference>,
}

/// A table. A partitioned table is represented by its root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// True for a foreign table.
    pub(crate) is_foreign: bool,
    /// True if the table belongs to an extension.
    pub(crate) is_extension: bool,
    pub(crate) columns: Vec<Column>,
    /// The columns of each valid index without predicate and expressions, the primary key first.
    pub(crate) indexes: Vec<Index>,
    /// The size with all partitions and TOAST, in bytes.
    pub(crate) bytes: i64,
    /// The planner's estimate of the number of rows, with all partitions; 0 if there is none.
    pub(crate) rows: i64,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The key type; `None` if columns of this type cannot be keys.
    pub(crate) kind: Option<KeyType>,
    pub(crate) not_null: bool,
}

/// An index of a table, with its columns in their order.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) columns: Vec<String>,
    pub(crate) is_primary: bool,
    pub(crate) is_unique: bool,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: TableName,
    pub(crate) to: TableName,
    /// Pairs of a column of this table and the referenced column.
    pub(crate) columns: Vec<(String, String)>,
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns whether the table is an ordinary table of the application.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_foreign && !self.is_extension
    }

    pub(crate) fn primary_key(&self) -> Option<&[String]> {
        let index = self.indexes.iter().find(|index| index.is_primary)?;
        Some(&index.columns)
    }
}

impl Facts {
    /// Returns whether the shard has no table of the application.
    pub(crate) fn is_empty(&self) -> bool {
        !self.tables.values().any(Table::is_plain)
    }

    /// Combines the tables of several shards. Sizes are added; if definitions differ, the first shard's definition is
    /// used.
    pub(crate) fn merged<'a>(shards: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for shard in shards {
            for (name, table) in &shard.tables {
                match all.tables.get_mut(name) {
                    Some(merged) => {
                        merged.bytes = merged.bytes.saturating_add(table.bytes);
                        merged.rows = merged.rows.saturating_add(table.rows);
                    }
                    None => {
                        all.tables.insert(name.clone(), table.clone());
                    }
                }
            }
            for reference in &shard.references {
                if !all.references.contains(reference) {
                    all.references.push(reference.clone());
                }
            }
        }
        all
    }
}

/// Returns names of shards as an enumeration in text.
pub(crate) fn comma_separated<'a>(names: impl IntoIterator<Item = &'a ShardName>) -> String {
    let names: Vec<&str> = names.into_iter().map(ShardName::as_str).collect();
    names.join(", ")
}

/// Returns the name of a table as maps contain it: without schema if it is in `public`, unless this would be ambiguous.
pub(crate) fn map_name(table: &TableName) -> String {
    if table.schema == "public" && !table.name.contains('.') {
        table.name.clone()
    } else {
        table.to_string()
    }
}
