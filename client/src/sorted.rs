//! Many keys in order, with lookups that cause few cache misses.
//!
//! For numbers, a table estimates the position: for equal parts of the span of numbers it has the number of entries
//! before each part. If a part has too many entries, because a few numbers are far from the others, and for keys that
//! are not numbers, the lookup uses levels of samples: each level has every [`STRIDE`]th key of the level below, and
//! the upper levels stay in the processor's caches. Of the entries it then reads one short run. A binary search among a
//! million entries would read twenty distant places.

use plans::key::Key;
use std::num::NonZeroU32;

/// The number of entries between two samples.
const STRIDE: usize = 8;
/// The average number of entries for each part of the estimate table.
const TOGETHER: usize = 4;
/// A run with more entries than this is searched, not scanned.
const CROWD: usize = 16;
/// A level with no more keys than this has no samples above it.
const SHORT: usize = 512;

/// The number of an owner, from 1, so that `Option<Owner>` needs no additional memory.
pub(crate) type Owner = NonZeroU32;

/// A key that may be a number.
pub(crate) trait Spread: Ord + Clone {
    /// Returns the distance from `least`; `None` if the key is not a number or is below `least`.
    fn above(&self, least: &Self) -> Option<u64>;
}

impl Spread for i64 {
    fn above(&self, least: &Self) -> Option<u64> {
        (self >= least).then(|| self.abs_diff(*least))
    }
}

impl Spread for u32 {
    fn above(&self, least: &Self) -> Option<u64> {
        self.checked_sub(*least).map(u64::from)
    }
}

impl Spread for Key {
    fn above(&self, _least: &Self) -> Option<u64> {
        None
    }
}

/// Entries in key order. Each key is next to its value, so that both are in the same cache line.
#[derive(Debug)]
pub(crate) struct Sorted<K, V> {
    entries: Vec<(K, V)>,
    /// The levels of samples, the shortest first.
    samples: Vec<Vec<K>>,
    guesses: Guesses,
}

/// For equal parts of the span of the numbers: how many entries come before each part.
#[derive(Debug, Default)]
struct Guesses {
    before: Vec<u32>,
    /// The part of a number is its distance from the least one, shifted right by this many bits.
    bits: u32,
}

impl Guesses {
    /// Builds the table from sorted keys. It is empty if they are not numbers.
    fn new<K: Spread>(keys: impl ExactSizeIterator<Item = K> + Clone) -> Self {
        let (Some(least), Some(last)) = (keys.clone().next(), keys.clone().last()) else {
            return Self::default();
        };
        let places = u64::try_from(keys.len() / TOGETHER).unwrap_or(u64::MAX);
        let (Some(span), true) = (last.above(&least), places > 0) else {
            return Self::default();
        };
        let bits = (0..u64::BITS).find(|bits| span >> bits < places);
        let mut guesses = Self {
            before: Vec::new(),
            bits: bits.unwrap_or(u64::BITS - 1),
        };
        for (key, number) in keys.zip(0..) {
            let place = key.above(&least).and_then(|far| guesses.place(far));
            let next = place.map_or(0, |place| place + 1);
            while guesses.before.len() < next {
                guesses.before.push(number);
            }
        }
        guesses
    }

    fn place(&self, far: u64) -> Option<usize> {
        usize::try_from(far >> self.bits).ok()
    }

    /// Returns the run of entries that contains the neighbours of the entry with the distance `far` from the least one.
    /// `all` is the number of entries.
    fn run(&self, far: u64, all: usize) -> Option<(usize, usize)> {
        let place = self.place(far)?;
        let entry = |before: &u32| usize::try_from(*before).unwrap_or(usize::MAX);
        let from = self.before.get(place).map(entry)?;
        let to = self.before.get(place + 1).map_or(all, entry);
        (to - from <= CROWD).then_some((from, to))
    }
}

impl<K: Spread, V> Sorted<K, V> {
    /// Builds the structure from entries in any order. Their keys must differ.
    pub(crate) fn new(mut entries: Vec<(K, V)>) -> Self {
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut samples: Vec<Vec<K>> = Vec::new();
        let mut level: Vec<K> = every(entries.iter().map(|(key, _)| key));
        while level.len() * STRIDE > SHORT {
            let next = every(level.iter());
            samples.insert(0, level);
            level = next;
        }
        let guesses = Guesses::new(entries.iter().map(|(key, _)| key.clone()));
        Self {
            entries,
            samples,
            guesses,
        }
    }

    /// Returns the last entry whose key is not above `key`.
    pub(crate) fn last_up_to(&self, key: &K) -> Option<&(K, V)> {
        let far = self.entries.first().and_then(|(least, _)| key.above(least));
        let run = far.and_then(|far| self.guesses.run(far, self.entries.len()));
        let run = run.or_else(|| self.sampled(key))?;
        let up_to = count(&self.entries, run, |(entry, _)| entry <= key);
        self.entries.get(up_to.checked_sub(1)?)
    }

    /// Returns the run of entries that contains the neighbours of `key`, or `None` if it is below all entries.
    fn sampled(&self, key: &K) -> Option<(usize, usize)> {
        let mut run = (0, usize::MAX);
        for level in &self.samples {
            let up_to = count(level, run, |sample| sample <= key);
            // In the next level, this run begins at the entry of the last of these samples, and ends before the next
            // sample.
            run = (up_to.checked_sub(1)? * STRIDE, up_to * STRIDE);
        }
        Some(run)
    }

    /// Returns the value of `key`.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (found, value) = self.last_up_to(key)?;
        (found == key).then_some(value)
    }
}

/// Returns the number of entries for which `holds` is true. It must be true for all entries before `run`, and for none
/// after it.
fn count<T>(entries: &[T], (from, to): (usize, usize), holds: impl Fn(&T) -> bool) -> usize {
    let run = entries.get(from..to.min(entries.len())).unwrap_or(&[]);
    if run.len() > CROWD {
        return from + run.partition_point(holds);
    }
    // All entries are compared, so that no comparison waits for the result of another one.
    from + run.iter().filter(|entry| holds(entry)).count()
}

fn every<'a, K: Clone + 'a>(keys: impl Iterator<Item = &'a K>) -> Vec<K> {
    keys.step_by(STRIDE).cloned().collect()
}

/// Half-open pieces of an order: from each cut to the next, another owner or no owner.
#[derive(Debug)]
pub(crate) struct Cuts<K> {
    /// The owner below all cuts.
    below: Option<Owner>,
    above: Sorted<K, Option<Owner>>,
}

impl<K: Spread> Cuts<K> {
    /// Builds the cuts from sorted pieces that do not overlap. A missing end is unbounded.
    pub(crate) fn new(pieces: impl Iterator<Item = (Option<K>, Option<K>, Owner)>) -> Self {
        let mut below = None;
        let mut cuts: Vec<(K, Option<Owner>)> = Vec::new();
        for (from, to, owner) in pieces {
            match (from, cuts.last_mut()) {
                (None, _) => below = Some(owner),
                (Some(from), Some((last, nobody))) if *last == from => *nobody = Some(owner),
                (Some(from), _) => cuts.push((from, Some(owner))),
            }
            cuts.extend(to.map(|to| (to, None)));
        }
        Self {
            below,
            above: Sorted::new(cuts),
        }
    }

    /// Returns the owner of `key`.
    pub(crate) fn owner(&self, key: &K) -> Option<Owner> {
        match self.above.last_up_to(key) {
            Some((_, owner)) => *owner,
            None => self.below,
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
    fn what_lies_between_pieces_has_no_owner() {
        let [a, b, c] = [1, 2, 3].map(|number| Owner::new(number).unwrap());
        let pieces = [
            (None, Some(3_i64), a),
            (Some(3), Some(5), b),
            (Some(8), None, c),
        ];
        let cuts = Cuts::new(pieces.into_iter());
        let owners: Vec<Option<Owner>> = (2..10).map(|key| cuts.owner(&key)).collect();
        let (a, b, c) = (Some(a), Some(b), Some(c));
        assert_eq!(owners, [a, b, b, None, None, None, c, c]);
    }
}
