//! Drops the old copy: the map is final (I8), both streams are stopped, their slots and publications gone.
//!
//! Tables that hold nothing but moved rows are truncated, or dropped where the plan says so, in one
//! transaction; rows of the others are deleted in paced batches. Then the move's guard hands its keys over
//! to the guard of keys that were given away, which stays for good, and everything else of ours goes.

use connect::Connected;
use plans::names::Direction;
use plans::step::drop_old::Dropped;
use plans::table::{MovingTable, one_of_each_top};
use tokio_postgres::error::SqlState;

use super::create_target::away;
use super::delete::deletion;
use super::dual_write;
use super::open_capture::{drop_slot, unpublish};
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
    dual_write::take_out(context, OwnershipProof::Owner).await?;
    let (source, target) = (context.source()?, context.target()?);
    for (shard, direction) in [(&target, Direction::Reverse), (&source, Direction::Forward)] {
        let session = shard.session("drop").await?;
        // A run whose report was lost has left the shard already: nothing of ours is there any more.
        if epoch::is_enrolled(&session, &context.token_for_cleanup()).await? {
            drop_slot(&session, context, direction).await?;
            unpublish(&session, context, direction).await?;
        }
    }
    let session = source.session("drop").await?;
    let mut dropped = Dropped::default();
    if epoch::is_enrolled(&session, &context.token_for_cleanup()).await? {
        // Without the register an earlier run has removed the rows and handed the keys over.
        let migration = &context.dispatch.migration;
        if register::exists(&session, migration).await? {
            context.wait_until_open().await;
            dropped = remove(context, &session, &source).await?;
        }
        context.report_message("removing what the migration created");
        clean_source(context, &session, &source).await?;
    }
    clean_target(context, &target).await?;
    Ok(dropped)
}

/// Removes the moved rows, the quick way where nothing else is in the tables.
async fn remove(
    context: &StepContext,
    session: &Connected,
    source: &Shard,
) -> Result<Dropped, StepError> {
    let token = context.token_after_flip();
    let closed = ClosedProof::Notified(token.until.0);
    let deletion = deletion(context, source, token, closed);
    let tables = still_there(context, session).await?;
    if tables.is_empty() {
        return Ok(Dropped::default());
    }
    if !context.dispatch.source_keeps_keys
        && let Some(dropped) = empty_whole(context, &deletion, session, &tables).await?
    {
        return Ok(dropped);
    }
    let mut dropped = Dropped::default();
    for table in tables.iter().rev() {
        context.wait_until_open().await;
        let rows = deletion.delete_rows_of(table).await?;
        dropped.rows += rows;
        if rows > 0 {
            let bytes = bloat(session, table, rows).await?;
            dropped.bytes_bloat += bytes;
            dropped
                .reclaim
                .push(format!("vacuum (full, analyze) {}", table.table.sql()));
        }
    }
    Ok(dropped)
}

/// Truncates or drops tables that hold nothing but moved rows; `None` when somebody uses them, or when they
/// hold other rows, those of a partition that came later among them: nobody has copied these.
async fn empty_whole(
    context: &StepContext,
    deletion: &RowDeletion<'_>,
    session: &Connected,
    tables: &[MovingTable],
) -> Result<Option<Dropped>, StepError> {
    let shard = deletion.shard.name.as_str();
    let what = format!("shard {shard}: emptying the moved tables");
    let Some(counts) = counted(context, deletion, session, tables).await? else {
        return Ok(None);
    };
    // A partitioned table as a whole, with partitions that have come since.
    let whole = one_of_each_top(tables);
    let names: Vec<String> = whole.iter().map(|table| table.top().sql()).collect();
    let names = names.join(", ");
    let verb = if context.dispatch.drop_tables {
        "drop table"
    } else {
        "truncate"
    };
    let others: Vec<String> = whole
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
        others.join(" or ")
    );
    deletion.begin_closed(session).await?;
    fail_point::hit("drop_old.batch_deleted").await?;
    let mut emptied = session.batch_execute(&lock).await;
    if emptied.is_ok() {
        // With partitions that have come since.
        let whole: Vec<MovingTable> = whole.into_iter().map(at_top).collect();
        user_code::check(session, &whole).await?;
        emptied = session.batch_execute(&sql).await;
    }
    match emptied {
        Ok(()) => Ok(Some(Dropped {
            rows: counts.iter().map(|(rows, _)| rows).sum(),
            bytes_freed: counts.iter().map(|(_, bytes)| bytes).sum(),
            ..Dropped::default()
        })),
        Err(error) if in_the_way(&error) => {
            epoch::rollback(session).await;
            Ok(None)
        }
        Err(error) => Err(error).at(&what),
    }
}

/// Moved rows of each table, and its bytes; `None` when one holds other rows.
async fn counted(
    context: &StepContext,
    deletion: &RowDeletion<'_>,
    session: &Connected,
    tables: &[MovingTable],
) -> Result<Option<Vec<(i64, i64)>>, StepError> {
    let prover = context.session.code_prover(deletion.shard).await?;
    prover.begin(session, tables).await?;
    let mut counts = Vec::new();
    for table in tables {
        // Counted before the lock is taken, and looked at once more behind it.
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

/// The partitioned table as a whole.
fn at_top(table: &MovingTable) -> MovingTable {
    MovingTable {
        table: table.top().clone(),
        ..table.clone()
    }
}

/// Somebody uses a table, refers to it, or has written to it: rows are deleted one by one instead.
fn in_the_way(error: &tokio_postgres::Error) -> bool {
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

/// Bytes that `deleted` rows leave in a table's files, from its size and the rows that are left.
async fn bloat(session: &Connected, table: &MovingTable, deleted: i64) -> Result<i64, StepError> {
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

/// The moved tables that nobody has dropped since the flip; a leaf goes with its table.
async fn still_there(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<MovingTable>, StepError> {
    let there = catalog::tables(session).await?;
    let mut tables = context.keyed_tables();
    tables.retain(|table| there.contains_key(&table.table) && there.contains_key(table.top()));
    Ok(tables)
}

async fn clean_source(
    context: &StepContext,
    session: &Connected,
    source: &Shard,
) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    let tables = still_there(context, session).await?;
    let version = context.dispatch.map_version.next().0;
    away(context, &token, &tables, &source.name)
        .release(session, version)
        .await?;
    guard::drop_all(session, &token).await?;
    fail_point::hit("drop_old.handed_over").await?;
    sidecar_schema::remove_migration(session, &token).await
}

async fn clean_target(context: &StepContext, target: &Shard) -> Result<(), StepError> {
    let session = target.session("drop").await?;
    let token = context.token_for_cleanup();
    if epoch::is_enrolled(&session, &token).await? {
        guard::drop_all(&session, &token).await?;
    }
    sidecar_schema::remove_migration(&session, &token).await
}
