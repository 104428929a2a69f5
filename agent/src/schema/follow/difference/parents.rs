//! Foreign keys that prove the parents of dependent rows. The agent relies on them as long as the rows move (ADR 76).

use std::collections::BTreeSet;

use plans::table::{MovingTable, ThroughTable};

use super::TableDifference;
use crate::schema::follow::definition::{ConstraintDefinition, TableDefinition};

/// Refuses to follow if the foreign key to the parent is missing now, is not validated, or has another definition.
pub(super) fn require_foreign_key(table: &mut TableDifference<'_>, tables: &[MovingTable]) {
    let name = &table.recorded.table;
    let own = |moving: &&MovingTable| moving.table == *name || moving.top() == name;
    let through = tables.iter().find(own).and_then(MovingTable::through);
    let Some(through) = through.filter(|through| through.enforced) else {
        return;
    };
    // With other options it is another constraint, which the other shard would lack for a while.
    let proving = |definition: &TableDefinition| -> BTreeSet<String> {
        let proofs = definition
            .constraints
            .iter()
            .filter(|c| is_proof(c, through));
        proofs.map(|c| c.definition.clone()).collect()
    };
    let (recorded, now) = (proving(table.recorded), proving(table.upstream));
    if !recorded.is_empty() && recorded.is_disjoint(&now) {
        table.refuse(format!(
            "its validated foreign key to {} must remain until the migration has ended",
            through.parent
        ));
    }
}

/// Returns whether it is a validated foreign key of the columns that refer to the parent.
fn is_proof(constraint: &ConstraintDefinition, through: &ThroughTable) -> bool {
    let definition = &constraint.definition;
    let foreign_key = definition.strip_prefix("FOREIGN KEY (");
    let columns = foreign_key.and_then(|text| text.split_once(") REFERENCES "));
    let columns = columns.map(|(columns, _)| columns.split(", ").map(unquoted).collect());
    let wanted: BTreeSet<String> = through.columns.iter().map(|(own, _)| own.clone()).collect();
    let is_valid = !definition.contains(" NOT VALID") && !definition.contains(" NOT ENFORCED");
    is_valid && columns == Some(wanted)
}

/// Returns a name without the quotes that PostgreSQL prints if it needs them.
fn unquoted(name: &str) -> String {
    let inner = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    inner.map_or_else(|| name.to_owned(), |name| name.replace("\"\"", "\""))
}
