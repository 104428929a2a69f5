//! Probes source and target while a heavy step runs, and sets the throttle ratio.
//!
//! The agent probes each shard four times per second with one query, and measures the duration of one commit per second
//! on the source. A shard that does not answer provides no health signals; the step itself gets the same error and
//! reports it.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use plans::throttle::ShardLoad;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::shard::load::{self, LoadHistory};
use crate::shard::monitor_session::MonitorSession;
use crate::throttle::lock;

/// The interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// The pause between two timed commits.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after a failure to time a commit.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Sets the throttle ratio from the health signals. Runs until the future is dropped.
pub(crate) async fn control_throttle(context: &StepContext) -> Infallible {
    let (Ok(source), Ok(target)) = (context.source(), context.target()) else {
        // The step itself reports this error.
        return std::future::pending().await;
    };
    let _reset_on_drop = ResetThrottleOnDrop(context);
    context.session.throttle.start_control();
    let commit_probe = Mutex::new(CommitProbe::default());
    let probes = probe_forever(context, [source.clone(), target], &commit_probe);
    let token = context.token_for_cleanup();
    let (never, _) = tokio::join!(probes, time_commits(&source, &token, &commit_probe));
    never
}

/// Resets the throttle when the monitor ends, because outdated signals must not slow the migration.
struct ResetThrottleOnDrop<'a>(&'a StepContext);

impl Drop for ResetThrottleOnDrop<'_> {
    fn drop(&mut self) {
        self.0.session.throttle.end_control();
        self.0.session.update(|progress| progress.slowed = None);
    }
}

/// Probes both shards at each interval, and passes their health signals to the throttle.
async fn probe_forever(
    context: &StepContext,
    [source, target]: [Shard; 2],
    commit_probe: &Mutex<CommitProbe>,
) -> Infallible {
    let (mut source, mut target) = (MonitoredShard::new(source), MonitoredShard::new(target));
    let mut ticks = interval(PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (source_load, target_load) = tokio::join!(source.probe(), target.probe());
        let source_load = source_load.map(|load| ShardLoad {
            commit_ms: lock(commit_probe).commit_ms(),
            ..load
        });
        let slowed = context
            .session
            .throttle
            .apply_signals([source_load, target_load].into_iter().flatten().collect());
        context.session.update(|progress| progress.slowed = slowed);
    }
}

/// A shard, the session that probes it, and its earlier health signals.
struct MonitoredShard {
    monitor: MonitorSession,
    history: LoadHistory,
}

impl MonitoredShard {
    fn new(shard: Shard) -> Self {
        Self {
            monitor: MonitorSession::new(shard, "signals"),
            history: LoadHistory::default(),
        }
    }

    /// Returns the health signals of the shard, or `None` if it did not answer.
    async fn probe(&mut self) -> Option<ShardLoad> {
        let history = &mut self.history;
        let probe = self
            .monitor
            .probe(async |session| load::probe(session, history).await);
        probe.await
    }
}

/// The duration of commits on the source.
#[derive(Debug, Default)]
struct CommitProbe {
    /// The start of the commit in progress.
    running_since: Option<Instant>,
    /// The duration of the last commit.
    last_duration: Option<Duration>,
}

impl CommitProbe {
    /// Returns the duration of the last commit in milliseconds, or that of the commit in progress if it is already
    /// longer.
    fn commit_ms(&self) -> Option<f64> {
        let elapsed = self.running_since.map(|start| start.elapsed());
        let longest = self.last_duration.max(elapsed);
        longest.map(|duration| duration.as_secs_f64() * 1000.0)
    }
}

/// Measures one commit after the other. A commit that waits for a standby is never abandoned to start another one.
async fn time_commits(
    source: &Shard,
    token: &EpochToken,
    commit_probe: &Mutex<CommitProbe>,
) -> Infallible {
    loop {
        let Err(error) = time_on_one_session(source, token, commit_probe).await;
        tracing::debug!(%error, "no commit could be timed");
        *lock(commit_probe) = CommitProbe::default();
        sleep(RETRY_PAUSE).await;
    }
}

/// Measures commits on one session until an error occurs.
async fn time_on_one_session(
    source: &Shard,
    token: &EpochToken,
    commit_probe: &Mutex<CommitProbe>,
) -> Result<Infallible, StepError> {
    let session = source.session("probe").await?;
    loop {
        let start = Instant::now();
        lock(commit_probe).running_since = Some(start);
        load::time_commit(&session, token).await?;
        *lock(commit_probe) = CommitProbe {
            running_since: None,
            last_duration: Some(start.elapsed()),
        };
        sleep(COMMIT_INTERVAL).await;
    }
}
