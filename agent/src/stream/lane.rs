//! The session on the destination, and the pieces of a batch that are executed in it one after the other.

use std::sync::Arc;
use std::task::Poll;

use connect::Connected;
use futures::future::{BoxFuture, try_join3};
use plans::names::Direction;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::StreamSpec;
use crate::error::StepError;
use crate::pg::apply::{Executor, Planned, RowChange};
use crate::pg::epoch;
use crate::pg::lsn::Lsn;
use crate::pg::progress::{self, Progress};

/// Pieces under way at once: while the server works on one, the next is made ready.
const UNDER_WAY: usize = 2;

/// Changes that are executed together, with what is to be recorded of them.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) changes: Vec<RowChange>,
    /// The keys of its changes are dirty from then on.
    pub(super) dirty: bool,
    /// About how much memory its rows take.
    pub(super) bytes: usize,
    /// If it ends a batch: what the progress is with it, and who waits for the commit.
    pub(super) ends: Option<(Progress, oneshot::Sender<()>)>,
}

type Work = BoxFuture<'static, Result<Box<Executor>, StepError>>;

/// Executes pieces in their order, while the next ones are gathered.
pub(super) struct Lane {
    state: State,
    room: Arc<Semaphore>,
}

enum State {
    Idle(Box<Executor>),
    Busy(Work),
    /// A piece has failed, and its transaction with it.
    Lost,
}

impl Lane {
    pub(super) fn new(executor: Executor) -> Self {
        Self {
            state: State::Idle(Box::new(executor)),
            room: Arc::new(Semaphore::new(UNDER_WAY)),
        }
    }

    /// Opens the transaction of a batch, behind what was given before.
    pub(super) async fn begin(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        let before = self.take()?;
        let (token, shard) = (spec.token.clone(), spec.destination.name.clone());
        self.state = State::Busy(Box::pin(async move {
            let executor = before.await?;
            epoch::begin(executor.session(), &token, &shard).await?;
            Ok(executor)
        }));
        // The first look hands the statement to the connection.
        self.has_room().await.map(drop)
    }

    /// Lets `piece`, whose last change commits at `commit_lsn`, be executed behind what was given before, once there is
    /// room for it.
    pub(super) async fn start(
        &mut self,
        spec: &StreamSpec,
        piece: Piece,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let room = self.room.clone().acquire_owned().await;
        let work = execute(self.take()?, spec.clone(), piece, commit_lsn);
        // A task of its own goes on by itself, whatever is gathered meanwhile.
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            let _room = room;
            work.await
        }));
        self.state = State::Busy(Box::pin(async move { task.await.unwrap_or(Err(lost())) }));
        Ok(())
    }

    /// As [`Lane::start`], and waits for it.
    pub(super) async fn finish(
        &mut self,
        spec: &StreamSpec,
        piece: Piece,
        commit_lsn: Lsn,
    ) -> Result<&Executor, StepError> {
        if self.room.available_permits() < UNDER_WAY {
            self.start(spec, piece, commit_lsn).await?;
        } else {
            // Nothing to make ready meanwhile: no other thread is woken.
            let work = execute(self.take()?, spec.clone(), piece, commit_lsn);
            self.state = State::Busy(Box::pin(work));
        }
        self.settle().await
    }

    /// Whether another piece is started at once; looks once.
    ///
    /// # Errors
    /// What a piece has failed with.
    pub(super) async fn has_room(&mut self) -> Result<bool, StepError> {
        if let State::Busy(work) = &mut self.state
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
        if let State::Busy(work) = &mut self.state {
            let done = work.await;
            self.end(done)?;
        }
        match &self.state {
            State::Idle(executor) => Ok(executor),
            State::Busy(_) | State::Lost => Err(lost()),
        }
    }

    /// The session, once nothing is being executed; the transaction of a batch is open in it.
    ///
    /// # Errors
    /// What a piece has failed with.
    pub(super) async fn session(&mut self) -> Result<&mut Connected, StepError> {
        self.settle().await?;
        match &mut self.state {
            State::Idle(executor) => executor.session_mut().ok_or_else(lost),
            State::Busy(_) | State::Lost => Err(lost()),
        }
    }

    /// What gives the session once everything before is done.
    fn take(&mut self) -> Result<Work, StepError> {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Idle(executor) => Ok(Box::pin(std::future::ready(Ok(executor)))),
            State::Busy(work) => Ok(work),
            State::Lost => Err(lost()),
        }
    }

    fn end(&mut self, done: Result<Box<Executor>, StepError>) -> Result<(), StepError> {
        self.state = State::Lost;
        self.state = State::Idle(done?);
        Ok(())
    }
}

fn lost() -> StepError {
    StepError::passing("apply.lost", "the session that applies changes is lost")
}

/// Has a piece executed, with what is to be recorded of it, in one round trip where its statements are known, and
/// committed where it ends a batch.
async fn execute(
    before: Work,
    spec: StreamSpec,
    piece: Piece,
    commit_lsn: Lsn,
) -> Result<Box<Executor>, StepError> {
    let planned = Planned::of(&piece.changes);
    let relations = spec.tables.iter().map(|table| table.table.to_string());
    let relations: Vec<String> = relations.collect();
    let dirty = if piece.dirty {
        dirty_keys(&spec, &relations, &piece.changes)
    } else {
        Vec::new()
    };
    let mut executor = before.await?;
    let shard = spec.destination.name.as_str();
    let session = executor.session().clone();
    progress::prepare(&session, shard).await?;
    // What is recorded goes first: a savepoint of the rows that is rolled back must not take it along.
    let recorded = async {
        if dirty.is_empty() {
            return Ok(());
        }
        progress::mark_dirty(&session, &spec.token, &dirty, commit_lsn, shard).await
    };
    let written = async {
        match &piece.ends {
            Some((reached, _)) => {
                progress::write(&session, &spec.token, spec.direction, *reached, shard).await
            }
            None => Ok(()),
        }
    };
    try_join3(recorded, written, executor.execute(&planned)).await?;
    if let Some((_, committed)) = piece.ends {
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        let what = format!("shard {shard}: committing applied changes");
        epoch::commit(&session, &what).await?;
        let _ = committed.send(());
    }
    Ok(executor)
}

/// Relations and keys of changes, each once, in the order of their tables.
fn dirty_keys<'a>(
    spec: &StreamSpec,
    relations: &'a [String],
    changes: &[RowChange],
) -> Vec<(&'a str, String)> {
    let mut keys = vec![Vec::new(); relations.len()];
    for change in changes {
        let table = change.table();
        // Reference tables are written to all the time, also inside the cutover: they are never dirty.
        if !spec.tables[table].is_reference() {
            keys[table].extend(change.keys());
        }
    }
    let mut all = Vec::with_capacity(changes.len());
    for (relation, mut keys) in relations.iter().zip(keys) {
        keys.sort_unstable();
        keys.dedup();
        all.extend(keys.into_iter().map(|key| (relation.as_str(), key)));
    }
    all
}
