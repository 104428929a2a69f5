//! Half-open ranges: of keys, and of virtual shards.

use super::Span;
use super::interval::Interval;
use crate::key::{Key, KeyError, KeyType, accept};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Half-open range of keys, `from <= key < to`; a missing end has no bound.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct KeyRange {
    /// First key of the range; without it the range has no lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Key>,
    /// First key after the range; without it the range has no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Key>,
}

impl KeyRange {
    /// True when no key can lie in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.interval().is_empty()
    }

    /// True when `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        self.from.as_ref().is_none_or(|from| key >= from)
            && self.to.as_ref().is_none_or(|to| key < to)
    }

    /// True when some key lies in both ranges.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.is_empty() && !other.is_empty() && self.interval().overlaps(&other.interval())
    }

    /// The range with its ends as values of the map's key types.
    ///
    /// An upper end right after the last value of a smaller integer type is none.
    ///
    /// # Errors
    /// [`KeyError`] for an end that is no such value.
    pub fn accept(self, types: &[KeyType]) -> Result<Self, KeyError> {
        let end = |key: Option<Key>| key.map(|key| accept(types, &key)).transpose();
        Ok(Self {
            from: end(self.from)?,
            to: end(self.to.filter(|to| !follows_last(types, to)))?,
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

/// True when every integer of the key's only column is below `end`, and the one before it is such.
fn follows_last(types: &[KeyType], end: &Key) -> bool {
    match (types, end) {
        ([KeyType::Smallint], Key::Int(end)) => *end == i64::from(i16::MAX) + 1,
        ([KeyType::Integer], Key::Int(end)) => *end == i64::from(i32::MAX) + 1,
        (_, _) => false,
    }
}

/// A key that stands alone is `= key`, and all keys that begin with some columns are `= (columns, …)`.
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

/// Half-open range of virtual shards, `from <= bucket < to`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct BucketRange {
    /// First virtual shard.
    pub from: u32,
    /// First virtual shard after the range.
    pub to: u32,
}

impl fmt::Display for BucketRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.from, self.to)
    }
}
