//! The record, on the other shard, of the definitions that the agent has followed.
//!
//! It tells a column that the application dropped on the owner from one that another session added on the other shard. It
//! changes in the transaction that makes the changes.

use std::collections::BTreeMap;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;
use plans::sql::quote_literal;
use serde::{Deserialize, Serialize};

use super::definition::{TableDefinition, of};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;

/// A record of definitions.
#[derive(Clone)]
pub(super) struct FollowRecord {
    pub(super) definitions: Vec<TableDefinition>,
    /// Everything that was written before the last change has a lower position in the owner's log.
    pub(super) position: Lsn,
    /// The changes so far, the oldest first.
    pub(super) changes: Vec<RecordedChange>,
}

/// A change that the agent has made on the other shard, or will make when the stream has applied more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedChange {
    /// The position of the owner's log at which the agent read the new definition.
    pub(crate) position: Lsn,
    pub(crate) statement: String,
}

/// Maximum number of changes in a record.
const MAX_CHANGES: usize = 500;

impl FollowRecord {
    /// Adds statements for the definitions at the record's position.
    pub(super) fn add_changes<'a>(&mut self, statements: impl Iterator<Item = &'a String>) {
        for statement in statements {
            let change = RecordedChange {
                position: self.position,
                statement: statement.clone(),
            };
            if !self.changes.contains(&change) {
                self.changes.push(change);
            }
        }
        let surplus = self.changes.len().saturating_sub(MAX_CHANGES);
        self.changes.drain(..surplus);
    }
}

/// Reads the record of the migration. `None` if the shard has none, also if an older version enrolled the migration.
pub(super) async fn read(
    client: &Connected,
    migration: &MigrationId,
) -> Result<Option<FollowRecord>, StepError> {
    let what = format!("shard {}: reading the recorded definitions", client.name());
    let exists = "select pg_catalog.to_regclass('shardwright.followed') is not null";
    if !client
        .query_one(exists, &[])
        .await
        .at(&what)?
        .get::<_, bool>(0)
    {
        return Ok(None);
    }
    let row = client
        .query_opt(
            "select definitions, (position - '0/0')::int8, changes from shardwright.followed where migration = $1",
            &[&migration.0],
        )
        .await
        .at(&what)?;
    let Some(row) = row else {
        return Ok(None);
    };
    let invalid = |error: serde_json::Error| {
        StepError::listed(StepCode::StepInput, format!("{what}: {error}"))
    };
    let position = u64::try_from(row.get::<_, i64>(1)).unwrap_or(0);
    Ok(Some(FollowRecord {
        definitions: serde_json::from_value(row.get(0)).map_err(invalid)?,
        position: Lsn(position),
        changes: serde_json::from_value(row.get(2)).map_err(invalid)?,
    }))
}

/// Returns the statement that writes the record.
pub(super) fn write_sql(migration: &MigrationId, record: &FollowRecord) -> String {
    format!(
        "insert into shardwright.followed (migration, definitions, position, changes)
         values ({}, {}, '{}', {})
         on conflict (migration) do update
         set definitions = excluded.definitions, position = excluded.position, changes = excluded.changes",
        quote_literal(migration.as_str()),
        quote_literal(&serde_json::json!(record.definitions).to_string()),
        record.position,
        quote_literal(&serde_json::json!(record.changes).to_string())
    )
}

/// Returns the owner's definitions with the names that columns had before.
pub(super) fn with_earlier_names(
    recorded: &[TableDefinition],
    upstream: &[TableDefinition],
) -> Vec<TableDefinition> {
    let known = |now: &TableDefinition| {
        let Some(before) = of(recorded, &now.table) else {
            return now.clone();
        };
        let mut dropped_columns = before.dropped_columns.clone();
        let mut renamed = BTreeMap::new();
        for column in &before.columns {
            match now.numbered(column.number) {
                None => {
                    dropped_columns.insert(column.name.clone());
                }
                Some(present) if present.name != column.name => {
                    renamed.insert(column.name.clone(), present.name.clone());
                }
                Some(_) => {}
            }
        }
        let mut renamed_columns = before.renamed_columns.clone();
        for present in renamed_columns.values_mut() {
            if let Some(name) = renamed.get(present) {
                name.clone_into(present);
            }
        }
        renamed_columns.extend(renamed);
        TableDefinition {
            renamed_columns,
            dropped_columns,
            lacks_values: before.lacks_values,
            ..now.clone()
        }
    };
    upstream.iter().map(known).collect()
}
