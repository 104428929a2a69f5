//! A change stream: reads one slot, applies on the other shard, and can be asked to park or stop.
//!
//! Forward before the flip, reverse after it; the same code (docs/protocol.md, moves and predicates).
//! The stream runs beside the steps. It restarts by itself after a passing error, from its durable
//! progress, and gives up after a number of failures in a row.
//! While the copy runs, or the other shard is away, or it is far behind, changes are spooled ([`spool`](crate::spool)).

pub(crate) mod apply;
mod batch;
mod capture;
pub mod dual_write;
mod feed;
mod lanes;
mod pieces;
mod recopy;
mod retained;
mod run;
pub(crate) mod second_lane;
mod seen;
mod spooled;
mod visible;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use plans::failure::RetryClass;
use plans::names::Direction;
use plans::table::MovingTable;
use plans::wire::StreamMode;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{SLOT_GAP, SystemIdentity};
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::spool::SpoolLocation;
use crate::stream::dual_write::{DualWrite, DualWriteKeeper, KeeperSpec};

pub(crate) use seen::StreamObservation;

/// Longest pause between two tries to restart.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a stream needs to know.
#[derive(Debug, Clone)]
pub(crate) struct StreamSpec {
    pub(crate) direction: Direction,
    /// Where the changes are made.
    pub(crate) origin: Shard,
    /// Where they are applied.
    pub(crate) destination: Shard,
    /// Which server the origin must be (I10).
    pub(crate) system: SystemIdentity,
    pub(crate) token: EpochToken,
    pub(crate) tables: Arc<Vec<MovingTable>>,
    /// Sessions on the destination among which a backlog may be divided; more than two are not used.
    pub(crate) sessions: u32,
    /// Where changes are kept that cannot be applied yet; without it the origin keeps them.
    pub(crate) spool: Option<SpoolLocation>,
    /// While it is level, commits on the origin wait for it.
    pub(crate) dual_write: Option<DualWrite>,
    /// A stream with a spool uses it once the origin keeps so many bytes of log for it.
    pub(crate) spool_beyond: u64,
    /// So much of what is in the spool the origin keeps all the same: for an agent that has not this spool.
    pub(crate) keep_behind: u64,
    /// The stream is given up, and its slot dropped, before the origin has to keep more log than this for it.
    pub(crate) log_limit: u64,
    /// Failures in a row before the stream gives up.
    pub(crate) max_attempts: u32,
}

/// Commands to a stream from outside, at any time; they outlive a restart.
#[derive(Debug)]
pub(crate) struct StreamCommands {
    /// The key of each change that arrives is recorded as dirty.
    record_dirty: AtomicBool,
    /// Changes may be applied; until then they are spooled.
    pub(crate) apply: AtomicBool,
    /// How many hold it at a point: nothing is confirmed meanwhile.
    pub(crate) held: AtomicU32,
    /// What has arrived is committed at once, as a cutover is near.
    hurry: AtomicBool,
    /// `held` or `apply` has changed.
    pub(crate) nudge: Notify,
}

/// Requests to a running stream.
#[derive(Debug)]
enum StreamRequest {
    /// The commands have changed.
    Look,
    /// Apply nothing that commits from now on, until it is said where to park; answer when that is so.
    Hold(oneshot::Sender<()>),
    /// Apply everything that committed before the point, nothing after it; answer when that is so
    /// with the position of the last applied commit.
    Park(ParkAt, oneshot::Sender<Lsn>),
    /// Go on after a park.
    Resume,
    /// End for good once this marker is applied.
    StopAt(Uuid),
}

/// A point of the origin's log.
#[derive(Debug)]
pub(crate) struct ParkAt {
    pub(crate) before: Lsn,
    /// Name of an exported snapshot that sees exactly what committed before the point. Rows that are read again on
    /// the way there are read with it: any later one would put them ahead of the point.
    pub(crate) snapshot: String,
}

/// A running stream; dropping it stops it wherever it is (its transaction rolls back).
#[derive(Debug)]
pub(crate) struct ApplyStream {
    pub(crate) direction: Direction,
    requests: mpsc::UnboundedSender<StreamRequest>,
    seen: watch::Receiver<StreamObservation>,
    commands: Arc<StreamCommands>,
    keeper: Option<DualWriteKeeper>,
    /// The sessions of a stream that has ended may end.
    let_go: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for ApplyStream {
    fn drop(&mut self) {
        self.let_go.cancel();
        self.task.abort();
    }
}

impl ApplyStream {
    /// Starts the stream from its durable progress; with `apply` unset changes are only spooled.
    pub(crate) fn start(spec: StreamSpec, record_dirty: bool, apply: bool) -> Self {
        let (publish, seen) = watch::channel(StreamObservation::nothing(spec.direction));
        let (requests, asked) = mpsc::unbounded_channel();
        let commands = Arc::new(StreamCommands {
            record_dirty: AtomicBool::new(record_dirty),
            apply: AtomicBool::new(apply),
            held: AtomicU32::new(0),
            hurry: AtomicBool::new(false),
            nudge: Notify::new(),
        });
        let direction = spec.direction;
        let ended = CancellationToken::new();
        let keeper = spec.dual_write.clone().map(|how| {
            DualWriteKeeper::start(KeeperSpec {
                origin: spec.origin.clone(),
                destination: spec.destination.clone(),
                token: spec.token.clone(),
                how,
                seen: seen.clone(),
                commands: commands.clone(),
                ended: ended.clone(),
            })
        });
        let let_go = CancellationToken::new();
        let work = supervise(spec, publish, asked, commands.clone(), let_go.clone());
        let task = tokio::spawn(async move {
            let _ended = ended.drop_guard();
            work.await;
        });
        Self {
            direction,
            requests,
            seen,
            commands,
            keeper,
            let_go,
            task,
        }
    }

    /// What it has seen so far.
    pub(crate) fn seen(&self) -> StreamObservation {
        let mut seen = self.seen.borrow().clone();
        if let Some(keeper) = &self.keeper {
            seen.status.dual_write = keeper.state();
        }
        seen
    }

    /// From now on the key of each change that arrives is recorded as dirty.
    pub(crate) fn record_dirty(&self) {
        self.commands.record_dirty.store(true, Ordering::SeqCst);
    }

    /// Whether changes are applied from now on, or only spooled (a stream without a spool always applies).
    pub(crate) fn apply(&self, apply: bool) {
        if self.commands.apply.swap(apply, Ordering::SeqCst) != apply {
            self.commands.nudge.notify_one();
            let _ = self.requests.send(StreamRequest::Look);
        }
    }

    /// Commits what has arrived at once until this is dropped, instead of waiting for more: a marker then finds little
    /// before it.
    pub(crate) fn hurry(&self) -> HurriedStream {
        self.commands.hurry.store(true, Ordering::SeqCst);
        let _ = self.requests.send(StreamRequest::Look);
        HurriedStream(self.commands.clone())
    }

    /// Whether it still runs.
    pub(crate) fn runs(&self) -> bool {
        !self.task.is_finished()
    }

    /// For [`reached`] and [`failure_of`], without holding the stream itself.
    pub(crate) fn watch(&self) -> watch::Receiver<StreamObservation> {
        self.seen.clone()
    }

    /// Applies nothing that commits from now on: the point to park at is about to be chosen.
    ///
    /// Returns when that is so: rows that are ahead of the stream take until it has caught up with them. It goes on
    /// when what this returns is dropped.
    ///
    /// # Errors
    /// `stream.ended`, or the stream's failure, if it gave up.
    pub(crate) async fn hold(&self) -> Result<HeldStream<'_>, StepError> {
        // Commits must not wait for a stream that confirms nothing, nor the point for those commits.
        self.commands.held.fetch_add(1, Ordering::SeqCst);
        self.commands.nudge.notify_one();
        let (settled, done) = oneshot::channel();
        let _ = self.requests.send(StreamRequest::Hold(settled));
        let held = HeldStream(self);
        tokio::select! {
            biased;
            settled = done => settled.map_err(|_| StepError::passing("stream.ended", "the change stream ended"))?,
            failure = failure_of(self.seen.clone()) => return Err(failure),
        }
        Ok(held)
    }

    /// Lets it end for good once `marker` is applied; ask before the marker is written.
    pub(crate) fn stop_at(&self, marker: Uuid) {
        let _ = self.requests.send(StreamRequest::StopAt(marker));
    }

    /// Stops it now and waits until its sessions are closed.
    pub(crate) async fn stop(mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.end().await;
        }
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Waits until it has ended by itself, after [`ApplyStream::stop_at`].
    ///
    /// It does nothing any more, but its sessions end with this value: a server process that ends takes milliseconds of
    /// a core, which a write stop need not wait for.
    pub(crate) async fn ended(&mut self) {
        let _ = (&mut self.task).await;
    }
}

/// A stream that commits at once.
#[derive(Debug)]
pub(crate) struct HurriedStream(Arc<StreamCommands>);

impl Drop for HurriedStream {
    fn drop(&mut self) {
        self.0.hurry.store(false, Ordering::SeqCst);
    }
}

/// A stream that applies nothing beyond the point where it is to park; dropping this lets it go on.
#[derive(Debug)]
pub(crate) struct HeldStream<'a>(&'a ApplyStream);

impl Drop for HeldStream<'_> {
    fn drop(&mut self) {
        self.0.commands.held.fetch_sub(1, Ordering::SeqCst);
        let _ = self.0.requests.send(StreamRequest::Resume);
    }
}

impl HeldStream<'_> {
    /// Applies what committed before the point and nothing after.
    ///
    /// Returns when that point is reached; something must commit after it, or it never is. The snapshot must be
    /// importable until then.
    ///
    /// # Errors
    /// `stream.passed` when it was beyond that point already, `stream.restarted`, or the stream's
    /// failure, if it gave up.
    pub(crate) async fn park(&self, at: ParkAt) -> Result<(), StepError> {
        let before = at.before;
        let (parked, done) = oneshot::channel();
        let _ = self.0.requests.send(StreamRequest::Park(at, parked));
        let last = tokio::select! {
            biased;
            arrived = done => arrived.map_err(|_| StepError::passing("stream.restarted", "the change stream restarted while it was asked to park"))?,
            failure = failure_of(self.0.seen.clone()) => return Err(failure),
        };
        if last < before {
            return Ok(());
        }
        Err(StepError::passing(
            "stream.passed",
            format!("the change stream was past {before} when it was asked to park there"),
        ))
    }
}

/// Waits until `marker` is applied; the number of row changes applied before it.
///
/// # Errors
/// The stream's failure, if it gave up.
pub(crate) async fn reached(
    mut seen: watch::Receiver<StreamObservation>,
    marker: Uuid,
) -> Result<u64, StepError> {
    let found = seen
        .wait_for(|seen| seen.markers.contains_key(&marker) || seen.status.failure.is_some())
        .await
        .map(|seen| {
            (
                seen.markers.get(&marker).copied(),
                seen.status.failure.clone(),
            )
        });
    match found {
        Ok((Some(applied), _)) => Ok(applied),
        Ok((None, Some(failure))) => Err(StepError::Failed(failure)),
        _ => Err(StepError::passing(
            "stream.ended",
            "the change stream ended",
        )),
    }
}

/// Waits until a stream has failed for good, and says why; never returns while it works.
pub(crate) async fn failure_of(mut seen: watch::Receiver<StreamObservation>) -> StepError {
    let failure = seen
        .wait_for(|seen| seen.status.failure.is_some())
        .await
        .ok()
        .and_then(|seen| seen.status.failure.clone());
    match failure {
        Some(failure) => StepError::Failed(failure),
        // It ended as it was asked to: nothing to report.
        None => std::future::pending().await,
    }
}

/// What the runs of one stream share.
struct StreamState {
    spec: StreamSpec,
    publish: watch::Sender<StreamObservation>,
    requests: mpsc::UnboundedReceiver<StreamRequest>,
    commands: Arc<StreamCommands>,
    /// Outlives a restart: a cutover that waits for the end would wait for ever.
    stop_at: Option<Uuid>,
    halt: Option<run::HaltPoint>,
    /// Who waits until it applies nothing more.
    holders: Vec<oneshot::Sender<()>>,
    /// It fell far behind: the next run begins with the spool.
    behind: bool,
    /// Cancelled when the sessions may end.
    let_go: CancellationToken,
}

impl StreamState {
    fn take(&mut self, request: StreamRequest) {
        match request {
            StreamRequest::Look => {}
            StreamRequest::Hold(settled) => {
                self.halt = Some(run::HaltPoint::Here);
                self.holders.push(settled);
            }
            StreamRequest::Park(at, parked) => self.halt = Some(run::HaltPoint::Before(at, parked)),
            StreamRequest::Resume => self.halt = None,
            StreamRequest::StopAt(marker) => self.stop_at = Some(marker),
        }
    }

    /// Nothing that commits from now on is applied, as long as somebody holds the stream.
    fn settle(&mut self) {
        for holder in self.holders.drain(..) {
            let _ = holder.send(());
        }
    }

    fn may_apply(&self) -> bool {
        self.commands.apply.load(Ordering::SeqCst)
    }

    /// Whether changes are committed as they come.
    fn is_prompt(&self) -> bool {
        self.spec.dual_write.is_some() || self.commands.hurry.load(Ordering::SeqCst)
    }

    fn mode(&self, mode: StreamMode) {
        self.publish.send_modify(|seen| seen.status.mode = mode);
    }
}

async fn supervise(
    spec: StreamSpec,
    publish: watch::Sender<StreamObservation>,
    requests: mpsc::UnboundedReceiver<StreamRequest>,
    commands: Arc<StreamCommands>,
    let_go: CancellationToken,
) {
    let mut watched = Box::pin(retained::watch(spec.clone(), publish.clone()));
    let mut shared = StreamState {
        spec,
        publish,
        requests,
        commands,
        stop_at: None,
        halt: None,
        holders: Vec::new(),
        behind: false,
        let_go: let_go.clone(),
    };
    let too_much = tokio::select! {
        too_much = &mut watched => too_much,
        () = run_for_ever(&mut shared) => {
            tokio::spawn(async move {
                let_go.cancelled().await;
                drop(watched);
            });
            return;
        }
    };
    // Whatever is lost with the slot, the origin's disk is worth more.
    let dropped = retained::drop_slot(&shared.spec).await;
    let mut failure = too_much;
    if let Err(error) = dropped {
        failure.message = format!(
            "{}; its slot could not be dropped: {error}",
            failure.message
        );
    }
    shared
        .publish
        .send_modify(|seen| seen.status.failure = Some(failure));
}

async fn run_for_ever(shared: &mut StreamState) {
    let mut failures = 0;
    loop {
        let before = shared.publish.borrow().status.transactions;
        let error = match spooled::run(shared).await {
            Ok(run::RunEnd::Done) => return,
            Ok(run::RunEnd::Again) => continue,
            Err(error) => error,
        };
        // Whoever asked the run that failed to park is told by the end of his channel.
        if matches!(shared.halt, Some(run::HaltPoint::Before(..))) {
            shared.halt = Some(run::HaltPoint::Here);
        }
        if shared.publish.borrow().status.transactions > before {
            failures = 0;
        }
        failures += 1;
        let Some(mut failure) = error.failure().cloned() else {
            return;
        };
        // Whoever had the slot before may have confirmed what he spooled last: his segments are read once more.
        let once_more = failure.code == SLOT_GAP && failures == 1;
        let passing = failure.retry != RetryClass::None || once_more;
        if !passing || failures >= shared.spec.max_attempts {
            if passing {
                failure.message = format!("{} ({failures} tries)", failure.message);
                failure.retry = RetryClass::None;
                failure
                    .hint
                    .get_or_insert_with(|| "mend the cause, then `resume`".to_owned());
            }
            shared
                .publish
                .send_modify(|seen| seen.status.failure = Some(failure));
            return;
        }
        tracing::warn!(direction = %shared.spec.direction, failures, error = %failure.message, "change stream restarts");
        tokio::time::sleep(pause(failures)).await;
    }
}

/// How long to wait after so many failures in a row.
fn pause(failures: u32) -> Duration {
    (Duration::from_millis(50) * 2_u32.pow(failures.min(10))).min(LONGEST_PAUSE)
}
