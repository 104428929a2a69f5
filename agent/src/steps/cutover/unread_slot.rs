//! Advances a slot that no stream reads yet, while its shard is closed, so that the shard does not retain WAL for it.
//!
//! The stream will skip everything before the open marker: while the shard is closed, only the agent writes to the
//! moving keys there. The agent reads the position first, and then reads that the register is closed. So the open
//! marker will come after the position, and the agent may advance the slot to the position at any later time. It writes
//! the progress row before (I3).
//!
//! The position is one that every connected standby of the shard has flushed. A progress that a promoted standby has not
//! reached would prove nothing about it, and the stream could not continue there.

use plans::names::Direction;
use tokio_postgres::error::SqlState;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::standbys::{self, StandbySlots};
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::shard::register::{self, Register};
use crate::steps::verify::StreamShards;

/// Limits the advance, which waits for standbys if the slot is a failover slot.
const SET_STATEMENT_TIMEOUT: &str = "set statement_timeout = '2s'";

/// Advances the slot of a stream that has not begun to the end of what its shard and each standby have flushed.
pub(crate) async fn advance_unread_slot(
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    let shards = StreamShards::of(context, direction)?;
    // The upstream shard of this stream does not own the keys yet. So the proof of epoch is the one that is valid
    // before the cutover to this shard: that of the opposite stream.
    let token = StreamShards::of(context, opposite(direction))?.token;
    let (upstream, downstream) = (&shards.upstream, &shards.downstream);
    let session = upstream.session("spare").await?;
    let slot = context.dispatch.migration.slot(direction);
    let what = format!("shard {}: advancing slot {slot}", upstream.name);
    let row = session
        .query_opt(
            "select pg_catalog.pg_current_wal_flush_lsn() from pg_catalog.pg_replication_slots
             where slot_name = $1 and not active",
            &[&slot],
        )
        .await
        .at(&what)?;
    let Some(row) = row else { return Ok(()) };
    let written: Lsn = row.get(0);
    let ignored = &context.dispatch.options.ignore_standbys;
    let slowest = standbys::slowest_standby(&session, ignored, &StandbySlots::default()).await?;
    let end = slowest.map_or(written, |standby| standby.flushed.min(written));
    if register::read(&session, &token, &what).await?.register != Register::Closed {
        return Ok(());
    }
    let progress_session = downstream.session("spare").await?;
    epoch::begin(&progress_session, &token).await?;
    let progress = apply_progress::read_settled(&progress_session, &token, direction).await?;
    if progress.is_none_or(|progress| progress.opened || progress.lsn >= end) {
        epoch::rollback(&progress_session).await;
        return Ok(());
    }
    let advanced_progress = ApplyProgress {
        lsn: end,
        opened: false,
        transactions: 0,
        changes: 0,
    };
    apply_progress::write(&progress_session, &token, direction, advanced_progress).await?;
    epoch::commit(&progress_session, &what).await?;
    session
        .batch_execute(SET_STATEMENT_TIMEOUT)
        .await
        .at(&what)?;
    let advanced = session
        .execute(
            "select pg_catalog.pg_replication_slot_advance($1, $2)",
            &[&slot, &end],
        )
        .await;
    match advanced {
        // These errors are expected: a stream reads the slot, the slot has already a later position, or the advance
        // waits for a standby. The agent tries again later.
        Err(error) if is_expected(&error) => Ok(()),
        other => other.at(&what).map(|_| ()),
    }
}

fn is_expected(error: &tokio_postgres::Error) -> bool {
    let states = [
        SqlState::QUERY_CANCELED,
        SqlState::OBJECT_IN_USE,
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
    ];
    error.code().is_some_and(|code| states.contains(code))
}

pub(super) fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Reverse,
        Direction::Reverse => Direction::Forward,
    }
}
