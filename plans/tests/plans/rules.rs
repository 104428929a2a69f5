//! Rules that every plan obeys, the settings of a map, and the return to an earlier version of a map.

use crate::fixture::{accounts, brief, fleet, map, map_of_kind, range, try_outline, users};
use plans::key::{Key, KeyType};
use plans::key_set::{KeyRange, KeySet};
use plans::planner::{RevertError, revert};
use plans::request::Request;
use plans::shard_map::{
    Effect, KeyColumns, MapSettings, PlacementRule, ShardMap, Strategy as Division, ThroughRef,
};
use proptest::prelude::*;

fn map_of_two_shards() -> ShardMap {
    map("m", &[(None, Some(100), "a-1"), (Some(100), None, "b-1")])
}

fn rule(name: &str, effect: Effect, keys: Option<KeySet>, region: &str) -> PlacementRule {
    PlacementRule {
        name: name.to_owned(),
        effect,
        keys,
        shard: None,
        labels: [("region".to_owned(), region.to_owned())].into(),
    }
}

/// Two rules that any move of low keys from a-1 to b-1 breaks.
fn map_with_rules() -> ShardMap {
    let mut map = map_of_two_shards();
    map.settings.rules = vec![
        rule("low-in-a", Effect::Pin, Some(range(None, Some(50))), "a"),
        rule(
            "never-b",
            Effect::Exclude,
            Some(range(Some(10), Some(20))),
            "b",
        ),
        rule("high-in-b", Effect::Pin, Some(range(Some(100), None)), "b"),
    ];
    map
}

const RULE_BREAKING: [&str; 4] = [
    "{operation: move, map: m, moves: [{source: a-1, target: b-1, keys: {from: 0, to: 20}}]}",
    "{operation: split, map: m, source: a-1, into: [{shard: b-1, keys: {to: 20}}, {shard: a-1, keys: {from: 20, to: 100}}]}",
    "{operation: merge, map: m, sources: [a-1], into: b-1}",
    "{operation: isolate, map: m, key: 15, target: b-1}",
];

#[test]
fn every_operation_that_breaks_a_rule_is_refused_by_its_name() {
    for text in RULE_BREAKING {
        let problems =
            try_outline(text, &map_with_rules(), &fleet(&["a-1", "b-1"]), &[]).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].starts_with("rule low-in-a does not allow"),
            "{problems:?}"
        );
        assert!(
            problems[1].starts_with("rule never-b does not allow"),
            "{problems:?}"
        );
        assert!(problems[1].ends_with("on shard b-1"), "{problems:?}");
    }
}

#[test]
fn an_override_is_noted_with_each_rule_and_the_reason() {
    let text = RULE_BREAKING[0].replace("map: m", "map: m, options: {override_rules: ticket 5}");
    let outline = try_outline(&text, &map_with_rules(), &fleet(&["a-1", "b-1"]), &[]).unwrap();
    assert_eq!(brief(&outline), ["m1 a-1 > b-1: [0, 20)"]);
    let expected = [
        "m1: rule low-in-a does not allow [0, 20) on shard b-1; overridden: ticket 5",
        "m1: rule never-b does not allow [0, 20) on shard b-1; overridden: ticket 5",
    ];
    assert_eq!(outline.notes, expected);
}

#[test]
fn a_rule_without_keys_applies_to_all_keys() {
    let mut map = map_of_two_shards();
    map.settings.rules = vec![rule("eu-only", Effect::Pin, None, "a")];
    let fleet = fleet(&["a-1", "a-2", "b-1"]);
    let to = |target: &str| RULE_BREAKING[0].replace("target: b-1", &format!("target: {target}"));
    assert!(try_outline(&to("a-2"), &map, &fleet, &[]).is_ok());
    assert_eq!(
        try_outline(&to("b-1"), &map, &fleet, &[]).unwrap_err(),
        ["rule eu-only does not allow [0, 20) on shard b-1"]
    );
}

#[test]
fn settings_get_the_types_of_the_map() {
    let map = map_of_kind("m", Division::Range, &[KeyType::Date], []);
    let text = r#"{"rules": [{"name": "old", "effect": "exclude", "shard": "fast",
        "keys": {"range": [{"from": "2020-01-01", "to": "2024-01-01"}, {"from": "2019-01-01", "to": "2020-01-01"}]}}]}"#;
    let settings: MapSettings = serde_json::from_str(text).unwrap();
    let accepted = settings.accepted(&map).unwrap();
    let day = |text: &str| KeyType::Date.read(text);
    assert_eq!(
        accepted.rules[0].keys,
        Some(KeySet::range(day("2019-01-01"), day("2024-01-01")))
    );
    assert_eq!(accepted.clone().accepted(&map), Ok(accepted));
}

#[test]
fn settings_that_do_not_fit_are_refused_with_every_reason() {
    let shard = |name: &str, keys: Option<KeySet>| PlacementRule {
        shard: Some("a".into()),
        labels: [].into(),
        ..rule(name, Effect::Pin, keys, "")
    };
    let bad = KeyRange {
        from: Some(Key::from("ten")),
        to: None,
    };
    let settings = MapSettings {
        tables: [(
            "orders".to_owned(),
            KeyColumns(vec!["a".to_owned(), "b".to_owned()]),
        )]
        .into(),
        through: [(
            "items".to_owned(),
            ThroughRef {
                parent: "carts".to_owned(),
                columns: [].into(),
            },
        )]
        .into(),
        reference: vec!["public.orders".to_owned()],
        rules: vec![
            shard("one", Some(KeySet::Range(vec![bad]))),
            shard("one", Some(KeySet::list([Key::Int(1)]))),
            shard("none", Some(range(Some(3), Some(3)))),
            PlacementRule {
                shard: None,
                ..shard("all", None)
            },
        ],
        ..MapSettings::default()
    };
    let error = settings.accepted(&map_of_two_shards()).unwrap_err();
    let expected = [
        "table public.orders is listed twice: under `tables` and `reference`; `map set --forget` removes it from all lists",
        "table items belongs to public.carts, which is listed under neither `tables` nor `through`",
        "two rules are called one",
        "table orders has 2 key column(s), the map's key has 1",
        "rule one: map m: \"ten\" is not a bigint",
        "rule one: map m divides keys by range; keys 1 is of another kind",
        "rule none is about no keys",
        "rule all names neither a shard nor labels",
    ];
    assert_eq!(error.problems, expected);
    assert!(
        error
            .to_string()
            .starts_with("the settings do not fit map m: ")
    );
}

fn moved(map: &ShardMap, moves: &[(KeySet, &str, &str)]) -> ShardMap {
    moves.iter().fold(map.clone(), |map, (keys, from, to)| {
        map.with_moved(keys, &(*from).into(), &(*to).into(), &"m1".into())
            .unwrap()
    })
}

#[test]
fn a_return_moves_the_keys_whose_owner_changed() {
    let earlier = map_of_two_shards();
    let current = moved(
        &earlier,
        &[
            (range(Some(0), Some(50)), "a-1", "b-1"),
            (range(Some(10), Some(20)), "b-1", "c-1"),
            (range(Some(100), None), "b-1", "c-1"),
        ],
    );
    let request = revert(&current, &earlier).unwrap();
    let text = serde_json::to_string(&request).unwrap();
    assert_eq!(Request::parse(&text).as_ref(), Ok(&request));
    let fleet = fleet(&["a-1", "b-1", "c-1"]);
    let outline = try_outline(&text, &current, &fleet, &[]).unwrap();
    let expected = [
        "m1 b-1 > a-1: [0, 10), [20, 50)",
        "m2 c-1 > a-1: [10, 20)",
        "m3 c-1 > b-1: [100, ∞)",
    ];
    assert_eq!(brief(&outline), expected);
}

#[test]
fn a_return_of_listed_keys_and_virtual_shards() {
    let current = moved(
        &users(),
        &[(KeySet::buckets(4096, 5, 9), "users-1", "users-2")],
    );
    let request = revert(&current, &users()).unwrap();
    let text = serde_json::to_string(&request).unwrap();
    assert!(
        text.contains(
            r#"{"source":"users-2","target":"users-1","keys":{"buckets":[{"from":5,"to":9}]}}"#
        ),
        "{text}"
    );
    let key = KeySet::list([Key::from("acme")]);
    let current = moved(&accounts(), &[(key, "shard-a", "shard-b")]);
    let text = serde_json::to_string(&revert(&current, &accounts()).unwrap()).unwrap();
    assert!(text.contains(r#""keys":{"values":["acme"]}"#), "{text}");
}

#[test]
fn keys_that_are_unmapped_in_one_version_are_named() {
    let earlier = map("m", &[(Some(0), Some(100), "a"), (Some(200), None, "b")]);
    let mut current = map("m", &[(Some(50), Some(150), "a"), (Some(200), None, "a")]);
    current.version.0 = 9;
    let error = revert(&current, &earlier).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no move can return these keys: [100, 150) are unmapped in version 7; [0, 50) are unmapped in version 9"
    );
}

#[test]
fn without_a_changed_owner_no_return_is_possible() {
    let mut later = map_of_two_shards();
    later.version.0 = 8;
    assert_eq!(
        revert(&later, &map_of_two_shards())
            .unwrap_err()
            .to_string(),
        "every key has the owner that it had in version 7"
    );
    assert!(matches!(
        revert(&users(), &map_of_two_shards()).unwrap_err(),
        RevertError::OtherKind { .. }
    ));
}

proptest! {
    #[test]
    fn a_return_restores_the_earlier_map(moves in prop::collection::vec((0..4096_u32, 1..900_u32, 0..5_usize), 1..8)) {
        let names = ["users-1", "users-2", "users-3", "users-4", "users-5"];
        let mut current = users();
        for (from, length, target) in moves {
            let keys = KeySet::buckets(4096, from, (from + length).min(4096));
            for source in current.shards() {
                let own = current.owned_by(&source).intersection(&keys);
                if !own.is_empty() && source.as_str() != names[target] {
                    current = moved(&current, &[(own, source.as_str(), names[target])]);
                }
            }
        }
        let Ok(request) = revert(&current, &users()) else {
            prop_assert_eq!(current.mappings, users().mappings);
            return Ok(());
        };
        let text = serde_json::to_string(&request).unwrap();
        let outline = try_outline(&text, &current, &fleet(&names), &[]).unwrap();
        let mut back = current;
        for m in &outline.moves {
            back = moved(&back, &[(m.keys.clone(), m.source.as_str(), m.target.as_str())]);
        }
        prop_assert_eq!(back.mappings, users().mappings);
    }
}
