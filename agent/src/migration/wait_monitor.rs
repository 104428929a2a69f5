//! Tells with the figures of a step whose lock it waits for, and what its sessions execute.

use std::convert::Infallible;
use std::time::Duration;

use plans::wire::{LockWait, Statement};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::migration::context::StepContext;
use crate::postgres::{lock_wait, statements};
use crate::shard::monitor_session::MonitorSession;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A wait is told for so long after it was seen: most are cut into short ones, so that nobody queues up behind us.
const TOLD_FOR: Duration = Duration::from_secs(2);

/// Looks at both shards until it is dropped.
pub(crate) async fn watch(context: &StepContext) -> Infallible {
    let (Ok(source), Ok(target)) = (context.source(), context.target()) else {
        // The step says what is wrong with them.
        return std::future::pending().await;
    };
    let _over = ClearWaitsOnDrop(context);
    let mut shards = [source, target].map(|shard| MonitorSession::new(shard, "waits"));
    let mut told: Option<(Instant, LockWait)> = None;
    // Many steps are over before the first look: no session is opened for them.
    let mut ticks = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let [source, target] = &mut shards;
        let (here, there) = tokio::join!(look(context, source), look(context, target));
        let (here, there) = (here.unwrap_or_default(), there.unwrap_or_default());
        if let Some(seen) = here.lock.or(there.lock) {
            told = Some((Instant::now(), seen));
        }
        let statements = [here.statements, there.statements].concat();
        told = told.filter(|(at, _)| at.elapsed() < TOLD_FOR);
        let waits = told.as_ref().map(|(_, wait)| Box::new(wait.clone()));
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

async fn look(context: &StepContext, monitor: &mut MonitorSession) -> Option<ShardWaits> {
    let migration = &context.dispatch.migration;
    let looked = monitor.look(async |session| {
        Ok(ShardWaits {
            lock: lock_wait::look(session, migration).await?,
            statements: statements::look(session, migration).await?,
        })
    });
    looked.await
}
