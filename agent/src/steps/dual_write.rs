//! What the steps do for synchronous dual-write, in which the agent is a synchronous standby of the upstream shard:
//! they check that it is possible, record the standby name for the cleanup before its use, and remove the name.

use plans::failure::StepCode;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::request::DualWrite;

use crate::controller::CleanupRecord;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::dual_write::{OwnershipProof, find_obstacles};
use crate::stream::dual_write::{STANDBY_ROLE, connect_and_remove_names};

fn is_requested(context: &StepContext) -> bool {
    context.is_online() && context.dispatch.options.dual_write == DualWrite::Synchronous
}

/// Checks in the preflight that the agent has the necessary privileges on both shards, and that it can extend
/// `synchronous_standby_names`.
pub(super) async fn check_possible(context: &StepContext) -> Result<(), StepError> {
    if !is_requested(context) {
        return Ok(());
    }
    let (mut problems, mut remedies) = (Vec::new(), Vec::new());
    for shard in [context.source()?, context.target()?] {
        let session = shard.session("preflight").await?;
        for (problem, remedy) in find_obstacles(&session).await? {
            problems.push(format!("shard {}: {problem}", shard.name));
            remedies.push(format!("on shard {}: {remedy}", shard.name));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::PreflightDualWrite,
        format!(
            "`dual_write: synchronous` is not possible: {}",
            problems.join("; ")
        ),
        format!(
            "{}; then `resume`; or `abort` the migration and plan with `dual_write: asynchronous`",
            remedies.join("; ")
        ),
    ))
}

/// Refuses two databases of one server: commits of the apply stream would wait for the stream itself.
pub(super) fn check_different_servers(
    context: &StepContext,
    source: &DatabaseIdentity,
    target: &DatabaseIdentity,
) -> Result<(), StepError> {
    if !is_requested(context) || source.system != target.system {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::PreflightDualWrite,
        "`dual_write: synchronous` is not possible: both shards are databases of one server, so commits of the change stream would wait for the stream itself",
        "`abort` the migration and plan with `dual_write: asynchronous`",
    ))
}

/// Records with the controller that the setting of a shard may contain a standby name of this migration from now on.
pub(super) async fn record_standby_name(
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    if !is_requested(context) {
        return Ok(());
    }
    let shard = match direction {
        Direction::Forward => context.source()?,
        Direction::Reverse => context.target()?,
    };
    let record = CleanupRecord {
        kind: "standby_name".to_owned(),
        name: shard.application_name(STANDBY_ROLE),
        shard: shard.name,
        policy: "always".to_owned(),
    };
    context
        .controller
        .record_cleanup(&context.dispatch, &[record])
        .await?;
    Ok(())
}

/// Removes all standby names of this migration from the settings of both shards, including those that an earlier owner
/// added.
pub(crate) async fn remove_standby_names(
    context: &StepContext,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    remove_standby_names_from(context, &context.source()?, proof).await?;
    // Before its promotion, a standby has no setting of this migration.
    if context.awaits_promotion() {
        return Ok(());
    }
    remove_standby_names_from(context, &context.target()?, proof).await
}

/// Removes all standby names of this migration from the setting of `shard`.
pub(super) async fn remove_standby_names_from(
    context: &StepContext,
    shard: &Shard,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    if !is_requested(context) {
        return Ok(());
    }
    connect_and_remove_names(shard, &context.token_for_cleanup(), proof).await
}
