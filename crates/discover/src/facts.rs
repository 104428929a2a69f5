//! What a shard's catalog says, as far as a first map must know it.

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

/// A table; of a partitioned one the table at the top.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Its rows are those of another server.
    pub(crate) is_foreign: bool,
    /// It came with an extension.
    pub(crate) is_extension: bool,
    pub(crate) columns: Vec<Column>,
    /// Columns of each whole, valid index; the primary key first.
    pub(crate) indexes: Vec<Index>,
    /// Size with all partitions and TOAST, bytes.
    pub(crate) bytes: i64,
    /// The planner's estimate, with all partitions; 0 where there is none.
    pub(crate) rows: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// None: a type that no key may have.
    pub(crate) kind: Option<KeyType>,
    pub(crate) not_null: bool,
}

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
    /// Own column and the other table's column, pair by pair.
    pub(crate) columns: Vec<(String, String)>,
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether rows are its own and the application's.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_foreign && !self.is_extension
    }

    pub(crate) fn primary_key(&self) -> Option<&[String]> {
        let index = self.indexes.iter().find(|index| index.is_primary)?;
        Some(&index.columns)
    }
}

impl Facts {
    /// Whether there is anything of the application's.
    pub(crate) fn is_empty(&self) -> bool {
        !self.tables.values().any(Table::is_plain)
    }

    /// The tables of several shards as those of one, sizes added up; what differs in form is as the first shard has it.
    pub(crate) fn merged<'a>(shards: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for shard in shards {
            for (name, table) in &shard.tables {
                match all.tables.get_mut(name) {
                    Some(known) => {
                        known.bytes = known.bytes.saturating_add(table.bytes);
                        known.rows = known.rows.saturating_add(table.rows);
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

/// Names of shards as prose has them.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a ShardName>) -> String {
    let names: Vec<&str> = names.into_iter().map(ShardName::as_str).collect();
    names.join(", ")
}

/// A table as maps name it: bare in `public`, unless a bare name would be read otherwise.
pub(crate) fn short(table: &TableName) -> String {
    if table.schema == "public" && !table.name.contains('.') {
        table.name.clone()
    } else {
        table.to_string()
    }
}
