//! The stream of changes of one slot.
//!
//! Order: a walsender's stream is opened ([`start`](super::start)), how the slot stood when it became ours is read, then messages come
//! until the stream is closed or dropped.
//! Where the stream is far behind the end of the log, and nobody waits for what it confirms, the backlog is read by SQL
//! ([`backlog`](super::backlog)).

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

/// Where a stream starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamStart {
    /// The slot, made before.
    pub slot: String,
    /// The publication, made before the slot.
    pub publication: String,
    /// Our durable progress: transactions that end at or before it are not sent.
    pub start: Lsn,
    /// Which server it must be.
    pub system: SystemIdentity,
    /// In which form values are sent, where their types have it.
    pub format: Format,
    /// Whether very large values are left out of row changes ([`TupleValue::LeftOut`](crate::postgres::pgoutput::TupleValue::LeftOut)),
    /// so that no row is ever whole in memory.
    pub trims: bool,
}

/// How soon the server is told of a confirmed position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedbackMode {
    /// Within half a second: nobody waits for it.
    Easy,
    /// At once: commits wait for it.
    Prompt,
}

/// What arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// A change, or the start or end of a transaction.
    Change {
        /// Position of the change; [`Lsn::ZERO`] for a relation, a type and an origin.
        /// For a begin it is that of the commit record, for a commit the end of it.
        wal_start: Lsn,
        /// As `wal_start`: logical decoding sends the same position twice.
        wal_end: Lsn,
        /// What changed.
        change: Change,
    },
    /// The server has read its log up to here. Not a proof that everything before it was sent.
    KeepAlive {
        /// How far.
        wal_end: Lsn,
    },
}

/// What arrives, as it was on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawEvent {
    /// One message of pgoutput.
    Message {
        /// Its position.
        at: Lsn,
        /// The position after the transaction, if it completes one.
        ends: Option<Lsn>,
        /// The message.
        message: Bytes,
    },
    /// As [`StreamEvent::KeepAlive`].
    KeepAlive {
        /// How far.
        wal_end: Lsn,
    },
}

/// The changes that one slot sends. Dropping it frees the slot; [`close`](Self::close) also
/// reports the last confirmed position.
pub struct ChangeStream {
    source: MessageSource,
    /// A backlog whose first piece is being read.
    coming: Option<Backlog>,
    origin: SlotEndpoint,
    server: String,
    place: ReceivedPosition,
    confirmed: Lsn,
    /// Where the slot stood when it became ours; PostgreSQL 15 would take it back below that.
    floor: Lsn,
}

impl ChangeStream {
    /// Opens a session and starts to stream; on return the slot is held by this session.
    ///
    /// # Errors
    /// [`ReplicationError::SystemChanged`], [`SlotMissing`](ReplicationError::SlotMissing),
    /// [`SlotBusy`](ReplicationError::SlotBusy), [`SlotLost`](ReplicationError::SlotLost),
    /// [`Gap`](ReplicationError::Gap), [`PublicationMissing`](ReplicationError::PublicationMissing), or what the
    /// connection or the server says.
    pub async fn open(
        dsn: &Dsn,
        application_name: &str,
        start: &StreamStart,
    ) -> Result<Self, ReplicationError> {
        Self::open_at(dsn, application_name, start, FeedbackMode::Easy).await
    }

    /// As [`open`](Self::open), with a feedback mode.
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
        stream.floor = stream.origin.check_gap(&stream.server).await?;
        Ok(stream)
    }

    /// Waits for the next message. May be cancelled: nothing is lost.
    ///
    /// # Errors
    /// [`ReplicationError::Silent`] after two minutes without even a ping,
    /// [`PublicationMissing`](ReplicationError::PublicationMissing) before version 18,
    /// [`Decode`](ReplicationError::Decode), or what ended the session. The stream is then over.
    pub async fn next(&mut self) -> Result<StreamEvent, ReplicationError> {
        let event = self.receive().await?;
        self.translate(event)
    }

    /// As [`next`](Self::next), with messages as they were on the wire: for whoever keeps them.
    ///
    /// # Errors
    /// As [`next`](Self::next), without those of decoding.
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

    /// The log is known to reach there: what lies before it and has not arrived is behind.
    pub fn wrote(&mut self, end: Lsn) {
        self.place.wrote(end);
    }

    /// No backlog is gone over to: that ends the walsender, and to open another takes time.
    pub fn stay(&mut self) {
        self.coming = None;
        self.place.leave_to_sender();
    }

    async fn receive(&mut self) -> Result<ReplicationEvent, ReplicationError> {
        loop {
            self.look_back();
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

    /// A walsender goes on from what was taken.
    fn go_on(&mut self) {
        self.place.leave_to_sender();
        self.source = MessageSource::Opening(Box::pin(source::sender(self.resumed())));
    }

    fn resumed(&self) -> SlotEndpoint {
        self.origin.at(self.place.goes_on(self.confirmed))
    }

    /// Begins to read a backlog where there is one, and goes over to it once its first piece is there.
    fn look_back(&mut self) {
        if !matches!(self.source, MessageSource::Sender(_)) || self.place.inside {
            return;
        }
        // Commits may wait for a prompt stream, which only a walsender can answer.
        let easy = self.origin.feedback == FeedbackMode::Easy;
        if easy && self.coming.is_none() && self.place.is_far_behind() {
            self.place.leave_to_sender();
            self.coming = Some(Backlog::begin(self.resumed()));
        }
        let Some(mut coming) = self.coming.take() else {
            return;
        };
        match coming.is_ready() {
            Ok(Some(true)) => {
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

    /// Hands on what was confirmed.
    fn report(&self) {
        if self.confirmed == Lsn::ZERO {
            return;
        }
        match &self.source {
            MessageSource::Sender(sender) => {
                sender.client.update_applied_lsn(self.confirmed.into())
            }
            MessageSource::Backlog(backlog) => backlog.confirm(self.confirmed),
            // It is told once it is open.
            MessageSource::Opening(_) => {}
        }
    }

    /// Tells the server, at the stream's [`FeedbackMode`], that everything up to `lsn` is durable elsewhere:
    /// it may forget it. A position below an earlier one, of this session or one before, changes nothing.
    pub fn confirm(&mut self, lsn: Lsn) {
        if lsn <= self.floor {
            return;
        }
        self.confirmed = self.confirmed.max(lsn);
        self.report();
    }

    /// The highest position confirmed on this stream, [`Lsn::ZERO`] if none was.
    pub fn confirmed(&self) -> Lsn {
        self.confirmed
    }

    /// Ends the stream; first waits, for a moment, until the last confirmed position was reported.
    ///
    /// # Errors
    /// What had ended the stream before. The slot is free or about to be in any case.
    pub async fn close(self) -> Result<(), ReplicationError> {
        let MessageSource::Sender(mut sender) = self.source else {
            return Ok(()); // what was not reported is sent again
        };
        let metrics = sender.client.metrics();
        let report = async {
            while Lsn::from(metrics.last_applied_lsn()) < self.confirmed {
                if sender.reported.changed().await.is_err() {
                    return; // the session is over
                }
            }
        };
        // A server that does not take the report sends again from an earlier position: harmless.
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
                    flags: 0, // not passed on by the client; PostgreSQL defines none
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
            // sent only if a position to stop at was configured
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

/// The client hands these three out decoded; every other message comes as it is.
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

fn at(lsn: Lsn, change: Change) -> StreamEvent {
    StreamEvent::Change {
        wal_start: lsn,
        wal_end: lsn,
        change,
    }
}
