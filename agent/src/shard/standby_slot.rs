//! The physical replication slots from which standbys stream that `standby create` creates.
//!
//! The control store records a slot before it exists. `cleanup` drops a slot from which no registered standby streams, and
//! the step `promote`, or an abort after the promotion, drops that of the standby that was promoted.

use connect::Connected;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;

use super::epoch::{self, EpochToken};

/// A slot after an attempt to drop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// It does not exist any more.
    Dropped,
    /// It exists, because a server streams from it.
    InUse,
}

/// Drops a physical slot if it exists and nothing streams from it.
pub(crate) async fn drop_unused(
    session: &Connected,
    slot: &str,
) -> Result<SlotState, tokio_postgres::Error> {
    let dropped = session.batch_execute(&drop_sql(slot)).await;
    state_after(session, slot, dropped).await
}

/// Does the same in a transaction that first proves the database and the epoch (I7).
pub(crate) async fn drop_unused_as_owner(
    session: &Connected,
    token: &EpochToken,
    slot: &str,
) -> Result<SlotState, tokio_postgres::Error> {
    let dropped = epoch::execute(session, token, &drop_sql(slot)).await;
    state_after(session, slot, dropped).await
}

fn drop_sql(slot: &str) -> String {
    format!(
        "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots
         where slot_name = {} and slot_type = 'physical' and active_pid is null",
        quote_literal(slot)
    )
}

async fn state_after(
    session: &Connected,
    slot: &str,
    dropped: Result<(), tokio_postgres::Error>,
) -> Result<SlotState, tokio_postgres::Error> {
    match dropped {
        // A server has begun to stream from it meanwhile.
        Err(error) if error.code() != Some(&SqlState::OBJECT_IN_USE) => return Err(error),
        Err(_) | Ok(()) => {}
    }
    let exists = "select exists (select from pg_catalog.pg_replication_slots where slot_name = $1)";
    let exists: bool = session.query_one(exists, &[&slot]).await?.get(0);
    Ok(match exists {
        true => SlotState::InUse,
        false => SlotState::Dropped,
    })
}
