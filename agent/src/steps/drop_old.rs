//! Drops the old copy: the map is final (I8), both streams are stopped, their slots and publications gone.
//!
//! Rows are deleted in batches of blocks, children before parents; each batch proves the epoch and
//! reads the register again. The guard stays for good, so that a client with an old map can never
//! write here; the TRUNCATE guard does not.

use plans::names::Direction;
use plans::step::drop_old::Dropped;
use plans::table::{MovingTable, quote_ident, quote_literal};
use plans::wire::TableProgress;
use tokio_postgres::Client;

use super::open_capture::{drop_slot, unpublish};
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::copy_stream::BlockRange;
use crate::pg::shard::Shard;
use crate::pg::{epoch, guard, home, register};

/// Blocks of one batch: 16 MiB of heap.
const BATCH_BLOCKS: i64 = 2048;

pub(super) async fn run(context: &Context) -> Result<Dropped, StepError> {
    context.say("stopping the streams");
    context.owned.stop_stream().await;
    let (source, target) = (context.source()?, context.target()?);
    for (shard, direction) in [(&target, Direction::Reverse), (&source, Direction::Forward)] {
        let session = shard.session("drop").await?;
        // A run whose report was lost has left the target already: nothing of ours is there any more.
        if epoch::is_enrolled(&session, &context.token_for_cleanup(), &shard.name).await? {
            drop_slot(&session, context, direction, &shard.name).await?;
            unpublish(&session, context, direction, &shard.name).await?;
        }
    }
    let mut dropped = Dropped::default();
    for table in context.dispatch.tables.iter().rev() {
        dropped.rows += delete_rows(context, &source, table).await?;
    }
    context.say("removing what the migration created");
    clean_source(context, &source).await?;
    clean_target(context, &target).await?;
    Ok(dropped)
}

async fn delete_rows(
    context: &Context,
    source: &Shard,
    table: &MovingTable,
) -> Result<i64, StepError> {
    let session = source.replica_session("drop").await?;
    let what = format!(
        "shard {}: deleting moved rows of {}",
        source.name, table.table
    );
    let row = session
        .query_one(
            "select pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)) / 8192",
            &[&table.table.sql()],
        )
        .await
        .at(&what)?;
    let blocks: i64 = row.get(0);
    let mut deleted = 0;
    let mut from = 0;
    while from <= blocks {
        let to = (from + BATCH_BLOCKS <= blocks).then_some(from + BATCH_BLOCKS);
        deleted += delete_batch(context, &session, table, &BlockRange { from, to }, source).await?;
        context.owned.update(|progress| {
            progress.message = format!("deleting moved rows of {}", table.table);
            progress.tables = vec![TableProgress {
                table: table.table.to_string(),
                rows_done: deleted,
                phase: "deleting".to_owned(),
                ..TableProgress::default()
            }];
        });
        from += BATCH_BLOCKS;
    }
    Ok(deleted)
}

async fn delete_batch(
    context: &Context,
    session: &Client,
    table: &MovingTable,
    range: &BlockRange,
    source: &Shard,
) -> Result<i64, StepError> {
    let token = context.token_after_flip();
    let what = format!(
        "shard {}: deleting moved rows of {}",
        source.name, table.table
    );
    epoch::begin(session, &token, &source.name).await?;
    let seen = register::read(session, &token, &what).await?;
    if seen.register != i64::MAX || seen.flipped != Some(token.until.0) {
        epoch::rollback(session).await;
        return Err(StepError::refused(
            "drop.open",
            format!(
                "shard {}: its register is not closed or the map has moved on; nothing is deleted",
                source.name
            ),
            "find out who changed the register; the rows are kept",
        ));
    }
    let sql = format!(
        "delete from only {} where {} and {}",
        table.table.sql(),
        range.condition(),
        context.predicate(table)
    );
    let rows = session.execute(&sql, &[]).await.at(&what)?;
    fail_point::hit("drop_old.batch_deleted").await?;
    epoch::commit(session, &what).await?;
    Ok(i64::try_from(rows).unwrap_or(i64::MAX))
}

async fn clean_source(context: &Context, source: &Shard) -> Result<(), StepError> {
    let session = source.session("drop").await?;
    let id = &context.dispatch.migration;
    let token = context.token_for_cleanup();
    for table in &context.dispatch.tables {
        let what = format!(
            "shard {}: taking the TRUNCATE guard off {}",
            source.name, table.table
        );
        let sql = guard::drop_truncate_sql(id, table);
        guard::with_short_locks(&session, &token, &sql, &what).await?;
    }
    let what = format!("shard {}: removing the migration's rows", source.name);
    let migration = quote_literal(&id.0);
    let sql = format!(
        "delete from shardwright.progress where migration = {migration}; \
         delete from shardwright.dirty where migration = {migration}; \
         drop function if exists shardwright.{}()",
        quote_ident(&id.truncate_function())
    );
    epoch::execute(&session, &token, &sql).await.at(&what)
}

async fn clean_target(context: &Context, target: &Shard) -> Result<(), StepError> {
    let session = target.session("drop").await?;
    let token = context.token_for_cleanup();
    if epoch::is_enrolled(&session, &token, &target.name).await? {
        guard::drop_all(&session, &token, &target.name).await?;
    }
    home::forget(&session, &token, &target.name).await
}
