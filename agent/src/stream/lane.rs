//! The session on the destination, and the piece of a batch that is being executed in it.

use std::task::Poll;

use futures::future::{BoxFuture, try_join3};

use super::StreamSpec;
use crate::error::StepError;
use crate::pg::apply::{Executor, RowChange};
use crate::pg::epoch;
use crate::pg::lsn::Lsn;
use crate::pg::progress::{self, Progress};

/// Changes that are executed together, with what is to be recorded of them.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) changes: Vec<RowChange>,
    /// Tables and keys, which are dirty from then on.
    pub(super) dirty: Vec<(String, String)>,
    /// About how much memory its rows take.
    pub(super) bytes: usize,
    /// What the progress is with it, if it ends a batch.
    pub(super) progress: Option<Progress>,
}

/// Executes one piece at a time, while the next one is gathered.
pub(super) enum Lane {
    Idle(Box<Executor>),
    Busy(BoxFuture<'static, Result<Box<Executor>, StepError>>),
    /// A piece has failed, and its transaction with it.
    Lost,
}

impl Lane {
    /// Opens the transaction of a batch, behind what was given before.
    pub(super) async fn begin(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        self.settle().await?;
        if let Self::Idle(executor) = std::mem::replace(self, Self::Lost) {
            let (token, shard) = (spec.token.clone(), spec.destination.name.clone());
            *self = Self::Busy(Box::pin(async move {
                epoch::begin(executor.session(), &token, &shard).await?;
                Ok(executor)
            }));
        }
        // The first look hands the statement to the connection.
        self.is_idle().await.map(drop)
    }

    /// Lets `piece`, whose last change commits at `commit_lsn`, be executed after what was given before.
    pub(super) async fn start(
        &mut self,
        spec: &StreamSpec,
        piece: Piece,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        self.settle().await?;
        if let Self::Idle(executor) = std::mem::replace(self, Self::Lost) {
            *self = Self::Busy(Box::pin(execute(executor, spec.clone(), piece, commit_lsn)));
        }
        // The first look hands the statements to the connection.
        self.is_idle().await.map(drop)
    }

    /// Whether nothing is being executed; looks once.
    ///
    /// # Errors
    /// What the piece has failed with.
    pub(super) async fn is_idle(&mut self) -> Result<bool, StepError> {
        if let Self::Busy(work) = self {
            let Poll::Ready(done) = futures::poll!(work.as_mut()) else {
                return Ok(false);
            };
            self.end(done)?;
        }
        Ok(true)
    }

    /// Waits until nothing is being executed.
    ///
    /// # Errors
    /// What the piece has failed with.
    pub(super) async fn settle(&mut self) -> Result<&Executor, StepError> {
        if let Self::Busy(work) = self {
            let done = work.await;
            self.end(done)?;
        }
        match self {
            Self::Idle(executor) => Ok(executor),
            Self::Busy(_) | Self::Lost => Err(StepError::passing(
                "apply.lost",
                "the session that applies changes is lost",
            )),
        }
    }

    fn end(&mut self, done: Result<Box<Executor>, StepError>) -> Result<(), StepError> {
        *self = Self::Lost;
        *self = Self::Idle(done?);
        Ok(())
    }
}

/// Has a piece executed, with what is to be recorded of it, in one round trip where its statements are known.
async fn execute(
    mut executor: Box<Executor>,
    spec: StreamSpec,
    piece: Piece,
    commit_lsn: Lsn,
) -> Result<Box<Executor>, StepError> {
    let shard = spec.destination.name.as_str();
    let session = executor.session().clone();
    progress::prepare(&session, shard).await?;
    // What is recorded goes first: a savepoint of the rows that is rolled back must not take it along.
    let recorded = async {
        let mut keys = piece.dirty;
        if !keys.is_empty() {
            keys.sort_unstable();
            keys.dedup();
            progress::mark_dirty(&session, &spec.token, &keys, commit_lsn, shard).await?;
        }
        Ok(())
    };
    let written = async {
        match piece.progress {
            Some(reached) => {
                progress::write(&session, &spec.token, spec.direction, reached, shard).await
            }
            None => Ok(()),
        }
    };
    try_join3(recorded, written, executor.execute(&piece.changes)).await?;
    Ok(executor)
}
