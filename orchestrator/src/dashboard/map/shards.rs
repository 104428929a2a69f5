//! The shards of the fleet as the map uses them: the keys that each one owns, its labels and its capacity.

use super::owned::OwnedByShard;
use crate::dashboard::bars::Palette;
use crate::store::ShardRecord;
use crate::view::figures::bytes;
use askama::Template;
use std::collections::BTreeMap;

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
    colour: String,
    number: i32,
    owns: String,
    labels: Vec<String>,
    capacity: u32,
    space: Option<String>,
}

impl MapShardsView {
    /// Creates a row for each shard of `fleet`. `buckets` is the number of virtual shards of a hash map.
    pub(super) fn new(
        buckets: u32,
        owned: &OwnedByShard<'_>,
        fleet: &[ShardRecord],
        palette: &Palette,
    ) -> Self {
        let mut by_ownership: Vec<&ShardRecord> = fleet.iter().collect();
        by_ownership.sort_by_key(|shard| !owned.contains_key(&shard.name));
        let rows = by_ownership
            .into_iter()
            .take(MAX_SHARDS)
            .map(|shard| MapShardRow {
                name: shard.name.to_string(),
                colour: palette.class(&shard.name),
                number: shard.number,
                owns: owned
                    .get(&shard.name)
                    .map_or_else(|| "nothing".to_owned(), |owned| owned.text(buckets)),
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

/// Returns labels in the form that the command line uses.
pub(super) fn labels(labels: &BTreeMap<String, String>) -> Vec<String> {
    let pairs = labels.iter();
    pairs
        .map(|(label, value)| format!("{label}={value}"))
        .collect()
}
