//! Leaves very large values out of row changes while their bytes go by, so that no row is ever whole in memory.
//!
//! A value that is left out is marked as such ([`TupleValue::LeftOut`](super::TupleValue::LeftOut)); whoever applies
//! the change reads the row where it is. What rows are found by is never so large: it has to fit into an index.

use bytes::{BufMut, BytesMut};

/// Messages up to this size stay as they are.
pub(crate) const WHOLE: usize = 256 << 10;
/// Of a larger message, values beyond this size are left out.
pub(super) const LARGE: usize = 32 << 10;

/// The mark of a value that was left out, in the place of its kind.
pub(super) const LEFT_OUT: u8 = b'w';

/// One large message of pgoutput, of which [`MessageTrimmer::take`] is given the bytes in their order.
#[derive(Debug, Default)]
pub(crate) struct MessageTrimmer {
    next: TrimState,
    /// Bytes of a field that have been kept, of those that say what follows.
    known: usize,
    /// Values of the row that are to come.
    values: usize,
    /// Another row may follow.
    old: bool,
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy)]
enum TrimState {
    /// What says what follows.
    Field(TrimField),
    /// A value's bytes, as many as are to be kept.
    Keep(usize),
    /// The same of one that is left out.
    Skip(usize),
    /// Whatever is left of the message.
    Rest,
}

impl Default for TrimState {
    fn default() -> Self {
        Self::Field(TrimField::Head)
    }
}

#[derive(Debug, Clone, Copy)]
enum TrimField {
    /// The message's kind, and the number of its relation.
    Head,
    /// Which row follows.
    Row,
    /// How many values it has.
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
    /// Takes the next bytes of the message and appends to `kept` what stays of them.
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

    /// So many bytes of what was to come have passed.
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

    /// What follows a field, which stands at the end of `kept`.
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
                // The mark takes the place of the kind, and there is no length.
                kept.truncate(begin - 1);
                kept.put_u8(LEFT_OUT);
                TrimState::Skip(number)
            }
            (TrimField::Length, _) if number == 0 => self.behind_value(),
            (TrimField::Length, _) => TrimState::Keep(number),
            // Of no row, or not as it should be: the decoder says so.
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
