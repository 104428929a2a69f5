//! Foreign keys that tables outside of the move have got since the plan, and tables that were created in moving schemas. A
//! plan refuses such foreign keys: the rows that they refer to would leave the shard, and the agent's deletion of these
//! rows fires no foreign key.

use std::collections::BTreeSet;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::TableName;

use super::adoption::new_tables;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, ForeignKey};
use crate::shard::partitions::{self, TablePartition};

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
    let References {
        outside,
        new,
        unplanned,
    } = read(context, source, partitions).await?;
    let is_new = |table: &TableName| new.contains(table);
    if adopts_new && (outside.iter().any(|key| is_new(&key.from)) || unplanned.iter().any(is_new)) {
        return Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!("shard {}: a table was created meanwhile", source.name()),
        ));
    }
    if !unplanned.is_empty() {
        return Err(unplanned_error(source.name(), &unplanned));
    }
    if outside.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = outside.iter().map(line).collect();
    Err(StepError::refused(
        StepCode::SchemaDrift,
        format!(
            "shard {}: since the plan, tables that do not move have got foreign keys to moving tables, whose rows would leave the shard:\n{}",
            source.name(),
            lines.join("\n")
        ),
        "drop the foreign keys, then `resume`; or `abort` the migration, list the tables in the map, and plan it again. \
         With `ddl: follow`, the migration moves a new table if each of its foreign keys refers to a moving or new table by the shard key, or to a reference table without a cascade",
    ))
}

/// Checks before a rollback that the owner has no table in a moving schema that the source lacks.
///
/// # Errors
/// `schema.drift` with the tables.
pub(super) async fn check_before_rollback(
    context: &StepContext,
    owner: &Connected,
) -> Result<(), StepError> {
    let unplanned = new_tables::unplanned_tables(context, owner).await?;
    if unplanned.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unplanned.iter().map(ToString::to_string).collect();
    Err(StepError::refused(
        StepCode::SchemaDrift,
        format!(
            "shard {}: since the flip, tables were created in moving schemas, whose rows a rollback would leave there:\n{}",
            owner.name(),
            names.join("\n")
        ),
        "drop the tables, then `resume`; or `finish` the migration. With `ddl: follow`, an online migration moves such tables too",
    ))
}

fn unplanned_error(shard: &str, tables: &[TableName]) -> StepError {
    let names: Vec<String> = tables.iter().map(ToString::to_string).collect();
    StepError::refused(
        StepCode::SchemaDrift,
        format!(
            "shard {shard}: since the plan, tables were created in moving schemas, or detached from tables there, and their rows would stay:\n{}",
            names.join("\n")
        ),
        "drop the tables, then `resume`; or `abort` the migration and plan it again. \
         With `ddl: follow`, an online migration moves a new table if its foreign keys refer to tables of the move, or to reference tables without a cascade",
    )
}

/// Checks in an attempt of a cutover that no table with a foreign key to a moving one, and no table in a moving schema, was
/// created since the gate. Its rows would stay on the old owner.
///
/// # Errors
/// `schema.changed` with the foreign key or the table.
pub(crate) async fn refuse_new(
    context: &StepContext,
    old_owner: &Connected,
) -> Result<(), StepError> {
    let tops = partitions::topmost_tables(context.dispatch.tables.iter());
    let found = partitions::read(old_owner, &tops).await?;
    let References {
        outside,
        new,
        unplanned,
    } = read(context, old_owner, &found).await?;
    refuse_first(old_owner, &unplanned)?;
    // After the flip the others halt nothing.
    let mut refused = outside.iter();
    let refused = refused.find(|key| !context.has_flipped() || new.contains(&key.from));
    match refused {
        None => Ok(()),
        Some(key) => Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!("shard {}: since the gate, {}", old_owner.name(), line(key)),
        )),
    }
}

/// Checks in an attempt of a cutover that no table was created in a moving schema. Such a table changes no catalog row of the
/// moving tables.
///
/// # Errors
/// `schema.changed` with the table.
pub(crate) async fn refuse_new_in_schemas(
    context: &StepContext,
    old_owner: &Connected,
) -> Result<(), StepError> {
    let unplanned = new_tables::unplanned_tables(context, old_owner).await?;
    refuse_first(old_owner, &unplanned)
}

fn refuse_first(old_owner: &Connected, unplanned: &[TableName]) -> Result<(), StepError> {
    match unplanned.first() {
        None => Ok(()),
        Some(table) => Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!(
                "shard {}: since the gate, table {table} was created in a moving schema",
                old_owner.name()
            ),
        )),
    }
}

/// The foreign keys to moving tables.
struct References {
    /// Those of tables that do not move.
    outside: Vec<ForeignKey>,
    /// The new tables that a migration which follows changes can adopt.
    new: Vec<TableName>,
    /// The tables in moving schemas that the plan lacks, without partitioned tables that cannot have rows yet.
    unplanned: Vec<TableName>,
}

async fn read(
    context: &StepContext,
    owner: &Connected,
    partitions: &[TablePartition],
) -> Result<References, StepError> {
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
    let names: Vec<&TableName> = moving.iter().copied().collect();
    let mut outside = catalog::foreign_keys_of(owner, &names).await?;
    outside.retain(|key| moving.contains(&key.to) && !moving.contains(&key.from));
    let mut unplanned = new_tables::unplanned_tables(context, owner).await?;
    outside.retain(|key| !unplanned.contains(&key.from));
    let mut new = Vec::new();
    if context.follows_definitions() && !(outside.is_empty() && unplanned.is_empty()) {
        let found = new_tables::find(context, owner).await?;
        // A partitioned table without partitions has no rows.
        let (adoptable, empty): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|table| table.has_leaf());
        outside.retain(|key| empty.iter().all(|table| table.table != key.from));
        unplanned.retain(|name| empty.iter().all(|table| &table.table != name));
        new = adoptable.into_iter().map(|table| table.table).collect();
    }
    Ok(References {
        outside,
        new,
        unplanned,
    })
}

fn line(key: &ForeignKey) -> String {
    format!(
        "table {} refers to {} by foreign key {}",
        key.from, key.to, key.name
    )
}
