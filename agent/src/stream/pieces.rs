//! The queue of pieces of changes. The downstream shard executes them one after the other.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::Poll;

use connect::Connected;
use futures::future::BoxFuture;
use plans::failure::StepCode;
use plans::table::MovingTable;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::StreamSpec;
use super::lanes::{ApplyLanes, PreparedPiece};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::ApplyProgress;
use crate::stream::apply::{Executor, RowChange, compact_changes};

/// The maximum number of pieces that are started at the same time: while the server executes one, the agent prepares
/// the statements of the next.
const MAX_CONCURRENT_PIECES: usize = 2;

/// Changes that are executed together, with the dirty keys and the progress that are recorded with them.
#[derive(Debug, Default)]
pub(super) struct ChangePiece {
    pub(super) changes: Vec<RowChange>,
    /// Whether the stream records the keys of the changes as dirty.
    pub(super) records_dirty: bool,
    /// Whether the copy may contain changes of a transaction of the piece.
    pub(super) may_be_in_copy: bool,
    /// The approximate memory of the rows, in bytes.
    pub(super) bytes: usize,
    /// If the piece is the last one of a batch: the progress after this batch, and the sender that reports the commit.
    pub(super) batch_end: Option<(ApplyProgress, oneshot::Sender<()>)>,
    /// Whether superseded changes were removed.
    pub(super) compacted: bool,
    /// Whether the piece is a whole batch that two sessions may share.
    pub(super) is_shareable: bool,
}

impl ChangePiece {
    /// Removes superseded changes. Returns whether there were many of them.
    pub(super) fn compact(&mut self) -> bool {
        let removed_many = compact_changes(&mut self.changes);
        self.bytes = self.changes.iter().map(RowChange::size).sum();
        self.compacted = true;
        removed_many
    }
}

/// The execution of all pieces that were started so far. It returns the sessions.
type PieceExecution = BoxFuture<'static, Result<Box<ApplyLanes>, StepError>>;

/// Executes pieces in their order while the stream gathers the next ones.
pub(super) struct PieceQueue {
    state: QueueState,
    permits: Arc<Semaphore>,
}

/// Whether the sessions are idle or execute pieces.
enum QueueState {
    Idle(Box<ApplyLanes>),
    Busy(PieceExecution),
    /// A piece has failed, so its transaction and the session are lost.
    Failed,
}

impl PieceQueue {
    pub(super) fn new(executor: Executor, dependent_rows: Arc<AtomicU64>) -> Self {
        Self {
            state: QueueState::Idle(Box::new(ApplyLanes::new(executor, dependent_rows))),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_PIECES)),
        }
    }

    /// Opens the transaction of a batch, after the pieces that were started before.
    pub(super) async fn begin_batch(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        let earlier_execution = self.take_execution()?;
        let spec = spec.clone();
        self.state = QueueState::Busy(Box::pin(async move {
            let mut lanes = earlier_execution.await?;
            lanes
                .first_session_mut()
                .begin(&spec.token, &spec.tables)
                .await?;
            Ok(lanes)
        }));
        // A future does nothing before its first poll; this poll sends the statement.
        self.poll_and_has_room().await.map(drop)
    }

    /// Waits until fewer than [`MAX_CONCURRENT_PIECES`] pieces are started. Then starts `piece`, which executes after
    /// the earlier pieces. `commit_lsn` is the commit position of its last change.
    pub(super) async fn start_piece(
        &mut self,
        spec: &StreamSpec,
        piece: ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let permit = self.permits.clone().acquire_owned().await;
        let work = execute(self.take_execution()?, spec.clone(), piece, commit_lsn);
        // The piece runs in a separate task, so that it makes progress while the stream gathers more changes.
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            let _permit = permit;
            work.await
        }));
        self.state = QueueState::Busy(Box::pin(async move {
            task.await.unwrap_or(Err(lost_session_error()))
        }));
        Ok(())
    }

    /// Starts a piece as [`PieceQueue::start_piece`] does, and waits until it is executed.
    pub(super) async fn execute_to_end(
        &mut self,
        spec: &StreamSpec,
        piece: ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<&Executor, StepError> {
        if self.permits.available_permits() < MAX_CONCURRENT_PIECES {
            self.start_piece(spec, piece, commit_lsn).await?;
        } else {
            // The caller waits for the piece, so it runs in the caller's task: this saves the switch to another thread.
            let work = execute(self.take_execution()?, spec.clone(), piece, commit_lsn);
            self.state = QueueState::Busy(Box::pin(work));
        }
        self.wait_until_idle().await
    }

    /// Polls the current execution once. Returns whether another piece can be started without a wait.
    ///
    /// # Errors
    /// The error of a piece that has failed.
    pub(super) async fn poll_and_has_room(&mut self) -> Result<bool, StepError> {
        if let QueueState::Busy(work) = &mut self.state
            && let Poll::Ready(done) = futures::poll!(work.as_mut())
        {
            self.record_result(done)?;
        }
        Ok(self.permits.available_permits() > 0)
    }

    /// Waits until no piece is being executed. Returns the first session.
    ///
    /// # Errors
    /// The error of a piece that has failed.
    pub(super) async fn wait_until_idle(&mut self) -> Result<&Executor, StepError> {
        if let QueueState::Busy(work) = &mut self.state {
            let done = work.await;
            self.record_result(done)?;
        }
        match &self.state {
            QueueState::Idle(lanes) => Ok(lanes.first_session()),
            QueueState::Busy(_) | QueueState::Failed => Err(lost_session_error()),
        }
    }

    /// Waits until no piece is being executed; returns the session, in which the transaction of a batch is open.
    ///
    /// # Errors
    /// The error of a piece that has failed.
    pub(super) async fn idle_session(&mut self) -> Result<&mut Connected, StepError> {
        self.wait_until_idle().await?;
        match &mut self.state {
            QueueState::Idle(lanes) => lanes
                .first_session_mut()
                .session_mut()
                .ok_or_else(lost_session_error),
            QueueState::Busy(_) | QueueState::Failed => Err(lost_session_error()),
        }
    }

    /// Fails if a row that was copied by itself is the parent of a row that an earlier piece has discarded.
    ///
    /// # Errors
    /// `apply.parent`; the error of a piece that has failed.
    pub(super) async fn check_parent(
        &mut self,
        tables: &[MovingTable],
        copied: RowChange,
    ) -> Result<(), StepError> {
        self.wait_until_idle().await?;
        match &self.state {
            QueueState::Idle(lanes) => lanes.missing_parents.check(tables, [copied].iter()),
            QueueState::Busy(_) | QueueState::Failed => Err(lost_session_error()),
        }
    }

    /// Takes the execution of the earlier pieces, which returns the sessions at its end.
    fn take_execution(&mut self) -> Result<PieceExecution, StepError> {
        match std::mem::replace(&mut self.state, QueueState::Failed) {
            QueueState::Idle(lanes) => Ok(Box::pin(std::future::ready(Ok(lanes)))),
            QueueState::Busy(work) => Ok(work),
            QueueState::Failed => Err(lost_session_error()),
        }
    }

    fn record_result(
        &mut self,
        result: Result<Box<ApplyLanes>, StepError>,
    ) -> Result<(), StepError> {
        self.state = QueueState::Failed;
        self.state = QueueState::Idle(result?);
        Ok(())
    }
}

fn lost_session_error() -> StepError {
    StepError::passing(
        StepCode::ApplyLost,
        "the session that applies changes has ended",
    )
}

/// Executes a piece after the earlier ones, and commits it if it ends a batch.
async fn execute(
    earlier_execution: PieceExecution,
    spec: StreamSpec,
    mut piece: ChangePiece,
    commit_lsn: Lsn,
) -> Result<Box<ApplyLanes>, StepError> {
    let mut lanes;
    let executed = if spec.has_dependents() {
        lanes = earlier_execution.await?;
        lanes.execute_by_levels(&spec, &mut piece, commit_lsn).await
    } else {
        let prepared = PreparedPiece::new(&spec, &piece, commit_lsn);
        lanes = earlier_execution.await?;
        lanes.execute(&spec, &prepared).await
    };
    executed.map_err(|error| {
        if piece.compacted {
            error_to_retry_in_sequence(error)
        } else {
            error
        }
    })?;
    if let Some((_, committed)) = piece.batch_end {
        lanes.commit(&spec).await?;
        let _ = committed.send(());
    }
    Ok(lanes)
}

/// Returns a transient error if the stream must read the changes again and apply them in their order. A compacted piece
/// can violate a unique or exclusion constraint that was created after the stream began, although the changes in their
/// order do not.
fn error_to_retry_in_sequence(error: StepError) -> StepError {
    let violations = ["23505", "23P01"];
    if error
        .sqlstate()
        .is_some_and(|state| violations.contains(&state))
    {
        return StepError::passing(
            StepCode::ApplyConflict,
            format!("the stream reads changes again, to apply them in their order: {error}"),
        );
    }
    error
}
