//! Sets of shard keys, and the SQL predicate into which each set is compiled.
//!
//! The same predicate is used in the WHERE of COPY, the row filter of the publication, the WHEN of the guard, the
//! comparison, the deletion of rows and the search for stray rows. Routing uses [`KeySet::contains`], which returns the
//! same for a single key. A set is kept in normal form: ordered, without empty or repeated parts, and with adjacent
//! parts joined.

mod buckets;
mod interval;
mod predicate;
mod range;

use crate::key::{Key, KeyError, KeyType, accept};
use interval::{Interval, common, minus, normal};
pub use range::{BucketRange, KeyRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A set of keys that moves together, or that one mapping contains.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum KeySet {
    /// Half-open ranges of keys.
    Range(Vec<KeyRange>),
    /// Virtual shards, to which keys belong by their hash.
    Hash(Buckets),
    /// Single keys.
    List(BTreeSet<Key>),
}

/// Ranges of virtual shards.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// The number of virtual shards of the map, a power of two.
    pub of: u32,
    /// The ranges that belong to the set.
    pub ranges: Vec<BucketRange>,
}

/// The first key of a piece of a set, and the first key after the piece, as bytes in key order. A missing end is
/// unbounded.
pub type Span = (Option<Vec<u8>>, Option<Vec<u8>>);

impl KeySet {
    /// Creates a set with one range of keys.
    #[must_use]
    pub fn range(from: Option<Key>, to: Option<Key>) -> Self {
        Self::Range(vec![KeyRange { from, to }]).normal()
    }

    /// Creates a set with the virtual shards `from <= bucket < to` of `of`.
    #[must_use]
    pub fn buckets(of: u32, from: u32, to: u32) -> Self {
        let ranges = vec![BucketRange { from, to }];
        Self::Hash(Buckets { of, ranges }).normal()
    }

    /// Creates a set of single keys.
    #[must_use]
    pub fn list(keys: impl IntoIterator<Item = Key>) -> Self {
        Self::List(keys.into_iter().collect())
    }

    /// Returns the smallest set that contains `key`: under a hash map its whole virtual shard, otherwise only `key`.
    /// `self` determines only the strategy (range, hash, list) of the result, not its keys.
    ///
    /// For the last value of a key type the range has no upper end, so it contains only this value.
    #[must_use]
    pub fn smallest_set_with(&self, key: &Key) -> Option<Self> {
        match self {
            Self::Range(_) => Some(Self::range(Some(key.clone()), key.successor())),
            Self::Hash(Buckets { of, .. }) => {
                let bucket = bucket_of(key, *of);
                Some(Self::buckets(*of, bucket, bucket + 1))
            }
            Self::List(_) => Some(Self::list([key.clone()])),
        }
    }

    /// Returns the same set in normal form.
    #[must_use]
    pub fn normal(self) -> Self {
        match self {
            Self::Range(ranges) => from_intervals(normal(key_intervals(&ranges))),
            Self::Hash(Buckets { of, ranges }) => {
                from_buckets(of, normal(bucket_intervals(&ranges)))
            }
            Self::List(keys) => Self::List(keys),
        }
    }

    /// Converts each key to the types of the map's key columns, and returns the set in normal form.
    ///
    /// # Errors
    /// [`KeyError`] for the first key that cannot be converted.
    pub fn accept(self, types: &[KeyType]) -> Result<Self, KeyError> {
        let set = match self {
            Self::Range(ranges) => {
                let accepted: Result<Vec<KeyRange>, KeyError> = ranges
                    .into_iter()
                    .map(|range| range.accept(types))
                    .collect();
                Self::Range(accepted?)
            }
            Self::Hash(buckets) => Self::Hash(buckets),
            Self::List(keys) => {
                let accepted: Result<BTreeSet<Key>, KeyError> =
                    keys.iter().map(|key| accept(types, key)).collect();
                Self::List(accepted?)
            }
        };
        Ok(set.normal())
    }

    /// Returns true if no key can be in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Range(ranges) => ranges.iter().all(KeyRange::is_empty),
            Self::Hash(buckets) => buckets.ranges.iter().all(|range| range.from >= range.to),
            Self::List(keys) => keys.is_empty(),
        }
    }

    /// Returns true if `key` is in the set. The SQL of [`KeySet::predicate`] gives the same result for a row with this
    /// key.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        match self {
            Self::Range(ranges) => ranges.iter().any(|range| range.contains(key)),
            Self::Hash(Buckets { of, ranges }) => {
                let bucket = bucket_of(key, *of);
                ranges
                    .iter()
                    .any(|range| range.from <= bucket && bucket < range.to)
            }
            Self::List(keys) => keys.contains(key),
        }
    }

    /// Returns true if a key is in both sets.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// Returns true if every key of `other` is in this set.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.minus(self).is_empty()
    }

    /// Returns the keys that are in both sets. Sets of different strategies have no common key, because a map has only
    /// one strategy.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Range(a), Self::Range(b)) => {
                from_intervals(common(&key_intervals(a), &key_intervals(b)))
            }
            (Self::Hash(a), Self::Hash(b)) => {
                let (a, b) = a.alike(b);
                let (of, b) = (a.of, bucket_intervals(&b.ranges));
                from_buckets(of, common(&bucket_intervals(&a.ranges), &b))
            }
            (Self::List(a), Self::List(b)) => Self::List(a & b),
            (_, _) => self.empty_set(),
        }
    }

    /// Returns the keys that are in either set. If `other` has another strategy, it is ignored.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Range(a), Self::Range(b)) => Self::Range([a.as_slice(), b].concat()).normal(),
            (Self::Hash(a), Self::Hash(b)) => {
                let (a, b) = a.alike(b);
                Self::Hash(Buckets {
                    of: a.of,
                    ranges: [a.ranges.as_slice(), &b.ranges].concat(),
                })
                .normal()
            }
            (Self::List(a), Self::List(b)) => Self::List(a | b),
            (_, _) => self.clone(),
        }
    }

    /// Returns the keys of this set that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Range(a), Self::Range(b)) => {
                from_intervals(minus(&key_intervals(a), &key_intervals(b)))
            }
            (Self::Hash(a), Self::Hash(b)) => {
                let (a, b) = a.alike(b);
                let (of, b) = (a.of, bucket_intervals(&b.ranges));
                from_buckets(of, minus(&bucket_intervals(&a.ranges), &b))
            }
            (Self::List(a), Self::List(b)) => Self::List(a - b),
            (_, _) => self.clone(),
        }
    }

    /// Returns the empty set of the same strategy.
    #[must_use]
    pub fn empty_set(&self) -> Self {
        match self {
            Self::Range(_) => Self::Range(Vec::new()),
            Self::Hash(buckets) => Self::Hash(Buckets {
                of: buckets.of,
                ranges: Vec::new(),
            }),
            Self::List(_) => Self::List(BTreeSet::new()),
        }
    }

    /// Returns the pieces of the set, each as a separate set: ranges, ranges of virtual shards, single keys.
    #[must_use]
    pub fn pieces(&self) -> Vec<Self> {
        match self {
            Self::Range(ranges) => ranges
                .iter()
                .map(|range| Self::Range(vec![range.clone()]))
                .collect(),
            Self::Hash(Buckets { of, ranges }) => ranges
                .iter()
                .map(|range| Self::buckets(*of, range.from, range.to))
                .collect(),
            Self::List(keys) => keys.iter().map(|key| Self::list([key.clone()])).collect(),
        }
    }

    /// Returns the pieces as spans of bytes, for a constraint that forbids an overlap of two sets of one map.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        match self {
            Self::Range(ranges) => ranges.iter().map(KeyRange::span).collect(),
            Self::Hash(buckets) => buckets
                .ranges
                .iter()
                .map(|range| {
                    let end = |bucket: u32| Some(bucket.to_be_bytes().to_vec());
                    (end(range.from), end(range.to))
                })
                .collect(),
            Self::List(keys) => keys
                .iter()
                .map(|key| {
                    let bytes = key.ordered_bytes();
                    let mut after = bytes.clone();
                    after.push(0);
                    (Some(bytes), Some(after))
                })
                .collect(),
        }
    }
}

/// Returns the number of the key's virtual shard (a bucket) in a hash map with `of` virtual shards.
#[must_use]
pub fn bucket_of(key: &Key, of: u32) -> u32 {
    let bucket = key.hash64() & u64::from(of.saturating_sub(1));
    u32::try_from(bucket).unwrap_or(0)
}

fn key_intervals(ranges: &[KeyRange]) -> Vec<Interval<Key>> {
    let interval = |range: &KeyRange| Interval {
        from: range.from.clone(),
        to: range.to.clone(),
    };
    ranges.iter().map(interval).collect()
}

fn from_intervals(intervals: Vec<Interval<Key>>) -> KeySet {
    let range = |interval: Interval<Key>| KeyRange {
        from: interval.from,
        to: interval.to,
    };
    KeySet::Range(intervals.into_iter().map(range).collect())
}

fn bucket_intervals(ranges: &[BucketRange]) -> Vec<Interval<u32>> {
    let interval = |range: &BucketRange| Interval {
        from: Some(range.from),
        to: Some(range.to),
    };
    ranges.iter().map(interval).collect()
}

fn from_buckets(of: u32, intervals: Vec<Interval<u32>>) -> KeySet {
    let range = |interval: Interval<u32>| BucketRange {
        from: interval.from.unwrap_or(0),
        to: interval.to.unwrap_or(of),
    };
    let ranges = intervals.into_iter().map(range).collect();
    KeySet::Hash(Buckets { of, ranges })
}

/// The maximum number of pieces or keys in a text for people.
const MAX_PIECES_IN_TEXT: usize = 8;

impl fmt::Display for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (texts, total): (Vec<String>, usize) = match self {
            Self::Range(ranges) => (first_texts(ranges.iter()), ranges.len()),
            Self::Hash(buckets) => (first_texts(buckets.ranges.iter()), buckets.ranges.len()),
            Self::List(keys) => (first_texts(keys.iter()), keys.len()),
        };
        if total == 0 {
            return f.write_str("no keys");
        }
        match self {
            Self::Range(_) => {}
            Self::Hash(_) => f.write_str("buckets ")?,
            Self::List(_) => f.write_str("keys ")?,
        }
        f.write_str(&texts.join(", "))?;
        if total > texts.len() {
            write!(f, " and {} more", total - texts.len())?;
        }
        Ok(())
    }
}

fn first_texts(items: impl Iterator<Item = impl fmt::Display>) -> Vec<String> {
    items
        .take(MAX_PIECES_IN_TEXT)
        .map(|item| item.to_string())
        .collect()
}

#[cfg(test)]
mod tests;
