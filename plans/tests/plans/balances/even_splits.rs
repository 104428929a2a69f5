//! Splits by load: the split points, and loads that cannot be split as requested.

use super::{load_in_pieces, outlined};
use crate::fixture::{accounts, brief, fleet, load, map, range, try_outline, users};
use plans::inspection::Load;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;

pub(super) const EVEN: &str =
    "{operation: split, map: m, source: a, even: rows, into: [{shard: a}, {shard: b}, {shard: c}]}";

fn one_shard(keys: i64) -> ShardMap {
    map("m", &[(Some(0), Some(keys), "a")])
}

#[test]
fn an_even_split_divides_by_the_requested_shares() {
    let abc = fleet(&["a", "b", "c"]);
    let loads = [load_in_pieces("a", 0, &[10, 10, 10, 10, 10, 10])];
    let outline = outlined(EVEN, &one_shard(60), &abc, &loads);
    assert_eq!(
        brief(&outline),
        ["m1 a > b: [20, 40)", "m2 a > c: [40, 60)"]
    );
    assert_eq!(
        outline.notes[0],
        "part a: [0, 20), about 20 rows (33 % of the load; the request wants 33 %)"
    );
    let shares = EVEN.replace("{shard: a}", "{shard: a, share: 4}");
    let outline = outlined(&shares, &one_shard(60), &abc, &loads);
    assert_eq!(
        brief(&outline),
        ["m1 a > b: [40, 50)", "m2 a > c: [50, 60)"]
    );
    // Any part may stay on the split shard.
    let last = EVEN.replace(
        "[{shard: a}, {shard: b}, {shard: c}]",
        "[{shard: b}, {shard: a}]",
    );
    let outline = outlined(&last, &one_shard(60), &abc, &loads);
    assert_eq!(brief(&outline), ["m1 a > b: [0, 30)"]);
}

#[test]
fn no_part_of_an_even_split_is_empty() {
    let abc = fleet(&["a", "b", "c"]);
    let loads = [load_in_pieces("a", 0, &[0, 0, 30, 31, 32, 0, 0])];
    let outline = outlined(EVEN, &one_shard(70), &abc, &loads);
    assert_eq!(
        brief(&outline),
        ["m1 a > b: [30, 40)", "m2 a > c: [40, 70)"]
    );
}

#[test]
fn an_even_split_of_virtual_shards_and_of_listed_keys() {
    let items: Vec<_> = (0..4)
        .map(|n| (KeySet::buckets(4096, n * 256, (n + 1) * 256), 5, 9))
        .collect();
    let text = "{operation: split, map: users, source: users-1, even: writes, into: [{shard: users-1}, {shard: new}]}";
    let loads = [load("users-1", &items, &[])];
    let outline = outlined(text, &users(), &fleet(&["users-1", "new"]), &loads);
    assert_eq!(brief(&outline), ["m1 users-1 > new: buckets [512, 1024)"]);
    assert!(
        outline.notes[1].contains("about 18 writes"),
        "{:?}",
        outline.notes
    );
    let name = |name: &str, rows| (KeySet::list([Key::from(name)]), rows, 0);
    let loads = [load(
        "shard-a",
        &[name("acme", 9), name("globex", 4), name("hooli", 5)],
        &[],
    )];
    let text = "{operation: split, map: accounts, source: shard-a, even: bytes, into: [{shard: shard-a}, {shard: new}]}";
    let outline = outlined(text, &accounts(), &fleet(&["shard-a", "new"]), &loads);
    assert_eq!(
        brief(&outline),
        ["m1 shard-a > new: keys \"globex\", \"hooli\""]
    );
}

#[test]
fn an_even_split_with_an_item_that_outweighs_a_part_is_refused() {
    let abc = fleet(&["a", "b", "c"]);
    let mut heavy = load_in_pieces("a", 0, &[10, 10, 90, 10]);
    let problems = try_outline(EVEN, &one_shard(40), &abc, &[heavy.clone()]).unwrap_err();
    assert!(
        problems[0].starts_with(
            "[20, 30) on shard a have 90 rows, more than the share of part b; split [20, 30)"
        ),
        "{problems:?}"
    );
    heavy.hottest = load("a", &[], &[(Key::Int(25), 80)]).hottest;
    let problems = try_outline(EVEN, &one_shard(40), &abc, &[heavy]).unwrap_err();
    let command = "isolate the key: `shardwright plan isolate m 25 --to NEW-SHARD`";
    assert!(problems[0].ends_with(command), "{problems:?}");
}

#[test]
fn an_even_split_without_figures_is_refused() {
    let abc = fleet(&["a", "b", "c"]);
    let refused = |loads: &[Load]| try_outline(EVEN, &one_shard(30), &abc, loads).unwrap_err();
    assert_eq!(refused(&[]), ["the load of shard a was not measured"]);
    assert_eq!(
        refused(&[load_in_pieces("a", 0, &[0, 0, 0])]),
        [
            "nothing is measured on shard a by rows; name the keys of the parts, or measure by something else"
        ]
    );
    let all = [load("a", &[(range(Some(0), Some(30)), 5, 0)], &[])];
    assert_eq!(
        refused(&all),
        ["shard a has 1 item(s) between which it can be split, fewer than the 3 parts"]
    );
}
