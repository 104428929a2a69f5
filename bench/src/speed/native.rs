//! Copies rows with PostgreSQL's own logical replication: the initial copy of a subscription.

use super::database::Database;
use super::raw;
use anyhow::bail;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(1800);

/// Creates a subscription to the rows that match `predicate`, and waits until all tables are copied.
pub(crate) fn copy(source: &Database, target: &Database, predicate: &str) -> anyhow::Result<()> {
    let tables = raw::TABLES.map(|table| format!("{table} where ({predicate})"));
    source.run(&[
        "drop publication if exists bench_native",
        &format!(
            "create publication bench_native for table {}",
            tables.join(", ")
        ),
    ])?;
    target.run(&[&format!(
        "create subscription bench_native connection '{}' publication bench_native",
        source.uri()
    )])?;
    wait_until_zero(
        target,
        "select count(*) from pg_subscription_rel where srsubstate <> 'r'",
    )
}

/// Drops the subscription, so that the database `target` can be dropped.
pub(crate) fn end(target: &Database) -> anyhow::Result<()> {
    target.run(&["drop subscription bench_native"]).map(|_| ())
}

/// Waits until the query returns 0.
fn wait_until_zero(database: &Database, count: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    while database.number(count)? > 0.0 {
        if begun.elapsed() > LIMIT {
            bail!("not 0 after {LIMIT:?}: {count}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
