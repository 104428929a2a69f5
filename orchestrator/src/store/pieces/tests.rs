//! Tests of map deltas.

use super::*;
use plans::id::MapVersion;
use plans::shard_map::MapSettings;

/// Builds a map from key sets and their owners.
fn map(strategy: Strategy, owned: &[(KeySet, &str)]) -> ShardMap {
    let piece = |(keys, shard): &(KeySet, &str)| MapPiece {
        keys: keys.clone(),
        shard: (*shard).into(),
    };
    ShardMap {
        name: "m".into(),
        strategy,
        key: Vec::new(),
        buckets: 0,
        version: MapVersion(1),
        incarnation: String::new(),
        migration: None,
        settings: MapSettings::default(),
        mappings: mappings_of(strategy, 0, owned.iter().map(piece).collect()),
    }
}

fn list(keys: std::ops::Range<i64>) -> KeySet {
    KeySet::list(keys.map(Key::Int))
}

fn range(from: i64, to: i64) -> KeySet {
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

#[test]
fn applying_a_delta_gives_the_later_map() {
    let lists = [
        map(Strategy::List, &[(list(0..9), "a"), (list(9..12), "b")]),
        map(Strategy::List, &[(list(0..4), "a"), (list(4..12), "b")]),
        map(Strategy::List, &[(list(0..12), "c"), (list(20..21), "b")]),
    ];
    let ranges = [
        map(Strategy::Range, &[(range(0, 5), "a"), (range(5, 9), "b")]),
        map(Strategy::Range, &[(range(0, 3), "a"), (range(3, 9), "b")]),
        map(Strategy::Range, &[(range(1, 9), "a")]),
    ];
    for maps in [lists, ranges] {
        for (before, after) in [(0, 1), (1, 2), (2, 0), (0, 0)] {
            let (before, after) = (&maps[before], &maps[after]);
            let found = mappings_after(before, 0, MapDelta::between(before, after));
            assert_eq!(found.as_ref(), Some(&after.mappings));
            let delta = MapDelta::between(before, after).reversed();
            let found = mappings_after(after, 0, delta);
            assert_eq!(found.as_ref(), Some(&before.mappings));
        }
    }
}

#[test]
fn a_delta_of_another_map_is_refused() {
    for (strategy, first, second) in [
        (Strategy::List, list(0..3), list(3..6)),
        (Strategy::Range, range(0, 3), range(3, 6)),
    ] {
        let before = map(strategy, &[(first, "a")]);
        let other = map(strategy, &[(second, "a")]);
        let none = map(strategy, &[]);
        assert_eq!(
            mappings_after(&before, 0, MapDelta::between(&other, &none)),
            None
        );
    }
}
