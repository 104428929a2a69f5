//! The pieces of a batch, which are executed on the destination one after the other.

use std::sync::Arc;
use std::task::Poll;

use connect::Connected;
use futures::future::BoxFuture;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::StreamSpec;
use super::lanes::{ApplyLanes, ReadyPiece};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::ApplyProgress;
use crate::stream::apply::{Executor, RowChange, compact};

/// Pieces under way at once: while the server works on one, the next is made ready.
const UNDER_WAY: usize = 2;

/// Changes that are executed together, with what is to be recorded of them.
#[derive(Debug, Default)]
pub(super) struct ChangePiece {
    pub(super) changes: Vec<RowChange>,
    /// The keys of its changes are dirty from then on.
    pub(super) dirty: bool,
    /// About how much memory its rows take.
    pub(super) bytes: usize,
    /// If it ends a batch: what the progress is with it, and who waits for the commit.
    pub(super) ends: Option<(ApplyProgress, oneshot::Sender<()>)>,
    /// Changes that need not be kept are left out.
    pub(super) compacted: bool,
    /// It is a whole batch that two sessions may share.
    pub(super) shared: bool,
}

impl ChangePiece {
    /// Leaves out the changes that need not be kept; whether they were many.
    pub(super) fn compact(&mut self) -> bool {
        let much = compact(&mut self.changes);
        self.bytes = self.changes.iter().map(RowChange::size).sum();
        self.compacted = true;
        much
    }
}

type PieceExecution = BoxFuture<'static, Result<Box<ApplyLanes>, StepError>>;

/// Executes pieces in their order, while the next ones are gathered.
pub(super) struct PieceQueue {
    state: QueueState,
    room: Arc<Semaphore>,
}

enum QueueState {
    Idle(Box<ApplyLanes>),
    Busy(PieceExecution),
    /// A piece has failed, and its transaction with it.
    Lost,
}

impl PieceQueue {
    pub(super) fn new(executor: Executor) -> Self {
        Self {
            state: QueueState::Idle(Box::new(ApplyLanes::new(executor))),
            room: Arc::new(Semaphore::new(UNDER_WAY)),
        }
    }

    /// Opens the transaction of a batch, behind what was given before.
    pub(super) async fn begin(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        let before = self.take()?;
        let spec = spec.clone();
        self.state = QueueState::Busy(Box::pin(async move {
            let mut lanes = before.await?;
            lanes.first_mut().begin(&spec.token, &spec.tables).await?;
            Ok(lanes)
        }));
        // The first look hands the statement to the connection.
        self.has_room().await.map(drop)
    }

    /// Lets `piece`, whose last change commits at `commit_lsn`, be executed behind what was given before, once there is
    /// room for it.
    pub(super) async fn start(
        &mut self,
        spec: &StreamSpec,
        piece: ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let room = self.room.clone().acquire_owned().await;
        let work = execute(self.take()?, spec.clone(), piece, commit_lsn);
        // A task of its own goes on by itself, whatever is gathered meanwhile.
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            let _room = room;
            work.await
        }));
        self.state = QueueState::Busy(Box::pin(async move { task.await.unwrap_or(Err(lost())) }));
        Ok(())
    }

    /// As [`PieceQueue::start`], and waits for it.
    pub(super) async fn finish(
        &mut self,
        spec: &StreamSpec,
        piece: ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<&Executor, StepError> {
        if self.room.available_permits() < UNDER_WAY {
            self.start(spec, piece, commit_lsn).await?;
        } else {
            // Nothing to make ready meanwhile: no other thread is woken.
            let work = execute(self.take()?, spec.clone(), piece, commit_lsn);
            self.state = QueueState::Busy(Box::pin(work));
        }
        self.settle().await
    }

    /// Whether another piece is started at once; looks once.
    ///
    /// # Errors
    /// What a piece has failed with.
    pub(super) async fn has_room(&mut self) -> Result<bool, StepError> {
        if let QueueState::Busy(work) = &mut self.state
            && let Poll::Ready(done) = futures::poll!(work.as_mut())
        {
            self.end(done)?;
        }
        Ok(self.room.available_permits() > 0)
    }

    /// Waits until nothing is being executed.
    ///
    /// # Errors
    /// What a piece has failed with.
    pub(super) async fn settle(&mut self) -> Result<&Executor, StepError> {
        if let QueueState::Busy(work) = &mut self.state {
            let done = work.await;
            self.end(done)?;
        }
        match &self.state {
            QueueState::Idle(lanes) => Ok(lanes.first()),
            QueueState::Busy(_) | QueueState::Lost => Err(lost()),
        }
    }

    /// The session, once nothing is being executed; the transaction of a batch is open in it.
    ///
    /// # Errors
    /// What a piece has failed with.
    pub(super) async fn session(&mut self) -> Result<&mut Connected, StepError> {
        self.settle().await?;
        match &mut self.state {
            QueueState::Idle(lanes) => lanes.first_mut().session_mut().ok_or_else(lost),
            QueueState::Busy(_) | QueueState::Lost => Err(lost()),
        }
    }

    /// What gives the sessions once everything before is done.
    fn take(&mut self) -> Result<PieceExecution, StepError> {
        match std::mem::replace(&mut self.state, QueueState::Lost) {
            QueueState::Idle(lanes) => Ok(Box::pin(std::future::ready(Ok(lanes)))),
            QueueState::Busy(work) => Ok(work),
            QueueState::Lost => Err(lost()),
        }
    }

    fn end(&mut self, done: Result<Box<ApplyLanes>, StepError>) -> Result<(), StepError> {
        self.state = QueueState::Lost;
        self.state = QueueState::Idle(done?);
        Ok(())
    }
}

fn lost() -> StepError {
    StepError::passing("apply.lost", "the session that applies changes is lost")
}

/// Has a piece executed behind what was given before, and committed where it ends a batch.
async fn execute(
    before: PieceExecution,
    spec: StreamSpec,
    piece: ChangePiece,
    commit_lsn: Lsn,
) -> Result<Box<ApplyLanes>, StepError> {
    let ready = ReadyPiece::new(&spec, &piece, commit_lsn);
    let mut lanes = before.await?;
    let executed = lanes.execute(&spec, &ready).await;
    executed.map_err(|error| {
        if piece.compacted {
            in_order(error)
        } else {
            error
        }
    })?;
    if let Some((_, committed)) = piece.ends {
        lanes.commit(&spec).await?;
        let _ = committed.send(());
    }
    Ok(lanes)
}

/// Somebody has made a value unique since the stream began: with all changes, in their order, it may be handed on.
fn in_order(error: StepError) -> StepError {
    let code = error.failure().map_or("", |failure| failure.code.as_str());
    if ["sql.23505", "sql.23P01"].contains(&code) {
        return StepError::passing("apply.order", format!("changes are read again: {error}"));
    }
    error
}
