//! Sets of virtual shards and single keys of a hash map.
//!
//! The number of a key's virtual shard is its hash modulo the number of virtual shards, which is a power of two. If this
//! number grows to a multiple, virtual shard `b` of `n` becomes the virtual shards `b`, `b + n`, `b + 2n` and so on, which
//! have the same keys together.
//!
//! A set differs from whole virtual shards in finitely many keys, its exceptions. Every virtual shard has unlimited
//! keys, so each set has exactly one such form, and the form does not depend on the number of virtual shards.

use super::{
    BucketRange, Buckets, KeySet, Span, bucket_intervals, bucket_of, common, minus, normal,
};
use crate::key::Key;
use std::collections::BTreeSet;

impl Buckets {
    /// Returns the same keys as virtual shards of `of`; `None` if these cannot be told apart by `of` virtual shards.
    /// Both numbers are powers of two.
    #[must_use]
    pub fn with_count(&self, of: u32) -> Option<Self> {
        if of >= self.of {
            return Some(self.repeated(of));
        }
        let first = BucketRange { from: 0, to: of };
        let own = Self {
            except: BTreeSet::new(),
            ..self.clone().normal()
        };
        let within = common(&bucket_intervals(&own.ranges), &bucket_intervals(&[first]));
        let coarse = Self::of_intervals(of, within);
        (coarse.repeated(self.of) == own).then(|| Self {
            except: self.except.clone(),
            ..coarse
        })
    }

    /// Returns true if `key` is in the set.
    pub(super) fn contains(&self, key: &Key) -> bool {
        self.has_bucket(bucket_of(key, self.of)) != self.except.contains(key)
    }

    /// Returns true if the virtual shard of an exception is in a range of the set.
    pub(super) fn has_bucket(&self, bucket: u32) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|range| range.from <= bucket && bucket < range.to)
    }

    /// Returns the exceptions whose virtual shard is in the set, which are therefore not in the set, and the exceptions
    /// that are in the set without their virtual shard.
    #[must_use]
    pub fn exceptions(&self) -> (Vec<&Key>, Vec<&Key>) {
        let mut except = self.except.iter();
        let is_missing = |key: &&Key| self.has_bucket(bucket_of(key, self.of));
        except.by_ref().partition(is_missing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.except.is_empty() && self.ranges.iter().all(|range| range.from >= range.to)
    }

    /// Returns the same set in normal form.
    pub(super) fn normal(self) -> Self {
        let intervals = normal(bucket_intervals(&self.ranges));
        Self {
            except: self.except,
            ..Self::of_intervals(self.of, intervals)
        }
    }

    fn of_intervals(of: u32, intervals: Vec<super::Interval<u32>>) -> Self {
        let range = |interval: super::Interval<u32>| BucketRange {
            from: interval.from.unwrap_or(0),
            to: interval.to.unwrap_or(of),
        };
        let ranges = intervals.into_iter().map(range).collect();
        Self {
            of,
            ranges,
            except: BTreeSet::new(),
        }
    }

    /// Returns the same keys as virtual shards of a multiple.
    fn repeated(&self, of: u32) -> Self {
        if of == self.of {
            return self.clone();
        }
        let copies = (0..of / self.of.max(1)).map(|copy| copy * self.of);
        let ranges = copies.flat_map(|offset| {
            self.ranges.iter().map(move |range| BucketRange {
                from: range.from.saturating_add(offset),
                to: range.to.saturating_add(offset),
            })
        });
        Self {
            of,
            ranges: ranges.collect(),
            except: self.except.clone(),
        }
        .normal()
    }

    /// Returns both sets as virtual shards of the larger number.
    fn alike(&self, other: &Self) -> (Self, Self) {
        let of = self.of.max(other.of);
        (self.repeated(of), other.repeated(of))
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let (a, b) = self.alike(other);
        let ranges = common(&bucket_intervals(&a.ranges), &bucket_intervals(&b.ranges));
        let except: Vec<&Key> = a.except.iter().chain(&b.except).collect();
        Self::of_intervals(a.of, ranges)
            .with_exceptions(except, |key| a.contains(key) && b.contains(key))
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        let (a, b) = self.alike(other);
        let ranges = minus(&bucket_intervals(&a.ranges), &bucket_intervals(&b.ranges));
        let except: Vec<&Key> = a.except.iter().chain(&b.except).collect();
        Self::of_intervals(a.of, ranges)
            .with_exceptions(except, |key| a.contains(key) && !b.contains(key))
    }

    /// Returns the union of this set and `others`, in one pass over all pieces.
    pub(super) fn union_all(self, others: &[&Self]) -> Self {
        let of = others.iter().fold(self.of, |of, other| of.max(other.of));
        let sets: Vec<Self> = std::iter::once(&self)
            .chain(others.iter().copied())
            .map(|set| set.repeated(of))
            .collect();
        let all_ranges = sets.iter().flat_map(|set| &set.ranges).copied().collect();
        let exceptions: BTreeSet<(u32, &Key)> = sets
            .iter()
            .flat_map(|set| &set.except)
            .map(|key| (bucket_of(key, of), key))
            .collect();
        let mut united: BTreeSet<&Key> = BTreeSet::new();
        let by_bucket: Vec<(u32, &Key)> = exceptions.into_iter().collect();
        for set in &sets {
            let is_own = |key: &&Key| !set.has_bucket(bucket_of(key, of));
            united.extend(set.except.iter().filter(is_own));
            for range in &set.ranges {
                let first = by_bucket.partition_point(|(bucket, _)| *bucket < range.from);
                let in_range = by_bucket[first..].iter();
                let in_range = in_range.take_while(|(bucket, _)| *bucket < range.to);
                united.extend(
                    in_range
                        .map(|(_, key)| *key)
                        .filter(|key| !set.except.contains(*key)),
                );
            }
        }
        let ranges = Self {
            of,
            ranges: all_ranges,
            except: BTreeSet::new(),
        };
        let exceptions = by_bucket.into_iter().map(|(_, key)| key).collect();
        ranges
            .normal()
            .with_exceptions(exceptions, |key| united.contains(key))
    }

    /// Returns a set with the same ranges and those of `keys` as exceptions whose membership differs from that of their
    /// virtual shard.
    fn with_exceptions(self, keys: Vec<&Key>, is_in_set: impl Fn(&Key) -> bool) -> Self {
        let differs = |key: &&Key| self.has_bucket(bucket_of(key, self.of)) != is_in_set(key);
        let except = keys.into_iter().filter(differs).cloned().collect();
        Self { except, ..self }
    }

    /// Returns the ranges, each with its exceptions, and then the other exceptions, each as a separate set.
    pub(super) fn pieces(&self) -> Vec<Self> {
        let (missing, single) = self.exceptions();
        let missing: Vec<(u32, &Key)> = missing
            .into_iter()
            .map(|key| (bucket_of(key, self.of), key))
            .collect();
        let ranges = self.ranges.iter().map(|range| {
            let is_inside = |bucket: u32| range.from <= bucket && bucket < range.to;
            let inside = missing.iter().filter(|(bucket, _)| is_inside(*bucket));
            Self {
                of: self.of,
                ranges: vec![*range],
                except: inside.map(|(_, key)| (*key).clone()).collect(),
            }
        });
        let single = single.into_iter().map(|key| Self {
            of: self.of,
            ranges: Vec::new(),
            except: [key.clone()].into(),
        });
        ranges.chain(single).collect()
    }

    /// Returns the pieces as spans of positions. The position of a key is the number of its virtual shard, followed by
    /// the key.
    pub(super) fn spans(&self) -> Vec<Span> {
        let start = |bucket: u32| bucket.to_be_bytes().to_vec();
        let mut spans = Vec::with_capacity(self.ranges.len() + self.except.len());
        let (missing, single) = self.exceptions();
        let mut missing: Vec<(u32, Vec<u8>)> = missing
            .into_iter()
            .map(|key| (bucket_of(key, self.of), position(key, self.of)))
            .collect();
        missing.sort_unstable();
        for range in &self.ranges {
            let first = missing.partition_point(|(bucket, _)| *bucket < range.from);
            let mut from = start(range.from);
            for (_, at) in missing[first..]
                .iter()
                .take_while(|(bucket, _)| *bucket < range.to)
            {
                spans.push((Some(from), Some(at.clone())));
                from = after(at);
            }
            spans.push((Some(from), Some(start(range.to))));
        }
        spans.extend(single.into_iter().map(|key| {
            let at = position(key, self.of);
            (Some(at.clone()), Some(after(&at)))
        }));
        spans
    }
}

fn position(key: &Key, of: u32) -> Vec<u8> {
    let mut bytes = bucket_of(key, of).to_be_bytes().to_vec();
    bytes.extend(key.ordered_bytes());
    bytes
}

/// Returns the first bytes after a position.
fn after(at: &[u8]) -> Vec<u8> {
    [at, &[0]].concat()
}

impl KeySet {
    /// Returns the same keys for a hash map with `of` virtual shards; `None` if these cannot express the set. Sets of other
    /// strategies stay as they are.
    #[must_use]
    pub fn with_bucket_count(&self, of: u32) -> Option<Self> {
        match self {
            Self::Hash(buckets) => buckets.with_count(of).map(Self::Hash),
            Self::Range(_) | Self::List(_) => Some(self.clone()),
        }
    }
}
