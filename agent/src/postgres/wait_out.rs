//! Wait-out (C4, C8): every transaction that may have read "open" from the register has ended. Behind the seal of an
//! online cutover those are left who passed a fence that had ended (ADR 44).
//!
//! Such a transaction holds a row-exclusive or stronger lock on a moving table to its end.
//! It is remembered by its virtual transaction id, never by pid: PREPARE TRANSACTION gives the pid
//! up and keeps the other (R14). Autovacuum and index builds hold other modes and are not waited for.

use std::collections::BTreeSet;
use std::time::Duration;

use connect::Connected;
use plans::table::MovingTable;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;

use crate::error::{StepError, WithIntent};

/// Pause after a second look at writers that have not ended, which comes at once; each one after that is twice as long.
const FIRST_PAUSE: Duration = Duration::from_micros(250);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Transactions that hold a writer's lock on the tables `$1`, by virtual transaction id.
macro_rules! lock_holders {
    () => {
        "select distinct l.virtualtransaction
   from pg_catalog.pg_locks l
   where l.locktype = 'relation' and l.granted
     and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
     and l.relation = any (select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::text[]) name)
     and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"
    };
}

/// Writers on the moving tables `$1` right now, by virtual transaction id; sessions of ours are excepted.
pub(crate) const WRITERS: &str = concat!(
    lock_holders!(),
    "
     and not exists (
       select 1 from pg_catalog.pg_stat_activity a
       where a.pid = l.pid and a.usename = session_user and a.application_name like 'shardwright/%')"
);

/// The same of every session but this one.
const WRITERS_AND_OURS: &str =
    concat!(lock_holders!(), " and l.pid <> pg_catalog.pg_backend_pid()");

/// The virtual transaction id of the session's transaction: no other one ever has it.
pub(crate) async fn virtual_transaction(client: &Connected) -> Result<String, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select l.virtualtransaction from pg_catalog.pg_locks l
             where l.locktype = 'virtualxid' and l.pid = pg_catalog.pg_backend_pid()",
            &[],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading a transaction's number"
        ))?;
    Ok(row.get(0))
}

/// Writers on the moving tables right now, by virtual transaction id.
pub(crate) async fn writers(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<BTreeSet<String>, StepError> {
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    listed(client, WRITERS, &names).await
}

/// Waits until every transaction that writes to these tables now has ended, of sessions of ours too, or until `deadline`.
pub(crate) async fn wait_for_all_writers(
    client: &Connected,
    tables: &[String],
    deadline: Instant,
) -> Result<(), StepError> {
    let mut left = listed(client, WRITERS_AND_OURS, &tables).await?;
    while !left.is_empty() && Instant::now() < deadline {
        tokio::time::sleep(LONGEST_PAUSE).await;
        left = remaining(&left, client).await?;
    }
    Ok(())
}

async fn listed(
    client: &Connected,
    statement: &str,
    those: &(dyn ToSql + Sync),
) -> Result<BTreeSet<String>, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared(statement, &[those])
        .await
        .at(format_args!("shard {shard}: listing writers"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Waits until every writer that is there now has ended.
///
/// # Errors
/// As [`ended`].
pub(crate) async fn wait_out(
    client: &Connected,
    tables: &[MovingTable],
    deadline: Instant,
) -> Result<(), StepError> {
    let remembered = writers(client, tables).await?;
    ended(remembered, client, deadline).await
}

/// Those of `remembered` that have not ended. Locks are held to the end, so any of theirs says it, and nothing is asked
/// of the tables and the sessions again.
pub(crate) async fn remaining(
    remembered: &BTreeSet<String>,
    client: &Connected,
) -> Result<BTreeSet<String>, StepError> {
    let remembered: Vec<&str> = remembered.iter().map(String::as_str).collect();
    let left = "select distinct l.virtualtransaction
         from pg_catalog.pg_locks l
         where l.locktype = 'relation' and l.granted and l.virtualtransaction = any ($1::text[])";
    listed(client, left, &remembered).await
}

/// Waits until every writer of `remembered` has ended.
///
/// # Errors
/// `wait_out.budget` when one of them is still there at `deadline`.
pub(crate) async fn ended(
    mut remembered: BTreeSet<String>,
    client: &Connected,
    deadline: Instant,
) -> Result<(), StepError> {
    let shard = client.name();
    let mut pause = FIRST_PAUSE;
    while !remembered.is_empty() {
        if Instant::now() >= deadline {
            return Err(StepError::not_yet(
                "wait_out.budget",
                format!(
                    "shard {shard}: {} writer(s) of the moving tables did not end within the write-stop budget",
                    remembered.len()
                ),
            ));
        }
        remembered = remaining(&remembered, client).await?;
        if !remembered.is_empty() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    Ok(())
}
