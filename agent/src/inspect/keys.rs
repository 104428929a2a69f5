//! Determines how each table of a map has the shard key: by its own columns, by a parent row, or as a whole by its schema
//! or group. Uses the settings of the map, the catalog and the foreign keys.

use std::collections::{BTreeMap, BTreeSet};

use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{KeyedBy, MapSettings, ThroughRef};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{KeyColumn, TableKey, TableName, ThroughTable};

use crate::postgres::catalog::{ForeignKey, TableFacts};

/// A table for which the relation to the shard key is unknown.
#[derive(Debug)]
pub(super) struct UnkeyedTable {
    pub(super) table: TableName,
    pub(super) problem: String,
    pub(super) remedy: String,
}

/// The tables of a map on one shard.
#[derive(Clone, Copy)]
pub(super) struct TablesOfMap<'a> {
    pub(super) settings: &'a MapSettings,
    pub(super) types: &'a [KeyType],
    /// The tables that the shard has.
    pub(super) existing: &'a BTreeMap<TableName, TableFacts>,
    /// The keys of interest. Of the schemas and groups only these count.
    pub(super) keys: &'a KeySet,
}

impl TablesOfMap<'_> {
    /// Returns the whole tables of the schemas and groups.
    fn whole_tables(&self) -> Vec<(TableName, TableKey)> {
        let settings = self.settings;
        let is_wanted = |name: &String| self.keys.contains(&Key::Text(name.clone()));
        match settings.keyed_by {
            KeyedBy::Column => Vec::new(),
            KeyedBy::Schema => {
                let tops = self
                    .existing
                    .values()
                    .filter(|facts| facts.partition_of.is_none());
                let names = tops.map(|facts| &facts.table);
                let named = settings.reference_tables();
                let ignored = settings.ignored_tables();
                names
                    .filter(|name| is_wanted(&name.schema))
                    .filter(|name| !named.contains(name) && !ignored.contains(name))
                    .map(|name| (name.clone(), TableKey::Schema(name.schema.clone())))
                    .collect()
            }
            KeyedBy::Group => {
                let groups = settings.groups.iter().filter(|(group, _)| is_wanted(group));
                let tables = groups.flat_map(|(group, tables)| {
                    let key = TableKey::Group(group.clone());
                    tables
                        .iter()
                        .map(move |name| (TableName::parse(name), key.clone()))
                });
                tables.collect()
            }
        }
    }
}

/// Returns the sharded tables and their dependent tables, parents before children, and the tables whose relation to the
/// key is unknown.
pub(super) fn resolve(
    map: TablesOfMap<'_>,
    foreign_keys: &[ForeignKey],
) -> (Vec<(TableName, TableKey)>, Vec<UnkeyedTable>) {
    let TablesOfMap {
        settings, types, ..
    } = map;
    let (mut keyed, mut unkeyed) = (map.whole_tables(), Vec::new());
    for (name, columns) in &settings.tables {
        let table = TableName::parse(name);
        if columns.0.len() == types.len() {
            let columns = columns.0.iter().zip(types);
            let columns = columns.map(|(name, kind)| KeyColumn {
                name: name.clone(),
                kind: *kind,
            });
            keyed.push((table, TableKey::Columns(columns.collect())));
        } else {
            unkeyed.push(UnkeyedTable {
                problem: format!(
                    "{} key column(s) are listed, the map's key has {}",
                    columns.0.len(),
                    types.len()
                ),
                remedy: format!("list the key's {} columns under `tables`", types.len()),
                table,
            });
        }
    }
    let mut unresolved: BTreeMap<TableName, &ThroughRef> = settings
        .through
        .iter()
        .map(|(name, parent_link)| (TableName::parse(name), parent_link))
        .collect();
    while let Some((table, key)) = next_through(&unresolved, &keyed) {
        if let Some(parent_link) = unresolved.remove(&table) {
            match join_columns(&table, parent_link, foreign_keys) {
                Ok(columns) => {
                    let through = through_table(&table, parent_link, columns, key, foreign_keys);
                    keyed.push((table, TableKey::Through(Box::new(through))));
                }
                Err(table) => unkeyed.push(table),
            }
        }
    }
    unkeyed.extend(
        unresolved
            .into_iter()
            .map(|(table, parent_link)| UnkeyedTable {
                problem: format!(
                    "the shard key of its parent table {} is unknown",
                    parent_link.parent
                ),
                remedy: format!(
                    "fix the findings about {}, or list it under `tables` or `through`",
                    parent_link.parent
                ),
                table,
            }),
    );
    (keyed, unkeyed)
}

/// Returns the relation of a table to its parent.
fn through_table(
    table: &TableName,
    parent_link: &ThroughRef,
    columns: Vec<(String, String)>,
    key: TableKey,
    foreign_keys: &[ForeignKey],
) -> ThroughTable {
    let parent = TableName::parse(&parent_link.parent);
    let wanted: BTreeSet<&(String, String)> = columns.iter().collect();
    let enforced = foreign_keys.iter().any(|key| {
        key.validated
            && key.is_plain
            && key.from == *table
            && key.to == parent
            && key.columns.iter().collect::<BTreeSet<_>>() == wanted
    });
    ThroughTable {
        parent,
        columns,
        enforced,
        key,
    }
}

/// Returns a table whose parent is already resolved, with the key of the parent.
fn next_through(
    unresolved: &BTreeMap<TableName, &ThroughRef>,
    keyed: &[(TableName, TableKey)],
) -> Option<(TableName, TableKey)> {
    unresolved.iter().find_map(|(table, parent_link)| {
        let parent = TableName::parse(&parent_link.parent);
        let (_, key) = keyed.iter().find(|(name, _)| *name == parent)?;
        Some((table.clone(), key.clone()))
    })
}

/// Returns the columns by which a row references its parent, each with the parent's column: those that the map names,
/// or those of the only foreign key to the parent.
fn join_columns(
    table: &TableName,
    parent_link: &ThroughRef,
    foreign_keys: &[ForeignKey],
) -> Result<Vec<(String, String)>, UnkeyedTable> {
    if !parent_link.columns.is_empty() {
        return Ok(parent_link.columns.clone().into_iter().collect());
    }
    let parent = TableName::parse(&parent_link.parent);
    let mut candidates = foreign_keys
        .iter()
        .filter(|key| &key.from == table && key.to == parent);
    let problem = match (candidates.next(), candidates.next()) {
        (Some(only), None) => return Ok(only.columns.clone()),
        (None, _) => format!("it has no foreign key to {parent}"),
        (Some(_), Some(_)) => format!("it has several foreign keys to {parent}"),
    };
    Err(UnkeyedTable {
        table: table.clone(),
        problem,
        remedy: format!(
            "under `through`, list in `columns` of {table} the columns that reference {parent}, and those of {parent}"
        ),
    })
}

/// Returns SQL expressions for the key columns of the row `row`. For a dependent table they are subqueries on the
/// parent.
pub(super) fn key_expressions(key: &TableKey, row: &str) -> Vec<String> {
    key_expressions_at(key, row, 0)
}

fn key_expressions_at(key: &TableKey, row: &str, depth: usize) -> Vec<String> {
    match key {
        TableKey::Columns(columns) => columns
            .iter()
            .map(|column| format!("{row}.{}", quote_ident(&column.name)))
            .collect(),
        TableKey::Schema(name) | TableKey::Group(name) => {
            vec![format!("{}::pg_catalog.text", quote_literal(name))]
        }
        // A reference table has no shard key.
        TableKey::Reference => Vec::new(),
        TableKey::Through(through) => {
            let parent = format!("shardwright_key_{depth}");
            let parent_columns = key_expressions_at(&through.key, &parent, depth + 1);
            let condition = through.joins(&parent, row);
            parent_columns
                .iter()
                .map(|column| {
                    format!(
                        "(select {column} from {} {parent} where {condition} limit 1)",
                        through.parent.sql()
                    )
                })
                .collect()
        }
    }
}

/// Returns the SQL condition that the row `row` has no shard key: this row, or a row on which it depends, has a NULL in
/// the columns that reference the parent. A row without a shard key does not move.
pub(super) fn keyless_row_condition(through: &ThroughTable, row: &str) -> String {
    let pairs = through.columns.iter();
    let mut conditions: Vec<String> = pairs
        .map(|(child_column, _)| format!("{row}.{} is null", quote_ident(child_column)))
        .collect();
    if let TableKey::Through(above) = &through.key {
        let parent = format!("{row}_parent");
        conditions.push(format!(
            "exists (select from {} {parent} where {} and ({}))",
            through.parent.sql(),
            through.joins(&parent, row),
            keyless_row_condition(above, &parent),
        ));
    }
    conditions.join(" or ")
}
