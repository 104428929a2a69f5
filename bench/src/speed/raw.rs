//! Measures the limit: plain PostgreSQL copies rows and builds indexes, without progress reports, comparison or the
//! possibility to resume.

use super::database::Database;
use anyhow::bail;
use std::collections::VecDeque;
use std::sync::Mutex;

/// The number of concurrent pipes, and of concurrent sessions that build indexes.
const STREAMS: usize = 2;
/// The tables, the largest first, so that both pipes end at about the same time.
pub(crate) const TABLES: [&str; 5] = ["order_items", "events", "orders", "accounts", "tenants"];

const INDEXES: &str = "select case when c.oid is null then pg_get_indexdef(i.indexrelid) \
      else format('alter table %s add constraint %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) end \
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u') \
    where i.indrelid::regclass::text in ('order_items', 'events', 'orders', 'accounts', 'tenants') \
    order by pg_relation_size(i.indrelid) desc, c.oid is null, i.indexrelid";
const FOREIGN_KEYS: &str = "select format('alter table %s add constraint %I %s not valid', conrelid::regclass, conname, \
      pg_get_constraintdef(oid)) || '|' || format('alter table %s validate constraint %I', conrelid::regclass, conname) \
    from pg_constraint where contype = 'f' order by pg_relation_size(conrelid) desc";

/// Creates the tables of the source on the target, without keys and indexes.
pub(crate) fn make_tables(source: &Database, target: &Database) -> anyhow::Result<()> {
    let output = source
        .program("pg_dump")
        .args(["--schema-only", "--section=pre-data", "--no-owner"])
        .output()?;
    if !output.status.success() {
        bail!("pg_dump: {}", String::from_utf8_lossy(&output.stderr));
    }
    target.script(&String::from_utf8(output.stdout)?, &[])
}

/// Copies the rows that match `predicate` through a pipe for each table. Two pipes run concurrently.
pub(crate) fn copy(source: &Database, target: &Database, predicate: &str) -> anyhow::Result<()> {
    run_concurrently(TABLES.map(str::to_owned).into(), |table| {
        let out = format!(
            "copy (select * from only {table} where {predicate}) to stdout (format binary)"
        );
        let into = format!("copy {table} from stdin (format binary)");
        target.pipe_from(&into, source.start_output(&out)?)
    })
}

/// Builds the keys and indexes of the source on the target, then the foreign keys.
pub(crate) fn build(source: &Database, target: &Database) -> anyhow::Result<()> {
    let indexes = source.run(&[INDEXES])?;
    let run_statement = |statement: String| target.run(&[&statement]).map(|_| ());
    run_concurrently(indexes.lines().map(str::to_owned).collect(), run_statement)?;
    let keys = source.run(&[FOREIGN_KEYS])?;
    let keys: Vec<(&str, &str)> = keys
        .lines()
        .filter_map(|line| line.split_once('|'))
        .collect();
    for (add, _) in &keys {
        target.run(&[add])?;
    }
    run_concurrently(
        keys.iter().map(|(_, check)| (*check).to_owned()).collect(),
        run_statement,
    )
}

/// Computes a digest of all rows that match `predicate`, on both servers concurrently.
pub(crate) fn digest(databases: [&Database; 2], predicate: &str) -> anyhow::Result<()> {
    let scan = |database: &Database| {
        for table in TABLES {
            database.run(&[&format!(
                "select count(*), sum(('x' || left(md5(t::text), 16))::bit(64)::bigint::numeric) from only {table} t where {predicate}"
            )])?;
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| scan(databases[1]));
        scan(databases[0])?;
        thread_result(other.join())
    })
}

/// Executes `work` for each item of the queue on [`STREAMS`] threads.
pub(crate) fn run_concurrently(
    queue: VecDeque<String>,
    work: impl Fn(String) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let queue = Mutex::new(queue);
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    let worker = || {
        while let Some(item) = next() {
            work(item)?;
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..STREAMS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| thread_result(worker.join()))
    })
}

fn thread_result(ended: std::thread::Result<anyhow::Result<()>>) -> anyhow::Result<()> {
    match ended {
        Ok(done) => done,
        Err(_) => bail!("a thread panicked"),
    }
}
