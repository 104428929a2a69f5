//! The sessions (lanes) of a stream on the downstream shard: one session applies alone, or two sessions share a batch
//! (ADR 39).
//!
//! Order for a shared batch:
//! 1. Each session proves the epoch and executes its rows.
//! 2. When both have, the second session commits with its position.
//! 3. Then the first session commits with the progress.
//!
//! So the second session is at most one batch ahead. If one of them cannot execute its part without a wait or an
//! error, the first session executes the whole batch alone.

use std::sync::Arc;

use futures::future::{join, try_join3, try_join4};
use plans::names::Direction;

use super::StreamSpec;
use super::pieces::ChangePiece;
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::stream::apply::{ApplyLane, Executor, LANE_LOCK_TIMEOUT, PlannedChanges};
use crate::stream::second_lane;

/// The number of shareable batches that the first session applies alone after sharing has failed.
const BATCHES_AFTER_CONFLICT: u32 = 16;

/// The sessions (lanes). The second one is opened for the first batch that can be shared.
pub(super) struct ApplyLanes {
    first: Executor,
    second: Option<Executor>,
    /// Whether both sessions have executed their rows and neither has committed.
    both_executed: bool,
    /// The number of batches that the first session applies alone before sharing is tried again.
    single_session_batches: u32,
}

impl ApplyLanes {
    pub(super) fn new(first: Executor) -> Self {
        Self {
            first,
            second: None,
            both_executed: false,
            single_session_batches: 0,
        }
    }

    /// Returns the session in which the transaction of a batch is open.
    pub(super) fn first_session(&self) -> &Executor {
        &self.first
    }

    pub(super) fn first_session_mut(&mut self) -> &mut Executor {
        &mut self.first
    }

    /// Executes a piece and records its dirty keys and progress, in one round trip if the statements are already
    /// prepared.
    ///
    /// # Errors
    /// `apply.count` if a change does not affect exactly one row; an error of the server.
    pub(super) async fn execute(
        &mut self,
        spec: &StreamSpec,
        ready: &ReadyPiece<'_>,
    ) -> Result<(), StepError> {
        apply_progress::prepare(self.first.session()).await?;
        let sharing_tried = ready.planned.has_two_lanes() && self.can_share(spec).await;
        if sharing_tried && self.try_share(spec, ready).await? {
            return Ok(());
        }
        let session = self.first.session().clone();
        let [first, second] = &ready.dirty;
        let first = if sharing_tried { &[] } else { first.as_slice() };
        // The records come first: rolling back the savepoint of the rows must not remove them.
        let recorded = ready.mark_dirty(spec, &session, first);
        let recorded_too = ready.mark_dirty(spec, &session, second);
        let written = async {
            match ready.progress.filter(|_| !sharing_tried) {
                Some(progress) => {
                    apply_progress::write(&session, &spec.token, spec.direction, progress).await
                }
                None => Ok(()),
            }
        };
        let executed = self.first.execute(&ready.planned);
        try_join4(recorded, recorded_too, written, executed)
            .await
            .map(drop)
    }

    /// Commits the executed piece.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        let shard = spec.downstream.name.as_str();
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        let what = format!("shard {shard}: committing applied changes");
        if let (true, Some(second)) = (std::mem::take(&mut self.both_executed), &self.second) {
            epoch::commit(second.session(), &what).await?;
            fail_point::hit("catch_up.second_lane_applied").await?;
        }
        epoch::commit(self.first.session(), &what).await
    }

    /// Whether a second session is open, or can be opened, to share with.
    async fn can_share(&mut self, spec: &StreamSpec) -> bool {
        if self.single_session_batches > 0 {
            self.single_session_batches -= 1;
            return false;
        }
        if self.second.is_none() {
            match open_second_session(spec).await {
                Ok(second) => self.second = Some(second),
                Err(error) => {
                    tracing::info!(%error, "one session applies the changes, because a second one cannot be opened");
                    self.single_session_batches = BATCHES_AFTER_CONFLICT;
                }
            }
        }
        self.second.is_some()
    }

    /// Executes a batch in both sessions. If this returns false, no row is changed, but the first session has
    /// recorded its own dirty keys and the progress.
    async fn try_share(
        &mut self,
        spec: &StreamSpec,
        ready: &ReadyPiece<'_>,
    ) -> Result<bool, StepError> {
        let (Some(second), Some(progress)) = (&mut self.second, ready.progress) else {
            return Ok(false);
        };
        let sessions = (self.first.session().clone(), second.session().clone());
        let (one, other) = (&*sessions.0, &*sessions.1);
        let [first_keys, second_keys] = &ready.dirty;
        let first_half = try_join3(
            ready.mark_dirty(spec, one, first_keys),
            apply_progress::write(one, &spec.token, spec.direction, progress),
            self.first
                .try_execute_lane(&ready.planned, ApplyLane::First),
        );
        let second_half = async {
            match second.begin(&spec.token, &spec.tables).await {
                Err(error) if Executor::is_lock_conflict(&error) => return Ok(((), (), false)),
                begun => begun?,
            }
            try_join3(
                ready.mark_dirty(spec, other, second_keys),
                second_lane::write_position(other, &spec.token, spec.direction, progress.lsn),
                second.try_execute_lane(&ready.planned, ApplyLane::Second),
            )
            .await
        };
        let (first_half, second_half) = join(first_half, second_half).await;
        self.both_executed = first_half?.2 & second_half?.2;
        if !self.both_executed {
            epoch::rollback(other).await;
            self.first.roll_back_sets().await?;
            self.single_session_batches = BATCHES_AFTER_CONFLICT;
        }
        Ok(self.both_executed)
    }
}

/// Opens the second session, with a short lock timeout.
async fn open_second_session(spec: &StreamSpec) -> Result<Executor, StepError> {
    let shard = spec.downstream.name.as_str();
    let session = spec.downstream.replica_session("apply").await?;
    session
        .batch_execute(&format!("set {LANE_LOCK_TIMEOUT}"))
        .await
        .at(format_args!("shard {shard}: preparing a second lane"))?;
    second_lane::create_row(&session, &spec.token, spec.direction).await?;
    Executor::new(session).await
}

/// Relations and their dirty keys.
type DirtyKeys = Vec<(Arc<str>, String)>;

/// A piece with its statements and records, prepared before the sessions are free.
pub(super) struct ReadyPiece<'a> {
    planned: PlannedChanges<'a>,
    /// The dirty keys of the first lane and of the second lane.
    dirty: [DirtyKeys; 2],
    commit_lsn: Lsn,
    /// The progress with this piece, if it ends a batch.
    progress: Option<ApplyProgress>,
}

impl<'a> ReadyPiece<'a> {
    /// Prepares a piece whose last change commits at `commit_lsn`.
    pub(super) fn new(spec: &StreamSpec, piece: &'a ChangePiece, commit_lsn: Lsn) -> Self {
        let planned = if piece.shareable {
            PlannedChanges::of_two_lanes(&piece.changes)
        } else {
            PlannedChanges::of(&piece.changes)
        };
        Self {
            dirty: dirty_keys(spec, piece, planned.has_two_lanes()),
            planned,
            commit_lsn,
            progress: piece.end_of_batch.as_ref().map(|(progress, _)| *progress),
        }
    }

    async fn mark_dirty(
        &self,
        spec: &StreamSpec,
        session: &connect::Connected,
        keys: &[(Arc<str>, String)],
    ) -> Result<(), StepError> {
        apply_progress::mark_dirty(session, &spec.token, keys, self.commit_lsn).await
    }
}

/// Returns the relations and keys of the changes without duplicates, in the order of their tables: by lane, or all
/// for the first lane.
fn dirty_keys(spec: &StreamSpec, piece: &ChangePiece, two_lanes: bool) -> [DirtyKeys; 2] {
    let mut dirty = [DirtyKeys::new(), DirtyKeys::new()];
    if !piece.dirty {
        return dirty;
    }
    let mut keys = vec![[Vec::new(), Vec::new()]; spec.tables.len()];
    for change in &piece.changes {
        let table = change.table();
        // Reference tables are written at any time, also inside the cutover: their rows are never dirty.
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
