//! A slot that nobody reads yet keeps log for nothing: it is moved along while its shard is closed.
//!
//! Everything that is written to the moving keys there is ours then, and the stream will discard it up to the open
//! marker. The position is read before the register is seen closed, so that no open marker lies before it: moving
//! the slot there is right at any later time. The progress goes first (I3).

use plans::names::Direction;
use tokio_postgres::error::SqlState;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::{epoch, register};
use crate::steps::verify::StreamShards;

/// A slot that standbys keep a copy of moves only as far as they are.
const PATIENCE: &str = "set statement_timeout = '2s'";

/// Moves the slot of a stream that has not begun to where its shard's log ends now.
pub(crate) async fn let_log_go(
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    let sides = StreamShards::of(context, direction)?;
    // The shard that the stream comes from owns nothing: the flip that the token excludes has not been.
    let token = StreamShards::of(context, opposite(direction))?.token;
    let (origin, destination) = (&sides.origin, &sides.destination);
    let session = origin.session("spare").await?;
    let slot = context.dispatch.migration.slot(direction);
    let what = format!("shard {}: moving slot {slot} along", origin.name);
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
    if register::read(&session, &token, &what).await?.register != i64::MAX {
        return Ok(());
    }
    let there = destination.session("spare").await?;
    epoch::begin(&there, &token).await?;
    let known = apply_progress::read_settled(&there, &token, direction).await?;
    if known.is_none_or(|known| known.opened || known.lsn >= end) {
        epoch::rollback(&there).await;
        return Ok(());
    }
    let moved = ApplyProgress {
        lsn: end,
        opened: false,
        transactions: 0,
        changes: 0,
    };
    apply_progress::write(&there, &token, direction, moved).await?;
    epoch::commit(&there, &what).await?;
    session.batch_execute(PATIENCE).await.at(&what)?;
    let advanced = session
        .execute(
            "select pg_catalog.pg_replication_slot_advance($1, $2)",
            &[&slot, &end],
        )
        .await;
    match advanced {
        // Somebody reads it by now, it is further already, or it waits for a standby.
        Err(error) if passed(&error) => Ok(()),
        other => other.at(&what).map(|_| ()),
    }
}

fn passed(error: &tokio_postgres::Error) -> bool {
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
