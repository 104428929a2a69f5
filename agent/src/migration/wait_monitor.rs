//! Adds to the progress of a step the lock that it waits for, and the statements that its sessions execute.

use std::convert::Infallible;
use std::time::Duration;

use plans::wire::{LockWait, Statement};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::migration::context::StepContext;
use crate::postgres::{lock_wait, statements};
use crate::shard::monitor_session::MonitorSession;

/// The interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// Time for which a wait is reported after it was observed. The agent waits for a lock only a short time at once, so
/// that other sessions do not queue behind its request, and then requests the lock again.
const REPORTED_FOR: Duration = Duration::from_secs(2);

/// Probes both shards until the future is dropped.
pub(crate) async fn report_waits(context: &StepContext) -> Infallible {
    let (Ok(source), Ok(target)) = (context.source(), context.target()) else {
        // The step itself reports this error.
        return std::future::pending().await;
    };
    let _clear_on_drop = ClearWaitsOnDrop(context);
    let mut shards = [source, target].map(|shard| MonitorSession::new(shard, "waits"));
    let mut reported: Option<(Instant, LockWait)> = None;
    // The first probe comes after one interval: many steps end earlier, and their probes need no session.
    let mut ticks = interval_at(Instant::now() + PROBE_INTERVAL, PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let [source, target] = &mut shards;
        let (source_waits, target_waits) =
            tokio::join!(probe(context, source), probe(context, target));
        let (source_waits, target_waits) = (
            source_waits.unwrap_or_default(),
            target_waits.unwrap_or_default(),
        );
        if let Some(wait) = source_waits.lock.or(target_waits.lock) {
            reported = Some((Instant::now(), wait));
        }
        let statements = [source_waits.statements, target_waits.statements].concat();
        reported = reported.filter(|(at, _)| at.elapsed() < REPORTED_FOR);
        let waits = reported.as_ref().map(|(_, wait)| Box::new(wait.clone()));
        context.session.update(|progress| {
            progress.lock = waits;
            progress.statements = statements;
        });
    }
}

/// Removes waits and statements from the progress when the monitor ends.
struct ClearWaitsOnDrop<'a>(&'a StepContext);

impl Drop for ClearWaitsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.session.update(|progress| {
            progress.lock = None;
            progress.statements.clear();
        });
    }
}

/// The waits of the step's sessions on one shard.
#[derive(Default)]
struct ShardWaits {
    lock: Option<LockWait>,
    statements: Vec<Statement>,
}

/// Returns the waits on one shard, or `None` if it did not answer.
async fn probe(context: &StepContext, monitor: &mut MonitorSession) -> Option<ShardWaits> {
    let migration = &context.dispatch.migration;
    let probed = monitor.probe(async |session| {
        Ok(ShardWaits {
            lock: lock_wait::longest_lock_wait(session, migration).await?,
            statements: statements::running_statements(session, migration).await?,
        })
    });
    probed.await
}
