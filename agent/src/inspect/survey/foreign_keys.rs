//! Refuses foreign keys that leave the moving tables, unless they reference reference tables.
//!
//! The findings are grouped by the table at the other end, because one decision on this table concerns all of its
//! foreign keys. The module `tables` checks the tables that no list contains, and proposes a list for each by its
//! foreign keys.

use std::collections::{BTreeMap, BTreeSet};

use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableKey, TableName};

use super::tables::has_listed;
use super::target::list_names;
use crate::inspect::findings::Findings;
use crate::postgres::catalog::ForeignKey;

/// The sharded tables by name, with the way in which each has the shard key.
pub(super) type TableKeysByName<'a> = BTreeMap<&'a TableName, &'a TableKey>;

/// Returns the moving tables that are sharded, by their names and by those of their topmost tables, which foreign keys
/// use.
fn sharded_by_name(moving: &[MovingTable]) -> TableKeysByName<'_> {
    let sharded = moving
        .iter()
        .filter(|table| table.key != TableKey::Reference);
    sharded
        .flat_map(|table| [(&table.table, &table.key), (table.top(), &table.key)])
        .collect()
}

/// Refuses every foreign key that the move would break.
///
/// If the tables of a plan are checked again, tables that they reference were already accepted when the plan was made.
pub(super) fn check(
    moving: &[MovingTable],
    foreign_keys: &[ForeignKey],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let (sharded, copied) = (sharded_by_name(moving), task.settings.reference_tables());
    let is_listed = |name: &TableName| task.again || has_listed(task, name);
    // If such a table cannot move, another finding reports this.
    let settings = &task.settings;
    let listed_sharded = settings.tables.keys().chain(settings.through.keys());
    let listed_sharded: BTreeSet<TableName> =
        listed_sharded.map(|name| TableName::parse(name)).collect();
    let is_moving = |name: &TableName| sharded.contains_key(name) || listed_sharded.contains(name);
    let mut other_tables: BTreeMap<(&TableName, bool), Vec<&ForeignKey>> = BTreeMap::new();
    for key in foreign_keys {
        match (is_moving(&key.from), is_moving(&key.to)) {
            (true, false) if task.again || copied.contains(&key.to) || !is_listed(&key.to) => {}
            (true, false) => other_tables.entry((&key.to, false)).or_default().push(key),
            (false, true) if is_listed(&key.from) => {
                let is_reference_table = copied.contains(&key.from);
                other_tables
                    .entry((&key.from, is_reference_table))
                    .or_default()
                    .push(key);
            }
            (true | false, true) | (false, false) => {}
        }
    }
    for ((other, is_reference_table), keys) in other_tables {
        let object = format!("shard {}, table {other}", task.source.name);
        let list = suggested_list(other, foreign_keys, &sharded);
        let list = match list {
            _ if !settings.keyed_by.is_column() => {
                format!(
                    "move {other} in the same move, list it under `reference` if every shard has the same rows"
                )
            }
            Some(list) => list,
            None => format!("list {other} as sharded"),
        };
        let (code, problem) = if is_reference_table {
            (
                "foreign_key.reference",
                format!(
                    "it is listed under `reference` and references rows that are not on every shard, by {}",
                    foreign_key_names(&keys)
                ),
            )
        } else {
            (
                "foreign_key.leaves",
                format!(
                    "it does not move, and foreign keys join it to tables that move: {}",
                    foreign_key_names(&keys)
                ),
            )
        };
        findings.add_refusal(
            code,
            object,
            problem,
            format!("{list}; or drop the foreign keys"),
        );
    }
}

/// Refuses reference tables that are copied to a new target and reference rows that are not copied.
pub(super) fn check_copied_references(
    moving: &[MovingTable],
    foreign_keys: &[ForeignKey],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let (sharded, copied) = (sharded_by_name(moving), task.settings.reference_tables());
    let mut not_copied: BTreeMap<&TableName, Vec<&ForeignKey>> = BTreeMap::new();
    for key in foreign_keys {
        let is_left = !copied.contains(&key.to) && !sharded.contains_key(&key.to);
        if copied.contains(&key.from) && is_left && task.settings.has_listed(&key.to) {
            not_copied.entry(&key.to).or_default().push(key);
        }
    }
    for (other, keys) in not_copied {
        findings.add_refusal(
            "foreign_key.reference",
            format!("shard {}, table {other}", task.source.name),
            format!(
                "it is not copied to the target, and reference tables reference it by {}",
                foreign_key_names(&keys)
            ),
            format!("list {other} under `reference` too; or drop the foreign keys"),
        );
    }
}

/// Returns the list in which the table belongs according to its foreign keys, as text for a remedy. `None` if the
/// foreign keys do not show it.
pub(super) fn suggested_list(
    table: &TableName,
    foreign_keys: &[ForeignKey],
    sharded: &TableKeysByName<'_>,
) -> Option<String> {
    let outgoing = foreign_keys.iter().filter(|key| &key.from == table);
    let outgoing: Vec<&ForeignKey> = outgoing
        .filter(|key| sharded.contains_key(&key.to))
        .collect();
    let incoming = foreign_keys.iter().filter(|key| &key.to == table);
    let incoming: Vec<&ForeignKey> = incoming
        .filter(|key| sharded.contains_key(&key.from))
        .collect();
    let held_by_outgoing = |key: &&ForeignKey| {
        held_key_columns(
            sharded.get(&key.to)?,
            &key.columns,
            |(from_column, to_column)| (to_column, from_column),
        )
    };
    let held_by_incoming = |key: &&ForeignKey| {
        held_key_columns(
            sharded.get(&key.from)?,
            &key.columns,
            |(from_column, to_column)| (from_column, to_column),
        )
    };
    let held_columns = outgoing
        .iter()
        .find_map(held_by_outgoing)
        .or_else(|| incoming.iter().find_map(held_by_incoming));
    if let Some(columns) = held_columns {
        return Some(format!(
            "list {table} under `tables` with its key column {columns}"
        ));
    }
    let parents: BTreeSet<&TableName> = outgoing.iter().map(|key| &key.to).collect();
    match parents.first() {
        Some(parent) => Some(format!(
            "list {table} under `through` with parent {parent}, so that its rows move with their parents, or \
             give it the key column and list it under `tables`"
        )),
        None if incoming.is_empty() => None,
        None => Some(format!(
            "list {table} under `reference` if every shard has the same rows, or under `tables` with its key column"
        )),
    }
}

/// Returns the columns at the other end of a foreign key that contain the key of the table at this end.
fn held_key_columns<'a>(
    key: &TableKey,
    pairs: &'a [(String, String)],
    order: impl Fn(&'a (String, String)) -> (&'a String, &'a String),
) -> Option<String> {
    let TableKey::Columns(columns) = key else {
        return None;
    };
    let held_columns = columns.iter().map(|column| {
        let mut pairs = pairs.iter().map(&order);
        let (_, other_column) = pairs.find(|(this_column, _)| *this_column == &column.name)?;
        Some(other_column.as_str())
    });
    Some(held_columns.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Describes some foreign keys as text.
fn foreign_key_names(keys: &[&ForeignKey]) -> String {
    let names: Vec<String> = keys
        .iter()
        .map(|key| format!("{} of {}", key.name, key.from))
        .collect();
    list_names(&names)
}
