//! Unwind: opens the source of an aborted migration, and removes everything that the migration created. The control
//! store has already made a flip impossible.
//!
//! Order:
//! 1. Open the source and prove that it is open. The agent retries this without a limit, because applications wait for
//!    it.
//! 2. Remove guards, slots and publications on the source.
//! 3. Remove everything on the target.
//!
//! Objects that the agent cannot remove within a few attempts are leftovers: the step lists them, and `cleanup` removes
//! them. The step opens only one session at a time on each shard, and one more to delete rows, so that a connection
//! limit is less likely to prevent the removal.

mod open_source;
mod removal;
mod seeded_target;

use connect::Connected;
use plans::names::Direction;
use plans::step::unwind::Unwound;

use super::open_capture::{drop_publication, drop_slot};
use super::{create_target, dual_write};
use crate::cleanup::delete_rows::SHORT_WAITS;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::dual_write::OwnershipProof;
use crate::shard::{epoch, guard, sidecar_schema, snapshot};
use removal::FailedRemovals;

pub(super) async fn run(context: &StepContext) -> Result<Unwound, StepError> {
    context.report_message("opening the source");
    fail_point::hit("unwind.started").await?;
    end_work(context).await;
    open_source::run(context).await?;
    context.report_message("the source accepts writes; removing what the migration created");
    remove_all(context).await
}

/// Stops the change stream of the migration in this process, and closes the sessions that hold the copy's snapshot.
pub(super) async fn end_work(context: &StepContext) {
    context.session.stop_stream().await;
    *context.session.snapshot_holders.lock().await = None;
}

/// Removes all objects of the migration from both shards, including the target's copy. Returns the leftovers.
///
/// # Errors
/// A failure that a retry may fix, unless this is the last attempt: then the object is a leftover.
pub(super) async fn remove_all(context: &StepContext) -> Result<Unwound, StepError> {
    let mut removal = FailedRemovals::default();
    let removed = context.spool().remove().await;
    let (source, target) = (context.source()?, context.target()?);
    removal.record_outcome(
        &source.name,
        "captured changes on the agent's disk",
        removed,
    )?;
    let session = take_over(context, &source).await;
    if let Some(session) = removal.record_shard_outcome(&source.name, session)? {
        let may_release =
            !context.is_seeded() || seeded_target::remove(context, &session, &mut removal).await?;
        if may_release {
            remove_from_source(context, &session, &mut removal).await?;
        } else {
            // The register stays bound, which refuses no write on the source. The slot would retain log.
            drop_stream_objects(context, &session, Direction::Forward, &mut removal).await?;
        }
    }
    if context.is_seeded() {
        return removal.finish(context);
    }
    let session = take_over(context, &target).await;
    if let Some(session) = removal.record_shard_outcome(&target.name, session)? {
        remove_from_target(context, &session, &mut removal).await?;
    }
    removal.finish(context)
}

/// Removes the guards, the slot and the publication on the source, whose register is open.
async fn remove_from_source(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let shard = session.name();
    let (id, token) = (&context.dispatch.migration, context.token_for_cleanup());
    let ended = snapshot::end_holders(session, id.as_str()).await;
    removal.record_outcome(shard, "sessions that hold the copy's snapshot", ended)?;
    if !epoch::is_enrolled(session, &token).await? {
        return remove_migration_rows(context, session, removal).await;
    }
    let dropped = guard::drop_all_quickly(session, &token).await;
    if removal
        .record_outcome(shard, "guards and register", dropped)?
        .is_none()
    {
        // The register is open, so the guards refuse no row changes any more, but they still refuse TRUNCATE and DDL.
        let disabled = guard::disable(session, &token).await;
        removal.record_outcome(shard, "the guards' functions", disabled)?;
    }
    drop_stream_objects(context, session, Direction::Forward, removal).await?;
    remove_migration_rows(context, session, removal).await
}

/// Removes the slot and the publication of the reverse stream, then the copy. The target's register stays closed until
/// the rows are removed.
async fn remove_from_target(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let shard = session.name();
    let token = context.token_for_cleanup();
    if epoch::is_enrolled(session, &token).await? {
        drop_stream_objects(context, session, Direction::Reverse, removal).await?;
        let undone = create_target::undo_creation(context, session).await;
        if let Some(kept) =
            removal.record_outcome(shard, "copied rows, tables, guards and register", undone)?
        {
            removal.record_kept_tables(shard, kept);
        }
    }
    remove_migration_rows(context, session, removal).await
}

/// Drops the slot and the publication of one direction.
async fn drop_stream_objects(
    context: &StepContext,
    session: &Connected,
    direction: Direction,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let (id, shard) = (&context.dispatch.migration, session.name());
    let dropped = drop_slot(session, context, direction).await;
    let slot = format!("replication slot {}", id.slot(direction));
    removal.record_outcome(shard, &slot, dropped)?;
    let dropped = drop_publication(session, context, direction).await;
    let publication = format!("publication {}", id.publication(direction));
    removal.record_outcome(shard, &publication, dropped)?;
    Ok(())
}

/// Removes the rows of the migration in the sidecar schema, unless an object on the shard is a leftover: `cleanup`
/// finds leftovers by these rows.
async fn remove_migration_rows(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let shard = session.name();
    if removal.has_failed(shard) {
        return Ok(());
    }
    let removed = sidecar_schema::remove_migration(session, &context.token_for_cleanup()).await;
    removal.record_outcome(shard, "rows in schema shardwright", removed)?;
    Ok(())
}

/// Takes the migration over on one shard, which ends the sessions of earlier agents (I7). Returns a session whose
/// statements wait only briefly for locks.
async fn take_over(context: &StepContext, shard: &Shard) -> Result<connect::Connected, StepError> {
    dual_write::remove_standby_names_from(context, shard, OwnershipProof::TakeOver).await?;
    let session = shard.session("unwind").await?;
    session
        .batch_execute(SHORT_WAITS)
        .await
        .at(format_args!("shard {}: preparing a session", shard.name))?;
    epoch::take_over(&session, &context.token_for_cleanup()).await?;
    dual_write::remove_standby_names_from(context, shard, OwnershipProof::Owner).await?;
    sidecar_schema::add_missing_tables(&session, &context.token_for_cleanup()).await?;
    Ok(session)
}
