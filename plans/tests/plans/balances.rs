//! Operations that work out which keys move: even splits, drains, rebalances.

use crate::fixture::{accounts, brief, fleet, load, map, map_of_kind, range, try_outline, users};
use plans::fleet::ShardInfo;
use plans::inspection::Load;
use plans::key::{Key, KeyType};
use plans::key_set::{KeySet, bucket_of};
use plans::plan::Until;
use plans::planner::{Outline, hot_keys, needs};
use plans::request::{Measure, Request};
use plans::shard_map::{Effect, Rule, ShardMap, Strategy as Division};
use proptest::prelude::*;

/// The load of a range shard in pieces of ten keys from `from` on.
fn pieces(shard: &str, from: i64, rows: &[u64]) -> Load {
    let items: Vec<_> = rows
        .iter()
        .zip(0..)
        .map(|(rows, nth)| {
            let start = from + nth * 10;
            (range(Some(start), Some(start + 10)), *rows, *rows)
        })
        .collect();
    load(shard, &items, &[])
}

fn one_shard(keys: i64) -> ShardMap {
    map("m", &[(Some(0), Some(keys), "a")])
}

fn outlined(text: &str, map: &ShardMap, fleet: &[ShardInfo], loads: &[Load]) -> Outline {
    try_outline(text, map, fleet, loads).unwrap_or_else(|problems| panic!("{problems:?}"))
}

const EVEN: &str =
    "{operation: split, map: m, source: a, even: rows, into: [{shard: a}, {shard: b}, {shard: c}]}";

#[test]
fn an_even_split_cuts_where_the_shares_ask() {
    let abc = fleet(&["a", "b", "c"]);
    let loads = [pieces("a", 0, &[10, 10, 10, 10, 10, 10])];
    let outline = outlined(EVEN, &one_shard(60), &abc, &loads);
    assert_eq!(
        brief(&outline),
        ["m1 a > b: [20, 40)", "m2 a > c: [40, 60)"]
    );
    assert_eq!(
        outline.notes[0],
        "part a: [0, 20), about 20 rows (33 % of the whole, 33 % asked for)"
    );
    let shares = EVEN.replace("{shard: a}", "{shard: a, share: 4}");
    let outline = outlined(&shares, &one_shard(60), &abc, &loads);
    assert_eq!(
        brief(&outline),
        ["m1 a > b: [40, 50)", "m2 a > c: [50, 60)"]
    );
    // The part that stays may be any.
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
    let loads = [pieces("a", 0, &[0, 0, 30, 31, 32, 0, 0])];
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
    let mut heavy = pieces("a", 0, &[10, 10, 90, 10]);
    let problems = try_outline(EVEN, &one_shard(40), &abc, &[heavy.clone()]).unwrap_err();
    assert!(
        problems[0].starts_with(
            "[20, 30) on shard a carry 90 rows, more than the share of part b; split [20, 30)"
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
        refused(&[pieces("a", 0, &[0, 0, 0])]),
        [
            "nothing is measured on shard a by rows; name the keys of the parts, or count by something else"
        ]
    );
    let all = [load("a", &[(range(Some(0), Some(30)), 5, 0)], &[])];
    assert_eq!(
        refused(&all),
        ["shard a has 1 item(s) that could be parted, fewer than the 3 parts"]
    );
}

/// Four range shards of a hundred keys each.
fn four() -> ShardMap {
    map(
        "m",
        &[
            (Some(0), Some(100), "a"),
            (Some(100), Some(200), "b"),
            (Some(200), Some(300), "c"),
            (Some(300), Some(400), "d"),
        ],
    )
}

/// The load of these: ten pieces each.
fn four_loads(rows: [u64; 4]) -> Vec<Load> {
    let shards = ["a", "b", "c", "d"].into_iter().zip([0, 100, 200, 300]);
    shards
        .zip(rows)
        .map(|((shard, from), rows)| pieces(shard, from, &[rows; 10]))
        .collect()
}

const DRAIN: &str = "{operation: drain, map: m, source: d, drop_tables: true}";
const REBALANCE: &str = "{operation: rebalance, map: m}";

#[test]
fn a_drained_shard_is_emptied_and_nothing_else_moves() {
    let fleet = fleet(&["a", "b", "c", "d"]);
    // Shard a is far above its share, but that is not what was asked for.
    let outline = outlined(DRAIN, &four(), &fleet, &four_loads([90, 30, 30, 80]));
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
            .any(|n| n.contains("dropped once nothing is left"))
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
fn a_drain_of_a_list_map_takes_what_was_not_measured_along() {
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
fn a_drain_with_nowhere_to_go_is_refused() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let only = map("m", &[(None, None, "d")]);
    assert_eq!(
        try_outline(DRAIN, &only, &abcd, &[]).unwrap_err(),
        ["map m has no shard besides d; name the shards that take its keys under `targets`"]
    );
    let empty = "{operation: drain, map: m, source: e}";
    assert_eq!(
        try_outline(empty, &four(), &abcd, &[]).unwrap_err(),
        ["shard e owns no keys in map m version 7"]
    );
}

#[test]
fn a_drain_that_a_pin_forbids_is_refused_by_its_name() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let mut map = four();
    map.settings.rules = vec![pin("vip", range(Some(310), Some(315)), "d")];
    let problems = try_outline(DRAIN, &map, &abcd, &four_loads([10; 4])).unwrap_err();
    assert!(
        problems[0].ends_with("of rules vip, [310, 320) may go nowhere else"),
        "{problems:?}"
    );
    let reason = DRAIN.replace(
        "source: d",
        "source: d, options: {override_rules: shard d is broken}",
    );
    let outline = outlined(&reason, &map, &abcd, &four_loads([10; 4]));
    let note = outline
        .notes
        .iter()
        .find(|note| note.contains("rule vip"))
        .unwrap();
    assert!(note.ends_with("overridden: shard d is broken"), "{note}");
}

fn pin(name: &str, keys: KeySet, shard: &str) -> Rule {
    Rule {
        name: name.to_owned(),
        effect: Effect::Pin,
        keys: Some(keys),
        shard: Some(shard.into()),
        labels: [].into(),
    }
}

#[test]
fn a_rebalance_says_why_each_move_is_made() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let outline = outlined(REBALANCE, &four(), &abcd, &four_loads([90, 50, 40, 20]));
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
fn a_balanced_map_is_left_alone_with_the_figures() {
    let abcd = fleet(&["a", "b", "c", "d"]);
    let problems =
        try_outline(REBALANCE, &four(), &abcd, &four_loads([50, 52, 49, 50])).unwrap_err();
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
fn new_shards_take_part_by_name_and_only_the_first_move_to_one_creates_tables() {
    let abcde = fleet(&["a", "b", "c", "d", "e"]);
    let text = "{operation: rebalance, map: m, onto: [e]}";
    let outline = outlined(text, &four(), &abcde, &four_loads([50; 4]));
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
        try_outline(unknown, &four(), &abcde, &four_loads([50; 4])).unwrap_err(),
        ["there is no shard z; `shardwright shard add` registers it"]
    );
}

#[test]
fn capacity_labels_and_rules_are_kept_by_a_rebalance() {
    let mut abcd = fleet(&["a", "b", "c", "d"]);
    abcd[1].capacity = 0;
    abcd[2].labels = [("tier".to_owned(), "slow".to_owned())].into();
    let mut map = four();
    map.settings.rules = vec![Rule {
        name: "not-slow".to_owned(),
        effect: Effect::Exclude,
        keys: Some(range(Some(0), Some(100))),
        shard: None,
        labels: [("tier".to_owned(), "slow".to_owned())].into(),
    }];
    let outline = outlined(REBALANCE, &map, &abcd, &four_loads([100, 0, 10, 10]));
    assert!(!outline.moves.is_empty());
    for one in outline.moves.iter().filter(|m| m.source.as_str() == "a") {
        assert_eq!(one.target.as_str(), "d", "{:?}", brief(&outline));
    }
    // What is where a rule forbids it leaves, however well it is balanced.
    map.settings.rules = vec![pin("home", range(Some(200), Some(210)), "d")];
    let outline = outlined(REBALANCE, &map, &abcd, &four_loads([10, 0, 10, 10]));
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
    let outline = outlined(text, &four(), &abcd, &four_loads([90, 10, 10, 10]));
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
    // Shard b is full of cold bytes that may only live on a; the hot keys of a come for them.
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

#[test]
fn a_key_beyond_a_fair_share_is_proposed_to_be_isolated() {
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
            "key \"acme\" alone carries 900 rows, 1.8x the fair share of shard shard-a; isolate it: `shardwright plan isolate accounts acme --to NEW-SHARD`"
        ]
    );
}

#[test]
fn an_item_beyond_a_fair_share_is_proposed_to_be_split() {
    let ab = fleet(&["a", "b"]);
    let two = map("m", &[(Some(0), Some(30), "a"), (Some(30), Some(60), "b")]);
    let loads = [
        pieces("a", 0, &[900, 10, 10]),
        pieces("b", 30, &[10, 10, 10]),
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
        proposal.contains("carry 900 rows, 1.89x the fair share of shard a; split [0, 10)"),
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
    let said = match try_outline(text, &map, &fleet(&["a", "b"]), &loads) {
        Ok(outline) => outline.notes,
        Err(problems) => problems,
    };
    let proposals: Vec<&String> = said.iter().filter(|n| n.contains("isolate")).collect();
    assert_eq!(proposals.len(), 1, "{said:?}");
    assert!(
        proposals[0].starts_with("key 42 alone carries 880 writes"),
        "{proposals:?}"
    );
}

#[test]
fn what_must_be_measured_is_known_before() {
    let need = |text: &str| needs(&Request::parse(text).unwrap(), &four());
    let even = need(EVEN).unwrap();
    assert_eq!(
        (even.shards.len(), even.by, even.watch_seconds),
        (1, Measure::Rows, 0)
    );
    let writes = need("{operation: rebalance, map: m, by: writes, watch_seconds: 60}").unwrap();
    assert_eq!((writes.shards.len(), writes.watch_seconds), (4, 60));
    let drain = need("{operation: drain, map: m, source: d, targets: [a, e]}").unwrap();
    assert_eq!(drain.shards, ["a".into(), "d".into()]);
    assert_eq!(
        need("{operation: merge, map: m, sources: [a], into: b}"),
        None
    );
}

proptest! {
    #[test]
    fn the_moves_of_any_rebalance_can_be_made_in_order_and_keep_the_rules(
        rows in prop::collection::vec(0..1000_u64, 64),
        pinned in (0..64_u32, 1..6_u32, 0..4_usize),
        drained in prop::option::of(0..4_usize),
        space in prop::option::of(20_000..90_000_u64),
    ) {
        let names = ["users-1", "users-2", "users-3", "users-4", "users-5"];
        let mut fleet = fleet(&names);
        fleet[4].space = space;
        let keys = |item: u32, count: u32| KeySet::buckets(4096, item * 64, ((item + count) * 64).min(4096));
        let mut map = users();
        map.settings.rules = vec![pin("p", keys(pinned.0, pinned.1), names[pinned.2])];
        let loads: Vec<Load> = (0..4).map(|shard: usize| {
            let items = (0..64_u32).zip(&rows).skip(shard * 16).take(16);
            let items: Vec<_> = items.map(|(item, rows)| (keys(item, 1), *rows, *rows)).collect();
            load(names[shard], &items, &[])
        }).collect();
        let text = match drained {
            Some(shard) => format!("{{operation: drain, map: users, source: {}}}", names[shard]),
            None => "{operation: rebalance, map: users, onto: [users-5]}".to_owned(),
        };
        let Ok(outline) = try_outline(&text, &map, &fleet, &loads) else { return Ok(()) };
        let mut after = map.clone();
        for (index, one) in outline.moves.iter().enumerate() {
            after = after.with_moved(&one.keys, &one.source, &one.target, &"m1".into()).unwrap();
            let target = fleet.iter().find(|s| s.name == one.target).unwrap();
            prop_assert!(map.settings.rules[0].allows(&one.keys, target));
            let earlier: Vec<&str> = outline.moves[..index].iter().map(|m| m.id.as_str()).collect();
            prop_assert!(one.after.iter().all(|a| earlier.contains(&a.id.as_str())));
        }
        if let Some(shard) = drained {
            prop_assert!(after.owned_by(&names[shard].into()).is_empty());
        }
    }
}
