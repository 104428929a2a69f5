//! Where messages of the protocol begin and end, found while their bytes go by.

use std::io;

/// A kind and a length, which counts itself.
const HEADER: usize = 5;
/// The length's own bytes.
const LENGTH: usize = 4;

/// Follows the messages of one direction of one connection, however its bytes are cut.
#[derive(Debug, Default)]
pub struct Frames {
    header: [u8; HEADER],
    /// Bytes of the header that have been seen.
    known: usize,
    /// Bytes of the body that have not.
    left: usize,
}

/// What some bytes are of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePart {
    /// Its kind and its length, or a part of them.
    Header,
    /// What stands behind them, or a part of it.
    Body,
}

impl Frames {
    /// Goes over the bytes at the front of `bytes`, of which there must be some, that are of one part of one message:
    /// how many they are, and which part.
    ///
    /// # Errors
    /// A length that no message can have.
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

    /// The kind of the message that the last bytes were of.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// How many bytes of the message's body are to come, once its header is known.
    pub fn left(&self) -> Option<usize> {
        (self.known == HEADER).then_some(self.left)
    }

    /// True when the last bytes ended a message.
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

    /// A message with a body, one without, and one more.
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
