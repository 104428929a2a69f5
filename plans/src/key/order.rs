//! The order of keys: what comes next, and the same order among plain bytes.

use super::{Key, KeyType, time};

impl Key {
    /// The smallest key after this one, for a range that holds this key alone; `None` at the end of the type.
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

    /// The first columns that all composite keys from this one to before `to` have, where these are all such keys.
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

    /// Whether it is the smallest key of a type with its variant.
    fn may_be_least(&self) -> bool {
        let integers = [KeyType::Smallint, KeyType::Integer];
        *self == self.least_alike() || integers.iter().any(|key_type| *self == key_type.least())
    }

    /// The smallest key of this one's variant.
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

    /// Bytes whose order is the order of keys of one type; no key's bytes begin with another's.
    #[must_use]
    pub fn ordered_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push_ordered(&mut out);
        out
    }

    fn push_ordered(&self, out: &mut Vec<u8>) {
        // A sign bit that is turned over makes two's complement sort as unsigned bytes.
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

/// The last column's next value, or its first one after the next of the columns before it.
fn row_after(values: &[Key]) -> Option<Vec<Key>> {
    let (last, first) = values.split_last()?;
    let (mut next, last) = match last.successor() {
        Some(last) => (first.to_vec(), last),
        None => (row_after(first)?, last.least_alike()),
    };
    next.push(last);
    Some(next)
}

/// Zero bytes are doubled up with 255, and two zeros end the value.
fn push_terminated(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
