//! Handles the events of a change stream: it collects whole transactions in batches, and commits these on the
//! downstream shard.

mod rows;

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plans::failure::StepCode;
use plans::table::TableName;

use super::StreamRequest;
use super::arrival::ChangeArrival;
use super::batch::ApplyBatch;
use super::confirmable::ConfirmablePosition;
use super::copy_snapshots::CopySnapshots;
use super::feed::EventFeed;
use super::recopy::RecopiedRows;
use super::state::{PausePoint, StreamState};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{Begin, Change, LogicalMessage, Relation};
use crate::postgres::replication::StreamEvent;
use crate::schema::follow::relation::with_present_names;
use crate::shard::ddl;
use crate::shard::marker::{Marker, MarkerKind};
use crate::stream::apply::RowChange;

/// A stream without changes advances its durable progress when the upstream shard has written this many bytes of WAL.
const IDLE_BYTES: u64 = 16 << 20;

/// The stream is assumed to lag if a transaction arrives this long after its commit. The time of the commit is from the
/// clock of the upstream shard.
const LAGGING_AGE: Duration = Duration::from_millis(500);

/// The transaction that is arriving.
#[derive(Debug)]
struct ArrivingTransaction {
    begin: Begin,
    change_count: u64,
    /// The transaction was applied before: its changes are ignored.
    already_applied: bool,
    /// The copy may already contain some of its changes, so each of them is checked.
    may_be_in_copy: bool,
    /// The stream lags: the transaction committed some time ago.
    is_lagging: bool,
    markers: Vec<Marker>,
}

/// The state of a run: the batch, the arriving transaction, and what is needed to recognize changes that must not be
/// applied.
pub(super) struct StreamRun {
    pub(super) batch: ApplyBatch,
    /// Decides which changes the copy already contains; `None` when it can contain no further change.
    pub(super) copy_snapshots: Option<CopySnapshots>,
    /// Rows that were read again on the upstream shard, in a state that the stream has not reached yet.
    recopied: RecopiedRows,
    arriving: Option<ArrivingTransaction>,
    /// The part of the progress that may be confirmed to the slot.
    pub(super) confirmable: ConfirmablePosition,
    /// The position of the last commit that was added to a batch.
    last_commit: Lsn,
    /// The OIDs of retired partitions, whose changes are discarded.
    retired: HashSet<u32>,
}

impl StreamRun {
    pub(super) fn new(
        batch: ApplyBatch,
        copy_snapshots: Option<CopySnapshots>,
        confirmable: ConfirmablePosition,
        retired: Vec<u32>,
    ) -> Self {
        let last_commit = batch.progress.lsn;
        Self {
            batch,
            copy_snapshots,
            recopied: RecopiedRows::default(),
            arriving: None,
            confirmable,
            last_commit,
            retired: retired.into_iter().collect(),
        }
    }

    fn are_retired(&self, relations: &[u32]) -> bool {
        relations.iter().all(|id| self.retired.contains(id))
    }

    /// Returns whether the batch can be committed now: something in it is not durable, no transaction is arriving, and
    /// no row is ahead of the stream.
    pub(super) fn can_commit(&self) -> bool {
        self.arriving.is_none() && !self.batch.is_empty() && !self.has_row_ahead()
    }

    /// Returns whether the batch must stay open because a row in it is ahead of the stream.
    pub(super) fn has_row_ahead(&self) -> bool {
        self.recopied.has_row_ahead()
    }

    /// Answers `Pause` requests if no transaction is arriving and no row is ahead: the stream then applies nothing
    /// more.
    pub(super) fn answer_pauses_if_idle(&self, shared: &mut StreamState) {
        if self.arriving.is_none() && !self.has_row_ahead() {
            shared.answer_pauses();
        }
    }

    /// Handles one event. Returns true when the stream has applied the marker after which it ends.
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
        let relation = change.relation_of_row();
        if relation.is_some_and(|relation| self.retired.contains(&relation)) {
            return Ok(false);
        }
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
            Change::Truncate { relations, .. } if self.are_retired(&relations) => {}
            Change::Truncate { .. } => return Err(truncated_error(&shared.spec.upstream.name)),
            Change::Message(message) => self.handle_message(shared, &message),
            Change::Commit(commit) => {
                return self.handle_commit(shared, feed, commit.end_lsn).await;
            }
            Change::Origin { .. } | Change::Type(_) => {}
        }
        Ok(false)
    }

    /// Handles a Relation message. Its columns may differ from the plan only if both shards have the columns of the
    /// plan now: the message then describes an earlier definition.
    async fn handle_relation(
        &mut self,
        shared: &StreamState,
        mut relation: Relation,
    ) -> Result<(), StepError> {
        if self.retired.contains(&relation.id) || is_retired(&shared.spec.retired, &relation) {
            self.retired.insert(relation.id);
            return Ok(());
        }
        if let Some(table) = self
            .batch
            .applier_mut()
            .table_with_changed_columns(&relation)?
        {
            let (upstream, downstream) = (&shared.spec.upstream, &shared.spec.downstream);
            let upstream_session = upstream.session("shape").await?;
            let downstream_session = downstream.session("shape").await?;
            let table = &shared.spec.tables[table];
            let sides = [&upstream_session, &downstream_session];
            if shared.spec.follows_ddl {
                ddl::check_same_columns(table, sides).await?;
                relation = with_present_names(&upstream_session, table, relation).await?;
            } else {
                ddl::check_unchanged(table, &shared.spec.retired, sides).await?;
            }
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
            self.recopied.forget_rows_if_reached(begin.final_lsn).await;
            // The batch is committed now. Otherwise it might never be: rows of each following transaction can be ahead
            // again.
            self.commit(shared, feed).await?;
        }
        // A pause commits the batch, so a stream with a row that is ahead does not pause yet.
        while !self.has_row_ahead() && must_pause_before(shared, &begin) {
            self.pause_until_request(shared, feed).await?;
        }
        let already_applied = begin.final_lsn < self.batch.position();
        if !already_applied {
            self.last_commit = begin.final_lsn;
        }
        let may_be_in_copy = self
            .copy_snapshots
            .as_ref()
            .is_some_and(|snapshots| snapshots.may_contain_transaction(begin.final_lsn));
        if !may_be_in_copy && !already_applied {
            self.copy_snapshots = None;
        }
        self.arriving = Some(ArrivingTransaction {
            already_applied,
            may_be_in_copy,
            is_lagging: begin.age() > LAGGING_AGE,
            begin,
            change_count: 0,
            markers: Vec::new(),
        });
        Ok(())
    }

    /// Commits the batch, answers a `Park` request for this position, and waits for the next request.
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

    /// Returns whether arriving changes must be applied. After a flip, the upstream shard of the new stream was closed
    /// until the open marker: Shardwright itself has written everything before this marker, so the stream ignores it
    /// (C11).
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

    /// Counts a change of the arriving transaction. Returns the circumstances of its arrival; `None` if no transaction
    /// is arriving.
    fn count_change(&mut self, shared: &StreamState) -> Option<ChangeArrival> {
        let arriving = self.arriving.as_mut()?;
        arriving.change_count += 1;
        Some(ChangeArrival {
            records_dirty: shared.settings.record_dirty.load(Ordering::SeqCst),
            is_lagging: arriving.is_lagging,
            may_be_in_copy: arriving.may_be_in_copy,
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
        // A cutover compares the numbers of changed rows before its markers. Which changes of dependent tables count is known
        // when they are executed.
        if !arriving.markers.is_empty() && shared.spec.has_dependents() {
            self.batch.execute_gathered(&shared.spec).await?;
        }
        let rows_before =
            shared.publish.borrow().applied_rows + self.batch.unpublished_moving_rows();
        self.batch.markers.extend(
            arriving
                .markers
                .into_iter()
                .map(|marker| (marker, rows_before)),
        );
        let is_full = self.batch.is_full(&shared.spec, arriving.is_lagging);
        let is_synchronous = shared.spec.dual_write.is_some();
        let has_marker = !self.batch.markers.is_empty();
        if has_marker
            && feed.confirms_progress_only()
            && self.has_only_progress_to_write(shared).await?
        {
            self.publish_progress(shared, feed);
        } else if has_marker || (is_full && is_synchronous) {
            self.commit(shared, feed).await?;
        } else if is_full && !self.has_row_ahead() {
            self.batch.start_commit(&shared.spec).await?;
            self.publish_progress(shared, feed);
        }
        Ok(shared
            .stop_at
            .is_some_and(|id| shared.publish.borrow().applied_markers.contains_key(&id)))
    }

    /// Returns whether every row before the marker is durable. The stream can then report the marker before it commits
    /// the progress (ADR 45).
    ///
    /// This is done only in a cutover, and not under synchronous dual-write, in which commits wait for the progress.
    async fn has_only_progress_to_write(
        &mut self,
        shared: &StreamState,
    ) -> Result<bool, StepError> {
        let is_cutover_near = shared.settings.commit_promptly.load(Ordering::SeqCst);
        if !is_cutover_near || shared.spec.dual_write.is_some() || self.has_row_ahead() {
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

    /// Returns the position before which every added change is durable on the downstream shard and on its standbys
    /// (I3); [`Lsn::ZERO`] while an added change is not durable on the downstream shard.
    pub(super) fn flushed_end(&self) -> Lsn {
        if self.batch.is_empty() {
            self.confirmable.position()
        } else {
            Lsn::ZERO
        }
    }

    /// Publishes the durable progress with the applied markers, and confirms to the slot what the standbys have flushed
    /// of it (I3). Markers and lag do not wait for standbys.
    fn publish_progress(&mut self, shared: &mut StreamState, feed: &mut EventFeed) {
        let (moving, progress) = (self.batch.take_durable_rows(), self.batch.progress);
        self.confirmable.note_durable(progress.lsn);
        feed.confirm(self.confirmable.position());
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

    /// Advances the position of a stream that has received no change up to `wal_end`, so that the upstream shard need
    /// not retain this WAL.
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
            // A commit of other keys may wait until the stream confirms this position. The stream confirms it when the
            // progress is durable (I3), together with the changes that are added until then.
            EventFeed::Slot(_) if shared.spec.dual_write.is_some() => {
                self.batch.advance_to(wal_end)
            }
            // The capture may have confirmed this position to the slot, so the progress must reach it.
            EventFeed::Spool(_) => self.batch.advance_to(wal_end),
            EventFeed::Slot(_) => {
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

/// Accepts a received request. Returns `None` if the stream has been dropped.
pub(super) fn accept_request(
    shared: &mut StreamState,
    request: Option<StreamRequest>,
) -> Option<()> {
    shared.accept(request?);
    Some(())
}

fn is_retired(retired: &[TableName], relation: &Relation) -> bool {
    let is_relation =
        |table: &TableName| table.schema == relation.namespace && table.name == relation.name;
    retired.iter().any(is_relation)
}

fn truncated_error(shard: &str) -> StepError {
    StepError::refused(
        StepCode::CaptureTruncate,
        format!("shard {shard}: a moving table was truncated"),
        "`abort` the migration; a session has bypassed the guard against TRUNCATE",
    )
}
