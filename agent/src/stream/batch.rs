//! A batch: whole source transactions that become one transaction on the destination.
//!
//! Its changes are executed in pieces. While the server works on one, the next is gathered; so pieces grow with what
//! the stream has to tell, and changes of the same rows meet in them.

use std::time::Duration;

use plans::names::Direction;
use tokio::time::Instant;

use super::StreamSpec;
use super::lane::{Lane, Piece};
use crate::error::StepError;
use crate::pg::apply::{Applier, Executor, RowChange};
use crate::pg::epoch;
use crate::pg::lsn::Lsn;
use crate::pg::marker::Marker;
use crate::pg::progress::{self, Progress};

/// Changes that are sent to the destination at once, if it has nothing else to do.
const PIECE: usize = 500;
/// So many are sent in any case, as soon as it has done what it was sent before.
const LARGEST_PIECE: usize = 10_000;
/// The same in bytes: memory does not grow with the size of rows.
const HEAVIEST_PIECE: usize = 4 << 20;
/// Changes after which a batch is closed at the next commit.
const FULL: u64 = 20_000;
/// The same while commits wait for it.
const FULL_PROMPT: u64 = 2000;
/// How long a batch waits for more before it commits: each costs both servers the same, however little it holds.
const LINGER: Duration = Duration::from_millis(20);
/// An older one goes on for as long as changes follow each other more closely than this.
const GAP: Duration = Duration::from_millis(2);
/// A batch that has been gathered for so long is closed at the next commit.
const OLD: Duration = Duration::from_millis(200);

/// The destination's side of a stream.
pub(super) struct Batch {
    lane: Lane,
    applier: Applier,
    /// Durable progress.
    pub(super) progress: Progress,
    /// Whether a transaction is open on the destination.
    open: bool,
    pending: Piece,
    /// What the progress will be once this batch commits.
    next: Progress,
    rows: u64,
    /// When its first change came.
    since: Option<Instant>,
    /// Those of its rows that are of moving tables, not of reference tables.
    moving: u64,
    /// Markers whose transactions are in this batch, with the rows before each.
    pub(super) markers: Vec<(Marker, u64)>,
}

impl Batch {
    pub(super) fn new(executor: Executor, applier: Applier, progress: Progress) -> Self {
        Self {
            lane: Lane::Idle(Box::new(executor)),
            applier,
            progress,
            open: false,
            pending: Piece::default(),
            next: progress,
            rows: 0,
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

    /// It should be closed at the next commit.
    pub(super) fn is_full(&self, spec: &StreamSpec) -> bool {
        let full = if spec.dual_write.is_some() {
            FULL_PROMPT
        } else {
            FULL
        };
        self.rows >= full || self.since.is_some_and(|since| since.elapsed() >= OLD)
    }

    /// When it is to be committed if nothing more comes.
    pub(super) fn due(&self) -> Instant {
        let now = Instant::now();
        (self.since.unwrap_or(now) + LINGER).max(now + GAP)
    }

    /// Moving rows in this batch so far.
    pub(super) fn moving(&self) -> u64 {
        self.moving
    }

    /// Takes a change; sends what is gathered when that is much, so memory does not grow with a
    /// large transaction.
    pub(super) async fn push(
        &mut self,
        spec: &StreamSpec,
        change: RowChange,
        dirty: bool,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let table = &spec.tables[change.table()];
        // Reference tables are written to all the time, also inside the cutover: they are never dirty.
        if dirty && !table.is_reference() {
            let relation = table.table.to_string();
            let keys = change.keys().into_iter();
            let keys = keys.map(|key| (relation.clone(), key));
            self.pending.dirty.extend(keys);
        }
        self.begin(spec).await?;
        self.since.get_or_insert_with(Instant::now);
        self.rows += 1;
        self.moving += u64::from(!table.is_reference());
        self.pending.bytes += change.size();
        self.pending.changes.push(change);
        let gathered = self.pending.changes.len();
        let much = gathered >= LARGEST_PIECE || self.pending.bytes >= HEAVIEST_PIECE;
        if much || (gathered.is_multiple_of(PIECE) && self.lane.is_idle().await?) {
            self.send(spec, commit_lsn).await?;
        }
        Ok(())
    }

    /// The source transaction is complete.
    pub(super) fn end_transaction(&mut self, end: Lsn, rows: u64, opened: bool) {
        self.next.lsn = end;
        self.next.opened |= opened;
        self.next.transactions += 1;
        self.next.changes += i64::try_from(rows).unwrap_or(i64::MAX);
    }

    /// Nothing of interest lies before `lsn`: the progress may jump there.
    pub(super) fn skip_to(&mut self, lsn: Lsn) {
        self.next.lsn = self.next.lsn.max(lsn);
    }

    /// Commits everything, synchronously, with the progress that it makes.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if self.is_empty() {
            return Ok(());
        }
        let shard = spec.destination.name.as_str();
        let (lsn, next) = (self.next.lsn, self.next);
        let alone = !self.open;
        if !alone {
            self.pending.progress = Some(next);
            self.send(spec, lsn).await?;
        }
        let session = self.lane.settle().await?.session();
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        if alone {
            // No row has come: a marker, or log that holds nothing for this stream.
            progress::commit(session, &spec.token, spec.direction, next, shard).await?;
        } else {
            let what = format!("shard {shard}: committing applied changes");
            epoch::commit(session, &what).await?;
        }
        self.open = false;
        self.progress = self.next;
        self.rows = 0;
        self.since = None;
        self.moving = 0;
        Ok(())
    }

    /// Has what was gathered executed, after what was sent before.
    async fn send(&mut self, spec: &StreamSpec, commit_lsn: Lsn) -> Result<(), StepError> {
        self.begin(spec).await?;
        let piece = std::mem::take(&mut self.pending);
        self.lane.start(spec, piece, commit_lsn).await
    }

    /// Opens the transaction; nobody waits for the answer.
    async fn begin(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.open {
            self.lane.begin(spec).await?;
            self.open = true;
        }
        Ok(())
    }
}
