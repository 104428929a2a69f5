//! The shards of the fleet as the map uses them: the keys that each one owns, its labels and its capacity.

use crate::dashboard::bars::{Palette, key_count_text};
use crate::store::ShardRecord;
use crate::view::figures::{bytes, count};
use askama::Template;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::{BTreeMap, HashMap};

/// The maximum number of listed shards. Shards that own keys come first.
const MAX_SHARDS: usize = 200;

/// The shards of the fleet.
#[derive(Template)]
#[template(path = "map/shards.html")]
pub(super) struct MapShardsView {
    rows: Vec<MapShardRow>,
    hidden: usize,
}

struct MapShardRow {
    name: String,
    colour: usize,
    number: i32,
    owns: String,
    labels: Vec<String>,
    capacity: u32,
    space: Option<String>,
}

/// The pieces, virtual shards or keys that one shard owns.
#[derive(Default, Clone, Copy)]
struct OwnedKeys {
    ranges: usize,
    buckets: u32,
    keys: usize,
}

impl MapShardsView {
    /// Creates a row for each shard of `fleet`.
    pub(super) fn new(map: &ShardMap, fleet: &[ShardRecord], palette: &Palette) -> Self {
        let mut owned: HashMap<&ShardName, OwnedKeys> = HashMap::new();
        for mapping in &map.mappings {
            let sum = owned.entry(&mapping.shard).or_default();
            match &mapping.keys {
                KeySet::Range(ranges) => sum.ranges += ranges.len(),
                KeySet::Hash(set) => {
                    sum.buckets += set
                        .ranges
                        .iter()
                        .map(|range| range.to - range.from)
                        .sum::<u32>();
                    sum.keys += usize::from(mapping.keys.exception().is_some());
                }
                KeySet::List(keys) => sum.keys += keys.len(),
            }
        }
        let mut by_ownership: Vec<&ShardRecord> = fleet.iter().collect();
        by_ownership.sort_by_key(|shard| !owned.contains_key(&shard.name));
        let rows = by_ownership
            .into_iter()
            .take(MAX_SHARDS)
            .map(|shard| MapShardRow {
                name: shard.name.to_string(),
                colour: palette.colour(&shard.name),
                number: shard.number,
                owns: owned
                    .get(&shard.name)
                    .map_or_else(|| "nothing".to_owned(), |owned| owned.text(map.buckets)),
                labels: labels(&shard.labels),
                capacity: shard.capacity,
                space: shard
                    .space
                    .map(|space| bytes(i64::try_from(space).unwrap_or(i64::MAX))),
            });
        Self {
            rows: rows.collect(),
            hidden: fleet.len().saturating_sub(MAX_SHARDS),
        }
    }
}

impl OwnedKeys {
    /// Describes the owned keys. `of` is the number of virtual shards of a hash map; 0 for other maps.
    fn text(self, of: u32) -> String {
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
            several => format!(
                "{} ranges",
                count(i64::try_from(several).unwrap_or(i64::MAX))
            ),
        }
    }
}

/// Returns labels in the form that the command line uses.
pub(super) fn labels(labels: &BTreeMap<String, String>) -> Vec<String> {
    let pairs = labels.iter();
    pairs
        .map(|(label, value)| format!("{label}={value}"))
        .collect()
}
