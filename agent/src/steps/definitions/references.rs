//! Foreign keys that tables outside of the move have got since the plan. A plan refuses them: the rows that they refer to
//! would leave the shard, and the agent's deletion of these rows fires no foreign key.

use std::collections::BTreeSet;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::TableName;

use super::adoption::new_tables;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, ForeignKey};
use crate::shard::partitions::TablePartition;

/// Checks before the flip that no table outside of the move refers to a moving table. `partitions`: those of the moving
/// tables on the source. `adopts_new`: whether the step adopts new tables.
///
/// # Errors
/// `schema.drift` with the foreign keys.
pub(super) async fn check(
    context: &StepContext,
    source: &Connected,
    partitions: &[TablePartition],
    adopts_new: bool,
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
    let mut outside: Vec<&ForeignKey> = foreign_keys.iter().filter(from_outside).collect();
    if context.follows_definitions() && !outside.is_empty() {
        let new = new_tables::find(context, source).await?;
        let is_new = |key: &&ForeignKey, has_leaf| {
            let mut new = new.iter();
            new.any(|new| new.table == key.from && new.has_leaf() == has_leaf)
        };
        // A partitioned table without partitions has no rows.
        outside.retain(|key| !is_new(key, false));
        if adopts_new && outside.iter().any(|key| is_new(key, true)) {
            return Err(StepError::not_yet(
                StepCode::SchemaChanged,
                format!("shard {}: a table was created meanwhile", source.name()),
            ));
        }
    }
    let lines: Vec<String> = outside
        .iter()
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
        "drop the foreign keys, then `resume`; or `abort` the migration, list the tables in the map, and plan it again. \
         With `ddl: follow`, the migration moves a new table if each of its foreign keys refers to a moving table by the shard key, or to a reference table",
    ))
}
