//! Sorted keys, with lookups that cause few cache misses.
//!
//! For numbers, a table estimates the position: for equal parts of the span of numbers it has the number of entries
//! before each part. If a part has too many entries, because a few numbers are far from the others, or if the keys are
//! not numbers, the lookup uses levels of samples: each level has every [`SAMPLE_STRIDE`]th key of the level below, and
//! the upper levels stay in the processor's caches. Then the lookup reads one short run of entries. A binary search
//! among a million entries would read twenty entries that are far apart.

use plans::key::Key;
use std::num::NonZeroU32;

/// The number of entries between two samples.
const SAMPLE_STRIDE: usize = 8;
/// The average number of entries in each part of the table of estimates.
const ENTRIES_PER_PART: usize = 4;
/// A run of up to this many entries is scanned. A longer run is searched.
const MAX_SCANNED: usize = 16;
/// So many entries, or keys of a level, are searched directly, without a level of samples above them.
const MAX_UNSAMPLED: usize = 512;

/// The number of an owner, from 1, so that `Option<OwnerNumber>` needs no additional memory.
pub(crate) type OwnerNumber = NonZeroU32;

/// A key type whose values may be numbers.
pub(crate) trait MaybeNumber: Ord + Clone {
    /// Returns the distance of this key from `least`; `None` if the key is not a number or is below `least`.
    fn distance_from(&self, least: &Self) -> Option<u64>;
}

impl MaybeNumber for i64 {
    fn distance_from(&self, least: &Self) -> Option<u64> {
        (self >= least).then(|| self.abs_diff(*least))
    }
}

impl MaybeNumber for u32 {
    fn distance_from(&self, least: &Self) -> Option<u64> {
        self.checked_sub(*least).map(u64::from)
    }
}

impl MaybeNumber for Key {
    fn distance_from(&self, _least: &Self) -> Option<u64> {
        None
    }
}

/// Entries in key order. Each key is next to its value, so that both are in the same cache line.
#[derive(Debug)]
pub(crate) struct Sorted<K, V> {
    entries: Vec<(K, V)>,
    /// The levels of samples, the shortest first.
    samples: Vec<Vec<K>>,
    estimates: PositionEstimates,
}

/// Estimates of positions: for equal parts of the span of the numbers, how many entries are before each part.
#[derive(Debug, Default)]
struct PositionEstimates {
    entries_before: Vec<u32>,
    /// The part of a number is its distance from the least one, shifted right by this many bits.
    shift: u32,
}

impl PositionEstimates {
    /// Builds the table from sorted keys. It is empty if they are not numbers.
    fn new<K: MaybeNumber>(keys: impl ExactSizeIterator<Item = K> + Clone) -> Self {
        let (Some(least), Some(last)) = (keys.clone().next(), keys.clone().last()) else {
            return Self::default();
        };
        let parts = u64::try_from(keys.len() / ENTRIES_PER_PART).unwrap_or(u64::MAX);
        let (Some(span), true) = (last.distance_from(&least), parts > 0) else {
            return Self::default();
        };
        let shift = (0..u64::BITS).find(|shift| span >> shift < parts);
        let mut estimates = Self {
            entries_before: Vec::new(),
            shift: shift.unwrap_or(u64::BITS - 1),
        };
        for (key, number) in keys.zip(0..) {
            let part = key
                .distance_from(&least)
                .and_then(|distance| estimates.part_of(distance));
            let next = part.map_or(0, |part| part + 1);
            while estimates.entries_before.len() < next {
                estimates.entries_before.push(number);
            }
        }
        estimates
    }

    fn part_of(&self, distance: u64) -> Option<usize> {
        usize::try_from(distance >> self.shift).ok()
    }

    /// Returns the run of entries of the part that contains this distance from the least entry. All entries before the
    /// run are less, all after it are greater. `entries` is the number of all entries. `None`: the part has too many
    /// entries, or the table has no such part.
    fn run(&self, distance: u64, entries: usize) -> Option<(usize, usize)> {
        let part = self.part_of(distance)?;
        let index = |before: &u32| usize::try_from(*before).unwrap_or(usize::MAX);
        let from = self.entries_before.get(part).map(index)?;
        let to = self.entries_before.get(part + 1).map_or(entries, index);
        (to - from <= MAX_SCANNED).then_some((from, to))
    }
}

impl<K: MaybeNumber, V> Sorted<K, V> {
    /// Builds the structure from entries in any order. Their keys must differ.
    pub(crate) fn new(mut entries: Vec<(K, V)>) -> Self {
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut samples: Vec<Vec<K>> = Vec::new();
        let mut level: Vec<K> = sample_keys(entries.iter().map(|(key, _)| key));
        while level.len() * SAMPLE_STRIDE > MAX_UNSAMPLED {
            let next = sample_keys(level.iter());
            samples.insert(0, level);
            level = next;
        }
        let estimates = PositionEstimates::new(entries.iter().map(|(key, _)| key.clone()));
        Self {
            entries,
            samples,
            estimates,
        }
    }

    /// Returns the last entry whose key is not above `key`.
    pub(crate) fn last_up_to(&self, key: &K) -> Option<&(K, V)> {
        let distance = self
            .entries
            .first()
            .and_then(|(least, _)| key.distance_from(least));
        let run = distance.and_then(|distance| self.estimates.run(distance, self.entries.len()));
        let run = run.or_else(|| self.run_by_samples(key))?;
        let up_to = count_while(&self.entries, run, |(entry, _)| entry <= key);
        self.entries.get(up_to.checked_sub(1)?)
    }

    /// Returns a run of entries: all entries before it are below `key`, and all after it are above. `None` if `key` is
    /// below all entries.
    fn run_by_samples(&self, key: &K) -> Option<(usize, usize)> {
        let mut run = (0, usize::MAX);
        for level in &self.samples {
            let not_above = count_while(level, run, |sample| sample <= key);
            // The run in the level below: from the last sample that is not above `key` to before the next sample.
            run = (
                not_above.checked_sub(1)? * SAMPLE_STRIDE,
                not_above * SAMPLE_STRIDE,
            );
        }
        Some(run)
    }

    /// Returns the value of `key`.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (found, value) = self.last_up_to(key)?;
        (found == key).then_some(value)
    }
}

/// Returns the number of entries for which `holds` is true. `holds` must be true for all entries before the run, and
/// false for all after it.
fn count_while<T>(entries: &[T], (from, to): (usize, usize), holds: impl Fn(&T) -> bool) -> usize {
    let run = entries.get(from..to.min(entries.len())).unwrap_or(&[]);
    if run.len() > MAX_SCANNED {
        return from + run.partition_point(holds);
    }
    // All entries are compared, so that no comparison waits for the result of another one.
    from + run.iter().filter(|entry| holds(entry)).count()
}

/// Returns the samples of `keys`.
fn sample_keys<'a, K: Clone + 'a>(keys: impl Iterator<Item = &'a K>) -> Vec<K> {
    keys.step_by(SAMPLE_STRIDE).cloned().collect()
}

/// The owners of half-open pieces of all keys: from each bound to the next, one owner or no owner.
#[derive(Debug)]
pub(crate) struct PieceOwners<K> {
    /// The owner of the keys below all bounds.
    owner_below: Option<OwnerNumber>,
    /// The bounds, each with the owner of the keys from this bound to the next.
    bounds: Sorted<K, Option<OwnerNumber>>,
}

impl<K: MaybeNumber> PieceOwners<K> {
    /// Builds the structure from sorted pieces that do not overlap. A missing end is unbounded.
    pub(crate) fn new(pieces: impl Iterator<Item = (Option<K>, Option<K>, OwnerNumber)>) -> Self {
        let mut owner_below = None;
        let mut bounds: Vec<(K, Option<OwnerNumber>)> = Vec::new();
        for (from, to, owner) in pieces {
            match (from, bounds.last_mut()) {
                (None, _) => owner_below = Some(owner),
                (Some(from), Some((last, owner_after))) if *last == from => {
                    *owner_after = Some(owner);
                }
                (Some(from), _) => bounds.push((from, Some(owner))),
            }
            bounds.extend(to.map(|to| (to, None)));
        }
        Self {
            owner_below,
            bounds: Sorted::new(bounds),
        }
    }

    /// Returns the owner of `key`.
    pub(crate) fn owner(&self, key: &K) -> Option<OwnerNumber> {
        match self.bounds.last_up_to(key) {
            Some((_, owner)) => *owner,
            None => self.owner_below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_at_every_size() {
        for size in [0_i64, 1, 15, 16, 17, 255, 256, 257, 5_000, 70_000] {
            let even: Vec<(i64, i64)> = (0..size).rev().map(|n| (2 * n, n)).collect();
            let sorted = Sorted::new(even);
            for n in 0..size {
                assert_eq!(sorted.get(&(2 * n)), Some(&n), "{n} of {size}");
                assert_eq!(sorted.get(&(2 * n + 1)), None, "{n} of {size}");
                assert_eq!(sorted.last_up_to(&(2 * n + 1)), Some(&(2 * n, n)));
            }
            assert_eq!(sorted.last_up_to(&-1), None);
        }
    }

    #[test]
    fn numbers_far_from_the_others_are_found_too() {
        let far = [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX];
        let near = (0..40_000).map(|n| n * n % 1_000_003);
        let mut keys: Vec<i64> = far.into_iter().chain(near).collect();
        keys.sort_unstable();
        keys.dedup();
        for keys in [&keys[..], &keys[2..], &keys[2..keys.len() - 2]] {
            let sorted = Sorted::new(keys.iter().map(|key| (*key, ())).collect());
            for probe in keys.iter().flat_map(|key| [key.saturating_sub(1), *key]) {
                let up_to = keys.partition_point(|key| *key <= probe);
                let expected = up_to.checked_sub(1).map(|place| (keys[place], ()));
                assert_eq!(sorted.last_up_to(&probe), expected.as_ref(), "{probe}");
            }
        }
    }

    #[test]
    fn keys_between_pieces_have_no_owner() {
        let [a, b, c] = [1, 2, 3].map(|number| OwnerNumber::new(number).unwrap());
        let pieces = [
            (None, Some(3_i64), a),
            (Some(3), Some(5), b),
            (Some(8), None, c),
        ];
        let owners_of_pieces = PieceOwners::new(pieces.into_iter());
        let owners: Vec<Option<OwnerNumber>> =
            (2..10).map(|key| owners_of_pieces.owner(&key)).collect();
        let (a, b, c) = (Some(a), Some(b), Some(c));
        assert_eq!(owners, [a, b, b, None, None, None, c, c]);
    }
}
