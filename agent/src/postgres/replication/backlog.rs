//! A backlog of a slot, read in large pieces by SQL.
//!
//! A walsender hands each change to the network by itself, which takes several times as long as to decode it. What lies
//! far back is asked of a function that answers with many at once. It reads a temporary copy of the slot, which goes
//! with its session: the slot itself keeps everything until it is durable elsewhere and confirmed (I3).
//!
//! Order: the slot is copied and the first piece read while a walsender still sends; the walsender ends between two
//! transactions, what it has sent is skipped, and behind the backlog another one goes on. That one has to decode from
//! where the slot itself was left, which takes a core of the source for a while: it is opened once the rest is taken.
//! Each piece is decoded from where the oldest transaction that was open had begun; so a piece is no smaller than what
//! has to be read once more for it, and where that is much all is left to a walsender.
//! Absent: slots that standbys keep too, whose changes have to wait for those standbys.

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

/// The least of the log that is read at once, and the most. A server logs which transactions are open every 15 seconds:
/// so much is written in between that most pieces would be read several times if they were small.
const PIECE: (u64, u64) = (64 << 20, 1 << 30);
/// So near to the end of the log a walsender takes over.
const NEAR: u64 = 1 << 20;
/// What was read and not taken yet.
const AHEAD_BYTES: usize = 8 << 20;
/// What is taken from the server, and handed over, at once.
const CHUNK_BYTES: usize = 128 << 10;
/// The slot is told of what was confirmed after so much of the log.
const TELL_AFTER: u64 = 32 << 20;

/// What a backlog gives next.
pub(super) enum BacklogItem {
    /// A message of pgoutput, and its position.
    Message(Lsn, Bytes),
    /// All that commits before this position was given; a walsender goes on from there.
    End(Lsn),
}

/// A backlog that is being read ahead; dropping it ends its session.
pub(super) struct Backlog {
    chunks: mpsc::UnboundedReceiver<Result<BacklogChunk, ReplicationError>>,
    chunk: BacklogChunk,
    /// Transactions that commit before it were taken from a walsender.
    from: Lsn,
    /// Within such a transaction.
    skips: bool,
    confirmed: watch::Sender<Lsn>,
    _reader: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct BacklogChunk {
    messages: VecDeque<(Lsn, Bytes)>,
    bytes: usize,
    end: Option<Lsn>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Backlog {
    /// Begins to read what commits after the position where `origin` starts.
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

    /// Whether its first piece has come; `None` when it is not to be read like this.
    ///
    /// # Errors
    /// What the server refused.
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

    /// The walsender has ended; what commits before `from` was taken from it.
    pub(super) fn take_over(&mut self, from: Lsn) {
        self.from = from;
    }

    /// Waits for the next item; `None` when it has ended. May be cancelled: nothing is lost.
    ///
    /// # Errors
    /// What the server refused, or what ended the session.
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
            // What is empty gives its room back: a large row may need all of it.
            self.chunk = BacklogChunk::default();
            match self.chunks.recv().await {
                Some(chunk) => self.chunk = chunk?,
                None => return Ok(None),
            }
        }
    }

    /// Whether a message is of a transaction that a walsender has sent.
    fn was_sent(&mut self, message: &[u8]) -> bool {
        let was_sent = self.skips || begins(message).is_some_and(|commit| commit < self.from);
        self.skips = was_sent && ends(message).is_none();
        was_sent
    }

    /// Everything up to `lsn` is durable elsewhere.
    pub(super) fn confirm(&self, lsn: Lsn) {
        self.confirmed.send_replace(lsn);
    }
}

/// Named so that who looks for what is left of a migration knows whose it is.
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
        // Nobody may want it any more.
        let _ = send.send(last);
    }
}

struct BacklogReader {
    session: Connected,
    origin: SlotEndpoint,
    /// Name of the temporary slot.
    copy: String,
    send: mpsc::UnboundedSender<Result<BacklogChunk, ReplicationError>>,
    room: Arc<Semaphore>,
    confirmed: watch::Receiver<Lsn>,
    /// What the slot was told of.
    told: Lsn,
}

/// How far the copy has come.
struct SlotPosition {
    /// What commits before it was read.
    at: Lsn,
    /// Where decoding begins.
    restart: Lsn,
    /// End of the log.
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
            told: origin.start.start,
            origin,
        })
    }

    /// Reads piece after piece; how far it came, `None` if nothing was read, or nobody wants it any more.
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
            self.tell().await;
            let piece = again.clamp(PIECE.0, PIECE.1);
            // What would be left of a last piece is read along with it, and all that comes meanwhile.
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

    /// Whether standbys keep a copy of the slot, as they can from version 17 on.
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

    async fn advance(&self, slot: &str, lsn: Lsn) -> Result<(), ReplicationError> {
        let advance = "select from pg_catalog.pg_replication_slot_advance($1, $2)";
        self.row(advance, &[&slot, &lsn], "advance the slot")
            .await
            .map(drop)
    }

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

    /// Tells the slot what is durable elsewhere. Where that fails it is told later, at the latest by a walsender.
    async fn tell(&mut self) {
        let confirmed = *self.confirmed.borrow();
        if confirmed.bytes_since(self.told) < TELL_AFTER {
            return;
        }
        match self.advance(&self.origin.start.slot, confirmed).await {
            Ok(()) => self.told = confirmed,
            Err(error) => tracing::debug!(%error, "the slot was not told what is durable"),
        }
    }

    /// Reads what commits before `until`, or all; false when nobody wants it any more.
    async fn piece(&mut self, until: Option<Lsn>) -> Result<bool, ReplicationError> {
        let sql = self.changes(until);
        let (server, trims) = (self.session.server().to_owned(), self.origin.start.trims);
        let failed = |error: PipeError| ReplicationError::Refused {
            server: server.clone(),
            intent: "read changes",
            class: error.class(),
            message: error.to_string(),
        };
        let mut out = CopyOutput::ask(&mut self.session, &sql)
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

    /// The statement that gives positions and messages; a walsender is asked for the same.
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

/// Waits for room; false when nobody wants it any more.
async fn hand_over(
    room: &Arc<Semaphore>,
    send: &mpsc::UnboundedSender<Result<BacklogChunk, ReplicationError>>,
    mut chunk: BacklogChunk,
) -> bool {
    let bytes = u32::try_from(chunk.bytes.min(AHEAD_BYTES)).unwrap_or(u32::MAX);
    chunk._room = room.clone().acquire_many_owned(bytes).await.ok();
    send.send(Ok(chunk)).is_ok()
}
