//! A change stream: it reads the replication slot on its upstream shard and applies the changes on its downstream
//! shard. Before the flip it runs from source to target (forward), after the flip from target to source (reverse), with
//! the same code.
//!
//! The stream runs concurrently with the steps, which can request it to pause, to park or to stop. After a transient
//! error it restarts from its durable progress. It gives up after a number of failures in a row. While the copy runs,
//! while the downstream shard is unavailable, and when the stream is far behind, it writes changes to the
//! [`spool`](crate::spool).
//!
//! One session on the downstream shard applies the changes. When the stream reads a backlog, two sessions share each
//! batch. The code calls these sessions *lanes* ([`lanes`], ADR 39).

pub(crate) mod apply;
mod arrival;
mod batch;
mod capture;
mod confirmable;
mod copy_snapshots;
mod dependent_pieces;
pub mod dual_write;
mod feed;
mod lanes;
mod observation;
mod pieces;
mod recopy;
mod retained;
mod row_count;
mod run;
pub(crate) mod second_lane;
mod spooled;
mod state;
mod supervisor;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use plans::failure::StepCode;
use plans::key_set::KeySet;
use plans::names::Direction;
use plans::table::{MovingTable, TableName};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::SystemIdentity;
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::spool::SpoolLocation;
use crate::stream::apply::dependents::EnteringRows;
use crate::stream::dual_write::{DualWrite, DualWriteKeeper, KeeperSpec};

pub(crate) use observation::StreamObservation;

/// The configuration of a stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamSpec {
    pub(crate) direction: Direction,
    /// The shard whose slot the stream reads.
    pub(crate) upstream: Shard,
    /// The shard on which the stream applies the changes.
    pub(crate) downstream: Shard,
    /// The server of the upstream shard; the stream refuses any other server (I10).
    pub(crate) system: SystemIdentity,
    /// The proof of the agent's epoch, which each write on a shard contains.
    pub(crate) token: EpochToken,
    pub(crate) tables: Arc<Vec<MovingTable>>,
    /// The moving keys.
    pub(crate) keys: KeySet,
    /// Rows that the next run reads again on the upstream shard.
    pub(crate) entering: EnteringRows,
    /// Partitions that do not move any more, although the stream may still send changes of them. It discards these.
    pub(crate) retired: Vec<TableName>,
    /// Whether the agent follows changes of the tables' definitions. The other shard then may not have constraints that
    /// the owner has.
    pub(crate) follows_ddl: bool,
    /// The number of sessions on the downstream shard that may apply a backlog; at most two are used.
    pub(crate) sessions: u32,
    /// The spool for changes that cannot be applied yet; `None` for a reverse stream, whose changes the upstream shard
    /// retains.
    pub(crate) spool: Option<SpoolLocation>,
    /// If set, commits on the upstream shard wait for the stream while the stream has no lag (synchronous dual-write).
    pub(crate) dual_write: Option<DualWrite>,
    /// Standbys of the downstream shard that the confirmed position does not wait for.
    pub(crate) ignored_standbys: Vec<String>,
    /// A stream that applies changes directly ([`StreamMode::Live`]) starts to spool when the upstream shard retains
    /// more than this many bytes of WAL for it.
    pub(crate) spool_threshold_bytes: u64,
    /// The newest part of the spool, in bytes of WAL, that the stream does not confirm to the slot. The upstream shard
    /// retains this WAL, so that an agent without this spool can continue from the slot.
    pub(crate) unconfirmed_spool_bytes: u64,
    /// If the upstream shard retains more bytes of WAL for the slot than this, the agent ends the stream with a failure
    /// and drops the slot.
    pub(crate) max_retained_bytes: u64,
    /// The number of failures in a row after which the stream gives up.
    pub(crate) max_attempts: u32,
}

impl StreamSpec {
    /// Returns whether rows of some tables belong to rows of other tables.
    pub(crate) fn has_dependents(&self) -> bool {
        self.tables.iter().any(|table| table.through().is_some())
    }
}

/// Settings of a stream that the steps can change at any time. They remain in effect when the stream restarts.
#[derive(Debug)]
pub(crate) struct StreamSettings {
    /// If true, the stream records the key of each arriving change as dirty, so that the agent compares the row again.
    record_dirty: AtomicBool,
    /// If true, the stream applies changes; otherwise it spools them.
    pub(crate) apply: AtomicBool,
    /// The number of callers that have paused the stream. While it is not 0, the stream confirms no position.
    pub(crate) pause_count: AtomicU32,
    /// If true, the stream commits arrived changes immediately, because a cutover is near.
    commit_promptly: AtomicBool,
    /// Notified when `pause_count` or `apply` changes.
    pub(crate) changed: Notify,
}

/// A request to a running stream.
#[derive(Debug)]
enum StreamRequest {
    /// One of the settings in [`StreamSettings`] has changed, and the stream must read them again.
    CheckSettings,
    /// Pause: from now on the stream applies no further transaction until a `Park` or `Resume` request follows. It
    /// answers when it applies nothing more.
    Pause(oneshot::Sender<()>),
    /// Park: the stream applies every transaction that committed before the point, and none after it. It answers with
    /// the position of the last applied commit.
    Park(ParkAt, oneshot::Sender<Lsn>),
    /// Resume: the stream continues after `Pause` or `Park`.
    Resume,
    /// Stop: the stream ends when it has applied this marker.
    StopAt(Uuid),
}

/// The point at which a stream parks: between two commits of the upstream WAL.
#[derive(Debug)]
pub(crate) struct ParkAt {
    /// The stream applies the transactions that commit before this position.
    pub(crate) before: Lsn,
    /// The name of an exported snapshot that sees exactly the transactions that committed before the point. If the
    /// stream has to read rows again before it reaches the point, it reads them with this snapshot, so that they
    /// contain no later change.
    pub(crate) snapshot: String,
}

/// A running stream. If this value is dropped, the stream stops immediately, and its open transaction is rolled back.
#[derive(Debug)]
pub(crate) struct ApplyStream {
    pub(crate) direction: Direction,
    requests: mpsc::UnboundedSender<StreamRequest>,
    observation: watch::Receiver<StreamObservation>,
    settings: Arc<StreamSettings>,
    keeper: Option<DualWriteKeeper>,
    /// Cancelled when the stream is dropped: the sessions of a stream that has ended stay open until then.
    close_sessions: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for ApplyStream {
    fn drop(&mut self) {
        self.close_sessions.cancel();
        self.task.abort();
    }
}

impl ApplyStream {
    /// Starts the stream from its durable progress. If `apply` is false, it only spools changes.
    pub(crate) fn start(spec: StreamSpec, record_dirty: bool, apply: bool) -> Self {
        let (publish, observation) =
            watch::channel(StreamObservation::before_start(spec.direction));
        let (requests, received) = mpsc::unbounded_channel();
        let settings = Arc::new(StreamSettings {
            record_dirty: AtomicBool::new(record_dirty),
            apply: AtomicBool::new(apply),
            pause_count: AtomicU32::new(0),
            commit_promptly: AtomicBool::new(false),
            changed: Notify::new(),
        });
        let direction = spec.direction;
        let stream_ended = CancellationToken::new();
        let keeper = spec.dual_write.clone().map(|dual_write| {
            DualWriteKeeper::start(KeeperSpec {
                upstream: spec.upstream.clone(),
                downstream: spec.downstream.clone(),
                token: spec.token.clone(),
                dual_write,
                observations: observation.clone(),
                settings: settings.clone(),
                stop: stream_ended.clone(),
            })
        });
        let close_sessions = CancellationToken::new();
        let work = supervisor::run_and_watch_slot(
            spec,
            publish,
            received,
            settings.clone(),
            close_sessions.clone(),
        );
        let task = tokio::spawn(async move {
            let _cancel_at_end = stream_ended.drop_guard();
            work.await;
        });
        Self {
            direction,
            requests,
            observation,
            settings,
            keeper,
            close_sessions,
            task,
        }
    }

    /// Returns the current status of the stream, including its dual-write.
    pub(crate) fn observation(&self) -> StreamObservation {
        let mut observation = self.observation.borrow().clone();
        if let Some(keeper) = &self.keeper {
            observation.status.dual_write = keeper.state();
        }
        observation
    }

    /// Makes the stream record as dirty the key of each change that arrives from now on.
    pub(crate) fn start_recording_dirty_keys(&self) {
        self.settings.record_dirty.store(true, Ordering::SeqCst);
    }

    /// Sets whether the stream applies changes or only spools them. A stream without a spool always applies.
    pub(crate) fn set_apply(&self, apply: bool) {
        if self.settings.apply.swap(apply, Ordering::SeqCst) != apply {
            self.settings.changed.notify_one();
            let _ = self.requests.send(StreamRequest::CheckSettings);
        }
    }

    /// Makes the stream commit arrived changes immediately, until the returned value is dropped. When a marker arrives,
    /// few changes before it are then still uncommitted.
    pub(crate) fn commit_promptly(&self) -> PromptCommits {
        self.settings.commit_promptly.store(true, Ordering::SeqCst);
        let _ = self.requests.send(StreamRequest::CheckSettings);
        PromptCommits(self.settings.clone())
    }

    /// Returns whether the stream still runs.
    pub(crate) fn is_running(&self) -> bool {
        !self.task.is_finished()
    }

    /// Returns a receiver of the status, for [`wait_for_marker`] and [`wait_for_failure`]. It does not borrow the
    /// stream.
    pub(crate) fn subscribe(&self) -> watch::Receiver<StreamObservation> {
        self.observation.clone()
    }

    /// Pauses the stream, so that the caller can choose the point to park at.
    ///
    /// Returns when the stream applies nothing more. If the stream has read rows again on the upstream shard, their
    /// state belongs to a log position that the stream has not reached yet; it first applies all changes up to that
    /// position. The stream continues when the returned value is dropped.
    ///
    /// # Errors
    /// `stream.ended`, or the stream's failure, if it gave up.
    pub(crate) async fn pause(&self) -> Result<PausedStream<'_>, StepError> {
        // A paused stream confirms nothing, so synchronous commits on the upstream shard would wait for the stream. The
        // slot that gives the point would wait for these commits. The keeper of dual-write therefore makes commits
        // asynchronous meanwhile.
        self.settings.pause_count.fetch_add(1, Ordering::SeqCst);
        self.settings.changed.notify_one();
        let (answer, answered) = oneshot::channel();
        let _ = self.requests.send(StreamRequest::Pause(answer));
        let paused = PausedStream(self);
        tokio::select! {
            biased;
            result = answered => result.map_err(|_| StepError::passing(StepCode::StreamEnded, "the change stream ended"))?,
            failure = wait_for_failure(self.observation.clone()) => return Err(failure),
        }
        Ok(paused)
    }

    /// Makes the stream end when it has applied `marker`. The caller must call this before it writes the marker.
    pub(crate) fn stop_at(&self, marker: Uuid) {
        let _ = self.requests.send(StreamRequest::StopAt(marker));
    }

    /// Stops the stream. Waits until its dual-write keeper and its task have ended.
    pub(crate) async fn stop(mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.end().await;
        }
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Waits until the stream has ended after [`ApplyStream::stop_at`].
    ///
    /// The sessions stay open until this value is dropped: a server process needs milliseconds of CPU time to end,
    /// and a write-blocked window need not wait for that.
    pub(crate) async fn wait_until_ended(&mut self) {
        let _ = (&mut self.task).await;
    }
}

/// While this value exists, the stream commits arrived changes immediately.
#[derive(Debug)]
pub(crate) struct PromptCommits(Arc<StreamSettings>);

impl Drop for PromptCommits {
    fn drop(&mut self) {
        self.0.commit_promptly.store(false, Ordering::SeqCst);
    }
}

/// A paused stream: it applies nothing until [`PausedStream::park`] is called. When this value is dropped, the stream
/// continues.
#[derive(Debug)]
pub(crate) struct PausedStream<'a>(&'a ApplyStream);

impl Drop for PausedStream<'_> {
    fn drop(&mut self) {
        self.0.settings.pause_count.fetch_sub(1, Ordering::SeqCst);
        let _ = self.0.requests.send(StreamRequest::Resume);
    }
}

impl PausedStream<'_> {
    /// Makes the stream apply every transaction that committed before the point, and none after it.
    ///
    /// Returns when the stream has reached the point. The stream notices this only when a transaction that commits
    /// after the point arrives, so the caller makes sure that one follows. The snapshot must be importable until then.
    ///
    /// # Errors
    /// `stream.passed` if the stream had already applied a later commit; `stream.restarted` if it restarted before it
    /// reached the point; the stream's failure, if it gave up.
    pub(crate) async fn park(&self, at: ParkAt) -> Result<(), StepError> {
        let before = at.before;
        let (answer, answered) = oneshot::channel();
        let _ = self.0.requests.send(StreamRequest::Park(at, answer));
        let last_commit = tokio::select! {
            biased;
            result = answered => result.map_err(|_| StepError::passing(StepCode::StreamRestarted, "the change stream restarted before it could park"))?,
            failure = wait_for_failure(self.0.observation.clone()) => return Err(failure),
        };
        if last_commit < before {
            return Ok(());
        }
        Err(StepError::passing(
            StepCode::StreamPassed,
            format!(
                "the change stream has already applied a commit after {before}, where it should park"
            ),
        ))
    }
}

/// Waits until the stream has applied `marker`; returns the number of row changes applied before it.
///
/// # Errors
/// The stream's failure, if it gave up; `stream.ended` if it ended without the marker.
pub(crate) async fn wait_for_marker(
    mut observation: watch::Receiver<StreamObservation>,
    marker: Uuid,
) -> Result<u64, StepError> {
    let marker_or_failure = observation
        .wait_for(|observation| {
            observation.applied_markers.contains_key(&marker)
                || observation.status.failure.is_some()
        })
        .await
        .map(|observation| {
            (
                observation.applied_markers.get(&marker).copied(),
                observation.status.failure.clone(),
            )
        });
    match marker_or_failure {
        Ok((Some(applied), _)) => Ok(applied),
        Ok((None, Some(failure))) => Err(StepError::Failed(failure)),
        _ => Err(StepError::passing(
            StepCode::StreamEnded,
            "the change stream ended",
        )),
    }
}

/// Waits until a stream has given up, and returns its failure. Never returns if the stream ends on request.
pub(crate) async fn wait_for_failure(
    mut observation: watch::Receiver<StreamObservation>,
) -> StepError {
    let failure = observation
        .wait_for(|observation| observation.status.failure.is_some())
        .await
        .ok()
        .and_then(|observation| observation.status.failure.clone());
    match failure {
        Some(failure) => StepError::Failed(failure),
        // The stream ended on request: there is no failure to return.
        None => std::future::pending().await,
    }
}
