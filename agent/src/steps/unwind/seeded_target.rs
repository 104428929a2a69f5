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
use crate::steps::promote::standby::{SeededTarget, observe};
use plans::names::Direction;

/// Returns whether an agent may have requested the promotion of the standby, as the source has recorded it.
pub(super) async fn is_promotion_requested(
    context: &StepContext,
    source: &Connected,
) -> Result<bool, StepError> {
    let record = seed::read(source, &context.token_for_cleanup()).await?;
    Ok(record.is_some_and(|record| record.requested))
}

/// Removes what the migration has on the target. A standby receives the removal from the source with the log.
pub(super) async fn remove(
    context: &StepContext,
    requested: bool,
    removal: &mut FailedRemovals,
) -> Result<(), StepError> {
    // Without a preflight the migration has changed nothing.
    if context.known_servers().is_err() {
        return Ok(());
    }
    let (source, target) = (&context.dispatch.source.name, &context.dispatch.target.name);
    let Some(observed) = removal.record_shard_outcome(target.as_str(), observe(context).await)?
    else {
        return Ok(());
    };
    let shard = match observed {
        SeededTarget::Standby(_) if requested => {
            removal.add_note(format!(
                "the promotion of shard {target} was requested and can still take effect; then it takes writes without guards"
            ));
            return Ok(());
        }
        SeededTarget::Standby(_) => return Ok(()),
        SeededTarget::Promoted(shard) => shard,
    };
    removal.add_note(format!(
        "shard {target} was promoted and is no standby of shard {source} any more; it has all rows of shard {source} and no guards. \
         Create it again with pg_rewind or pg_basebackup before it is used for another plan"
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
