//! Deletes the copied rows of units that are partly copied, so that they begin again with another snapshot.

use std::time::Duration;

use connect::Connected;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::units;
use crate::cleanup::delete_rows::ClosedProof;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::CopyExtent;
use crate::shard::epoch;
use crate::steps::delete::row_deletion;

/// Time limit for the wait for commits of chunks that are still in progress.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Before a new slot is recorded: deletes the copied rows of units that are partly copied. These units begin again with
/// a snapshot of the new slot.
pub(crate) async fn empty_partly_copied_units(context: &StepContext) -> Result<(), StepError> {
    let target = context.target()?.session("snapshot").await?;
    empty_unfinished_units(context, &target).await
}

/// Deletes the copied rows of units that are partly copied. Called when the snapshot of these units is lost.
pub(crate) async fn empty_unfinished_units(
    context: &StepContext,
    target: &Connected,
) -> Result<(), StepError> {
    let shard = target.name();
    wait_for_commits(context, target).await?;
    let begun = units::begun_units(context, target).await?;
    if begun.is_empty() {
        return Ok(());
    }
    let remaining = units::remaining_chunks(context, target).await?;
    let shard_of_copy = context.target()?;
    let prover = context.session.code_prover(&shard_of_copy).await?;
    let into = shard_of_copy.replica_session("copy").await?;
    let deletion = row_deletion(context, &shard_of_copy, context.token(), ClosedProof::Live);
    for unit in begun {
        let Some(chunk) = remaining.iter().find(|chunk| chunk.unit == unit) else {
            continue;
        };
        let table = &context.dispatch.tables[chunk.table];
        context.report_message(format!("copying {} again with a new snapshot", table.table));
        let what = format!(
            "shard {shard}: deleting a partly copied unit of {}",
            table.table
        );
        let copied = table.copy_predicate(&context.dispatch.keys, "", &context.dispatch.migration);
        let condition = match &chunk.extent {
            CopyExtent::Blocks(_) => copied,
            CopyExtent::Keys(range) => format!("{} and {copied}", range.condition()),
        };
        deletion.begin_closed(&into).await?;
        prover.prove(&into, std::slice::from_ref(table)).await?;
        let sql = format!("delete from only {} where {condition}", table.table.sql());
        into.execute(&sql, &[]).await.at(&what)?;
        into.execute(
            "update shardwright.chunk set done = false, rows = 0, bytes = 0, snapshot = null
             where migration = $1 and unit = $2",
            &[&context.dispatch.migration.0, &unit],
        )
        .await
        .at(&what)?;
        epoch::commit(&into, &what).await?;
    }
    Ok(())
}

/// Waits until no commit of the copy is in progress. After its client has disconnected, a commit can still wait for a
/// standby of the target. Its changes are not visible yet, but it holds its locks, including the migration's advisory
/// lock. So the agent waits for this lock.
async fn wait_for_commits(context: &StepContext, target: &Connected) -> Result<(), StepError> {
    let shard = target.name();
    let key = epoch::lock_key(&context.dispatch.migration);
    let lock_sql = format!(
        "begin; set local lock_timeout = '500ms'; select pg_catalog.pg_advisory_xact_lock({key}); commit"
    );
    let deadline = Instant::now() + COMMIT_TIMEOUT;
    while let Err(error) = target.batch_execute(&lock_sql).await {
        epoch::rollback(target).await;
        if context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let is_locked = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        if !is_locked || Instant::now() >= deadline {
            return Err(error).at(format_args!(
                "shard {shard}: waiting for commits of chunks that are in progress"
            ));
        }
    }
    Ok(())
}
