//! How far the second lane of a change stream is, on the shard that it writes to.
//!
//! It commits a batch right before the first lane does, so it is at the progress, or one batch ahead of it: of the
//! transactions in between its rows are applied already (ADR 39).
//! Its row stands beside that of the progress, under a name that says how rows are divided between the lanes.

use connect::Connected;
use plans::names::Direction;
use tokio_postgres::types::ToSql;

use super::apply::DIVISION;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch::{self, EpochToken};

/// What names of second lanes begin with.
fn prefix(direction: Direction) -> String {
    format!("{direction}, second lane by ")
}

/// Reads where it is, once no transaction is writing that; `None` where that is not ahead of `progress`.
///
/// # Errors
/// `stream.division` when it is ahead and rows were divided in another way; one that passes when the row is not settled
/// in time, the session's lock timeout is then what it was set to here.
pub(crate) async fn read_settled(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    progress: Lsn,
) -> Result<Option<Lsn>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading how far the second lane is");
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
            "stream.division",
            format!(
                "shard {shard}: a {name} has applied changes up to {lsn}; this agent divides rows by {DIVISION}"
            ),
            "let an agent of the version that did so go on, or `abort` it",
        )),
    }
}

/// Makes its row, durably, before it first applies anything: whoever reads it later waits for what is under way.
///
/// # Errors
/// What the server says.
pub(crate) async fn make(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = client.name();
    apply_progress::prepare(client).await?;
    epoch::begin(client, token).await?;
    write(client, token, direction, Lsn(0)).await?;
    epoch::commit(client, &format!("shard {shard}: preparing a second lane")).await
}

/// Writes where it is, inside the caller's transaction, which has proved its epoch.
pub(crate) async fn write(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    lsn: Lsn,
) -> Result<(), StepError> {
    let reached = ApplyProgress {
        lsn,
        opened: true,
        transactions: 0,
        changes: 0,
    };
    let name = prefix(direction) + DIVISION;
    apply_progress::write_as(client, token, &name, reached).await
}
