//! The parts of the steps for synchronous dual-write: check that it is possible, record the standby name before it is
//! used, and remove the name.

use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::request::DualWrite;

use crate::controller::CleanupRecord;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::dual_write::{OwnershipProof, find_obstacles};
use crate::stream::dual_write::{ROLE, repair};

fn is_requested(context: &StepContext) -> bool {
    context.is_online() && context.dispatch.options.dual_write == DualWrite::Synchronous
}

/// Checks in the preflight that both shards grant the necessary rights, and that the setting can be extended.
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
        "preflight.dual_write",
        format!(
            "`dual_write: synchronous` is not possible: {}",
            problems.join("; ")
        ),
        format!(
            "{}; then `resume`; or `abort` it and plan with `dual_write: asynchronous`",
            remedies.join("; ")
        ),
    ))
}

/// Refuses two databases of one server, where the applier's own commits would wait for the applier.
pub(super) fn check_different_servers(
    context: &StepContext,
    source: &DatabaseIdentity,
    target: &DatabaseIdentity,
) -> Result<(), StepError> {
    if !is_requested(context) || source.system != target.system {
        return Ok(());
    }
    Err(StepError::refused(
        "preflight.dual_write",
        "`dual_write: synchronous` is not possible: both shards are databases of one server, so commits of the change stream would wait for the stream itself",
        "`abort` it and plan with `dual_write: asynchronous`",
    ))
}

/// Records with the controller that a standby name of this migration may appear in a shard's setting from now on.
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
        name: shard.application_name(ROLE),
        shard: shard.name,
        policy: "always".to_owned(),
    };
    context
        .controller
        .record_cleanup(&context.dispatch, &[record])
        .await?;
    Ok(())
}

/// Removes all standby names of this migration from the settings of both shards, including names that an older owner
/// added.
pub(crate) async fn remove_standby_names(
    context: &StepContext,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    for shard in [context.source()?, context.target()?] {
        remove_standby_names_from(context, &shard, proof).await?;
    }
    Ok(())
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
    repair(shard, &context.token_for_cleanup(), proof).await
}
