//! Handles each event of a change stream: whole transactions become batches on the downstream shard.

mod rows;

use std::sync::atomic::Ordering;
use std::time::Duration;

use plans::failure::StepCode;

use super::StreamRequest;
use super::batch::{ApplyBatch, ChangeArrival};
use super::feed::EventFeed;
use super::recopy::RecopiedRows;
use super::state::{PausePoint, StreamState};
use super::visible::VisibleRows;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{Begin, Change, LogicalMessage, Relation};
use crate::postgres::replication::StreamEvent;
use crate::shard::ddl;
use crate::shard::marker::{Marker, MarkerKind};
use crate::stream::apply::RowChange;

/// An idle stream advances its durable progress when it has passed this many bytes of WAL without a change for it.
const IDLE_BYTES: u64 = 16 << 20;

/// If a transaction arrives this long after its commit, by the clock of the upstream shard, the stream is assumed to
/// lag.
const LAGGING_AGE: Duration = Duration::from_millis(500);

/// The transaction that is arriving.
#[derive(Debug)]
struct ArrivingTransaction {
    begin: Begin,
    change_count: u64,
    /// The transaction was applied before: its changes are ignored.
    already_applied: bool,
    /// The copy may already contain some of its changes.
    check_copied: bool,
    /// The stream lags: the transaction committed some time ago.
    lagging: bool,
    markers: Vec<Marker>,
}

/// The state of a run: the batch, and the rows that need special treatment.
pub(super) struct StreamRun {
    pub(super) batch: ApplyBatch,
    /// The rows that the copy already contains; `None` when every later change must be applied.
    pub(super) visible_rows: Option<VisibleRows>,
    /// Rows that were read again on the upstream shard, in a state that the stream has not reached yet.
    recopied: RecopiedRows,
    arriving: Option<ArrivingTransaction>,
    /// The position of the last commit that was added to a batch.
    last_commit: Lsn,
}

impl StreamRun {
    pub(super) fn new(batch: ApplyBatch, visible_rows: Option<VisibleRows>) -> Self {
        let last_commit = batch.progress.lsn;
        Self {
            batch,
            visible_rows,
            recopied: RecopiedRows::default(),
            arriving: None,
            last_commit,
        }
    }

    /// Returns whether the batch can be committed: it has changes, no transaction is arriving, and no row is ahead of
    /// the stream.
    pub(super) fn can_commit(&self) -> bool {
        self.arriving.is_none() && !self.batch.is_empty() && !self.has_row_ahead()
    }

    /// Returns whether the batch must stay open because a row in it is ahead of the stream.
    pub(super) fn has_row_ahead(&self) -> bool {
        self.recopied.has_row_ahead()
    }

    /// Notifies the callers of `hold` if no transaction is arriving and no row is ahead: nothing more is applied
    /// then.
    pub(super) fn answer_pauses_if_idle(&self, shared: &mut StreamState) {
        if self.arriving.is_none() && !self.has_row_ahead() {
            shared.answer_pauses();
        }
    }

    /// Handles one event. Returns true when the stream has reached the marker to stop at.
    pub(super) async fn handle_event(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        event: StreamEvent,
    ) -> Result<bool, StepError> {
        match event {
            StreamEvent::KeepAlive { wal_end } => {
                note_wal_end(shared, wal_end);
                self.advance_idle(shared, feed, wal_end).await?;
                Ok(false)
            }
            StreamEvent::Change {
                wal_end, change, ..
            } => {
                note_wal_end(shared, wal_end);
                self.handle_change(shared, feed, change).await
            }
        }
    }

    async fn handle_change(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        change: Change,
    ) -> Result<bool, StepError> {
        match self.batch.applier().with_key_text(change) {
            Change::Begin(begin) => self.handle_begin(shared, feed, begin).await?,
            Change::Relation(relation) => self.handle_relation(shared, relation).await?,
            Change::Insert { relation, new } => {
                if self.must_apply() && !self.is_in_copy(relation, &new)? {
                    self.insert_row(shared, relation, new).await?;
                }
            }
            Change::Update { relation, old, new } => {
                if self.must_apply() {
                    self.update_row(shared, relation, old, new).await?;
                }
            }
            Change::Delete { relation, old } => {
                if self.must_apply() && !self.is_old_row_in_copy(relation, &old)? {
                    let change = self.batch.applier().delete(relation, old)?;
                    self.add_change(shared, change).await?;
                }
            }
            Change::Truncate { .. } => return Err(truncated_error(&shared.spec.upstream.name)),
            Change::Message(message) => self.handle_message(shared, &message),
            Change::Commit(commit) => {
                return self.handle_commit(shared, feed, commit.end_lsn).await;
            }
            Change::Origin { .. } | Change::Type(_) => {}
        }
        Ok(false)
    }

    /// Handles a Relation message. Columns that differ from the plan are accepted only if they are those of the past:
    /// both shards must have the columns of the plan now.
    async fn handle_relation(
        &mut self,
        shared: &StreamState,
        relation: Relation,
    ) -> Result<(), StepError> {
        if let Some(table) = self
            .batch
            .applier_mut()
            .table_with_other_columns(&relation)?
        {
            let (upstream, downstream) = (&shared.spec.upstream, &shared.spec.downstream);
            let upstream_session = upstream.session("shape").await?;
            let downstream_session = downstream.session("shape").await?;
            let table = &shared.spec.tables[table];
            ddl::check_unchanged(table, &upstream_session, &downstream_session).await?;
        }
        self.batch.applier_mut().set_relation(relation)
    }

    async fn handle_begin(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        begin: Begin,
    ) -> Result<(), StepError> {
        while let Ok(request) = shared.requests.try_recv() {
            shared.accept(request);
        }
        if self.has_row_ahead() {
            self.recopied.drop_rows_reached_by(begin.final_lsn).await;
            // Commit now: the rows of the next transaction may be ahead as well, and so the rows of each later one.
            self.commit(shared, feed).await?;
        }
        // A row that is ahead must not become visible.
        while !self.has_row_ahead() && must_pause_before(shared, &begin) {
            self.pause_until_request(shared, feed).await?;
        }
        let already_applied = begin.final_lsn < self.batch.position();
        if !already_applied {
            self.last_commit = begin.final_lsn;
        }
        let check_copied = self
            .visible_rows
            .as_ref()
            .is_some_and(|visible_rows| visible_rows.may_contain_commit(begin.final_lsn));
        if !check_copied && !already_applied {
            self.visible_rows = None;
        }
        self.arriving = Some(ArrivingTransaction {
            already_applied,
            check_copied,
            lagging: begin.age() > LAGGING_AGE,
            begin,
            change_count: 0,
            markers: Vec::new(),
        });
        Ok(())
    }

    /// Commits the batch, answers a request to park here, and waits for the next request.
    async fn pause_until_request(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
    ) -> Result<(), StepError> {
        self.answer_pauses_if_idle(shared);
        self.commit(shared, feed).await?;
        if let Some(PausePoint::BeforeCommit(_, parked)) =
            shared.pause.replace(PausePoint::BeforeNext)
        {
            let _ = parked.send(self.last_commit);
        }
        match shared.requests.recv().await {
            Some(request) => shared.accept(request),
            None => shared.pause = None,
        }
        Ok(())
    }

    /// Whether arriving changes must be applied. The upstream shard of a stream that starts after a flip was closed
    /// until the open marker: everything that arrives before that marker was written by Shardwright itself, and is
    /// ignored (C11).
    fn must_apply(&self) -> bool {
        let already_applied = self.arriving.as_ref().is_none_or(|tx| tx.already_applied);
        !already_applied && self.batch.progress.opened
    }

    async fn add_change(
        &mut self,
        shared: &StreamState,
        change: RowChange,
    ) -> Result<(), StepError> {
        match self.count_change(shared) {
            Some(arrival) => self.batch.add_change(&shared.spec, change, arrival).await,
            None => Ok(()),
        }
    }

    /// Counts a change of the arriving transaction; returns the circumstances of its arrival.
    fn count_change(&mut self, shared: &StreamState) -> Option<ChangeArrival> {
        let arriving = self.arriving.as_mut()?;
        arriving.change_count += 1;
        Some(ChangeArrival {
            dirty: shared.commands.record_dirty.load(Ordering::SeqCst),
            lagging: arriving.lagging,
            commit_lsn: arriving.begin.final_lsn,
        })
    }

    fn handle_message(&mut self, shared: &StreamState, message: &LogicalMessage) {
        let marker = Marker::parse(&message.prefix, &message.content);
        let own_marker = marker.filter(|m| m.migration == shared.spec.token.migration);
        if let (Some(marker), Some(arriving), true) =
            (own_marker, self.arriving.as_mut(), message.transactional)
        {
            arriving.markers.push(marker);
        }
    }

    async fn handle_commit(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        end: Lsn,
    ) -> Result<bool, StepError> {
        let Some(arriving) = self.arriving.take() else {
            return Ok(false);
        };
        if arriving.already_applied {
            return Ok(false);
        }
        let opened = arriving
            .markers
            .iter()
            .any(|marker| marker.kind == MarkerKind::Opened);
        self.batch
            .end_transaction(&shared.spec, end, arriving.change_count, opened);
        let before = shared.publish.borrow().applied_rows + self.batch.unpublished_moving_rows();
        self.batch
            .markers
            .extend(arriving.markers.into_iter().map(|marker| (marker, before)));
        let full = self.batch.is_full(&shared.spec, arriving.lagging);
        let is_synchronous = shared.spec.dual_write.is_some();
        let marked = !self.batch.markers.is_empty();
        if marked
            && feed.confirms_progress_only()
            && self.has_only_progress_to_write(shared).await?
        {
            self.publish_progress(shared, feed);
        } else if marked || (full && is_synchronous) {
            self.commit(shared, feed).await?;
        } else if full && !self.has_row_ahead() {
            self.batch.start_commit(&shared.spec).await?;
            self.publish_progress(shared, feed);
        }
        Ok(shared
            .stop_at
            .is_some_and(|id| shared.publish.borrow().applied_markers.contains_key(&id)))
    }

    /// Whether no row before the marker is still to be written. Then the marker can be reported before the progress
    /// passes it.
    ///
    /// Only a cutover needs this. It is not done if commits wait for the progress.
    async fn has_only_progress_to_write(
        &mut self,
        shared: &StreamState,
    ) -> Result<bool, StepError> {
        let prompt = shared.commands.commit_promptly.load(Ordering::SeqCst);
        if !prompt || shared.spec.dual_write.is_some() || self.has_row_ahead() {
            return Ok(false);
        }
        self.batch.has_no_pending_rows().await
    }

    /// Commits the batch, unless a row in it is ahead of the stream.
    pub(super) async fn commit(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
    ) -> Result<(), StepError> {
        if self.has_row_ahead() {
            return Ok(());
        }
        self.batch.commit(&shared.spec).await?;
        self.publish_progress(shared, feed);
        Ok(())
    }

    /// Confirms the durable progress to the slot, and publishes it with the applied markers.
    fn publish_progress(&mut self, shared: &mut StreamState, feed: &mut EventFeed) {
        let (moving, progress) = (self.batch.take_unpublished_rows(), self.batch.progress);
        feed.confirm(progress.lsn);
        let markers = std::mem::take(&mut self.batch.markers);
        shared.publish.send_modify(|observation| {
            observation.applied_rows += moving;
            observation.advance_applied_position(progress.lsn);
            let lag = observation.wal_end.bytes_since(progress.lsn);
            observation.status.lag_bytes = i64::try_from(lag).unwrap_or(i64::MAX);
            observation.status.transactions = progress.transactions;
            observation.status.changes = progress.changes;
            observation.applied_markers.extend(
                markers
                    .into_iter()
                    .map(|(marker, before)| (marker.id, before)),
            );
        });
    }

    /// Advances the position of an idle stream, so that the upstream shard need not retain WAL without changes for
    /// it.
    async fn advance_idle(
        &mut self,
        shared: &mut StreamState,
        feed: &mut EventFeed,
        wal_end: Lsn,
    ) -> Result<(), StepError> {
        if self.arriving.is_some() || wal_end <= self.batch.position() {
            return Ok(());
        }
        match feed {
            // A commit without changes for this stream may wait for this position. It is confirmed when the progress
            // is durable (I3), together with the changes that are added until then.
            EventFeed::Live(_) if shared.spec.dual_write.is_some() => {
                self.batch.advance_to(wal_end)
            }
            // The capture may have confirmed this position to the slot already, so the progress must reach it.
            EventFeed::Spool(_) => self.batch.advance_to(wal_end),
            EventFeed::Live(_) => {
                if !self.batch.is_empty() {
                    return Ok(());
                }
                shared.publish.send_if_modified(|observation| {
                    observation.advance_applied_position(wal_end);
                    false
                });
                if wal_end.bytes_since(self.batch.progress.lsn) > IDLE_BYTES {
                    self.batch.advance_to(wal_end);
                    self.commit(shared, feed).await?;
                }
            }
        }
        Ok(())
    }
}

/// Records that the upstream WAL reaches at least to `wal_end`.
fn note_wal_end(shared: &StreamState, wal_end: Lsn) {
    shared.publish.send_if_modified(|observation| {
        observation.advance_wal_end(wal_end);
        false
    });
}

/// Returns whether the stream must pause before this transaction.
fn must_pause_before(shared: &StreamState, begin: &Begin) -> bool {
    match &shared.pause {
        None => false,
        Some(PausePoint::BeforeNext) => true,
        Some(PausePoint::BeforeCommit(at, _)) => begin.final_lsn >= at.before,
    }
}

/// Accepts one request. Returns `None` if the stream has been dropped.
pub(super) fn take_request(shared: &mut StreamState, request: Option<StreamRequest>) -> Option<()> {
    shared.accept(request?);
    Some(())
}

fn truncated_error(shard: &str) -> StepError {
    StepError::refused(
        StepCode::CaptureTruncate,
        format!("shard {shard}: a moving table was truncated"),
        "`abort` the migration; the TRUNCATE guard of the table was bypassed",
    )
}
