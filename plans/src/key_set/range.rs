//! Half-open ranges of keys and of virtual shards.

use super::Span;
use super::interval::Interval;
use crate::key::{Key, KeyError, KeyType, accept};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A half-open range of keys, `from <= key < to`. A missing end is unbounded.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct KeyRange {
    /// The first key of the range. Without it the range has no lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Key>,
    /// The first key after the range. Without it the range has no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Key>,
}

impl KeyRange {
    /// Returns true if no key can be in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.interval().is_empty()
    }

    /// Returns true if `key` is in the range.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        self.from.as_ref().is_none_or(|from| key >= from)
            && self.to.as_ref().is_none_or(|to| key < to)
    }

    /// Returns true if a key is in both ranges.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.is_empty() && !other.is_empty() && self.interval().overlaps(&other.interval())
    }

    /// Converts the ends to the types of the map's key columns.
    ///
    /// If the upper end is one above the greatest value of a smaller integer type, it is removed.
    ///
    /// # Errors
    /// [`KeyError`] for an end that cannot be converted.
    pub fn accept(self, types: &[KeyType]) -> Result<Self, KeyError> {
        let end = |key: Option<Key>| key.map(|key| accept(types, &key)).transpose();
        Ok(Self {
            from: end(self.from)?,
            to: end(self.to.filter(|to| !is_after_last(types, to)))?,
        })
    }

    pub(super) fn span(&self) -> Span {
        let end = |key: &Option<Key>| key.as_ref().map(Key::ordered_bytes);
        (end(&self.from), end(&self.to))
    }

    fn interval(&self) -> Interval<Key> {
        Interval {
            from: self.from.clone(),
            to: self.to.clone(),
        }
    }
}

/// Returns true if the key has one integer column, and `end` is one above its greatest value.
fn is_after_last(types: &[KeyType], end: &Key) -> bool {
    match (types, end) {
        ([KeyType::Smallint], Key::Int(end)) => *end == i64::from(i16::MAX) + 1,
        ([KeyType::Integer], Key::Int(end)) => *end == i64::from(i32::MAX) + 1,
        (_, _) => false,
    }
}

/// Prints a range with a single key as `= key`, and all keys with the same first columns as `= (columns, …)`.
impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) if from.successor().as_ref() == Some(to) => {
                write!(f, "= {from}")
            }
            (Some(from), Some(to)) if from.common_prefix(to).is_some() => {
                let prefix = from.common_prefix(to).unwrap_or_default();
                let columns: Vec<String> = prefix.iter().map(ToString::to_string).collect();
                write!(f, "= ({}, …)", columns.join(", "))
            }
            (None, None) => f.write_str("all keys"),
            (Some(from), None) => write!(f, "[{from}, ∞)"),
            (None, Some(to)) => write!(f, "(-∞, {to})"),
            (Some(from), Some(to)) => write!(f, "[{from}, {to})"),
        }
    }
}

/// A half-open range of virtual shards, `from <= bucket < to`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct BucketRange {
    /// The first virtual shard.
    pub from: u32,
    /// The first virtual shard after the range.
    pub to: u32,
}

impl fmt::Display for BucketRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.from, self.to)
    }
}
