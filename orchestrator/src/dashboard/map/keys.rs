//! The owners of keys: ranges, ranges of virtual shards, or the number of a list's keys for each shard.

use super::key_column::{key_column, named_keys};
use crate::controller::MarkedMap;
use crate::dashboard::bars::{key_count_text, keys_text};
use crate::dashboard::marks::{self, StateMark};
use askama::Template;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, ShardMap, Strategy};

/// The maximum number of listed mappings, and of named keys of a list.
const MAX_MAPPINGS: usize = 200;
const MAX_KEYS: usize = 100;

/// The mappings in force.
#[derive(Template)]
#[template(path = "map/keys.html")]
pub(super) struct MapKeysView {
    name: String,
    rows: Vec<MapKeysRow>,
    hidden: usize,
}

struct MapKeysRow {
    keys: String,
    shard: String,
    mark: StateMark,
    /// The moving keys, if not all keys of the mapping are moving.
    moving: Option<String>,
    /// Some keys of a list, each by name.
    named: Vec<String>,
    /// The number of the list's keys that `named` does not contain.
    hidden_keys: usize,
}

impl MapKeysView {
    /// Returns the mappings of `map`.
    pub(super) fn new(marked: &MarkedMap) -> Self {
        let map = marked.bare();
        Self {
            name: map.name.to_string(),
            rows: marked
                .moving_keys()
                .take(MAX_MAPPINGS)
                .map(|keys| row(map, keys))
                .collect(),
            hidden: map.mappings.len().saturating_sub(MAX_MAPPINGS),
        }
    }
}

fn row(map: &ShardMap, (mapping, moving): (&Mapping, Option<&KeySet>)) -> MapKeysRow {
    let (keys, named, hidden_keys) = match &mapping.keys {
        KeySet::Range(_) | KeySet::Hash(_) => (named_keys(map, &mapping.keys), Vec::new(), 0),
        KeySet::List(keys) => (
            key_count_text(keys.len()),
            keys.iter()
                .take(MAX_KEYS)
                .map(ToString::to_string)
                .collect(),
            keys.len().saturating_sub(MAX_KEYS),
        ),
    };
    MapKeysRow {
        keys,
        shard: mapping.shard.to_string(),
        mark: marks::of_mapping(moving.is_some()),
        moving: moving.filter(|keys| **keys != mapping.keys).map(keys_text),
        named,
        hidden_keys,
    }
}

/// Describes how the map divides the keys.
pub(super) fn division_text(map: &ShardMap) -> String {
    let types: Vec<_> = map.key.iter().map(|key| key.sql_name()).collect();
    let key = types.join(", ");
    match map.strategy {
        Strategy::Range => format!(
            "ranges of {} ({key}), each with its lower bound and without its upper one",
            key_column(map)
        ),
        Strategy::Hash => format!(
            "{} virtual shards by the hash of {} ({key}), in half-open ranges",
            map.buckets,
            key_column(map)
        ),
        Strategy::List => {
            let sets = map.mappings.iter().map(|mapping| match &mapping.keys {
                KeySet::List(keys) => keys.len(),
                KeySet::Range(_) | KeySet::Hash(_) => 0,
            });
            format!("{} of {key}, one by one", key_count_text(sets.sum()))
        }
    }
}
