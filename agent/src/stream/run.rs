//! One run of a stream: from its durable progress until it is told to stop or something fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plans::names::Direction;
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use super::batch::Batch;
use super::{Ask, Seen, StreamSpec};
use crate::error::{At, StepError};
use crate::pg::apply::{Applier, RowChange};
use crate::pg::decode::{Begin, Change, Message};
use crate::pg::lsn::Lsn;
use crate::pg::marker::{Kind, Marker};
use crate::pg::progress;
use crate::pg::replication::{ChangeStream, StreamEvent, StreamStart};

/// How long a batch waits for more before it commits.
const LINGER: Duration = Duration::from_millis(2);
/// An idle stream moves its progress after this much log that holds nothing for it.
const IDLE_BYTES: u64 = 16 << 20;

/// The transaction that is arriving.
#[derive(Debug)]
struct Arriving {
    begin: Begin,
    rows: u64,
    /// Applied before: it is only listened to.
    skip: bool,
    markers: Vec<Marker>,
}

/// Where it is to halt until it is told to go on.
#[derive(Debug)]
enum Halt {
    /// Before the next transaction.
    Here,
    /// Before the first transaction that commits at this position or later.
    Before(Lsn, oneshot::Sender<Lsn>),
}

/// The state of one run.
struct Run<'a> {
    spec: &'a StreamSpec,
    publish: &'a watch::Sender<Seen>,
    record_dirty: &'a AtomicBool,
    stream: ChangeStream,
    batch: Batch,
    arriving: Option<Arriving>,
    halt: Option<Halt>,
    /// Position of the last commit that was taken.
    last: Lsn,
    stop_at: &'a mut Option<Uuid>,
    /// How far the origin's log is known to reach.
    written: Lsn,
}

/// Runs until [`Ask::StopAt`] is fulfilled (`Ok`) or something fails.
pub(super) async fn run(
    spec: &StreamSpec,
    publish: &watch::Sender<Seen>,
    asks: &mut mpsc::UnboundedReceiver<Ask>,
    record_dirty: &AtomicBool,
    stop_at: &mut Option<Uuid>,
) -> Result<(), StepError> {
    let mut run = open(spec, publish, record_dirty, stop_at).await?;
    loop {
        tokio::select! {
            biased;
            ask = asks.recv() => match ask {
                Some(ask) => run.take(ask),
                None => return Ok(()),
            },
            event = run.stream.next() => {
                let event = event.at(format_args!("shard {}: reading changes", spec.origin.name))?;
                if run.handle(event, asks).await? {
                    // The apply session ends here; the last report to the slot may take its time.
                    tokio::spawn(run.stream.close());
                    return Ok(());
                }
            }
            () = tokio::time::sleep(LINGER), if run.may_commit() => run.commit().await?,
        }
    }
}

async fn open<'a>(
    spec: &'a StreamSpec,
    publish: &'a watch::Sender<Seen>,
    record_dirty: &'a AtomicBool,
    stop_at: &'a mut Option<Uuid>,
) -> Result<Run<'a>, StepError> {
    let shard = spec.destination.name.as_str();
    let session = spec.destination.replica_session("apply").await?;
    let progress = progress::read(&session, &spec.token, spec.direction, shard).await?;
    let progress = progress.ok_or_else(|| {
        StepError::refused(
            "stream.progress",
            format!(
                "shard {shard}: the {} stream has no progress row",
                spec.direction
            ),
            "abort the migration and plan it again",
        )
    })?;
    let applier = Applier::prepare(&session, &spec.tables, shard).await?;
    let start = StreamStart {
        slot: spec.token.migration.slot(spec.direction),
        publication: spec.token.migration.publication(spec.direction),
        start: progress.lsn,
        system: spec.system,
    };
    let name = spec.origin.application_name("capture");
    let stream = ChangeStream::open(&spec.origin.dsn, &name, &start)
        .await
        .at(format_args!(
            "shard {}: opening the change stream",
            spec.origin.name
        ))?;
    Ok(Run {
        spec,
        publish,
        record_dirty,
        stream,
        batch: Batch::new(session, applier, progress),
        arriving: None,
        halt: None,
        last: progress.lsn,
        stop_at,
        written: progress.lsn,
    })
}

impl Run<'_> {
    fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Hold => self.halt = Some(Halt::Here),
            Ask::Park { before, parked } => self.halt = Some(Halt::Before(before, parked)),
            Ask::Resume => self.halt = None,
            Ask::StopAt(marker) => *self.stop_at = Some(marker),
        }
    }

    fn may_commit(&self) -> bool {
        self.arriving.is_none() && !self.batch.is_empty()
    }

    /// True when the stream has reached its end.
    async fn handle(
        &mut self,
        event: StreamEvent,
        asks: &mut mpsc::UnboundedReceiver<Ask>,
    ) -> Result<bool, StepError> {
        match event {
            StreamEvent::KeepAlive { wal_end } => {
                self.written = self.written.max(wal_end);
                self.idle(wal_end).await?;
                Ok(false)
            }
            StreamEvent::Change {
                wal_end, change, ..
            } => {
                self.written = self.written.max(wal_end);
                self.change(change, asks).await
            }
        }
    }

    async fn change(
        &mut self,
        change: Change,
        asks: &mut mpsc::UnboundedReceiver<Ask>,
    ) -> Result<bool, StepError> {
        match change {
            Change::Begin(begin) => self.begin(begin, asks).await?,
            Change::Relation(relation) => self.batch.applier().relation(relation)?,
            Change::Insert { relation, new } => {
                if self.wanted() {
                    let change = self.batch.applier().insert(relation, &new)?;
                    self.push(change).await?;
                }
            }
            Change::Update { relation, old, new } => {
                if self.wanted() {
                    let change = self.batch.applier().update(relation, &old, &new)?;
                    self.push(change).await?;
                }
            }
            Change::Delete { relation, old } => {
                if self.wanted() {
                    let change = self.batch.applier().delete(relation, &old)?;
                    self.push(change).await?;
                }
            }
            Change::Truncate { .. } => return Err(truncated()),
            Change::Message(message) => self.message(&message),
            Change::Commit(commit) => return self.end(commit.end_lsn).await,
            Change::Origin { .. } | Change::Type(_) => {}
        }
        Ok(false)
    }

    async fn begin(
        &mut self,
        begin: Begin,
        asks: &mut mpsc::UnboundedReceiver<Ask>,
    ) -> Result<(), StepError> {
        while let Ok(ask) = asks.try_recv() {
            self.take(ask);
        }
        while self.halts_before(&begin) {
            self.stay(asks).await?;
        }
        let skip = begin.final_lsn < self.batch.progress.lsn;
        if !skip {
            self.last = begin.final_lsn;
        }
        self.arriving = Some(Arriving {
            skip,
            begin,
            rows: 0,
            markers: Vec::new(),
        });
        Ok(())
    }

    fn halts_before(&self, begin: &Begin) -> bool {
        match &self.halt {
            None => false,
            Some(Halt::Here) => true,
            Some(Halt::Before(before, _)) => begin.final_lsn >= *before,
        }
    }

    /// Commits what was taken, answers who asked to park here, and waits for the next ask.
    async fn stay(&mut self, asks: &mut mpsc::UnboundedReceiver<Ask>) -> Result<(), StepError> {
        self.commit().await?;
        if let Some(Halt::Before(_, parked)) = self.halt.replace(Halt::Here) {
            let _ = parked.send(self.last);
        }
        match asks.recv().await {
            Some(ask) => self.take(ask),
            None => self.halt = None,
        }
        Ok(())
    }

    /// Whether changes that arrive now are to be applied. Before the open marker the shard that a
    /// reverse stream reads from was closed: all that arrives from that time was ours (C11).
    fn wanted(&self) -> bool {
        let skip = self.arriving.as_ref().is_none_or(|tx| tx.skip);
        let opened = self.spec.direction == Direction::Forward || self.batch.progress.opened;
        !skip && opened
    }

    async fn push(&mut self, change: RowChange) -> Result<(), StepError> {
        let Some(arriving) = self.arriving.as_mut() else {
            return Ok(());
        };
        arriving.rows += 1;
        let lsn = arriving.begin.final_lsn;
        let dirty = self.record_dirty.load(Ordering::SeqCst);
        self.batch.push(self.spec, change, dirty, lsn).await
    }

    fn message(&mut self, message: &Message) {
        let marker = Marker::parse(&message.prefix, &message.content);
        let ours = marker.filter(|m| m.migration == self.spec.token.migration.0);
        if let (Some(marker), Some(arriving), true) =
            (ours, self.arriving.as_mut(), message.transactional)
        {
            arriving.markers.push(marker);
        }
    }

    async fn end(&mut self, end: Lsn) -> Result<bool, StepError> {
        let Some(arriving) = self.arriving.take() else {
            return Ok(false);
        };
        if arriving.skip {
            return Ok(false);
        }
        let opened = arriving
            .markers
            .iter()
            .any(|marker| marker.kind == Kind::Opened);
        self.batch.end_transaction(end, arriving.rows, opened);
        let before = self.publish.borrow().applied + self.batch.moving();
        let marked = !arriving.markers.is_empty();
        self.batch
            .markers
            .extend(arriving.markers.into_iter().map(|marker| (marker, before)));
        if marked || self.batch.is_full() {
            self.commit().await?;
        }
        Ok(self
            .stop_at
            .is_some_and(|id| self.publish.borrow().markers.contains_key(&id)))
    }

    async fn commit(&mut self) -> Result<(), StepError> {
        let moving = self.batch.moving();
        self.batch.commit(self.spec).await?;
        let progress = self.batch.progress;
        self.stream.confirm(progress.lsn);
        let markers = std::mem::take(&mut self.batch.markers);
        let lag = self.written.bytes_since(progress.lsn);
        self.publish.send_modify(|seen| {
            seen.applied += moving;
            seen.status.lag_bytes = i64::try_from(lag).unwrap_or(i64::MAX);
            seen.status.transactions = progress.transactions;
            seen.status.changes = progress.changes;
            seen.markers.extend(
                markers
                    .into_iter()
                    .map(|(marker, before)| (marker.id, before)),
            );
        });
        Ok(())
    }

    /// Log that holds nothing for this stream need not be kept for it.
    async fn idle(&mut self, wal_end: Lsn) -> Result<(), StepError> {
        let nothing_pending = self.arriving.is_none() && self.batch.is_empty();
        if nothing_pending && wal_end.bytes_since(self.batch.progress.lsn) > IDLE_BYTES {
            self.batch.skip_to(wal_end);
            self.commit().await?;
        }
        Ok(())
    }
}

fn truncated() -> StepError {
    StepError::refused(
        "capture.truncate",
        "a moving table was truncated on the source",
        "abort the migration; its TRUNCATE guard was bypassed",
    )
}
