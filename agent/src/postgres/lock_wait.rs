//! Reads which lock the sessions of a migration wait for, and which session holds it.

use connect::Connected;
use plans::id::{MigrationId, ShardName};
use plans::wire::LockWait;
use tokio_postgres::Row;

use super::redacted::printable;
use crate::error::{StepError, WithIntent};

/// Selects the migration's session that waits longest for a lock, and the blocking session whose transaction is the
/// oldest.
///
/// The query ignores waits of the migration's sessions for each other: they are short, and an operator could not end
/// them. If the role may not see other roles' sessions, the names and times are empty; the process id is always
/// present.
const LONGEST_LOCK_WAIT: &str = "
    select own.pid, holder.pid, coalesce(h.usename::text, ''), coalesce(h.application_name, ''), coalesce(h.state, ''),
           (extract(epoch from pg_catalog.clock_timestamp() - coalesce(l.waitstart, own.query_start)) * 1000)::bigint,
           (extract(epoch from pg_catalog.clock_timestamp() - h.xact_start) * 1000)::bigint,
           case l.locktype when 'relation' then l.relation::regclass::text
                           when 'transactionid' then 'a transaction' when 'virtualxid' then 'a transaction'
                           else coalesce(l.locktype, 'a lock') end
      from pg_catalog.pg_stat_activity own
     cross join lateral pg_catalog.unnest(pg_catalog.pg_blocking_pids(own.pid)) as holder (pid)
      left join pg_catalog.pg_stat_activity h on h.pid = holder.pid
      left join pg_catalog.pg_locks l on l.pid = own.pid and not l.granted
     where own.application_name like $1 and own.usename = session_user and own.wait_event_type = 'Lock'
       and own.datname = pg_catalog.current_database()
       and not (coalesce(h.application_name, '') like $1 and h.usename = session_user)
     order by coalesce(l.waitstart, own.query_start), h.xact_start nulls last
     limit 1";

/// Selects whether a session waits for a lock that excludes readers of a table, while a session of the migration holds
/// the table.
const IS_IN_THE_WAY: &str = "
    select exists (
      select from pg_catalog.pg_locks waiting
      cross join lateral pg_catalog.unnest(pg_catalog.pg_blocking_pids(waiting.pid)) as holder (pid)
      join pg_catalog.pg_stat_activity own on own.pid = holder.pid
      where not waiting.granted and waiting.locktype = 'relation' and waiting.mode = 'AccessExclusiveLock'
        and waiting.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
        and own.application_name like $1 and own.usename = session_user)";

/// Returns whether a session of the migration is in the way of a session that changes a table.
pub(crate) async fn is_in_the_way(
    session: &Connected,
    migration: &MigrationId,
) -> Result<bool, StepError> {
    let name_pattern = migration.application_name("%");
    let rows = session
        .query_prepared(IS_IN_THE_WAY, &[&name_pattern])
        .await
        .at(format_args!(
            "shard {}: reading which sessions wait for the migration's",
            session.name()
        ))?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

/// Runs the query once. Returns None if no session of the migration waits for a lock.
pub(crate) async fn longest_lock_wait(
    session: &Connected,
    migration: &MigrationId,
) -> Result<Option<LockWait>, StepError> {
    let shard = session.name();
    let name_pattern = migration.application_name("%");
    let what = format!("shard {shard}: reading which locks its sessions wait for");
    let rows = session
        .query_prepared(LONGEST_LOCK_WAIT, &[&name_pattern])
        .await
        .at(&what)?;
    Ok(rows.first().map(|row| lock_wait(row, shard)))
}

fn lock_wait(row: &Row, shard: &str) -> LockWait {
    LockWait {
        shard: ShardName::from(shard),
        object: row.get(7),
        pid: row.get(0),
        waited_ms: row.get(5),
        holder: row.get(1),
        user: row.get(2),
        application: printable(row.get(3)),
        state: row.get(4),
        open_ms: row.get(6),
    }
}
