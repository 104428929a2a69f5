//! Actions of operators and other users on a shard, with SQL as a superuser.

use crate::error::DemoError;
use crate::shop::ShopError;
use connect::{Connected, Dsn, Session};
use plans::names::{BYPASS_SETTING, REPLICATION_PREFIX};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio_postgres::types::ToSql;

/// The beginning of the SQLSTATEs with which the guard refuses writes.
const REFUSAL_PREFIX: &str = "SM0";
/// The time limit for a standby to follow its server, to catch up, or to disconnect.
const WAIT_LIMIT: Duration = Duration::from_secs(30);
/// The time limit until a standby has copied a new slot. Its worker pauses for up to 30 s when nothing changes.
const SYNC_LIMIT: Duration = Duration::from_secs(45);
/// The maximum amount of log in MiB that a server retains for a migration whose server fails over.
pub(super) const WAL_CAP_MB: u32 = 64;
/// How often a primary writes log that the stream does not confirm, and how long the stream may take for each.
const NOISE_PIECES: u32 = 2;
const CONFIRM_TIME: Duration = Duration::from_secs(1);
/// The interval between two requests for such a position.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(200);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_CHECKPOINTS: u32 = 20;
const PREPARED: &str = "shardwright_torture_orphan";
/// A write to the tenant with the highest number, whose key moves. It changes no value.
const WRITE: &str = "update public.tenants set plan = plan \
    where id = (select max(id) from public.tenants)";

/// Ends every session of Shardwright.
pub(super) async fn terminate(shard: &Dsn) -> Result<(), DemoError> {
    let end = "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity \
        where starts_with(application_name, 'shardwright/')";
    run_once(shard, end).await
}

/// Drops every slot of Shardwright, even if it is in use.
pub(super) async fn drop_slots(shard: &Dsn) -> Result<(), DemoError> {
    let drop = format!(
        "do $$ declare slot record; tries integer := 0; begin \
           loop \
             tries := tries + 1; \
             begin \
               for slot in select slot_name, active_pid from pg_catalog.pg_replication_slots \
                   where starts_with(slot_name, '{REPLICATION_PREFIX}') loop \
                 perform pg_catalog.pg_terminate_backend(slot.active_pid, 5000) \
                   where slot.active_pid is not null; \
                 perform pg_catalog.pg_drop_replication_slot(slot.slot_name); \
               end loop; \
               exit; \
             exception when object_in_use then \
               if tries > 50 then raise; end if; \
             end; \
           end loop; \
         end $$"
    );
    run_once(shard, &drop).await
}

/// Writes more log than the server retains for a slot, until the server invalidates every slot of Shardwright.
pub(super) async fn lose_slots(shard: &Dsn) -> Result<(), DemoError> {
    let session = open(shard).await?;
    run(&session, "alter system set max_slot_wal_keep_size = '1MB'").await?;
    run(&session, "select pg_catalog.pg_reload_conf()").await?;
    let count_valid = format!(
        "select count(*) from pg_catalog.pg_replication_slots \
         where starts_with(slot_name, '{REPLICATION_PREFIX}') and wal_status <> 'lost'"
    );
    for _ in 0..MAX_CHECKPOINTS {
        let write = "select pg_catalog.pg_logical_emit_message(false, 'torture', \
            pg_catalog.repeat('x', 16 << 20))";
        run(&session, write).await?;
        run(&session, "select pg_catalog.pg_switch_wal()").await?;
        run(&session, "checkpoint").await?;
        let row = session.query_one(&count_valid, &[]).await.map_err(failed)?;
        if row.get::<_, i64>(0) == 0 {
            break;
        }
    }
    run(&session, "alter system reset max_slot_wal_keep_size").await?;
    run(&session, "select pg_catalog.pg_reload_conf()").await?;
    session.close().await;
    Ok(())
}

/// Inserts a tenant with a moving key that the application did not write. It uses the agents' role and their setting,
/// so the guards accept it.
pub(super) async fn foreign_write(target: &Dsn) -> Result<(), DemoError> {
    let write = format!(
        "begin; set local {BYPASS_SETTING} = 'on'; \
         insert into public.tenants (id, name) values (999999999, 'stranger'); commit"
    );
    run_once(target, &write).await
}

/// Waits until the standby has flushed everything that its primary has committed so far.
pub(super) async fn wait_for_standby(primary: &Dsn, name: &str) -> Result<(), DemoError> {
    let session = open(primary).await?;
    let position = "select pg_catalog.pg_current_wal_lsn()::text";
    let row = session.query_one(position, &[]).await.map_err(failed)?;
    let position: String = row.get(0);
    let has_flushed = "select coalesce(pg_catalog.bool_or(flush_lsn >= $2::text::pg_lsn), false)
        from pg_catalog.pg_stat_replication where application_name = $1";
    let caught_up = "a standby that has caught up";
    wait_until(&session, has_flushed, &[&name, &position], caught_up).await?;
    session.close().await;
    Ok(())
}

/// Waits until a standby has a durable copy of a slot of Shardwright; no longer than [`SYNC_LIMIT`]. The copy becomes
/// durable when the primary's slot has advanced to the position at which the standby began its copy. A slot advances to one
/// position after another, which the primary writes each 15 s, or on request. During the copy the stream confirms only what
/// lies a quarter of `wal_cap_mb` back, so with `writes_log` the primary writes as much, twice.
pub(super) async fn wait_for_synced_slot(
    primary: &Dsn,
    standby: &Dsn,
    writes_log: bool,
) -> Result<(), DemoError> {
    let primary = open(primary).await?;
    let session = open(standby).await?;
    let copies = format!(
        "select count(*) > 0, coalesce(bool_and(not temporary), false) from pg_catalog.pg_replication_slots
         where starts_with(slot_name, '{REPLICATION_PREFIX}')"
    );
    let noise = format!(
        "select pg_catalog.pg_logical_emit_message(false, 'noise', repeat('x', 1048576))
         from pg_catalog.generate_series(1, {})",
        WAL_CAP_MB / 4 + 2
    );
    let begun = Instant::now();
    let mut pieces = if writes_log { 0 } else { NOISE_PIECES };
    while begun.elapsed() < SYNC_LIMIT {
        let row = session.query_one(&copies, &[]).await.map_err(failed)?;
        if row.get(1) {
            break;
        }
        run(&primary, "select pg_catalog.pg_log_standby_snapshot()").await?;
        // It ends the pause of the standby's worker.
        run(&session, "select pg_catalog.pg_reload_conf()").await?;
        if row.get(0) && pieces < NOISE_PIECES {
            run(&primary, &noise).await?;
            pieces += 1;
            tokio::time::sleep(CONFIRM_TIME).await;
        }
        tokio::time::sleep(SNAPSHOT_INTERVAL).await;
    }
    primary.close().await;
    session.close().await;
    Ok(())
}

/// Waits until a query returns true.
pub(super) async fn wait_until(
    session: &Connected,
    query: &str,
    parameters: &[&(dyn ToSql + Sync)],
    what: &str,
) -> Result<(), DemoError> {
    let begun = Instant::now();
    while !session
        .query_one(query, parameters)
        .await
        .map_err(failed)?
        .get::<_, bool>(0)
    {
        if begun.elapsed() > WAIT_LIMIT {
            return Err(DemoError::Stalled {
                what: what.to_owned(),
                seconds: WAIT_LIMIT.as_secs(),
            });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Disconnects a standby from its primary. Returns when it receives nothing more.
pub(super) async fn disconnect_standby(standby: &Dsn) -> Result<(), DemoError> {
    let session = open(standby).await?;
    run(&session, "alter system set primary_conninfo = ''").await?;
    run(&session, "select pg_catalog.pg_reload_conf()").await?;
    let receives = "select not exists (select from pg_catalog.pg_stat_wal_receiver)";
    let ended = "the end of a standby's receiver";
    wait_until(&session, receives, &[], ended).await?;
    session.close().await;
    Ok(())
}

/// Inserts tenants with moving keys, which the failover of the source will lose. No client of the workload knows them,
/// so the checker counts each that remains as a row that no transaction wrote.
pub(super) async fn write_lost_rows(source: &Dsn) -> Result<(), DemoError> {
    run_once(
        source,
        "insert into public.tenants (id, name)
         select 999999000 + n, 'lost' from pg_catalog.generate_series(1, 20) n",
    )
    .await
}

/// Returns how many rows of [`write_lost_rows`] a shard has.
pub(super) async fn count_lost_rows(shard: &Dsn) -> Result<i64, DemoError> {
    let session = open(shard).await?;
    let count = "select count(*) from public.tenants where name = 'lost'";
    let row = session.query_one(count, &[]).await.map_err(failed)?;
    session.close().await;
    Ok(row.get(0))
}

/// Begins a transaction, and writes to a moving key.
pub(super) async fn open_writer(shard: &Dsn) -> Result<Connected, DemoError> {
    let session = open(shard).await?;
    run(&session, &format!("begin; {WRITE}")).await?;
    Ok(session)
}

/// Rolls back a transaction of `open_writer`. The server may already have ended it.
pub(super) async fn end_writer(session: Connected) -> Result<(), DemoError> {
    if let Err(error) = session.batch_execute("rollback").await {
        tracing::debug!(%error, "the writer was ended");
    }
    Ok(())
}

/// Prepares a transaction that has written to a moving key.
pub(super) async fn prepare(shard: &Dsn) -> Result<(), DemoError> {
    let sql = format!("begin; {WRITE}; prepare transaction '{PREPARED}'");
    run_once(shard, &sql).await
}

/// Rolls back the prepared transaction.
pub(super) async fn roll_back_prepared(shard: &Dsn) -> Result<(), DemoError> {
    run_once(shard, &format!("rollback prepared '{PREPARED}'")).await
}

/// Returns whether a shard refuses a write to a moving key. Nothing is committed.
pub(super) async fn is_refused(shard: &Dsn) -> Result<bool, DemoError> {
    let session = open(shard).await?;
    let write = format!("begin; {WRITE}; set constraints all immediate; rollback");
    let written = session.batch_execute(&write).await;
    let refused = match written {
        Ok(()) => false,
        Err(error) => {
            let state = error.code().map(|code| code.code().to_owned());
            match state.is_some_and(|state| state.starts_with(REFUSAL_PREFIX)) {
                true => true,
                false => return Err(failed(error).into()),
            }
        }
    };
    session.close().await;
    Ok(refused)
}

/// Returns by how many whole seconds a server's clock is ahead of the machine's.
pub(super) async fn seconds_ahead(server: &Dsn) -> Result<i64, DemoError> {
    let session = open(server).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs()).cast_signed();
    let query = "select extract(epoch from pg_catalog.clock_timestamp())::bigint";
    let row = session.query_one(query, &[]).await.map_err(failed)?;
    session.close().await;
    Ok(row.get::<_, i64>(0) - now)
}

async fn run_once(shard: &Dsn, sql: &str) -> Result<(), DemoError> {
    let session = open(shard).await?;
    run(&session, sql).await?;
    session.close().await;
    Ok(())
}

async fn open(shard: &Dsn) -> Result<Connected, DemoError> {
    let session = connect::connect(shard, &Session::named("operator")).await;
    Ok(session.map_err(ShopError::from)?)
}

async fn run(session: &Connected, sql: &str) -> Result<(), DemoError> {
    Ok(session.batch_execute(sql).await.map_err(failed)?)
}

fn failed(source: tokio_postgres::Error) -> ShopError {
    ShopError::Statement {
        action: "execute SQL of an operator or of another user on a shard",
        source,
    }
}
