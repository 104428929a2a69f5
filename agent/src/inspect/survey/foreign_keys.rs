//! Foreign keys must stay among the moving tables, or lead to reference tables.
//!
//! Order: by the table at the other end, so that the one decision which concerns all of its foreign keys is asked for once.
//! Absent: tables that are listed nowhere; these are `tables`', with the list that their foreign keys speak for.

use std::collections::{BTreeMap, BTreeSet};

use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableKey, TableName};

use super::target::named;
use crate::inspect::findings::Findings;
use crate::postgres::catalog::ForeignKey;

/// The sharded tables by name, with what ties them to the key.
pub(super) type TableKeysByName<'a> = BTreeMap<&'a TableName, &'a TableKey>;

/// The moving tables that are sharded, by the names that foreign keys have of them.
fn sharded(moving: &[MovingTable]) -> TableKeysByName<'_> {
    let sharded = moving
        .iter()
        .filter(|table| table.key != TableKey::Reference);
    sharded
        .flat_map(|table| [(&table.table, &table.key), (table.top(), &table.key)])
        .collect()
}

/// Refuses every foreign key that would be broken by the move.
///
/// When a plan's tables are examined again, what they refer to was allowed when the plan was made.
pub(super) fn check(
    moving: &[MovingTable],
    references: &[ForeignKey],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let (sharded, copied) = (sharded(moving), task.settings.reference_tables());
    let listed = |name: &TableName| task.again || task.settings.has_listed(name);
    // What keeps one of them from moving is reported of itself.
    let settings = &task.settings;
    let tied = settings.tables.keys().chain(settings.through.keys());
    let tied: BTreeSet<TableName> = tied.map(|name| TableName::parse(name)).collect();
    let moves = |name: &TableName| sharded.contains_key(name) || tied.contains(name);
    let mut others: BTreeMap<(&TableName, bool), Vec<&ForeignKey>> = BTreeMap::new();
    for key in references {
        match (moves(&key.from), moves(&key.to)) {
            (true, false) if task.again || copied.contains(&key.to) || !listed(&key.to) => {}
            (true, false) => others.entry((&key.to, false)).or_default().push(key),
            (false, true) if listed(&key.from) => {
                let refers = copied.contains(&key.from);
                others.entry((&key.from, refers)).or_default().push(key);
            }
            (true | false, true) | (false, false) => {}
        }
    }
    for ((other, refers), keys) in others {
        let object = format!("shard {}, table {other}", task.source.name);
        let list = placing(other, references, &sharded);
        let list = list.unwrap_or_else(|| format!("list {other} as sharded"));
        let (code, problem) = if refers {
            (
                "foreign_key.reference",
                format!(
                    "it is listed under `reference` and refers to rows that are not on every shard, by {}",
                    names(&keys)
                ),
            )
        } else {
            (
                "foreign_key.leaves",
                format!(
                    "it does not move, and is joined to tables that do by {}",
                    names(&keys)
                ),
            )
        };
        findings.refuse(
            code,
            object,
            problem,
            format!("{list}; or drop the foreign keys"),
        );
    }
}

/// Refuses reference tables that are to be copied to a new shard and refer to rows which are not.
pub(super) fn check_copied(
    moving: &[MovingTable],
    references: &[ForeignKey],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let (sharded, copied) = (sharded(moving), task.settings.reference_tables());
    let mut left: BTreeMap<&TableName, Vec<&ForeignKey>> = BTreeMap::new();
    for key in references {
        let stays = !copied.contains(&key.to) && !sharded.contains_key(&key.to);
        if copied.contains(&key.from) && stays && task.settings.has_listed(&key.to) {
            left.entry(&key.to).or_default().push(key);
        }
    }
    for (other, keys) in left {
        findings.refuse(
            "foreign_key.reference",
            format!("shard {}, table {other}", task.source.name),
            format!(
                "it is not copied to the new shard, and reference tables refer to it by {}",
                names(&keys)
            ),
            format!("list {other} under `reference` too; or drop the foreign keys"),
        );
    }
}

/// The list that the foreign keys of a table speak for, as what to do; none: they say nothing.
pub(super) fn placing(
    table: &TableName,
    references: &[ForeignKey],
    sharded: &TableKeysByName<'_>,
) -> Option<String> {
    let own = references.iter().filter(|key| &key.from == table);
    let up: Vec<&ForeignKey> = own.filter(|key| sharded.contains_key(&key.to)).collect();
    let down = references.iter().filter(|key| &key.to == table);
    let down: Vec<&ForeignKey> = down.filter(|key| sharded.contains_key(&key.from)).collect();
    let theirs = |key: &&ForeignKey| {
        holds(sharded.get(&key.to)?, &key.columns, |(own, theirs)| {
            (theirs, own)
        })
    };
    let ours = |key: &&ForeignKey| {
        holds(sharded.get(&key.from)?, &key.columns, |(own, theirs)| {
            (own, theirs)
        })
    };
    let held = up
        .iter()
        .find_map(theirs)
        .or_else(|| down.iter().find_map(ours));
    if let Some(columns) = held {
        return Some(format!(
            "list {table} under `tables` by {columns}, which is the key"
        ));
    }
    let parents: BTreeSet<&TableName> = up.iter().map(|key| &key.to).collect();
    match parents.first() {
        Some(parent) => Some(format!(
            "list {table} under `through` with parent {parent}, so that its rows move with theirs in an offline move, or \
             give it the key column and list it under `tables`"
        )),
        None if down.is_empty() => None,
        None => Some(format!(
            "list {table} under `reference` if every shard has the same rows, or under `tables` with its key column"
        )),
    }
}

/// The columns at the other end of a foreign key that hold the key of the table at this one.
fn holds<'a>(
    key: &TableKey,
    pairs: &'a [(String, String)],
    order: impl Fn(&'a (String, String)) -> (&'a String, &'a String),
) -> Option<String> {
    let TableKey::Columns(columns) = key else {
        return None;
    };
    let held = columns.iter().map(|column| {
        let mut pairs = pairs.iter().map(&order);
        let (_, other) = pairs.find(|(here, _)| *here == &column.name)?;
        Some(other.as_str())
    });
    Some(held.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Some foreign keys in words.
fn names(keys: &[&ForeignKey]) -> String {
    let names: Vec<String> = keys
        .iter()
        .map(|key| format!("{} of {}", key.name, key.from))
        .collect();
    named(&names)
}
