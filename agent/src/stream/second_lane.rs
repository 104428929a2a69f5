//! The position of the second lane of a change stream, stored on the downstream shard. A lane is a session that applies
//! changes on the downstream shard.
//!
//! The second lane commits a batch immediately before the first lane does. So it is at the progress, or one batch
//! ahead of it. Its rows of the transactions between the two positions are already applied (ADR 39).
//! Its row is in the table of the progress, under a name that states how rows are divided between the lanes.

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use tokio_postgres::types::ToSql;

use super::apply::DIVISION;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch::{self, EpochToken};

/// The prefix of the names of second lanes.
fn prefix(direction: Direction) -> String {
    format!("{direction}, second lane by ")
}

/// Waits until no transaction writes the position, then reads it. Returns `None` if it is not ahead of `progress`.
///
/// # Errors
/// `stream.division` if it is ahead and an agent divided the rows in another way. A transient error if a transaction
/// keeps the row locked; the lock timeout of the session then stays as this function set it.
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
    let parameters: [&(dyn ToSql + Sync); 2] = [&token.migration.0, &prefix(direction)];
    let rows = apply_progress::query_settled(client, sql, &parameters, &what).await?;
    let ahead = rows
        .iter()
        .map(|row| (row.get::<_, String>(0), row.get::<_, Lsn>(1)))
        .find(|(_, lsn)| *lsn > progress);
    match ahead {
        None => Ok(None),
        Some((name, lsn)) if name == prefix(direction) + DIVISION => Ok(Some(lsn)),
        Some((name, lsn)) => Err(StepError::refused(
            StepCode::StreamDivision,
            format!(
                "shard {shard}: {name:?} has applied changes up to {lsn}; this agent divides rows by {DIVISION}"
            ),
            "continue with an agent of the version that applied them, or `abort` the migration",
        )),
    }
}

/// Creates the row of the second lane durably before that lane first applies changes, so that a later reader waits
/// for an open transaction of the lane.
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
    let name = prefix(direction) + DIVISION;
    apply_progress::write_as(client, token, &name, position).await
}
