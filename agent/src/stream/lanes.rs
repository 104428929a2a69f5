//! The sessions on the destination: one applies alone, or two share a batch (ADR 39).
//!
//! Order of a batch that is shared: each session proves the epoch and executes its rows; once both have, the second
//! commits with what it has reached, then the first with the progress. So the second is one batch ahead at most.
//! What either of them cannot do at once the first does alone.

use std::sync::Arc;

use futures::future::{join, try_join3, try_join4};
use plans::names::Direction;

use super::StreamSpec;
use super::pieces::ChangePiece;
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::stream::apply::{ApplyLane, Executor, IMPATIENT, PlannedChanges};
use crate::stream::second_lane;

/// So many batches that could be shared the first session applies alone after one that could not.
const ALONE: u32 = 16;

/// The sessions; the second one is opened when there is something to share.
pub(super) struct ApplyLanes {
    first: Executor,
    second: Option<Executor>,
    /// Both have executed their rows, and neither has committed.
    shared: bool,
    /// Batches that are not shared before another one is.
    alone: u32,
}

impl ApplyLanes {
    pub(super) fn new(first: Executor) -> Self {
        Self {
            first,
            second: None,
            shared: false,
            alone: 0,
        }
    }

    /// The session in which the transaction of a batch is open.
    pub(super) fn first(&self) -> &Executor {
        &self.first
    }

    pub(super) fn first_mut(&mut self) -> &mut Executor {
        &mut self.first
    }

    /// Executes a piece, with what is to be recorded of it, in one round trip where its statements are known.
    ///
    /// # Errors
    /// `apply.count` when a change touches another number of rows than one; what the server says.
    pub(super) async fn execute(
        &mut self,
        spec: &StreamSpec,
        ready: &ReadyPiece<'_>,
    ) -> Result<(), StepError> {
        apply_progress::prepare(self.first.session()).await?;
        let tried = ready.planned.has_two_lanes() && self.may_share(spec).await;
        if tried && self.share(spec, ready).await? {
            return Ok(());
        }
        let session = self.first.session().clone();
        let [first, second] = &ready.dirty;
        let first = if tried { &[] } else { first.as_slice() };
        // What is recorded goes first: a savepoint of the rows that is rolled back must not take it along.
        let recorded = ready.mark(spec, &session, first);
        let recorded_too = ready.mark(spec, &session, second);
        let written = async {
            match ready.reached.filter(|_| !tried) {
                Some(reached) => {
                    apply_progress::write(&session, &spec.token, spec.direction, reached).await
                }
                None => Ok(()),
            }
        };
        let executed = self.first.execute(&ready.planned);
        try_join4(recorded, recorded_too, written, executed)
            .await
            .map(drop)
    }

    /// Commits what was executed.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        let shard = spec.destination.name.as_str();
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        let what = format!("shard {shard}: committing applied changes");
        if let (true, Some(second)) = (std::mem::take(&mut self.shared), &self.second) {
            epoch::commit(second.session(), &what).await?;
            fail_point::hit("catch_up.second_lane_applied").await?;
        }
        epoch::commit(self.first.session(), &what).await
    }

    /// Whether there is a second session to share with.
    async fn may_share(&mut self, spec: &StreamSpec) -> bool {
        if self.alone > 0 {
            self.alone -= 1;
            return false;
        }
        if self.second.is_none() {
            match open_second(spec).await {
                Ok(second) => self.second = Some(second),
                Err(error) => {
                    tracing::info!(%error, "changes are applied by one session");
                    self.alone = ALONE;
                }
            }
        }
        self.second.is_some()
    }

    /// Executes a batch in both sessions. False: of its rows nothing is done, of the first session's own keys and of
    /// the progress all is recorded.
    async fn share(
        &mut self,
        spec: &StreamSpec,
        ready: &ReadyPiece<'_>,
    ) -> Result<bool, StepError> {
        let (Some(second), Some(reached)) = (&mut self.second, ready.reached) else {
            return Ok(false);
        };
        let sessions = (self.first.session().clone(), second.session().clone());
        let (one, other) = (&*sessions.0, &*sessions.1);
        let [first_keys, second_keys] = &ready.dirty;
        let first_half = try_join3(
            ready.mark(spec, one, first_keys),
            apply_progress::write(one, &spec.token, spec.direction, reached),
            self.first.try_lane(&ready.planned, ApplyLane::First),
        );
        let second_half = async {
            match second.begin(&spec.token, &spec.tables).await {
                Err(error) if Executor::waits(&error) => return Ok(((), (), false)),
                begun => begun?,
            }
            try_join3(
                ready.mark(spec, other, second_keys),
                second_lane::write(other, &spec.token, spec.direction, reached.lsn),
                second.try_lane(&ready.planned, ApplyLane::Second),
            )
            .await
        };
        let (first_half, second_half) = join(first_half, second_half).await;
        self.shared = first_half?.2 & second_half?.2;
        if !self.shared {
            epoch::rollback(other).await;
            self.first.take_back().await?;
            self.alone = ALONE;
        }
        Ok(self.shared)
    }
}

/// Opens the second session, which waits for nobody for long.
async fn open_second(spec: &StreamSpec) -> Result<Executor, StepError> {
    let shard = spec.destination.name.as_str();
    let session = spec.destination.replica_session("apply").await?;
    session
        .batch_execute(&format!("set {IMPATIENT}"))
        .await
        .at(format_args!("shard {shard}: preparing a second lane"))?;
    second_lane::make(&session, &spec.token, spec.direction).await?;
    Executor::new(session).await
}

/// Relations and keys that are dirty.
type DirtyKeys = Vec<(Arc<str>, String)>;

/// A piece with what it comes to, worked out before the sessions are there for it.
pub(super) struct ReadyPiece<'a> {
    planned: PlannedChanges<'a>,
    /// Of the first lane, and of the second one.
    dirty: [DirtyKeys; 2],
    commit_lsn: Lsn,
    /// What the progress is with it, if it ends a batch.
    reached: Option<ApplyProgress>,
}

impl<'a> ReadyPiece<'a> {
    /// Of a piece whose last change commits at `commit_lsn`.
    pub(super) fn new(spec: &StreamSpec, piece: &'a ChangePiece, commit_lsn: Lsn) -> Self {
        let planned = if piece.shared {
            PlannedChanges::of_two_lanes(&piece.changes)
        } else {
            PlannedChanges::of(&piece.changes)
        };
        Self {
            dirty: dirty_keys(spec, piece, planned.has_two_lanes()),
            planned,
            commit_lsn,
            reached: piece.ends.as_ref().map(|(reached, _)| *reached),
        }
    }

    async fn mark(
        &self,
        spec: &StreamSpec,
        session: &connect::Connected,
        keys: &[(Arc<str>, String)],
    ) -> Result<(), StepError> {
        apply_progress::mark_dirty(session, &spec.token, keys, self.commit_lsn).await
    }
}

/// Relations and keys of changes, each once, in the order of their tables: each lane's own, or all in the first.
fn dirty_keys(spec: &StreamSpec, piece: &ChangePiece, two_lanes: bool) -> [DirtyKeys; 2] {
    let mut dirty = [DirtyKeys::new(), DirtyKeys::new()];
    if !piece.dirty {
        return dirty;
    }
    let mut keys = vec![[Vec::new(), Vec::new()]; spec.tables.len()];
    for change in &piece.changes {
        let table = change.table();
        // Reference tables are written to all the time, also inside the cutover: they are never dirty.
        if !spec.tables[table].is_reference() {
            let second = two_lanes && change.lane() == ApplyLane::Second;
            keys[table][usize::from(second)].extend(change.keys());
        }
    }
    for (table, keys) in spec.tables.iter().zip(keys) {
        let relation: Arc<str> = table.table.to_string().into();
        for (all, mut keys) in dirty.iter_mut().zip(keys) {
            keys.sort_unstable();
            keys.dedup();
            all.extend(keys.into_iter().map(|key| (relation.clone(), key)));
        }
    }
    dirty
}
