//! Foreign keys must stay among the moving tables, or lead to reference tables.

use std::collections::BTreeSet;

use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableKey, TableName};

use super::Findings;
use crate::pg::catalog::ForeignKey;

/// Refuses every foreign key that would be broken by the move.
///
/// When a plan's tables are looked at again, what they refer to was allowed when the plan was made.
pub(super) fn check(
    moving: &[MovingTable],
    references: &[ForeignKey],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let names = task.settings.reference.iter();
    let copied: BTreeSet<TableName> = names.map(|name| TableName::parse(name)).collect();
    let moves = |name: &TableName| {
        let mut sharded = moving
            .iter()
            .filter(|table| table.key != TableKey::Reference);
        sharded.any(|table| &table.table == name || table.top() == name)
    };
    for key in references {
        let object = format!(
            "shard {}, foreign key {} of {}",
            task.source.name, key.name, key.from
        );
        match (moves(&key.from), moves(&key.to)) {
            (true, true) | (false, false) => {}
            (true, false) if task.again || copied.contains(&key.to) => {}
            (true, false) => findings.refuse(
                "foreign_key.leaves",
                object,
                format!("it joins {} and {}, of which only one moves", key.from, key.to),
                format!(
                    "list {} under `tables`, or under `reference` if every shard has the same rows, or drop the foreign key",
                    key.to
                ),
            ),
            (false, true) if copied.contains(&key.from) => findings.refuse(
                "foreign_key.reference",
                object,
                format!(
                    "reference table {} refers to {}, whose rows are not on every shard",
                    key.from, key.to
                ),
                format!("list {} as sharded, or drop the foreign key", key.from),
            ),
            (false, true) => findings.refuse(
                "foreign_key.leaves",
                object,
                format!("it joins {} and {}, of which only one moves", key.from, key.to),
                format!(
                    "list {from} under `through` with parent {to} so that its rows move with theirs, or under `tables` with its key column, or drop the foreign key",
                    from = key.from,
                    to = key.to
                ),
            ),
        }
    }
}
