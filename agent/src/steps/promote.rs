//! Promotes the standby that becomes the target.
//!
//! Order:
//! 1. The agent waits until the standby has almost no lag.
//! 2. On the source it enables the clone guard, binds the register to the source's timeline, and then writes the record
//!    of the seeding ([`crate::shard::seed`]). From its first writable moment a server that has replayed the record
//!    refuses all writes to the tables of the move (I1).
//! 3. It waits until the standby has replayed the record. The slot of the stream is older than the record.
//! 4. It records that it requests the promotion, and requests it. The request can take effect later.
//! 5. When the promoted server has the record, it replays nothing more. The agent opens the register of the source on every
//!    timeline again, and disables the clone guard there. Otherwise a failover of the source would block its writes.
//! 6. On the promoted server it closes the register, and removes what only the source may have
//!    ([`conversion`]). The switch point becomes the first progress of the stream.
//! 7. It waits until the other standbys of the source have replayed 5, and drops the slot of the promoted one if
//!    `standby create` created it.
//!
//! If the agent fails before it requests the promotion, it releases the source as in 5. After the request it does not
//! before the server has left recovery: the standby must not replay an open register and be promoted then.

mod binding;
pub(super) mod conversion;
pub(super) mod standby;

#[cfg(test)]
pub(crate) use binding::bind_source;
pub(crate) use binding::unbind_unless_requested;

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::{Direction, STANDBY_SLOT_PREFIX};
use plans::step::promote::Promoted;
use tokio_postgres::error::SqlState;

use super::cutover::gate::check_identity;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::shard::seed::{self, SeedRecord};
use crate::shard::standby_slot::{self, SlotState};
use standby::SeededTarget;

/// How long the server waits for the end of the promotion before it answers.
const PROMOTION_LIMIT: Duration = Duration::from_secs(60);

pub(super) async fn run(context: &StepContext) -> Result<Promoted, StepError> {
    let source = context.source()?;
    let session = source.session("promote").await?;
    check_identity(context, &session, Direction::Forward).await?;
    if let SeededTarget::Standby(standby) = standby::observe(context).await? {
        let record = binding::bind(context, &session, &standby).await?;
        request_promotion(context, &session, &standby, &record).await?;
    }
    fail_point::hit("promote.promoted").await?;
    let target = match standby::observe(context).await? {
        SeededTarget::Promoted(target) => target,
        SeededTarget::Standby(standby) => return Err(slow_error(&standby)),
    };
    let record = seed::read(&session, &context.token()).await?;
    let record = record.ok_or_else(|| {
        StepError::listed(
            StepCode::SeedPromoted,
            format!(
                "shard {} is no standby any more, and this migration has not requested its promotion",
                target.name
            ),
        )
    })?;
    // The target is not the source: a new session shows that the source still has the timeline that the target has left
    // (I10).
    let session = source.session("promote").await?;
    check_identity(context, &session, Direction::Forward).await?;
    let switch_point = conversion::check_promoted(context, &target, &record).await?;
    binding::unbind(context, &session).await?;
    fail_point::hit("promote.unbound").await?;
    context
        .report_message("closing the promoted server, and removing what only the source may have");
    let converted = conversion::run(context, &target, &record, switch_point).await?;
    fail_point::hit("promote.converted").await?;
    binding::wait_for_standbys(context, &session).await?;
    let unused_slot = drop_slot(&session, &context.token(), record.slot.as_deref()).await?;
    Ok(Promoted {
        unused_slot,
        ..converted
    })
}

/// Drops the slot from which the standby streamed, if `standby create` created it: it would retain log without limit.
/// Returns the slot if it stays for its owner.
pub(super) async fn drop_slot(
    source: &Connected,
    token: &EpochToken,
    slot: Option<&str>,
) -> Result<Option<String>, StepError> {
    let Some(slot) = slot else {
        return Ok(None);
    };
    if !slot.starts_with(STANDBY_SLOT_PREFIX) {
        return Ok(Some(slot.to_owned()));
    }
    let what = format!("shard {}: dropping replication slot {slot}", source.name());
    let state = standby_slot::drop_unused_as_owner(source, token, slot)
        .await
        .at(what)?;
    Ok((state == SlotState::InUse).then(|| slot.to_owned()))
}

/// Requests the promotion, after it has recorded this on the source.
pub(super) async fn request_promotion(
    context: &StepContext,
    source: &Connected,
    standby: &Shard,
    record: &SeedRecord,
) -> Result<(), StepError> {
    let token = context.token();
    let session = standby.session("promote").await?;
    if !record.requested {
        seed::set_requested(source, &token, true).await?;
    }
    fail_point::hit("promote.requested").await?;
    context.report_message("promoting the standby");
    let limit = i32::try_from(PROMOTION_LIMIT.as_secs()).unwrap_or(i32::MAX);
    let promoted = session
        .query_one("select pg_catalog.pg_promote(true, $1)", &[&limit])
        .await;
    let what = format!("shard {}: promoting the standby", standby.name);
    match promoted {
        Ok(row) if row.get(0) => Ok(()),
        Ok(_) => Err(slow_error(standby)),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            if !record.requested {
                seed::set_requested(source, &token, false).await?;
                binding::unbind_and_forget(context, source).await?;
            }
            Err(privilege_error(standby))
        }
        // Another process has promoted the standby meanwhile. The next observation finds this.
        Err(error) if error.code() == Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => Ok(()),
        Err(error) => Err(error).at(&what),
    }
}

fn privilege_error(standby: &Shard) -> StepError {
    StepError::refused(
        StepCode::SeedPrivilege,
        format!(
            "shard {}: the role of the agents may not promote the standby",
            standby.name
        ),
        "on the source, `grant execute on function pg_catalog.pg_promote(boolean, integer) to ROLE`, which reaches the standby with the log; then `resume`",
    )
}

pub(super) fn slow_error(standby: &Shard) -> StepError {
    StepError::passing(
        StepCode::SeedSlow,
        format!(
            "shard {}: the standby has not ended its promotion within {PROMOTION_LIMIT:?}; it can still take effect",
            standby.name
        ),
    )
}
