//! Removes very large values from row changes while their bytes arrive, so that the agent never holds a complete row in
//! memory.
//!
//! The trimmer marks a removed value as [`TupleValue::LeftOut`](super::TupleValue::LeftOut). The apply stream then
//! reads the row from the table. Values that identify a row are never so large, because they must fit into an index.

use bytes::{BufMut, BytesMut};

/// Maximum size in bytes of a message that is not trimmed.
pub(crate) const WHOLE: usize = 256 << 10;
/// Maximum size in bytes of a value that stays in a trimmed message.
pub(super) const LARGE: usize = 32 << 10;

/// The mark of a removed value. It replaces the kind of the value.
pub(super) const LEFT_OUT: u8 = b'w';

/// The trimmer of one large pgoutput message. [`MessageTrimmer::take`] gets the bytes of the message in order.
#[derive(Debug, Default)]
pub(crate) struct MessageTrimmer {
    next: TrimState,
    /// The number of bytes of the current field that have arrived.
    known: usize,
    /// The number of values of the current row still to come.
    values: usize,
    /// True if a second row can follow the current one.
    old: bool,
}

/// What the next bytes of the message are.
#[derive(Debug, Clone, Copy)]
enum TrimState {
    /// A field that determines what follows it.
    Field(TrimField),
    /// A value that stays; the number of its bytes still to come.
    Keep(usize),
    /// A value that is removed; the number of its bytes still to come.
    Skip(usize),
    /// The rest of the message, which stays unchanged.
    Rest,
}

impl Default for TrimState {
    fn default() -> Self {
        Self::Field(TrimField::Head)
    }
}

#[derive(Debug, Clone, Copy)]
enum TrimField {
    /// The kind of the message and the OID of its relation.
    Head,
    /// The letter that names the next row (old key, old row or new row).
    Row,
    /// The number of values of the row.
    Count,
    /// The kind of a value.
    Kind,
    /// The length of a value.
    Length,
}

impl TrimField {
    fn size(self) -> usize {
        match self {
            Self::Head => 5,
            Self::Row | Self::Kind => 1,
            Self::Count => 2,
            Self::Length => 4,
        }
    }
}

impl MessageTrimmer {
    /// Processes the next bytes of the message, and appends those that stay to `kept`.
    pub(crate) fn take(&mut self, mut bytes: &[u8], kept: &mut BytesMut) {
        while !bytes.is_empty() {
            let count = match self.next {
                TrimState::Keep(left) | TrimState::Skip(left) => left,
                TrimState::Rest => bytes.len(),
                TrimState::Field(field) => field.size() - self.known,
            };
            let (now, later) = bytes.split_at(count.min(bytes.len()));
            bytes = later;
            if !matches!(self.next, TrimState::Skip(_)) {
                kept.put_slice(now);
            }
            self.passed(now.len(), kept);
        }
    }

    /// Updates the state after `count` bytes of the current part.
    fn passed(&mut self, count: usize, kept: &mut BytesMut) {
        match &mut self.next {
            TrimState::Keep(left) | TrimState::Skip(left) => {
                *left -= count;
                if *left == 0 {
                    self.next = self.behind_value();
                }
            }
            TrimState::Rest => {}
            TrimState::Field(field) => {
                let field = *field;
                self.known += count;
                if self.known == field.size() {
                    self.known = 0;
                    self.next = self.behind(field, kept);
                }
            }
        }
    }

    /// Returns the state after a field, whose bytes are at the end of `kept`.
    fn behind(&mut self, field: TrimField, kept: &mut BytesMut) -> TrimState {
        let begin = kept.len() - field.size();
        let bytes = &kept[begin..];
        let number = bytes
            .iter()
            .fold(0, |number: usize, byte| number << 8 | usize::from(*byte));
        match (field, bytes[0]) {
            (TrimField::Head, b'I' | b'U' | b'D') => TrimState::Field(TrimField::Row),
            (TrimField::Row, mark @ (b'K' | b'O' | b'N')) => {
                self.old = mark != b'N';
                TrimState::Field(TrimField::Count)
            }
            (TrimField::Count, _) => {
                self.values = number;
                self.in_row()
            }
            (TrimField::Kind, b't' | b'b') => TrimState::Field(TrimField::Length),
            (TrimField::Kind, b'n' | b'u') => self.behind_value(),
            (TrimField::Length, _) if number > LARGE => {
                // The mark replaces the kind of the value. The length is removed.
                kept.truncate(begin - 1);
                kept.put_u8(LEFT_OUT);
                TrimState::Skip(number)
            }
            (TrimField::Length, _) if number == 0 => self.behind_value(),
            (TrimField::Length, _) => TrimState::Keep(number),
            // The message contains no row or is invalid. The decoder reports an invalid message.
            (TrimField::Head | TrimField::Row | TrimField::Kind, _) => TrimState::Rest,
        }
    }

    fn behind_value(&mut self) -> TrimState {
        self.values = self.values.saturating_sub(1);
        self.in_row()
    }

    fn in_row(&self) -> TrimState {
        match (self.values, self.old) {
            (0, true) => TrimState::Field(TrimField::Row),
            (0, false) => TrimState::Rest,
            _ => TrimState::Field(TrimField::Kind),
        }
    }
}
