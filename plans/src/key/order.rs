//! The order of keys: the key that follows another one, and bytes with the same order.

use super::{Key, KeyType, time};

impl Key {
    /// Returns the next key, with which a range can contain this key alone; `None` for the last key of the type.
    #[must_use]
    pub fn successor(&self) -> Option<Self> {
        match self {
            Self::Int(value) => value.checked_add(1).map(Self::Int),
            Self::Text(text) => Some(Self::Text(format!("{text}\u{1}"))),
            Self::Uuid(bytes) => u128::from_be_bytes(*bytes)
                .checked_add(1)
                .map(|next| Self::Uuid(next.to_be_bytes())),
            Self::Bytes(bytes) => {
                let mut next = bytes.clone();
                next.push(0);
                Some(Self::Bytes(next))
            }
            Self::Date(days) => time::date_after(*days).map(Self::Date),
            Self::Timestamp(micros) => time::timestamp_after(*micros).map(Self::Timestamp),
            Self::Row(values) => row_after(values).map(Self::Row),
        }
    }

    /// Returns the first columns that all composite keys from this one up to but without `to` have in common, if the
    /// range consists of exactly these keys.
    #[must_use]
    pub(crate) fn common_prefix(&self, to: &Self) -> Option<&[Self]> {
        let (Self::Row(from), Self::Row(to)) = (self, to) else {
            return None;
        };
        let is_prefix = |columns: &usize| {
            let (first, rest) = from.split_at_checked(*columns)?;
            let (after, rest_of_after) = to.split_at_checked(*columns)?;
            let all = rest == rest_of_after && rest.iter().all(Self::may_be_least);
            (all && row_after(first).as_deref() == Some(after)).then_some(first)
        };
        (1..from.len()).find_map(|columns| is_prefix(&columns))
    }

    /// Returns whether it is the smallest key of a type with its variant.
    fn may_be_least(&self) -> bool {
        let integers = [KeyType::Smallint, KeyType::Integer];
        *self == self.least_alike() || integers.iter().any(|key_type| *self == key_type.least())
    }

    /// Returns the smallest key of the same variant.
    fn least_alike(&self) -> Self {
        match self {
            Self::Int(_) => KeyType::Bigint.least(),
            Self::Text(_) => KeyType::Text.least(),
            Self::Uuid(_) => KeyType::Uuid.least(),
            Self::Bytes(_) => KeyType::Bytea.least(),
            Self::Date(_) => KeyType::Date.least(),
            Self::Timestamp(_) => KeyType::Timestamptz.least(),
            Self::Row(values) => Self::Row(values.iter().map(Self::least_alike).collect()),
        }
    }

    /// Returns bytes whose order is the order of keys of one type. The bytes of one key are never a prefix of another
    /// key's bytes.
    #[must_use]
    pub fn ordered_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push_ordered(&mut out);
        out
    }

    fn push_ordered(&self, out: &mut Vec<u8>) {
        // With an inverted sign bit, two's complement integers sort as unsigned bytes.
        match self {
            Self::Int(value) | Self::Timestamp(value) => {
                let mut bytes = value.to_be_bytes();
                bytes[0] ^= 0x80;
                out.extend_from_slice(&bytes);
            }
            Self::Date(days) => {
                let mut bytes = days.to_be_bytes();
                bytes[0] ^= 0x80;
                out.extend_from_slice(&bytes);
            }
            Self::Uuid(bytes) => out.extend_from_slice(bytes),
            Self::Text(text) => push_terminated(text.as_bytes(), out),
            Self::Bytes(bytes) => push_terminated(bytes, out),
            Self::Row(values) => values.iter().for_each(|value| value.push_ordered(out)),
        }
    }
}

/// Returns the next composite key: the last column's next value, or its first value after an increase of the columns
/// before it.
fn row_after(values: &[Key]) -> Option<Vec<Key>> {
    let (last, first) = values.split_last()?;
    let (mut next, last) = match last.successor() {
        Some(last) => (first.to_vec(), last),
        None => (row_after(first)?, last.least_alike()),
    };
    next.push(last);
    Some(next)
}

/// Writes bytes, then two zero bytes that mark their end. A zero byte among them is followed by the byte 255.
fn push_terminated(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
