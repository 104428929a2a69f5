//! Holders: two sessions that keep the slot's snapshot importable, also beyond the life of an agent.
//!
//! A backend inside `pg_sleep` outlives its client. Each holder sleeps in turns of at most 40 s,
//! staggered, so that at any moment one of them has at least 15 s left. Their session names carry the
//! exported snapshot, so that the next owner can import from them and then end them.

use connect::Connected;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;

use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;

/// One turn of sleep, seconds.
const SLEEP_S: f64 = 40.0;

/// The holders of one snapshot; dropping them lets the sessions end within a turn.
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
    /// True while every holder's session is alive.
    pub(crate) fn are_alive(&self) -> bool {
        self.tasks.iter().all(|task| !task.is_finished())
    }

    /// Imports `snapshot` into two new sessions, records them, then ends the holders of earlier owners.
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
    // The session's name carries the exported name: visible to the next owner at once, gone with the session.
    let name = holder_name(migration, &exported);
    session
        .execute(
            "select pg_catalog.set_config('application_name', $1, false)",
            &[&name],
        )
        .await?;
    Ok(pid)
}

fn holder_name(migration: &str, exported: &str) -> String {
    format!("shardwright/{migration}/holder/{exported}")
}

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

/// Ends every holder of the migration; their snapshot is gone for good.
pub(crate) async fn end_holders(session: &Connected, migration: &str) -> Result<(), StepError> {
    let shard = session.name();
    end_holders_except(session, migration, &[])
        .await
        .at(format_args!("shard {shard}: ending holders"))
}

/// Names under which the snapshot can be imported now, newest first.
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
            "shard {shard}: looking for the snapshot's holders"
        ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Opens a repeatable-read transaction that sees what `snapshot` sees.
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

/// Opens a read-only transaction on the held snapshot; `false` when nobody holds it any more.
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
