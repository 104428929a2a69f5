//! The agent's side: puts our name in when the stream is level, and out when it is not or nobody confirms.
//!
//! Order of a change: watchdog, then the former value is written down, then the setting.
//! The keeper ends with its stream, and takes the name out at once then, also in a cutover: the keys are sealed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use connect::Connected;
use plans::wire::{DualWriteState, StreamMode};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::hang::{AbsentSince, HangingCommits};
use super::{DualWrite, LOOK_EVERY, ROLE, RunningWatchdog};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::dual_write::{self, OwnershipProof, StandbyStatus};
use crate::shard::epoch::EpochToken;
use crate::stream::{StreamCommands, StreamObservation};

/// A stream that lags no further is level: what is left is confirmed before a writer notices.
const LEVEL_BYTES: u64 = 64 << 10;
/// Looks in a row that must find it level.
const LEVEL_LOOKS: u32 = 2;
/// Looks in a row that must find us counted before it is told that commits wait: the walsender, which is seen, and
/// the checkpointer, which lets them wait, are told of the setting at the same time.
const COUNTED_LOOKS: u32 = 2;
/// How long the end of a stream waits for the name to be out; it goes on in the background.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// Tries to take the name out at the end; then the watchdog does it.
const END_TRIES: u32 = 20;

/// Why dual-write is not synchronous although it was.
const HELD: &str = "a comparison reads one exact point";
const SPOOLED: &str =
    "changes are not applied at once: the other shard is away, or the migration is paused";
const HANGS: &str = "the other shard has confirmed nothing for too long";
const REMOVED: &str = "our name is not in force in synchronous_standby_names";
const CONTENDED: &str = "the other shard waits for a dual-write of its own";

/// What a keeper needs to know.
#[derive(Debug)]
pub(crate) struct KeeperSpec {
    pub(crate) origin: Shard,
    pub(crate) destination: Shard,
    pub(crate) token: EpochToken,
    pub(crate) how: DualWrite,
    pub(crate) seen: watch::Receiver<StreamObservation>,
    pub(crate) commands: Arc<StreamCommands>,
    /// The stream has ended.
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
    /// Starts it; it ends when `spec.ended` is cancelled.
    pub(crate) fn start(spec: KeeperSpec) -> Self {
        let (publish, state) = watch::channel(DualWriteState::Asynchronous);
        let ended = spec.ended.clone();
        let name = spec.origin.application_name(ROLE);
        let work = KeeperTask {
            spec,
            name,
            publish,
            session: None,
            watchdog: None,
            hangs: HangingCommits::default(),
            absence: AbsentSince::default(),
            level: 0,
            counted: 0,
            not_before: Instant::now(),
            inside: false,
        };
        Self {
            ended,
            task: tokio::spawn(work.run()),
            state,
        }
    }

    /// Whether writes are acknowledged synchronously now.
    pub(crate) fn state(&self) -> DualWriteState {
        self.state.borrow().clone()
    }

    /// Lets it take the name out, while the stream goes on.
    pub(crate) async fn end(self) {
        self.ended.cancel();
        let _ = tokio::time::timeout(END_PATIENCE, self.task).await;
    }
}

struct KeeperTask {
    spec: KeeperSpec,
    /// Our walsender's.
    name: String,
    publish: watch::Sender<DualWriteState>,
    session: Option<Connected>,
    watchdog: Option<RunningWatchdog>,
    hangs: HangingCommits,
    absence: AbsentSince,
    /// Looks in a row that found the stream level.
    level: u32,
    /// Looks in a row that found it counted as a synchronous standby.
    counted: u32,
    /// After trouble it is not tried again at once.
    not_before: Instant,
    /// Our name is in the setting, as far as we know.
    inside: bool,
}

impl KeeperTask {
    async fn run(mut self) {
        let (ended, commands) = (self.spec.ended.clone(), self.spec.commands.clone());
        loop {
            tokio::select! {
                biased;
                () = ended.cancelled() => break,
                () = commands.nudge.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            if let Err(error) = self.pass().await {
                if error.is_superseded() {
                    break;
                }
                tracing::debug!(%error, "synchronous commits could not be looked after");
                self.session = None;
            }
        }
        self.finish().await;
    }

    async fn pass(&mut self) -> Result<(), StepError> {
        self.connect().await?;
        let look = dual_write::probe(self.client()?, &self.name).await?;
        if self.inside {
            self.watch(&look).await
        } else {
            self.wait_for_level(&look).await
        }
    }

    async fn connect(&mut self) -> Result<(), StepError> {
        if self.session.is_none() {
            let origin = &self.spec.origin;
            let session = origin.session("dual-write-keeper").await?;
            dual_write::prepare_session(&session)
                .await
                .at(format_args!("shard {}: preparing a session", origin.name))?;
            self.session = Some(session);
        }
        Ok(())
    }

    fn client(&self) -> Result<&Connected, StepError> {
        let session = self.session.as_ref();
        session.ok_or_else(|| {
            StepError::passing(
                "dual_write.session",
                "the session for synchronous commits is gone",
            )
        })
    }

    /// Why commits must not wait for us now.
    fn unfit(&self) -> Option<&'static str> {
        let commands = &self.spec.commands;
        if commands.held.load(Ordering::SeqCst) > 0 {
            return Some(HELD);
        }
        let live = self.spec.seen.borrow().status.mode == StreamMode::Live;
        (!live || !commands.apply.load(Ordering::SeqCst)).then_some(SPOOLED)
    }

    async fn watch(&mut self, look: &StandbyStatus) -> Result<(), StepError> {
        let (now, limit) = (Instant::now(), self.spec.how.limit);
        let hung = self
            .hangs
            .look(&look.waiting_commits, now)
            .max(self.absence.look(look.is_streaming, now));
        if let Some(why) = self.unfit() {
            return self.leave(why).await;
        }
        if hung >= limit {
            self.not_before = now + limit;
            return self.leave(HANGS).await;
        }
        if !look.is_named {
            self.not_before = now + limit;
            self.counted = 0;
            self.degrade(REMOVED);
            // It may be written all the same, and come into force later.
            return self.leave(REMOVED).await;
        }
        self.counted = if look.is_synchronous {
            self.counted + 1
        } else {
            0
        };
        if self.counted >= COUNTED_LOOKS {
            self.publish.send_if_modified(|state| {
                let new = *state != DualWriteState::Synchronous;
                *state = DualWriteState::Synchronous;
                new
            });
        }
        if self
            .watchdog
            .as_mut()
            .is_none_or(|watchdog| !watchdog.runs())
        {
            self.watchdog = Some(RunningWatchdog::start(&self.spec, limit).await?);
        }
        Ok(())
    }

    async fn wait_for_level(&mut self, look: &StandbyStatus) -> Result<(), StepError> {
        let fit = self.unfit().is_none() && look.is_streaming && look.lag_bytes <= LEVEL_BYTES;
        self.level = if fit { self.level + 1 } else { 0 };
        if self.level < LEVEL_LOOKS || Instant::now() < self.not_before {
            return Ok(());
        }
        if self.contended().await? {
            self.not_before = Instant::now() + self.spec.how.limit;
            self.outside(CONTENDED);
            return Ok(());
        }
        if self
            .watchdog
            .as_mut()
            .is_none_or(|watchdog| !watchdog.runs())
        {
            self.watchdog = Some(RunningWatchdog::start(&self.spec, self.spec.how.limit).await?);
        }
        // If this fails half-way the name may be in: it is taken for that.
        self.inside = true;
        self.counted = 0;
        self.hangs.forget();
        self.absence.forget();
        let origin = &self.spec.origin.name;
        dual_write::add_name(self.client()?, &self.spec.token, &self.name).await?;
        if self.unfit().is_some() || self.contended().await? {
            self.not_before = Instant::now() + jitter(self.spec.how.limit);
            return self.leave(CONTENDED).await;
        }
        tracing::info!(shard = %origin, "dual-write is synchronous");
        Ok(())
    }

    /// Two streams that wait for each other's confirmation would do so until the limit.
    async fn contended(&self) -> Result<bool, StepError> {
        let other = &self.spec.destination;
        let session = other.session("dual-write-check").await?;
        let waits = dual_write::commits_wait_for_us(&session).await;
        session.close().await;
        waits
    }

    async fn leave(&mut self, why: &str) -> Result<(), StepError> {
        dual_write::remove_names(self.client()?, &self.spec.token, OwnershipProof::Owner).await?;
        self.outside(why);
        Ok(())
    }

    fn outside(&mut self, why: &str) {
        self.inside = false;
        self.level = 0;
        self.degrade(why);
    }

    fn degrade(&self, why: &str) {
        let origin = &self.spec.origin.name;
        self.publish.send_if_modified(|state| {
            if matches!(state, DualWriteState::Degraded { why: known, .. } if known == why) {
                return false;
            }
            tracing::info!(shard = %origin, why, "dual-write is asynchronous for now");
            *state = DualWriteState::Degraded {
                since_ms: now_ms(),
                why: why.to_owned(),
            };
            true
        });
    }

    /// The phase is over for this stream.
    async fn finish(mut self) {
        if self.inside && !self.is_out().await {
            // The watchdog finds our walsender gone.
            return;
        }
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end().await;
        }
    }

    async fn is_out(&mut self) -> bool {
        for _ in 0..END_TRIES {
            let out = async {
                self.connect().await?;
                dual_write::remove_names(self.client()?, &self.spec.token, OwnershipProof::Owner)
                    .await
            };
            match out.await {
                Ok(_) => return true,
                // The newer owner does it.
                Err(error) if error.is_superseded() => return true,
                Err(error) => tracing::debug!(%error, "taking our name out again"),
            }
            self.session = None;
            tokio::time::sleep(LOOK_EVERY).await;
        }
        false
    }
}

/// Somewhere in the first `limit`: two that were in each other's way must not try at the same time again.
fn jitter(limit: Duration) -> Duration {
    limit.mul_f64(rand::random::<f64>())
}

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
