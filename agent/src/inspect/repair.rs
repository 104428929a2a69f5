//! Repairs one defect that a map check found, at the request of an operator.
//!
//! Each repair first checks the defect again. It changes nothing if the defect no longer exists, and fails if the
//! shards differ from what the check found.

mod copy_reference;
mod delete_stray;
mod kept_rows;

pub(crate) use kept_rows::delete_expired;

use std::path::Path;

use connect::Connected;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::inspection::check::{Repair, RepairResult, RepairTask};
use plans::key_set::KeySet;
use plans::shard_map::Sequences;
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableName};

use super::{check, keys};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::released_keys_check;
use crate::shard::sequences::{BLOCK_BITS, STRIDE};

/// Repairs the defect. `files` is the agent's folder, in which a repair keeps the rows that it deletes.
pub(super) async fn run(task: &RepairTask, files: &Path) -> Result<RepairResult, StepError> {
    match &task.repair {
        Repair::RecreateGuard { table, .. } => recreate_guard(task, table).await,
        Repair::Restride {
            sequence,
            increment,
            past,
            ..
        } => repair_sequence(task, sequence, *increment, *past).await,
        Repair::CopyReference {
            table,
            from_digest,
            to_digest,
            ..
        } => {
            let (to, from) = (shard(task, 0)?, shard(task, 1)?);
            copy_reference::run(from, from_digest, to, to_digest, table).await
        }
        Repair::DeleteStray { keys, .. } => {
            delete_stray::run(task, shard(task, 0)?, shard(task, 1)?, keys, files).await
        }
        Repair::MapKeys { .. } | Repair::ByHand { .. } => Err(StepError::refused(
            StepCode::RepairKind,
            "an agent cannot repair this defect on a shard",
            "change the map, or follow the advice of the map check",
        )),
    }
}

fn shard(task: &RepairTask, index: usize) -> Result<&ShardRef, StepError> {
    task.shards.get(index).ok_or_else(|| {
        StepError::refused(
            StepCode::RepairShards,
            format!("the task names {} shard(s)", task.shards.len()),
            "request the repair again",
        )
    })
}

/// Returns the error for a subject that has changed since the check, so that nothing was repaired.
fn changed_since_check(subject: impl std::fmt::Display) -> StepError {
    StepError::listed(
        StepCode::RepairChanged,
        format!("{subject} has changed since the check; nothing was changed by the repair"),
    )
}

/// Returns the map's tables on a shard, parents before children, without their columns. Of tables that have a key as a
/// whole, only those with one of `keys`.
async fn read_sharded_tables(
    client: &Connected,
    task: &RepairTask,
    keys: &KeySet,
) -> Result<Vec<MovingTable>, StepError> {
    let shard = client.name();
    let foreign_keys = catalog::foreign_keys(client).await?;
    let existing = catalog::tables(client).await?;
    let tables_of_map = keys::TablesOfMap {
        settings: &task.settings,
        types: &task.key,
        existing: &existing,
        keys,
    };
    let (keyed, unkeyed) = keys::resolve(tables_of_map, &foreign_keys);
    if let Some(unkeyed_table) = unkeyed.into_iter().next() {
        return Err(StepError::refused(
            StepCode::RepairUntied,
            format!(
                "shard {shard}, table {}: {}",
                unkeyed_table.table, unkeyed_table.problem
            ),
            unkeyed_table.remedy,
        ));
    }
    let mut tables = Vec::with_capacity(keyed.len());
    for (table, key) in keyed {
        if let Some(facts) = existing.get(&table) {
            tables.push(MovingTable {
                identity: facts.identity(&key),
                lookup_columns: facts.lookup_columns(&key),
                ..MovingTable::bare(table, key)
            });
        }
    }
    catalog::parents_first(&mut tables, &foreign_keys);
    Ok(tables)
}

async fn recreate_guard(task: &RepairTask, name: &TableName) -> Result<RepairResult, StepError> {
    let reference = shard(task, 0)?;
    let client = super::session_to_change(reference, "mend").await?;
    let shard = reference.name.as_str();
    let report = |why: &str| RepairResult {
        done: format!("shard {shard}, table {name}: {why}"),
        rows: 0,
    };
    let Some(keys) = released_keys_check::read_keys(&client, &task.map).await? else {
        return Ok(report("no keys were released, so no guard is needed"));
    };
    let tables = read_sharded_tables(&client, task, &keys).await?;
    let Some(table) = tables
        .iter()
        .find(|table| &table.table == name && table.may_have_rows_of(&keys))
    else {
        return Err(changed_since_check(format_args!(
            "shard {shard}, table {name}"
        )));
    };
    if released_keys_check::find_problems(&client, &task.map, &keys, table)
        .await?
        .is_empty()
    {
        return Ok(report("the guard is already complete"));
    }
    released_keys_check::recreate_guard(&client, &task.map, &keys, table).await?;
    Ok(report(&format!("the guard refuses writes to {keys} again")))
}

async fn repair_sequence(
    task: &RepairTask,
    sequence: &str,
    increment: i64,
    past: i64,
) -> Result<RepairResult, StepError> {
    let reference = shard(task, 0)?;
    let client = super::session_to_change(reference, "mend").await?;
    let shard = reference.name.as_str();
    let action = format!("shard {shard}: setting sequence {sequence} to values of this shard only");
    let policy = task.settings.sequences;
    let shard_number = i64::from(reference.number);
    let observed = check::read_sequence(&client, sequence).await?;
    let step = match policy {
        Sequences::Stride => STRIDE * observed.increment.signum(),
        Sequences::Block | Sequences::Keep => observed.increment,
    };
    if observed.increment != increment && observed.increment != step {
        return Err(changed_since_check(&action));
    }
    let literal = quote_literal(sequence);
    // After ALTER SEQUENCE no other session can take a value until the commit.
    client
        .batch_execute(&format!(
            "begin; set local lock_timeout = '5s'; alter sequence {sequence} increment by {step}"
        ))
        .await
        .at(&action)?;
    let current = check::read_sequence(&client, sequence).await?;
    let last = match policy {
        Sequences::Stride => next_strided_value(current.last, past, step, shard_number),
        Sequences::Block => next_block_value(current.last, shard_number),
        Sequences::Keep => Some(current.last),
    };
    let Some(last) = last.filter(|last| (current.min..=current.max).contains(last)) else {
        let _ = client.batch_execute("rollback").await;
        return Err(StepError::refused(
            StepCode::RepairSequence,
            format!("{action}: no value of this shard is left in the sequence"),
            "give the sequence a larger type, then check again",
        ));
    };
    client
        .batch_execute(&format!(
            "select pg_catalog.setval({literal}::pg_catalog.regclass, {last}); commit"
        ))
        .await
        .at(&action)?;
    Ok(RepairResult {
        done: format!(
            "shard {shard}: sequence {sequence} continues after {last} with increment {step}"
        ),
        rows: 0,
    })
}

/// Returns the first value that has the remainder of this shard modulo the stride and is not before any value that a
/// shard has issued.
fn next_strided_value(last: i64, past: i64, step: i64, shard_number: i64) -> Option<i64> {
    let remainder_distance =
        |value: i64| shard_number.rem_euclid(STRIDE) - value.rem_euclid(STRIDE);
    if step > 0 {
        let value = last.max(past);
        value.checked_add(remainder_distance(value).rem_euclid(STRIDE))
    } else {
        let value = last.min(past);
        value.checked_sub((-remainder_distance(value)).rem_euclid(STRIDE))
    }
}

fn next_block_value(last: i64, shard_number: i64) -> Option<i64> {
    let first = shard_number.checked_shl(BLOCK_BITS)?;
    Some(if last >> BLOCK_BITS == shard_number {
        last
    } else {
        first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_value_is_not_before_issued_values_and_has_the_remainder_of_the_shard() {
        assert_eq!(next_strided_value(10, 200, 64, 3), Some(259));
        assert_eq!(next_strided_value(259, 200, 64, 3), Some(259));
        assert_eq!(next_strided_value(-10, -200, -64, 3), Some(-253));
    }
}
