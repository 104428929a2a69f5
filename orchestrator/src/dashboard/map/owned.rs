//! What each shard owns, counted in one pass over the mappings.

use super::figures::KeyFigures;
use crate::dashboard::bars::key_count_text;
use crate::view::figures::count;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::HashMap;

/// The ranges, virtual shards or keys that one shard owns, and their load.
#[derive(Default, Clone, Copy)]
pub(super) struct OwnedKeys {
    pub(super) ranges: usize,
    pub(super) buckets: u32,
    pub(super) keys: usize,
    pub(super) figures: KeyFigures,
}

/// What each shard owns.
pub(super) type OwnedByShard<'a> = HashMap<&'a ShardName, OwnedKeys>;

/// Counts what each shard owns. `figures` is the load of each mapping; empty if none was measured.
pub(super) fn owned_by_shard<'a>(map: &'a ShardMap, figures: &[KeyFigures]) -> OwnedByShard<'a> {
    let mut owned = OwnedByShard::new();
    for (place, mapping) in map.mappings.iter().enumerate() {
        let sum = owned.entry(&mapping.shard).or_default();
        match &mapping.keys {
            KeySet::Range(ranges) => sum.ranges += ranges.len(),
            KeySet::Hash(set) => {
                let sizes = set.ranges.iter().map(|range| range.to - range.from);
                sum.buckets += sizes.sum::<u32>();
                sum.keys += usize::from(mapping.keys.exception().is_some());
            }
            KeySet::List(keys) => sum.keys += keys.len(),
        }
        if let Some(figures) = figures.get(place) {
            sum.figures += *figures;
        }
    }
    owned
}

impl OwnedKeys {
    /// Returns the number of keys or virtual shards; of ranges if their keys are not known.
    pub(super) fn number(&self) -> u64 {
        let number = match (self.buckets, self.keys) {
            (0, 0) => self.ranges,
            (0, keys) => keys,
            (buckets, _) => return u64::from(buckets),
        };
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// Describes the owned keys. `of` is the number of virtual shards of a hash map; 0 for other maps.
    pub(super) fn text(&self, of: u32) -> String {
        if of > 0 {
            let percent = f64::from(self.buckets) * 100.0 / f64::from(of);
            let virtual_shards = format!("{} of {of} virtual shards, {percent:.1} %", self.buckets);
            return match self.keys {
                0 => virtual_shards,
                keys => format!("{virtual_shards}, and {}", key_count_text(keys)),
            };
        }
        match self.ranges {
            0 => key_count_text(self.keys),
            1 => "1 range".to_owned(),
            several => {
                let number = count(i64::try_from(several).unwrap_or(i64::MAX));
                format!("{number} ranges")
            }
        }
    }
}
