//! Many keys in order, found with few looks at memory that is not at hand.
//!
//! Numbers are guessed: a table says between which entries those lie that are about as far from the least one. Where too
//! many are, because a few numbers lie far from the others, and for keys that are no numbers, samples lead there: above the entries lie samples, each level every [`STRIDE`]th of the one below: the upper ones stay in the processor's
//! caches, and of the entries one short run is read. A binary search would look at twenty places all over a million.

use plans::key::Key;
use std::num::NonZeroU32;

/// Entries between two samples.
const STRIDE: usize = 8;
/// Entries for each place of the table of guesses, if they are spread evenly.
const TOGETHER: usize = 4;
/// More than these are not looked at one by one.
const CROWD: usize = 16;
/// A level that is no longer than this has no samples above it.
const SHORT: usize = 512;

/// An owner, counted from 1, so that none takes no room.
pub(crate) type Owner = NonZeroU32;

/// A key that may say how far it is from another.
pub(crate) trait Spread: Ord + Clone {
    /// How far it is above `least`; none for what is no number, or not above it.
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

/// Entries in key order, each key beside its value: both are in one page of memory.
#[derive(Debug)]
pub(crate) struct Sorted<K, V> {
    entries: Vec<(K, V)>,
    /// The shortest first.
    samples: Vec<Vec<K>>,
    guesses: Guesses,
}

/// How many entries lie before each place of the numbers' span, which is divided evenly.
#[derive(Debug, Default)]
struct Guesses {
    before: Vec<u32>,
    /// A number's place is how far it is above the least one, without so many of the lowest bits.
    bits: u32,
}

impl Guesses {
    /// Of keys in order; none where they are no numbers.
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

    /// The entries among which the one that is `far` above the least has its neighbours, of `all`.
    fn run(&self, far: u64, all: usize) -> Option<(usize, usize)> {
        let place = self.place(far)?;
        let entry = |before: &u32| usize::try_from(*before).unwrap_or(usize::MAX);
        let from = self.before.get(place).map(entry)?;
        let to = self.before.get(place + 1).map_or(all, entry);
        (to - from <= CROWD).then_some((from, to))
    }
}

impl<K: Spread, V> Sorted<K, V> {
    /// Of entries in any order, whose keys differ.
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

    /// The last entry whose key is not above `key`.
    pub(crate) fn last_up_to(&self, key: &K) -> Option<&(K, V)> {
        let far = self.entries.first().and_then(|(least, _)| key.above(least));
        let run = far.and_then(|far| self.guesses.run(far, self.entries.len()));
        let run = run.or_else(|| self.sampled(key))?;
        let up_to = count(&self.entries, run, |(entry, _)| entry <= key);
        self.entries.get(up_to.checked_sub(1)?)
    }

    /// The entries among which `key` has its neighbours; none where it lies below all.
    fn sampled(&self, key: &K) -> Option<(usize, usize)> {
        let mut run = (0, usize::MAX);
        for level in &self.samples {
            let up_to = count(level, run, |sample| sample <= key);
            // The next level has at least the entry that the last of these samples is, and less than the next sample.
            run = (up_to.checked_sub(1)? * STRIDE, up_to * STRIDE);
        }
        Some(run)
    }

    /// What is kept for `key`.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (found, value) = self.last_up_to(key)?;
        (found == key).then_some(value)
    }
}

/// For how many entries it holds, of which those in `run` are looked at: for all before it does, for none after it.
fn count<T>(entries: &[T], (from, to): (usize, usize), holds: impl Fn(&T) -> bool) -> usize {
    let run = entries.get(from..to.min(entries.len())).unwrap_or(&[]);
    if run.len() > CROWD {
        return from + run.partition_point(holds);
    }
    // No look waits for the one before it.
    from + run.iter().filter(|entry| holds(entry)).count()
}

fn every<'a, K: Clone + 'a>(keys: impl Iterator<Item = &'a K>) -> Vec<K> {
    keys.step_by(STRIDE).cloned().collect()
}

/// Half-open pieces of an order: from each cut on, up to the next, another owner, or nobody.
#[derive(Debug)]
pub(crate) struct Cuts<K> {
    /// The owner of what lies below all cuts.
    below: Option<Owner>,
    above: Sorted<K, Option<Owner>>,
}

impl<K: Spread> Cuts<K> {
    /// Of pieces in order that do not overlap; a missing end has no bound.
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

    /// The owner of `key`.
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
