//! The stream of changes of one slot.
//!
//! The stream opens a walsender ([`start`](super::start)), reads the confirmed position of the slot, and then returns
//! messages until it is closed or dropped. If it is far behind the end of the log, and no commit waits for its
//! confirmations, it reads the backlog by SQL ([`backlog`](super::backlog)).

use bytes::Bytes;
use connect::Dsn;
use plans::table::Format;

use super::backlog::{Backlog, BacklogItem};
use super::config;
use super::connection::change_event;
use super::origin::SlotEndpoint;
use super::source::{self, MessageSource, ReceivedPosition};
use super::{ReplicationError, SystemIdentity};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{Change, decode};

/// The parameters with which a stream starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamStart {
    /// The name of the slot, which must exist.
    pub slot: String,
    /// The name of the publication, which must have existed before the slot.
    pub publication: String,
    /// The durable progress of the agent. The server does not send transactions that end at or before this position.
    pub start: Lsn,
    /// The expected identity of the server.
    pub system: SystemIdentity,
    /// The format of values, for types that have it.
    pub format: Format,
    /// If true, the agent removes very large values from row changes, so that it never holds a complete row in memory
    /// ([`TupleValue::LeftOut`](crate::postgres::pgoutput::TupleValue::LeftOut)).
    pub trims: bool,
}

/// How soon the agent reports a confirmed position to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedbackMode {
    /// Within half a second, while no commit waits for it.
    Easy,
    /// Within a millisecond, because commits wait for it.
    Prompt,
}

/// An event of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// A change, or the start or end of a transaction.
    Change {
        /// Position of the change; [`Lsn::ZERO`] for a relation, a type and an origin. For a begin it is the position
        /// of the commit record, for a commit the position after it.
        wal_start: Lsn,
        /// The same as `wal_start`: logical decoding sends the same position twice.
        wal_end: Lsn,
        /// The change.
        change: Change,
    },
    /// The server has read its log up to this position. It may not have sent everything before it yet.
    KeepAlive {
        /// The position.
        wal_end: Lsn,
    },
}

/// An event of the stream, with the message in its wire format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawEvent {
    /// A pgoutput message.
    Message {
        /// The position of the message.
        at: Lsn,
        /// The position after the transaction, if the message is a commit.
        ends: Option<Lsn>,
        /// The bytes of the message.
        message: Bytes,
    },
    /// A keepalive, as [`StreamEvent::KeepAlive`].
    KeepAlive {
        /// The position.
        wal_end: Lsn,
    },
}

/// The changes that one slot sends. If the stream is dropped, the last confirmed position is reported and the slot
/// becomes free; [`close`](Self::close) waits for this.
pub struct ChangeStream {
    /// The current transport: a walsender or a backlog.
    source: MessageSource,
    /// The backlog to which the stream switches when the first part of the backlog has arrived. Until then the
    /// walsender continues.
    coming: Option<Backlog>,
    /// The slot and how to connect to it; not a replication origin of PostgreSQL.
    origin: SlotEndpoint,
    server: String,
    /// How far messages have arrived.
    place: ReceivedPosition,
    /// The highest position that this stream has confirmed.
    confirmed: Lsn,
    /// The confirmed position of the slot when this session opened it. PostgreSQL 15 would move the slot back to an
    /// earlier position.
    floor: Lsn,
}

impl ChangeStream {
    /// Opens a session and starts to stream. On return, this session holds the slot.
    ///
    /// # Errors
    /// [`ReplicationError::SystemChanged`], [`SlotMissing`](ReplicationError::SlotMissing),
    /// [`SlotBusy`](ReplicationError::SlotBusy), [`SlotLost`](ReplicationError::SlotLost),
    /// [`Gap`](ReplicationError::Gap), [`PublicationMissing`](ReplicationError::PublicationMissing), or the error of
    /// the connection or the server.
    pub async fn open(
        dsn: &Dsn,
        application_name: &str,
        start: &StreamStart,
    ) -> Result<Self, ReplicationError> {
        Self::open_at(dsn, application_name, start, FeedbackMode::Easy).await
    }

    /// Opens a stream as [`open`](Self::open) does, with the feedback mode `feedback`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_at(
        dsn: &Dsn,
        application_name: &str,
        start: &StreamStart,
        feedback: FeedbackMode,
    ) -> Result<Self, ReplicationError> {
        config::check_name("replication slot", &start.slot)?;
        config::check_name("publication", &start.publication)?;
        let origin = SlotEndpoint {
            dsn: dsn.clone(),
            application_name: application_name.to_owned(),
            start: start.clone(),
            feedback,
        };
        let sender = origin.open().await?;
        let mut stream = Self {
            server: sender.server.clone(),
            source: MessageSource::Sender(sender),
            coming: None,
            origin,
            place: ReceivedPosition::at(start.start),
            confirmed: Lsn::ZERO,
            floor: Lsn::ZERO,
        };
        // This fails if the slot has already removed changes that the stream needs.
        stream.floor = stream.origin.check_gap(&stream.server).await?;
        Ok(stream)
    }

    /// Waits for the next message. This method is cancel safe.
    ///
    /// # Errors
    /// [`ReplicationError::Silent`] after two minutes without a message,
    /// [`PublicationMissing`](ReplicationError::PublicationMissing) before PostgreSQL 18,
    /// [`Decode`](ReplicationError::Decode), or the error that ended the session. The stream cannot be used afterwards.
    pub async fn next(&mut self) -> Result<StreamEvent, ReplicationError> {
        match self.receive().await? {
            RawEvent::Message { at, message, .. } => Ok(StreamEvent::Change {
                wal_start: at,
                wal_end: at,
                change: self.decode(message)?,
            }),
            RawEvent::KeepAlive { wal_end } => Ok(StreamEvent::KeepAlive { wal_end }),
        }
    }

    /// Waits for the next message as [`next`](Self::next) does, and returns it in its wire format, for the spool.
    ///
    /// # Errors
    /// As [`next`](Self::next), except errors of decoding.
    pub async fn next_raw(&mut self) -> Result<RawEvent, ReplicationError> {
        self.receive().await
    }

    /// Records that the server has written its log up to `end`. The stream compares this with its own position to
    /// detect that it is far from the end of the log.
    pub fn wrote(&mut self, end: Lsn) {
        self.place.wrote(end);
    }

    /// Keeps the stream on its walsender for the next 256 MiB of log or until it is near the end of the log. A switch
    /// to a backlog would close the walsender, and the stream would need time to open a new one afterwards.
    pub fn stay(&mut self) {
        self.coming = None;
        self.place.leave_to_sender();
    }

    /// Waits for the next message of the current transport, and switches the transport if necessary.
    async fn receive(&mut self) -> Result<RawEvent, ReplicationError> {
        loop {
            self.switch_to_backlog();
            let event = match &mut self.source {
                MessageSource::Sender(sender) => self.origin.next(sender).await?,
                MessageSource::Opening(sender) => {
                    self.source = MessageSource::Sender(sender.await?);
                    self.report();
                    continue;
                }
                MessageSource::Backlog(backlog) => match backlog.next().await {
                    Ok(Some(BacklogItem::Message(at, data))) => change_event(at, data),
                    Ok(Some(BacklogItem::End(at))) => {
                        self.place.ended(at);
                        self.go_on();
                        RawEvent::KeepAlive { wal_end: at }
                    }
                    // A part of a transaction has arrived, so another transport cannot continue.
                    Err(error) if self.place.inside => return Err(error),
                    ended => {
                        let error = ended.err().map(|error| error.to_string());
                        tracing::info!(
                            server = self.server,
                            error,
                            "the backlog is left to a walsender"
                        );
                        self.go_on();
                        continue;
                    }
                },
            };
            self.place.arrived(&event);
            if matches!(self.source, MessageSource::Sender(_)) {
                self.place.sent();
            }
            return Ok(event);
        }
    }

    /// Makes the stream switch from a backlog to a new walsender, which continues after the received transactions.
    fn go_on(&mut self) {
        self.place.leave_to_sender();
        self.source = MessageSource::Opening(Box::pin(source::sender(self.resumed())));
    }

    /// Returns the slot with the position at which the next transport starts.
    fn resumed(&self) -> SlotEndpoint {
        self.origin.at(self.place.goes_on(self.confirmed))
    }

    /// Starts to read a backlog if the stream is far from the end of the log, and switches to the backlog once its
    /// first part has arrived. If the backlog cannot be read by SQL, the walsender continues.
    fn switch_to_backlog(&mut self) {
        if !matches!(self.source, MessageSource::Sender(_)) || self.place.inside {
            return;
        }
        // Commits may wait for a stream in mode `Prompt`, and only a walsender can acknowledge them.
        let easy = self.origin.feedback == FeedbackMode::Easy;
        if easy && self.coming.is_none() && self.place.is_far_behind() {
            // If the backlog cannot be read, the walsender reads the next part of the log without another attempt.
            self.place.leave_to_sender();
            self.coming = Some(Backlog::begin(self.resumed()));
        }
        let Some(mut coming) = self.coming.take() else {
            return;
        };
        match coming.is_ready() {
            Ok(Some(true)) => {
                // The backlog leaves out the transactions that the walsender has sent.
                coming.take_over(self.place.taken);
                self.source = MessageSource::Backlog(coming);
                self.report();
            }
            Ok(Some(false)) => self.coming = Some(coming),
            Ok(None) => {}
            Err(error) => {
                tracing::info!(server = self.server, %error, "the backlog is left to a walsender");
            }
        }
    }

    /// Reports the confirmed position to the server through the current transport ([`MessageSource`]).
    fn report(&self) {
        if self.confirmed == Lsn::ZERO {
            return;
        }
        match &self.source {
            MessageSource::Sender(sender) => sender.confirm(self.confirmed),
            MessageSource::Backlog(backlog) => backlog.confirm(self.confirmed),
            // The position is reported once the walsender is open.
            MessageSource::Opening(_) => {}
        }
    }

    /// Confirms, at the stream's [`FeedbackMode`], that everything up to `lsn` is durable on the other side, so that
    /// the server may remove that part of the log. A position that is not after the last confirmed position, of this or
    /// an earlier session, has no effect.
    pub fn confirm(&mut self, lsn: Lsn) {
        if lsn <= self.floor {
            return;
        }
        self.confirmed = self.confirmed.max(lsn);
        self.report();
    }

    /// Returns the highest confirmed position of this stream, [`Lsn::ZERO`] if there is none.
    pub fn confirmed(&self) -> Lsn {
        self.confirmed
    }

    /// Reports the last confirmed position and ends the stream. Waits, up to a time limit, until the slot is free.
    ///
    /// # Errors
    /// Returns the error that had ended the stream before.
    pub async fn close(self) -> Result<(), ReplicationError> {
        let MessageSource::Sender(sender) = self.source else {
            return Ok(()); // changes that were not confirmed are sent again
        };
        let ended = sender.close().await;
        ended.map_err(|error| self.origin.failed(&self.server, error))
    }

    fn decode(&self, data: Bytes) -> Result<Change, ReplicationError> {
        decode(data).map_err(|source| ReplicationError::Decode {
            server: self.server.clone(),
            slot: self.origin.start.slot.clone(),
            source,
        })
    }
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ChangeStream({} on {})",
            self.origin.start.slot, self.server
        )
    }
}
