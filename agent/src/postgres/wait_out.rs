//! Wait-out (C4, C8): every transaction that may have read "open" from the register has ended. After the seal of an
//! online cutover (C8) these are the transactions that passed the guard while the fence had expired (ADR 44). The
//! register is the sequence that the guard trigger reads.
//!
//! Such a transaction holds a RowExclusive or stronger lock on a moving table until it ends. The agent records its
//! virtual transaction id and not its pid, because PREPARE TRANSACTION detaches the transaction from the pid (R14). The
//! agent does not wait for autovacuum and concurrent index builds, which use other lock modes.

use std::collections::BTreeSet;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::{MovingTable, TableKey};
use tokio::time::Instant;
use tokio_postgres::types::ToSql;

use crate::error::{StepError, WithIntent};

/// The pause after the second check for writers; the second check follows the first immediately. Each later pause is
/// twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(250);
/// The longest pause between two checks for writers.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Query for the transactions that hold a writer's lock on the tables of `$1`, or that create something in the schemas of
/// `$1`, by virtual transaction id. See [`awaited_names`].
macro_rules! lock_holders {
    () => {
        "select distinct l.virtualtransaction
   from pg_catalog.pg_locks l
   where l.granted
     and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
     and (l.locktype = 'relation'
          and l.relation = any (select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::text[]) name
                                where not pg_catalog.starts_with(name, 'schema '))
          and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
          or l.locktype = 'object' and l.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
          and l.objid = any (select n.oid from pg_catalog.pg_namespace n
                             where pg_catalog.concat('schema ', n.nspname) = any ($1::text[])))"
    };
}

/// Query for the current writers on the moving tables `$1`, without the agent's own sessions.
pub(crate) const WRITERS: &str = concat!(
    lock_holders!(),
    "
     and not exists (
       select 1 from pg_catalog.pg_stat_activity a
       where a.pid = l.pid and a.usename = session_user and a.application_name like 'shardwright/%')"
);

/// Query for the current writers on the tables `$1`, also those of the agent, except this session.
const WRITERS_AND_OURS: &str =
    concat!(lock_holders!(), " and l.pid <> pg_catalog.pg_backend_pid()");

/// Returns the virtual transaction id of the session's transaction. No other transaction ever has the same one.
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
            "shard {shard}: reading the id of a virtual transaction"
        ))?;
    Ok(row.get(0))
}

/// Returns the names for [`WRITERS`]: the tables in SQL, and `schema NAME` for moving schemas. A transaction that creates a
/// table in a schema holds a lock on the schema until it ends; no other session sees its table before. No name of a table
/// begins with `schema` and a space, because such a name is quoted.
pub(crate) fn awaited_names(tables: &[MovingTable]) -> Vec<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for table in tables {
        names.insert(table.table.sql());
        if let TableKey::Schema(schema) = &table.key {
            names.insert(format!("schema {schema}"));
        }
    }
    names.into_iter().collect()
}

/// Returns the current writers on the moving tables, by virtual transaction id.
pub(crate) async fn writers(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<BTreeSet<String>, StepError> {
    list_writers(client, WRITERS, &awaited_names(tables)).await
}

/// Waits until every transaction that currently writes to these tables has ended, including those of the agent, or
/// until `deadline`.
pub(crate) async fn wait_for_all_writers(
    client: &Connected,
    tables: &[String],
    deadline: Instant,
) -> Result<(), StepError> {
    let mut left = list_writers(client, WRITERS_AND_OURS, &tables).await?;
    while !left.is_empty() && Instant::now() < deadline {
        tokio::time::sleep(LONGEST_PAUSE).await;
        left = remaining(&left, client).await?;
    }
    Ok(())
}

/// Executes a query for writers that has one parameter.
async fn list_writers(
    client: &Connected,
    query: &str,
    parameter: &(dyn ToSql + Sync),
) -> Result<BTreeSet<String>, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared(query, &[parameter])
        .await
        .at(format_args!("shard {shard}: listing writers"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Waits until every current writer has ended.
///
/// # Errors
/// As [`wait_for_end`].
pub(crate) async fn wait_out(
    client: &Connected,
    tables: &[MovingTable],
    deadline: Instant,
) -> Result<(), StepError> {
    let remembered = writers(client, tables).await?;
    wait_for_end(remembered, client, deadline).await
}

/// Returns the writers of `remembered` that have not ended. A transaction holds its locks until it ends, so any lock
/// shows that the transaction continues; the query need not check tables and sessions again.
pub(crate) async fn remaining(
    remembered: &BTreeSet<String>,
    client: &Connected,
) -> Result<BTreeSet<String>, StepError> {
    let remembered: Vec<&str> = remembered.iter().map(String::as_str).collect();
    let query = "select distinct l.virtualtransaction
         from pg_catalog.pg_locks l
         where l.locktype = 'relation' and l.granted and l.virtualtransaction = any ($1::text[])";
    list_writers(client, query, &remembered).await
}

/// Waits until every writer of `remembered` has ended.
///
/// # Errors
/// Returns `wait_out.budget` if one of them has not ended at `deadline`.
pub(crate) async fn wait_for_end(
    mut remembered: BTreeSet<String>,
    client: &Connected,
    deadline: Instant,
) -> Result<(), StepError> {
    let shard = client.name();
    let mut pause = FIRST_PAUSE;
    while !remembered.is_empty() {
        if Instant::now() >= deadline {
            return Err(StepError::not_yet(
                StepCode::WaitOutBudget,
                format!(
                    "shard {shard}: {} writer(s) of the moving tables did not end within the budget of the \
                     write-blocked window",
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
