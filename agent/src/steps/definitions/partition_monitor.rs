//! Notices partitions that the application creates while a step runs. The step ends, and the next check of the
//! definitions adopts them.

use std::time::Duration;

use plans::table::MovingTable;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::shard::database::Shard;
use crate::shard::monitor_session::MonitorSession;
use crate::shard::partitions;

/// The interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the owner of the keys has a partition of a table that `tables` lacks. Returns its name with that of its
/// topmost table. Never returns if no table is partitioned.
pub(crate) async fn wait_for_new_partition(owner: Shard, tables: &[MovingTable]) -> String {
    if partitions::topmost_tables(tables.iter()).is_empty() {
        return std::future::pending().await;
    }
    let mut monitor = MonitorSession::new(owner, "partitions");
    let mut ticks = interval_at(Instant::now() + PROBE_INTERVAL, PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let probed =
            monitor.probe(async |session| partitions::unknown_leaves(session, tables).await);
        // A server that does not answer has nothing to report: the step itself reports the error.
        let Some(found) = probed.await else { continue };
        if let Some(first) = found.first() {
            return format!("{} of {}", first.table, first.top);
        }
    }
}
