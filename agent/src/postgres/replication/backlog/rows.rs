//! Parses rows of a position and a message from a binary COPY. Of a very large message, only the trimmed part is in
//! memory.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes, BytesMut};

use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{MessageTrimmer, WHOLE};

/// Length of the COPY header: signature, flags and the length of the header extension.
const HEADER: usize = 19;
/// Length of the field count of a row. Each row has two fields; after the last row the count is [`LAST`].
const FIELDS: usize = 2;
const LAST: i16 = -1;
/// Length of everything before a message: the field count, the position with its length, and the length of the message.
const HEAD: usize = FIELDS + 4 + 8 + 4;

/// Parses rows of which the bytes can be split anywhere.
#[derive(Debug)]
pub(super) struct BacklogRows {
    /// True if very large values are removed.
    trims: bool,
    begun: bool,
    /// The start of a row that is not complete.
    pending: BytesMut,
    large: Option<TrimmedRow>,
}

/// A message that is trimmed while it arrives.
#[derive(Debug)]
struct TrimmedRow {
    at: Lsn,
    left: usize,
    trim: MessageTrimmer,
    kept: BytesMut,
}

impl BacklogRows {
    pub(super) fn new(trims: bool) -> Self {
        Self {
            trims,
            begun: false,
            pending: BytesMut::new(),
            large: None,
        }
    }

    /// Processes the next bytes, and appends the messages that are complete to `messages`. Returns the number of bytes
    /// in them.
    ///
    /// # Errors
    /// Returns an error if the bytes are not such rows.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        messages: &mut VecDeque<(Lsn, Bytes)>,
    ) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if !self.begun && self.pending.len() >= HEADER {
            self.pending.advance(HEADER);
            self.begun = true;
        }
        let mut bytes = 0;
        while self.begun
            && let Some((at, message)) = self.next()?
        {
            bytes += message.len();
            messages.push_back((at, message));
        }
        Ok(bytes)
    }

    fn next(&mut self) -> io::Result<Option<(Lsn, Bytes)>> {
        if let Some(large) = &mut self.large {
            let count = large.left.min(self.pending.len());
            large.trim.take(&self.pending[..count], &mut large.kept);
            large.left -= count;
            self.pending.advance(count);
            let whole = self.large.take_if(|large| large.left == 0);
            return Ok(whole.map(|large| (large.at, large.kept.freeze())));
        }
        let Some((at, size)) = self.head()? else {
            return Ok(None);
        };
        if self.trims && size > WHOLE {
            self.pending.advance(HEAD);
            self.large = Some(TrimmedRow {
                at,
                left: size,
                trim: MessageTrimmer::default(),
                kept: BytesMut::new(),
            });
            return self.next();
        }
        if self.pending.len() < HEAD + size {
            return Ok(None);
        }
        self.pending.advance(HEAD);
        Ok(Some((at, self.pending.split_to(size).freeze())))
    }

    /// Returns the position and the size of the next message, once they have arrived.
    fn head(&self) -> io::Result<Option<(Lsn, usize)>> {
        let mut head = &self.pending[..];
        if head.len() < HEAD {
            // The file trailer after the last row is shorter than this.
            return Ok(None);
        }
        let (fields, _, at, size) = (
            head.get_i16(),
            head.get_i32(),
            head.get_u64(),
            head.get_i32(),
        );
        match usize::try_from(size) {
            Ok(size) if fields != LAST => Ok(Some((Lsn(at), size))),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "what came is not a position and a message",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u64, message: &[u8]) -> Vec<u8> {
        let size = u32::try_from(message.len()).expect("a size").to_be_bytes();
        [&[0, 2, 0, 0, 0, 8][..], &at.to_be_bytes(), &size, message].concat()
    }

    fn insert(size: usize) -> Vec<u8> {
        let length = u32::try_from(size).expect("a size").to_be_bytes();
        [&b"I\0\0\0\x07N\0\x01t"[..], &length, &vec![b'x'; size]].concat()
    }

    fn taken(trims: bool, said: &[u8], piece: usize) -> VecDeque<(Lsn, Bytes)> {
        let (mut rows, mut messages) = (BacklogRows::new(trims), VecDeque::new());
        for bytes in said.chunks(piece) {
            rows.take(bytes, &mut messages).expect("rows");
        }
        messages
    }

    #[test]
    fn messages_come_as_they_were_however_their_bytes_are_cut() {
        let (small, large) = (insert(100), insert(2 * WHOLE));
        let rows = [row(1, b"B"), row(2, &small), row(3, &large), row(4, b"")].concat();
        let said = [&[0; HEADER][..], &rows, &LAST.to_be_bytes()].concat();
        let left = b"I\0\0\0\x07N\0\x01w".to_vec();
        for piece in [1, 5, 4096, 10 << 20] {
            for (trims, third) in [(false, &large), (true, &left)] {
                let expected = [b"B".to_vec(), small.clone(), third.clone(), Vec::new()];
                let expected = (1..).map(Lsn).zip(expected.map(Bytes::from));
                let taken = taken(trims, &said, piece);
                assert!(
                    taken == expected.collect::<VecDeque<_>>(),
                    "{piece} {trims}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let mut rows = BacklogRows::new(true);
        let null = [&[0; HEADER][..], &[0, 2, 0, 0, 0, 8], &[0; 8], &[255; 4]].concat();
        assert!(rows.take(&null, &mut VecDeque::new()).is_err());
    }
}
