//! The queue of pieces that the downstream shard executes one after the other.

use std::sync::Arc;
use std::task::Poll;

use connect::Connected;
use futures::future::BoxFuture;
use plans::failure::StepCode;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::StreamSpec;
use super::lanes::{ApplyLanes, ReadyPiece};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::ApplyProgress;
use crate::stream::apply::{Executor, RowChange, compact_changes};

/// The maximum number of pieces in the queue: while the server executes one, the agent prepares the next.
const MAX_CONCURRENT_PIECES: usize = 2;

/// Changes that are executed together, with the dirty keys and the progress that are recorded with them.
#[derive(Debug, Default)]
pub(super) struct ChangePiece {
    pub(super) changes: Vec<RowChange>,
    /// Whether the keys of the changes are recorded as dirty.
    pub(super) dirty: bool,
    /// The approximate memory of the rows, in bytes.
    pub(super) bytes: usize,
    /// If the piece ends a batch: the progress with this batch, and the sender that is notified of the commit.
    pub(super) end_of_batch: Option<(ApplyProgress, oneshot::Sender<()>)>,
    /// Whether superseded changes were removed.
    pub(super) compacted: bool,
    /// Whether the piece is a whole batch that two sessions may share.
    pub(super) shareable: bool,
}

impl ChangePiece {
    /// Removes superseded changes; returns whether they were many.
    pub(super) fn compact(&mut self) -> bool {
        let saved_much = compact_changes(&mut self.changes);
        self.bytes = self.changes.iter().map(RowChange::size).sum();
        self.compacted = true;
        saved_much
    }
}

type PieceExecution = BoxFuture<'static, Result<Box<ApplyLanes>, StepError>>;

/// Executes pieces in their order while the stream gathers the next ones.
pub(super) struct PieceQueue {
    state: QueueState,
    permits: Arc<Semaphore>,
}

/// Whether the sessions are free or execute a piece.
enum QueueState {
    Idle(Box<ApplyLanes>),
    Busy(PieceExecution),
    /// A piece has failed, and its transaction with it.
    Failed,
}

impl PieceQueue {
    pub(super) fn new(executor: Executor) -> Self {
        Self {
            state: QueueState::Idle(Box::new(ApplyLanes::new(executor))),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_PIECES)),
        }
    }

    /// Opens the transaction of a batch, after the pieces that were started before.
    pub(super) async fn begin_batch(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        let earlier = self.take_execution()?;
        let spec = spec.clone();
        self.state = QueueState::Busy(Box::pin(async move {
            let mut lanes = earlier.await?;
            lanes
                .first_session_mut()
                .begin(&spec.token, &spec.tables)
                .await?;
            Ok(lanes)
        }));
        // The first poll sends the statement to the connection.
        self.poll_has_room().await.map(drop)
    }

    /// Waits for room, then starts `piece` after the pieces that were started before. Its last change commits at
    /// `commit_lsn`.
    pub(super) async fn start_piece(
        &mut self,
        spec: &StreamSpec,
        piece: ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let permit = self.permits.clone().acquire_owned().await;
        let work = execute(self.take_execution()?, spec.clone(), piece, commit_lsn);
        // A separate task makes progress while the stream gathers more.
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            let _permit = permit;
            work.await
        }));
        self.state = QueueState::Busy(Box::pin(async move {
            task.await.unwrap_or(Err(session_lost()))
        }));
        Ok(())
    }

    /// Executes a piece as [`PieceQueue::start_piece`] does, and waits for its end.
    pub(super) async fn finish_piece(
        &mut self,
        spec: &StreamSpec,
        piece: ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<&Executor, StepError> {
        if self.permits.available_permits() < MAX_CONCURRENT_PIECES {
            self.start_piece(spec, piece, commit_lsn).await?;
        } else {
            // No other piece is prepared meanwhile, so no other thread is woken.
            let work = execute(self.take_execution()?, spec.clone(), piece, commit_lsn);
            self.state = QueueState::Busy(Box::pin(work));
        }
        self.wait_until_idle().await
    }

    /// Polls the current execution once; returns whether another piece would be started without a wait.
    ///
    /// # Errors
    /// The error of a piece that has failed.
    pub(super) async fn poll_has_room(&mut self) -> Result<bool, StepError> {
        if let QueueState::Busy(work) = &mut self.state
            && let Poll::Ready(done) = futures::poll!(work.as_mut())
        {
            self.record_result(done)?;
        }
        Ok(self.permits.available_permits() > 0)
    }

    /// Waits until no piece is being executed.
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
            QueueState::Busy(_) | QueueState::Failed => Err(session_lost()),
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
                .ok_or_else(session_lost),
            QueueState::Busy(_) | QueueState::Failed => Err(session_lost()),
        }
    }

    /// Takes the execution that returns the sessions when all earlier pieces are done.
    fn take_execution(&mut self) -> Result<PieceExecution, StepError> {
        match std::mem::replace(&mut self.state, QueueState::Failed) {
            QueueState::Idle(lanes) => Ok(Box::pin(std::future::ready(Ok(lanes)))),
            QueueState::Busy(work) => Ok(work),
            QueueState::Failed => Err(session_lost()),
        }
    }

    fn record_result(&mut self, done: Result<Box<ApplyLanes>, StepError>) -> Result<(), StepError> {
        self.state = QueueState::Failed;
        self.state = QueueState::Idle(done?);
        Ok(())
    }
}

fn session_lost() -> StepError {
    StepError::passing(
        StepCode::ApplyLost,
        "the session that applies changes is lost",
    )
}

/// Executes a piece after the earlier ones, and commits it if it ends a batch.
async fn execute(
    earlier: PieceExecution,
    spec: StreamSpec,
    piece: ChangePiece,
    commit_lsn: Lsn,
) -> Result<Box<ApplyLanes>, StepError> {
    let ready = ReadyPiece::new(&spec, &piece, commit_lsn);
    let mut lanes = earlier.await?;
    let executed = lanes.execute(&spec, &ready).await;
    executed.map_err(|error| {
        if piece.compacted {
            retry_in_order(error)
        } else {
            error
        }
    })?;
    if let Some((_, committed)) = piece.end_of_batch {
        lanes.commit(&spec).await?;
        let _ = committed.send(());
    }
    Ok(lanes)
}

/// A compacted piece may violate a unique or exclusion constraint that was created after the stream began: the order
/// of its changes matters then. The changes are read again and applied in their order.
fn retry_in_order(error: StepError) -> StepError {
    let violations = ["23505", "23P01"];
    if error
        .sqlstate()
        .is_some_and(|state| violations.contains(&state))
    {
        return StepError::passing(
            StepCode::ApplyConflict,
            format!("reading changes again to apply them in their order: {error}"),
        );
    }
    error
}
