//! The *lanes*: one or two sessions on the downstream shard in which a stream applies changes. One session applies a
//! batch alone, or two sessions share the batch (ADR 39).
//!
//! Order for a shared batch:
//! 1. Each session proves the epoch and executes its rows.
//! 2. When both have executed their rows, the second session commits its rows and its position.
//! 3. Then the first session commits its rows and the progress.
//!
//! So the second session is at most one batch ahead. If one of the sessions waits for a lock for too long, or fails,
//! the first session executes the whole batch alone.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures::future::{join, try_join3, try_join4};
use plans::names::Direction;

use super::StreamSpec;
use super::pieces::ChangePiece;
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::stream::apply::dependents::{DepartedParents, MissingParents};
use crate::stream::apply::{ApplyLane, Executor, PlannedChanges, SHARED_BATCH_LOCK_TIMEOUT};
use crate::stream::second_lane;

/// The number of shareable batches that the first session applies alone after sharing has failed.
const BATCHES_ALONE_AFTER_FAILURE: u32 = 16;

/// The sessions. The second one is opened for the first batch that can be shared.
pub(super) struct ApplyLanes {
    first: Executor,
    second: Option<Executor>,
    /// Whether both sessions have executed their rows and neither has committed.
    both_executed: bool,
    /// The number of shareable batches that the first session still applies alone before sharing is tried again.
    batches_until_sharing: u32,
    /// The parents that rows of an open transaction lack.
    pub(super) missing_parents: MissingParents,
    /// The parents of dependent rows that the batch has deleted.
    pub(super) departed_parents: DepartedParents,
    /// Whether the copy may contain changes of a transaction of the batch.
    pub(super) batch_may_be_in_copy: bool,
    /// The number of executed changes of dependent tables that concern moving rows.
    pub(super) dependent_rows: Arc<AtomicU64>,
}

impl ApplyLanes {
    pub(super) fn new(first: Executor, dependent_rows: Arc<AtomicU64>) -> Self {
        Self {
            first,
            second: None,
            both_executed: false,
            batches_until_sharing: 0,
            missing_parents: MissingParents::default(),
            departed_parents: DepartedParents::default(),
            batch_may_be_in_copy: false,
            dependent_rows,
        }
    }

    /// Returns the session in which the transaction of a batch is open.
    pub(super) fn first_session(&self) -> &Executor {
        &self.first
    }

    pub(super) fn first_session_mut(&mut self) -> &mut Executor {
        &mut self.first
    }

    /// Executes a piece, and writes its dirty keys and, at the end of a batch, the progress. Needs one round trip if
    /// the statements are already prepared.
    ///
    /// # Errors
    /// `apply.count` if a change does not affect exactly one row; an error of the server.
    pub(super) async fn execute(
        &mut self,
        spec: &StreamSpec,
        piece: &PreparedPiece<'_>,
    ) -> Result<(), StepError> {
        apply_progress::prepare(self.first.session()).await?;
        let has_tried_sharing =
            piece.planned.has_two_lanes() && self.ensure_second_session(spec).await;
        if has_tried_sharing && self.try_share(spec, piece).await? {
            return Ok(());
        }
        let session = self.first.session().clone();
        let [first_keys, second_keys] = &piece.dirty;
        // The failed attempt to share has already written the first lane's dirty keys, and the progress.
        let first_keys = if has_tried_sharing {
            &[]
        } else {
            first_keys.as_slice()
        };
        // These are written before the rows: rolling back the savepoint of the rows must not remove them.
        let first_marked = piece.mark_dirty(spec, &session, first_keys);
        let second_marked = piece.mark_dirty(spec, &session, second_keys);
        let progress_written = async {
            match piece.progress.filter(|_| !has_tried_sharing) {
                Some(progress) => {
                    apply_progress::write(&session, &spec.token, spec.direction, progress).await
                }
                None => Ok(()),
            }
        };
        let executed = self.first.execute(&piece.planned);
        try_join4(first_marked, second_marked, progress_written, executed)
            .await
            .map(drop)
    }

    /// Commits the batch, whose last piece has been executed.
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

    /// Opens the second session if it is not open, unless sharing has failed recently. Returns whether the batch can be
    /// shared.
    async fn ensure_second_session(&mut self, spec: &StreamSpec) -> bool {
        if self.batches_until_sharing > 0 {
            self.batches_until_sharing -= 1;
            return false;
        }
        if self.second.is_none() {
            match open_second_session(spec).await {
                Ok(second) => self.second = Some(second),
                Err(error) => {
                    tracing::info!(%error, "one session applies the changes, because a second one cannot be opened");
                    self.batches_until_sharing = BATCHES_ALONE_AFTER_FAILURE;
                }
            }
        }
        self.second.is_some()
    }

    /// Executes a batch in both sessions. If this returns false, both sessions have rolled their rows back, but the
    /// transaction of the first session contains the first lane's dirty keys and the progress.
    async fn try_share(
        &mut self,
        spec: &StreamSpec,
        piece: &PreparedPiece<'_>,
    ) -> Result<bool, StepError> {
        let (Some(second), Some(progress)) = (&mut self.second, piece.progress) else {
            return Ok(false);
        };
        let sessions = (self.first.session().clone(), second.session().clone());
        let (first_session, second_session) = (&*sessions.0, &*sessions.1);
        let [first_keys, second_keys] = &piece.dirty;
        let first_half = try_join3(
            piece.mark_dirty(spec, first_session, first_keys),
            apply_progress::write(first_session, &spec.token, spec.direction, progress),
            self.first
                .try_execute_lane(&piece.planned, ApplyLane::First),
        );
        let second_half = async {
            match second.begin(&spec.token, &spec.tables).await {
                Err(error) if Executor::is_lock_conflict(&error) => return Ok(((), (), false)),
                begun => begun?,
            }
            try_join3(
                piece.mark_dirty(spec, second_session, second_keys),
                second_lane::write_position(
                    second_session,
                    &spec.token,
                    spec.direction,
                    progress.lsn,
                ),
                second.try_execute_lane(&piece.planned, ApplyLane::Second),
            )
            .await
        };
        let (first_half, second_half) = join(first_half, second_half).await;
        self.both_executed = first_half?.2 & second_half?.2;
        if !self.both_executed {
            epoch::rollback(second_session).await;
            self.first.roll_back_sets().await?;
            self.batches_until_sharing = BATCHES_ALONE_AFTER_FAILURE;
        }
        Ok(self.both_executed)
    }
}

/// Opens the second session, with a short lock timeout, and creates the row with its position.
async fn open_second_session(spec: &StreamSpec) -> Result<Executor, StepError> {
    let shard = spec.downstream.name.as_str();
    let session = spec.downstream.replica_session("apply").await?;
    session
        .batch_execute(&format!("set {SHARED_BATCH_LOCK_TIMEOUT}"))
        .await
        .at(format_args!("shard {shard}: preparing a second lane"))?;
    second_lane::create_row(&session, &spec.token, spec.direction).await?;
    Executor::new(session).await
}

/// Dirty keys, each with its relation.
type DirtyKeys = Vec<(Arc<str>, String)>;

/// A piece with its statements and dirty keys. The agent prepares it while the sessions execute the previous piece.
pub(super) struct PreparedPiece<'a> {
    planned: PlannedChanges<'a>,
    /// The dirty keys of the first lane and of the second lane.
    dirty: [DirtyKeys; 2],
    commit_lsn: Lsn,
    /// The progress with this piece, if it ends a batch.
    progress: Option<ApplyProgress>,
}

impl<'a> PreparedPiece<'a> {
    /// Prepares a piece whose last change commits at `commit_lsn`.
    pub(super) fn new(spec: &StreamSpec, piece: &'a ChangePiece, commit_lsn: Lsn) -> Self {
        let planned = if piece.is_shareable {
            PlannedChanges::for_two_lanes(&piece.changes)
        } else {
            PlannedChanges::of(&piece.changes)
        };
        Self {
            dirty: dirty_keys(spec, piece, planned.has_two_lanes()),
            planned,
            commit_lsn,
            progress: piece.batch_end.as_ref().map(|(progress, _)| *progress),
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

/// Returns the dirty keys of the changes without duplicates, in the order of their tables, for each lane. Without
/// `two_lanes`, all keys are those of the first lane.
fn dirty_keys(spec: &StreamSpec, piece: &ChangePiece, two_lanes: bool) -> [DirtyKeys; 2] {
    let mut dirty = [DirtyKeys::new(), DirtyKeys::new()];
    if !piece.records_dirty {
        return dirty;
    }
    let mut keys = vec![[Vec::new(), Vec::new()]; spec.tables.len()];
    for change in &piece.changes {
        let table = change.table();
        // Rows of reference tables are never dirty: the application may write them at any time, also during the
        // cutover.
        if !spec.tables[table].is_reference() {
            let is_second = two_lanes && change.lane() == ApplyLane::Second;
            keys[table][usize::from(is_second)].extend(change.keys());
        }
    }
    for (table, keys) in spec.tables.iter().zip(keys) {
        let relation: Arc<str> = table.table.to_string().into();
        for (lane_keys, mut keys) in dirty.iter_mut().zip(keys) {
            keys.sort_unstable();
            keys.dedup();
            lane_keys.extend(keys.into_iter().map(|key| (relation.clone(), key)));
        }
    }
    dirty
}
