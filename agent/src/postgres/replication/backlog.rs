//! Reads the backlog of a slot in large pieces by SQL.
//!
//! A walsender sends each change in a message of its own, which takes several times as long as decoding it. If the
//! stream is far behind the end of the log, the agent therefore calls an SQL function that returns many changes at
//! once. The function reads a temporary copy of the slot, which the server drops at the end of the session. The slot
//! itself keeps all changes until they are confirmed as durable on the other side (I3).
//!
//! 1. The agent copies the slot and reads the first piece while the walsender still sends.
//! 2. It ends the walsender between two transactions, and skips in the backlog the transactions that the walsender has
//!    sent.
//! 3. At the end of the backlog it opens another walsender. This one first decodes the log from the restart position of
//!    the slot, which takes a core of the source for a while. So the agent opens it only after it has read the whole
//!    backlog.
//!
//! For each piece, the server decodes the log again from the start of the oldest transaction that was in progress. A
//! piece is therefore at least as large as the log that is decoded again for it. If this is more than the maximum of
//! [`PIECE`], a walsender reads the rest.
//!
//! The agent does not use SQL for a failover slot, because its changes must wait for the standbys.

mod rows;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use connect::{Connected, Session};
use plans::sql::quote_literal;
use plans::table::Format;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_postgres::types::ToSql;
use tokio_util::task::AbortOnDropHandle;

use self::rows::BacklogRows;
use super::origin::SlotEndpoint;
use super::{IDENTIFY, ReplicationError, SystemIdentity};
use crate::postgres::copy_pipe::{CopyOutput, PipeError};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{begins, ends};

/// The minimum and maximum bytes of log per piece. A server logs the running transactions every 15 seconds, and
/// decoding can only restart there. With small pieces, it would decode most of the log several times.
const PIECE: (u64, u64) = (64 << 20, 1 << 30);
/// If fewer bytes than this are left before the end of the log, a walsender takes over.
const NEAR: u64 = 1 << 20;
/// Maximum bytes of messages that are read and not yet consumed.
const AHEAD_BYTES: usize = 8 << 20;
/// Bytes of messages that the reader collects before it passes them on.
const CHUNK_BYTES: usize = 128 << 10;
/// The agent advances the slot each time that this many more bytes of log are confirmed.
const NOTIFY_AFTER: u64 = 32 << 20;

/// The next item of a backlog.
pub(super) enum BacklogItem {
    /// A pgoutput message and its position.
    Message(Lsn, Bytes),
    /// The end of the backlog: it has returned every transaction that commits before this position. A walsender
    /// continues there.
    End(Lsn),
}

/// A backlog that a task reads ahead. If it is dropped, the task and its session end.
pub(super) struct Backlog {
    chunks: mpsc::UnboundedReceiver<Result<BacklogChunk, ReplicationError>>,
    /// The chunk whose messages are being returned.
    chunk: BacklogChunk,
    /// Transactions that commit before this position came from a walsender.
    from: Lsn,
    /// True within a transaction that came from a walsender, so that its messages are skipped.
    skips: bool,
    confirmed: watch::Sender<Lsn>,
    _reader: AbortOnDropHandle<()>,
}

/// Messages that the reader passes on together; smaller than a piece.
#[derive(Default)]
struct BacklogChunk {
    messages: VecDeque<(Lsn, Bytes)>,
    bytes: usize,
    end: Option<Lsn>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Backlog {
    /// Starts to read the transactions that commit after the start position of `origin`.
    pub(super) fn begin(origin: SlotEndpoint) -> Self {
        let (send, chunks) = mpsc::unbounded_channel();
        let (confirmed, heard) = watch::channel(Lsn::ZERO);
        Self {
            chunks,
            chunk: BacklogChunk::default(),
            from: Lsn::ZERO,
            skips: false,
            confirmed,
            _reader: AbortOnDropHandle::new(tokio::spawn(run(origin, send, heard))),
        }
    }

    /// Returns whether the first chunk has arrived; `None` if the reader has ended without one, because the backlog
    /// cannot be read by SQL.
    ///
    /// # Errors
    /// Returns the error of the server.
    pub(super) fn is_ready(&mut self) -> Result<Option<bool>, ReplicationError> {
        if !self.chunk.messages.is_empty() {
            return Ok(Some(true));
        }
        match self.chunks.try_recv() {
            Ok(chunk) => {
                self.chunk = chunk?;
                Ok(Some(true))
            }
            Err(mpsc::error::TryRecvError::Empty) => Ok(Some(false)),
            Err(mpsc::error::TryRecvError::Disconnected) => Ok(None),
        }
    }

    /// Sets the position up to which the stream has received all transactions from the walsender. The backlog leaves
    /// them out.
    pub(super) fn take_over(&mut self, from: Lsn) {
        self.from = from;
    }

    /// Waits for the next item; `None` at the end. This method is cancel safe.
    ///
    /// # Errors
    /// Returns the error of the server or of the connection.
    pub(super) async fn next(&mut self) -> Result<Option<BacklogItem>, ReplicationError> {
        loop {
            while let Some((at, message)) = self.chunk.messages.pop_front() {
                if !self.was_sent(&message) {
                    return Ok(Some(BacklogItem::Message(at, message)));
                }
            }
            if let Some(at) = self.chunk.end.take() {
                return Ok(Some(BacklogItem::End(at)));
            }
            // An empty chunk releases its permits: a large row may need all of them.
            self.chunk = BacklogChunk::default();
            match self.chunks.recv().await {
                Some(chunk) => self.chunk = chunk?,
                None => return Ok(None),
            }
        }
    }

    /// Returns whether a message is part of a transaction that a walsender has sent.
    fn was_sent(&mut self, message: &[u8]) -> bool {
        let was_sent = self.skips || begins(message).is_some_and(|commit| commit < self.from);
        self.skips = was_sent && ends(message).is_none();
        was_sent
    }

    /// Records that all changes up to `lsn` are durable on the other side.
    pub(super) fn confirm(&self, lsn: Lsn) {
        self.confirmed.send_replace(lsn);
    }
}

/// Returns the name of the temporary copy. It begins like the names of the migration, so that a search for leftovers of
/// a migration finds it.
fn copy_name(slot: &str) -> String {
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let stem = slot.rsplit_once('_').map_or(slot, |(stem, _)| stem);
    format!("{stem}_cmp_{}", &unique[..8])
}

/// Reads the backlog to its end.
async fn run(
    origin: SlotEndpoint,
    send: mpsc::UnboundedSender<Result<BacklogChunk, ReplicationError>>,
    confirmed: watch::Receiver<Lsn>,
) {
    let read = async {
        let mut reader = BacklogReader::open(origin, send.clone(), confirmed).await?;
        reader.read().await
    };
    let last = read.await.map(|end| {
        end.map(|end| BacklogChunk {
            end: Some(end),
            ..BacklogChunk::default()
        })
    });
    if let Some(last) = last.transpose() {
        // The receiver may have been dropped.
        let _ = send.send(last);
    }
}

/// The session that reads the backlog piece by piece. A piece is the part of the log that one query decodes.
struct BacklogReader {
    session: Connected,
    origin: SlotEndpoint,
    /// The name of the temporary copy of the slot.
    copy: String,
    send: mpsc::UnboundedSender<Result<BacklogChunk, ReplicationError>>,
    room: Arc<Semaphore>,
    confirmed: watch::Receiver<Lsn>,
    /// The position to which the reader has advanced the original slot.
    notified: Lsn,
}

/// The position of the slot's copy.
struct SlotPosition {
    /// All transactions that commit before this position have been read.
    at: Lsn,
    /// The position at which decoding restarts.
    restart: Lsn,
    /// The end of the log.
    end: Lsn,
}

impl BacklogReader {
    async fn open(
        origin: SlotEndpoint,
        send: mpsc::UnboundedSender<Result<BacklogChunk, ReplicationError>>,
        confirmed: watch::Receiver<Lsn>,
    ) -> Result<Self, ReplicationError> {
        let named = Session::named(&origin.application_name);
        Ok(Self {
            session: connect::connect(&origin.dsn, &named).await?,
            copy: copy_name(&origin.start.slot),
            send,
            room: Arc::new(Semaphore::new(AHEAD_BYTES)),
            confirmed,
            notified: origin.start.start,
            origin,
        })
    }

    /// Reads piece after piece. Returns the position that it reached; `None` if it read nothing, or if the receiver was
    /// dropped.
    async fn read(&mut self) -> Result<Option<Lsn>, ReplicationError> {
        self.check_system().await?;
        if self.has_standbys().await? {
            return Ok(None);
        }
        self.copy_slot().await?;
        let mut came = None;
        loop {
            let standing = self.standing().await?;
            let (again, left) = (
                standing.at.bytes_since(standing.restart),
                standing.end.bytes_since(standing.at),
            );
            if left < NEAR || again > PIECE.1 {
                return Ok(came.map(|()| standing.at));
            }
            tracing::debug!(at = %standing.at, left, again, "a backlog is read");
            self.notify_slot().await;
            let piece = again.clamp(PIECE.0, PIECE.1);
            // The last piece includes a rest that would be too small, and everything that is written in the meantime.
            let until = (left > 2 * piece).then(|| Lsn(standing.at.0 + piece));
            if !self.piece(until).await? {
                return Ok(None);
            }
            came = Some(());
        }
    }

    async fn check_system(&self) -> Result<(), ReplicationError> {
        let row = self.row(IDENTIFY, &[], "identify the system").await?;
        let (system, timeline): (String, String) = (row.get(0), row.get(1));
        let found = SystemIdentity {
            system_id: system.parse().unwrap_or(0),
            timeline: u32::from_str_radix(&timeline, 16).unwrap_or(0),
        };
        if found == self.origin.start.system {
            return Ok(());
        }
        Err(ReplicationError::SystemChanged {
            server: self.session.server().to_owned(),
            expected: self.origin.start.system,
            found,
        })
    }

    /// Returns whether this is a failover slot, which standbys synchronize (PostgreSQL 17 and newer).
    async fn has_standbys(&self) -> Result<bool, ReplicationError> {
        let read = "select coalesce((pg_catalog.to_jsonb(s) ->> 'failover')::boolean, false) \
                    from pg_catalog.pg_replication_slots s where slot_name = $1";
        let row = self
            .row(read, &[&self.origin.start.slot], "read the slot")
            .await?;
        Ok(row.get(0))
    }

    async fn copy_slot(&self) -> Result<(), ReplicationError> {
        const INTENT: &str = "copy the slot";
        let copy = "select pg_catalog.set_config('work_mem', '32MB', false) \
                    from pg_catalog.pg_copy_logical_replication_slot($1, $2, true)";
        self.row(copy, &[&self.origin.start.slot, &self.copy], INTENT)
            .await?;
        if self.standing().await?.at < self.origin.start.start {
            self.advance(&self.copy, self.origin.start.start).await?;
        }
        Ok(())
    }

    /// Advances a slot to `lsn`, without returning its changes.
    async fn advance(&self, slot: &str, lsn: Lsn) -> Result<(), ReplicationError> {
        let advance = "select from pg_catalog.pg_replication_slot_advance($1, $2)";
        self.row(advance, &[&slot, &lsn], "advance the slot")
            .await
            .map(drop)
    }

    /// Reads the position of the slot's copy.
    async fn standing(&self) -> Result<SlotPosition, ReplicationError> {
        let read = "select confirmed_flush_lsn, restart_lsn, pg_catalog.pg_current_wal_flush_lsn() \
                    from pg_catalog.pg_replication_slots where slot_name = $1";
        let row = self.row(read, &[&self.copy], "read the slot").await?;
        Ok(SlotPosition {
            at: row.get(0),
            restart: row.get(1),
            end: row.get(2),
        })
    }

    /// Advances the slot to the confirmed position. If this fails, a later call or a walsender does it.
    async fn notify_slot(&mut self) {
        let confirmed = *self.confirmed.borrow();
        if confirmed.bytes_since(self.notified) < NOTIFY_AFTER {
            return;
        }
        match self.advance(&self.origin.start.slot, confirmed).await {
            Ok(()) => self.notified = confirmed,
            Err(error) => tracing::debug!(%error, "the slot was not told what is durable"),
        }
    }

    /// Reads the transactions that commit before `until`, or all. Returns false if the receiver was dropped.
    async fn piece(&mut self, until: Option<Lsn>) -> Result<bool, ReplicationError> {
        let sql = self.changes(until);
        let (server, trims) = (self.session.server().to_owned(), self.origin.start.trims);
        let failed = |error: PipeError| ReplicationError::Refused {
            server: server.clone(),
            intent: "read changes",
            class: error.class(),
            message: error.to_string(),
        };
        let mut out = CopyOutput::start(&mut self.session, &sql)
            .await
            .map_err(failed)?;
        let (mut rows, mut buffer) = (BacklogRows::new(trims), vec![0; CHUNK_BYTES]);
        let mut chunk = BacklogChunk::default();
        while let Some(count) = out.read(&mut buffer).await.map_err(failed)? {
            let taken = rows.take(&buffer[..count], &mut chunk.messages);
            chunk.bytes += taken.map_err(|error| failed(error.into()))?;
            if chunk.bytes >= CHUNK_BYTES
                && !hand_over(&self.room, &self.send, std::mem::take(&mut chunk)).await
            {
                return Ok(false);
            }
        }
        out.end();
        Ok(hand_over(&self.room, &self.send, chunk).await)
    }

    /// Returns the statement that reads positions and messages, with the same options as a walsender gets.
    fn changes(&self, until: Option<Lsn>) -> String {
        let start = &self.origin.start;
        let binary = start.format == Format::Binary;
        let options = [
            ("proto_version", "1"),
            ("publication_names", start.publication.as_str()),
            ("messages", "true"),
            ("binary", if binary { "true" } else { "false" }),
        ];
        let options = options.map(|(name, value)| format!("'{name}', {}", quote_literal(value)));
        let until = until.map_or("null".to_owned(), |until| format!("'{until}'"));
        format!(
            "copy (select lsn, data from pg_catalog.pg_logical_slot_get_binary_changes({}, {until}, null, {})) \
             to stdout (format binary)",
            quote_literal(&self.copy),
            options.join(", ")
        )
    }

    async fn row(
        &self,
        text: &str,
        parameters: &[&(dyn ToSql + Sync)],
        intent: &'static str,
    ) -> Result<tokio_postgres::Row, ReplicationError> {
        let row = self.session.query_opt(text, parameters).await;
        let row = row.map_err(|source| self.failed(intent, source))?;
        row.ok_or_else(|| ReplicationError::SlotMissing {
            server: self.session.server().to_owned(),
            slot: self.origin.start.slot.clone(),
        })
    }

    fn failed(&self, intent: &'static str, source: tokio_postgres::Error) -> ReplicationError {
        ReplicationError::Query {
            server: self.session.server().to_owned(),
            intent,
            source,
        }
    }
}

/// Sends a chunk once the receiver has room for it. Returns false if the receiver was dropped.
async fn hand_over(
    room: &Arc<Semaphore>,
    send: &mpsc::UnboundedSender<Result<BacklogChunk, ReplicationError>>,
    mut chunk: BacklogChunk,
) -> bool {
    let bytes = u32::try_from(chunk.bytes.min(AHEAD_BYTES)).unwrap_or(u32::MAX);
    chunk._room = room.clone().acquire_many_owned(bytes).await.ok();
    send.send(Ok(chunk)).is_ok()
}
