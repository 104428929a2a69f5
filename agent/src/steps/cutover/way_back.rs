//! Before a roll back: that it can be made at all, and the slot that would bring the keys to the target again (I6).
//!
//! The slot is made when the gate has been passed, so that the source keeps no log for it while somebody is waited
//! for. Its stream begins at the open marker of this roll back: what lies before it came from the target.

use connect::Connected;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::preflight::Preflighted;

use super::gate;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::apply_progress;
use crate::shard::database::Shard;
use crate::steps::open_capture;

/// Refuses a roll back that would only hang, or lose what was written since the flip; sessions on target and source.
///
/// # Errors
/// `rollback.impossible` with the reason.
pub(super) async fn check(
    context: &StepContext,
    on_target: &Connected,
    on_source: &Connected,
) -> Result<(), StepError> {
    let known: Preflighted = context.output(StepKind::Preflight)?;
    let (source, target) = (context.source()?, context.target()?);
    same_server(on_target, &target, &known.target).await?;
    same_server(on_source, &source, &known.source).await?;
    let slot = context.dispatch.migration.slot(Direction::Reverse);
    let row = on_target
        .query_opt(
            "select coalesce(wal_status, '') from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(format_args!("shard {}: reading slot {slot}", target.name))?;
    let status: Option<String> = row.map(|row| row.get(0));
    match status.as_deref() {
        None => Err(impossible(format!(
            "shard {}: replication slot {slot} of the stream back is gone",
            target.name
        ))),
        Some("lost") => Err(impossible(format!(
            "shard {}: the log that the stream back needs is gone",
            target.name
        ))),
        Some(_) => Ok(()),
    }
}

async fn same_server(
    session: &Connected,
    shard: &Shard,
    known: &DatabaseIdentity,
) -> Result<(), StepError> {
    let found = gate::identity(session).await?;
    if &found == known {
        return Ok(());
    }
    let what = if found.system == known.system {
        format!(
            "was promoted from timeline {} to {}",
            known.timeline, found.timeline
        )
    } else {
        "is another server".to_owned()
    };
    Err(impossible(format!(
        "shard {} {what} since the capture was opened",
        shard.name
    )))
}

pub(super) fn impossible(reason: String) -> StepError {
    StepError::refused(
        "rollback.impossible",
        reason,
        "the target keeps the keys: `finish`, or plan a move back",
    )
}

/// I6: the slot that would bring the keys to the target again, before the fence.
///
/// A slot that is there is used again only where its stream has not begun. Sessions on target and source.
pub(super) async fn open(
    context: &StepContext,
    on_target: &Connected,
    on_source: &Connected,
) -> Result<(), StepError> {
    let forward = Direction::Forward;
    let (source, target) = (context.source()?, context.target()?);
    let slot = context.dispatch.migration.slot(forward);
    let known_slot = on_source
        .query_opt(
            "select 1 from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(format_args!("shard {}: reading slot {slot}", source.name))?;
    let token = context.token_after_flip();
    let known = apply_progress::read(on_target, &token, forward).await?;
    if known_slot.is_some() && known.is_some_and(|progress| !progress.opened) {
        return Ok(());
    }
    context.report_message("creating the stream that would bring the keys to the target again");
    open_capture::record(context, &source.name, forward).await?;
    open_capture::drop_slot(on_source, context, forward).await?;
    open_capture::publish(on_source, context, forward).await?;
    let (slot, _session) = open_capture::create_slot(on_source, context, &source, forward).await?;
    // What an agent kept of the stream before the flip is not followed by this one.
    context.spool().remove().await?;
    let from = slot.consistent_point;
    open_capture::start_progress(context, forward, from, false, &target).await
}
