//! Foreign keys that tables outside of the move have got since the plan. A plan refuses them: the rows that they refer to
//! would leave the shard, and the agent's deletion of these rows fires no foreign key.

use std::collections::BTreeSet;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::TableName;

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, ForeignKey};
use crate::shard::partitions::TablePartition;

/// Checks before the flip that no table outside of the move refers to a moving table. `partitions`: those of the moving
/// tables on the source.
///
/// # Errors
/// `schema.drift` with the foreign keys.
pub(super) async fn check(
    context: &StepContext,
    source: &Connected,
    partitions: &[TablePartition],
) -> Result<(), StepError> {
    if context.has_flipped() {
        return Ok(());
    }
    let tables = context.keyed_tables();
    let mut moving: BTreeSet<&TableName> = tables
        .iter()
        .flat_map(|table| [&table.table, table.top()])
        .collect();
    // Those of reference tables do not move.
    for partition in partitions {
        if moving.contains(&partition.top) {
            moving.insert(&partition.table);
        }
    }
    let foreign_keys = catalog::foreign_keys(source).await?;
    let from_outside = |key: &&ForeignKey| moving.contains(&key.to) && !moving.contains(&key.from);
    let lines: Vec<String> = foreign_keys
        .iter()
        .filter(from_outside)
        .map(|key| {
            format!(
                "table {} refers to {} by foreign key {}",
                key.from, key.to, key.name
            )
        })
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::SchemaDrift,
        format!(
            "shard {}: since the plan, tables that do not move have got foreign keys to moving tables, whose rows would leave the shard:\n{}",
            source.name(),
            lines.join("\n")
        ),
        "drop the foreign keys, then `resume`; or `abort` the migration, list the tables in the map, and plan it again",
    ))
}
