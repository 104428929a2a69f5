//! The application's tables, with the data that a move needs.

mod copy_by;
mod format;
mod lookup;
mod name;
mod through;

use crate::id::MigrationId;
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::sql::quote_ident;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub use copy_by::{CopyBy, RowOrder, copy_by};
pub use format::{BinaryForm, CopyFormat, Format, MajorVersions, copy_format, stream_format};
pub use lookup::lookup;
pub use name::TableName;
pub use through::{PLAIN_FOREIGN_KEY, ThroughTable, no_other_copy};

/// How the shard key of a table's rows is determined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableKey {
    /// Columns of the table hold the shard key.
    Columns(Vec<KeyColumn>),
    /// Each row belongs to the shard of the row to which it refers. Such tables move online only if foreign keys prove
    /// that this row exists.
    Through(Box<ThroughTable>),
    /// The schema of the table is the key of all of its rows.
    Schema(String),
    /// The group to which the map assigns the table is the key of all of its rows.
    Group(String),
    /// A reference table: every shard has the same rows, and a new shard receives all of them.
    Reference,
}

/// A column of the shard key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyColumn {
    /// The name of the column.
    pub name: String,
    /// The key type in the map.
    #[serde(rename = "type")]
    pub kind: KeyType,
}

/// Returns the quoted name of a column, with the name of its row unless that is empty.
fn qualified(row: &str, name: &str) -> String {
    match row {
        "" => quote_ident(name),
        row => format!("{row}.{}", quote_ident(name)),
    }
}

/// Which rows a predicate of a dependent table matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dependents {
    /// Those whose parent rows have a key of the set.
    OfKeys,
    /// Those, and rows whose parent row is missing, if the plan found a foreign key that proves the parent.
    OrMissing,
}

impl TableKey {
    /// Returns the predicate of `keys` for a row named `row` (a table's alias, `new`, `old`). If it is empty, columns
    /// have no prefix.
    #[must_use]
    pub fn predicate(&self, keys: &KeySet, row: &str) -> String {
        self.nested(keys, row, 0, Dependents::OfKeys)
    }

    /// Returns the relation to the parent table, if a row has its key from its parent.
    #[must_use]
    pub fn through(&self) -> Option<&ThroughTable> {
        match self {
            Self::Through(through) => Some(through),
            Self::Columns(_) | Self::Schema(_) | Self::Group(_) | Self::Reference => None,
        }
    }

    /// Returns the predicate. `depth` distinguishes the aliases of nested subqueries.
    fn nested(&self, keys: &KeySet, row: &str, depth: usize, dependents: Dependents) -> String {
        match self {
            Self::Columns(columns) => {
                let columns: Vec<(String, KeyType)> = columns
                    .iter()
                    .map(|column| (qualified(row, &column.name), column.kind))
                    .collect();
                keys.predicate(&columns)
            }
            Self::Schema(name) | Self::Group(name) => {
                format!("({})", keys.contains(&Key::Text(name.clone())))
            }
            Self::Reference => "(true)".to_owned(),
            Self::Through(through) => {
                let parent = format!("shardwright_parent_{depth}");
                let owned = format!(
                    "(exists (select from {} {parent} where {} and {}))",
                    through.parent.sql(),
                    through.joins(&parent, row),
                    through.key.nested(keys, &parent, depth + 1, dependents)
                );
                match dependents {
                    Dependents::OrMissing if through.enforced => {
                        format!("({owned} or {})", through.lacks_parent(row))
                    }
                    Dependents::OrMissing | Dependents::OfKeys => owned,
                }
            }
        }
    }
}

/// A table whose rows move, with the data that copy, guard and apply need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovingTable {
    /// The name. Each leaf of a partitioned table is a separate table.
    pub table: TableName,
    /// For a leaf: the root of its partitioned table. The map and applications use the name of the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<TableName>,
    /// How the shard key of its rows is determined.
    pub key: TableKey,
    /// The columns that identify a row: those of the primary key, or of the replica identity index, in index order.
    /// They include the key's columns. Empty: only the whole row identifies it (replica identity FULL).
    #[serde(alias = "primary_key")]
    pub identity: Vec<String>,
    /// The number of leading identity columns that the index has in the types' default ascending order; without a
    /// value: all. With 0 the index has another order, and rows are looked up by equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup_columns: Option<usize>,
    /// All columns in table order.
    pub columns: Vec<Column>,
    /// The estimated number of rows of the whole table.
    pub rows: i64,
    /// The size of the whole table's heap and TOAST, in bytes.
    pub bytes: i64,
    /// The physical order of its rows, if the table can be divided by key.
    #[serde(rename = "order", default, skip_serializing_if = "Option::is_none")]
    pub row_order: Option<RowOrder>,
    /// How the copy divides the table.
    #[serde(default)]
    pub copy_by: CopyBy,
    /// The reason for `copy_by`.
    #[serde(default)]
    pub copy_why: String,
    /// The format in which its rows are copied.
    #[serde(default)]
    pub format: Format,
    /// The reason for `format`.
    #[serde(default)]
    pub format_why: String,
    /// Present names of columns, by the names that they had before the agent followed a change. Captured changes that
    /// are older than the change have the earlier name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed_columns: BTreeMap<String, String>,
    /// True for a partition that the application has dropped or detached on the owner of the keys during the migration.
    /// It keeps its place in the list, because names of guards contain it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
}

impl MovingTable {
    /// Creates a table of which only the name and its relation to the shard key are known.
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
            renamed_columns: BTreeMap::new(),
            retired: false,
        }
    }

    /// Returns the columns that can be written: all except stored generated ones.
    pub fn written_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.generated)
    }

    /// Returns the predicate of the moving rows for a row named `row` (an alias, `new`, `old`).
    ///
    /// If `row` is empty, columns have no prefix, as in a publication and in statements on this table alone. Only
    /// columns of a dependent table ([`TableKey::Through`]) then have the full name of the table as prefix.
    #[must_use]
    pub fn predicate(&self, keys: &KeySet, row: &str) -> String {
        self.key.predicate(keys, &self.row_name(row))
    }

    /// Returns the predicate of the moving rows, and of rows of a dependent table that lack their parents. Only a caller
    /// that has proved the parents in its transaction ([`MovingTable::foreign_keys_proof`], [`no_other_copy`]) may take the latter for copied rows.
    #[must_use]
    pub fn predicate_or_missing(&self, keys: &KeySet, row: &str) -> String {
        let row = self.row_name(row);
        self.key.nested(keys, &row, 0, Dependents::OrMissing)
    }

    /// Returns the predicate of the rows that the migration has copied to a shard which does not own the keys. While the
    /// copy is incomplete, rows of a dependent table can lack their parents there: they count if the statement proves that
    /// they can only be rows of this copy.
    #[must_use]
    pub fn copy_predicate(&self, keys: &KeySet, row: &str, migration: &MigrationId) -> String {
        match self.foreign_keys_proof(migration) {
            None => self.predicate(keys, row),
            Some(proof) => format!(
                "(case when {proof} and {} then {} else {} end)",
                no_other_copy(migration),
                self.predicate_or_missing(keys, row),
                self.predicate(keys, row)
            ),
        }
    }

    /// Returns the condition that every row of a dependent table on this shard has its parent, except rows that migrations
    /// have copied. `None` if the plan found no foreign key that proves it, or if the table is not a dependent one.
    #[must_use]
    pub fn foreign_keys_proof(&self, migration: &MigrationId) -> Option<String> {
        let mut proofs = Vec::new();
        let (mut table, mut next) = (&self.table, self.through());
        while let Some(through) = next {
            if through.enforced {
                proofs.push(through.proof(table, migration));
            }
            table = &through.parent;
            next = through.key.through();
        }
        (!proofs.is_empty()).then(|| proofs.join(" and "))
    }

    /// Returns the prefix of columns in a predicate for a row named `row`.
    fn row_name(&self, row: &str) -> String {
        match (&self.key, row) {
            (TableKey::Through(_), "") => self.table.sql(),
            (
                TableKey::Columns(_)
                | TableKey::Through(_)
                | TableKey::Schema(_)
                | TableKey::Group(_)
                | TableKey::Reference,
                row,
            ) => row.to_owned(),
        }
    }

    /// Returns the relation to the parent table, if the table is a dependent one.
    #[must_use]
    pub fn through(&self) -> Option<&ThroughTable> {
        self.key.through()
    }

    /// Returns whether rows of dependent tables among `tables` belong to rows of this one.
    #[must_use]
    pub fn is_parent_among(&self, tables: &[MovingTable]) -> bool {
        let mut through = tables.iter().filter_map(MovingTable::through);
        through.any(|through| through.parent == *self.top() || through.parent == self.table)
    }

    /// Returns the table that maps and foreign keys name: the root of its partitioned table, or else this table.
    #[must_use]
    pub fn top(&self) -> &TableName {
        self.partition_of.as_ref().unwrap_or(&self.table)
    }

    /// Returns whether every shard has the same rows.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        matches!(self.key, TableKey::Reference)
    }

    /// Returns whether the row itself shows the key, or the name of the table does, so that its writes can be captured and
    /// guarded by the predicate alone.
    #[must_use]
    pub fn has_key(&self) -> bool {
        match self.key {
            TableKey::Columns(_) | TableKey::Schema(_) | TableKey::Group(_) => true,
            TableKey::Through(_) | TableKey::Reference => false,
        }
    }

    /// Returns the key of all rows, if the table has one as a whole.
    #[must_use]
    pub fn whole_key(&self) -> Option<Key> {
        match &self.key {
            TableKey::Schema(name) | TableKey::Group(name) => Some(Key::Text(name.clone())),
            TableKey::Columns(_) | TableKey::Through(_) | TableKey::Reference => None,
        }
    }

    /// Returns whether rows of the table can have one of `keys`: always if columns have the key, otherwise if it is the key
    /// of the whole table.
    #[must_use]
    pub fn may_have_rows_of(&self, keys: &KeySet) -> bool {
        let whole = self.whole_key();
        self.has_key() && !keys.is_empty() && whole.is_none_or(|key| keys.contains(&key))
    }

    /// Returns the columns of the shard key, for people; empty if there are none.
    #[must_use]
    pub fn key_names(&self) -> Vec<&str> {
        match &self.key {
            TableKey::Columns(columns) => columns.iter().map(|c| c.name.as_str()).collect(),
            TableKey::Through(_)
            | TableKey::Schema(_)
            | TableKey::Group(_)
            | TableKey::Reference => Vec::new(),
        }
    }
}

/// Returns one table for each table that a map names: of a partitioned table only the first leaf.
#[must_use]
pub fn one_of_each_top(tables: &[MovingTable]) -> Vec<&MovingTable> {
    let mut names = BTreeSet::new();
    let first = tables.iter().filter(|table| names.insert(table.top()));
    first.collect()
}

/// One column of a moving table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The type with its modifier, as `format_type` prints it.
    pub data_type: String,
    /// True for a stored generated column, whose value the target computes.
    pub generated: bool,
    /// Whether the type's binary format is portable.
    pub binary: BinaryForm,
}
