//! The definition of a table, as far as the agent follows changes of it.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::failure::StepCode;
use plans::table::{MovingTable, TableName};
use serde::{Deserialize, Serialize};

use crate::error::{StepError, WithIntent};

/// Maximum number of reads until two in a row agree.
const MAX_READS: usize = 20;

const FOLLOWED: &str = include_str!("../sql/followed.sql");

/// The definition of a table on one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableDefinition {
    pub(super) table: TableName,
    /// True for a leaf and for a partitioned table within another: its columns come from the root.
    pub(super) is_partition: bool,
    pub(super) is_partitioned: bool,
    /// The file node; 0 for a partitioned table.
    pub(super) filenode: i64,
    pub(super) comment: Option<String>,
    pub(super) columns: Vec<ColumnDefinition>,
    /// The constraints that no other table passes on to this one. NOT NULL is a part of its column.
    pub(super) constraints: Vec<ConstraintDefinition>,
    /// The indexes that belong to no constraint and to no index of a partitioned table.
    pub(super) indexes: Vec<IndexDefinition>,
    pub(super) enums: Vec<EnumDefinition>,
    /// In a record: present names of columns by the names that they had before the agent followed a change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) renamed_columns: BTreeMap<String, String>,
    /// In a record: the names of columns that were dropped since the capture began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) dropped_columns: BTreeSet<String>,
    /// In a record: the copied rows lack the values of a new column, so the copy has to compare them again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) lacks_values: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ColumnDefinition {
    /// The number in the catalog, which a new name does not change.
    pub(super) number: i16,
    pub(super) name: String,
    /// The type with its modifier, as `format_type` prints it.
    #[serde(rename = "type")]
    pub(super) data_type: String,
    pub(super) not_null: bool,
    /// The default, or the expression of a generated column.
    pub(super) default: Option<String>,
    /// The value of rows that are older than the column, if the catalog has it.
    pub(super) missing: Option<String>,
    pub(super) generated: String,
    pub(super) identity: String,
    /// The sequence that belongs to the column: that of an identity or of a `serial` column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sequence: Option<String>,
    /// The collation if it is not that of the type.
    pub(super) collation: Option<String>,
    /// Whether the default, the generated expression or a domain can call functions of users.
    pub(super) runs_code: bool,
    pub(super) comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConstraintDefinition {
    pub(super) name: String,
    /// `contype`.
    pub(super) kind: String,
    pub(super) definition: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexDefinition {
    pub(super) name: String,
    pub(super) definition: String,
    pub(super) is_valid: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EnumDefinition {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
}

impl TableDefinition {
    /// Returns the column with this name.
    pub(super) fn column(&self, name: &str) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the column with this number.
    pub(super) fn numbered(&self, number: i16) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.number == number)
    }
}

/// Reads the definitions of the tables, and of the partitioned tables above them. A missing table has no definition.
pub(super) async fn read(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<TableDefinition>, StepError> {
    let what = format!("shard {}: reading definitions of tables", client.name());
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let rows = client.query(FOLLOWED, &[&names]).await.at(&what)?;
    let definitions = rows.iter().map(|row| serde_json::from_value(row.get(0)));
    let definitions: Result<Vec<TableDefinition>, _> = definitions.collect();
    definitions.map_err(|error| {
        // A part of a definition is missing because an object was dropped during the query.
        StepError::not_yet(StepCode::SchemaChanged, format!("{what}: {error}"))
    })
}

/// As [`read`], until two reads in a row agree: a query that runs while a definition changes can return parts of both.
pub(super) async fn read_settled(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<TableDefinition>, StepError> {
    let mut before = read(client, tables).await;
    for _ in 0..MAX_READS {
        let now = read(client, tables).await;
        if let (Ok(before), Ok(now)) = (&before, &now)
            && before == now
        {
            return Ok(now.clone());
        }
        before = now;
    }
    Err(StepError::not_yet(
        StepCode::SchemaChanged,
        format!(
            "shard {}: the definitions of tables change all the time",
            client.name()
        ),
    ))
}

/// Returns the definition of a table.
pub(super) fn of<'a>(
    definitions: &'a [TableDefinition],
    table: &TableName,
) -> Option<&'a TableDefinition> {
    definitions.iter().find(|found| &found.table == table)
}
