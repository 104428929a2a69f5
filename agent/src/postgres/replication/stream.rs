//! The stream of changes of one slot.
//!
//! The stream opens a walsender ([`start`](super::start)), reads the confirmed position of the slot, and then returns
//! messages until it is closed or dropped. If it is far behind the end of the log, and no commit waits for its
//! confirmations, it reads the backlog by SQL ([`backlog`](super::backlog)).

use bytes::Bytes;
use connect::Dsn;
use pgwire_replication::ReplicationEvent;
use plans::table::Format;
use tokio::time::timeout;

use super::backlog::{Backlog, BacklogItem};
use super::config::{self, STATUS_INTERVAL};
use super::origin::SlotEndpoint;
use super::source::{self, MessageSource, ReceivedPosition};
use super::{ReplicationError, SystemIdentity};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{Begin, Change, Commit, LogicalMessage, decode, encode, ends};

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

/// The changes that one slot sends. If the stream is dropped, the slot becomes free; [`close`](Self::close) also
/// reports the last confirmed position.
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
        let event = self.receive().await?;
        self.translate(event)
    }

    /// Waits for the next message as [`next`](Self::next) does, and returns it in its wire format, for the spool.
    ///
    /// # Errors
    /// As [`next`](Self::next), except errors of decoding.
    pub async fn next_raw(&mut self) -> Result<RawEvent, ReplicationError> {
        let event = self.receive().await?;
        if let ReplicationEvent::XLogData { wal_end, data, .. } = event {
            return Ok(RawEvent::Message {
                at: wal_end.into(),
                ends: ends(&data),
                message: data,
            });
        }
        Ok(match self.translate(event)? {
            StreamEvent::KeepAlive { wal_end } => RawEvent::KeepAlive { wal_end },
            StreamEvent::Change {
                wal_end, change, ..
            } => raw(wal_end, &change),
        })
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
    async fn receive(&mut self) -> Result<ReplicationEvent, ReplicationError> {
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
                    Ok(Some(BacklogItem::Message(at, data))) => source::message(at, data),
                    Ok(Some(BacklogItem::End(at))) => {
                        self.place.ended(at);
                        self.go_on();
                        source::keep_alive(at)
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
            MessageSource::Sender(sender) => {
                sender.client.update_applied_lsn(self.confirmed.into())
            }
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

    /// Ends the stream. First waits, up to a time limit, until the last confirmed position is reported.
    ///
    /// # Errors
    /// Returns the error that had ended the stream before. In any case the slot becomes free.
    pub async fn close(self) -> Result<(), ReplicationError> {
        let MessageSource::Sender(mut sender) = self.source else {
            return Ok(()); // changes that were not confirmed are sent again
        };
        let metrics = sender.client.metrics();
        let report = async {
            while Lsn::from(metrics.last_applied_lsn()) < self.confirmed {
                if sender.reported.changed().await.is_err() {
                    return; // the session has ended
                }
            }
        };
        // If the server does not get the report, it only sends changes again that the agent already has.
        let _ = timeout(STATUS_INTERVAL * 4, report).await;
        let ended = sender.client.shutdown().await;
        ended.map_err(|source| self.origin.failed(&self.server, source))
    }

    fn translate(&self, event: ReplicationEvent) -> Result<StreamEvent, ReplicationError> {
        match event {
            ReplicationEvent::KeepAlive { wal_end, .. } => Ok(StreamEvent::KeepAlive {
                wal_end: wal_end.into(),
            }),
            ReplicationEvent::XLogData {
                wal_start,
                wal_end,
                data,
                ..
            } => Ok(StreamEvent::Change {
                wal_start: wal_start.into(),
                wal_end: wal_end.into(),
                change: self.decode(data)?,
            }),
            ReplicationEvent::Begin {
                final_lsn,
                xid,
                commit_time_micros,
            } => {
                let begin = Begin {
                    final_lsn: final_lsn.into(),
                    commit_time_us: commit_time_micros,
                    xid,
                };
                Ok(at(begin.final_lsn, Change::Begin(begin)))
            }
            ReplicationEvent::Commit {
                lsn,
                end_lsn,
                commit_time_micros,
            } => {
                let commit = Commit {
                    flags: 0, // the client does not return the flags; PostgreSQL defines none
                    commit_lsn: lsn.into(),
                    end_lsn: end_lsn.into(),
                    commit_time_us: commit_time_micros,
                };
                Ok(at(commit.end_lsn, Change::Commit(commit)))
            }
            ReplicationEvent::Message {
                transactional,
                lsn,
                prefix,
                content,
            } => {
                let lsn = lsn.into();
                let message = LogicalMessage {
                    transactional,
                    lsn,
                    prefix,
                    content,
                };
                Ok(at(lsn, Change::Message(message)))
            }
            // the server sends this only if the client has configured a stop position
            ReplicationEvent::StoppedAt { .. } => Err(self.origin.ended(&self.server)),
        }
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

/// Returns a begin, a commit or a logical message in its wire format. The client library returns all other changes as
/// bytes, so the other variants never reach this function.
fn raw(at: Lsn, change: &Change) -> RawEvent {
    let (ends, message) = match change {
        Change::Begin(begin) => (None, encode::begin(begin)),
        Change::Commit(commit) => (Some(commit.end_lsn), encode::commit(commit)),
        Change::Message(message) => (None, encode::message(message)),
        Change::Origin { .. }
        | Change::Relation(_)
        | Change::Type(_)
        | Change::Insert { .. }
        | Change::Update { .. }
        | Change::Delete { .. }
        | Change::Truncate { .. } => (None, Bytes::new()),
    };
    RawEvent::Message { at, ends, message }
}

/// Returns the event of a change at this position.
fn at(lsn: Lsn, change: Change) -> StreamEvent {
    StreamEvent::Change {
        wal_start: lsn,
        wal_end: lsn,
        change,
    }
}
