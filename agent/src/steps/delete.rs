//! Deletes rows as a part of a step.

use std::time::Duration;

use connect::Connected;
use plans::names::Direction;
use plans::table::MovingTable;
use plans::wire::TableProgress;

use super::open_capture::{drop_publication, drop_slot};
use crate::cleanup::delete_rows::{ClosedProof, RowDeletion};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::{guard, sidecar_schema};

/// Returns the deletion on `shard` of the rows that `closed` describes. The caller starts it. Each of its transactions
/// proves the epoch and `closed`.
pub(super) fn row_deletion<'a>(
    context: &'a StepContext,
    shard: &'a Shard,
    token: EpochToken,
    closed: ClosedProof<'a>,
) -> RowDeletion<'a> {
    RowDeletion {
        shard,
        token,
        map: &context.dispatch.map,
        keys: &context.dispatch.keys,
        closed,
        pause: Duration::from_millis(context.dispatch.options.drop_pause_ms.into()),
        throttle: &context.session.throttle,
        on_batch: Box::new(move |table, deleted| {
            let message = format!("deleting {} of {}", closed.rows(), table.table);
            report_deleted(context, table, message, deleted);
        }),
    }
}

fn report_deleted(context: &StepContext, table: &MovingTable, message: String, deleted: i64) {
    context.session.update(|progress| {
        progress.message = message;
        progress.tables = vec![TableProgress {
            table: table.table.to_string(),
            rows_done: deleted,
            phase: "deleting".to_owned(),
            ..TableProgress::default()
        }];
    });
}

/// Estimates the bytes of dead rows in a table's files, from its size and the number of remaining rows.
pub(super) async fn bloat_bytes(
    session: &Connected,
    table: &MovingTable,
    deleted: i64,
) -> Result<i64, StepError> {
    let shard = session.name();
    let row = session
        .query_one(
            "select (pg_catalog.pg_total_relation_size(c.oid)::numeric * $2::bigint
                     / greatest($2::bigint, c.reltuples::bigint, 1))::bigint
             from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)",
            &[&table.table.sql(), &deleted],
        )
        .await
        .at(format_args!("shard {shard}: measuring {}", table.table))?;
    Ok(row.get(0))
}

/// Returns the moved tables that still exist, also retired partitions whose moving rows the agent has not deleted yet. For a partition, the root of its tree must exist too.
pub(super) async fn existing_tables(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<MovingTable>, StepError> {
    let tables = existing_guarded_tables(context, session).await?;
    guard::tables_with_rows(session, &context.dispatch.migration, tables).await
}

/// Returns the tables of [`existing_tables`], and the retired partitions of topmost tables that exist: with all of these
/// in their order, each topmost table gets its guard.
pub(super) async fn existing_guarded_tables(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<MovingTable>, StepError> {
    let planned = context.planned_tables.iter();
    let names = planned.flat_map(|table| [&table.table, table.top()]);
    let existing = catalog::existing(session, names).await?;
    let exists = |table: &MovingTable| {
        (table.retired || existing.contains(&table.table)) && existing.contains(table.top())
    };
    let tables = context.planned_tables.iter();
    let tables = tables.filter(|table| !table.is_reference() && exists(table));
    Ok(tables.cloned().collect())
}

/// Drops the slot and the publication that a stream in this direction reads, if the shard has a row of the migration.
///
/// A step that removes rows for long drops them at its beginning, so that the shard retains no log, and again at its end:
/// on a standby that was promoted meanwhile, a synchronized slot can still exist.
pub(super) async fn drop_stream_objects(
    context: &StepContext,
    session: &Connected,
    direction: Direction,
) -> Result<(), StepError> {
    // If the row of the migration does not exist, an earlier run has already removed everything from the shard.
    if epoch::is_enrolled(session, &context.token_for_cleanup()).await? {
        drop_slot(session, context, direction).await?;
        drop_publication(session, context, direction).await?;
    }
    Ok(())
}

/// Removes the migration's guard and rows on the target, which keeps the moved rows.
pub(super) async fn clean_target(context: &StepContext, target: &Shard) -> Result<(), StepError> {
    let session = target.session("drop").await?;
    let token = context.token_for_cleanup();
    drop_stream_objects(context, &session, Direction::Reverse).await?;
    if epoch::is_enrolled(&session, &token).await? {
        guard::drop_all(&session, &token).await?;
    }
    sidecar_schema::remove_migration(&session, &token).await
}
