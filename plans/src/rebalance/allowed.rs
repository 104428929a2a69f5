//! Sets of shards on which items may be. Items share these sets, so that a million items with constraints need little
//! memory.

use super::types::RebalanceShard;
use std::collections::BTreeMap;

/// An index into a table of distinct sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedId(pub u32);

/// A set of shards, by their indexes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedSet {
    /// One bit for each shard; `None`: all shards.
    words: Option<Vec<u64>>,
}

impl AllowedSet {
    /// Returns the set of all shards.
    #[must_use]
    pub fn everywhere() -> Self {
        Self { words: None }
    }

    /// Creates a set of the shards with these indexes.
    #[must_use]
    pub fn of(shards: impl IntoIterator<Item = u32>) -> Self {
        let mut words = Vec::new();
        for shard in shards {
            let (word, bit) = position(shard);
            if words.len() <= word {
                words.resize(word + 1, 0);
            }
            words[word] |= bit;
        }
        Self { words: Some(words) }
    }

    /// Creates a set of the shards for which `test` returns true, for example by their labels.
    #[must_use]
    pub fn matching(shards: &[RebalanceShard], test: impl Fn(&RebalanceShard) -> bool) -> Self {
        Self::of(
            (0_u32..)
                .zip(shards)
                .filter(|(_, shard)| test(shard))
                .map(|(index, _)| index),
        )
    }

    /// Returns whether the shard is in the set.
    #[must_use]
    pub fn contains(&self, shard: u32) -> bool {
        let (word, bit) = position(shard);
        self.words
            .as_ref()
            .is_none_or(|words| words.get(word).is_some_and(|have| have & bit != 0))
    }
}

/// Returns the word and the bit of a shard.
fn position(shard: u32) -> (usize, u64) {
    (
        usize::try_from(shard / 64).unwrap_or(usize::MAX),
        1 << (shard % 64),
    )
}

/// Collects distinct sets and numbers them.
#[derive(Debug, Clone, Default)]
pub struct AllowedTable {
    sets: Vec<AllowedSet>,
    ids: BTreeMap<AllowedSet, AllowedId>,
}

impl AllowedTable {
    /// Returns the number of the set. A set that is not in the table gets a new number.
    pub fn id(&mut self, set: AllowedSet) -> AllowedId {
        let next = AllowedId(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        *self.ids.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            next
        })
    }

    /// Returns the sets in the order of their numbers, which is an input of [`super::rebalance`].
    #[must_use]
    pub fn sets(&self) -> &[AllowedSet] {
        &self.sets
    }
}
