//! A map of three ranges, and a measurement of its load.

use crate::fixture::mapping;
use orchestrator::controller::{HotKeyLoad, MapLoad, ShardItem};
use plans::id::{MapName, MapVersion, ShardName};
use plans::inspection::ItemLoad;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::request::Measure;
use plans::shard_map::ShardMap;

pub(crate) fn range(from: Option<i64>, to: Option<i64>) -> KeySet {
    KeySet::range(from.map(Key::Int), to.map(Key::Int))
}

/// Keys below 100 on `a`, to 200 on `b`, the rest on `c`.
pub(crate) fn three_ranges(map: ShardMap) -> ShardMap {
    ShardMap {
        mappings: vec![
            mapping(range(None, Some(100)), "a"),
            mapping(range(Some(100), Some(200)), "b"),
            mapping(range(Some(200), None), "c"),
        ],
        ..map
    }
}

fn item(shard: &str, keys: KeySet, rows: u64, writes: u64) -> ShardItem {
    ShardItem {
        shard: ShardName::from(shard),
        item: ItemLoad {
            keys,
            rows,
            bytes: rows * 100,
            writes,
            weight: 0,
        },
    }
}

/// A measurement of these items, which counted writes for `watched_ms`.
fn load(items: Vec<ShardItem>, watched_ms: u64) -> MapLoad {
    MapLoad {
        map: MapName::from("tenants"),
        version: MapVersion(1),
        by: Measure::Rows,
        watched_ms,
        sampled: true,
        shards: Vec::new(),
        hottest: vec![HotKeyLoad {
            key: Key::Int(150),
            shard: ShardName::from("b"),
            rows: 9,
            writes: 70,
            writes_per_second: 7.0,
        }],
        proposals: Vec::new(),
        items,
        counted: Vec::new(),
        findings: Vec::new(),
    }
}

/// Half of the rows are on `a`; `b` has two items.
pub(crate) fn three_loads(watched_ms: u64) -> MapLoad {
    let items = vec![
        item("a", range(None, Some(100)), 500, 0),
        item("b", range(Some(100), Some(130)), 100, 10),
        item("b", range(Some(130), Some(200)), 150, 90),
        item("c", range(Some(200), None), 250, 100),
    ];
    load(items, watched_ms)
}
