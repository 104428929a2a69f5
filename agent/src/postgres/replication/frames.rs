//! Splits the bytes that a server sends on a replication session into messages.
//!
//! A message is a slice of the read buffer, not a copy. Of a very large row change, only the part that stays is in
//! memory, if the reader removes large values.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use postgres_protocol::message::backend::Message;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::postgres::pgoutput::{MessageTrimmer, WHOLE};

/// Size of a new read buffer. It is large because many changes arrive at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Minimum free space in bytes for a read. A read that returns fewer bytes has emptied the connection.
pub(super) const LEAST_BYTES: usize = 64 << 10;
/// Maximum size of a message in bytes, and so of a row that can be moved.
const MESSAGE_LIMIT_BYTES: usize = 512 << 20;

/// Length of a message header: one byte for the type and four for the length.
const HEADER: usize = 5;
/// The number of bytes of the length, which counts itself.
const LENGTH: usize = 4;
/// The type of a CopyData message, which contains data of the stream.
const COPY_DATA: u8 = b'd';
/// The type of a CopyBothResponse message: the stream has started.
const COPY_BOTH: u8 = b'W';
/// The kind of a CopyData message that contains a change (XLogData).
pub(super) const CHANGE: u8 = b'w';
/// Length of what precedes the change in such a message: the kind, two positions and the time.
pub(super) const BEFORE_CHANGE: usize = 25;

/// A message of the server.
pub(super) enum ServerMessage {
    /// The stream has started.
    CopyBoth,
    /// The body of a CopyData message.
    Data(Bytes),
    /// Any other message.
    Other(Message),
}

/// Reads messages of which the bytes can be split anywhere.
#[derive(Debug)]
pub(super) struct FrameReader {
    buffer: BytesMut,
    /// True if very large values are removed from row changes.
    pub(super) trims: bool,
    large: Option<TrimmedMessage>,
}

/// A large CopyData message that has not arrived completely.
#[derive(Debug)]
struct TrimmedMessage {
    /// The bytes that stay.
    kept: BytesMut,
    /// The number of bytes still to come.
    left: usize,
    trim: MessageTrimmer,
}

impl FrameReader {
    /// Starts with the bytes `unread`, which have already arrived.
    pub(super) fn new(unread: Bytes) -> Self {
        Self {
            buffer: BytesMut::from(unread),
            trims: false,
            large: None,
        }
    }

    /// Waits for more bytes and returns their number. This method is cancel safe.
    ///
    /// # Errors
    /// Returns the error of the connection; [`io::ErrorKind::UnexpectedEof`] if the server has closed it.
    pub(super) async fn fill(&mut self, link: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        let whole = self.header()?.map_or(0, |(_, body)| HEADER + body);
        let missing = whole.saturating_sub(self.buffer.len());
        if self.buffer.capacity() - self.buffer.len() < missing.max(LEAST_BYTES) {
            self.buffer.reserve(missing.max(BUFFER_BYTES));
        }
        match link.read_buf(&mut self.buffer).await? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "connection closed",
            )),
            count => Ok(count),
        }
    }

    /// Returns the next message, `None` if it has not arrived completely.
    ///
    /// # Errors
    /// Returns an error if the bytes violate the protocol.
    pub(super) fn next(&mut self) -> io::Result<Option<ServerMessage>> {
        if let Some(large) = &mut self.large {
            large.take(&mut self.buffer);
            let whole = self.large.take_if(|large| large.left == 0);
            return Ok(whole.map(|large| ServerMessage::Data(large.kept.freeze())));
        }
        let Some((kind, body)) = self.header()? else {
            return Ok(None);
        };
        if self.trims && kind == COPY_DATA && body > WHOLE {
            self.buffer.advance(HEADER);
            self.large = Some(TrimmedMessage {
                kept: BytesMut::new(),
                left: body,
                trim: MessageTrimmer::default(),
            });
            return self.next();
        }
        if body > MESSAGE_LIMIT_BYTES {
            return Err(invalid(format!(
                "a message of {body} bytes came; the limit is {MESSAGE_LIMIT_BYTES} bytes"
            )));
        }
        if self.buffer.len() < HEADER + body {
            return Ok(None);
        }
        if kind != COPY_DATA && kind != COPY_BOTH {
            return Ok(Message::parse(&mut self.buffer)?.map(ServerMessage::Other));
        }
        self.buffer.advance(HEADER);
        let data = self.buffer.split_to(body).freeze();
        if body > BUFFER_BYTES {
            // Otherwise the reader would use the large buffer of this message from now on.
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        Ok(Some(match kind {
            COPY_DATA => ServerMessage::Data(data),
            _ => ServerMessage::CopyBoth,
        }))
    }

    /// Returns the type and the body length of the next message, once they have arrived.
    fn header(&self) -> io::Result<Option<(u8, usize)>> {
        let Some([kind, length @ ..]) = self.buffer.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let body = length.and_then(|length| length.checked_sub(LENGTH));
        let body = body.ok_or_else(|| invalid("a message has a length that none can have"))?;
        Ok(Some((*kind, body)))
    }
}

impl TrimmedMessage {
    /// Takes the bytes of this message from the start of `buffer`.
    fn take(&mut self, buffer: &mut BytesMut) {
        let count = self.left.min(buffer.len());
        let before = BEFORE_CHANGE.saturating_sub(self.kept.len()).min(count);
        self.kept.put_slice(&buffer[..before]);
        let change = &buffer[before..count];
        if self.kept.first().is_some_and(|kind| *kind != CHANGE) {
            self.kept.put_slice(change);
        } else {
            self.trim.take(change, &mut self.kept);
        }
        self.left -= count;
        buffer.advance(count);
    }
}

/// Returns the error for bytes that violate the protocol.
pub(super) fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a message as the server sends it.
    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = i32::try_from(body.len() + LENGTH).expect("a length");
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// Returns the body of a CopyData message with an INSERT of a row with one value of `size` bytes.
    fn insert(size: usize) -> Vec<u8> {
        let length = u32::try_from(size).expect("a size").to_be_bytes();
        let change = [&b"I\0\0\0\x07N\0\x01t"[..], &length, &vec![b'x'; size]].concat();
        [b"w", &[1; 24][..], &change].concat()
    }

    /// Reads `sent` in pieces and returns the messages. Other messages than CopyData are returned as empty bodies.
    fn read(sent: &[u8], pieces: &[usize], trims: bool) -> Vec<Bytes> {
        let (mut reader, mut messages) = (FrameReader::new(Bytes::new()), Vec::new());
        reader.trims = trims;
        let mut rest = sent;
        for size in pieces.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*size));
            rest = later;
            reader.buffer.put_slice(now);
            while let Some(message) = reader.next().expect("messages") {
                messages.push(match message {
                    ServerMessage::Data(data) => data,
                    ServerMessage::CopyBoth | ServerMessage::Other(_) => Bytes::new(),
                });
            }
            if rest.is_empty() {
                break;
            }
        }
        messages
    }

    #[test]
    fn messages_are_the_same_at_every_split_position() {
        let sent = [
            framed(COPY_BOTH, &[0; 3]),
            framed(COPY_DATA, b"kfirst"),
            framed(b'N', b"\0"),
            framed(COPY_DATA, b""),
            framed(COPY_DATA, &insert(9)),
        ]
        .concat();
        let expected = [
            Bytes::new(),
            Bytes::from_static(b"kfirst"),
            Bytes::new(),
            Bytes::new(),
            insert(9).into(),
        ];
        for first in 1..sent.len() {
            assert_eq!(read(&sent, &[first, sent.len()], true), expected, "{first}");
            assert_eq!(read(&sent, &[first], false), expected, "{first}");
        }
    }

    #[test]
    fn only_a_large_change_loses_its_large_value() {
        let (ping, large, other) = (vec![b'k'; 18], insert(2 * WHOLE), vec![b'k'; 2 * WHOLE]);
        let bodies = [&ping, &large, &insert(1000), &other, &large, &ping];
        let sent = bodies.map(|body| framed(COPY_DATA, body)).concat();
        let left = [b"w", &[1; 24][..], b"I\0\0\0\x07N\0\x01w"].concat();
        let trimmed = [&ping, &left, &insert(1000), &other, &left, &ping];
        for piece in [1, 3, 4096, 100_000, 10 << 20] {
            for (trims, expected) in [(true, &trimmed), (false, &bodies)] {
                assert!(read(&sent, &[piece], trims) == *expected, "{piece} {trims}");
            }
        }
    }

    #[test]
    fn a_large_change_is_never_whole_in_memory() {
        let mut reader = FrameReader::new(Bytes::new());
        reader.trims = true;
        for bytes in framed(COPY_DATA, &insert(100 * WHOLE)).chunks(8192) {
            reader.buffer.put_slice(bytes);
            reader.next().expect("a message");
            let large = reader.large.as_ref().map_or(0, |large| large.kept.len());
            assert!(large + reader.buffer.len() < WHOLE, "{large}");
        }
    }

    #[tokio::test]
    async fn a_message_that_is_larger_than_the_buffer_is_one_allocation() {
        let body = vec![b'k'; 3 * BUFFER_BYTES];
        let sent = [framed(COPY_DATA, &body), framed(COPY_DATA, b"k")].concat();
        let (mut link, mut reader) = (&sent[..], FrameReader::new(Bytes::new()));
        let mut messages = Vec::new();
        while messages.len() < 2 {
            reader.fill(&mut link).await.expect("bytes");
            while let Some(ServerMessage::Data(data)) = reader.next().expect("messages") {
                messages.push(data);
            }
        }
        assert!(messages == [body.into(), Bytes::from_static(b"k")]);
        assert!(reader.buffer.capacity() < BUFFER_BYTES);
        let error = reader.fill(&mut link).await.expect_err("the end");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_invalid_length_is_an_error() {
        let long = i32::try_from(MESSAGE_LIMIT_BYTES + LENGTH + 1).expect("a length");
        for length in [3, -1, long] {
            let sent = [&[COPY_DATA][..], &length.to_be_bytes()].concat();
            let error = FrameReader::new(sent.into()).next().err();
            let kind = error.map(|error| error.kind());
            assert_eq!(kind, Some(io::ErrorKind::InvalidData), "{length}");
        }
    }
}
