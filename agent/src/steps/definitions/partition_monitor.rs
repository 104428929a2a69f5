//! Notices partitions that the application creates, drops or detaches while a step runs, and new tables. The step ends, and
//! the next check of the definitions adopts or retires them.

use std::time::Duration;

use plans::names::Direction;
use plans::step::StepKind;
use plans::table::MovingTable;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::adoption::{AdoptionWay, new_tables};
use super::{direction_of, has_lost_stream, retirement};
use crate::migration::context::StepContext;
use crate::shard::monitor_session::MonitorSession;
use crate::shard::partitions;

/// The interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the tables whose partitions the step adopts and retires; none if it cannot. Waits until the target answers.
pub(super) async fn monitored_tables(context: &StepContext) -> Vec<MovingTable> {
    let Ok(target) = context.target() else {
        return Vec::new();
    };
    let mut monitor = MonitorSession::new(target, "partitions");
    loop {
        let read = monitor.probe(async |session| AdoptionWay::read(context, session).await);
        if let Some(way) = read.await {
            return way.map_or_else(Vec::new, |way| way.tables(context));
        }
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
}

/// Waits until the owner of the keys has a partition that the move does not contain and the step can adopt, or lacks one
/// that the step can retire. Returns a description. Never returns if no table is partitioned.
pub(super) async fn wait_for_change(context: &StepContext, kind: StepKind) -> String {
    let direction = direction_of(kind);
    let Ok((owner, _)) = context.owner_and_other(direction) else {
        return std::future::pending().await;
    };
    let tables = monitored_tables(context).await;
    if partitions::topmost_tables(tables.iter()).is_empty() {
        return std::future::pending().await;
    }
    let mut monitor = MonitorSession::new(owner, "partitions");
    let mut ticks = interval_at(Instant::now() + PROBE_INTERVAL, PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let found = find_change(context, direction, &tables, &mut monitor).await;
        if has_lost_stream(context, kind) {
            // No later change of the partition would reach the other shard.
            return std::future::pending().await;
        }
        if let Some(found) = found {
            return found;
        }
    }
}

/// Returns a description of a partition that the step can adopt or retire, or of a table that it can adopt. A server that
/// does not answer has nothing to report: the step itself reports the error.
pub(super) async fn find_change(
    context: &StepContext,
    direction: Direction,
    tables: &[MovingTable],
    monitor: &mut MonitorSession,
) -> Option<String> {
    let probed = monitor.probe(async |session| {
        let unknown = partitions::unknown_leaves(session, tables).await?;
        if let Some(new) = unknown.first() {
            return Ok(Some(format!("{}: partition {} is new", new.top, new.table)));
        }
        if context.follows_definitions()
            && !tables.is_empty()
            && let Some(new) = new_tables::first_adoptable(context, session).await?
        {
            return Ok(Some(new));
        }
        retirement::departed_partition(context, session, direction).await
    });
    probed.await.flatten()
}
