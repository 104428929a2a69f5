//! Notices that sessions of a step are in the way of a change of a table's definition.
//!
//! ALTER TABLE waits until the transactions that read the table have ended, and every other session of the application
//! waits behind it. A comparison reads for minutes in one transaction, so it must end.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::migration::context::StepContext;
use crate::postgres::lock_wait;
use crate::shard::monitor_session::MonitorSession;

/// The interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// Returns when a session waits for a lock that excludes readers, and a session of the migration is in its way.
pub(crate) async fn wait_until_in_the_way(context: &StepContext) {
    let (Ok(source), Ok(target)) = (context.source(), context.target()) else {
        // The step itself reports this error.
        return std::future::pending().await;
    };
    let mut shards = [source, target].map(|shard| MonitorSession::new(shard, "yield"));
    let mut ticks = interval(PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let migration = &context.dispatch.migration;
    loop {
        ticks.tick().await;
        for shard in &mut shards {
            let probed =
                shard.probe(async |session| lock_wait::is_in_the_way(session, migration).await);
            if probed.await == Some(true) {
                return;
            }
        }
    }
}
