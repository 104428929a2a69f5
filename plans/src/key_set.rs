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
    /// Virtual shards, to which keys belong by their hash, and exceptions.
    Hash(Buckets),
    /// Single keys.
    List(BTreeSet<Key>),
}

/// Ranges of virtual shards, and single keys that differ from their virtual shard.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// The number of virtual shards of the map, a power of two.
    pub of: u32,
    /// The ranges that belong to the set.
    pub ranges: Vec<BucketRange>,
    /// The exceptions: keys that are in the set although their virtual shard is not, and keys that are not in the set
    /// although their virtual shard is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub except: BTreeSet<Key>,
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
        let except = BTreeSet::new();
        Self::Hash(Buckets { of, ranges, except }).normal()
    }

    /// Creates a set with the whole virtual shard of `key`, one of `of`.
    #[must_use]
    pub fn virtual_shard_of(key: &Key, of: u32) -> Self {
        let bucket = bucket_of(key, of);
        Self::buckets(of, bucket, bucket + 1)
    }

    /// Creates a set with single keys of a hash map with `of` virtual shards.
    #[must_use]
    pub fn single_keys(of: u32, keys: impl IntoIterator<Item = Key>) -> Self {
        Self::Hash(Buckets {
            of,
            ranges: Vec::new(),
            except: keys.into_iter().collect(),
        })
    }

    /// Creates a set of single keys.
    #[must_use]
    pub fn list(keys: impl IntoIterator<Item = Key>) -> Self {
        Self::List(keys.into_iter().collect())
    }

    /// Returns the set that contains only `key`. `self` determines only the strategy (range, hash, list) of the result,
    /// not its keys.
    ///
    /// For the last value of a key type the range has no upper end, so it contains only this value.
    #[must_use]
    pub fn only(&self, key: &Key) -> Self {
        self.of_keys([key.clone()])
    }

    /// Returns the set of exactly these keys. `self` determines only the strategy of the result, not its keys.
    #[must_use]
    pub fn of_keys(&self, keys: impl IntoIterator<Item = Key>) -> Self {
        match self {
            Self::Range(_) => {
                let single = |key: Key| KeyRange {
                    to: key.successor(),
                    from: Some(key),
                };
                Self::Range(keys.into_iter().map(single).collect()).normal()
            }
            Self::Hash(Buckets { of, .. }) => Self::single_keys(*of, keys),
            Self::List(_) => Self::list(keys),
        }
    }

    /// Returns the key of a set that contains one key of a hash map and no virtual shard.
    #[must_use]
    pub fn exception(&self) -> Option<&Key> {
        match self {
            Self::Hash(Buckets { ranges, except, .. })
                if ranges.is_empty() && except.len() == 1 =>
            {
                except.first()
            }
            Self::Range(_) | Self::Hash(_) | Self::List(_) => None,
        }
    }

    /// Returns the whole virtual shards of the set, without exceptions. Sets of other strategies stay as they are.
    #[must_use]
    pub fn whole_buckets(&self) -> Self {
        match self {
            Self::Hash(buckets) => Self::Hash(Buckets {
                except: BTreeSet::new(),
                ..buckets.clone()
            }),
            Self::Range(_) | Self::List(_) => self.clone(),
        }
    }

    /// Returns the same set in normal form.
    #[must_use]
    pub fn normal(self) -> Self {
        match self {
            Self::Range(ranges) => from_intervals(normal(key_intervals(&ranges))),
            Self::Hash(buckets) => Self::Hash(buckets.normal()),
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
            Self::Hash(buckets) => Self::Hash(Buckets {
                except: accept_all(types, &buckets.except)?,
                ..buckets
            }),
            Self::List(keys) => Self::List(accept_all(types, &keys)?),
        };
        Ok(set.normal())
    }

    /// Returns true if no key can be in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Range(ranges) => ranges.iter().all(KeyRange::is_empty),
            Self::Hash(buckets) => buckets.is_empty(),
            Self::List(keys) => keys.is_empty(),
        }
    }

    /// Returns true if `key` is in the set. The SQL of [`KeySet::predicate`] gives the same result for a row with this
    /// key.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        match self {
            Self::Range(ranges) => ranges.iter().any(|range| range.contains(key)),
            Self::Hash(buckets) => buckets.contains(key),
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
            (Self::Hash(a), Self::Hash(b)) => Self::Hash(a.intersection(b)),
            (Self::List(a), Self::List(b)) => Self::List(a & b),
            (_, _) => self.empty_set(),
        }
    }

    /// Returns the keys that are in either set. If `other` has another strategy, it is ignored.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.clone().union_all([other])
    }

    /// Returns the keys that are in this set or in any of `others`. Sets of another strategy are ignored.
    ///
    /// It sorts once; the time of pairwise unions would grow with the square of the number of sets.
    #[must_use]
    pub fn union_all<'a>(self, others: impl IntoIterator<Item = &'a Self>) -> Self {
        let others = others.into_iter();
        match self {
            Self::Range(mut all) => {
                for other in others {
                    if let Self::Range(ranges) = other {
                        all.extend_from_slice(ranges);
                    }
                }
                Self::Range(all).normal()
            }
            Self::Hash(all) => {
                let others = others.filter_map(|other| match other {
                    Self::Hash(buckets) => Some(buckets),
                    Self::Range(_) | Self::List(_) => None,
                });
                let others: Vec<&Buckets> = others.collect();
                Self::Hash(all.union_all(&others))
            }
            Self::List(mut all) => {
                for other in others {
                    if let Self::List(keys) = other {
                        all.extend(keys.iter().cloned());
                    }
                }
                Self::List(all)
            }
        }
    }

    /// Returns the keys of this set that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Range(a), Self::Range(b)) => {
                from_intervals(minus(&key_intervals(a), &key_intervals(b)))
            }
            (Self::Hash(a), Self::Hash(b)) => Self::Hash(a.minus(b)),
            (Self::List(a), Self::List(b)) => Self::List(a - b),
            (_, _) => self.clone(),
        }
    }

    /// Returns the empty set of the same strategy.
    #[must_use]
    pub fn empty_set(&self) -> Self {
        match self {
            Self::Range(_) => Self::Range(Vec::new()),
            Self::Hash(buckets) => Self::single_keys(buckets.of, []),
            Self::List(_) => Self::List(BTreeSet::new()),
        }
    }

    /// Returns the pieces of the set, each as a separate set: ranges, ranges of virtual shards without their exceptions,
    /// single keys.
    #[must_use]
    pub fn pieces(&self) -> Vec<Self> {
        match self {
            Self::Range(ranges) => ranges
                .iter()
                .map(|range| Self::Range(vec![range.clone()]))
                .collect(),
            Self::Hash(buckets) => buckets.pieces().into_iter().map(Self::Hash).collect(),
            Self::List(keys) => keys.iter().map(|key| Self::list([key.clone()])).collect(),
        }
    }

    /// Returns the pieces as spans of bytes, for a constraint that forbids an overlap of two sets of one map.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        match self {
            Self::Range(ranges) => ranges.iter().map(KeyRange::span).collect(),
            Self::Hash(buckets) => buckets.spans(),
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

fn accept_all(types: &[KeyType], keys: &BTreeSet<Key>) -> Result<BTreeSet<Key>, KeyError> {
    keys.iter().map(|key| accept(types, key)).collect()
}

/// The maximum number of pieces or keys in a text for people.
const MAX_PIECES_IN_TEXT: usize = 8;

impl fmt::Display for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            _ if self.is_empty() => f.write_str("no keys"),
            Self::Range(ranges) => f.write_str(&first_texts(ranges)),
            Self::List(keys) => write!(f, "keys {}", first_texts(keys)),
            Self::Hash(buckets) => {
                let (missing, single) = buckets.exceptions();
                if !buckets.ranges.is_empty() {
                    write!(f, "buckets {}", first_texts(&buckets.ranges))?;
                }
                if !missing.is_empty() {
                    write!(f, " without keys {}", first_texts(missing))?;
                }
                match (buckets.ranges.is_empty(), single.is_empty()) {
                    (_, true) => Ok(()),
                    (true, false) => write!(f, "keys {}", first_texts(single)),
                    (false, false) => write!(f, " and keys {}", first_texts(single)),
                }
            }
        }
    }
}

/// Returns the first items as a list, and the number of the others.
fn first_texts(
    items: impl IntoIterator<Item: fmt::Display, IntoIter: ExactSizeIterator>,
) -> String {
    let items = items.into_iter();
    let more = items.len().saturating_sub(MAX_PIECES_IN_TEXT);
    let first: Vec<String> = items
        .take(MAX_PIECES_IN_TEXT)
        .map(|item| item.to_string())
        .collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
