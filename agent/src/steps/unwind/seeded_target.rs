//! Removes the objects of a migration from the target that it promoted, or was to promote. The server itself and its rows
//! stay as they are: they belong to the operator.

use connect::Connected;

use super::removal::FailedRemovals;
use super::{drop_stream_objects, take_over};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::guard;
use crate::shard::released_keys;
use crate::shard::{epoch, identity, seed, sidecar_schema};
use crate::steps::promote::conversion::remove_other_migrations;
use crate::steps::promote::request_promotion;
use crate::steps::promote::standby::{SeededTarget, observe};
use plans::names::Direction;

/// Removes what the migration has on the target, before it is removed from the source. A standby receives the removal
/// from the source with the log.
///
/// A promotion that was requested is completed first. Otherwise the standby could replay the removal of the guards, and be
/// promoted then.
pub(super) async fn remove(
    context: &StepContext,
    source: &Connected,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    // Without a preflight the migration has changed nothing.
    if context.known_servers().is_err() {
        return Ok(());
    }
    let name = context.dispatch.target.name.clone();
    let observed = observe_promoted(context, source).await;
    let Some(observed) = removal.record_shard_outcome(name.as_str(), observed)? else {
        return Ok(());
    };
    let SeededTarget::Promoted(shard) = observed else {
        return Ok(());
    };
    removal.add_note(format!(
        "shard {name} was promoted and is no standby of shard {} any more; it has all rows of that shard and no guards. \
         Create it again with pg_rewind or pg_basebackup before it is used for another plan",
        context.dispatch.source.name
    ));
    let session = take_over(context, &shard).await;
    let Some(session) = removal.record_shard_outcome(&shard.name, session)? else {
        return Ok(());
    };
    let removed = remove_all(context, &session, removal).await;
    removal.record_outcome(
        &shard.name,
        "guards, records and schema shardwright",
        removed,
    )?;
    Ok(())
}

/// Observes the target. If the source has recorded a request to promote it, completes the promotion.
///
/// # Errors
/// `seed.slow` if the promotion does not end.
async fn observe_promoted(
    context: &StepContext,
    source: &Connected,
) -> Result<SeededTarget, StepError> {
    let record = seed::read(source, &context.token_for_cleanup()).await?;
    let record = record.filter(|record| record.requested);
    match (observe(context).await?, record) {
        (SeededTarget::Standby(standby), Some(record)) => {
            context.report_message("completing the promotion that was requested");
            request_promotion(context, source, &standby, &record).await?;
            observe(context).await
        }
        (observed, _) => Ok(observed),
    }
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
