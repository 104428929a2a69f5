//! What the steps do for synchronous dual-write: may it begin, the record before it does, nothing left behind it.

use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::request::DualWrite;

use crate::controller::CleanupRecord;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::dual_write::{OwnershipProof, find_obstacles};
use crate::stream::dual_write::{ROLE, repair};

fn is_wanted(context: &StepContext) -> bool {
    context.is_online() && context.dispatch.options.dual_write == DualWrite::Synchronous
}

/// Preflight: the rights to it are there on both shards, and the setting can be extended.
pub(super) async fn may_begin(context: &StepContext) -> Result<(), StepError> {
    if !is_wanted(context) {
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

/// On one server the applier's own commits would wait for it.
pub(super) fn check_apart(
    context: &StepContext,
    source: &DatabaseIdentity,
    target: &DatabaseIdentity,
) -> Result<(), StepError> {
    if !is_wanted(context) || source.system != target.system {
        return Ok(());
    }
    Err(StepError::refused(
        "preflight.dual_write",
        "`dual_write: synchronous` is not possible: both shards are databases of one server, whose commits would wait for themselves",
        "`abort` it and plan with `dual_write: asynchronous`",
    ))
}

/// Tells the controller that our name may come into a shard's setting from now on.
pub(super) async fn record(context: &StepContext, direction: Direction) -> Result<(), StepError> {
    if !is_wanted(context) {
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

/// No name of this migration is in the setting of either shard, whoever put it there.
pub(crate) async fn take_out(
    context: &StepContext,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    for shard in [context.source()?, context.target()?] {
        take_out_of(context, &shard, proof).await?;
    }
    Ok(())
}

/// No name of this migration is in the setting of `shard`.
pub(super) async fn take_out_of(
    context: &StepContext,
    shard: &Shard,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    if !is_wanted(context) {
        return Ok(());
    }
    repair(shard, &context.token_for_cleanup(), proof).await
}
