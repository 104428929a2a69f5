//! Virtual shards of maps with different numbers of them.
//!
//! The number of a key's virtual shard is its hash modulo the number of virtual shards, which is a power of two. If this
//! number grows to a multiple, virtual shard `b` of `n` becomes the virtual shards `b`, `b + n`, `b + 2n` and so on, which
//! have the same keys together.

use super::{BucketRange, Buckets, KeySet, bucket_intervals, common, from_buckets, normal};

impl Buckets {
    /// Returns the same keys as virtual shards of `of`; `None` if these cannot be told apart by `of` virtual shards.
    /// Both numbers are powers of two.
    #[must_use]
    pub fn with_count(&self, of: u32) -> Option<Self> {
        if of >= self.of {
            return Some(self.repeated(of));
        }
        let own = self.clone().normal();
        let first = BucketRange { from: 0, to: of };
        let within = common(&bucket_intervals(&own.ranges), &bucket_intervals(&[first]));
        let KeySet::Hash(coarse) = from_buckets(of, within) else {
            return None;
        };
        (coarse.repeated(self.of) == own).then_some(coarse)
    }

    /// Returns the same set in normal form.
    fn normal(self) -> Self {
        let intervals = normal(bucket_intervals(&self.ranges));
        match from_buckets(self.of, intervals) {
            KeySet::Hash(normal) => normal,
            KeySet::Range(_) | KeySet::List(_) => self,
        }
    }

    /// Returns the same keys as virtual shards of a multiple.
    pub(super) fn repeated(&self, of: u32) -> Self {
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
        let ranges = ranges.collect();
        Self { of, ranges }.normal()
    }

    /// Returns both sets as virtual shards of the larger number.
    pub(super) fn alike(&self, other: &Self) -> (Self, Self) {
        let of = self.of.max(other.of);
        (self.repeated(of), other.repeated(of))
    }
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
