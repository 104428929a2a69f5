//! Wait-out (C4, C8): every transaction that may have read "open" from the register has ended.
//!
//! Such a transaction holds a row-exclusive or stronger lock on a moving table to its end.
//! It is remembered by its virtual transaction id, never by pid: PREPARE TRANSACTION gives the pid
//! up and keeps the other (R14). Autovacuum and index builds hold other modes and are not waited for.

use std::collections::BTreeSet;
use std::time::Duration;

use connect::Connected;
use plans::table::MovingTable;
use tokio::time::Instant;

use crate::error::{At, StepError};

/// Pause after the first look at writers that have not ended; each one after that is twice as long.
const FIRST_PAUSE: Duration = Duration::from_micros(250);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Writers on the moving tables `$1` right now, by virtual transaction id; sessions of ours are excepted.
pub(super) const WRITERS: &str = "select distinct l.virtualtransaction
   from pg_catalog.pg_locks l
   where l.locktype = 'relation' and l.granted
     and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
     and l.relation = any (select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::text[]) name)
     and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
     and not exists (
       select 1 from pg_catalog.pg_stat_activity a
       where a.pid = l.pid and a.usename = session_user and a.application_name like 'shardwright/%')";
/// Those of the virtual transactions `$1` that have not ended. Locks are held to the end, so any of theirs says it, and
/// nothing is asked of the tables and the sessions again.
pub(super) const REMAINING: &str = "select distinct l.virtualtransaction
   from pg_catalog.pg_locks l
   where l.locktype = 'relation' and l.granted and l.virtualtransaction = any ($1::text[])";

/// Writers on the moving tables right now, by virtual transaction id.
pub(crate) async fn writers(
    client: &Connected,
    tables: &[MovingTable],
    shard: &str,
) -> Result<BTreeSet<String>, StepError> {
    let names = tables.iter().map(|table| table.table.sql()).collect();
    listed(client, WRITERS, names, shard).await
}

async fn listed(
    client: &Connected,
    statement: &str,
    those: Vec<String>,
    shard: &str,
) -> Result<BTreeSet<String>, StepError> {
    let rows = client
        .query_prepared(statement, &[&those])
        .await
        .at(format_args!("shard {shard}: listing writers"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Waits until every writer that is there now has ended.
///
/// # Errors
/// As [`Patience::pause`].
pub(crate) async fn wait_out(
    client: &Connected,
    tables: &[MovingTable],
    deadline: Instant,
    shard: &str,
) -> Result<(), StepError> {
    let mut remembered = writers(client, tables, shard).await?;
    let mut patience = Patience::until(deadline, shard);
    while !remembered.is_empty() {
        patience.pause(remembered.len()).await?;
        remembered = listed(client, REMAINING, remembered.into_iter().collect(), shard).await?;
    }
    Ok(())
}

/// How long writers that have not ended are waited for.
pub(super) struct Patience<'a> {
    pause: Duration,
    deadline: Instant,
    shard: &'a str,
}

impl<'a> Patience<'a> {
    pub(super) fn until(deadline: Instant, shard: &'a str) -> Self {
        let pause = FIRST_PAUSE;
        Self {
            pause,
            deadline,
            shard,
        }
    }

    /// Lets so many writers go on for a moment.
    ///
    /// # Errors
    /// `wait_out.budget` at the deadline.
    pub(super) async fn pause(&mut self, writers: usize) -> Result<(), StepError> {
        if Instant::now() >= self.deadline {
            return Err(StepError::not_yet(
                "wait_out.budget",
                format!(
                    "shard {}: {writers} writer(s) of the moving tables did not end within the write-stop budget",
                    self.shard
                ),
            ));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}
