//! The stream of changes of one slot.
//!
//! Order: who the server is, how the slot stands, start, how the slot stood when it became ours,
//! then messages until the stream is closed or dropped.
//! A start below the slot's confirmed position is an error: PostgreSQL would skip silently.

use bytes::Bytes;
use connect::{Dsn, Session};
use pgwire_replication::{FeedbackObserver, PgWireError, ReplicationClient, ReplicationEvent};
use plans::table::Format;
use tokio::sync::watch;
use tokio::time::timeout;

use super::config::{self, SILENCE_LIMIT, STATUS_INTERVAL};
use super::{ReplicationError, ReplicationSession, SystemIdentity, column, error};
use crate::pg::decode::{Begin, Change, Commit, Message, decode, encode};
use crate::pg::lsn::Lsn;

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
}

/// How soon the server is told of a confirmed position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
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
    client: ReplicationClient,
    server: String,
    slot: String,
    publication: String,
    confirmed: Lsn,
    /// Where the slot stood when it became ours; PostgreSQL 15 would take it back below that.
    floor: Lsn,
    reported: watch::Receiver<()>,
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
        Self::open_at(dsn, application_name, start, Pace::Easy).await
    }

    /// As [`open`](Self::open), at a pace.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_at(
        dsn: &Dsn,
        application_name: &str,
        start: &StreamStart,
        pace: Pace,
    ) -> Result<Self, ReplicationError> {
        config::check_name("replication slot", &start.slot)?;
        config::check_name("publication", &start.publication)?;
        let (report, reported) = watch::channel(());
        let observer = FeedbackObserver::new(move |_| {
            report.send_replace(());
        });
        let config =
            config::stream(start, observer).with_status_interval(config::status_interval(pace));
        let mut session = ReplicationSession::connect(dsn, application_name, config, pace).await?;
        check_system(&mut session, start).await?;
        check_slot(&mut session, start).await?;
        start_streaming(&mut session, start).await?;

        let mut stream = Self {
            client: session.client,
            server: session.server,
            slot: start.slot.clone(),
            publication: start.publication.clone(),
            confirmed: Lsn::ZERO,
            floor: Lsn::ZERO,
            reported,
        };
        stream.floor = stream.check_gap(dsn, application_name, start.start).await?;
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
                ends: None,
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

    async fn receive(&mut self) -> Result<ReplicationEvent, ReplicationError> {
        let Ok(event) = timeout(SILENCE_LIMIT, self.client.recv()).await else {
            return Err(ReplicationError::Silent {
                server: self.server.clone(),
                slot: self.slot.clone(),
                after: SILENCE_LIMIT,
            });
        };
        match event {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(self.ended()),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Tells the server, at the stream's [`Pace`], that everything up to `lsn` is durable elsewhere:
    /// it may forget it. A position below an earlier one, of this session or one before, changes nothing.
    pub fn confirm(&mut self, lsn: Lsn) {
        if lsn <= self.floor {
            return;
        }
        self.confirmed = self.confirmed.max(lsn);
        self.client.update_applied_lsn(lsn.into());
    }

    /// The highest position confirmed on this stream, [`Lsn::ZERO`] if none was.
    pub fn confirmed(&self) -> Lsn {
        self.confirmed
    }

    /// Ends the stream; first waits, for a moment, until the last confirmed position was reported.
    ///
    /// # Errors
    /// What had ended the stream before. The slot is free or about to be in any case.
    pub async fn close(mut self) -> Result<(), ReplicationError> {
        let metrics = self.client.metrics();
        let report = async {
            while Lsn::from(metrics.last_applied_lsn()) < self.confirmed {
                if self.reported.changed().await.is_err() {
                    return; // the session is over
                }
            }
        };
        // A server that does not take the report sends again from an earlier position: harmless.
        let _ = timeout(STATUS_INTERVAL * 4, report).await;
        self.client
            .shutdown()
            .await
            .map_err(|source| self.failed(source))
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
                let message = Message {
                    transactional,
                    lsn,
                    prefix,
                    content,
                };
                Ok(at(lsn, Change::Message(message)))
            }
            // sent only if a position to stop at was configured
            ReplicationEvent::StoppedAt { .. } => Err(self.ended()),
        }
    }

    fn decode(&self, data: Bytes) -> Result<Change, ReplicationError> {
        decode(data).map_err(|source| ReplicationError::Decode {
            server: self.server.clone(),
            slot: self.slot.clone(),
            source,
        })
    }

    /// The slot cannot be missing here, so an unknown object is the publication.
    fn failed(&self, source: PgWireError) -> ReplicationError {
        match error::sqlstate(&source) {
            Some("42704") => ReplicationError::PublicationMissing {
                server: self.server.clone(),
                slot: self.slot.clone(),
                publication: self.publication.clone(),
            },
            _ => ReplicationError::from_wire(&self.server, "stream changes", source),
        }
    }

    fn ended(&self) -> ReplicationError {
        ReplicationError::Ended {
            server: self.server.clone(),
            slot: self.slot.clone(),
        }
    }

    /// Where the slot stands. Now that it is ours nobody else can move it, so this reading is final.
    async fn check_gap(
        &self,
        dsn: &Dsn,
        application_name: &str,
        start: Lsn,
    ) -> Result<Lsn, ReplicationError> {
        let session = connect::connect(dsn, &Session::named(application_name)).await?;
        let read = "select confirmed_flush_lsn from pg_replication_slots where slot_name = $1";
        let row = session
            .query_one(read, &[&self.slot])
            .await
            .map_err(|source| ReplicationError::Query {
                server: self.server.clone(),
                intent: "read the slot",
                source,
            })?;
        session.close().await;
        let confirmed: Option<Lsn> = row.get(0);
        gap(&self.server, &self.slot, start, confirmed)?;
        Ok(confirmed.unwrap_or(Lsn::ZERO))
    }
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChangeStream({} on {})", self.slot, self.server)
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

async fn check_system(
    session: &mut ReplicationSession,
    start: &StreamStart,
) -> Result<(), ReplicationError> {
    let found = session.identify_system().await?;
    if found == start.system {
        return Ok(());
    }
    Err(ReplicationError::SystemChanged {
        server: session.server().to_owned(),
        expected: start.system,
        found,
    })
}

/// Says in advance what the server would refuse, or would not.
async fn check_slot(
    session: &mut ReplicationSession,
    start: &StreamStart,
) -> Result<(), ReplicationError> {
    let (server, slot) = (session.server().to_owned(), start.slot.clone());
    let read = format!(
        "select confirmed_flush_lsn, wal_status, active_pid, \
           exists (select from pg_catalog.pg_publication where pubname = '{}') \
         from pg_catalog.pg_replication_slots where slot_name = '{slot}'",
        start.publication
    );
    let rows = session.client.simple_query(&read).await;
    let rows = rows.map_err(|e| ReplicationError::from_wire(&server, "read the slot", e))?;
    let Some(row) = rows.first() else {
        return Err(ReplicationError::SlotMissing { server, slot });
    };
    if column(row, 1) == Some("lost") {
        return Err(ReplicationError::SlotLost { server, slot });
    }
    if let Some(pid) = column(row, 2) {
        return Err(ReplicationError::SlotBusy {
            server,
            slot,
            pid: pid.parse().ok(),
        });
    }
    // 18 and newer would leave out what it publishes, without a word.
    if column(row, 3) != Some("t") {
        let publication = start.publication.clone();
        return Err(ReplicationError::PublicationMissing {
            server,
            slot,
            publication,
        });
    }
    let confirmed = column(row, 0).and_then(|text| text.parse().ok());
    gap(&server, &slot, start.start, confirmed)
}

fn gap(
    server: &str,
    slot: &str,
    start: Lsn,
    confirmed: Option<Lsn>,
) -> Result<(), ReplicationError> {
    let (server, slot) = (server.to_owned(), slot.to_owned());
    match confirmed {
        Some(confirmed) if start < confirmed => Err(ReplicationError::Gap {
            server,
            slot,
            start,
            confirmed,
        }),
        Some(_) => Ok(()),
        None => Err(ReplicationError::SlotLost { server, slot }),
    }
}

async fn start_streaming(
    session: &mut ReplicationSession,
    start: &StreamStart,
) -> Result<(), ReplicationError> {
    let started = async {
        session.client.start().await?;
        session.client.wait_started().await
    };
    started
        .await
        .map_err(|source| start_error(session.server(), &start.slot, source))
}

fn start_error(server: &str, slot: &str, source: PgWireError) -> ReplicationError {
    let (server, slot) = (server.to_owned(), slot.to_owned());
    match (error::sqlstate(&source), &source) {
        (Some("42704"), _) => ReplicationError::SlotMissing { server, slot },
        (Some("55006"), PgWireError::Server(message)) => ReplicationError::SlotBusy {
            server,
            slot,
            pid: last_number(message),
        },
        (Some("55000"), PgWireError::Server(message)) if message.contains("can no longer") => {
            ReplicationError::SlotLost { server, slot }
        }
        _ => ReplicationError::from_wire(&server, "start streaming", source),
    }
}

/// `... is active for PID 123 (SQLSTATE 55006)` in whatever language: the number before the state.
fn last_number(message: &str) -> Option<i32> {
    let (text, _) = message.rsplit_once('(')?;
    text.rsplit(|c: char| !c.is_ascii_digit())
        .find(|word| !word.is_empty())?
        .parse()
        .ok()
}
