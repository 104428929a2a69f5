//! The replication protocol on a session that is logged in: commands, the start of a stream, and status reports.

use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::SystemTime;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use connect::{Refusal, Walsender};
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::RawEvent;
use super::error::WireError;
use super::frames::{BEFORE_CHANGE, CHANGE, FrameReader, ServerMessage, invalid};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{begins, ends};

/// The kind of a CopyData message that contains a position of the server (keepalive).
const KEEP_ALIVE: u8 = b'k';
/// Where in a keepalive the server states whether it waits for a reply.
const REPLY: usize = 17;
/// The kind of a CopyData message that reports positions of the client.
const STATUS: u8 = b'r';
/// 2000-01-01 in microseconds of Unix time: the protocol counts from there.
const EPOCH_US: i64 = 946_684_800_000_000;
/// The message Terminate, which ends a session.
const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];

/// The connection of a session.
pub(super) trait Link: AsyncRead + AsyncWrite + Send + Unpin {}

impl<L: AsyncRead + AsyncWrite + Send + Unpin> Link for L {}

/// A row of text values.
pub(super) type TextRow = Vec<Option<Bytes>>;

/// A message of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StreamMessage {
    pub(super) event: RawEvent,
    /// The server waits for a status report.
    pub(super) requests_reply: bool,
    /// The size of the message.
    pub(super) bytes: usize,
}

/// A replication session that is logged in. If this value is dropped, the session ends.
pub(super) struct ReplicationConnection {
    link: Box<dyn Link>,
    messages: FrameReader,
    /// A command was sent whose answer has not been read completely.
    busy: bool,
}

impl ReplicationConnection {
    pub(super) fn new(session: Walsender) -> Self {
        let (unread, link) = session.into_stream();
        Self::over(unread, link)
    }

    pub(super) fn over(unread: Bytes, link: impl Link + 'static) -> Self {
        Self {
            link: Box::new(link),
            messages: FrameReader::new(unread),
            busy: false,
        }
    }

    /// Runs an SQL query or a replication command, and returns its rows. The session remains usable after an error of
    /// the server. It does not if the caller drops the future.
    pub(super) async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, WireError> {
        self.send_query(sql).await?;
        let (mut rows, mut refused) = (Vec::new(), None);
        loop {
            match self.receive().await? {
                ServerMessage::Other(Message::DataRow(body)) => rows.push(text_row(&body)?),
                ServerMessage::Other(Message::ErrorResponse(body)) => {
                    refused = Some(Refusal::read(&body));
                }
                ServerMessage::Other(Message::ReadyForQuery(_)) => break,
                ServerMessage::CopyBoth | ServerMessage::Data(_) | ServerMessage::Other(_) => {}
            }
        }
        self.busy = false;
        refused.map_or(Ok(rows), |refusal| Err(WireError::Refused(refusal)))
    }

    /// Sends the command `START_REPLICATION`, and waits until the server streams. If `trims` is true, very large values
    /// are removed from row changes.
    pub(super) async fn start(&mut self, command: &str, trims: bool) -> Result<(), WireError> {
        self.send_query(command).await?;
        loop {
            match self.receive().await? {
                ServerMessage::CopyBoth => break,
                ServerMessage::Other(Message::ErrorResponse(body)) => {
                    return Err(WireError::Refused(Refusal::read(&body)));
                }
                ServerMessage::Data(_) | ServerMessage::Other(_) => {}
            }
        }
        self.messages.trims = trims;
        Ok(())
    }

    /// Waits for more bytes of the stream, and returns their number. This method is cancel safe.
    pub(super) async fn fill(&mut self) -> io::Result<usize> {
        self.messages.fill(&mut self.link).await
    }

    /// Returns the next message of the stream, `None` if it has not arrived completely.
    ///
    /// # Errors
    /// Returns the error of the server, or [`WireError::Ended`] if the server has ended the stream.
    pub(super) fn next(&mut self) -> Result<Option<StreamMessage>, WireError> {
        while let Some(message) = self.messages.next()? {
            match message {
                ServerMessage::Data(data) => return Ok(Some(stream_message(data)?)),
                ServerMessage::Other(Message::ErrorResponse(body)) => {
                    return Err(WireError::Refused(Refusal::read(&body)));
                }
                ServerMessage::Other(Message::CopyDone | Message::CommandComplete(_)) => {
                    return Err(WireError::Ended);
                }
                ServerMessage::CopyBoth | ServerMessage::Other(_) => {}
            }
        }
        Ok(None)
    }

    /// Reports that everything up to `position` is durable on the other side. If `replies` is true, this answers a
    /// keepalive, and the server sends another one.
    pub(super) async fn report(&mut self, position: Lsn, replies: bool) -> io::Result<()> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let mut status = BytesMut::with_capacity(34);
        status.put_u8(STATUS);
        // These are the written, the flushed and the applied position.
        for _ in 0..3 {
            status.put_u64(position.0);
        }
        status.put_i64(now - EPOCH_US);
        status.put_u8(u8::from(replies));
        let mut message = BytesMut::with_capacity(39);
        frontend::CopyData::new(status.freeze())?.write(&mut message);
        self.send(&message).await
    }

    /// Ends the session, and waits until the server has closed it: then the slot is free.
    pub(super) async fn end(&mut self) -> io::Result<()> {
        self.send(&TERMINATE).await?;
        tokio::io::copy(&mut self.link, &mut tokio::io::sink()).await?;
        Ok(())
    }

    async fn send_query(&mut self, sql: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.busy, true) {
            return Err(io::Error::other("an earlier command was given up"));
        }
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message)?;
        self.send(&message).await
    }

    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.link.write_all(message).await?;
        self.link.flush().await
    }

    /// Waits for the next message of any kind.
    async fn receive(&mut self) -> io::Result<ServerMessage> {
        loop {
            if let Some(message) = self.messages.next()? {
                return Ok(message);
            }
            self.fill().await?;
        }
    }
}

impl Drop for ReplicationConnection {
    /// Sends Terminate if that is possible at once: otherwise a server that holds an exported snapshot logs a lost
    /// connection.
    fn drop(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let _ = Pin::new(&mut self.link).poll_write(&mut context, &TERMINATE);
        let _ = Pin::new(&mut self.link).poll_flush(&mut context);
    }
}

/// Returns the event of a pgoutput message that a transport returned at `at`. The position of a `Begin` is that of the
/// commit record, which the transports do not return.
pub(super) fn change_event(at: Lsn, message: Bytes) -> RawEvent {
    RawEvent::Message {
        at: begins(&message).unwrap_or(at),
        ends: ends(&message),
        message,
    }
}

fn stream_message(mut data: Bytes) -> io::Result<StreamMessage> {
    let bytes = data.len();
    let position = data.get(1..9).and_then(|position| position.try_into().ok());
    let position = position.map(|position| Lsn(u64::from_be_bytes(position)));
    let (event, requests_reply) = match (data.first(), position) {
        (Some(&CHANGE), Some(at)) if bytes >= BEFORE_CHANGE => {
            data.advance(BEFORE_CHANGE);
            (change_event(at, data), false)
        }
        (Some(&KEEP_ALIVE), Some(wal_end)) if bytes > REPLY => {
            (RawEvent::KeepAlive { wal_end }, data[REPLY] != 0)
        }
        _ => return Err(invalid("a message came that does not belong to a stream")),
    };
    Ok(StreamMessage {
        event,
        requests_reply,
        bytes,
    })
}

fn text_row(body: &DataRowBody) -> io::Result<TextRow> {
    let text = |range| body.buffer_bytes().slice(range);
    body.ranges().map(|range| Ok(range.map(text))).collect()
}
