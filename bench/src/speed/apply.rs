//! Measures how fast a backlog of changes is applied by the stream of a migration that waits for its approval, and by a
//! subscription.
//!
//! A lock on the table stops the stream and the subscription while the backlog is written. Then one lock after the
//! other is released. Both apply the same changes. The migration also records each changed key, to compare its row
//! before the cutover.

use super::database::Database;
use super::figures::Samples;
use super::pglogical::Pair;
use super::setup::BenchmarkSetup;
use super::{native, raw, shardwright};
use anyhow::bail;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The number of row changes of a backlog, ten per transaction.
pub(crate) const CHANGES: f64 = 400_000.0;
const LIMIT: Duration = Duration::from_secs(1800);

/// Returns the SQL of a backlog of 50 % inserts, 40 % updates and 10 % deletes.
fn mixed_backlog_sql(items: u64) -> String {
    format!(
        "do $$ declare base bigint := (select max(id) / 1000 * 1000 + 1000 from order_items); begin
           for t in 1..40000 loop
             insert into order_items select 1 + r % 500, base + 1000 * t + r % 500, 1000 + r % 500, 1, 1, 1
               from generate_series(5 * t, 5 * t + 4) r;
             for n in 1..4 loop
               update order_items set quantity = quantity + 1 where (tenant_id, id) = (select 1 + i % 1000, i from
                 (select 1000 * trunc(random() * {most})::bigint + trunc(random() * 499)::bigint + 1) k (i));
             end loop;
             delete from order_items where (tenant_id, id) = (1 + 5 * t % 500, base + 1000 * t + 5 * t % 500);
             commit;
           end loop; end $$",
        most = items / 1000 - 1
    )
}

/// Returns the SQL of a backlog of updates. 90 % of the updates change 1 % of the rows.
fn skewed_backlog_sql(items: u64) -> String {
    format!(
        "do $$ begin
           for t in 1..40000 loop
             for n in 1..10 loop
               update order_items set quantity = quantity + 1 where (tenant_id, id) = (select 1 + i % 1000, i from
                 (select 1000 * trunc(random() * case when n = 1 then {most} else {few} end)::bigint + trunc(random() * 499)::bigint + 1) k (i));
             end loop;
             commit;
           end loop; end $$",
        most = items / 1000 - 1,
        few = (items / 100_000).max(1)
    )
}

fn backlogs(items: u64) -> [(&'static str, String); 2] {
    [
        ("mixed", mixed_backlog_sql(items)),
        ("skewed", skewed_backlog_sql(items)),
    ]
}

/// Returns the last transaction of a backlog. A database that contains its change has applied the whole backlog.
fn last_statement(kind: &str) -> String {
    format!("update tenants set name = '{kind}' where tenant_id = 1")
}

/// Measures one round: both kinds of backlog, applied by a subscription and by a migration, which is then aborted; then
/// the first kind, applied by a migration with only one session for changes.
pub(crate) fn round(
    setup: &BenchmarkSetup,
    (source, target): (&Database, &Database),
    items: u64,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let other = target.other_database("other");
    other.recreate()?;
    raw::make_tables(source, &other)?;
    native::copy(source, &other, &shardwright::moving_predicate())?;
    raw::build(source, &other)?;
    let (id, _) = shardwright::copy_and_verify(setup, &shardwright::half_request())?;
    for (kind, backlog) in backlogs(items) {
        let (lock, lock_on_other) = (TableLock::new(target)?, TableLock::new(&other)?);
        source.run(&[
            "select pg_create_logical_replication_slot('bench_decode', 'pgoutput')",
            &backlog,
            &last_statement(kind),
        ])?;
        samples.time(&format!("apply.{kind}.decode"), || decode_only(source))?;
        source.run(&["select pg_drop_replication_slot('bench_decode')"])?;
        // The migration goes first: while it waits for the lock, its transaction is open and prevents vacuum on the
        // whole server from removing old row versions. The subscription waits before its transaction has an id.
        samples.time(&format!("apply.{kind}.ours"), || {
            release_and_wait(lock, kind)
        })?;
        wait_until_idle(source, target)?;
        samples.time(&format!("apply.{kind}.native"), || {
            release_and_wait(lock_on_other, kind)
        })?;
    }
    native::end(&other)?;
    other.recreate()?;
    shardwright::abort(setup, &id)?;
    let one = format!(
        "{}options: {{apply_sessions: 1}}\n",
        shardwright::half_request()
    );
    let (id, _) = shardwright::copy_and_verify(setup, &one)?;
    let lock = TableLock::new(target)?;
    source.run(&[&mixed_backlog_sql(items), &last_statement("one")])?;
    samples.time("apply.mixed.one", || release_and_wait(lock, "one"))?;
    shardwright::abort(setup, &id)
}

/// Measures how fast pglogical applies backlogs of the same kinds on its own servers.
pub(crate) fn by_pglogical(pair: &Pair, items: u64, samples: &mut Samples) -> anyhow::Result<()> {
    for (kind, backlog) in backlogs(items) {
        let lock = TableLock::new(&pair.target)?;
        pair.source.run(&[&backlog, &last_statement(kind)])?;
        samples.time(&format!("apply.{kind}.pglogical"), || {
            release_and_wait(lock, kind)
        })?;
    }
    Ok(())
}

/// Reads the backlog as a subscription does, and discards the output. This measures logical decoding alone.
fn decode_only(source: &Database) -> anyhow::Result<()> {
    let end = source.run(&["select pg_current_wal_flush_lsn()"])?;
    let mut receive: Command = source.program("pg_recvlogical");
    let output = receive
        .args([
            "--slot",
            "bench_decode",
            "--start",
            "--endpos",
            &end,
            "-f",
            "/dev/null",
        ])
        .args([
            "-o",
            "proto_version=1",
            "-o",
            "publication_names=bench_native",
        ])
        .args(["-d", &source.name])
        .output()?;
    if !output.status.success() {
        bail!(
            "pg_recvlogical: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// A lock on a table that prevents writes. Dropping the value releases the lock.
struct TableLock<'a> {
    database: &'a Database,
    child: Child,
}

impl<'a> TableLock<'a> {
    fn new(database: &'a Database) -> anyhow::Result<Self> {
        let statement = "begin; lock table order_items in share row exclusive mode; \
             set application_name = 'bench_holds'; select pg_sleep(3600)";
        let mut psql = database.program("psql");
        psql.args(["-X", "-c", statement]);
        let child = psql.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let lock = Self { database, child };
        wait_until(
            database,
            "select exists (select from pg_stat_activity where application_name = 'bench_holds' \
             and datname = current_database() and wait_event = 'PgSleep')",
        )?;
        Ok(lock)
    }
}

impl Drop for TableLock<'_> {
    fn drop(&mut self) {
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bench_holds' \
             and datname = current_database()";
        let _ = self.database.run(&[end]);
        let _ = self.child.wait();
    }
}

/// Releases the lock, and waits until the last transaction of the backlog is applied.
fn release_and_wait(lock: TableLock<'_>, last: &str) -> anyhow::Result<()> {
    let database = lock.database;
    drop(lock);
    wait_until(
        database,
        &format!("select name = '{last}' from tenants where tenant_id = 1"),
    )
}

/// Waits until the migration is idle: its walsender has sent the whole log (it can begin again at the position of the
/// slot before the backlog), and the changed keys are compared.
fn wait_until_idle(source: &Database, target: &Database) -> anyhow::Result<()> {
    let end = source.run(&["select pg_current_wal_flush_lsn()"])?;
    wait_until(
        source,
        &format!(
            "select exists (select from pg_replication_slots s join pg_stat_replication r on r.pid = s.active_pid
               where s.slot_name like 'shardwright%fwd' and r.sent_lsn >= '{end}')"
        ),
    )?;
    wait_until(target, "not exists (select from shardwright.dirty)")
}

/// Waits until the SQL condition is true. All checks use one session, because a new session for each check takes a
/// seventh of the measured cores. Each check is its own transaction, because one snapshot for all of them would prevent
/// vacuum from removing old row versions.
fn wait_until(database: &Database, condition: &str) -> anyhow::Result<()> {
    let limit = format!("set statement_timeout = '{}s'", LIMIT.as_secs());
    let wait = format!(
        "do $wait$ begin while not ({condition}) loop
           perform pg_sleep(0.01), pg_stat_clear_snapshot();
           commit;
         end loop; end $wait$"
    );
    database.run(&[&limit, &wait]).map(|_| ())
}
