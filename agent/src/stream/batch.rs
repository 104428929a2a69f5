//! A batch: whole source transactions that become one transaction on the destination.
//!
//! Its changes are executed in pieces. While the server works on one, the next is gathered; so pieces grow with what
//! the stream has to tell, and changes of the same rows meet in them.

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

/// Changes that are sent to the destination at once, if it has room for them.
const PIECE: usize = 500;
/// So many are sent in any case, and no fewer where the stream is behind: changes of the same rows meet in them.
const LARGEST_PIECE: usize = 30_000;
/// So many of a transaction that is larger than any batch, whose commit need not be waited for.
const PIECE_OF_LARGE: usize = 10_000;
/// What a piece weighs at most, in bytes: memory does not grow with the size of rows (ADR 42).
const HEAVIEST_PIECE: usize = 12 << 20;
/// Changes after which a batch is closed at the next commit.
const FULL: u64 = 60_000;
/// The same where many more are behind it: it is one piece then, unless its last transaction is large, and two sessions
/// may share it.
const FULL_BEHIND: u64 = 30_000;
/// The same while commits wait for it.
const FULL_PROMPT: u64 = 2000;
/// How long a batch waits for more before it commits: each costs both servers the same, however little it holds.
const LINGER: Duration = Duration::from_millis(20);
/// An older one goes on for as long as changes follow each other more closely than this.
const GAP: Duration = Duration::from_millis(2);
/// A batch that has been gathered for so long is closed at the next commit.
const OLD: Duration = Duration::from_millis(200);
/// The same where many more are behind it.
const OLD_BEHIND: Duration = Duration::from_secs(2);

/// How many times as much a batch of busy rows holds: what it gathers of them, the next need not write.
const BUSY: usize = 2;

/// Changes of a batch that are worth a second session and its commit; fewer are if they weigh half of what they may.
const SHARED: usize = 2000;

/// The destination's side of a stream.
pub(super) struct ApplyBatch {
    pieces: PieceQueue,
    applier: Applier,
    /// Durable progress.
    pub(super) progress: ApplyProgress,
    /// The batches before this one that commit.
    sealed: VecDeque<SealedBatch>,
    /// Moving rows that are durable and not told yet.
    untold: u64,
    /// Whether a transaction is open on the destination.
    open: bool,
    pending: ChangePiece,
    /// All of it is in `pending`, and its changes say all of it: two sessions may share it.
    whole: bool,
    /// How its last change came.
    behind: bool,
    /// Much of it need not be kept.
    busy: bool,
    /// Little of it need not be kept: that is not looked for again.
    dense: bool,
    /// What the second lane has applied before this run: its rows of all that commits before this position.
    second: Option<Lsn>,
    /// What the progress will be once this batch commits.
    next: ApplyProgress,
    /// Its changes, but for those that need not be kept.
    rows: u64,
    /// Its transactions that are complete.
    transactions: usize,
    /// When its first change came.
    since: Option<Instant>,
    /// Those of its rows that are of moving tables, not of reference tables.
    moving: u64,
    /// Markers whose transactions are in this batch, with the rows before each.
    pub(super) markers: Vec<(Marker, u64)>,
}

/// How a change came.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeArrival {
    /// Its keys are dirty from then on.
    pub(super) dirty: bool,
    /// Many more are behind it.
    pub(super) behind: bool,
    pub(super) commit_lsn: Lsn,
}

/// A batch that commits, while the next is gathered.
struct SealedBatch {
    progress: ApplyProgress,
    moving: u64,
    committed: oneshot::Receiver<()>,
}

impl ApplyBatch {
    /// Goes on from the progress; `second`: where the second lane is, if that is further.
    pub(super) fn new(
        executor: Executor,
        applier: Applier,
        progress: ApplyProgress,
        second: Option<Lsn>,
    ) -> Self {
        Self {
            pieces: PieceQueue::new(executor),
            applier,
            progress,
            sealed: VecDeque::new(),
            untold: 0,
            open: false,
            pending: ChangePiece::default(),
            whole: true,
            behind: false,
            busy: false,
            dense: false,
            second,
            next: progress,
            rows: 0,
            transactions: 0,
            since: None,
            moving: 0,
            markers: Vec::new(),
        }
    }

    pub(super) fn applier(&mut self) -> &mut Applier {
        &mut self.applier
    }

    pub(super) fn applier_ref(&self) -> &Applier {
        &self.applier
    }

    /// End of the last transaction that was taken.
    pub(super) fn position(&self) -> Lsn {
        self.next.lsn
    }

    /// Nothing of it would be lost.
    pub(super) fn is_empty(&self) -> bool {
        self.next == self.progress && self.pending.changes.is_empty() && !self.open
    }

    /// It should be closed now that a transaction is complete.
    pub(super) fn is_full(&self, spec: &StreamSpec, behind: bool) -> bool {
        let old = if behind { OLD_BEHIND } else { OLD };
        self.is_much(spec, behind)
            || self.would_be_split(spec)
            || self.since.is_some_and(|since| since.elapsed() >= old)
    }

    /// Two sessions may share it as it is, and could not with another transaction like those that it has.
    fn would_be_split(&self, spec: &StreamSpec) -> bool {
        let more = |held: usize| held + held / self.transactions.max(1);
        let split = more(self.pending.changes.len()) >= self.largest_last()
            || more(self.pending.bytes) >= self.heaviest();
        split && self.may_be_shared(spec)
    }

    /// Two sessions may execute it, and do so sooner than one, their commits included.
    fn may_be_shared(&self, spec: &StreamSpec) -> bool {
        let much =
            self.pending.changes.len() >= SHARED || self.pending.bytes >= self.heaviest() / 2;
        much && self.whole
            && self.behind
            && spec.sessions > 1
            && spec.direction == Direction::Forward
            && spec.dual_write.is_none()
    }

    /// It holds as much as a batch should.
    fn is_much(&self, spec: &StreamSpec, behind: bool) -> bool {
        (behind && self.is_heavy()) || self.rows >= self.most(spec, behind)
    }

    /// What is gathered weighs nearly as much as a piece may.
    fn is_heavy(&self) -> bool {
        self.pending.bytes >= self.heaviest() / 8 * 7
    }

    /// What a piece of it weighs at most.
    fn heaviest(&self) -> usize {
        HEAVIEST_PIECE * self.room()
    }

    /// Changes of a piece at most.
    fn largest(&self) -> usize {
        LARGEST_PIECE * self.room()
    }

    /// The same of its last piece, which is sent with the commit: one without changes would take the place of the next.
    fn largest_last(&self) -> usize {
        self.largest() / 4 * 5
    }

    /// Changes at which it is closed at the next commit.
    fn most(&self, spec: &StreamSpec, behind: bool) -> u64 {
        match (spec.dual_write.is_some(), behind) {
            (true, _) => FULL_PROMPT,
            (false, true) => FULL_BEHIND * self.room() as u64,
            (false, false) => FULL,
        }
    }

    /// How many times as much as others it holds.
    fn room(&self) -> usize {
        if self.busy { BUSY } else { 1 }
    }

    /// When it is to be committed if nothing more comes.
    pub(super) fn due(&self) -> Instant {
        let now = Instant::now();
        (self.since.unwrap_or(now) + LINGER).max(now + GAP)
    }

    /// Moving rows so far that are not told to be durable.
    pub(super) fn moving(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|sealed| sealed.moving).sum();
        self.untold + sealed + self.moving
    }

    /// Moving rows that have become durable since this was asked last.
    pub(super) fn told(&mut self) -> u64 {
        std::mem::take(&mut self.untold)
    }

    /// Takes a change; sends what is gathered when that is much, so memory does not grow with a
    /// large transaction.
    pub(super) async fn push(
        &mut self,
        spec: &StreamSpec,
        change: RowChange,
        taken: ChangeArrival,
    ) -> Result<(), StepError> {
        self.rows += 1;
        self.moving += u64::from(!spec.tables[change.table()].is_reference());
        if self.is_applied(&change, taken.commit_lsn) {
            return Ok(());
        }
        // Its other changes may be marked along with this one: they are compared once more then.
        self.pending.dirty |= taken.dirty;
        self.behind = taken.behind;
        self.begin(spec).await?;
        self.since.get_or_insert_with(Instant::now);
        self.pending.bytes += change.size();
        self.pending.changes.push(change);
        if taken.behind && !self.dense && self.is_much(spec, true) {
            self.compact();
        }
        if self.is_too_much(spec, taken.behind)
            || (self.is_handy(spec, taken.behind) && self.pieces.has_room().await?)
        {
            self.send(spec, taken.commit_lsn).await?;
        }
        Ok(())
    }

    /// What is gathered is sent in any case.
    fn is_too_much(&self, spec: &StreamSpec, behind: bool) -> bool {
        let largest = match self.rows / self.most(spec, behind) {
            0 => self.largest(),
            1 => self.largest_last(),
            // A transaction that is larger than any batch.
            _ => PIECE_OF_LARGE,
        };
        self.pending.changes.len() >= largest || self.pending.bytes >= self.heaviest()
    }

    /// What is gathered is sent if there is room for it.
    fn is_handy(&self, spec: &StreamSpec, behind: bool) -> bool {
        let smallest = if behind { self.largest() } else { PIECE };
        self.rows < self.most(spec, behind) && self.pending.changes.len().is_multiple_of(smallest)
    }

    /// Makes room for more by what need not be kept, if that is much.
    fn compact(&mut self) {
        let before = self.pending.changes.len();
        self.dense = !self.pending.compact();
        let left = self.pending.changes.len();
        let dropped = u64::try_from(before - left).unwrap_or(u64::MAX);
        self.rows = self.rows.saturating_sub(dropped);
        self.busy |= !self.dense;
    }

    /// Whether the second lane has applied the change in an earlier run.
    fn is_applied(&self, change: &RowChange, commit_lsn: Lsn) -> bool {
        self.second.is_some_and(|second| commit_lsn < second) && change.lane() == ApplyLane::Second
    }

    /// One of its changes depends on when a row was read: no session may have it without the other.
    pub(super) fn keep_together(&mut self) {
        self.whole = false;
    }

    /// Copies a row that is too large to be held, behind everything that was taken before.
    pub(super) async fn copy(
        &mut self,
        spec: &StreamSpec,
        rows: &mut RecopiedRows,
        table: usize,
        key: &str,
        taken: ChangeArrival,
    ) -> Result<(), StepError> {
        self.begin(spec).await?;
        self.keep_together();
        if !self.pending.changes.is_empty() {
            self.send(spec, taken.commit_lsn).await?;
        }
        let moved = &spec.tables[table];
        let session = self.pieces.session().await?;
        rows.copy(spec, table, key, session).await?;
        if taken.dirty && !moved.is_reference() {
            let keys = [(moved.table.to_string(), key.to_owned())];
            apply_progress::mark_dirty(session, &spec.token, &keys, taken.commit_lsn).await?;
        }
        self.since.get_or_insert_with(Instant::now);
        self.rows += 1;
        self.moving += u64::from(!moved.is_reference());
        Ok(())
    }

    /// The source transaction is complete.
    pub(super) fn end_transaction(&mut self, spec: &StreamSpec, end: Lsn, rows: u64, opened: bool) {
        if self.second.is_some_and(|second| end <= second) {
            // It has been shared before.
            self.whole = false;
        }
        self.transactions += 1;
        if !self.dense && self.would_be_split(spec) {
            self.compact();
        }
        self.next.lsn = end;
        self.next.opened |= opened;
        self.next.transactions += 1;
        self.next.changes += i64::try_from(rows).unwrap_or(i64::MAX);
    }

    /// Nothing of interest lies before `lsn`: the progress may jump there.
    pub(super) fn skip_to(&mut self, lsn: Lsn) {
        self.next.lsn = self.next.lsn.max(lsn);
    }

    /// Lets this batch commit behind what was given before, while the next is gathered. The batch before it is durable
    /// by then.
    pub(super) async fn seal(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.open {
            return self.commit(spec).await;
        }
        let piece = self.close(spec);
        self.pieces.start(spec, piece, self.next.lsn).await?;
        self.settle_sealed(1).await
    }

    /// Whether every row that was taken is durable, and what is left to write down is how far that is.
    pub(super) async fn has_no_rows(&mut self) -> Result<bool, StepError> {
        self.settle_sealed(0).await?;
        Ok(!self.open && self.next.opened == self.progress.opened)
    }

    /// Commits everything, synchronously, with the progress that it makes.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        self.settle_sealed(0).await?;
        if self.is_empty() {
            return Ok(());
        }
        if self.open {
            let piece = self.close(spec);
            self.pieces.finish(spec, piece, self.next.lsn).await?;
            return self.settle_sealed(0).await;
        }
        // No row has come: a marker, or log that holds nothing for this stream.
        let session = self.pieces.settle().await?.session();
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        apply_progress::commit(session, &spec.token, spec.direction, self.next).await?;
        self.progress = self.next;
        self.untold += std::mem::take(&mut self.moving);
        self.start_over();
        Ok(())
    }

    /// The last piece of this batch; what comes from now on is of the next.
    fn close(&mut self, spec: &StreamSpec) -> ChangePiece {
        let (done, committed) = oneshot::channel();
        let shared = self.may_be_shared(spec);
        self.sealed.push_back(SealedBatch {
            progress: self.next,
            moving: std::mem::take(&mut self.moving),
            committed,
        });
        self.open = false;
        self.start_over();
        ChangePiece {
            ends: Some((self.next, done)),
            shared,
            ..std::mem::take(&mut self.pending)
        }
    }

    fn start_over(&mut self) {
        self.rows = 0;
        self.transactions = 0;
        self.since = None;
        self.whole = true;
        self.busy = false;
        self.dense = false;
    }

    /// Waits until all batches that commit are durable, but for the last `but` of them.
    async fn settle_sealed(&mut self, but: usize) -> Result<(), StepError> {
        while self.sealed.len() > but
            && let Some(sealed) = self.sealed.front_mut()
        {
            if (&mut sealed.committed).await.is_err() {
                // It has failed, and says why.
                self.pieces.settle().await?;
            }
            self.progress = sealed.progress;
            self.untold += sealed.moving;
            self.sealed.pop_front();
        }
        Ok(())
    }

    /// Has what was gathered executed, after what was sent before.
    async fn send(&mut self, spec: &StreamSpec, commit_lsn: Lsn) -> Result<(), StepError> {
        self.begin(spec).await?;
        self.whole = false;
        let piece = std::mem::take(&mut self.pending);
        self.pieces.start(spec, piece, commit_lsn).await
    }

    /// Opens the transaction; nobody waits for the answer.
    async fn begin(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.open {
            self.pieces.begin(spec).await?;
            self.open = true;
        }
        Ok(())
    }
}
