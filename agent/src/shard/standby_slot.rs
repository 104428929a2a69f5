//! The physical replication slots from which standbys stream that `standby create` creates.
//!
//! The control store records a slot before it exists. `cleanup` drops a slot from which no registered standby streams, and
//! the step `promote` drops that of the standby that it has promoted.

use connect::Connected;
use tokio_postgres::error::SqlState;

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
    let dropped = session
        .query_opt(
            "select case when active_pid is null then pg_catalog.pg_drop_replication_slot(slot_name) end, active_pid is null
             from pg_catalog.pg_replication_slots where slot_name = $1 and slot_type = 'physical'",
            &[&slot],
        )
        .await;
    match dropped {
        Ok(Some(row)) if !row.get::<_, bool>(1) => Ok(SlotState::InUse),
        Ok(_) => Ok(SlotState::Dropped),
        Err(error) if error.code() == Some(&SqlState::OBJECT_IN_USE) => Ok(SlotState::InUse),
        Err(error) => Err(error),
    }
}
