//! Operations whose requests name the keys, on every kind of map.

use crate::fixture::{
    accounts, brief, fleet, map, map_of_kind, range, surveys_of, try_outline, users,
};
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::planner;
use plans::request::Request;
use plans::shard_map::{ShardMap, Strategy};
use plans::survey::Survey;

const SHARDS: [&str; 10] = [
    "a", "b", "c", "d", "shard-a", "shard-b", "users-1", "users-2", "users-4", "new",
];

fn outlined(text: &str, map: &ShardMap) -> Vec<String> {
    match try_outline(text, map, &fleet(&SHARDS), &[]) {
        Ok(outline) => brief(&outline),
        Err(problems) => panic!("{problems:?}"),
    }
}

fn refused(text: &str, map: &ShardMap) -> Vec<String> {
    try_outline(text, map, &fleet(&SHARDS), &[]).unwrap_err()
}

fn ranges() -> ShardMap {
    map(
        "m",
        &[
            (None, Some(100), "a"),
            (Some(100), Some(200), "b"),
            (Some(200), None, "c"),
        ],
    )
}

#[test]
fn a_split_may_have_many_parts() {
    let text = "{operation: split, map: m, source: b, into: [{shard: d, keys: {from: 100, to: 120}}, {shard: b, keys: {from: 120, to: 150}}, {shard: a, keys: {from: 150, to: 180}}, {shard: d, keys: {from: 180, to: 200}}]}";
    let expected = [
        "m1 b > d: [100, 120)",
        "m2 b > a: [150, 180)",
        "m3 b > d: [180, 200) after m1 Flipped",
    ];
    assert_eq!(outlined(text, &ranges()), expected);
}

#[test]
fn a_split_of_virtual_shards_and_of_listed_keys() {
    let hash = "{operation: split, map: users, source: users-1, into: [{shard: users-1, keys: {buckets: [{from: 0, to: 1000}]}}, {shard: new, keys: {buckets: [{from: 1000, to: 1024}]}}]}";
    assert_eq!(
        outlined(hash, &users()),
        ["m1 users-1 > new: buckets [1000, 1024)"]
    );
    let list = "{operation: split, map: accounts, source: shard-b, into: [{shard: shard-b, keys: {values: [initech]}}, {shard: new, keys: {values: [umbrella]}}]}";
    assert_eq!(
        outlined(list, &accounts()),
        ["m1 shard-b > new: keys \"umbrella\""]
    );
}

#[test]
fn a_split_with_missing_or_repeated_keys_is_refused() {
    let gap = "{operation: split, map: m, source: b, into: [{shard: b, keys: {from: 100, to: 120}}, {shard: d, keys: {from: 130, to: 200}}]}";
    let expected = [
        "the parts make up [100, 120), [130, 200), but shard b owns [100, 200) in map m version 7; together the parts must be exactly one mapping of the shard, or all keys that it owns; no part has [120, 130)",
    ];
    assert_eq!(refused(gap, &ranges()), expected);
    let twice = "{operation: split, map: m, source: b, into: [{shard: b, keys: {from: 100, to: 160}}, {shard: d, keys: {from: 150, to: 200}}, {shard: d, keys: {from: 9, to: 9}}]}";
    let expected = [
        "part b ([100, 160)) and part d ([150, 200)) overlap: both have [150, 160)",
        "part d has no keys",
    ];
    assert_eq!(refused(twice, &ranges())[..2], expected);
    let stays = "{operation: split, map: m, source: b, into: [{shard: b, keys: {from: 100, to: 150}}, {shard: b, keys: {from: 150, to: 200}}]}";
    assert_eq!(refused(stays, &ranges()), ["every part stays on shard b"]);
}

#[test]
fn keys_in_the_form_of_another_map_are_refused() {
    let text = "{operation: split, map: users, source: users-1, into: [{shard: users-1, keys: {from: 1}}, {shard: new, keys: {buckets: [{from: 0, to: 9999}]}}]}";
    let expected = [
        "part users-1: map users divides keys by hash: name them by `buckets`, `values` or both",
        "part new: map users divides keys by hash; buckets [0, 9999) is of another kind",
    ];
    assert_eq!(refused(text, &users()), expected);
    let text = "{operation: move, map: m, moves: [{source: a, target: b, keys: {to: ten}}]}";
    assert_eq!(refused(text, &ranges()), ["map m: \"ten\" is not a bigint"]);
}

#[test]
fn moves_of_a_merge_into_a_new_shard_wait_for_each_other() {
    let text = "{operation: merge, map: m, sources: [a, b, c], into: d}";
    let expected = [
        "m1 a > d: (-∞, 100)",
        "m2 b > d: [100, 200) after m1 Flipped",
        "m3 c > d: [200, ∞) after m2 Flipped",
    ];
    assert_eq!(outlined(text, &ranges()), expected);
}

#[test]
fn moves_of_a_merge_into_a_live_shard_do_not_wait() {
    let text = "{operation: merge, map: m, sources: [a, b, c], into: b}";
    assert_eq!(
        outlined(text, &ranges()),
        ["m1 a > b: (-∞, 100)", "m2 c > b: [200, ∞)"]
    );
    let text = "{operation: merge, map: users, sources: [users-4], into: users-2}";
    assert_eq!(
        outlined(text, &users()),
        ["m1 users-4 > users-2: buckets [3072, 4096)"]
    );
    let text = "{operation: merge, map: accounts, sources: [shard-b], into: shard-a}";
    assert_eq!(
        outlined(text, &accounts()),
        ["m1 shard-b > shard-a: keys \"initech\", \"umbrella\""]
    );
    let text = "{operation: merge, map: m, sources: [d, b], into: a}";
    assert_eq!(
        refused(text, &ranges()),
        ["shard d owns no keys in map m version 7"]
    );
}

#[test]
fn an_entry_of_a_move_names_keys_or_moves_all() {
    let text = "{operation: move, map: m, moves: [{source: a, target: b, keys: {ranges: [{to: 5}, {from: 50, to: 60}]}, mode: offline}, {source: c, target: b}]}";
    let outline = try_outline(text, &ranges(), &fleet(&SHARDS), &[]).unwrap();
    let expected = ["m1 a > b: (-∞, 5), [50, 60)", "m2 c > b: [200, ∞)"];
    assert_eq!(brief(&outline), expected);
    let modes: Vec<&str> = outline.moves.iter().map(|m| m.mode.name()).collect();
    assert_eq!(modes, ["offline", "online"]);
    let text = "{operation: move, map: accounts, moves: [{source: shard-a, target: new, keys: {values: [acme]}}]}";
    assert_eq!(
        outlined(text, &accounts()),
        ["m1 shard-a > new: keys \"acme\""]
    );
}

#[test]
fn all_problems_of_a_move_are_reported_together() {
    let text = "{operation: move, map: m, moves: [{source: a, target: nowhere, keys: {from: 0, to: 150}}, {source: a, target: b, keys: {from: 10, to: 20}}, {source: c, target: b}, {source: d, target: b}]}";
    let expected = [
        "[10, 20) of shard a would move twice",
        "shard d owns no keys in map m version 7",
        "shard a does not own [0, 150) in map m version 7; [100, 150): on shard b",
        "there is no shard nowhere; `shardwright shard add` registers it",
    ];
    assert_eq!(refused(text, &ranges()), expected);
}

#[test]
fn a_tenant_gets_a_shard_of_its_own() {
    let text = "{operation: isolate, map: m, key: 150, target: new}";
    assert_eq!(outlined(text, &ranges()), ["m1 b > new: = 150"]);
    let text = "{operation: isolate, map: accounts, key: globex, target: new}";
    assert_eq!(
        outlined(text, &accounts()),
        ["m1 shard-a > new: keys \"globex\""]
    );
    let text = "{operation: isolate, map: users, key: \"17\", target: users-2}";
    let outline = try_outline(text, &users(), &fleet(&SHARDS), &[]).unwrap();
    assert_eq!(
        outline.moves[0].keys,
        users().empty_key_set().only(&17.into())
    );
    assert!(
        outline.notes[0].starts_with("shard users-2 owns buckets [1024, 2048) already"),
        "{:?}",
        outline.notes
    );
}

#[test]
fn the_first_columns_of_a_composite_key_can_be_isolated() {
    let types = [KeyType::Text, KeyType::Smallint];
    let all = [(KeySet::range(None, None), "a")];
    let map = map_of_kind("m", Strategy::Range, &types, all);
    let text = "{operation: isolate, map: m, key: eu, target: new}";
    assert_eq!(outlined(text, &map), ["m1 a > new: = (\"eu\", …)"]);
    let text = "{operation: isolate, map: m, key: [eu, 7], target: new}";
    assert_eq!(outlined(text, &map), ["m1 a > new: = (\"eu\", 7)"]);
    let text = "{operation: isolate, map: m, key: [eu, 32767], target: new}";
    assert!(refused(text, &map)[0].contains("last value of its type"));
    let text = "{operation: isolate, map: m, key: [eu, 1, 2], target: new}";
    assert!(refused(text, &map)[0].contains("has 3 value(s), the key has 2 column(s)"));
}

#[test]
fn the_last_key_of_its_type_can_be_isolated() {
    let all = [(KeySet::range(None, None), "a")];
    let map = map_of_kind("m", Strategy::Range, &[KeyType::Smallint], all);
    let text = "{operation: isolate, map: m, key: 32767, target: new}";
    assert_eq!(outlined(text, &map), ["m1 a > new: [32767, ∞)"]);
    let text = "{operation: isolate, map: m, key: 32768, target: new}";
    assert_eq!(refused(text, &map), ["32768 is not a smallint"]);
}

#[test]
fn a_key_without_an_owner_cannot_be_isolated() {
    let gap = map("m", &[(Some(0), Some(10), "a")]);
    let text = "{operation: isolate, map: m, key: 10, target: new}";
    assert_eq!(
        refused(text, &gap),
        ["no shard owns key 10 in map m version 7"]
    );
    let text = "{operation: isolate, map: m, key: 9, target: a}";
    assert_eq!(refused(text, &gap), ["the keys = 9 are on shard a already"]);
    assert_eq!(gap.owned_by(&"a".into()), range(Some(0), Some(10)));
}

const LARGE: &str = "{operation: split, map: users, source: users-1, into: [{shard: users-1, keys: {buckets: [{from: 0, to: 500}]}}, {shard: new, keys: {buckets: [{from: 500, to: 1024}]}}]}";

#[test]
fn a_large_copy_has_a_note_about_standbys() {
    let map = users();
    let request = Request::parse(LARGE).unwrap();
    let outline = planner::outline(&request, &map, &fleet(&SHARDS), &[]).unwrap();
    let mut surveys = surveys_of(&request, &outline);
    let notes = |surveys: &[Survey]| {
        let plan = planner::plan(&request, &map, outline.clone(), surveys).unwrap();
        plan.notes.concat()
    };
    assert!(!notes(&surveys).contains("standby"));
    for table in &mut surveys[0].tables {
        table.bytes = 200 << 30;
    }
    assert!(
        notes(&surveys)
            .contains("a physical standby of shard users-1 as the target would need no copy")
    );
}
