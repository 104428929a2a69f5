//! Removes the moved rows on the source. Before, the ownership must be COMPLETED (I8), and this step removes both
//! streams with their slots and publications.
//!
//! If tables contain only moved rows, the agent truncates them in one transaction, or drops them if the plan requests
//! it. From other tables it deletes the rows in throttled batches. Then it transfers the keys from the migration's
//! guard to the guard of released keys, which is permanent, and removes all other objects of the migration.

use connect::Connected;
use plans::names::Direction;
use plans::request::Seed;
use plans::step::drop_old::Dropped;
use plans::table::{MovingTable, one_of_each_top};
use tokio_postgres::error::SqlState;

use super::create_target::released_keys;
use super::delete::{
    bloat_bytes, clean_target, drop_stream_objects, existing_guarded_tables, existing_tables,
    row_deletion,
};
use super::dual_write;
use crate::cleanup::delete_rows::{ClosedProof, RowDeletion};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::database::Shard;
use crate::shard::dual_write::OwnershipProof;
use crate::shard::user_code;
use crate::shard::{epoch, guard, register, sidecar_schema};

pub(crate) async fn run(context: &StepContext) -> Result<Dropped, StepError> {
    context.report_message("stopping the streams");
    context.session.stop_stream().await;
    context.spool().remove().await?;
    dual_write::remove_standby_names(context, OwnershipProof::Owner).await?;
    let (source, target) = (context.registered_source()?, context.target()?);
    for (shard, direction) in [(&target, Direction::Reverse), (&source, Direction::Forward)] {
        let session = shard.session("drop").await?;
        drop_stream_objects(context, &session, direction).await?;
    }
    let session = source.session("drop").await?;
    let mut dropped = Dropped::default();
    if epoch::is_enrolled(&session, &context.token_for_cleanup()).await? {
        // If the register does not exist, an earlier run has removed the rows and released the keys.
        let migration = &context.dispatch.migration;
        if register::exists(&session, migration).await? {
            context.wait_for_permitted_hours().await;
            // A target that was restored, or a standby that lagged, can lack the rows.
            let owner = target.session("drop").await?;
            register::require_owner(&owner, &context.token_for_cleanup(), Direction::Reverse)
                .await?;
            dropped = remove_rows(context, &session, &source).await?;
        }
        context.report_message("removing what the migration created");
        clean_source(context, &session, &source).await?;
    }
    // The target of a seeded move needs its guard and its row until `drop_surplus` has deleted the surplus rows.
    if context.dispatch.options.seed == Seed::Copy {
        clean_target(context, &target).await?;
    }
    Ok(dropped)
}

/// Removes the moved rows. If the tables contain no other rows, truncates or drops the tables.
async fn remove_rows(
    context: &StepContext,
    session: &Connected,
    source: &Shard,
) -> Result<Dropped, StepError> {
    let token = context.token_after_flip();
    let closed = ClosedProof::Notified(token.until);
    let deletion = row_deletion(context, source, token, closed);
    let tables = existing_tables(context, session).await?;
    if tables.is_empty() {
        return Ok(Dropped::default());
    }
    // A table that has a key as a whole has no rows of other keys.
    let has_only_moved_rows = tables.iter().all(|table| table.whole_key().is_some());
    if (has_only_moved_rows || !context.dispatch.source_keeps_keys)
        && let Some(dropped) = try_to_empty_tables(context, &deletion, session, &tables).await?
    {
        return Ok(dropped);
    }
    let mut dropped = Dropped::default();
    for table in tables.iter().rev() {
        context.wait_for_permitted_hours().await;
        let rows = deletion.delete_rows_of(table).await?;
        dropped.rows += rows;
        if rows > 0 {
            let bytes = bloat_bytes(session, table, rows).await?;
            dropped.bytes_bloat += bytes;
            dropped
                .reclaim
                .push(format!("vacuum (full, analyze) {}", table.table.sql()));
        }
    }
    Ok(dropped)
}

/// Truncates or drops tables that contain only moved rows. Returns `None` if another session uses the tables, or if
/// they contain other rows, for example in a partition that was created later.
async fn try_to_empty_tables(
    context: &StepContext,
    deletion: &RowDeletion<'_>,
    session: &Connected,
    tables: &[MovingTable],
) -> Result<Option<Dropped>, StepError> {
    let shard = deletion.shard.name.as_str();
    let what = format!("shard {shard}: emptying the moved tables");
    let Some(counts) = count_rows(context, deletion, session, tables).await? else {
        return Ok(None);
    };
    // The lock includes the whole partition tree, also partitions that were created later.
    let top_tables = one_of_each_top(tables);
    let names: Vec<String> = top_tables.iter().map(|table| table.top().sql()).collect();
    let names = names.join(", ");
    let verb = if context.dispatch.drop_tables {
        "drop table"
    } else {
        "truncate"
    };
    let has_other_rows: Vec<String> = top_tables
        .iter()
        .map(|table| {
            format!(
                "exists (select from {} t where not {} or {})",
                table.top().sql(),
                table.predicate(deletion.keys, "t"),
                catalog::in_none(tables),
            )
        })
        .collect();
    let lock = format!(
        "set local lock_timeout = '200ms'; set local statement_timeout = '2s';
         lock table {names} in access exclusive mode"
    );
    let sql = format!(
        "do $check$ begin
           if {} then raise exception using errcode = 'object_in_use', message = 'other rows have come'; end if;
         end $check$;
         {verb} {names}; commit",
        has_other_rows.join(" or ")
    );
    deletion.begin_closed(session).await?;
    fail_point::hit("drop_old.batch_deleted").await?;
    let mut emptied = session.batch_execute(&lock).await;
    if emptied.is_ok() {
        // The root of the tree includes partitions that were created later.
        let top_tables: Vec<MovingTable> = top_tables.into_iter().map(with_top_table).collect();
        user_code::check(session, &top_tables).await?;
        emptied = session.batch_execute(&sql).await;
    }
    match emptied {
        Ok(()) => Ok(Some(Dropped {
            rows: counts.iter().map(|(rows, _)| rows).sum(),
            bytes_freed: counts.iter().map(|(_, bytes)| bytes).sum(),
            ..Dropped::default()
        })),
        Err(error) if requires_deletion_in_batches(&error) => {
            epoch::rollback(session).await;
            Ok(None)
        }
        Err(error) => Err(error).at(&what),
    }
}

/// Returns the number of moved rows and the bytes of each table, or `None` if a table contains other rows.
async fn count_rows(
    context: &StepContext,
    deletion: &RowDeletion<'_>,
    session: &Connected,
    tables: &[MovingTable],
) -> Result<Option<Vec<(i64, i64)>>, StepError> {
    let prover = context.session.code_prover(deletion.shard).await?;
    prover.begin(session, tables).await?;
    let mut counts = Vec::new();
    for table in tables {
        // Other sessions can add rows during this count. The transaction that locks the tables checks again for other
        // rows.
        let sql = format!(
            "select count(*) filter (where {predicate}), count(*) filter (where not {predicate}),
                    pg_catalog.pg_total_relation_size(pg_catalog.to_regclass($1))
             from only {}",
            table.table.sql(),
            predicate = deletion.predicate(table)
        );
        let row = session
            .query_one(&sql, &[&table.table.sql()])
            .await
            .at(deletion.what(table))?;
        let (moved, others, bytes): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        if others > 0 {
            epoch::rollback(session).await;
            return Ok(None);
        }
        counts.push((moved, bytes));
    }
    epoch::rollback(session).await;
    Ok(Some(counts))
}

/// Returns the table under the name of the root of its partition tree.
fn with_top_table(table: &MovingTable) -> MovingTable {
    MovingTable {
        table: table.top().clone(),
        ..table.clone()
    }
}

/// Returns whether the error shows that another session uses a table, that another object refers to it, or that it has
/// other rows. The agent then deletes the rows in batches.
fn requires_deletion_in_batches(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::QUERY_CANCELED,
            SqlState::OBJECT_IN_USE,
            SqlState::FEATURE_NOT_SUPPORTED,
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .contains(code)
    })
}

/// Transfers the keys to the guard of released keys, and removes the migration's guard and rows on the source.
async fn clean_source(
    context: &StepContext,
    session: &Connected,
    source: &Shard,
) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    let tables = existing_guarded_tables(context, session).await?;
    let version = context.dispatch.map_version.next();
    released_keys(context, &token, &tables, &source.name)
        .release(session, version)
        .await?;
    guard::drop_all(session, &token).await?;
    fail_point::hit("drop_old.handed_over").await?;
    drop_stream_objects(context, session, Direction::Forward).await?;
    sidecar_schema::remove_migration(session, &token).await
}
