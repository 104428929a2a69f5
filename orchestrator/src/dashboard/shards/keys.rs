//! How many keys a shard owns in each map: ranges, virtual shards or single keys.

use super::super::bars::key_count_text;
use crate::view::figures::count;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The number of ranges, virtual shards and single keys of some mappings of one map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::dashboard) struct KeyTotal {
    ranges: usize,
    buckets: u32,
    keys: usize,
}

impl KeyTotal {
    /// Adds the keys of a mapping.
    pub(in crate::dashboard) fn add(&mut self, keys: &KeySet) {
        match keys {
            KeySet::Range(ranges) => self.ranges += ranges.len(),
            KeySet::Hash(set) => {
                let sizes = set.ranges.iter().map(|range| range.to - range.from);
                self.buckets += sizes.sum::<u32>();
                self.keys += usize::from(keys.exception().is_some());
            }
            KeySet::List(keys) => self.keys += keys.len(),
        }
    }

    /// Returns the numbers that are not zero, each with its unit.
    pub(in crate::dashboard) fn text(&self) -> String {
        let counted = |number: usize, unit: &str| {
            let plural = if number == 1 { "" } else { "s" };
            let number = count(i64::try_from(number).unwrap_or(i64::MAX));
            format!("{number} {unit}{plural}")
        };
        let mut parts = Vec::new();
        if self.ranges > 0 {
            parts.push(counted(self.ranges, "range"));
        }
        if self.buckets > 0 {
            let buckets = usize::try_from(self.buckets).unwrap_or(usize::MAX);
            parts.push(counted(buckets, "virtual shard"));
        }
        if self.keys > 0 {
            parts.push(key_count_text(self.keys));
        }
        match parts.is_empty() {
            true => "no keys".to_owned(),
            false => parts.join(", "),
        }
    }
}

/// Returns for each of `shards` that owns keys: the maps and what it owns of each, as text.
pub(super) fn keys_by_shard<'a>(
    maps: &[Arc<ShardMap>],
    shards: impl Iterator<Item = &'a ShardName>,
) -> BTreeMap<ShardName, Vec<(String, String)>> {
    let totals: HashMap<&ShardName, KeyTotal> =
        shards.map(|shard| (shard, KeyTotal::default())).collect();
    let mut owned: BTreeMap<ShardName, Vec<(String, String)>> = BTreeMap::new();
    for map in maps {
        let mut totals = totals.clone();
        for mapping in &map.mappings {
            if let Some(total) = totals.get_mut(&mapping.shard) {
                total.add(&mapping.keys);
            }
        }
        let owners = totals.into_iter();
        for (shard, total) in owners.filter(|(_, total)| *total != KeyTotal::default()) {
            let entry = owned.entry(shard.clone()).or_default();
            entry.push((map.name.to_string(), total.text()));
        }
    }
    owned
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::key::Key;

    #[test]
    fn each_kind_of_keys_has_its_unit() {
        let text = |sets: &[KeySet]| {
            let mut total = KeyTotal::default();
            sets.iter().for_each(|set| total.add(set));
            total.text()
        };
        assert_eq!(text(&[]), "no keys");
        assert_eq!(text(&[KeySet::range(None, Some(Key::Int(5)))]), "1 range");
        assert_eq!(text(&[KeySet::buckets(64, 0, 32)]), "32 virtual shards");
        assert_eq!(text(&[KeySet::list([Key::from("x")])]), "1 key");
    }
}
