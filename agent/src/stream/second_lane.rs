//! The position of the second lane of a change stream, stored on the downstream shard. A lane is one of the two
//! sessions that apply a backlog together.
//!
//! The second lane commits its part of a batch immediately before the first lane does. So its position is that of the
//! progress, or one batch ahead. If it is ahead, the second lane has already applied its rows of the transactions
//! between the two positions (ADR 39). The table of the progress has a row for the position. The name of this row
//! states how rows are divided between the lanes.

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use tokio_postgres::types::ToSql;

use super::apply::DIVISION;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch::{self, EpochToken};

/// Returns how the name of a second lane's row begins. [`DIVISION`] follows it.
fn name_prefix(direction: Direction) -> String {
    format!("{direction}, second lane by ")
}

/// Waits until no open transaction has written the position, then reads it. Returns `None` if it is not ahead of
/// `progress`.
///
/// # Errors
/// `stream.division` if it is ahead, and the agent that wrote it divided the rows in another way. A transient error if
/// another transaction keeps the row locked; the session then keeps the lock timeout that this function has set.
pub(crate) async fn read_position_ahead(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    progress: Lsn,
) -> Result<Option<Lsn>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading the position of the second lane");
    let sql = "select direction, lsn from shardwright.progress
               where migration = $1 and pg_catalog.starts_with(direction, $2) for update";
    let parameters: [&(dyn ToSql + Sync); 2] = [&token.migration.0, &name_prefix(direction)];
    let rows = apply_progress::query_settled(client, sql, &parameters, &what).await?;
    let ahead = rows
        .iter()
        .map(|row| (row.get::<_, String>(0), row.get::<_, Lsn>(1)))
        .find(|(_, lsn)| *lsn > progress);
    match ahead {
        None => Ok(None),
        Some((name, lsn)) if name == name_prefix(direction) + DIVISION => Ok(Some(lsn)),
        Some((name, lsn)) => Err(StepError::refused(
            StepCode::StreamDivision,
            format!(
                "shard {shard}: {name:?} has applied changes up to {lsn}; this agent divides rows between its sessions by {DIVISION}"
            ),
            "continue with an agent of the version that applied these changes, or `abort` the migration",
        )),
    }
}

/// Creates the row of the second lane durably, before the lane first applies changes. A later reader can then lock the
/// row, and so waits for an open transaction of the lane.
///
/// # Errors
/// An error of the server.
pub(crate) async fn create_row(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = client.name();
    apply_progress::prepare(client).await?;
    epoch::begin(client, token).await?;
    write_position(client, token, direction, Lsn(0)).await?;
    epoch::commit(client, &format!("shard {shard}: preparing a second lane")).await
}

/// Writes the position inside the caller's transaction, which has proved its epoch.
pub(crate) async fn write_position(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    lsn: Lsn,
) -> Result<(), StepError> {
    let position = ApplyProgress {
        lsn,
        opened: true,
        transactions: 0,
        changes: 0,
    };
    let name = name_prefix(direction) + DIVISION;
    apply_progress::write_as(client, token, &name, position).await
}
