//! Computes the statements with which the other shard gets the changes that the application made on the owner of the
//! keys. Pure: it compares the definition of each table on the owner with the recorded one, and with the other shard's.
//!
//! A statement that the other shard must execute before the next captured change can be applied is due at once: it
//! permits rows that the old definition does not. A statement that forbids rows waits until the stream has applied
//! everything that was written before the change.

mod columns;
mod objects;
mod parents;

use plans::table::{MovingTable, TableName};

use super::definition::{self, TableDefinition};

/// When the other shard executes a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// At once: later captured changes need it.
    Now,
    /// When the stream has applied what was written before the change, and the copy has compared the rows of tables that
    /// lack values.
    Applied,
    /// As `Applied`, under a lock that excludes neither readers nor writers.
    Validated,
    /// As `Applied`, outside of a transaction, because it can take long.
    Concurrently,
}

/// A statement that gives the other shard a change of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FollowStatement {
    pub(super) due: Due,
    /// The table that it locks; `None` for a statement about a type.
    pub(super) table: Option<TableName>,
    pub(super) sql: String,
    /// True if rows that exist get no values from the statement, although they have values on the owner.
    pub(super) lacks_values: bool,
}

/// The definitions that [`difference`] compares.
pub(super) struct ComparedDefinitions<'a> {
    /// Those of the owner of the keys when the agent followed the last change.
    pub(super) recorded: &'a [TableDefinition],
    /// Those of the owner of the keys.
    pub(super) upstream: &'a [TableDefinition],
    /// Those of the other shard.
    pub(super) downstream: &'a [TableDefinition],
    /// Whether the copy can compare rows again.
    pub(super) may_compare_rows: bool,
}

/// One table of a comparison, and what was found about it.
struct TableDifference<'a> {
    /// The columns that identify a row or hold the shard key.
    key_columns: Vec<&'a str>,
    recorded: &'a TableDefinition,
    upstream: &'a TableDefinition,
    downstream: &'a TableDefinition,
    may_compare_rows: bool,
    statements: Vec<FollowStatement>,
    refused: Vec<String>,
}

impl TableDifference<'_> {
    fn add(&mut self, due: Due, sql: String) {
        let table = Some(self.downstream.table.clone());
        self.statements.push(FollowStatement {
            due,
            table,
            sql,
            lacks_values: false,
        });
    }

    /// Adds an ALTER TABLE statement.
    fn alter(&mut self, due: Due, action: &str) {
        let table = self.downstream.table.sql();
        self.add(due, format!("alter table {table} {action}"));
    }

    /// Adds a reason for which the agent cannot follow.
    fn refuse(&mut self, reason: String) {
        let table = &self.upstream.table;
        self.refused.push(format!("{table}: {reason}"));
    }
}

/// Returns the statements for the other shard, those that are due at once first.
///
/// With `columns_only`, the other shard does not have indexes and constraints yet.
///
/// # Errors
/// Returns the changes that the agent cannot follow, with the reasons.
pub(super) fn difference(
    tables: &[MovingTable],
    compared: &ComparedDefinitions<'_>,
    columns_only: bool,
) -> Result<Vec<FollowStatement>, Vec<String>> {
    let (mut statements, mut refused) = (Vec::new(), Vec::new());
    for upstream in compared.upstream {
        let name = &upstream.table;
        let Some(downstream) = definition::of(compared.downstream, name) else {
            continue;
        };
        // A new table has no record yet.
        let recorded = definition::of(compared.recorded, name).unwrap_or(upstream);
        let mut table = TableDifference {
            key_columns: key_columns(tables, recorded),
            recorded,
            upstream,
            downstream,
            may_compare_rows: compared.may_compare_rows && !is_reference(tables, recorded),
            statements: Vec::new(),
            refused: Vec::new(),
        };
        if !upstream.is_partition {
            columns::compare(&mut table);
        }
        objects::compare_enums(&mut table);
        parents::require_foreign_key(&mut table, tables);
        if !columns_only {
            objects::compare_constraints(&mut table);
            objects::compare_indexes(&mut table);
            objects::compare_comments(&mut table);
        }
        statements.append(&mut table.statements);
        refused.append(&mut table.refused);
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    statements.sort_by_key(|statement| statement.due);
    statements.dedup();
    Ok(statements)
}

/// Returns whether every shard has the table's rows. A target that has them already does not copy them.
fn is_reference(tables: &[MovingTable], definition: &TableDefinition) -> bool {
    let mut own = tables.iter();
    own.any(|table| table.is_reference() && table.top() == &definition.table)
}

/// Returns the columns of the table that identify a row, hold the shard key, or refer to the row that has it, and those to
/// which dependent rows refer.
fn key_columns<'a>(tables: &'a [MovingTable], definition: &TableDefinition) -> Vec<&'a str> {
    let own = tables.iter().filter(|table| {
        table.table == definition.table || table.partition_of.as_ref() == Some(&definition.table)
    });
    // The guard of dependents reads them by name.
    let dependents = tables.iter().filter_map(MovingTable::through);
    let dependents = dependents.filter(|through| through.parent == definition.table);
    let referenced = dependents.flat_map(|through| &through.columns);
    let referenced = referenced.map(|(_, column)| column.as_str());
    own.flat_map(|table| {
        let identity = table.identity.iter().map(String::as_str);
        let through = table.through().into_iter();
        let references = through.flat_map(|through| through.columns.iter());
        let references = references.map(|(own, _)| own.as_str());
        identity.chain(table.key_names()).chain(references)
    })
    .chain(referenced)
    .collect()
}
