//! A change stream: it reads the replication slot on its upstream shard and applies the changes on its downstream
//! shard. Before the flip it runs from source to target (forward), after the flip from target to source (reverse), with
//! the same code.
//!
//! The stream runs concurrently with the steps, which can request it to park or to stop. After a transient error it
//! restarts from its durable progress. It gives up after a number of failures in a row. While the copy runs, while the
//! downstream shard is unavailable, and when the stream lags far, it writes changes to the [`spool`](crate::spool).

pub(crate) mod apply;
mod batch;
mod capture;
pub mod dual_write;
mod feed;
mod lanes;
mod observation;
mod pieces;
mod recopy;
mod retained;
mod run;
pub(crate) mod second_lane;
mod spooled;
mod state;
mod supervisor;
mod visible;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use plans::failure::StepCode;
use plans::names::Direction;
use plans::table::MovingTable;
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
    /// The server that the upstream shard must be (I10).
    pub(crate) system: SystemIdentity,
    /// The proof of the agent's epoch, which each write on a shard contains.
    pub(crate) token: EpochToken,
    pub(crate) tables: Arc<Vec<MovingTable>>,
    /// The number of sessions on the downstream shard that may apply a backlog; at most two are used.
    pub(crate) sessions: u32,
    /// The spool for changes that cannot be applied yet. Without a spool the upstream shard retains them.
    pub(crate) spool: Option<SpoolLocation>,
    /// If set, commits on the upstream shard wait for the stream while the stream has no lag (synchronous dual-write).
    pub(crate) dual_write: Option<DualWrite>,
    /// A stream that applies changes directly ([`StreamMode::Live`]) starts to spool when the upstream shard retains
    /// more than this many bytes of WAL for it.
    pub(crate) spool_threshold_bytes: u64,
    /// The upstream shard retains this many bytes of WAL that are also in the spool, for an agent that does not have
    /// this spool.
    pub(crate) unconfirmed_spool_bytes: u64,
    /// If the upstream shard retains more WAL than this, the agent ends the stream with a failure and drops the slot.
    pub(crate) max_retained_bytes: u64,
    /// The number of failures in a row after which the stream gives up.
    pub(crate) max_attempts: u32,
}

/// Settings of a stream that the steps can change at any time. They remain in effect when the stream restarts.
#[derive(Debug)]
pub(crate) struct StreamSettings {
    /// If true, the stream records the key of each arriving change as dirty, to be compared again.
    record_dirty: AtomicBool,
    /// If true, the stream applies changes; otherwise it spools them.
    pub(crate) apply: AtomicBool,
    /// The number of callers that hold the stream at a point. While it is not 0, the stream confirms no position.
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
    /// Hold: from now on the stream applies no further transaction until a `Park` or `Resume` request follows. It
    /// answers when it applies nothing more.
    Pause(oneshot::Sender<()>),
    /// Park: the stream applies every transaction that committed before the point, and none after it. It answers with
    /// the position of the last applied commit.
    Park(ParkAt, oneshot::Sender<Lsn>),
    /// Resume: the stream continues after a hold or a park.
    Resume,
    /// Stop: the stream ends when it has applied this marker.
    StopAt(Uuid),
}

/// The position in the upstream WAL at which a stream parks.
#[derive(Debug)]
pub(crate) struct ParkAt {
    pub(crate) before: Lsn,
    /// The name of an exported snapshot that sees exactly the transactions that committed before the point. Rows that
    /// the stream must read again before the point are read with it, so that they contain no later change.
    pub(crate) snapshot: String,
}

/// A running stream. If this value is dropped, the stream stops immediately, and its open transaction is rolled back.
#[derive(Debug)]
pub(crate) struct ApplyStream {
    pub(crate) direction: Direction,
    requests: mpsc::UnboundedSender<StreamRequest>,
    observation: watch::Receiver<StreamObservation>,
    commands: Arc<StreamSettings>,
    keeper: Option<DualWriteKeeper>,
    /// If this token is cancelled, the sessions of a stream that has ended are closed.
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
        let commands = Arc::new(StreamSettings {
            record_dirty: AtomicBool::new(record_dirty),
            apply: AtomicBool::new(apply),
            pause_count: AtomicU32::new(0),
            commit_promptly: AtomicBool::new(false),
            changed: Notify::new(),
        });
        let direction = spec.direction;
        let ended = CancellationToken::new();
        let keeper = spec.dual_write.clone().map(|dual_write| {
            DualWriteKeeper::start(KeeperSpec {
                upstream: spec.upstream.clone(),
                downstream: spec.downstream.clone(),
                token: spec.token.clone(),
                dual_write,
                observations: observation.clone(),
                commands: commands.clone(),
                ended: ended.clone(),
            })
        });
        let close_sessions = CancellationToken::new();
        let work = supervisor::supervise(
            spec,
            publish,
            received,
            commands.clone(),
            close_sessions.clone(),
        );
        let task = tokio::spawn(async move {
            let _ended = ended.drop_guard();
            work.await;
        });
        Self {
            direction,
            requests,
            observation,
            commands,
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
    pub(crate) fn record_dirty(&self) {
        self.commands.record_dirty.store(true, Ordering::SeqCst);
    }

    /// Sets whether the stream applies changes or only spools them. A stream without a spool always applies.
    pub(crate) fn set_apply(&self, apply: bool) {
        if self.commands.apply.swap(apply, Ordering::SeqCst) != apply {
            self.commands.changed.notify_one();
            let _ = self.requests.send(StreamRequest::CheckSettings);
        }
    }

    /// Makes the stream commit arrived changes immediately, until the returned value is dropped. A marker then waits
    /// for few changes before it.
    pub(crate) fn commit_promptly(&self) -> PromptCommits {
        self.commands.commit_promptly.store(true, Ordering::SeqCst);
        let _ = self.requests.send(StreamRequest::CheckSettings);
        PromptCommits(self.commands.clone())
    }

    /// Returns whether the stream still runs.
    pub(crate) fn is_running(&self) -> bool {
        !self.task.is_finished()
    }

    /// Returns the status as a channel, for [`wait_for_marker`] and [`wait_for_failure`], without a borrow of the
    /// stream.
    pub(crate) fn subscribe(&self) -> watch::Receiver<StreamObservation> {
        self.observation.clone()
    }

    /// Makes the stream apply no further transaction, so that the caller can choose the point to park at.
    ///
    /// Returns when the stream applies nothing more. If the stream has read rows again on the upstream shard, their
    /// state belongs to a log position that the stream has not reached yet; it first applies all changes up to that
    /// position. The stream continues when the returned value is dropped.
    ///
    /// # Errors
    /// `stream.ended`, or the stream's failure, if it gave up.
    pub(crate) async fn pause(&self) -> Result<PausedStream<'_>, StepError> {
        // A held stream confirms nothing, so synchronous commits would wait for it, and the choice of the point would
        // wait for these commits. The keeper of dual-write therefore makes commits asynchronous meanwhile.
        self.commands.pause_count.fetch_add(1, Ordering::SeqCst);
        self.commands.changed.notify_one();
        let (settled, done) = oneshot::channel();
        let _ = self.requests.send(StreamRequest::Pause(settled));
        let held = PausedStream(self);
        tokio::select! {
            biased;
            settled = done => settled
                .map_err(|_| StepError::passing(StepCode::StreamEnded, "the change stream ended"))?,
            failure = wait_for_failure(self.observation.clone()) => return Err(failure),
        }
        Ok(held)
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

/// A stream that applies nothing more until [`PausedStream::park`] is called. When this value is dropped, the stream
/// continues.
#[derive(Debug)]
pub(crate) struct PausedStream<'a>(&'a ApplyStream);

impl Drop for PausedStream<'_> {
    fn drop(&mut self) {
        self.0.commands.pause_count.fetch_sub(1, Ordering::SeqCst);
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
    /// `stream.passed` if the stream was already past that point, `stream.restarted`, or the stream's failure if it
    /// gave up.
    pub(crate) async fn park(&self, at: ParkAt) -> Result<(), StepError> {
        let before = at.before;
        let (parked, done) = oneshot::channel();
        let _ = self.0.requests.send(StreamRequest::Park(at, parked));
        let last = tokio::select! {
            biased;
            arrived = done => arrived.map_err(|_| {
                let message = "the change stream restarted before it could park";
                StepError::passing(StepCode::StreamRestarted, message)
            })?,
            failure = wait_for_failure(self.0.observation.clone()) => return Err(failure),
        };
        if last < before {
            return Ok(());
        }
        Err(StepError::passing(
            StepCode::StreamPassed,
            format!("the change stream is already past {before}, where it should park"),
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
    let found = observation
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
    match found {
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
