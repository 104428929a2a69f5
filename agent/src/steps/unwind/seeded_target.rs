//! Removes the objects of a migration from the target that it promoted, or was to promote. The server itself and its rows
//! stay as they are: they belong to the operator.

use connect::Connected;

use super::removal::FailedRemovals;
use super::{drop_stream_objects, take_over};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::guard;
use crate::shard::released_keys;
use crate::shard::seed::{self, SeedRecord};
use crate::shard::{epoch, identity, sidecar_schema};
use crate::steps::promote::conversion::remove_other_migrations;
use crate::steps::promote::standby::{SeededTarget, observe};
use crate::steps::promote::{drop_slot, request_promotion, slow_error};
use plans::names::Direction;

/// Removes what the migration has on the target, before it is removed from the source. A standby receives the removal
/// from the source with the log. Returns whether the source may be released.
///
/// A promotion that was requested is completed first. Otherwise the standby could replay the removal of the guards, and be
/// promoted then. A server that someone else promoted is not touched: it may have taken the place of the source.
pub(super) async fn remove(
    context: &StepContext,
    source: &Connected,
    removal: &mut FailedRemovals,
) -> Result<bool, StepError> {
    let record = seed::read(source, &context.token_for_cleanup()).await?;
    // Without a request the migration has changed nothing on the target.
    let Some(record) = record.filter(|record| record.requested) else {
        return Ok(true);
    };
    let name = context.dispatch.target.name.clone();
    let promoted = promoted_target(context, source, &record).await;
    let Some(promoted) = removal.record_shard_outcome(name.as_str(), promoted)? else {
        return Ok(false);
    };
    let Some(shard) = promoted else {
        removal.add_note(format!(
            "shard {name} was promoted by someone else, and nothing was removed there: it may have taken the place of shard {}",
            context.dispatch.source.name
        ));
        return Ok(true);
    };
    removal.add_note(format!(
        "shard {name} was promoted and is no standby of shard {} any more; it has all rows of that shard and no guards. \
         Create it again with pg_rewind or pg_basebackup before it is used for another plan",
        context.dispatch.source.name
    ));
    let dropped = drop_slot(source, &context.token_for_cleanup(), record.slot.as_deref()).await;
    removal.record_outcome(source.name(), "replication slot of the standby", dropped)?;
    let session = take_over(context, &shard).await;
    let Some(session) = removal.record_shard_outcome(&shard.name, session)? else {
        return Ok(false);
    };
    let removed = remove_all(context, &session, removal).await;
    let objects = "guards, records and schema shardwright";
    removal.record_outcome(&shard.name, objects, removed)?;
    Ok(!removal.has_failed(&shard.name))
}

/// Returns the target that this migration has promoted; `None` if it is the server of the source, or was promoted before
/// it had the record of the seeding. Completes the promotion if it has not taken effect yet.
///
/// # Errors
/// `seed.slow` if the promotion does not end.
async fn promoted_target(
    context: &StepContext,
    source: &Connected,
    record: &SeedRecord,
) -> Result<Option<Shard>, StepError> {
    if let SeededTarget::Standby(standby) = observe(context).await? {
        context.report_message("completing the promotion that was requested");
        request_promotion(context, source, &standby, record).await?;
    }
    let shard = match observe(context).await? {
        SeededTarget::Promoted(shard) => shard,
        SeededTarget::Standby(standby) => return Err(slow_error(&standby)),
    };
    let session = shard.session("unwind").await?;
    let what = format!("shard {}: identifying the server", shard.name);
    let (own, found) =
        tokio::try_join!(identity::read(source), identity::read(&session)).at(what)?;
    let token = context.token_for_cleanup();
    let has_record = match seed::read(&session, &token).await? {
        Some(copied) => copied.id == record.id,
        // An earlier attempt has removed everything from the promoted server.
        None => !epoch::is_enrolled(&session, &token).await?,
    };
    let is_source = own.timeline == found.timeline && own.id == found.id;
    Ok((has_record && !is_source).then_some(shard))
}

async fn remove_all(
    context: &StepContext,
    session: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    if !epoch::is_enrolled(session, &token).await? {
        return Ok(());
    }
    remove_other_migrations(session, &token).await?;
    for direction in [Direction::Forward, Direction::Reverse] {
        drop_stream_objects(context, session, direction, removal).await?;
    }
    guard::drop_all_quickly(session, &token).await?;
    released_keys::drop_all(session, &token).await?;
    let shard = session.name();
    let sql = format!("drop table if exists shardwright.{}", identity::TABLE);
    let dropped = epoch::execute(session, &token, &sql).await;
    dropped.at(format_args!("shard {shard}: removing its id"))?;
    sidecar_schema::remove_migration(session, &token).await
}
