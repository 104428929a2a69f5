//! What a run does with each event: whole transactions become batches on the destination.

mod rows;

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use super::batch::{ApplyBatch, ChangeArrival};
use super::feed::EventFeed;
use super::recopy::RecopiedRows;
use super::visible::VisibleRows;
use super::{ParkAt, StreamRequest, StreamState};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{Begin, Change, LogicalMessage, Relation};
use crate::postgres::replication::StreamEvent;
use crate::shard::ddl;
use crate::shard::marker::{Marker, MarkerKind};
use crate::stream::apply::RowChange;

/// An idle stream moves its progress after this much log that holds nothing for it.
const IDLE_BYTES: u64 = 16 << 20;

/// A transaction that arrives so long after its commit, by the origin's clock, has others behind it.
const BEHIND: Duration = Duration::from_millis(500);

/// The transaction that is arriving.
#[derive(Debug)]
struct ArrivingTransaction {
    begin: Begin,
    rows: u64,
    /// Applied before: it is only listened to.
    skip: bool,
    /// The copy may hold some of its changes.
    judge: bool,
    /// It was committed a while ago.
    behind: bool,
    markers: Vec<Marker>,
}

/// Where it is to halt until it is told to go on.
#[derive(Debug)]
pub(super) enum HaltPoint {
    /// Before the next transaction.
    Here,
    /// Before the first transaction that commits at this point or later.
    Before(ParkAt, oneshot::Sender<Lsn>),
}

/// How a run ends without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The marker to stop at is applied.
    Done,
    /// The stream goes on in another mode.
    Again,
}

/// The destination's side of a run.
pub(super) struct StreamRun {
    pub(super) batch: ApplyBatch,
    /// What the copy holds already; `None` once nothing is left to judge.
    pub(super) visible: Option<VisibleRows>,
    /// Rows that are ahead of the stream.
    recopied: RecopiedRows,
    arriving: Option<ArrivingTransaction>,
    /// Position of the last commit that was taken.
    last: Lsn,
}

impl StreamRun {
    pub(super) fn new(batch: ApplyBatch, visible: Option<VisibleRows>) -> Self {
        let last = batch.progress.lsn;
        Self {
            batch,
            visible,
            recopied: RecopiedRows::default(),
            arriving: None,
            last,
        }
    }

    pub(super) fn may_commit(&self) -> bool {
        self.arriving.is_none() && !self.batch.is_empty() && !self.is_ahead()
    }

    /// Whether the batch must stay open, because a row in it is ahead of the stream.
    pub(super) fn is_ahead(&self) -> bool {
        self.recopied.is_ahead()
    }

    /// Tells who holds the stream that nothing is applied from here on.
    pub(super) fn settle(&self, shared: &mut StreamState) {
        if self.arriving.is_none() && !self.is_ahead() {
            shared.settle();
        }
    }

    /// True when the stream has reached its end.
    pub(super) async fn handle(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        event: StreamEvent,
    ) -> Result<bool, StepError> {
        match event {
            StreamEvent::KeepAlive { wal_end } => {
                wrote(shared, wal_end);
                self.idle(shared, feed, wal_end).await?;
                Ok(false)
            }
            StreamEvent::Change {
                wal_end, change, ..
            } => {
                wrote(shared, wal_end);
                self.change(shared, feed, change).await
            }
        }
    }

    async fn change(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        change: Change,
    ) -> Result<bool, StepError> {
        match self.batch.applier_ref().legible(change) {
            Change::Begin(begin) => self.begin(shared, feed, begin).await?,
            Change::Relation(relation) => self.relation(shared, relation).await?,
            Change::Insert { relation, new } => {
                if self.wanted() && !self.held(relation, &new)? {
                    self.insert(shared, relation, new).await?;
                }
            }
            Change::Update { relation, old, new } => {
                if self.wanted() {
                    self.update(shared, relation, old, new).await?;
                }
            }
            Change::Delete { relation, old } => {
                if self.wanted() && !self.held_old(relation, &old)? {
                    let change = self.batch.applier_ref().delete(relation, old)?;
                    self.push(shared, change).await?;
                }
            }
            Change::Truncate { .. } => return Err(truncated()),
            Change::Message(message) => self.message(shared, &message),
            Change::Commit(commit) => return self.end(shared, feed, commit.end_lsn).await,
            Change::Origin { .. } | Change::Type(_) => {}
        }
        Ok(false)
    }

    /// A shape that is not the plan's must be history: both shards have the plan's by now.
    async fn relation(
        &mut self,
        shared: &StreamState,
        relation: Relation,
    ) -> Result<(), StepError> {
        if let Some(table) = self.batch.applier().unlike(&relation)? {
            let (origin, destination) = (&shared.spec.origin, &shared.spec.destination);
            let here = origin.session("shape").await?;
            let there = destination.session("shape").await?;
            let table = &shared.spec.tables[table];
            ddl::check_unchanged(table, &here, &there).await?;
        }
        self.batch.applier().relation(relation)
    }

    async fn begin(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        begin: Begin,
    ) -> Result<(), StepError> {
        while let Ok(request) = shared.requests.try_recv() {
            shared.take(request);
        }
        if self.is_ahead() {
            self.recopied.reach(begin.final_lsn).await;
            // At once: the next row may be ahead again, and so each one after it.
            self.commit(shared, feed).await?;
        }
        // A row that is ahead must not be seen.
        while !self.is_ahead() && halts_before(shared, &begin) {
            self.stay(shared, feed).await?;
        }
        let skip = begin.final_lsn < self.batch.position();
        if !skip {
            self.last = begin.final_lsn;
        }
        let judge = self
            .visible
            .as_ref()
            .is_some_and(|visible| visible.reaches(begin.final_lsn));
        if !judge && !skip {
            self.visible = None;
        }
        self.arriving = Some(ArrivingTransaction {
            skip,
            judge,
            behind: begin.age() > BEHIND,
            begin,
            rows: 0,
            markers: Vec::new(),
        });
        Ok(())
    }

    /// Commits what was taken, answers who asked to park here, and waits for the next request.
    async fn stay(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
    ) -> Result<(), StepError> {
        self.settle(shared);
        self.commit(shared, feed).await?;
        if let Some(HaltPoint::Before(_, parked)) = shared.halt.replace(HaltPoint::Here) {
            let _ = parked.send(self.last);
        }
        match shared.requests.recv().await {
            Some(request) => shared.take(request),
            None => shared.halt = None,
        }
        Ok(())
    }

    /// Whether changes that arrive now are to be applied. Before the open marker the shard that a
    /// stream back, or again, reads from was closed: all that arrives from that time was ours (C11).
    fn wanted(&self) -> bool {
        let skip = self.arriving.as_ref().is_none_or(|tx| tx.skip);
        !skip && self.batch.progress.opened
    }

    async fn push(&mut self, shared: &StreamState, change: RowChange) -> Result<(), StepError> {
        match self.taken(shared) {
            Some(taken) => self.batch.push(&shared.spec, change, taken).await,
            None => Ok(()),
        }
    }

    /// Counts a change of the transaction that is arriving, and says how it came.
    fn taken(&mut self, shared: &StreamState) -> Option<ChangeArrival> {
        let arriving = self.arriving.as_mut()?;
        arriving.rows += 1;
        Some(ChangeArrival {
            dirty: shared.commands.record_dirty.load(Ordering::SeqCst),
            behind: arriving.behind,
            commit_lsn: arriving.begin.final_lsn,
        })
    }

    fn message(&mut self, shared: &StreamState, message: &LogicalMessage) {
        let marker = Marker::parse(&message.prefix, &message.content);
        let ours = marker.filter(|m| m.migration == shared.spec.token.migration.0);
        if let (Some(marker), Some(arriving), true) =
            (ours, self.arriving.as_mut(), message.transactional)
        {
            arriving.markers.push(marker);
        }
    }

    async fn end(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        end: Lsn,
    ) -> Result<bool, StepError> {
        let Some(arriving) = self.arriving.take() else {
            return Ok(false);
        };
        if arriving.skip {
            return Ok(false);
        }
        let opened = arriving
            .markers
            .iter()
            .any(|marker| marker.kind == MarkerKind::Opened);
        self.batch
            .end_transaction(&shared.spec, end, arriving.rows, opened);
        let before = shared.publish.borrow().applied + self.batch.moving();
        self.batch
            .markers
            .extend(arriving.markers.into_iter().map(|marker| (marker, before)));
        let full = self.batch.is_full(&shared.spec, arriving.behind);
        let prompt = shared.spec.dual_write.is_some();
        let marked = !self.batch.markers.is_empty();
        if marked && feed.waits_for_progress() && self.is_drained(shared).await? {
            self.tell(shared, feed);
        } else if marked || (full && prompt) {
            self.commit(shared, feed).await?;
        } else if full && !self.is_ahead() {
            self.batch.seal(&shared.spec).await?;
            self.tell(shared, feed);
        }
        Ok(shared
            .stop_at
            .is_some_and(|id| shared.publish.borrow().markers.contains_key(&id)))
    }

    /// Whether a marker that has come lies behind nothing that is to be written, so that who waits for it need not wait
    /// until the progress has passed it: that is written behind it.
    ///
    /// Only a cutover is in such a hurry, and it is not so where commits wait for the progress.
    async fn is_drained(&mut self, shared: &StreamState) -> Result<bool, StepError> {
        let hurried = shared.commands.hurry.load(Ordering::SeqCst);
        if !hurried || shared.spec.dual_write.is_some() || self.is_ahead() {
            return Ok(false);
        }
        self.batch.has_no_rows().await
    }

    pub(super) async fn commit(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
    ) -> Result<(), StepError> {
        if self.is_ahead() {
            return Ok(());
        }
        self.batch.commit(&shared.spec).await?;
        self.tell(shared, feed);
        Ok(())
    }

    /// Tells the slot, and whoever waits, what is durable.
    fn tell(&mut self, shared: &mut StreamState, feed: &mut EventFeed) {
        let (moving, progress) = (self.batch.told(), self.batch.progress);
        feed.confirm(progress.lsn);
        let markers = std::mem::take(&mut self.batch.markers);
        shared.publish.send_modify(|seen| {
            seen.applied += moving;
            seen.applied_to(progress.lsn);
            let lag = seen.written.bytes_since(progress.lsn);
            seen.status.lag_bytes = i64::try_from(lag).unwrap_or(i64::MAX);
            seen.status.transactions = progress.transactions;
            seen.status.changes = progress.changes;
            seen.markers.extend(
                markers
                    .into_iter()
                    .map(|(marker, before)| (marker.id, before)),
            );
        });
    }

    /// Log that holds nothing for this stream need not be kept for it.
    async fn idle(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        wal_end: Lsn,
    ) -> Result<(), StepError> {
        if self.arriving.is_some() || wal_end <= self.batch.position() {
            return Ok(());
        }
        match feed {
            // A commit that holds nothing for us may wait for this position. It is confirmed once the progress
            // is durable (I3), together with whatever else is taken by then.
            EventFeed::Live(_) if shared.spec.dual_write.is_some() => self.batch.skip_to(wal_end),
            // It may be confirmed already: the progress must reach it.
            EventFeed::Spool(_) => self.batch.skip_to(wal_end),
            EventFeed::Live(_) => {
                if !self.batch.is_empty() {
                    return Ok(());
                }
                shared.publish.send_if_modified(|seen| {
                    seen.applied_to(wal_end);
                    false
                });
                if wal_end.bytes_since(self.batch.progress.lsn) > IDLE_BYTES {
                    self.batch.skip_to(wal_end);
                    self.commit(shared, feed).await?;
                }
            }
        }
        Ok(())
    }
}

/// The origin's log is known to reach at least there.
fn wrote(shared: &StreamState, wal_end: Lsn) {
    shared.publish.send_if_modified(|seen| {
        seen.wrote(wal_end);
        false
    });
}

fn halts_before(shared: &StreamState, begin: &Begin) -> bool {
    match &shared.halt {
        None => false,
        Some(HaltPoint::Here) => true,
        Some(HaltPoint::Before(at, _)) => begin.final_lsn >= at.before,
    }
}

/// Takes one request; `None` when nobody can send one any more.
pub(super) fn took(shared: &mut StreamState, request: Option<StreamRequest>) -> Option<()> {
    shared.take(request?);
    Some(())
}

fn truncated() -> StepError {
    StepError::refused(
        "capture.truncate",
        "a moving table was truncated on the source",
        "`abort` it; its TRUNCATE guard was bypassed",
    )
}
