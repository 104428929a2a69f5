//! The keeper, the agent's side of dual-write. It adds the stream's name to `synchronous_standby_names` of the upstream
//! shard when the stream is level, which means that the stream has almost no lag. It removes the name when the stream
//! does not apply changes directly, is held, or confirms nothing for too long.
//!
//! Order of a change: the watchdog is started, then the previous value is recorded, then the setting is changed.
//! The keeper ends with its stream and then removes the name at once. This is safe also in a cutover: the old owner is
//! sealed, so no further write to the moving keys can commit on it.

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

use super::hang::{AbsentSince, HangingCommits};
use super::{DualWrite, PROBE_INTERVAL, RunningWatchdog, STANDBY_ROLE};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::dual_write::{self, OwnershipProof, StandbyStatus};
use crate::shard::epoch::EpochToken;
use crate::stream::{StreamObservation, StreamSettings};

/// A stream that lags by no more than this is level: it confirms the rest before a writer notices.
const LEVEL_BYTES: u64 = 64 << 10;
/// The number of probes in a row that must find the stream level.
const LEVEL_PROBES: u32 = 2;
/// The number of probes in a row that must find the walsender to be a synchronous standby before the keeper reports
/// that commits wait. The probe reads the state of the walsender, but the checkpointer makes commits wait. Both
/// processes reload the setting independently, so the walsender may do it earlier.
const COUNTED_PROBES: u32 = 2;
/// The time that the end of a stream waits for the removal of the name; afterwards the removal continues in the
/// background.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of attempts to remove the name at the end; afterwards the watchdog removes it.
const END_ATTEMPTS: u32 = 20;

// Reasons why dual-write is not synchronous any more.

/// The stream is held (`pause_count`) so that it stops at an exact point; this is not the hold after the flip.
const HELD: &str = "a comparison reads one exact point";
const SPOOLED: &str =
    "changes are spooled: the downstream shard is unavailable, or the migration is paused";
const HANGS: &str = "the downstream shard has confirmed nothing for too long";
const REMOVED: &str = "the stream's name is not in force in synchronous_standby_names";
const CONTENDED: &str = "commits on the downstream shard wait for another dual-write";

/// The configuration of a keeper.
#[derive(Debug)]
pub(crate) struct KeeperSpec {
    pub(crate) upstream: Shard,
    pub(crate) downstream: Shard,
    /// The proof of the agent's epoch, which each write on a shard contains.
    pub(crate) token: EpochToken,
    pub(crate) dual_write: DualWrite,
    pub(crate) observations: watch::Receiver<StreamObservation>,
    pub(crate) commands: Arc<StreamSettings>,
    /// Cancelled to end the keeper: when the stream has ended, or by [`DualWriteKeeper::end`].
    pub(crate) ended: CancellationToken,
}

/// A running keeper.
#[derive(Debug)]
pub(crate) struct DualWriteKeeper {
    ended: CancellationToken,
    task: JoinHandle<()>,
    state: watch::Receiver<DualWriteState>,
}

impl DualWriteKeeper {
    /// Starts a keeper, which ends when `spec.ended` is cancelled.
    pub(crate) fn start(spec: KeeperSpec) -> Self {
        let (publish, state) = watch::channel(DualWriteState::Asynchronous);
        let ended = spec.ended.clone();
        let name = spec.upstream.application_name(STANDBY_ROLE);
        let work = KeeperTask {
            spec,
            name,
            publish,
            session: None,
            watchdog: None,
            hangs: HangingCommits::default(),
            absence: AbsentSince::default(),
            level_probes: 0,
            counted_probes: 0,
            not_before: Instant::now(),
            name_is_set: false,
        };
        Self {
            ended,
            task: tokio::spawn(work.run()),
            state,
        }
    }

    /// Returns whether commits are synchronous now.
    pub(crate) fn state(&self) -> DualWriteState {
        self.state.borrow().clone()
    }

    /// Makes the keeper remove the name while the stream continues.
    pub(crate) async fn end(self) {
        self.ended.cancel();
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
    hangs: HangingCommits,
    absence: AbsentSince,
    /// The number of probes in a row that found the stream level.
    level_probes: u32,
    /// The number of probes in a row that found the walsender to be a synchronous standby.
    counted_probes: u32,
    /// After a problem, the name is not added before this time.
    not_before: Instant,
    /// Whether the name is in the setting, as far as the keeper knows.
    name_is_set: bool,
}

impl KeeperTask {
    async fn run(mut self) {
        let (ended, commands) = (self.spec.ended.clone(), self.spec.commands.clone());
        loop {
            tokio::select! {
                biased;
                () = ended.cancelled() => break,
                () = commands.changed.notified() => {}
                () = tokio::time::sleep(PROBE_INTERVAL) => {}
            }
            if let Err(error) = self.probe_and_react().await {
                if error.is_superseded() {
                    break;
                }
                tracing::debug!(%error, "the keeper of dual-write could not probe the shard");
                self.session = None;
            }
        }
        self.finish().await;
    }

    async fn probe_and_react(&mut self) -> Result<(), StepError> {
        self.connect().await?;
        let status = dual_write::probe(self.client()?, &self.name).await?;
        if self.name_is_set {
            self.check_synchronous(&status).await
        } else {
            self.wait_for_level(&status).await
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
    fn reason_to_leave(&self) -> Option<&'static str> {
        let commands = &self.spec.commands;
        if commands.pause_count.load(Ordering::SeqCst) > 0 {
            return Some(HELD);
        }
        // True if the stream applies changes directly, without the spool.
        let live = self.spec.observations.borrow().status.mode == StreamMode::Live;
        (!live || !commands.apply.load(Ordering::SeqCst)).then_some(SPOOLED)
    }

    /// Decides, while the name is in the setting, whether it must be removed.
    async fn check_synchronous(&mut self, status: &StandbyStatus) -> Result<(), StepError> {
        let (now, limit) = (Instant::now(), self.spec.dual_write.limit);
        let hung = self
            .hangs
            .observe(&status.waiting_commits, now)
            .max(self.absence.observe(status.is_streaming, now));
        if let Some(why) = self.reason_to_leave() {
            return self.take_name_out(why).await;
        }
        if hung >= limit {
            self.not_before = now + limit;
            return self.take_name_out(HANGS).await;
        }
        if !status.is_named {
            self.not_before = now + limit;
            self.counted_probes = 0;
            self.publish_degraded(REMOVED);
            // Nevertheless the configuration file may contain the name, and the server may load it later.
            return self.take_name_out(REMOVED).await;
        }
        self.counted_probes = if status.is_synchronous {
            self.counted_probes + 1
        } else {
            0
        };
        if self.counted_probes >= COUNTED_PROBES {
            self.publish.send_if_modified(|state| {
                let new = *state != DualWriteState::Synchronous;
                *state = DualWriteState::Synchronous;
                new
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
    async fn wait_for_level(&mut self, status: &StandbyStatus) -> Result<(), StepError> {
        // Whether commits may wait for the stream.
        let fit = self.reason_to_leave().is_none()
            && status.is_streaming
            && status.lag_bytes <= LEVEL_BYTES;
        self.level_probes = if fit { self.level_probes + 1 } else { 0 };
        if self.level_probes < LEVEL_PROBES || Instant::now() < self.not_before {
            return Ok(());
        }
        if self.is_contended().await? {
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
        // If the change fails before its end, the name may be in the setting: the keeper assumes that it is.
        self.name_is_set = true;
        self.counted_probes = 0;
        self.hangs.clear();
        self.absence.clear();
        let upstream = &self.spec.upstream.name;
        dual_write::add_name(self.client()?, &self.spec.token, &self.name).await?;
        // The state may have changed while the name was added. For each reason the keeper removes the name, and reports
        // `CONTENDED`.
        if self.reason_to_leave().is_some() || self.is_contended().await? {
            self.not_before = Instant::now() + random_delay(self.spec.dual_write.limit);
            return self.take_name_out(CONTENDED).await;
        }
        tracing::info!(shard = %upstream, "dual-write is synchronous");
        Ok(())
    }

    /// Returns whether commits on the downstream shard wait for a stream of Shardwright. With this stream's name on the
    /// upstream shard, the two streams could then wait for each other until the limit.
    async fn is_contended(&self) -> Result<bool, StepError> {
        let other = &self.spec.downstream;
        let session = other.session("dual-write-check").await?;
        let waits = dual_write::commits_wait_for_streams(&session).await;
        session.close().await;
        waits
    }

    /// Removes the name from the setting. `why` is reported as the reason why commits are asynchronous.
    async fn take_name_out(&mut self, why: &str) -> Result<(), StepError> {
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
        if self.name_is_set && !self.retry_take_name_out().await {
            // The watchdog will find that the walsender has ended, and remove the name.
            return;
        }
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end().await;
        }
    }

    /// Tries to remove the name [`END_ATTEMPTS`] times. Returns whether the name is removed, or a newer owner of the
    /// migration removes it.
    async fn retry_take_name_out(&mut self) -> bool {
        for _ in 0..END_ATTEMPTS {
            let out = async {
                self.connect().await?;
                dual_write::remove_names(self.client()?, &self.spec.token, OwnershipProof::Owner)
                    .await
            };
            match out.await {
                Ok(_) => return true,
                // The newer owner of the migration removes the name.
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

/// Returns a random time below `limit`, so that two streams that contended do not try again at the same time.
fn random_delay(limit: Duration) -> Duration {
    limit.mul_f64(rand::random::<f64>())
}

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
