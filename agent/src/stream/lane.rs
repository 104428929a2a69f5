//! The session on the destination, and the piece of a batch that is being executed in it.

use std::task::Poll;

use futures::future::BoxFuture;

use super::StreamSpec;
use crate::error::StepError;
use crate::pg::apply::{Executor, RowChange};
use crate::pg::lsn::Lsn;
use crate::pg::progress;

/// Changes that are executed together, with what is to be recorded of them.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) changes: Vec<RowChange>,
    /// Tables and keys, which are dirty from then on.
    pub(super) dirty: Vec<(String, String)>,
    /// About how much memory its rows take.
    pub(super) bytes: usize,
}

/// Executes one piece at a time, while the next one is gathered.
pub(super) enum Lane {
    Idle(Box<Executor>),
    Busy(BoxFuture<'static, Result<Box<Executor>, StepError>>),
    /// A piece has failed, and its transaction with it.
    Lost,
}

impl Lane {
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

async fn execute(
    mut executor: Box<Executor>,
    spec: StreamSpec,
    piece: Piece,
    commit_lsn: Lsn,
) -> Result<Box<Executor>, StepError> {
    executor.execute(&piece.changes).await?;
    if !piece.dirty.is_empty() {
        let mut keys = piece.dirty;
        keys.sort_unstable();
        keys.dedup();
        let (session, shard) = (executor.session(), spec.destination.name.as_str());
        progress::mark_dirty(session, &spec.token, &keys, commit_lsn, shard).await?;
    }
    Ok(executor)
}
