//! What is read on the losing shard behind the seal: the standbys have it, and nothing else has changed.

use std::time::Duration;

use connect::Connected;
use tokio::time::Instant;

use super::CutoverParties;
use super::gate::{self, GateFacts};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::{catalog, standbys, versions};
use crate::shard::guard;

/// Reads everything that must still be as it was at the gate; the versions of the catalog's rows from right before.
///
/// # Errors
/// `schema.changed`, `server.changed` or `publication.changed`.
pub(super) async fn look(
    context: &StepContext,
    parties: &CutoverParties,
    losing: &Connected,
    facts: &GateFacts,
) -> Result<String, StepError> {
    let shard = parties.sides.origin.name.as_str();
    let tables = &context.dispatch.tables;
    // One connection, six questions at once, which it answers in this order.
    let (versions, now, fingerprint, storage, (), ()) = tokio::try_join!(
        versions::versions(losing, tables),
        guard::read_triggers(losing, &context.dispatch.migration),
        catalog::fingerprint(losing, tables),
        catalog::storage(losing, context.captured_tables(parties.direction)),
        gate::check_identity(context, losing, parties.direction),
        gate::check_stream(context, losing, parties),
    )?;
    if now != facts.guards || fingerprint != facts.fingerprint || storage != facts.storage {
        return Err(StepError::not_yet(
            "schema.changed",
            format!("shard {shard}: guards or tables changed during the cutover"),
        ));
    }
    Ok(versions)
}

/// The last act on the losing shard: nothing has changed since the gate (R10).
///
/// Definitions are read again only where a row of the catalog has another version than at `seen`, when [`look`] found
/// everything as it was.
///
/// # Errors
/// As [`look`].
pub(super) async fn last_look(
    context: &StepContext,
    parties: &CutoverParties,
    losing: &Connected,
    facts: &GateFacts,
    seen: &str,
) -> Result<(), StepError> {
    let (versions, (), ()) = tokio::try_join!(
        versions::versions(losing, &context.dispatch.tables),
        gate::check_identity(context, losing, parties.direction),
        gate::check_stream(context, losing, parties),
    )?;
    if versions != seen {
        look(context, parties, losing, facts).await?;
    }
    Ok(())
}

/// Waits until the standbys have what the losing shard has on its disk now: one that lacks the seal could be promoted
/// and take writes to the moved keys (R6).
///
/// # Errors
/// `standby.behind` when one of them lacks it at `deadline`.
pub(super) async fn standbys_flushed(
    context: &StepContext,
    parties: &CutoverParties,
    client: &Connected,
    deadline: Instant,
) -> Result<(), StepError> {
    let shard = parties.sides.origin.name.as_str();
    let ignored = &context.dispatch.options.ignore_standbys;
    // One round trip: who has what the server has by the second question has what it had by the first.
    let (flushed, mut behind) = tokio::try_join!(
        standbys::flushed(client),
        standbys::behind(client, None, ignored),
    )?;
    loop {
        let Some(first) = behind.first() else {
            return Ok(());
        };
        if Instant::now() >= deadline {
            return Err(StepError::not_yet(
                "standby.behind",
                format!(
                    "shard {shard}: a standby lacks the seal when the write-stop budget is over: {first}"
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        behind = standbys::behind(client, Some(flushed), ignored).await?;
    }
}
