//! Rebalances: the load evens out within capacity, rules and limits.

use super::{REBALANCE, loads_of_four, map_of_four, outlined, pin};
use crate::fixture::{brief, fleet, load, map, range, try_outline, users};
use plans::inspection::Load;
use plans::key_set::KeySet;
use plans::plan::Until;
use plans::shard_map::{Effect, PlacementRule};

#[test]
fn each_move_of_a_rebalance_has_a_reason() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let outline = outlined(
        REBALANCE,
        &map_of_four(),
        &abcd,
        &loads_of_four([90, 50, 40, 20]),
    );
    assert!(!outline.moves.is_empty());
    let first = &outline.moves[0];
    assert_eq!(first.source.as_str(), "a");
    assert!(
        first.why.starts_with("shard a 1.8x over, ") && first.why.contains("; moving ["),
        "{}",
        first.why
    );
    assert!(
        outline.notes[0].starts_with("load by rows, in fair shares: a 1.8x -> "),
        "{:?}",
        outline.notes
    );
}

#[test]
fn a_rebalance_evens_out_a_skewed_fleet() {
    // Four shards of 64 virtual shards each; one has ten times the load of the others.
    let shards = ["users-1", "users-2", "users-3", "users-4"];
    let loads: Vec<Load> = shards
        .into_iter()
        .zip(0..)
        .map(|(shard, nth)| {
            let bucket = |n: u32| nth * 1024 + n * 16;
            let rows = if nth == 0 { 1000 } else { 100 };
            let items: Vec<_> = (0..64)
                .map(|n| (KeySet::buckets(4096, bucket(n), bucket(n + 1)), rows, rows))
                .collect();
            load(shard, &items, &[])
        })
        .collect();
    for by in ["rows", "writes", "bytes", "{query: select}"] {
        let text = format!("{{operation: rebalance, map: users, by: {by}}}");
        let outline = outlined(&text, &users(), &fleet(&shards), &loads);
        assert_eq!(outline.moves.len(), 3, "{:?}", brief(&outline));
        let after = outline.moves.iter().fold(users(), |map, m| {
            map.with_moved(&m.keys, &m.source, &m.target, &"m1".into())
                .unwrap()
        });
        for shard in shards {
            let own = after.owned_by(&shard.into());
            let items = loads.iter().flat_map(|load| &load.items);
            let rows: u64 = items.filter(|i| own.covers(&i.keys)).map(|i| i.rows).sum();
            // The fair share is 20,800, the threshold ten percent.
            assert!(rows <= 22_880, "{shard} has {rows}");
        }
    }
}

#[test]
fn a_rebalance_of_a_balanced_map_is_refused_with_the_loads() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let problems = try_outline(
        REBALANCE,
        &map_of_four(),
        &abcd,
        &loads_of_four([50, 52, 49, 50]),
    )
    .unwrap_err();
    assert_eq!(
        problems[0],
        "every shard is already within the threshold of 10 %"
    );
    assert_eq!(
        problems[1],
        "load by rows, in fair shares: a 0.99x, b 1.03x, c 0.97x, d 0.99x"
    );
}

#[test]
fn new_shards_receive_keys_and_their_first_move_creates_the_tables() {
    let abcde = fleet(&["a", "b", "c", "d", "e"]);
    let text = "{operation: rebalance, map: m, onto: [e]}";
    let outline = outlined(text, &map_of_four(), &abcde, &loads_of_four([50; 4]));
    assert!(outline.moves.len() > 1);
    assert!(outline.moves.iter().all(|m| m.target.as_str() == "e"));
    for pair in outline.moves.windows(2) {
        assert_eq!(pair[1].after.len(), 1);
        assert_eq!(
            (&pair[1].after[0].id, pair[1].after[0].until),
            (&pair[0].id, Until::Flipped)
        );
    }
    let unknown = "{operation: rebalance, map: m, onto: [z]}";
    assert_eq!(
        try_outline(unknown, &map_of_four(), &abcde, &loads_of_four([50; 4])).unwrap_err(),
        ["there is no shard z; `shardwright shard add` registers it"]
    );
}

#[test]
fn capacity_labels_and_rules_are_kept_by_a_rebalance() {
    let mut abcd = fleet(&["a", "b", "c", "d"]);
    abcd[1].capacity = 0;
    abcd[2].labels = [("tier".to_owned(), "slow".to_owned())].into();
    let mut map = map_of_four();
    map.settings.rules = vec![PlacementRule {
        name: "not-slow".to_owned(),
        effect: Effect::Exclude,
        keys: Some(range(Some(0), Some(100))),
        shard: None,
        labels: [("tier".to_owned(), "slow".to_owned())].into(),
    }];
    let outline = outlined(REBALANCE, &map, &abcd, &loads_of_four([100, 0, 10, 10]));
    assert!(!outline.moves.is_empty());
    for one in outline.moves.iter().filter(|m| m.source.as_str() == "a") {
        assert_eq!(one.target.as_str(), "d", "{:?}", brief(&outline));
    }
    // Keys leave a shard that a rule forbids, even if the load is balanced.
    map.settings.rules = vec![pin("home", range(Some(200), Some(210)), "d")];
    let outline = outlined(REBALANCE, &map, &abcd, &loads_of_four([10, 0, 10, 10]));
    let home = outline
        .moves
        .iter()
        .find(|m| m.keys.covers(&range(Some(200), Some(210))));
    assert_eq!(home.map(|m| m.target.as_str()), Some("d"));
}

#[test]
fn bytes_that_move_can_be_limited() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let text = "{operation: rebalance, map: m, max_bytes: 9000}";
    let outline = outlined(
        text,
        &map_of_four(),
        &abcd,
        &loads_of_four([90, 10, 10, 10]),
    );
    // A piece of shard a has 9,000 bytes.
    assert_eq!(brief(&outline).len(), 1);
    assert!(
        outline
            .notes
            .iter()
            .any(|n| n.contains("limit on bytes moved is used up"))
    );
}

#[test]
fn a_move_that_needs_space_waits_until_the_old_rows_are_gone() {
    let mut ab = fleet(&["a", "b"]);
    let map = map(
        "m",
        &[(Some(0), Some(100), "a"), (Some(100), Some(200), "b")],
    );
    // Shard b is full of bytes with few writes that a rule allows only on a. Keys of a with many writes move to b.
    let hot: Vec<_> = (0..10)
        .map(|n| (range(Some(n * 10), Some(n * 10 + 10)), 1, 100))
        .collect();
    let cold: Vec<_> = (10..20)
        .map(|n| (range(Some(n * 10), Some(n * 10 + 10)), 10, 1))
        .collect();
    let loads = [load("a", &hot, &[]), load("b", &cold, &[])];
    ab[1].space = Some(10_000);
    let mut pinned = map.clone();
    pinned.settings.rules = vec![pin("cold", range(Some(100), Some(150)), "a")];
    let text = "{operation: rebalance, map: m, by: writes}";
    let outline = outlined(text, &pinned, &ab, &loads);
    let into_b = outline
        .moves
        .iter()
        .find(|m| m.target.as_str() == "b")
        .unwrap();
    assert_eq!(
        into_b.after.iter().map(|a| a.until).collect::<Vec<_>>(),
        [Until::Finished],
        "{:?}",
        brief(&outline)
    );
}
