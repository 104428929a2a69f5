//! Describes new leaf partitions and new tables as tables of the move.

use std::collections::BTreeMap;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::shard_map::MapSettings;
use plans::table::{CopyBy, Format, MovingTable, TableKey};

use super::new_tables::{self, NewTable};
use crate::error::StepError;
use crate::inspect::survey;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::partitions::TablePartition;
use crate::steps::preflight;

/// Returns the new leaf as a table of the move. It has the shard key of the other leaves of its topmost table.
pub(super) async fn moving_partition(
    context: &StepContext,
    source: &Connected,
    found: &TablePartition,
) -> Result<MovingTable, StepError> {
    let mut planned = context.planned_tables.iter();
    let (Some(other_leaf), Some(facts)) = (
        planned.find(|table| table.top() == &found.top),
        catalog::tables(source).await?.remove(&found.table),
    ) else {
        return Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!(
                "partition {} was removed while the agent adopted it",
                found.table
            ),
        ));
    };
    let key = other_leaf.key.clone();
    let identity = facts.identity(&key);
    let is_full = facts.replica_identity == 'f';
    let is_identified = match &key {
        TableKey::Columns(columns) => {
            !identity.is_empty() && columns.iter().all(|column| identity.contains(&column.name))
        }
        TableKey::Reference | TableKey::Through(_) | TableKey::Schema(_) | TableKey::Group(_) => {
            !identity.is_empty()
        }
    };
    if facts.kind != 'r' || facts.unlogged || !(is_full || is_identified) {
        return Err(StepError::refused(
            StepCode::SchemaDrift,
            format!(
                "{}: the new partition {} cannot move: it must be an ordinary table that is logged and has a primary key with the shard key, or REPLICA IDENTITY FULL",
                found.top, found.table
            ),
            "change or remove the partition, then `resume`; or `abort` the migration",
        ));
    }
    let columns = catalog::columns(source, &found.table).await?;
    let columns: Vec<plans::table::Column> =
        columns.into_iter().map(|found| found.column).collect();
    let has_known_types = columns.iter().all(|column| {
        let mut known = other_leaf.columns.iter();
        known.any(|known| known.name == column.name && known.data_type == column.data_type)
    });
    Ok(MovingTable {
        renamed_columns: BTreeMap::new(),
        retired: false,
        table: found.table.clone(),
        partition_of: Some(found.top.clone()),
        lookup_columns: facts.lookup_columns(&key),
        identity,
        key,
        columns,
        rows: facts.rows,
        bytes: facts.bytes,
        row_order: facts.order,
        copy_by: CopyBy::Blocks,
        copy_why: "the partition was created during the migration".to_owned(),
        format: if has_known_types {
            other_leaf.format
        } else {
            Format::Text
        },
        format_why: other_leaf.format_why.clone(),
    })
}

/// Returns the leaves of new tables as tables of the move, after the checks that a plan makes.
///
/// # Errors
/// `schema.drift` with the findings, if a plan would refuse one of the tables.
pub(super) async fn of_new_tables(
    context: &StepContext,
    owner: &Connected,
    direction: Direction,
    new: &[NewTable],
) -> Result<Vec<MovingTable>, StepError> {
    let leaves = new.iter().flat_map(NewTable::bare_leaves);
    let tables: Vec<MovingTable> = leaves.collect();
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let mut task = preflight::survey_task(context, MapSettings::listing(&tables));
    if direction == Direction::Reverse {
        std::mem::swap(&mut task.source, &mut task.target);
    }
    let (mut leaves, findings) = survey::check_new_tables(owner, &task).await?;
    let refusals = preflight::refusals(&findings);
    if !refusals.is_empty() {
        let now = new_tables::find(context, owner).await?;
        if now
            .iter()
            .map(|table| &table.table)
            .ne(new.iter().map(|table| &table.table))
        {
            return Err(StepError::not_yet(
                StepCode::SchemaChanged,
                format!("shard {}: new tables changed meanwhile", owner.name()),
            ));
        }
        let remedy = match context.has_flipped() {
            true => {
                "fix each of them, or drop the foreign keys, then `resume`; or `finish` the migration"
            }
            false => {
                "fix each of them, or drop the foreign keys, then `resume`; or `abort` the migration"
            }
        };
        return Err(StepError::refused(
            StepCode::SchemaDrift,
            format!(
                "new tables refer to moving ones, but cannot move: {}",
                refusals.join("; ")
            ),
            remedy,
        ));
    }
    for leaf in &mut leaves {
        "the table was created during the migration".clone_into(&mut leaf.copy_why);
    }
    Ok(leaves)
}
