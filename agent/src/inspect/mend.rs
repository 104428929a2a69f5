//! Mends one defect that a check found, because an operator asked for it.
//!
//! Each mend looks again first: it does nothing where nothing is wrong any more, and refuses when the
//! shards are not as the check saw them.

mod copy_reference;
mod delete_stray;
mod kept_rows;

pub(crate) use kept_rows::clear;

use std::path::Path;

use connect::Connected;
use plans::fleet::ShardRef;
use plans::inspection::check::{Repair, RepairResult, RepairTask};
use plans::shard_map::Sequences;
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableName};

use super::{check, keys};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::released_keys_check;
use crate::shard::sequences::{BLOCK_BITS, STRIDE};

/// `files`: the agent's folder, for rows that are deleted.
pub(super) async fn run(task: &RepairTask, files: &Path) -> Result<RepairResult, StepError> {
    match &task.repair {
        Repair::RecreateGuard { table, .. } => recreate_guard(task, table).await,
        Repair::Restride {
            sequence,
            increment,
            past,
            ..
        } => restride(task, sequence, *increment, *past).await,
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
            "mend.kind",
            "this is not mended on a shard",
            "change the map, or decide as the advice says",
        )),
    }
}

fn shard(task: &RepairTask, index: usize) -> Result<&ShardRef, StepError> {
    task.shards.get(index).ok_or_else(|| {
        StepError::refused(
            "mend.shards",
            format!("the task names {} shard(s)", task.shards.len()),
            "ask for the mend again",
        )
    })
}

fn changed(what: impl std::fmt::Display) -> StepError {
    StepError::refused(
        "mend.changed",
        format!("{what} is not as the check saw it; nothing was changed"),
        "check the map again",
    )
}

/// The map's tables on a shard, parents before children, without their columns.
async fn tables(client: &Connected, task: &RepairTask) -> Result<Vec<MovingTable>, StepError> {
    let shard = client.name();
    let foreign_keys = catalog::foreign_keys(client).await?;
    let found = catalog::tables(client).await?;
    let (tied, untied) = keys::resolve(&task.settings, &task.key, &foreign_keys);
    if let Some(unknown) = untied.into_iter().next() {
        return Err(StepError::refused(
            "mend.untied",
            format!(
                "shard {shard}, table {}: {}",
                unknown.table, unknown.problem
            ),
            unknown.remedy,
        ));
    }
    let mut tables = Vec::with_capacity(tied.len());
    for (table, key) in tied {
        if let Some(facts) = found.get(&table) {
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
    let nothing = |why: &str| RepairResult {
        done: format!("shard {shard}, table {name}: {why}"),
        rows: 0,
    };
    let Some(keys) = released_keys_check::read_keys(&client, &task.map).await? else {
        return Ok(nothing("no keys were given away, so no guard is needed"));
    };
    let tables = tables(&client, task).await?;
    let Some(table) = tables
        .iter()
        .find(|table| &table.table == name && table.has_key())
    else {
        return Err(changed(format_args!("shard {shard}, table {name}")));
    };
    if released_keys_check::find_problems(&client, &task.map, &keys, table)
        .await?
        .is_empty()
    {
        return Ok(nothing("the guard stands"));
    }
    released_keys_check::recreate_guard(&client, &task.map, &keys, table).await?;
    Ok(nothing(&format!(
        "the guard refuses writes to {keys} again"
    )))
}

async fn restride(
    task: &RepairTask,
    sequence: &str,
    increment: i64,
    past: i64,
) -> Result<RepairResult, StepError> {
    let reference = shard(task, 0)?;
    let client = super::session_to_change(reference, "mend").await?;
    let shard = reference.name.as_str();
    let what = format!("shard {shard}: sharing out sequence {sequence}");
    let policy = task.settings.sequences;
    let number = i64::from(reference.number);
    let seen = check::sequence(&client, sequence).await?;
    let step = match policy {
        Sequences::Stride => STRIDE * seen.increment.signum(),
        Sequences::Block | Sequences::Keep => seen.increment,
    };
    if seen.increment != increment && seen.increment != step {
        return Err(changed(&what));
    }
    let literal = quote_literal(sequence);
    // ALTER SEQUENCE keeps everybody else from the next value until the commit.
    client
        .batch_execute(&format!(
            "begin; set local lock_timeout = '5s'; alter sequence {sequence} increment by {step}"
        ))
        .await
        .at(&what)?;
    let now = check::sequence(&client, sequence).await?;
    let last = match policy {
        Sequences::Stride => stride(now.last, past, step, number),
        Sequences::Block => block(now.last, number),
        Sequences::Keep => Some(now.last),
    };
    let Some(last) = last.filter(|last| (now.min..=now.max).contains(last)) else {
        let _ = client.batch_execute("rollback").await;
        return Err(StepError::refused(
            "mend.sequence",
            format!("{what}: it has no value of the shard's own left"),
            "give the sequence a larger type, then check again",
        ));
    };
    client
        .batch_execute(&format!(
            "select pg_catalog.setval({literal}::pg_catalog.regclass, {last}); commit"
        ))
        .await
        .at(&what)?;
    Ok(RepairResult {
        done: format!("shard {shard}: sequence {sequence} goes on after {last} by {step}"),
        rows: 0,
    })
}

/// The first value of the shard's remainder at or beyond what was issued anywhere.
fn stride(last: i64, past: i64, step: i64, number: i64) -> Option<i64> {
    let apart = |value: i64| number.rem_euclid(STRIDE) - value.rem_euclid(STRIDE);
    if step > 0 {
        let value = last.max(past);
        value.checked_add(apart(value).rem_euclid(STRIDE))
    } else {
        let value = last.min(past);
        value.checked_sub((-apart(value)).rem_euclid(STRIDE))
    }
}

fn block(last: i64, number: i64) -> Option<i64> {
    let first = number.checked_shl(BLOCK_BITS)?;
    Some(if last >> BLOCK_BITS == number {
        last
    } else {
        first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_value_lies_beyond_what_was_issued_and_is_the_shards_own() {
        assert_eq!(stride(10, 200, 64, 3), Some(259));
        assert_eq!(stride(259, 200, 64, 3), Some(259));
        assert_eq!(stride(-10, -200, -64, 3), Some(-253));
    }
}
