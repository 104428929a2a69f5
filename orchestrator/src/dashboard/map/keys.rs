//! The owners of keys: ranges, ranges of virtual shards, or the number of a list's keys for each shard.

use crate::controller::MarkedMap;
use crate::dashboard::bars::{Bar, Palette, listed, named as named_keys};
use crate::dashboard::marks::{self, StateMark};
use askama::Template;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, ShardMap, Strategy};

/// The maximum number of listed mappings, and of named keys of a list.
const LISTED: usize = 200;
const NAMED: usize = 100;

/// The mappings in force.
#[derive(Template)]
#[template(path = "map/keys.html")]
pub(super) struct MapKeysView {
    name: String,
    version: String,
    what: String,
    bar: Bar,
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
    more: usize,
}

impl MapKeysView {
    /// Returns the mappings of `map`.
    pub(super) fn new(marked: &MarkedMap, palette: &Palette) -> Self {
        let map = marked.bare();
        Self {
            name: map.name.to_string(),
            version: map.version.to_string(),
            what: what(map),
            bar: Bar::marked(marked, palette),
            rows: marked.moving_keys().take(LISTED).map(row).collect(),
            hidden: map.mappings.len().saturating_sub(LISTED),
        }
    }
}

fn row((mapping, moving): (&Mapping, Option<&KeySet>)) -> MapKeysRow {
    let (keys, named, more) = match &mapping.keys {
        KeySet::Range(_) | KeySet::Hash(_) => (mapping.keys.to_string(), Vec::new(), 0),
        KeySet::List(keys) => (
            listed(keys.len()),
            keys.iter().take(NAMED).map(ToString::to_string).collect(),
            keys.len().saturating_sub(NAMED),
        ),
    };
    MapKeysRow {
        keys,
        shard: mapping.shard.to_string(),
        mark: marks::of_mapping(moving.is_some()),
        moving: moving.filter(|keys| **keys != mapping.keys).map(named_keys),
        named,
        more,
    }
}

/// Describes how the map divides the keys.
fn what(map: &ShardMap) -> String {
    let key: Vec<_> = map.key.iter().map(|key| key.sql_name()).collect();
    let key = key.join(", ");
    match map.strategy {
        Strategy::Range => format!("ranges of {key}, half open"),
        Strategy::Hash => format!(
            "{} virtual shards by the hash of {key}; ranges of them, half open",
            map.buckets
        ),
        Strategy::List => {
            let sets = map.mappings.iter().map(|mapping| match &mapping.keys {
                KeySet::List(keys) => keys.len(),
                KeySet::Range(_) | KeySet::Hash(_) => 0,
            });
            format!("{} of {key}, one by one", listed(sets.sum()))
        }
    }
}
