//! The keeper of dual-write: a task of the agent. It adds the stream's name to `synchronous_standby_names` of the
//! upstream shard when the stream is *level*, which means that the stream has almost no lag. It removes the name when
//! the stream does not apply changes directly, is paused, or confirms nothing for too long.
//!
//! Order when the name is added: the keeper starts the watchdog, then records the previous value of the setting, then
//! changes the setting. The keeper ends with its stream, and then removes the name at once. This is safe also in a
//! cutover: the old owner is sealed, so no further write to the moving keys can commit on it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use connect::Connected;
use plans::failure::StepCode;
use plans::wire::{DualWriteState, StreamMode};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::hang::{AbsenceTimer, WaitingCommits};
use super::{DualWrite, PROBE_INTERVAL, RunningWatchdog, STANDBY_ROLE};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::dual_write::{self, OwnershipProof, StandbyStatus};
use crate::shard::epoch::EpochToken;
use crate::stream::{StreamObservation, StreamSettings};

/// The maximum lag of a level stream. The stream confirms so few bytes before a writer notices the wait.
const MAX_LEVEL_LAG_BYTES: u64 = 64 << 10;
/// The keeper adds the name after this number of probes in a row that found the stream level.
const LEVEL_PROBES: u32 = 2;
/// The keeper reports that commits are synchronous after this number of probes in a row that found the walsender to be
/// a synchronous standby. A probe reads the state of the walsender, but commits wait only when the checkpointer has
/// loaded the setting. Both processes reload the setting independently, so the walsender may do it earlier.
const SYNCHRONOUS_PROBES: u32 = 2;
/// The maximum time for which the end of a stream waits for the removal of the name. Afterwards the removal continues
/// in the background.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of attempts to remove the name at the end. If all fail, the watchdog removes it.
const END_ATTEMPTS: u32 = 20;

// Reasons why dual-write is not synchronous any more.

/// The stream is paused (`pause_count`), so it confirms nothing.
const PAUSED_AT_POINT: &str = "the stream is paused at the exact point that a comparison reads";
const SPOOLED: &str =
    "changes are spooled: the downstream shard is unavailable, or the migration is paused";
const CONFIRMS_NOTHING: &str = "the downstream shard has confirmed nothing for too long";
const NOT_IN_FORCE: &str = "the stream's name is not in force in synchronous_standby_names";
const CONTENDED: &str = "commits on the downstream shard wait for a stream, so the two streams could wait for each other";

/// The configuration of a keeper.
#[derive(Debug)]
pub(crate) struct KeeperSpec {
    pub(crate) upstream: Shard,
    pub(crate) downstream: Shard,
    /// The proof of the agent's epoch, which each write on a shard contains.
    pub(crate) token: EpochToken,
    pub(crate) dual_write: DualWrite,
    pub(crate) observations: watch::Receiver<StreamObservation>,
    pub(crate) settings: Arc<StreamSettings>,
    /// Cancelled to end the keeper: when the stream has ended, or by [`DualWriteKeeper::end`].
    pub(crate) stop: CancellationToken,
}

/// A running keeper.
#[derive(Debug)]
pub(crate) struct DualWriteKeeper {
    stop: CancellationToken,
    task: JoinHandle<()>,
    state: watch::Receiver<DualWriteState>,
}

impl DualWriteKeeper {
    /// Starts a keeper, which ends when `spec.stop` is cancelled.
    pub(crate) fn start(spec: KeeperSpec) -> Self {
        let (publish, state) = watch::channel(DualWriteState::Asynchronous);
        let stop = spec.stop.clone();
        let name = spec.upstream.application_name(STANDBY_ROLE);
        let work = KeeperTask {
            spec,
            name,
            publish,
            session: None,
            watchdog: None,
            waiting_commits: WaitingCommits::default(),
            walsender_absence: AbsenceTimer::default(),
            level_probes: 0,
            synchronous_probes: 0,
            not_before: Instant::now(),
            name_is_set: false,
        };
        Self {
            stop,
            task: tokio::spawn(work.run()),
            state,
        }
    }

    /// Returns whether commits are synchronous now.
    pub(crate) fn state(&self) -> DualWriteState {
        self.state.borrow().clone()
    }

    /// Ends the keeper while the stream continues. Waits until the keeper has removed the name, but not longer than
    /// [`END_TIMEOUT`].
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(END_TIMEOUT, self.task).await;
    }
}

struct KeeperTask {
    spec: KeeperSpec,
    /// The `application_name` of the stream's walsender.
    name: String,
    publish: watch::Sender<DualWriteState>,
    session: Option<Connected>,
    watchdog: Option<RunningWatchdog>,
    waiting_commits: WaitingCommits,
    walsender_absence: AbsenceTimer,
    /// The number of probes in a row that found the stream level.
    level_probes: u32,
    /// The number of probes in a row that found the walsender to be a synchronous standby.
    synchronous_probes: u32,
    /// The name is not added before this time. It is later after a problem.
    not_before: Instant,
    /// Whether the keeper assumes that the name is in the setting.
    name_is_set: bool,
}

impl KeeperTask {
    async fn run(mut self) {
        let (stop, settings) = (self.spec.stop.clone(), self.spec.settings.clone());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = settings.changed.notified() => {}
                () = tokio::time::sleep(PROBE_INTERVAL) => {}
            }
            if let Err(error) = self.probe_and_react().await {
                if error.is_superseded() {
                    break;
                }
                tracing::debug!(%error, "the keeper of dual-write could not read the state of the shard");
                self.session = None;
            }
        }
        self.finish().await;
    }

    async fn probe_and_react(&mut self) -> Result<(), StepError> {
        self.connect().await?;
        let status = dual_write::probe(self.client()?, &self.name).await?;
        if self.name_is_set {
            self.remove_name_if_needed(&status).await
        } else {
            self.add_name_if_level(&status).await
        }
    }

    async fn connect(&mut self) -> Result<(), StepError> {
        if self.session.is_none() {
            let upstream = &self.spec.upstream;
            let session = upstream.session("dual-write-keeper").await?;
            dual_write::prepare_session(&session)
                .await
                .at(format_args!("shard {}: preparing a session", upstream.name))?;
            self.session = Some(session);
        }
        Ok(())
    }

    fn client(&self) -> Result<&Connected, StepError> {
        let session = self.session.as_ref();
        session.ok_or_else(|| {
            StepError::passing(
                StepCode::DualWriteSession,
                "the keeper of dual-write has no session",
            )
        })
    }

    /// Returns the reason why commits must not wait for the stream now, so that its name must not be in the setting;
    /// `None` if they may wait.
    fn reason_against_synchronous(&self) -> Option<&'static str> {
        let settings = &self.spec.settings;
        if settings.pause_count.load(Ordering::SeqCst) > 0 {
            return Some(PAUSED_AT_POINT);
        }
        let applies_directly = self.spec.observations.borrow().status.mode == StreamMode::Live;
        (!applies_directly || !settings.apply.load(Ordering::SeqCst)).then_some(SPOOLED)
    }

    /// Removes the name if commits must not wait for the stream any more. Otherwise reports whether commits are
    /// synchronous, and makes sure that the watchdog runs.
    async fn remove_name_if_needed(&mut self, status: &StandbyStatus) -> Result<(), StepError> {
        let (now, limit) = (Instant::now(), self.spec.dual_write.limit);
        let longest_wait = self
            .waiting_commits
            .observe(&status.waiting_commits, now)
            .max(self.walsender_absence.observe(status.is_streaming, now));
        if let Some(why) = self.reason_against_synchronous() {
            return self.remove_name(why).await;
        }
        if longest_wait >= limit {
            self.not_before = now + limit;
            return self.remove_name(CONFIRMS_NOTHING).await;
        }
        if !status.is_named {
            self.not_before = now + limit;
            self.synchronous_probes = 0;
            self.publish_degraded(NOT_IN_FORCE);
            // Nevertheless the configuration file may contain the name, and the server may load it later.
            return self.remove_name(NOT_IN_FORCE).await;
        }
        self.synchronous_probes = if status.is_synchronous {
            self.synchronous_probes + 1
        } else {
            0
        };
        if self.synchronous_probes >= SYNCHRONOUS_PROBES {
            self.publish.send_if_modified(|state| {
                let has_changed = *state != DualWriteState::Synchronous;
                *state = DualWriteState::Synchronous;
                has_changed
            });
        }
        if self
            .watchdog
            .as_mut()
            .is_none_or(|watchdog| !watchdog.is_running())
        {
            self.watchdog = Some(RunningWatchdog::start(&self.spec, limit).await?);
        }
        Ok(())
    }

    /// Adds the name when enough probes in a row have found the stream level.
    async fn add_name_if_level(&mut self, status: &StandbyStatus) -> Result<(), StepError> {
        let may_wait = self.reason_against_synchronous().is_none()
            && status.is_streaming
            && status.lag_bytes <= MAX_LEVEL_LAG_BYTES;
        self.level_probes = if may_wait { self.level_probes + 1 } else { 0 };
        if self.level_probes < LEVEL_PROBES || Instant::now() < self.not_before {
            return Ok(());
        }
        if self.is_in_contention().await? {
            self.not_before = Instant::now() + self.spec.dual_write.limit;
            self.mark_asynchronous(CONTENDED);
            return Ok(());
        }
        if self
            .watchdog
            .as_mut()
            .is_none_or(|watchdog| !watchdog.is_running())
        {
            self.watchdog =
                Some(RunningWatchdog::start(&self.spec, self.spec.dual_write.limit).await?);
        }
        // Set before the addition: if the addition fails, the setting may nevertheless contain the name.
        self.name_is_set = true;
        self.synchronous_probes = 0;
        self.waiting_commits.clear();
        self.walsender_absence.clear();
        let upstream = &self.spec.upstream.name;
        dual_write::add_name(self.client()?, &self.spec.token, &self.name).await?;
        // The situation may have changed while the name was added. Then the keeper removes the name again.
        let mut why = self.reason_against_synchronous();
        if why.is_none() && self.is_in_contention().await? {
            why = Some(CONTENDED);
        }
        if let Some(why) = why {
            self.not_before = Instant::now() + random_delay(self.spec.dual_write.limit);
            return self.remove_name(why).await;
        }
        tracing::info!(shard = %upstream, "dual-write is synchronous");
        Ok(())
    }

    /// Returns whether commits on the downstream shard wait for a stream of Shardwright. If commits on the upstream
    /// shard waited for this stream too, the two streams could wait for each other until the limit.
    async fn is_in_contention(&self) -> Result<bool, StepError> {
        let downstream = &self.spec.downstream;
        let session = downstream.session("dual-write-check").await?;
        let commits_wait = dual_write::commits_wait_for_streams(&session).await;
        session.close().await;
        commits_wait
    }

    /// Removes the name from the setting. `why` is reported as the reason why commits are asynchronous.
    async fn remove_name(&mut self, why: &str) -> Result<(), StepError> {
        dual_write::remove_names(self.client()?, &self.spec.token, OwnershipProof::Owner).await?;
        self.mark_asynchronous(why);
        Ok(())
    }

    fn mark_asynchronous(&mut self, why: &str) {
        self.name_is_set = false;
        self.level_probes = 0;
        self.publish_degraded(why);
    }

    fn publish_degraded(&self, why: &str) {
        let upstream = &self.spec.upstream.name;
        self.publish.send_if_modified(|state| {
            if matches!(state, DualWriteState::Degraded { why: known, .. } if known == why) {
                return false;
            }
            tracing::info!(shard = %upstream, why, "dual-write is asynchronous for now");
            *state = DualWriteState::Degraded {
                since_ms: now_ms(),
                why: why.to_owned(),
            };
            true
        });
    }

    /// Ends the dual-write of this stream.
    async fn finish(mut self) {
        if self.name_is_set && !self.retry_remove_name().await {
            // The watchdog will find that the walsender has ended, and remove the name.
            return;
        }
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end().await;
        }
    }

    /// Tries to remove the name [`END_ATTEMPTS`] times. Returns whether the name is removed, or a newer owner of the
    /// migration removes it.
    async fn retry_remove_name(&mut self) -> bool {
        for _ in 0..END_ATTEMPTS {
            let removal = async {
                self.connect().await?;
                dual_write::remove_names(self.client()?, &self.spec.token, OwnershipProof::Owner)
                    .await
            };
            match removal.await {
                Ok(_) => return true,
                Err(error) if error.is_superseded() => return true,
                Err(error) => {
                    tracing::debug!(%error, "removing the name from synchronous_standby_names failed")
                }
            }
            self.session = None;
            tokio::time::sleep(PROBE_INTERVAL).await;
        }
        false
    }
}

/// Returns a random time below `limit`, so that the keepers of two streams do not try again at the same time.
fn random_delay(limit: Duration) -> Duration {
    limit.mul_f64(rand::random::<f64>())
}

fn now_ms() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
