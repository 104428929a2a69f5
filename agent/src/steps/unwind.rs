//! Unwind: opens the source, then removes everything that a migration created before the flip.
//!
//! The store has decided already that no flip can happen. Order: the source is opened and proved open, however long
//! that takes, since an application waits for it; then guards, slots and publications on the source, then all on the
//! target. What cannot be removed within a few attempts is left over: it is listed, and `cleanup` removes it.
//!
//! No session stays open beside another one on the same shard, but the one that deletes rows: a limit on connections
//! that a move meets must not keep it from ending.

mod open_source;
mod removal;

use connect::Connected;
use plans::names::Direction;
use plans::step::unwind::Unwound;

use super::open_capture::{drop_slot, unpublish};
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
    context.report_message("the source takes writes; removing what the migration created");
    remove_all(context).await
}

/// Ends what this process does for the migration.
pub(super) async fn end_work(context: &StepContext) {
    context.session.stop_stream().await;
    *context.session.snapshot_holders.lock().await = None;
}

/// Removes everything of ours from both shards, and the target's copy; what stays is listed.
///
/// # Errors
/// What may still pass, until the last attempt.
pub(super) async fn remove_all(context: &StepContext) -> Result<Unwound, StepError> {
    let mut removal = FailedRemovals::default();
    let removed = context.spool().remove().await;
    let (source, target) = (context.source()?, context.target()?);
    removal.note(
        &source.name,
        "captured changes on the agent's disk",
        removed,
    )?;
    let taken = take_over(context, &source).await;
    if let Some(session) = removal.reached(&source.name, taken)? {
        from_source(context, &session, &mut removal).await?;
    }
    let taken = take_over(context, &target).await;
    if let Some(session) = removal.reached(&target.name, taken)? {
        from_target(context, &session, &mut removal).await?;
    }
    removal.end(context)
}

/// Guards, slot and publication; the source is open.
async fn from_source(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let shard = session.name();
    let (id, token) = (&context.dispatch.migration, context.token_for_cleanup());
    let ended = snapshot::end_holders(session, id.as_str()).await;
    removal.note(shard, "sessions that hold the copy's snapshot", ended)?;
    if !epoch::is_enrolled(session, &token).await? {
        return forget(context, session, removal).await;
    }
    let dropped = guard::drop_all_quickly(session, &token).await;
    if removal
        .note(shard, "guards and register", dropped)?
        .is_none()
    {
        // They refuse no write any more, since the register is open; TRUNCATE and changes of tables they would.
        let stood_down = guard::disable(session, &token).await;
        removal.note(shard, "the guards' functions", stood_down)?;
    }
    end_stream(context, session, Direction::Forward, removal).await?;
    forget(context, session, removal).await
}

/// The stream back, then the copy, whose keys stay closed until its rows are gone.
async fn from_target(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let shard = session.name();
    let token = context.token_for_cleanup();
    if epoch::is_enrolled(session, &token).await? {
        end_stream(context, session, Direction::Reverse, removal).await?;
        let undone = create_target::undo(context, session).await;
        if let Some(kept) =
            removal.note(shard, "copied rows, tables, guards and register", undone)?
        {
            removal.keep(shard, kept);
        }
    }
    forget(context, session, removal).await
}

async fn end_stream(
    context: &StepContext,
    session: &Connected,
    direction: Direction,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let (id, shard) = (&context.dispatch.migration, session.name());
    let dropped = drop_slot(session, context, direction).await;
    let slot = format!("replication slot {}", id.slot(direction));
    removal.note(shard, &slot, dropped)?;
    let dropped = unpublish(session, context, direction).await;
    let publication = format!("publication {}", id.publication(direction));
    removal.note(shard, &publication, dropped)?;
    Ok(())
}

/// The migration's row tells `cleanup` what the rest is, so it goes last.
async fn forget(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let shard = session.name();
    if removal.has_failed(shard) {
        return Ok(());
    }
    let forgotten = sidecar_schema::remove_migration(session, &context.token_for_cleanup()).await;
    removal.note(shard, "rows in schema shardwright", forgotten)?;
    Ok(())
}

/// Ends older owners on one shard (I7); a session there that waits for nobody.
async fn take_over(context: &StepContext, shard: &Shard) -> Result<connect::Connected, StepError> {
    dual_write::take_out_of(context, shard, OwnershipProof::TakeOver).await?;
    let session = shard.session("unwind").await?;
    session
        .batch_execute(SHORT_WAITS)
        .await
        .at(format_args!("shard {}: preparing a session", shard.name))?;
    epoch::take_over(&session, &context.token_for_cleanup()).await?;
    dual_write::take_out_of(context, shard, OwnershipProof::Owner).await?;
    Ok(session)
}
