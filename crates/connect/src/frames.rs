//! Finds where the messages of the PostgreSQL protocol begin and end while their bytes pass through.

use std::io;

/// The kind of a message (one byte) and its length (four bytes, which count themselves).
const HEADER: usize = 5;
/// The number of bytes of the length.
const LENGTH: usize = 4;

/// Follows the messages of one direction of a connection. The bytes may arrive in pieces of any size.
#[derive(Debug, Default)]
pub struct Frames {
    header: [u8; HEADER],
    /// Bytes of the header that were read.
    known: usize,
    /// Bytes of the body that were not read yet.
    left: usize,
}

/// The part of a message to which bytes belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePart {
    /// The header: kind and length, or a part of them.
    Header,
    /// The body, or a part of it.
    Body,
}

impl Frames {
    /// Reads the first bytes of `bytes` that belong to the same part of the same message. Returns their number and the
    /// part. `bytes` must not be empty.
    ///
    /// # Errors
    /// An error if the length of a message is invalid.
    pub fn step(&mut self, bytes: &[u8]) -> io::Result<(usize, MessagePart)> {
        if self.known == HEADER {
            let count = self.left.min(bytes.len());
            self.left -= count;
            if self.left == 0 {
                self.known = 0;
            }
            return Ok((count, MessagePart::Body));
        }
        let count = (HEADER - self.known).min(bytes.len());
        self.header[self.known..self.known + count].copy_from_slice(&bytes[..count]);
        self.known += count;
        if self.known == HEADER {
            self.left = self.body_length()?;
            if self.left == 0 {
                self.known = 0;
            }
        }
        Ok((count, MessagePart::Header))
    }

    /// Returns the kind of the message to which the last bytes belong.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// Returns true if the last bytes completed a message.
    pub fn between(&self) -> bool {
        self.known == 0
    }

    fn body_length(&self) -> io::Result<usize> {
        let [_, length @ ..] = self.header;
        let length = usize::try_from(i32::from_be_bytes(length)).ok();
        let body = length.and_then(|length| length.checked_sub(LENGTH));
        body.ok_or_else(|| {
            let what = "a message has a length that none can have";
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with a body, a message without a body, and a third one.
    const BYTES: &[u8] = b"d\0\0\0\x07abcc\0\0\0\x04Z\0\0\0\x05I";

    fn ends(size: usize) -> Vec<(usize, u8)> {
        let (mut frames, mut at, mut ends) = (Frames::default(), 0, Vec::new());
        for cut in BYTES.chunks(size) {
            let mut cut = cut;
            while !cut.is_empty() {
                let (count, _) = frames.step(cut).expect("messages");
                at += count;
                cut = &cut[count..];
                if frames.between() {
                    ends.push((at, frames.kind()));
                }
            }
        }
        ends
    }

    #[test]
    fn messages_end_where_they_do_however_their_bytes_are_cut() {
        for size in 1..=BYTES.len() {
            assert_eq!(ends(size), [(8, b'd'), (13, b'c'), (19, b'Z')], "{size}");
        }
    }

    #[test]
    fn a_length_below_its_own_is_refused() {
        for header in [b"d\0\0\0\x03", b"d\xff\xff\xff\xff"] {
            let error = Frames::default().step(header).expect_err("no message");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
