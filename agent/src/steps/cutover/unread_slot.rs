//! Advances a slot that no stream reads yet, while its shard is closed, so that the shard does not retain WAL for it.
//!
//! While the shard is closed, only the agent writes to the moving keys there, and the stream would skip these changes
//! up to the open marker. The agent reads the position before it reads that the register is closed, so no open marker
//! precedes the position. The slot may therefore be advanced to it at any later time. The agent writes the progress row
//! first (I3).

use plans::names::Direction;
use tokio_postgres::error::SqlState;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::shard::register::{self, Register};
use crate::steps::verify::StreamShards;

/// A failover slot can be advanced only to a position that its standbys have received.
const SET_STATEMENT_TIMEOUT: &str = "set statement_timeout = '2s'";

/// Advances the slot of a stream that has not begun to the current end of its shard's WAL.
pub(crate) async fn advance_unread_slot(
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    let shards = StreamShards::of(context, direction)?;
    // The upstream shard of this stream does not own the keys, so the proof is that of the cutover to it, before its
    // flip.
    let token = StreamShards::of(context, opposite(direction))?.token;
    let (upstream, downstream) = (&shards.upstream, &shards.downstream);
    let session = upstream.session("spare").await?;
    let slot = context.dispatch.migration.slot(direction);
    let what = format!("shard {}: moving slot {slot} along", upstream.name);
    let row = session
        .query_opt(
            "select pg_catalog.pg_current_wal_flush_lsn() from pg_catalog.pg_replication_slots
             where slot_name = $1 and not active",
            &[&slot],
        )
        .await
        .at(&what)?;
    let Some(row) = row else { return Ok(()) };
    let end: Lsn = row.get(0);
    if register::read(&session, &token, &what).await?.register != Register::Closed {
        return Ok(());
    }
    let progress_session = downstream.session("spare").await?;
    epoch::begin(&progress_session, &token).await?;
    let known = apply_progress::read_settled(&progress_session, &token, direction).await?;
    if known.is_none_or(|known| known.opened || known.lsn >= end) {
        epoch::rollback(&progress_session).await;
        return Ok(());
    }
    let moved = ApplyProgress {
        lsn: end,
        opened: false,
        transactions: 0,
        changes: 0,
    };
    apply_progress::write(&progress_session, &token, direction, moved).await?;
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
        // These errors are expected: a stream reads the slot, the slot is already further, or the advance waits for a
        // standby.
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
