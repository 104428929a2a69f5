//! Sets of shards that items may be on; items share them, so that a million items with constraints stay small.

use super::types::RebalanceShard;
use std::collections::BTreeMap;

/// Index into a table of distinct sets of allowed shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedId(pub u32);

/// A set of shards, by index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedSet {
    /// One bit per shard; absent for every shard.
    words: Option<Vec<u64>>,
}

impl AllowedSet {
    /// Every shard.
    #[must_use]
    pub fn everywhere() -> Self {
        Self { words: None }
    }

    /// The shards with these indices.
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

    /// The shards of which `test` is true: of their labels, say.
    #[must_use]
    pub fn matching(shards: &[RebalanceShard], test: impl Fn(&RebalanceShard) -> bool) -> Self {
        Self::of(
            (0_u32..)
                .zip(shards)
                .filter(|(_, shard)| test(shard))
                .map(|(index, _)| index),
        )
    }

    /// Whether the shard is in the set.
    #[must_use]
    pub fn contains(&self, shard: u32) -> bool {
        let (word, bit) = position(shard);
        self.words
            .as_ref()
            .is_none_or(|words| words.get(word).is_some_and(|have| have & bit != 0))
    }
}

/// Word and bit of a shard.
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
    /// The set's number; a new one if the set was not seen before.
    pub fn id(&mut self, set: AllowedSet) -> AllowedId {
        let next = AllowedId(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        *self.ids.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            next
        })
    }

    /// The sets in the order of their numbers: what [`super::rebalance`] takes.
    #[must_use]
    pub fn sets(&self) -> &[AllowedSet] {
        &self.sets
    }
}
