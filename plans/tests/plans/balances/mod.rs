//! Operations that determine from the load which keys move: even splits, drains, rebalances.

mod drains;
mod even_splits;
mod hot_keys;
mod rebalances;

use crate::fixture::{fleet, load, map, range, try_outline, users};
use plans::fleet::ShardInfo;
use plans::inspection::Load;
use plans::key_set::KeySet;
use plans::planner::{Outline, needs};
use plans::request::{Measure, Request};
use plans::shard_map::{Effect, PlacementRule, ShardMap};
use proptest::prelude::*;

const REBALANCE: &str = "{operation: rebalance, map: m}";

/// The load of a range shard in pieces of ten keys from `from` on.
fn load_in_pieces(shard: &str, from: i64, rows: &[u64]) -> Load {
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

fn outlined(text: &str, map: &ShardMap, fleet: &[ShardInfo], loads: &[Load]) -> Outline {
    try_outline(text, map, fleet, loads).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Four range shards of a hundred keys each.
fn map_of_four() -> ShardMap {
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

/// Returns the loads of these shards, each in ten equal pieces.
fn loads_of_four(rows: [u64; 4]) -> Vec<Load> {
    let shards = ["a", "b", "c", "d"].into_iter().zip([0, 100, 200, 300]);
    shards
        .zip(rows)
        .map(|((shard, from), rows)| load_in_pieces(shard, from, &[rows; 10]))
        .collect()
}

fn pin(name: &str, keys: KeySet, shard: &str) -> PlacementRule {
    PlacementRule {
        name: name.to_owned(),
        effect: Effect::Pin,
        keys: Some(keys),
        shard: Some(shard.into()),
        labels: [].into(),
    }
}

#[test]
fn the_planner_says_what_must_be_measured() {
    let need = |text: &str| needs(&Request::parse(text).unwrap(), &map_of_four());
    let even = need(even_splits::EVEN).unwrap();
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
        for (index, m) in outline.moves.iter().enumerate() {
            after = after.with_moved(&m.keys, &m.source, &m.target, &"m1".into()).unwrap();
            let target = fleet.iter().find(|s| s.name == m.target).unwrap();
            prop_assert!(map.settings.rules[0].allows(&m.keys, target));
            let earlier: Vec<&str> = outline.moves[..index].iter().map(|m| m.id.as_str()).collect();
            prop_assert!(m.after.iter().all(|a| earlier.contains(&a.id.as_str())));
        }
        if let Some(shard) = drained {
            prop_assert!(after.owned_by(&names[shard].into()).is_empty());
        }
    }
}
