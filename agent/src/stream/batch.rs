//! A batch: whole transactions of the upstream shard that become one transaction on the downstream shard.
//!
//! The stream executes the changes of a batch in pieces. While the server executes one piece, the stream gathers the
//! next. So pieces are larger when the stream lags, and more of them contain several changes of one row, which become
//! one change.

mod size;

use std::collections::VecDeque;
use std::time::Duration;

use plans::names::Direction;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::StreamSpec;
use super::arrival::ChangeArrival;
use super::pieces::{ChangePiece, PieceQueue};
use super::recopy::RecopiedRows;
use super::row_count::MovingRowCount;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::marker::Marker;
use crate::stream::apply::{Applier, ApplyLane, Executor, RowChange};

/// The minimum time from the first change of a batch to its commit, if the batch is not full. Each commit has a fixed
/// cost on both servers.
const MIN_WAIT: Duration = Duration::from_millis(20);
/// A batch that has waited for `MIN_WAIT` commits when no change arrives for this time.
const MAX_IDLE: Duration = Duration::from_millis(2);

/// The batch that a stream gathers, and the earlier batches whose commits are in progress.
pub(super) struct ApplyBatch {
    pieces: PieceQueue,
    applier: Applier,
    /// The progress that is durable on the downstream shard.
    pub(super) progress: ApplyProgress,
    /// The earlier batches whose commits are in progress, the oldest first.
    closed: VecDeque<ClosedBatch>,
    /// Whether a transaction is open on the downstream shard.
    is_open: bool,
    /// The gathered changes, which are not sent yet.
    pending: ChangePiece,
    /// Whether two sessions may share the batch: all of its changes are in `pending`, and no row of it was read again
    /// on the upstream shard.
    is_divisible: bool,
    /// Whether the stream lagged when the last change arrived.
    is_lagging: bool,
    /// Whether compaction has removed many changes of the batch: its rows are hot.
    has_hot_rows: bool,
    /// Whether compaction has removed few changes of the batch. It is then not tried again in this batch.
    is_compaction_futile: bool,
    /// The position that the second lane had reached before this run, if it is after the progress: the lane has applied
    /// its rows of every transaction that commits before this position.
    second_lane_position: Option<Lsn>,
    /// The progress after this batch has committed.
    next_progress: ApplyProgress,
    /// The number of changes in the batch, without those that compaction removed.
    change_count: u64,
    /// The number of complete transactions in the batch.
    transaction_count: usize,
    /// The time at which the first change of the batch arrived.
    first_change_at: Option<Instant>,
    rows: MovingRowCount,
    /// Markers whose transactions are in this batch, with the number of changes of moving rows before each.
    pub(super) markers: Vec<(Marker, u64)>,
}

/// A batch that is being committed while the stream gathers the next.
struct ClosedBatch {
    progress: ApplyProgress,
    moving_rows: u64,
    committed: oneshot::Receiver<()>,
}

impl ApplyBatch {
    /// Creates an empty batch after `progress`. `second_lane_position` is the position of the second lane if it is
    /// after `progress`.
    pub(super) fn new(
        executor: Executor,
        applier: Applier,
        progress: ApplyProgress,
        second_lane_position: Option<Lsn>,
    ) -> Self {
        let rows = MovingRowCount::default();
        Self {
            pieces: PieceQueue::new(executor, rows.dependents()),
            applier,
            progress,
            closed: VecDeque::new(),
            is_open: false,
            pending: ChangePiece::default(),
            is_divisible: true,
            is_lagging: false,
            has_hot_rows: false,
            is_compaction_futile: false,
            second_lane_position,
            next_progress: progress,
            change_count: 0,
            transaction_count: 0,
            first_change_at: None,
            rows,
            markers: Vec::new(),
        }
    }

    pub(super) fn applier_mut(&mut self) -> &mut Applier {
        &mut self.applier
    }

    pub(super) fn applier(&self) -> &Applier {
        &self.applier
    }

    /// The end of the last transaction that was added to the batch.
    pub(super) fn position(&self) -> Lsn {
        self.next_progress.lsn
    }

    /// Whether everything that was added to this batch and to earlier ones is durable.
    pub(super) fn is_empty(&self) -> bool {
        self.next_progress == self.progress && self.pending.changes.is_empty() && !self.is_open
    }

    /// The time at which the batch is committed if no further change arrives.
    pub(super) fn commit_due(&self) -> Instant {
        let now = Instant::now();
        (self.first_change_at.unwrap_or(now) + MIN_WAIT).max(now + MAX_IDLE)
    }

    /// The number of changes of moving rows that the status does not include yet, durable or not.
    pub(super) fn unpublished_moving_rows(&self) -> u64 {
        let closed = self.closed.iter().map(|closed| closed.moving_rows);
        self.rows.unpublished(closed.sum())
    }

    /// Returns the number of changes of moving rows that became durable since the last call.
    pub(super) fn take_durable_rows(&mut self) -> u64 {
        self.rows.take_durable()
    }

    /// Fails if a row that [`ApplyBatch::copy_row`] has copied comes after rows that belong to it.
    ///
    /// # Errors
    /// `apply.parent`.
    pub(super) async fn check_parent(
        &mut self,
        spec: &StreamSpec,
        copied: RowChange,
    ) -> Result<(), StepError> {
        match spec.has_dependents() {
            true => self.pieces.check_parent(&spec.tables, copied).await,
            false => Ok(()),
        }
    }

    /// Executes the gathered changes, so that [`ApplyBatch::unpublished_moving_rows`] includes all of them.
    pub(super) async fn execute_gathered(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if let Some(last) = self.pending.changes.last() {
            let commit_lsn = last.commit_lsn;
            self.send_pending(spec, commit_lsn).await?;
        }
        self.pieces.wait_until_idle().await.map(drop)
    }

    /// Adds a change to the batch. Sends the gathered changes as a piece when they are many, so that a large
    /// transaction needs no more memory.
    pub(super) async fn add_change(
        &mut self,
        spec: &StreamSpec,
        change: RowChange,
        arrival: ChangeArrival,
    ) -> Result<(), StepError> {
        self.change_count += 1;
        self.rows.add_change(&spec.tables[change.table()]);
        if self.is_applied_by_second_lane(&change, arrival.commit_lsn) {
            return Ok(());
        }
        // This marks the keys of all changes of the piece as dirty. An unnecessary mark only costs a comparison.
        self.pending.records_dirty |= arrival.records_dirty;
        self.pending.may_be_in_copy |= arrival.may_be_in_copy;
        self.is_lagging = arrival.is_lagging;
        self.begin_transaction(spec).await?;
        self.first_change_at.get_or_insert_with(Instant::now);
        self.pending.bytes += change.size();
        let change = change.committed_at(arrival.commit_lsn);
        self.pending.changes.push(change);
        if arrival.is_lagging && !self.is_compaction_futile && self.has_enough_changes(spec, true) {
            self.compact();
        }
        if self.must_send(spec, arrival.is_lagging)
            || (self.may_send(spec, arrival.is_lagging) && self.pieces.poll_and_has_room().await?)
        {
            self.send_pending(spec, arrival.commit_lsn).await?;
        }
        Ok(())
    }

    /// Removes superseded changes from the gathered ones.
    fn compact(&mut self) {
        let before = self.pending.changes.len();
        self.is_compaction_futile = !self.pending.compact();
        let left = self.pending.changes.len();
        let dropped = u64::try_from(before - left).unwrap_or(u64::MAX);
        self.change_count = self.change_count.saturating_sub(dropped);
        self.has_hot_rows |= !self.is_compaction_futile;
    }

    /// Whether the second lane applied the change in an earlier run.
    fn is_applied_by_second_lane(&self, change: &RowChange, commit_lsn: Lsn) -> bool {
        self.second_lane_position
            .is_some_and(|position| commit_lsn < position)
            && change.lane() == ApplyLane::Second
    }

    /// Excludes the batch from sharing, because it contains a row that was read again on the upstream shard: such a row
    /// and all other changes of the batch must become visible in one commit.
    pub(super) fn forbid_sharing(&mut self) {
        self.is_divisible = false;
    }

    /// Copies a row that is too large for memory from the upstream to the downstream shard, after all changes that were
    /// added before.
    pub(super) async fn copy_row(
        &mut self,
        spec: &StreamSpec,
        rows: &mut RecopiedRows,
        table: usize,
        key: &str,
        arrival: ChangeArrival,
    ) -> Result<(), StepError> {
        self.begin_transaction(spec).await?;
        self.forbid_sharing();
        if !self.pending.changes.is_empty() {
            self.send_pending(spec, arrival.commit_lsn).await?;
        }
        let moving_table = &spec.tables[table];
        let session = self.pieces.idle_session().await?;
        rows.copy_row(spec, table, key, session).await?;
        if arrival.records_dirty && !moving_table.is_reference() {
            let keys = [(moving_table.table.to_string(), key.to_owned())];
            apply_progress::mark_dirty(session, &spec.token, &keys, arrival.commit_lsn).await?;
        }
        self.first_change_at.get_or_insert_with(Instant::now);
        self.change_count += 1;
        self.rows.add_copied_row(moving_table);
        Ok(())
    }

    /// Records that the arriving transaction is complete. `end` is the position after it, and `changes` the number of
    /// its changes. `opened`: it contains the open marker (C10).
    pub(super) fn end_transaction(
        &mut self,
        spec: &StreamSpec,
        end: Lsn,
        changes: u64,
        opened: bool,
    ) {
        if self
            .second_lane_position
            .is_some_and(|position| end <= position)
        {
            // The second lane has already applied its part of this transaction.
            self.is_divisible = false;
        }
        self.transaction_count += 1;
        if !self.is_compaction_futile && self.is_largest_shareable(spec) {
            self.compact();
        }
        self.next_progress.lsn = end;
        self.next_progress.opened |= opened;
        self.next_progress.transactions += 1;
        self.next_progress.changes += i64::try_from(changes).unwrap_or(i64::MAX);
    }

    /// Advances the next progress to `lsn`: the WAL up to there has no further change for this stream.
    pub(super) fn advance_to(&mut self, lsn: Lsn) {
        self.next_progress.lsn = self.next_progress.lsn.max(lsn);
    }

    /// Starts the commit of this batch, after the pieces that were sent before. Returns when the batch before this one
    /// is durable; the stream then gathers the next batch while this one is committed.
    pub(super) async fn start_commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.is_open {
            return self.commit(spec).await;
        }
        let piece = self.take_last_piece(spec);
        self.pieces
            .start_piece(spec, piece, self.next_progress.lsn)
            .await?;
        self.wait_for_commits(1).await
    }

    /// Waits until the earlier batches are durable. Then returns whether every added row is durable, so that only the
    /// progress remains to be written.
    pub(super) async fn has_no_pending_rows(&mut self) -> Result<bool, StepError> {
        self.wait_for_commits(0).await?;
        Ok(!self.is_open && self.next_progress.opened == self.progress.opened)
    }

    /// Commits the batch with its progress, and waits until it is durable.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        self.wait_for_commits(0).await?;
        if self.is_empty() {
            return Ok(());
        }
        if self.is_open {
            let piece = self.take_last_piece(spec);
            self.pieces
                .execute_to_end(spec, piece, self.next_progress.lsn)
                .await?;
            return self.wait_for_commits(0).await;
        }
        // The batch has no row: it consists of markers, or of WAL without a change for this stream.
        let session = self.pieces.wait_until_idle().await?.session();
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        apply_progress::commit(session, &spec.token, spec.direction, self.next_progress).await?;
        self.progress = self.next_progress;
        let gathered = self.rows.take_gathered();
        self.rows.add_durable(gathered);
        self.reset_counts();
        Ok(())
    }

    /// Takes the last piece of this batch, and begins the next batch.
    fn take_last_piece(&mut self, spec: &StreamSpec) -> ChangePiece {
        let (notify_committed, committed) = oneshot::channel();
        let is_shareable = self.can_be_shared(spec);
        self.closed.push_back(ClosedBatch {
            progress: self.next_progress,
            moving_rows: self.rows.take_gathered(),
            committed,
        });
        self.is_open = false;
        self.reset_counts();
        ChangePiece {
            batch_end: Some((self.next_progress, notify_committed)),
            is_shareable,
            ..std::mem::take(&mut self.pending)
        }
    }

    fn reset_counts(&mut self) {
        self.change_count = 0;
        self.transaction_count = 0;
        self.first_change_at = None;
        self.is_divisible = true;
        self.has_hot_rows = false;
        self.is_compaction_futile = false;
    }

    /// Waits until the closed batches are durable, except for the last `except` of them.
    async fn wait_for_commits(&mut self, except: usize) -> Result<(), StepError> {
        while self.closed.len() > except
            && let Some(closed) = self.closed.front_mut()
        {
            if (&mut closed.committed).await.is_err() {
                // The piece has failed; this returns its error.
                self.pieces.wait_until_idle().await?;
            }
            self.progress = closed.progress;
            self.rows.add_durable(closed.moving_rows);
            self.closed.pop_front();
        }
        Ok(())
    }

    /// Sends the gathered changes as a piece, after the pieces that were sent before.
    async fn send_pending(&mut self, spec: &StreamSpec, commit_lsn: Lsn) -> Result<(), StepError> {
        self.begin_transaction(spec).await?;
        self.is_divisible = false;
        let piece = std::mem::take(&mut self.pending);
        self.pieces.start_piece(spec, piece, commit_lsn).await
    }

    /// Opens the transaction of the batch if it is not open. Does not wait for the server's answer.
    async fn begin_transaction(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.is_open {
            self.pieces.begin_batch(spec).await?;
            self.is_open = true;
        }
        Ok(())
    }
}
