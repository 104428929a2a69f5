//! Positions and messages out of what COPY gives in binary form; of a very large message only what is to be kept is
//! ever in memory.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes, BytesMut};

use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{MessageTrimmer, WHOLE};

/// A signature, flags, and the length of what stands behind them.
const HEADER: usize = 19;
/// The number of fields: each row has two, behind the last one there are none.
const FIELDS: usize = 2;
const LAST: i16 = -1;
/// That number, a position behind its length, and the length of a message.
const HEAD: usize = FIELDS + 4 + 8 + 4;

/// Follows the rows, however their bytes are cut.
#[derive(Debug)]
pub(super) struct BacklogRows {
    /// Very large values are left out.
    trims: bool,
    begun: bool,
    /// A row of which more is to come.
    pending: BytesMut,
    large: Option<TrimmedRow>,
}

/// A message that is trimmed while it comes.
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

    /// Takes what came next, and adds the messages that are complete with it; how many bytes they have.
    ///
    /// # Errors
    /// These are no such rows.
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

    /// The position and the size of the next message, once they are there.
    fn head(&self) -> io::Result<Option<(Lsn, usize)>> {
        let mut head = &self.pending[..];
        if head.len() < HEAD {
            // Behind the last row less than that comes, and nothing more.
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
