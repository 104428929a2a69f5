//! A batch: whole transactions of the upstream shard that become one transaction on the downstream shard.
//!
//! The stream executes the changes of a batch in pieces. While the server executes one piece, the stream gathers the
//! next. So pieces grow with the backlog, and several changes of one row come into the same piece.

use std::collections::VecDeque;
use std::time::Duration;

use plans::names::Direction;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::StreamSpec;
use super::pieces::{ChangePiece, PieceQueue};
use super::recopy::RecopiedRows;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::marker::Marker;
use crate::stream::apply::{Applier, ApplyLane, Executor, RowChange};

/// The number of gathered changes at which a piece is sent, if the queue has room for it.
const PIECE_CHANGES: usize = 500;
/// The number of gathered changes at which a piece is always sent. A lagging stream sends no smaller piece, so that
/// changes of the same rows come into one piece.
const MAX_PIECE_CHANGES: usize = 30_000;
/// The same in a transaction that is larger than any batch: its pieces need not wait for its commit.
const PIECE_CHANGES_OF_LARGE: usize = 10_000;
/// The maximum size of a piece in bytes: memory does not grow with the size of rows (ADR 42).
const MAX_PIECE_BYTES: usize = 12 << 20;
/// The number of changes after which the next commit closes a batch.
const FULL_CHANGES: u64 = 60_000;
/// The same for a lagging stream. Such a batch is one piece unless its last transaction is large, and two sessions
/// can share it.
const FULL_CHANGES_LAGGING: u64 = 30_000;
/// The same for a stream for which commits on the upstream shard wait.
const FULL_CHANGES_SYNCHRONOUS: u64 = 2000;
/// The time that a batch waits for more changes before it commits. Each commit has a fixed cost on both servers.
const LINGER: Duration = Duration::from_millis(20);
/// A batch older than `LINGER` commits when no change arrives for this time.
const MAX_GAP: Duration = Duration::from_millis(2);
/// The age after which the next commit closes a batch.
const MAX_AGE: Duration = Duration::from_millis(200);
/// The same for a lagging stream.
const MAX_AGE_LAGGING: Duration = Duration::from_secs(2);

/// The factor by which a batch of busy rows may be larger: several of its changes become one.
const BUSY_FACTOR: usize = 2;

/// The number of changes for which a second session, with its own commit, is worth its cost. A batch with fewer
/// changes is shared if it has half of the maximum size.
const MIN_SHARED_CHANGES: usize = 2000;

/// The batch that a stream gathers, with the batches that are being committed.
pub(super) struct ApplyBatch {
    pieces: PieceQueue,
    applier: Applier,
    /// The durable progress.
    pub(super) progress: ApplyProgress,
    /// The earlier batches whose commits have started.
    closed: VecDeque<ClosedBatch>,
    /// The number of moving rows that are durable and not yet published in the status.
    unpublished_rows: u64,
    /// Whether a transaction is open on the downstream shard.
    open: bool,
    pending: ChangePiece,
    /// Whether two sessions may share the batch: all of its changes are in `pending`, and none depends on when a row
    /// was read.
    is_divisible: bool,
    /// Whether the stream lagged when the last change arrived.
    lagging: bool,
    /// Whether compaction has removed many changes of the batch.
    busy: bool,
    /// Whether compaction has removed few changes of the batch: it is not tried again.
    compaction_futile: bool,
    /// The position of the second lane before this run: it has applied its rows of every transaction that commits
    /// before this position.
    second_lane: Option<Lsn>,
    /// The progress after this batch has committed.
    next_progress: ApplyProgress,
    /// The number of changes in the batch, without those that compaction removed.
    change_count: u64,
    /// The number of complete transactions in the batch.
    transaction_count: usize,
    /// The time at which the first change of the batch arrived.
    first_change_at: Option<Instant>,
    /// The number of changes of moving tables, not of reference tables.
    moving_rows: u64,
    /// Markers whose transactions are in this batch, with the number of moving rows before each.
    pub(super) markers: Vec<(Marker, u64)>,
}

/// The circumstances in which a change arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeArrival {
    /// Whether its keys are recorded as dirty.
    pub(super) dirty: bool,
    /// Whether the stream lagged.
    pub(super) lagging: bool,
    pub(super) commit_lsn: Lsn,
}

/// A batch that is being committed while the stream gathers the next.
struct ClosedBatch {
    progress: ApplyProgress,
    moving_rows: u64,
    committed: oneshot::Receiver<()>,
}

impl ApplyBatch {
    /// Creates an empty batch after `progress`. `second_lane` is the position of the second lane if that is later.
    pub(super) fn new(
        executor: Executor,
        applier: Applier,
        progress: ApplyProgress,
        second_lane: Option<Lsn>,
    ) -> Self {
        Self {
            pieces: PieceQueue::new(executor),
            applier,
            progress,
            closed: VecDeque::new(),
            unpublished_rows: 0,
            open: false,
            pending: ChangePiece::default(),
            is_divisible: true,
            lagging: false,
            busy: false,
            compaction_futile: false,
            second_lane,
            next_progress: progress,
            change_count: 0,
            transaction_count: 0,
            first_change_at: None,
            moving_rows: 0,
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

    /// Whether everything that was added is durable.
    pub(super) fn is_empty(&self) -> bool {
        self.next_progress == self.progress && self.pending.changes.is_empty() && !self.open
    }

    /// Whether the batch should be closed after the transaction that has just ended.
    pub(super) fn is_full(&self, spec: &StreamSpec, lagging: bool) -> bool {
        let old = if lagging { MAX_AGE_LAGGING } else { MAX_AGE };
        self.has_enough_changes(spec, lagging)
            || self.next_transaction_would_split(spec)
            || self
                .first_change_at
                .is_some_and(|since| since.elapsed() >= old)
    }

    /// Whether two sessions can share the batch now, and could not after another transaction of average size.
    fn next_transaction_would_split(&self, spec: &StreamSpec) -> bool {
        let more = |held: usize| held + held / self.transaction_count.max(1);
        let split = more(self.pending.changes.len()) >= self.max_last_piece_changes()
            || more(self.pending.bytes) >= self.max_piece_bytes();
        split && self.can_be_shared(spec)
    }

    /// Whether two sessions may execute the batch and are faster than one, with their commits included.
    fn can_be_shared(&self, spec: &StreamSpec) -> bool {
        let is_large = self.pending.changes.len() >= MIN_SHARED_CHANGES
            || self.pending.bytes >= self.max_piece_bytes() / 2;
        is_large
            && self.is_divisible
            && self.lagging
            && spec.sessions > 1
            && spec.direction == Direction::Forward
            && spec.dual_write.is_none()
    }

    /// Whether the batch has enough changes or bytes to be closed.
    fn has_enough_changes(&self, spec: &StreamSpec, lagging: bool) -> bool {
        (lagging && self.is_nearly_max_bytes())
            || self.change_count >= self.full_changes(spec, lagging)
    }

    /// Whether the gathered changes have nearly the maximum size of a piece.
    fn is_nearly_max_bytes(&self) -> bool {
        self.pending.bytes >= self.max_piece_bytes() / 8 * 7
    }

    /// The maximum size of a piece of this batch, in bytes.
    fn max_piece_bytes(&self) -> usize {
        MAX_PIECE_BYTES * self.size_factor()
    }

    /// The maximum number of changes in a piece.
    fn max_piece_changes(&self) -> usize {
        MAX_PIECE_CHANGES * self.size_factor()
    }

    /// The maximum number of changes in the last piece, which is sent with the commit: an empty last piece would
    /// delay the next batch.
    fn max_last_piece_changes(&self) -> usize {
        self.max_piece_changes() / 4 * 5
    }

    /// The number of changes at which the next commit closes the batch.
    fn full_changes(&self, spec: &StreamSpec, lagging: bool) -> u64 {
        match (spec.dual_write.is_some(), lagging) {
            (true, _) => FULL_CHANGES_SYNCHRONOUS,
            (false, true) => FULL_CHANGES_LAGGING * self.size_factor() as u64,
            (false, false) => FULL_CHANGES,
        }
    }

    /// The factor by which this batch may be larger than others.
    fn size_factor(&self) -> usize {
        if self.busy { BUSY_FACTOR } else { 1 }
    }

    /// The time at which the batch is committed if no further change arrives.
    pub(super) fn commit_due(&self) -> Instant {
        let now = Instant::now();
        (self.first_change_at.unwrap_or(now) + LINGER).max(now + MAX_GAP)
    }

    /// The number of changes of moving rows so far that the status does not include yet.
    pub(super) fn unpublished_moving_rows(&self) -> u64 {
        let closed: u64 = self.closed.iter().map(|closed| closed.moving_rows).sum();
        self.unpublished_rows + closed + self.moving_rows
    }

    /// Returns the number of moving rows that became durable since the last call.
    pub(super) fn take_unpublished_rows(&mut self) -> u64 {
        std::mem::take(&mut self.unpublished_rows)
    }

    /// Adds a change to the batch. Sends the gathered changes when they are many, so that memory does not grow with a
    /// large transaction.
    pub(super) async fn add_change(
        &mut self,
        spec: &StreamSpec,
        change: RowChange,
        arrival: ChangeArrival,
    ) -> Result<(), StepError> {
        self.change_count += 1;
        self.moving_rows += u64::from(!spec.tables[change.table()].is_reference());
        if self.is_applied_by_second_lane(&change, arrival.commit_lsn) {
            return Ok(());
        }
        // The keys of the other changes of the piece may be marked dirty as well: they are compared once more then.
        self.pending.dirty |= arrival.dirty;
        self.lagging = arrival.lagging;
        self.begin_transaction(spec).await?;
        self.first_change_at.get_or_insert_with(Instant::now);
        self.pending.bytes += change.size();
        self.pending.changes.push(change);
        if arrival.lagging && !self.compaction_futile && self.has_enough_changes(spec, true) {
            self.compact();
        }
        if self.must_send(spec, arrival.lagging)
            || (self.may_send(spec, arrival.lagging) && self.pieces.poll_has_room().await?)
        {
            self.send_pending(spec, arrival.commit_lsn).await?;
        }
        Ok(())
    }

    /// Whether the gathered changes must be sent now.
    fn must_send(&self, spec: &StreamSpec, lagging: bool) -> bool {
        let largest = match self.change_count / self.full_changes(spec, lagging) {
            0 => self.max_piece_changes(),
            1 => self.max_last_piece_changes(),
            // The transaction is larger than any batch.
            _ => PIECE_CHANGES_OF_LARGE,
        };
        self.pending.changes.len() >= largest || self.pending.bytes >= self.max_piece_bytes()
    }

    /// Whether the gathered changes are sent if the queue has room.
    fn may_send(&self, spec: &StreamSpec, lagging: bool) -> bool {
        let smallest = if lagging {
            self.max_piece_changes()
        } else {
            PIECE_CHANGES
        };
        self.change_count < self.full_changes(spec, lagging)
            && self.pending.changes.len().is_multiple_of(smallest)
    }

    /// Removes superseded changes from the gathered ones.
    fn compact(&mut self) {
        let before = self.pending.changes.len();
        self.compaction_futile = !self.pending.compact();
        let left = self.pending.changes.len();
        let dropped = u64::try_from(before - left).unwrap_or(u64::MAX);
        self.change_count = self.change_count.saturating_sub(dropped);
        self.busy |= !self.compaction_futile;
    }

    /// Whether the second lane applied the change in an earlier run.
    fn is_applied_by_second_lane(&self, change: &RowChange, commit_lsn: Lsn) -> bool {
        self.second_lane
            .is_some_and(|position| commit_lsn < position)
            && change.lane() == ApplyLane::Second
    }

    /// Excludes the batch from sharing, because one of its changes depends on when a row was read: both sessions
    /// would have to commit together.
    pub(super) fn forbid_sharing(&mut self) {
        self.is_divisible = false;
    }

    /// Copies a row that is too large for memory to the downstream shard, after all changes that were added before.
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
        let moved = &spec.tables[table];
        let session = self.pieces.idle_session().await?;
        rows.copy_row(spec, table, key, session).await?;
        if arrival.dirty && !moved.is_reference() {
            let keys = [(moved.table.to_string(), key.to_owned())];
            apply_progress::mark_dirty(session, &spec.token, &keys, arrival.commit_lsn).await?;
        }
        self.first_change_at.get_or_insert_with(Instant::now);
        self.change_count += 1;
        self.moving_rows += u64::from(!moved.is_reference());
        Ok(())
    }

    /// Records that the arriving transaction is complete.
    pub(super) fn end_transaction(&mut self, spec: &StreamSpec, end: Lsn, rows: u64, opened: bool) {
        if self.second_lane.is_some_and(|position| end <= position) {
            // The second lane has already applied its part of this transaction.
            self.is_divisible = false;
        }
        self.transaction_count += 1;
        if !self.compaction_futile && self.next_transaction_would_split(spec) {
            self.compact();
        }
        self.next_progress.lsn = end;
        self.next_progress.opened |= opened;
        self.next_progress.transactions += 1;
        self.next_progress.changes += i64::try_from(rows).unwrap_or(i64::MAX);
    }

    /// Advances the next progress to `lsn`, before which there is no change for this stream.
    pub(super) fn advance_to(&mut self, lsn: Lsn) {
        self.next_progress.lsn = self.next_progress.lsn.max(lsn);
    }

    /// Starts the commit of this batch, after the pieces that were started before; the stream gathers the next batch
    /// meanwhile. Returns when the batch before it is durable.
    pub(super) async fn start_commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.open {
            return self.commit(spec).await;
        }
        let piece = self.take_last_piece(spec);
        self.pieces
            .start_piece(spec, piece, self.next_progress.lsn)
            .await?;
        self.wait_for_closed(1).await
    }

    /// Whether every added row is durable, so that only the progress is still to be written.
    pub(super) async fn has_no_pending_rows(&mut self) -> Result<bool, StepError> {
        self.wait_for_closed(0).await?;
        Ok(!self.open && self.next_progress.opened == self.progress.opened)
    }

    /// Commits the batch with its progress, and waits until it is durable.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        self.wait_for_closed(0).await?;
        if self.is_empty() {
            return Ok(());
        }
        if self.open {
            let piece = self.take_last_piece(spec);
            self.pieces
                .finish_piece(spec, piece, self.next_progress.lsn)
                .await?;
            return self.wait_for_closed(0).await;
        }
        // The batch has no row: it is a marker, or WAL without a change for this stream.
        let session = self.pieces.wait_until_idle().await?.session();
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        apply_progress::commit(session, &spec.token, spec.direction, self.next_progress).await?;
        self.progress = self.next_progress;
        self.unpublished_rows += std::mem::take(&mut self.moving_rows);
        self.reset_counts();
        Ok(())
    }

    /// Takes the last piece of this batch, and begins the next batch.
    fn take_last_piece(&mut self, spec: &StreamSpec) -> ChangePiece {
        let (done, committed) = oneshot::channel();
        let shareable = self.can_be_shared(spec);
        self.closed.push_back(ClosedBatch {
            progress: self.next_progress,
            moving_rows: std::mem::take(&mut self.moving_rows),
            committed,
        });
        self.open = false;
        self.reset_counts();
        ChangePiece {
            end_of_batch: Some((self.next_progress, done)),
            shareable,
            ..std::mem::take(&mut self.pending)
        }
    }

    fn reset_counts(&mut self) {
        self.change_count = 0;
        self.transaction_count = 0;
        self.first_change_at = None;
        self.is_divisible = true;
        self.busy = false;
        self.compaction_futile = false;
    }

    /// Waits until the batches that are being committed are durable, except for the last `except` of them.
    async fn wait_for_closed(&mut self, except: usize) -> Result<(), StepError> {
        while self.closed.len() > except
            && let Some(closed) = self.closed.front_mut()
        {
            if (&mut closed.committed).await.is_err() {
                // The piece has failed; this returns its error.
                self.pieces.wait_until_idle().await?;
            }
            self.progress = closed.progress;
            self.unpublished_rows += closed.moving_rows;
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

    /// Opens the transaction of the batch if it is not open, without a wait for the answer.
    async fn begin_transaction(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.open {
            self.pieces.begin_batch(spec).await?;
            self.open = true;
        }
        Ok(())
    }
}
