//! Tells with the figures of a step whose lock it waits for, and what its sessions execute.

use std::convert::Infallible;
use std::time::Duration;

use plans::wire::{LockWait, Statement};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::migration::context::StepContext;
use crate::postgres::{lock_wait, statements};
use crate::shard::monitor_session::MonitorSession;

/// Between two looks.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// A wait is told for so long after it was seen: most are cut into short ones, so that nobody queues up behind us.
const REPORTED_FOR: Duration = Duration::from_secs(2);

/// Looks at both shards until it is dropped.
pub(crate) async fn report_waits(context: &StepContext) -> Infallible {
    let (Ok(source), Ok(target)) = (context.source(), context.target()) else {
        // The step says what is wrong with them.
        return std::future::pending().await;
    };
    let _clear_on_drop = ClearWaitsOnDrop(context);
    let mut shards = [source, target].map(|shard| MonitorSession::new(shard, "waits"));
    let mut reported: Option<(Instant, LockWait)> = None;
    // Many steps are over before the first look: no session is opened for them.
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

/// What nobody looks for is not told.
struct ClearWaitsOnDrop<'a>(&'a StepContext);

impl Drop for ClearWaitsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.session.update(|progress| {
            progress.lock = None;
            progress.statements.clear();
        });
    }
}

/// What is seen on one shard.
#[derive(Default)]
struct ShardWaits {
    lock: Option<LockWait>,
    statements: Vec<Statement>,
}

async fn probe(context: &StepContext, monitor: &mut MonitorSession) -> Option<ShardWaits> {
    let migration = &context.dispatch.migration;
    let probed = monitor.probe(async |session| {
        Ok(ShardWaits {
            lock: lock_wait::look(session, migration).await?,
            statements: statements::look(session, migration).await?,
        })
    });
    probed.await
}
