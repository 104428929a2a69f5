//! Tests of a map with another strategy or key: existing keys keep their shard, other keys follow the new mappings.

use super::*;
use crate::shard_map::{ConversionError, KeysByShard};

/// Returns keys by shard, in the form of `map`.
fn existing(map: &ShardMap, by_shard: &[(&str, &[i64])]) -> KeysByShard {
    let of = |keys: &[i64]| {
        let keys = keys.iter().map(|key| Key::Int(*key));
        map.empty_key_set().of_keys(keys)
    };
    let by_shard = by_shard
        .iter()
        .map(|(shard, keys)| ((*shard).into(), of(keys)));
    by_shard.collect()
}

fn owner_of(map: &ShardMap, key: i64) -> String {
    map.locate(&Key::Int(key)).unwrap().shard.to_string()
}

fn halves() -> ShardMap {
    map(&[(None, Some(100), "a"), (Some(100), None, "b")])
}

fn virtual_shards() -> ShardMap {
    let parts = [
        (KeySet::buckets(16, 0, 8), "a"),
        (KeySet::buckets(16, 8, 16), "b"),
    ];
    of_kind(Strategy::Hash, parts.into_iter())
}

#[test]
fn each_existing_key_keeps_its_shard_and_the_others_follow_the_mappings() {
    for wanted in [halves(), virtual_shards()] {
        let on_shards: [(&str, &[i64]); 3] = [
            ("a", &[1, 2, 150, 151, 900]),
            ("b", &[3, 7, 200]),
            ("c", &[50]),
        ];
        let converted = wanted
            .with_existing(&existing(&wanted, &on_shards))
            .unwrap();
        let on = |key: i64| on_shards.iter().find(|(_, keys)| keys.contains(&key));
        for key in -20..1000 {
            let expected =
                on(key).map_or_else(|| owner_of(&wanted, key), |(shard, _)| (*shard).to_owned());
            assert_eq!(
                owner_of(&converted, key),
                expected,
                "{key} of {}",
                wanted.strategy
            );
        }
        converted.check_complete().unwrap();
        for kept in wanted.kept_in(&converted) {
            assert_ne!(kept.shard, kept.wanted);
            assert_eq!(
                converted.owned_by(&kept.shard).intersection(&kept.keys),
                kept.keys
            );
            assert_eq!(
                wanted.owned_by(&kept.wanted).intersection(&kept.keys),
                kept.keys
            );
        }
        // Each shard refuses exactly the keys of the others.
        for shard in ["a", "b", "c", "d"] {
            let refused = converted.refused_by(&shard.into());
            let wrong = (-20..1000).find(|key| {
                refused.contains(&Key::Int(*key)) == (owner_of(&converted, *key) == shard)
            });
            assert_eq!(wrong, None, "shard {shard}");
        }
    }
}

#[test]
fn keys_on_the_wanted_shard_need_no_mapping_of_their_own() {
    let wanted = halves();
    let on_shards = existing(&wanted, &[("a", &[1, 2, 3]), ("b", &[100, 500])]);
    assert_eq!(wanted.with_existing(&on_shards).unwrap(), wanted);
}

#[test]
fn a_key_on_two_shards_is_named() {
    let wanted = halves();
    let on_shards = existing(&wanted, &[("a", &[1, 7]), ("b", &[7, 9])]);
    let error = wanted.with_existing(&on_shards).unwrap_err();
    assert_eq!(
        error.to_string(),
        "map m: rows of the same keys are on shards a and b: = 7"
    );
}

#[test]
fn each_possible_key_needs_an_owner() {
    let gap = map(&[(None, Some(100), "a"), (Some(200), None, "b")]);
    let open = map(&[(Some(0), None, "a")]);
    for incomplete in [gap, open] {
        let error = incomplete.check_complete().unwrap_err();
        assert!(matches!(error, ConversionError::Unmapped { .. }), "{error}");
    }
    let list = of_kind(
        Strategy::List,
        [(KeySet::list([Key::Int(1)]), "a")].into_iter(),
    );
    let error = list.check_complete().unwrap_err();
    assert!(matches!(error, ConversionError::List { .. }), "{error}");
}
