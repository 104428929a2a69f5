//! Before a rollback: checks that it is possible, and creates the slot for another cutover (I6).
//!
//! The agent creates the slot after it has waited at the gate once, so that the source retains no WAL for the slot
//! during this wait. The stream of the slot begins at the open marker of this rollback: all earlier changes on the
//! source came from the target.

use connect::Connected;
use plans::failure::StepCode;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;

use super::gate;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::apply_progress;
use crate::shard::database::Shard;
use crate::steps::open_capture;

/// Refuses a rollback that could not end, or that would lose writes since the flip. `on_target` is a session on the
/// target, `on_source` one on the source.
///
/// # Errors
/// `rollback.impossible` with the reason.
pub(super) async fn check_possible(
    context: &StepContext,
    on_target: &Connected,
    on_source: &Connected,
) -> Result<(), StepError> {
    let (known_source, known_target) = context.known_servers()?;
    let (source, target) = (context.source()?, context.target()?);
    check_same_server(on_target, &target, &known_target).await?;
    check_same_server(on_source, &source, &known_source).await?;
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
        None => Err(impossible_error(format!(
            "shard {}: replication slot {slot} of the reverse stream does not exist",
            target.name
        ))),
        Some("lost") => Err(impossible_error(format!(
            "shard {}: the server has removed WAL that the reverse stream needs",
            target.name
        ))),
        Some(_) => Ok(()),
    }
}

async fn check_same_server(
    session: &Connected,
    shard: &Shard,
    known: &DatabaseIdentity,
) -> Result<(), StepError> {
    let found = gate::read_identity(session).await?;
    if &found == known {
        return Ok(());
    }
    let change = if found.system == known.system {
        format!(
            "was promoted from timeline {} to {}",
            known.timeline, found.timeline
        )
    } else {
        "is another server".to_owned()
    };
    Err(impossible_error(format!(
        "shard {} {change} since the preflight",
        shard.name
    )))
}

pub(crate) fn impossible_error(reason: String) -> StepError {
    StepError::refused(
        StepCode::RollbackImpossible,
        reason,
        "the target keeps the keys: `finish`, or plan a move back",
    )
}

/// I6: creates the slot for another cutover to the target, before the fence.
///
/// Keeps an existing slot if its stream has not begun; otherwise replaces it.
pub(super) async fn create_forward_slot(
    context: &StepContext,
    on_target: &Connected,
    on_source: &Connected,
) -> Result<(), StepError> {
    let forward = Direction::Forward;
    let (source, target) = (context.source()?, context.target()?);
    let slot = context.dispatch.migration.slot(forward);
    let slot_exists = on_source
        .query_opt(
            "select 1 from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(format_args!("shard {}: reading slot {slot}", source.name))?;
    let token = context.token_after_flip();
    let progress = apply_progress::read(on_target, &token, forward).await?;
    if slot_exists.is_some() && progress.is_some_and(|progress| !progress.opened) {
        return Ok(());
    }
    context.report_message("creating the stream for another cutover to the target");
    open_capture::record_stream_objects(context, &source.name, forward).await?;
    open_capture::drop_slot(on_source, context, forward).await?;
    open_capture::create_publication(on_source, context, forward).await?;
    let (slot, _session) = open_capture::create_slot(on_source, context, &source, forward).await?;
    // The spool contains changes of the stream before the flip. The new stream does not continue with them.
    context.spool().remove().await?;
    let from = open_capture::StreamPosition {
        lsn: slot.consistent_point,
        timeline: context.known_servers()?.0.timeline,
    };
    open_capture::write_first_progress(context, forward, from, false, &target).await
}
