//! Loads that no move can balance: the plan proposes to isolate the key or to split the item.

use super::{REBALANCE, load_in_pieces, outlined};
use crate::fixture::{accounts, brief, fleet, load, map, map_of_kind, try_outline};
use plans::key::{Key, KeyType};
use plans::key_set::{KeySet, bucket_of};
use plans::planner::hot_keys;
use plans::request::Measure;
use plans::shard_map::Strategy as Division;

#[test]
fn a_key_above_a_fair_share_is_proposed_to_be_isolated() {
    let shards = ["shard-a", "shard-b"];
    let name = |name: &str, rows| (KeySet::list([Key::from(name)]), rows, 0);
    let loads = [
        load(
            "shard-a",
            &[name("acme", 900), name("globex", 40), name("hooli", 50)],
            &[(Key::from("acme"), 900)],
        ),
        load("shard-b", &[name("initech", 5), name("umbrella", 5)], &[]),
    ];
    let text = "{operation: rebalance, map: accounts}";
    let outline = outlined(text, &accounts(), &fleet(&shards), &loads);
    assert_eq!(
        brief(&outline),
        ["m1 shard-a > shard-b: keys \"globex\", \"hooli\""]
    );
    let hot = hot_keys(&accounts(), &fleet(&shards), &loads, &Measure::Rows);
    assert_eq!(hot.len(), 1);
    assert_eq!(
        (&hot[0].key, hot[0].cost, hot[0].fair),
        (&Key::from("acme"), 900, 500)
    );
    assert!(outline.notes.contains(&hot[0].proposal));
    assert_eq!(
        hot_keys(&accounts(), &fleet(&shards), &loads, &Measure::Writes),
        []
    );
    let proposals: Vec<&String> = outline
        .notes
        .iter()
        .filter(|n| n.contains("isolate"))
        .collect();
    assert_eq!(
        proposals,
        [
            "key \"acme\" alone has 900 rows, 1.8x the fair share of shard shard-a; isolate it: `shardwright plan isolate accounts acme --to NEW-SHARD`"
        ]
    );
}

#[test]
fn an_item_above_a_fair_share_is_proposed_to_be_split() {
    let ab = fleet(&["a", "b"]);
    let two = map("m", &[(Some(0), Some(30), "a"), (Some(30), Some(60), "b")]);
    let loads = [
        load_in_pieces("a", 0, &[900, 10, 10]),
        load_in_pieces("b", 30, &[10, 10, 10]),
    ];
    let problems = match try_outline(REBALANCE, &two, &ab, &loads) {
        Ok(outline) => outline.notes,
        Err(problems) => problems,
    };
    let proposal = problems
        .iter()
        .find(|p| p.starts_with("[0, 10) on shard a"))
        .unwrap();
    assert!(
        proposal.contains("have 900 rows, 1.89x the fair share of shard a; split [0, 10)"),
        "{proposal}"
    );
}

#[test]
fn a_hot_virtual_shard_names_its_hot_key() {
    let hot = Key::Int(42);
    let of = 4096;
    let bucket = bucket_of(&hot, of);
    let first = [
        (KeySet::buckets(of, 0, bucket), 10, 10),
        (KeySet::buckets(of, bucket, bucket + 1), 900, 900),
        (KeySet::buckets(of, bucket + 1, of), 10, 10),
    ];
    let map = map_of_kind(
        "u",
        Division::Hash,
        &[KeyType::Bigint],
        [(KeySet::buckets(of, 0, of), "a")],
    );
    let loads = [load("a", &first, &[(hot, 880)])];
    let text = "{operation: rebalance, map: u, by: writes, onto: [b]}";
    let notes = match try_outline(text, &map, &fleet(&["a", "b"]), &loads) {
        Ok(outline) => outline.notes,
        Err(problems) => problems,
    };
    let proposals: Vec<&String> = notes.iter().filter(|n| n.contains("isolate")).collect();
    assert_eq!(proposals.len(), 1, "{notes:?}");
    assert!(
        proposals[0].starts_with("key 42 alone has 880 writes"),
        "{proposals:?}"
    );
}
