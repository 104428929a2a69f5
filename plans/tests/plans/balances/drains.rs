//! Drains: every key finds another shard, and nothing else moves.

use super::{loads_of_four, map_of_four, outlined, pin};
use crate::fixture::{accounts, brief, fleet, load, map, range, try_outline, users};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::planner::needs;
use plans::request::Request;

const DRAIN: &str = "{operation: drain, map: m, source: d, drop_tables: true}";

#[test]
fn a_drained_shard_is_emptied_and_nothing_else_moves() {
    let fleet = fleet(&["a", "b", "c", "d"]);
    // Shard a is far above its share, but that is not what was asked for.
    let outline = outlined(
        DRAIN,
        &map_of_four(),
        &fleet,
        &loads_of_four([90, 30, 30, 80]),
    );
    let moved = outline
        .moves
        .iter()
        .fold(range(Some(0), Some(0)), |all, m| all.union(&m.keys));
    assert_eq!(moved, range(Some(300), Some(400)));
    assert!(
        outline
            .moves
            .iter()
            .all(|m| m.source.as_str() == "d" && m.drop_tables)
    );
    let targets: Vec<&str> = outline.moves.iter().map(|m| m.target.as_str()).collect();
    assert_eq!(targets, ["b", "c"]);
    assert!(
        outline.moves[0].why.starts_with("shard d is drained, b "),
        "{}",
        outline.moves[0].why
    );
    assert!(
        outline
            .notes
            .iter()
            .any(|n| n.contains("dropped once they have no rows"))
    );
}

#[test]
fn a_drain_to_one_shard_needs_no_measurement() {
    let text = "{operation: drain, map: users, source: users-4, targets: [users-2]}";
    let request = Request::parse(text).unwrap();
    assert_eq!(needs(&request, &users()), None);
    let outline = outlined(text, &users(), &fleet(&["users-2", "users-4"]), &[]);
    assert_eq!(
        brief(&outline),
        ["m1 users-4 > users-2: buckets [3072, 4096)"]
    );
    assert!(!outline.moves[0].drop_tables);
}

#[test]
fn a_drain_of_a_list_map_also_moves_keys_that_were_not_measured() {
    let mut map = accounts();
    map.mappings[1].shard = "shard-b".into();
    let name = |name: &str, rows| (KeySet::list([Key::from(name)]), rows, 0);
    let loads = [
        load("shard-a", &[name("acme", 9), name("globex", 4)], &[]),
        load("shard-b", &[name("initech", 5), name("umbrella", 5)], &[]),
    ];
    let text = "{operation: drain, map: accounts, source: shard-a, targets: [shard-b, new]}";
    let outline = outlined(text, &map, &fleet(&["shard-a", "shard-b", "new"]), &loads);
    let moved = outline
        .moves
        .iter()
        .fold(KeySet::list([]), |all, m| all.union(&m.keys));
    assert_eq!(moved, map.owned_by(&"shard-a".into()));
}

#[test]
fn a_drain_without_a_target_is_refused() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let only = map("m", &[(None, None, "d")]);
    assert_eq!(
        try_outline(DRAIN, &only, &abcd, &[]).unwrap_err(),
        ["map m has no shard besides d; name the shards that receive its keys under `targets`"]
    );
    let (idle, empty) = (
        fleet(&["a", "b", "c", "d", "e"]),
        "{operation: drain, map: m, source: e}",
    );
    assert_eq!(
        try_outline(empty, &map_of_four(), &idle, &[]).unwrap_err(),
        ["shard e owns no keys in map m version 7"]
    );
}

#[test]
fn a_drain_that_a_pin_forbids_is_refused_by_its_name() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let mut map = map_of_four();
    map.settings.rules = vec![pin("vip", range(Some(310), Some(315)), "d")];
    let problems = try_outline(DRAIN, &map, &abcd, &loads_of_four([10; 4])).unwrap_err();
    assert!(
        problems[0].ends_with("the rules vip allow [310, 320) on no other shard"),
        "{problems:?}"
    );
    let reason = DRAIN.replace(
        "source: d",
        "source: d, options: {override_rules: shard d is broken}",
    );
    let outline = outlined(&reason, &map, &abcd, &loads_of_four([10; 4]));
    let note = outline
        .notes
        .iter()
        .find(|note| note.contains("rule vip"))
        .unwrap();
    assert!(note.ends_with("overridden: shard d is broken"), "{note}");
}
