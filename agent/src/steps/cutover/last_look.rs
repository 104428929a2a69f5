//! What is read on the losing shard behind the seal: the standbys have it, and nothing else has changed.

use std::time::Duration;

use connect::Connected;
use tokio::time::Instant;

use super::Parties;
use super::gate::{self, Facts};
use crate::error::StepError;
use crate::owned::Context;
use crate::pg::{catalog, guard, standbys};

/// The last act on the losing shard: nothing has changed since the gate (R10).
///
/// # Errors
/// `schema.changed`, `server.changed` or `publication.changed`.
pub(super) async fn last_look(
    context: &Context,
    parties: &Parties,
    losing: &Connected,
    facts: &Facts,
) -> Result<(), StepError> {
    let shard = parties.sides.origin.name.as_str();
    // One connection, five questions at once.
    let (now, fingerprint, storage, (), ()) = tokio::try_join!(
        guard::standing(losing, &context.dispatch.migration, shard),
        catalog::fingerprint(losing, &context.dispatch.tables, shard),
        catalog::storage(losing, context.captured(parties.direction), shard),
        gate::check_identity(context, losing, shard, parties.direction),
        gate::check_stream(context, losing, parties, shard),
    )?;
    if now != facts.guards || fingerprint != facts.fingerprint || storage != facts.storage {
        return Err(StepError::not_yet(
            "schema.changed",
            format!("shard {shard}: guards or tables changed during the cutover"),
        ));
    }
    Ok(())
}

/// Waits until the standbys have what the losing shard has on its disk now: one that lacks the seal could be promoted
/// and take writes to the moved keys (R6).
///
/// # Errors
/// `standby.behind` when one of them lacks it at `deadline`.
pub(super) async fn standbys_flushed(
    context: &Context,
    parties: &Parties,
    client: &Connected,
    deadline: Instant,
) -> Result<(), StepError> {
    let shard = parties.sides.origin.name.as_str();
    let ignored = &context.dispatch.options.ignore_standbys;
    let flushed = standbys::flushed(client, shard).await?;
    loop {
        let behind = standbys::behind(client, flushed, ignored, shard).await?;
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
    }
}
