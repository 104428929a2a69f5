//! When a piece is sent, and when a batch is closed.

use std::time::Duration;

use plans::names::Direction;

use super::ApplyBatch;
use crate::stream::StreamSpec;

/// The number of gathered changes at which a piece is sent, if the queue has room for it.
const PIECE_CHANGES: usize = 500;
/// The number of gathered changes at which a piece is always sent. A lagging stream sends a smaller piece only at the
/// end of a batch, so that more changes of the same row are in one piece.
const MAX_PIECE_CHANGES: usize = 30_000;
/// The number of gathered changes at which a piece of a transaction that is larger than a batch is sent. Smaller pieces
/// let the server work while the rest of the transaction arrives.
const PIECE_CHANGES_OF_LARGE_TRANSACTION: usize = 10_000;
/// The maximum size of a piece in bytes, so that memory does not grow with the size of rows (ADR 42).
const MAX_PIECE_BYTES: usize = 12 << 20;
/// A batch with this number of changes is closed at the end of the current transaction.
const BATCH_CHANGES: u64 = 60_000;
/// The same for a lagging stream. The number is that of one piece, so that two sessions can share the batch, unless its
/// last transaction is large.
const BATCH_CHANGES_LAGGING: u64 = 30_000;
/// The same under synchronous dual-write, when commits on the upstream shard wait for the batch.
const BATCH_CHANGES_SYNCHRONOUS: u64 = 2000;
/// A batch of this age is closed at the end of the current transaction.
const MAX_AGE: Duration = Duration::from_millis(200);
/// The same for a lagging stream.
const MAX_AGE_LAGGING: Duration = Duration::from_secs(2);
/// The factor by which a batch may be larger if compaction has removed many of its changes: the rows are *hot*, which
/// means that each of them has many changes.
const HOT_ROWS_FACTOR: usize = 2;
/// The minimum number of changes for which two sessions share a batch, because the second commit also has a cost. A
/// batch with fewer changes is shared if it has half of the maximum size in bytes.
const MIN_SHARED_CHANGES: usize = 2000;

impl ApplyBatch {
    /// Whether the batch should be closed now, at the end of a transaction.
    pub(in crate::stream) fn is_full(&self, spec: &StreamSpec, is_lagging: bool) -> bool {
        let max_age = if is_lagging { MAX_AGE_LAGGING } else { MAX_AGE };
        self.has_enough_changes(spec, is_lagging)
            || self.is_half_a_piece_of(spec)
            || self.is_largest_shareable(spec)
            || self
                .first_change_at
                .is_some_and(|since| since.elapsed() >= max_age)
    }

    /// Whether half of the largest piece is gathered, in a stream with dependent tables: pieces then end in the middle of
    /// large transactions only.
    pub(super) fn is_half_a_piece_of(&self, spec: &StreamSpec) -> bool {
        let is_half = self.pending.changes.len() >= self.max_piece_changes() / 2
            || self.pending.bytes >= self.max_piece_bytes() / 2;
        spec.has_dependents() && is_half
    }

    /// Whether two sessions can share the batch now, and could not after one more transaction of average size, which
    /// would divide the batch into two pieces.
    pub(super) fn is_largest_shareable(&self, spec: &StreamSpec) -> bool {
        let with_next = |gathered: usize| gathered + gathered / self.transaction_count.max(1);
        let would_split = with_next(self.pending.changes.len()) >= self.max_last_piece_changes()
            || with_next(self.pending.bytes) >= self.max_piece_bytes();
        would_split && self.can_be_shared(spec)
    }

    /// Whether two sessions may execute the batch, and are expected to be faster than one although each has to commit.
    pub(super) fn can_be_shared(&self, spec: &StreamSpec) -> bool {
        let is_large = self.pending.changes.len() >= MIN_SHARED_CHANGES
            || self.pending.bytes >= self.max_piece_bytes() / 2;
        is_large
            && self.is_divisible
            && self.is_lagging
            && spec.sessions > 1
            // Which rows of dependent tables move depends on rows that the other session would write.
            && !spec.has_dependents()
            && spec.direction == Direction::Forward
            && spec.dual_write.is_none()
    }

    /// Whether the batch has enough changes or bytes to be closed.
    pub(super) fn has_enough_changes(&self, spec: &StreamSpec, is_lagging: bool) -> bool {
        (is_lagging && self.is_nearly_max_bytes())
            || self.change_count >= self.batch_changes(spec, is_lagging)
    }

    /// Whether the gathered changes have nearly the maximum size of a piece.
    pub(super) fn is_nearly_max_bytes(&self) -> bool {
        self.pending.bytes >= self.max_piece_bytes() / 8 * 7
    }

    /// The maximum size of a piece of this batch, in bytes.
    pub(super) fn max_piece_bytes(&self) -> usize {
        MAX_PIECE_BYTES * self.size_factor()
    }

    /// The maximum number of changes in a piece.
    pub(super) fn max_piece_changes(&self) -> usize {
        MAX_PIECE_CHANGES * self.size_factor()
    }

    /// The maximum number of changes in the last piece of a batch. It is a quarter larger than that of other pieces:
    /// otherwise a batch that is slightly larger than one piece would need another, nearly empty piece for its commit.
    pub(super) fn max_last_piece_changes(&self) -> usize {
        self.max_piece_changes() / 4 * 5
    }

    /// The number of changes at which the batch is closed at the end of the current transaction.
    pub(super) fn batch_changes(&self, spec: &StreamSpec, is_lagging: bool) -> u64 {
        match (spec.dual_write.is_some(), is_lagging) {
            (true, _) => BATCH_CHANGES_SYNCHRONOUS,
            (false, true) => BATCH_CHANGES_LAGGING * self.size_factor() as u64,
            (false, false) => BATCH_CHANGES,
        }
    }

    /// The factor by which this batch may be larger than others.
    pub(super) fn size_factor(&self) -> usize {
        if self.has_hot_rows {
            HOT_ROWS_FACTOR
        } else {
            1
        }
    }

    /// Whether the gathered changes must be sent now.
    pub(super) fn must_send(&self, spec: &StreamSpec, is_lagging: bool) -> bool {
        let max_changes = match self.change_count / self.batch_changes(spec, is_lagging) {
            0 => self.max_piece_changes(),
            1 => self.max_last_piece_changes(),
            // The current transaction is larger than a batch.
            _ => PIECE_CHANGES_OF_LARGE_TRANSACTION,
        };
        self.pending.changes.len() >= max_changes || self.pending.bytes >= self.max_piece_bytes()
    }

    /// Whether the gathered changes may be sent now, if the queue has room. This is so at every multiple of a number of
    /// changes, and only for a batch that is not full yet. Changes of dependent tables are kept together with those of
    /// their parents.
    pub(super) fn may_send(&self, spec: &StreamSpec, is_lagging: bool) -> bool {
        if spec.has_dependents() {
            return false;
        }
        let piece_changes = if is_lagging {
            self.max_piece_changes()
        } else {
            PIECE_CHANGES
        };
        self.change_count < self.batch_changes(spec, is_lagging)
            && self.pending.changes.len().is_multiple_of(piece_changes)
    }
}
