//! Checks after the seal: the standbys of the old owner must have flushed the seal, those of the new owner the moved rows,
//! and no definition may have changed on the old owner since the gate.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;
use tokio::time::Instant;

use super::CutoverParties;
use super::gate::{self, GateFacts};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::{catalog, standbys, versions};
use crate::shard::{guard, partitions};
use crate::steps::definitions::references;

/// Checks that guards, tables, server and publication are as they were at the gate. Returns the versions (`xmin`) of
/// the catalog rows. It reads the versions first, so that they are not newer than what it has checked.
///
/// # Errors
/// `schema.changed`, `server.changed` or `publication.changed`.
pub(super) async fn recheck_all(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    facts: &GateFacts,
) -> Result<String, StepError> {
    let shard = parties.old_shard().name.as_str();
    let tables = &context.dispatch.tables;
    // One connection sends these queries at once, and the server answers them in this order.
    let (versions, guards, fingerprint, storage, (), ()) = tokio::try_join!(
        versions::versions(old_owner, tables),
        guard::read_triggers(old_owner, &context.dispatch.migration),
        catalog::fingerprint(old_owner, &context.planned_tables),
        catalog::storage(old_owner, context.captured_tables(parties.direction)),
        gate::check_identity(context, old_owner, parties.direction),
        gate::check_publication(context, old_owner, parties),
    )?;
    if guards != facts.guards || fingerprint != facts.fingerprint || storage != facts.storage {
        return Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!("shard {shard}: a guard or a table has changed during the cutover"),
        ));
    }
    refuse_new_reference_partitions(context, old_owner).await?;
    references::refuse_new(context, old_owner).await?;
    Ok(versions)
}

/// Refuses partitions of reference tables that the application created since the gate. No fingerprint contains them, and
/// their rows are not on a new target.
async fn refuse_new_reference_partitions(
    context: &StepContext,
    old_owner: &Connected,
) -> Result<(), StepError> {
    let tables = context.dispatch.tables.iter();
    let references: Vec<MovingTable> = tables
        .filter(|table| table.is_reference())
        .cloned()
        .collect();
    match partitions::unknown_leaves(old_owner, &references)
        .await?
        .first()
    {
        None => Ok(()),
        Some(found) => Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!(
                "shard {}: partition {} of {} was created during the cutover",
                old_owner.name(),
                found.table,
                found.top
            ),
        )),
    }
}

/// C8: the last check on the old owner before the flip: no definition has changed since the gate (R10).
///
/// The definitions are read again only if a catalog row has another version than in `known_versions`, which
/// [`recheck_all`] returned.
///
/// # Errors
/// See [`recheck_all`].
pub(super) async fn final_recheck(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    facts: &GateFacts,
    known_versions: &str,
) -> Result<(), StepError> {
    let (versions, (), ()) = tokio::try_join!(
        versions::versions(old_owner, &context.dispatch.tables),
        gate::check_identity(context, old_owner, parties.direction),
        gate::check_publication(context, old_owner, parties),
    )?;
    refuse_new_reference_partitions(context, old_owner).await?;
    references::refuse_new_in_schemas(context, old_owner).await?;
    if versions != known_versions {
        recheck_all(context, parties, old_owner, facts).await?;
    }
    Ok(())
}

/// Waits until the standbys have flushed the log up to the old owner's current flush position. A standby that lacks the
/// seal could be promoted and accept writes to the moved keys (R6).
///
/// # Errors
/// `standby.behind` if a standby has not flushed the log up to this position at `deadline`.
pub(super) async fn wait_for_standbys(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    deadline: Instant,
) -> Result<(), StepError> {
    let shard = parties.old_shard().name.as_str();
    let ignored = &context.dispatch.options.ignore_standbys;
    // Both queries are sent at once, and the server executes them in this order. A standby that the second query does
    // not return has flushed the log at least up to `flushed`.
    let (flushed, mut late_standbys) = tokio::try_join!(
        standbys::flush_position(old_owner),
        standbys::lagging_standbys(old_owner, None, ignored),
    )?;
    loop {
        let Some(first) = late_standbys.first() else {
            return Ok(());
        };
        if Instant::now() >= deadline {
            return Err(StepError::not_yet(
                StepCode::StandbyBehind,
                format!(
                    "shard {shard}: when the budget of the write-blocked window was used up, a standby had not flushed the seal: {first}"
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        late_standbys = standbys::lagging_standbys(old_owner, Some(flushed), ignored).await?;
    }
}

/// Waits until the standbys of the new owner have flushed everything that the stream has applied there. A standby that
/// lacks a part of it could be promoted after the flip, when nothing sends this part again (R6).
///
/// # Errors
/// `standby.behind` if a standby lacks a part at `deadline`.
pub(super) async fn wait_for_new_standbys(
    context: &StepContext,
    new_owner: &Connected,
    deadline: Instant,
) -> Result<(), StepError> {
    let ignored = &context.dispatch.options.ignore_standbys;
    match standbys::wait_until_flushed(new_owner, ignored, deadline).await? {
        None => Ok(()),
        Some(standby) => Err(StepError::not_yet(
            StepCode::StandbyBehind,
            format!(
                "shard {}: when the budget of the write-blocked window was used up, a standby had not flushed the moved rows: {standby}",
                new_owner.name()
            ),
        )),
    }
}
