//! Tests of the routing of keys by a map.

use super::*;
use plans::id::MapVersion;
use plans::key::KeyType;
use plans::shard_map::{MapSettings, Mapping, MappingState};

fn map(strategy: Strategy, kind: KeyType, buckets: u32, sets: &[(KeySet, &str)]) -> ShardMap {
    ShardMap {
        name: "m".into(),
        strategy,
        key: vec![kind],
        buckets,
        version: MapVersion(1),
        incarnation: "i".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: sets
            .iter()
            .map(|(keys, shard)| Mapping {
                keys: keys.clone(),
                shard: (*shard).into(),
                state: MappingState::Active,
            })
            .collect(),
    }
}

/// Checks that the index and the map return the same owners, also for a map that was read from JSON.
fn assert_same_owners(map: ShardMap, keys: impl Iterator<Item = Key>) {
    let map = serde_json::from_str(&serde_json::to_string(&map).unwrap()).unwrap();
    let routes = Routes::new(map).unwrap();
    for key in keys {
        let located = routes.map().locate(&key).map(|mapping| &mapping.shard);
        assert_eq!(routes.shard_of(&key).ok(), located, "{key}");
    }
}

#[test]
fn every_index_returns_the_owner_of_the_map() {
    let numbers = || (-50..50).map(Key::Int);
    let range = |from: i64, to: i64| KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)));
    let ranges = [(range(-40, 0), "a"), (range(10, 20), "b")];
    assert_same_owners(map(Strategy::Range, KeyType::Bigint, 0, &ranges), numbers());

    for of in [16, MAX_TABLE_SIZE * 2] {
        let quarter = of / 4;
        let buckets = [
            (KeySet::buckets(of, 0, quarter), "a"),
            (KeySet::buckets(of, quarter * 2, of), "b"),
        ];
        assert_same_owners(
            map(Strategy::Hash, KeyType::Bigint, of, &buckets),
            numbers(),
        );
    }

    let list = |keys: std::ops::Range<i64>| KeySet::list(keys.map(Key::Int));
    let lists = [
        (list(-40..0), "b"),
        (list(10..20), "a"),
        (list(20..21), "b"),
    ];
    assert_same_owners(map(Strategy::List, KeyType::Bigint, 0, &lists), numbers());
}

#[test]
fn another_number_of_virtual_shards_changes_no_route() {
    let parts = [
        (KeySet::buckets(16, 0, 5), "a"),
        (KeySet::buckets(16, 5, 6), "b"),
        (KeySet::buckets(16, 8, 16), "b"),
    ];
    let before = map(Strategy::Hash, KeyType::Bigint, 16, &parts);
    let routes = |map: &ShardMap| {
        let routes = Routes::new(map.clone()).unwrap();
        let shard = |key| routes.shard_of(&Key::Int(key)).ok().cloned();
        (-500..500).map(shard).collect::<Vec<_>>()
    };
    for buckets in [32, 1024, MAX_TABLE_SIZE * 2] {
        let after = before.with_bucket_count(buckets).unwrap();
        assert_eq!(routes(&after), routes(&before), "{buckets}");
    }
}

#[test]
fn ranges_without_bounds_and_keys_that_are_not_numbers_have_the_same_owners() {
    let named = |from: Option<&str>, to: Option<&str>| {
        KeySet::range(from.map(Key::from), to.map(Key::from))
    };
    let texts = [
        (named(None, Some("d")), "b"),
        (named(Some("d"), Some("m")), "a"),
        (named(Some("p"), None), "b"),
    ];
    let letters = || ('a'..='z').map(|letter| Key::Text(letter.to_string()));
    assert_same_owners(map(Strategy::Range, KeyType::Text, 0, &texts), letters());
    let dates = [
        (KeySet::range(None, Some(Key::Date(0))), "a"),
        (KeySet::range(Some(Key::Date(5)), None), "b"),
    ];
    let days = (-9..9).map(Key::Date);
    assert_same_owners(map(Strategy::Range, KeyType::Date, 0, &dates), days);
    let all_keys = [(KeySet::range(None, None), "a")];
    let ends = [i64::MIN, 0, i64::MAX].map(Key::Int);
    assert_same_owners(
        map(Strategy::Range, KeyType::Bigint, 0, &all_keys),
        ends.into_iter(),
    );
}

#[test]
fn the_error_for_a_key_without_a_shard_names_the_key() {
    let lists = [(KeySet::list([Key::from("acme")]), "a")];
    let routes = Routes::new(map(Strategy::List, KeyType::Text, 0, &lists)).unwrap();
    assert_eq!(routes.shard_of(&Key::from("acme")).unwrap().as_str(), "a");

    let unmapped = routes.shard_of(&Key::from("zenith")).unwrap_err();
    assert_eq!(
        unmapped.to_string(),
        "key \"zenith\" is in no mapping of map m version 1"
    );
    let wrong = routes.accept(&Key::Int(7)).unwrap_err();
    assert_eq!(wrong.to_string(), "7 is no key of map m");
    let RouteError::Key { source, .. } = wrong else {
        panic!("{wrong} is another error");
    };
    assert_eq!(source.to_string(), "7 is not a text");
}
