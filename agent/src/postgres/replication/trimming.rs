//! Removes very large values from the row changes that a walsender sends, message by message.

use std::io;

use bytes::{BufMut, BytesMut};
use connect::{Frames, MessagePart};

use crate::postgres::pgoutput::{MessageTrimmer, WHOLE};

/// The type of a CopyData message, which contains data of the stream.
const COPY_DATA: u8 = b'd';
/// The kind of a CopyData message that contains a change (XLogData). The positions and the time precede the change.
const CHANGE: u8 = b'w';
const BEFORE_CHANGE: usize = 25;
/// Length of a message header: one byte for the type and four for the length.
const HEADER: usize = 5;

/// Parses messages of which the bytes can be split anywhere.
#[derive(Debug, Default)]
pub(super) struct MessageFilter {
    frames: Frames,
    header: BytesMut,
    large: Option<TrimmedMessage>,
    out: BytesMut,
}

/// A large message that has not arrived completely.
#[derive(Debug, Default)]
struct TrimmedMessage {
    /// The bytes that stay, including the header.
    kept: BytesMut,
    trim: MessageTrimmer,
}

impl MessageFilter {
    /// Processes the next bytes, and returns the bytes to forward.
    ///
    /// # Errors
    /// Returns an error if the bytes violate the protocol.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> io::Result<&[u8]> {
        self.out.clear();
        while !bytes.is_empty() {
            let (count, part) = self.frames.step(bytes)?;
            let (now, later) = bytes.split_at(count);
            bytes = later;
            match (part, &mut self.large) {
                (MessagePart::Header, _) => self.header(now),
                (MessagePart::Body, None) => self.out.put_slice(now),
                (MessagePart::Body, Some(large)) => large.take(now),
            }
            if self.frames.between()
                && let Some(large) = self.large.take()
            {
                self.out.put_slice(&large.end()?);
            }
        }
        Ok(&self.out)
    }

    fn header(&mut self, bytes: &[u8]) {
        self.header.put_slice(bytes);
        let is_large = self.frames.left().is_some_and(|body| body > WHOLE);
        if self.header.len() < HEADER {
            return;
        }
        if is_large && self.frames.kind() == COPY_DATA {
            self.large = Some(TrimmedMessage {
                kept: self.header.split(),
                trim: MessageTrimmer::default(),
            });
        } else {
            self.out.put_slice(&self.header.split());
        }
    }
}

impl TrimmedMessage {
    fn take(&mut self, bytes: &[u8]) {
        let before = (HEADER + BEFORE_CHANGE).saturating_sub(self.kept.len());
        let (before, change) = bytes.split_at(before.min(bytes.len()));
        self.kept.put_slice(before);
        if self.kept.get(HEADER).is_some_and(|kind| *kind != CHANGE) {
            self.kept.put_slice(change);
        } else {
            self.trim.take(change, &mut self.kept);
        }
    }

    /// Returns the message with its new length.
    fn end(mut self) -> io::Result<BytesMut> {
        // The length includes itself, but not the type byte.
        let length = i32::try_from(self.kept.len() - 1).map_err(io::Error::other)?;
        self.kept[1..HEADER].copy_from_slice(&length.to_be_bytes());
        Ok(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = i32::try_from(body.len() + 4).expect("a length");
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// Returns an INSERT of a row with one value of `size` bytes, as a walsender sends it.
    fn insert(size: usize) -> Vec<u8> {
        let length = u32::try_from(size).expect("a size").to_be_bytes();
        let change = [&b"I\0\0\0\x07N\0\x01t"[..], &length, &vec![b'x'; size]].concat();
        framed(COPY_DATA, &[b"w", &[1; 24][..], &change].concat())
    }

    fn passed(said: &[u8], piece: usize) -> Vec<u8> {
        let mut trimming = MessageFilter::default();
        let mut out = Vec::new();
        for bytes in said.chunks(piece) {
            out.extend_from_slice(trimming.take(bytes).expect("messages"));
        }
        out
    }

    #[test]
    fn a_large_change_comes_without_its_large_value_and_all_else_as_it_is() {
        let ping = framed(COPY_DATA, &[b'k'; 18]);
        let (small, large) = (insert(1000), insert(2 * WHOLE));
        let other = framed(COPY_DATA, &vec![b'k'; 2 * WHOLE]);
        let notice = framed(b'N', &vec![b'n'; 2 * WHOLE]);
        let said = [&ping, &large, &small, &other, &notice, &large, &ping].map(|said| &said[..]);
        let left = [b"w", &[1; 24][..], b"I\0\0\0\x07N\0\x01w"].concat();
        let left = framed(COPY_DATA, &left);
        let expected = [&ping, &left, &small, &other, &notice, &left, &ping].map(|said| &said[..]);
        for piece in [1, 3, 4096, 100_000, 10 << 20] {
            assert!(
                passed(&said.concat(), piece) == expected.concat(),
                "{piece}"
            );
        }
    }

    #[test]
    fn a_large_message_is_never_whole_in_memory() {
        let mut trimming = MessageFilter::default();
        for bytes in insert(100 * WHOLE).chunks(8192) {
            trimming.take(bytes).expect("messages");
            let large = trimming.large.as_ref().map_or(0, |large| large.kept.len());
            assert!(large + trimming.out.len() < WHOLE, "{large}");
        }
    }
}
