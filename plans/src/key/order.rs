//! The order of keys: the key that follows another one, and bytes with the same order.

use super::{Key, KeyType, time};

impl Key {
    /// Returns the next key, so that a range from this key to the next contains only this key; `None` for the last key
    /// of the type.
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
            Self::Row(values) => row_successor(values).map(Self::Row),
        }
    }

    /// Returns columns if the range from this composite key to `to` (excluded) consists of exactly the keys that begin
    /// with these columns.
    #[must_use]
    pub(crate) fn common_prefix(&self, to: &Self) -> Option<&[Self]> {
        let (Self::Row(from), Self::Row(to)) = (self, to) else {
            return None;
        };
        let is_prefix = |columns: &usize| {
            let (first, rest) = from.split_at_checked(*columns)?;
            let (next, rest_of_to) = to.split_at_checked(*columns)?;
            let begins_and_ends_at_smallest =
                rest == rest_of_to && rest.iter().all(Self::may_be_smallest);
            (begins_and_ends_at_smallest && row_successor(first).as_deref() == Some(next))
                .then_some(first)
        };
        (1..from.len()).find_map(|columns| is_prefix(&columns))
    }

    /// Returns whether the key is the smallest key of any type that has its variant: [`Key::Int`] has three types.
    fn may_be_smallest(&self) -> bool {
        let smaller_integers = [KeyType::Smallint, KeyType::Integer];
        *self == self.smallest_of_variant()
            || smaller_integers
                .iter()
                .any(|key_type| *self == key_type.least())
    }

    /// Returns the smallest key of the same variant.
    fn smallest_of_variant(&self) -> Self {
        match self {
            Self::Int(_) => KeyType::Bigint.least(),
            Self::Text(_) => KeyType::Text.least(),
            Self::Uuid(_) => KeyType::Uuid.least(),
            Self::Bytes(_) => KeyType::Bytea.least(),
            Self::Date(_) => KeyType::Date.least(),
            Self::Timestamp(_) => KeyType::Timestamptz.least(),
            Self::Row(values) => Self::Row(values.iter().map(Self::smallest_of_variant).collect()),
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

/// Returns the next composite key: with the next value of the last column, or if there is none, with the first value of
/// the last column and the next value of the columns before it.
fn row_successor(values: &[Key]) -> Option<Vec<Key>> {
    let (last, first) = values.split_last()?;
    let (mut next, last) = match last.successor() {
        Some(last) => (first.to_vec(), last),
        None => (row_successor(first)?, last.smallest_of_variant()),
    };
    next.push(last);
    Some(next)
}

/// Writes `bytes` and then two zero bytes, which mark the end. Each zero byte among `bytes` is followed by the byte
/// 255, so that it does not look like the end.
fn push_terminated(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
