//! Deletes the surplus rows of a seeded target, and then the objects of the migration there.
//!
//! A standby had all rows of the source, so the target has rows whose keys other shards own. Order:
//!
//! - `drop_old` is done, so the move can neither be aborted nor rolled back.
//! - The guard of released keys has refused writes to these keys since `promote`. The step checks it first.
//! - The agent deletes the rows in throttled batches, children before parents. Reference tables stay.
//! - The agent removes the migration's guard and rows on the target. The guard of released keys stays.
//!
//! After an interruption the step begins again, and finds the rows that are left.

use connect::Connected;
use plans::failure::StepCode;
use plans::step::StepKind;
use plans::step::drop_surplus::SurplusDropped;
use plans::table::{MovingTable, one_of_each_top};

use super::delete::{bloat_bytes, clean_target, existing_tables, row_deletion};
use crate::cleanup::delete_rows::ClosedProof;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::{epoch, register, released_keys_check};

pub(crate) async fn run(context: &StepContext) -> Result<SurplusDropped, StepError> {
    check_drop_old_is_done(context)?;
    fail_point::hit("drop_surplus.started").await?;
    let target = context.target()?;
    let session = target.session("drop").await?;
    let mut dropped = SurplusDropped::default();
    // If the row of the migration or its register does not exist, an earlier run has deleted the surplus rows.
    if epoch::is_enrolled(&session, &context.token_for_cleanup()).await?
        && register::exists(&session, &context.dispatch.migration).await?
    {
        context.wait_for_permitted_hours().await;
        dropped = delete_surplus(context, &session, &target).await?;
    }
    context.report_message("removing what the migration created");
    clean_target(context, &target).await?;
    Ok(dropped)
}

/// Checks that `drop_old` is done: then the ownership is COMPLETED, and no stream needs the objects of the migration on
/// the target any more (I8).
fn check_drop_old_is_done(context: &StepContext) -> Result<(), StepError> {
    if context.is_done(StepKind::DropOld) {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::StepInput,
        format!(
            "shard {}: the step drop_old is not done; nothing is deleted",
            context.dispatch.target.name
        ),
        "report this: the controller dispatched drop_surplus too early",
    ))
}

/// Deletes the surplus rows of every table.
async fn delete_surplus(
    context: &StepContext,
    session: &Connected,
    target: &Shard,
) -> Result<SurplusDropped, StepError> {
    let tables = existing_tables(context, session).await?;
    check_guard(context, session, &tables).await?;
    let token = context.token_after_flip();
    let closed = ClosedProof::Surplus(token.until);
    let deletion = row_deletion(context, target, token, closed);
    let mut dropped = SurplusDropped::default();
    for table in tables.iter().rev() {
        context.wait_for_permitted_hours().await;
        let rows = deletion.delete_rows_of(table).await?;
        dropped.rows += rows;
        if rows > 0 {
            dropped.bytes_bloat += bloat_bytes(session, table, rows).await?;
            dropped
                .reclaim
                .push(format!("vacuum (full, analyze) {}", table.table.sql()));
        }
    }
    Ok(dropped)
}

/// Checks that the guard of released keys exists on every table, in its expected form.
async fn check_guard(
    context: &StepContext,
    session: &Connected,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let map = &context.dispatch.map;
    // Each batch refuses to delete without this record.
    let Some(released) = released_keys_check::read_keys(session, map).await? else {
        return Ok(());
    };
    for table in one_of_each_top(tables) {
        let top = MovingTable {
            table: table.top().clone(),
            partition_of: None,
            ..table.clone()
        };
        let problems = released_keys_check::find_problems(session, map, &released, &top).await?;
        if !problems.is_empty() {
            return Err(StepError::refused(
                StepCode::DropOpen,
                format!(
                    "shard {}: the guard of released keys on {} is not as expected: {}; nothing is deleted",
                    session.name(),
                    top.table,
                    problems.join(", ")
                ),
                "repair the guard with `shardwright map check` and `shardwright map repair`, then `resume`",
            ));
        }
    }
    Ok(())
}
