//! Holders: two sessions that keep the snapshot of the slot importable, even if the agent dies.
//!
//! A server process in `pg_sleep` continues after its client has ended. Each holder sleeps for at most 40 s at a time.
//! The times are staggered, so that one of the two always has at least 15 s left. The name of a holder's session
//! contains the exported snapshot, so that the next owner can import it and then end the holder.

use connect::Connected;
use plans::table::TableName;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;

use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;

/// The time of one sleep, in seconds.
const SLEEP_S: f64 = 40.0;

/// The holders of one snapshot. If this is dropped, the sessions end when their sleep ends.
#[derive(Debug)]
pub(crate) struct SnapshotHolders {
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for SnapshotHolders {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl SnapshotHolders {
    /// Returns true while the sessions of all holders are alive.
    pub(crate) fn are_alive(&self) -> bool {
        self.tasks.iter().all(|task| !task.is_finished())
    }

    /// Imports `snapshot` into two new sessions, names them after their exports, and then ends the holders of earlier
    /// owners.
    pub(crate) async fn start(
        shard: &Shard,
        migration: &str,
        snapshot: &str,
    ) -> Result<Self, StepError> {
        let mut tasks = Vec::new();
        let mut pids = Vec::new();
        for first_turn in [SLEEP_S / 2.0, SLEEP_S] {
            let session = shard.session("holder").await?;
            let what = format!("shard {}: holding the snapshot", shard.name);
            let pid = hold_snapshot(&session, snapshot, migration)
                .await
                .at(&what)?;
            pids.push(pid);
            tasks.push(tokio::spawn(sleep_in_turns(session, first_turn)));
        }
        let holders = Self { tasks };
        let session = shard.session("snapshot").await?;
        end_holders_except(&session, migration, &pids)
            .await
            .at(format_args!("shard {}: ending older holders", shard.name))?;
        Ok(holders)
    }
}

/// Imports the snapshot into a session and exports it again. Returns the process id of the session.
async fn hold_snapshot(
    session: &Connected,
    snapshot: &str,
    migration: &str,
) -> Result<i32, tokio_postgres::Error> {
    session
        .batch_execute("set client_connection_check_interval = 0")
        .await?;
    begin_with_snapshot(session, snapshot, "").await?;
    let row = session
        .query_one(
            "select pg_catalog.pg_export_snapshot(), pg_catalog.pg_backend_pid()",
            &[],
        )
        .await?;
    let (exported, pid): (String, i32) = (row.get(0), row.get(1));
    // The next owner sees the name of the session at once, and the name disappears with the session.
    let name = holder_name(migration, &exported);
    session
        .execute(
            "select pg_catalog.set_config('application_name', $1, false)",
            &[&name],
        )
        .await?;
    Ok(pid)
}

/// Returns the `application_name` of a holder.
fn holder_name(migration: &str, exported: &str) -> String {
    format!("shardwright/{migration}/holder/{exported}")
}

/// Sleeps repeatedly until the session ends.
async fn sleep_in_turns(session: Connected, first_turn: f64) {
    let mut turn = first_turn;
    while session
        .execute("select pg_catalog.pg_sleep($1)", &[&turn])
        .await
        .is_ok()
    {
        turn = SLEEP_S;
    }
}

/// Ends the holders of the migration except those with the process ids in `keep`.
async fn end_holders_except(
    session: &Connected,
    migration: &str,
    keep: &[i32],
) -> Result<(), tokio_postgres::Error> {
    session
        .execute(
            "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
             where application_name like $1 and pid <> all ($2)",
            &[&holder_name(migration, "%"), &keep],
        )
        .await?;
    Ok(())
}

/// Ends all holders of the migration. Their snapshot can then no longer be imported.
pub(crate) async fn end_holders(session: &Connected, migration: &str) -> Result<(), StepError> {
    let shard = session.name();
    end_holders_except(session, migration, &[])
        .await
        .at(format_args!("shard {shard}: ending holders"))
}

/// Returns the names under which the snapshot can be imported, the newest first.
pub(crate) async fn importable_names(
    client: &Connected,
    migration: &str,
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select pg_catalog.substring(application_name, '/holder/(.+)$')
             from pg_catalog.pg_stat_activity
             where application_name like $1 and backend_xmin is not null
             order by backend_start desc",
            &[&holder_name(migration, "%")],
        )
        .await
        .at(format_args!(
            "shard {shard}: searching for the snapshot's holders"
        ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Opens a repeatable-read transaction with the snapshot `snapshot`.
pub(crate) async fn begin_with_snapshot(
    client: &Connected,
    snapshot: &str,
    mode: &str,
) -> Result<(), tokio_postgres::Error> {
    client
        .batch_execute(&format!(
            "begin isolation level repeatable read {mode}; set transaction snapshot {}",
            plans::sql::quote_literal(snapshot)
        ))
        .await
}

/// Opens a read-only transaction with a snapshot of its own.
pub(crate) async fn begin_read_only(client: &Connected) -> Result<(), StepError> {
    let begun = client
        .batch_execute("begin isolation level repeatable read read only")
        .await;
    begun.at(format_args!("shard {}: taking a snapshot", client.name()))
}

/// Opens a read-only transaction with the held snapshot. Returns false if no session holds it any more.
pub(crate) async fn begin_with_held(
    client: &Connected,
    migration: &str,
) -> Result<bool, StepError> {
    let shard = client.name();
    for snapshot in importable_names(client, migration).await? {
        match begin_with_snapshot(client, &snapshot, "read only").await {
            Ok(()) => return Ok(true),
            Err(error) if is_snapshot_gone(&error) => super::epoch::rollback(client).await,
            Err(error) => {
                return Err(error).at(format_args!("shard {shard}: importing the snapshot"));
            }
        }
    }
    Ok(false)
}

/// Returns the present file node of a table, and the one that the snapshot of the session's transaction sees. If they
/// differ, a command has rewritten the table since the snapshot, which does not see rows that ALTER TABLE has rewritten.
/// The transaction must have the table's lock.
pub(crate) async fn file_nodes(
    session: &Connected,
    table: &TableName,
) -> Result<(u32, u32), StepError> {
    let row = session
        .query_one(
            "select pg_catalog.pg_relation_filenode(c.oid), c.relfilenode
             from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)",
            &[&table.sql()],
        )
        .await
        .at(format_args!("shard {}: checking {table}", session.name()))?;
    Ok((row.get(0), row.get(1)))
}

/// Returns true if the error means that the snapshot can no longer be imported.
fn is_snapshot_gone(error: &tokio_postgres::Error) -> bool {
    [
        SqlState::INVALID_PARAMETER_VALUE,
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        SqlState::UNDEFINED_OBJECT,
        SqlState::UNDEFINED_FILE,
    ]
    .iter()
    .any(|state| error.code() == Some(state))
}
