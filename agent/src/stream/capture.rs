//! The capture: a task that writes the changes of the slot to the spool until the stream stops it. It confirms to the
//! slot what is durable in the spool, except for the newest part, so that an agent without this spool can continue from
//! the slot.

use std::time::Duration;

use plans::failure::StepCode;
use plans::table::stream_format;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::supervisor::restart_delay;
use super::{StreamObservation, StreamSpec};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ChangeStream, FeedbackMode, RawEvent, StreamStart};
use crate::spool::{DurablePosition, Spool, SpoolWriter};

/// Complete transactions in the spool are made durable after this time.
const SYNC_DELAY: Duration = Duration::from_millis(10);
/// A capture without changes advances its position when the upstream shard has written this many bytes of WAL.
const IDLE_BYTES: u64 = 1 << 20;

/// A running capture. When this value is dropped, the capture ends immediately, even within a write.
#[derive(Debug)]
pub(super) struct SpoolCapture {
    task: JoinHandle<()>,
    stop: CancellationToken,
    failed: Option<oneshot::Receiver<StepError>>,
    /// The spool contains every transaction that commits after this position.
    pub(super) begin: Lsn,
    /// The position up to which the spool is durable.
    pub(super) durable: watch::Receiver<DurablePosition>,
}

impl Drop for SpoolCapture {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SpoolCapture {
    /// Starts a capture that continues at the end of the spool. An empty spool begins at `confirmed`, the confirmed
    /// position of the slot.
    pub(super) async fn start(
        spec: &StreamSpec,
        spool: &Spool,
        confirmed: Lsn,
        observation: watch::Receiver<StreamObservation>,
    ) -> Result<Self, StepError> {
        let (begin, from) = spool.covered_range().unwrap_or((confirmed, confirmed));
        let writer = spool.writer(from).await?;
        let durable = writer.durable();
        let stop = CancellationToken::new();
        let (fail, failed) = oneshot::channel();
        let work = capture_until_stopped(spec.clone(), writer, stop.clone(), observation);
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

    /// Waits until the capture has given up, and returns its error. Never returns if the capture is stopped.
    pub(super) async fn wait_for_failure(&mut self) -> StepError {
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

    /// Stops the capture and waits for its end. Afterwards every complete transaction that it has read is durable, and
    /// another session can read the slot.
    pub(super) async fn stop(&mut self) {
        self.stop.cancel();
        let _ = (&mut self.task).await;
    }
}

/// Captures until the stream stops the capture. Continues on a new session after each transient error.
async fn capture_until_stopped(
    spec: StreamSpec,
    mut writer: SpoolWriter,
    stop: CancellationToken,
    observation: watch::Receiver<StreamObservation>,
) -> Result<(), StepError> {
    let mut failures = 0;
    loop {
        let end_before = writer.durable_end();
        let Err(error) = capture_on_one_session(&spec, &mut writer, &stop, &observation).await
        else {
            return Ok(());
        };
        let is_transient = matches!(&error, StepError::Failed(failure) if failure.retry != plans::failure::RetryClass::None);
        failures = if writer.durable_end() > end_before {
            1
        } else {
            failures + 1
        };
        // After a failed write a new run of the stream opens the spool again.
        if !is_transient || writer.has_failed() || failures >= spec.max_attempts {
            return Err(error);
        }
        tracing::warn!(direction = %spec.direction, failures, %error, "the capture restarts");
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(restart_delay(failures)) => {}
        }
    }
}

/// Captures on one replication session. Returns `Ok` when the capture is stopped.
async fn capture_on_one_session(
    spec: &StreamSpec,
    writer: &mut SpoolWriter,
    stop: &CancellationToken,
    observation: &watch::Receiver<StreamObservation>,
) -> Result<(), StepError> {
    writer.discard_partial_transaction().await?;
    let mut stream = open_stream(spec, writer.durable_end(), "capture", FeedbackMode::Easy).await?;
    let what = format!("shard {}: reading changes", spec.upstream.name);
    let mut in_transaction = false;
    let mut unsynced_since: Option<Instant> = None;
    loop {
        stream.wrote(observation.borrow().wal_end);
        let due = unsynced_since.map(|since| since + SYNC_DELAY);
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                stream.confirm(position_to_confirm(spec, writer.sync().await?));
                return stream.close().await.at(&what);
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                stream.confirm(position_to_confirm(spec, writer.sync().await?));
                fail_point::hit("capture.spooled").await?;
            }
            event = stream.next_raw() => match event.at(&what)? {
                RawEvent::Message { at, ends: transaction_end, message } => {
                    in_transaction = transaction_end.is_none() && (in_transaction || message.first() == Some(&b'B'));
                    writer.append_message(message, at, transaction_end).await?;
                }
                RawEvent::KeepAlive { wal_end } => {
                    if !in_transaction && wal_end.bytes_since(writer.durable_end()) > IDLE_BYTES {
                        writer.append_idle(wal_end).await?;
                    }
                }
            },
        }
        if writer.should_sync() {
            stream.confirm(position_to_confirm(spec, writer.sync().await?));
        }
        unsynced_since = writer
            .has_unsynced_transactions()
            .then(|| unsynced_since.unwrap_or_else(Instant::now));
    }
}

/// Returns the position to confirm to the slot when the spool is durable up to `end`.
fn position_to_confirm(spec: &StreamSpec, end: Lsn) -> Lsn {
    Lsn(end.0.saturating_sub(spec.unconfirmed_spool_bytes))
}

/// Opens a replication session that reads the slot from the position `start`. `role` becomes a part of its
/// `application_name`.
pub(super) async fn open_stream(
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
        trims: may_omit_large_values(spec, feedback),
    };
    let name = spec.upstream.application_name(role);
    ChangeStream::open_at(&spec.upstream.dsn, &name, &start, feedback)
        .await
        .at(format_args!(
            "shard {}: opening the change stream",
            spec.upstream.name
        ))
}

/// Returns whether the session may leave large values out of rows. The stream reads such a row again on the upstream
/// shard, by its identity. This is not possible if a table has only the whole row as identity. Nor is it possible under
/// synchronous dual-write: there a commit is not visible on the upstream shard before the stream has confirmed it.
fn may_omit_large_values(spec: &StreamSpec, feedback: FeedbackMode) -> bool {
    feedback == FeedbackMode::Easy && spec.tables.iter().all(|table| !table.identity.is_empty())
}

/// Reads the confirmed position of the slot. Everything before it was durable, in the spool of an agent or on the
/// downstream shard, when an agent confirmed it.
pub(super) async fn read_confirmed_position(spec: &StreamSpec) -> Result<Lsn, StepError> {
    let what = format!("shard {}: reading the slot", spec.upstream.name);
    let session = spec.upstream.session("capture").await?;
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
            StepCode::SlotMissing,
            format!("{what}: replication slot {slot} does not exist"),
            "the stream has missed changes; `abort` the migration and plan it again",
        )
    })
}
