//! Reads the slot into the spool until it is told to stop; what is durable there is confirmed to the slot, except
//! for the newest part, from which an agent without this spool can go on.

use std::time::Duration;

use plans::table::stream_format;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{StreamObservation, StreamSpec, pause};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ChangeStream, FeedbackMode, RawEvent, StreamStart};
use crate::spool::{DurablePosition, Spool, SpoolWriter};

/// How long whole transactions wait for more before they are made durable.
const LINGER: Duration = Duration::from_millis(10);
/// An idle stream moves on after this much log that holds nothing for it.
const IDLE_BYTES: u64 = 1 << 20;

/// A capture into the spool; dropping it ends it where it is.
#[derive(Debug)]
pub(super) struct SpoolCapture {
    task: JoinHandle<()>,
    stop: CancellationToken,
    failed: Option<oneshot::Receiver<StepError>>,
    /// What commits after it is in the spool.
    pub(super) begin: Lsn,
    pub(super) durable: watch::Receiver<DurablePosition>,
}

impl Drop for SpoolCapture {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SpoolCapture {
    /// Goes on where the spool ends; a spool that is empty begins at `confirmed`, where the slot stands.
    pub(super) async fn start(
        spec: &StreamSpec,
        spool: &Spool,
        confirmed: Lsn,
        seen: watch::Receiver<StreamObservation>,
    ) -> Result<Self, StepError> {
        let (begin, from) = spool.covered().unwrap_or((confirmed, confirmed));
        let writer = spool.writer(from).await?;
        let durable = writer.durable();
        let stop = CancellationToken::new();
        let (fail, failed) = oneshot::channel();
        let work = run(spec.clone(), writer, stop.clone(), seen);
        let task = tokio::spawn(async move {
            if let Err(error) = work.await {
                let _ = fail.send(error);
            }
        });
        Ok(Self {
            task,
            stop,
            failed: Some(failed),
            begin,
            durable,
        })
    }

    /// Why it gave up; never returns while it works, or once it was told to stop.
    pub(super) async fn failure(&mut self) -> StepError {
        let failed = match self.failed.as_mut() {
            Some(failed) => failed.await.ok(),
            None => None,
        };
        self.failed = None;
        match failed {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// Lets it end; the slot is free afterwards and everything that was taken is durable.
    pub(super) async fn stop(&mut self) {
        self.stop.cancel();
        let _ = (&mut self.task).await;
    }
}

async fn run(
    spec: StreamSpec,
    mut writer: SpoolWriter,
    stop: CancellationToken,
    seen: watch::Receiver<StreamObservation>,
) -> Result<(), StepError> {
    let mut failures = 0;
    loop {
        let before = writer.end();
        let Err(error) = session(&spec, &mut writer, &stop, &seen).await else {
            return Ok(());
        };
        let passing = matches!(&error, StepError::Failed(failure) if failure.retry != plans::failure::RetryClass::None);
        failures = if writer.end() > before {
            1
        } else {
            failures + 1
        };
        // A spool that could not be written is opened again, by whoever runs the stream.
        if !passing || writer.is_broken() || failures >= spec.max_attempts {
            return Err(error);
        }
        tracing::warn!(direction = %spec.direction, failures, %error, "the capture begins again");
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(pause(failures)) => {}
        }
    }
}

/// One session of the stream: until it is told to stop (`Ok`), or fails.
async fn session(
    spec: &StreamSpec,
    writer: &mut SpoolWriter,
    stop: &CancellationToken,
    seen: &watch::Receiver<StreamObservation>,
) -> Result<(), StepError> {
    writer.restart().await?;
    let mut stream = open(spec, writer.end(), "capture", FeedbackMode::Easy).await?;
    let what = format!("shard {}: reading changes", spec.origin.name);
    let mut inside = false;
    let mut waits_since: Option<Instant> = None;
    loop {
        stream.wrote(seen.borrow().written);
        let due = waits_since.map(|since| since + LINGER);
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                stream.confirm(behind(spec, writer.sync().await?));
                return stream.close().await.at(&what);
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                stream.confirm(behind(spec, writer.sync().await?));
                fail_point::hit("capture.spooled").await?;
            }
            event = stream.next_raw() => match event.at(&what)? {
                RawEvent::Message { at, ends, message } => {
                    inside = ends.is_none() && (inside || message.first() == Some(&b'B'));
                    writer.message(message, at, ends).await?;
                }
                RawEvent::KeepAlive { wal_end } => {
                    if !inside && wal_end.bytes_since(writer.end()) > IDLE_BYTES {
                        writer.idle(wal_end).await?;
                    }
                }
            },
        }
        if writer.is_heavy() {
            stream.confirm(behind(spec, writer.sync().await?));
        }
        waits_since = writer
            .waits()
            .then(|| waits_since.unwrap_or_else(Instant::now));
    }
}

/// What the origin may forget once the spool is durable up to `end`.
fn behind(spec: &StreamSpec, end: Lsn) -> Lsn {
    Lsn(end.0.saturating_sub(spec.keep_behind))
}

/// Opens the slot's stream at `start`, for `role`.
pub(super) async fn open(
    spec: &StreamSpec,
    start: Lsn,
    role: &str,
    feedback: FeedbackMode,
) -> Result<ChangeStream, StepError> {
    let start = StreamStart {
        slot: spec.token.migration.slot(spec.direction),
        publication: spec.token.migration.publication(spec.direction),
        start,
        system: spec.system,
        format: stream_format(&spec.tables).0,
        trims: trims(spec, feedback),
    };
    let name = spec.origin.application_name(role);
    ChangeStream::open_at(&spec.origin.dsn, &name, &start, feedback)
        .await
        .at(format_args!(
            "shard {}: opening the change stream",
            spec.origin.name
        ))
}

/// A row whose values were left out is read again, by what it is found by: not one that only the whole row identifies,
/// and not one that nobody sees before it is confirmed.
fn trims(spec: &StreamSpec, feedback: FeedbackMode) -> bool {
    feedback == FeedbackMode::Easy && spec.tables.iter().all(|table| !table.identity.is_empty())
}

/// How far the slot is confirmed: whatever lies before it was durable elsewhere once.
pub(super) async fn confirmed(spec: &StreamSpec) -> Result<Lsn, StepError> {
    let what = format!("shard {}: reading the slot", spec.origin.name);
    let session = spec.origin.session("capture").await?;
    let slot = spec.token.migration.slot(spec.direction);
    let row = session
        .query_opt(
            "select confirmed_flush_lsn from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(&what)?;
    let confirmed = row.and_then(|row| row.get::<_, Option<Lsn>>(0));
    confirmed.ok_or_else(|| {
        StepError::refused(
            crate::postgres::replication::SLOT_MISSING,
            format!("{what}: replication slot {slot} does not exist"),
            "changes are lost to this migration; `abort` it and plan it again",
        )
    })
}
