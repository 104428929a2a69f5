//! A walsender's stream: a task reads it ahead, and reports confirmed positions while the consumer is busy.
//!
//! The task passes messages on in batches, one for all that a read returned. If the consumer does not take them, the
//! task stops to read after [`AHEAD_BYTES`], so that the server waits. It continues to report then, because a server
//! ends a session without reports after `wal_sender_timeout`.

use std::io;
use std::time::Duration;
use std::vec;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::config::{SILENCE_LIMIT, STATUS_INTERVAL, status_interval};
use super::connection::ReplicationConnection;
use super::error::WireError;
use super::frames::LEAST_BYTES;
use super::{FeedbackMode, RawEvent};
use crate::postgres::lsn::Lsn;

/// The task stops to read when it holds this many bytes of messages that the consumer has not taken.
const AHEAD_BYTES: usize = 256 << 10;
/// Maximum time for the last report and the end of a session.
const END_LIMIT: Duration = STATUS_INTERVAL.saturating_mul(4);

/// Pause between two reads while many changes arrive.
const PAUSE: Duration = Duration::from_millis(1);
/// If this many bytes arrive within one pause (several thousand changes per second), the task pauses before the next
/// read.
const FLOOD_BYTES: usize = 6 << 10;

/// A walsender that streams. If this value is dropped, the task reports the last confirmed position and ends the
/// session.
pub(super) struct WalsenderSession {
    pub(super) server: String,
    batch: vec::IntoIter<RawEvent>,
    batches: mpsc::Receiver<Vec<RawEvent>>,
    confirmed: watch::Sender<Lsn>,
    task: Option<JoinHandle<Result<(), WireError>>>,
}

impl WalsenderSession {
    /// Starts the task on a connection that streams.
    pub(super) fn spawn(
        connection: ReplicationConnection,
        server: String,
        feedback: FeedbackMode,
    ) -> Self {
        let (send, batches) = mpsc::channel(1);
        let (confirmed, receiver) = watch::channel(Lsn::ZERO);
        let task = StreamTask {
            connection,
            send,
            confirmed: receiver,
            feedback,
            ahead: ReadAhead::default(),
            status: StatusClock::default(),
        };
        Self {
            server,
            batch: Vec::new().into_iter(),
            batches,
            confirmed,
            task: Some(tokio::spawn(task.run())),
        }
    }

    /// Waits for the next event; `None` after [`SILENCE_LIMIT`]. This method is cancel safe.
    ///
    /// # Errors
    /// Returns the error that ended the session, the first time; then [`WireError::Ended`].
    pub(super) async fn next(&mut self) -> Result<Option<RawEvent>, WireError> {
        loop {
            if let Some(event) = self.batch.next() {
                return Ok(Some(event));
            }
            match timeout(SILENCE_LIMIT, self.batches.recv()).await {
                Ok(Some(batch)) => self.batch = batch.into_iter(),
                Ok(None) => {
                    joined(&mut self.task).await?;
                    return Err(WireError::Ended);
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Makes the task report that everything up to `position` is durable on the other side. A position below the one
    /// that was confirmed before changes nothing, so that reported positions never decrease.
    pub(super) fn confirm(&self, position: Lsn) {
        self.confirmed.send_if_modified(|confirmed| {
            let is_newer = position > *confirmed;
            if is_newer {
                *confirmed = position;
            }
            is_newer
        });
    }

    /// Reports the last confirmed position and ends the session. Waits, up to [`END_LIMIT`], until the server has ended
    /// it too.
    ///
    /// # Errors
    /// Returns the error that had ended the session before.
    pub(super) async fn close(mut self) -> Result<(), WireError> {
        drop((self.confirmed, self.batches));
        joined(&mut self.task).await
    }
}

/// Waits for the end of the task. This function is cancel safe.
async fn joined(task: &mut Option<JoinHandle<Result<(), WireError>>>) -> Result<(), WireError> {
    let Some(running) = task else {
        return Ok(());
    };
    let ended = running.await;
    *task = None;
    ended.unwrap_or_else(|panic| Err(io::Error::other(panic).into()))
}

/// The task that reads a walsender's stream.
struct StreamTask {
    connection: ReplicationConnection,
    send: mpsc::Sender<Vec<RawEvent>>,
    confirmed: watch::Receiver<Lsn>,
    feedback: FeedbackMode,
    ahead: ReadAhead,
    status: StatusClock,
}

/// The messages that the task has read and not passed on.
#[derive(Default)]
struct ReadAhead {
    batch: Vec<RawEvent>,
    bytes: usize,
    /// So many bytes have arrived that the task pauses.
    flood: bool,
}

/// The last report.
#[derive(Default)]
struct StatusClock {
    position: Lsn,
    at: Option<Instant>,
    /// A change has arrived since.
    active: bool,
}

impl StreamTask {
    async fn run(mut self) -> Result<(), WireError> {
        let ended = self.pass_on().await;
        if ended.is_err() {
            // The consumer gets what arrived before the error.
            let _ = self.send.send(std::mem::take(&mut self.ahead.batch)).await;
            return ended;
        }
        // If the server does not get this report, it only sends changes again that the agent already has.
        let _ = timeout(END_LIMIT, async {
            if *self.confirmed.borrow() > self.status.position {
                self.report(false).await?;
            }
            self.connection.end().await
        })
        .await;
        Ok(())
    }

    /// Passes messages on until the consumer drops its side.
    async fn pass_on(&mut self) -> Result<(), WireError> {
        let mut flow = FlowMeter::new(Instant::now());
        self.report(false).await?;
        self.take_arrived().await?;
        loop {
            let due = self.next_report();
            let arrived = tokio::select! {
                biased;
                changed = self.confirmed.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return Ok(()),
                },
                () = sleep_until(due) => None,
                room = self.send.reserve(), if !self.ahead.batch.is_empty() => {
                    let Ok(room) = room else {
                        return Ok(());
                    };
                    room.send(std::mem::take(&mut self.ahead.batch));
                    self.ahead.bytes = 0;
                    if std::mem::take(&mut self.ahead.flood) {
                        sleep(PAUSE).await;
                    }
                    continue;
                }
                arrived = self.connection.fill(), if self.ahead.bytes < AHEAD_BYTES => {
                    Some(arrived?)
                }
            };
            match arrived {
                Some(bytes) => {
                    let flood = flow.is_flood(bytes, Instant::now());
                    self.ahead.flood = flood && self.feedback == FeedbackMode::Easy;
                    self.take_arrived().await?;
                }
                None => self.report(false).await?,
            }
        }
    }

    /// Takes the messages that have arrived, and answers keepalives.
    async fn take_arrived(&mut self) -> Result<(), WireError> {
        while let Some(message) = self.connection.next()? {
            // A keepalive does not count: the report that follows would cause the next one on an idle server.
            self.status.active |= matches!(message.event, RawEvent::Message { .. });
            if message.requests_reply {
                self.report(true).await?;
            }
            self.ahead.bytes += message.bytes;
            self.ahead.batch.push(message.event);
        }
        Ok(())
    }

    /// Returns the time of the next report, if no keepalive requests it earlier.
    fn next_report(&self) -> Instant {
        let interval = if *self.confirmed.borrow() > self.status.position {
            status_interval(self.feedback)
        } else if self.status.active || !self.ahead.batch.is_empty() {
            STATUS_INTERVAL
        } else {
            SILENCE_LIMIT
        };
        self.status.at.map_or_else(Instant::now, |at| at + interval)
    }

    async fn report(&mut self, replies: bool) -> io::Result<()> {
        let position = *self.confirmed.borrow();
        self.connection.report(position, replies).await?;
        self.status = StatusClock {
            position,
            at: Some(Instant::now()),
            active: false,
        };
        Ok(())
    }
}

/// The number of bytes that arrived within the current pause interval.
///
/// A walsender sends each change in a message of its own, and each message wakes the reader. If many changes arrive and
/// no commit waits for them, the task therefore pauses, and reads many changes at once. This adds a delay of one or two
/// milliseconds.
struct FlowMeter {
    since: Instant,
    arrived: usize,
}

impl FlowMeter {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            arrived: 0,
        }
    }

    /// Returns whether so many bytes have arrived that the task should pause. After a large read, more bytes may
    /// already be waiting.
    fn is_flood(&mut self, arrived: usize, now: Instant) -> bool {
        if now - self.since >= PAUSE {
            *self = Self::new(now);
        }
        self.arrived += arrived;
        self.arrived >= FLOOD_BYTES && arrived < LEAST_BYTES
    }
}

#[cfg(test)]
mod tests;
