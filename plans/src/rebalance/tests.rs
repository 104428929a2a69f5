//! Examples, one for each rule. `tests/properties.rs` has the properties that hold for any fleet.

use super::*;
use std::collections::BTreeMap;

mod properties;

const LIMITS: RebalanceLimits = RebalanceLimits {
    threshold_ppm: 100_000,
    max_bytes: None,
    per_shard: 1,
    total: 4,
};

fn shard(name: &str, capacity: u64) -> RebalanceShard {
    RebalanceShard {
        name: name.into(),
        capacity,
        space: None,
        labels: BTreeMap::new(),
        accepts: true,
    }
}

fn item(shard: u32, cost: u64, allowed: u32) -> RebalanceItem {
    RebalanceItem {
        shard,
        cost,
        bytes: cost * 10,
        allowed: AllowedId(allowed),
    }
}

fn items(shard: u32, cost: u64, count: usize) -> Vec<RebalanceItem> {
    vec![item(shard, cost, 0); count]
}

fn everywhere() -> [AllowedSet; 1] {
    [AllowedSet::everywhere()]
}

fn costs(outcome: &RebalanceResult) -> Vec<u64> {
    outcome.after.iter().map(|balance| balance.cost).collect()
}

/// Returns the first item and the end of each range of a move.
fn item_ranges(made: &RebalanceMove) -> Vec<(u32, u32)> {
    made.items
        .iter()
        .map(|range| (range.start, range.end))
        .collect()
}

#[test]
fn a_skewed_fleet_ends_within_the_threshold_with_one_move_per_pair() {
    let shards = [shard("a", 1), shard("b", 1), shard("c", 1), shard("d", 1)];
    let costs_per_shard = [10, 1, 1, 1];
    let all: Vec<RebalanceItem> = (0..4)
        .zip(costs_per_shard)
        .flat_map(|(shard, cost)| items(shard, cost, 64))
        .collect();
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(outcome.unresolved, []);
    assert_eq!(outcome.moves.len(), 3);
    assert!(
        outcome
            .after
            .iter()
            .all(|balance| balance.cost <= balance.limit)
    );
    let ranges: usize = outcome.moves.iter().map(|made| made.items.len()).sum();
    assert_eq!(
        ranges, 3,
        "adjacent items move together: {:?}",
        outcome.moves
    );
}

#[test]
fn a_move_explains_itself() {
    let shards = [shard("a", 1), shard("b", 1)];
    let all = [items(0, 1, 90), items(1, 1, 20)].concat();
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(item_ranges(&outcome.moves[0]), [(0, 30)]);
    assert_eq!(
        outcome.moves[0].why,
        "shard a 1.64x over, b 0.36x; moving 30 items gives 1.09x / 0.91x"
    );
    assert_eq!(
        outcome.moves[0].explain(&shards, "buckets 0-29"),
        "shard a 1.64x over, b 0.36x; moving buckets 0-29 gives 1.09x / 0.91x"
    );
}

#[test]
fn a_fleet_within_the_threshold_stays_as_it_is() {
    let shards = [shard("a", 2), shard("b", 1)];
    let all = [items(0, 1, 205), items(1, 1, 95)].concat();
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!((outcome.moves, outcome.unresolved), (vec![], vec![]));
}

#[test]
fn capacity_is_a_weight() {
    let shards = [shard("small", 1), shard("large", 3)];
    let all = items(0, 1, 400);
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(costs(&outcome), [110, 290]);
}

#[test]
fn items_with_the_most_cost_per_byte_leave_first() {
    let shards = [shard("a", 1), shard("b", 1)];
    let mut all = items(0, 10, 20);
    for light in &mut all[12..] {
        light.bytes = 1;
    }
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(item_ranges(&outcome.moves[0]), [(0, 1), (12, 20)]);
    assert_eq!(outcome.moves[0].bytes, 108);
}

#[test]
fn the_last_items_are_one_or_several_whichever_has_fewer_bytes() {
    let shards = [shard("a", 1), shard("b", 1)];
    let with = |cost, bytes| RebalanceItem {
        bytes,
        ..item(0, cost, 0)
    };
    let pinned = RebalanceItem {
        allowed: AllowedId(1),
        ..with(155, 1)
    };
    let all = [pinned, with(30, 300), with(10, 110), with(5, 60)];
    let allowed = [AllowedSet::everywhere(), AllowedSet::of([0])];
    let limits = RebalanceLimits {
        threshold_ppm: 700_000,
        ..LIMITS
    };
    let outcome = rebalance(&shards, &all, &allowed, &limits).unwrap();
    assert_eq!(outcome.after[0].limit, 170);
    assert_eq!(item_ranges(&outcome.moves[0]), [(1, 2)]);
    let limits = RebalanceLimits {
        threshold_ppm: 850_000,
        ..LIMITS
    };
    let outcome = rebalance(&shards, &all, &allowed, &limits).unwrap();
    assert_eq!(outcome.after[0].limit, 185);
    assert_eq!(
        item_ranges(&outcome.moves[0]),
        [(2, 4)],
        "15 of cost for 170 bytes instead of 300"
    );
}

#[test]
fn a_misplaced_item_is_repaired_although_the_balance_suffers() {
    let shards = [shard("eu", 1), shard("us", 1)];
    let all = [items(0, 1, 10), items(1, 1, 10), vec![item(1, 9, 1)]].concat();
    let allowed = [AllowedSet::everywhere(), AllowedSet::of([0])];
    let limits = RebalanceLimits {
        threshold_ppm: 1_000_000,
        ..LIMITS
    };
    let outcome = rebalance(&shards, &all, &allowed, &limits).unwrap();
    assert_eq!(outcome.moves.len(), 1);
    assert_eq!(outcome.moves[0].kind, MoveKind::Repair);
    assert_eq!(item_ranges(&outcome.moves[0]), [(20, 21)]);
    assert_eq!(
        outcome.moves[0].why,
        "shard us has items that the rules forbid there; moving 1 item to eu gives 0.67x / 1.27x"
    );
}

#[test]
fn a_drained_shard_loses_all_items() {
    let mut shards = [shard("a", 1), shard("b", 1), shard("c", 1)];
    shards[0].accepts = false;
    let all = [
        items(0, 2, 10),
        vec![item(0, 0, 0)],
        items(1, 2, 10),
        items(2, 2, 10),
    ]
    .concat();
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(outcome.after[0].items, 0);
    assert_eq!(costs(&outcome), [0, 30, 30]);
    assert_eq!(outcome.moves.len(), 2);
    assert_eq!(
        outcome.moves[0].why,
        "shard a is drained, b 0.67x; moving 5 items gives b 1x"
    );
}

#[test]
fn an_item_above_every_fair_share_stays_and_is_reported() {
    let shards = [shard("a", 1), shard("b", 1), shard("c", 1)];
    let all = [vec![item(0, 100, 0)], items(0, 1, 10), items(1, 1, 10)].concat();
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(outcome.too_big.len(), 1);
    let hot = &outcome.too_big[0];
    assert_eq!(
        (hot.item, hot.shard, hot.cost, hot.fair, hot.parts),
        (0, 0, 100, 40, 3)
    );
    assert!(
        hot.why.contains("2.5x the fair share of shard a"),
        "{}",
        hot.why
    );
    assert_eq!(
        costs(&outcome),
        [100, 10, 10],
        "the other items leave its shard"
    );
    assert_eq!(outcome.unresolved[0].obstacle, Obstacle::TooBig);
    assert_eq!(
        outcome.unresolved[0].why,
        "shard a stays at 2.5x: items outweigh its fair share"
    );
}

#[test]
fn a_large_item_moves_to_a_shard_with_a_greater_fair_share() {
    let shards = [shard("small", 1), shard("large", 9)];
    let all = [vec![item(0, 50, 0)], items(1, 1, 50)].concat();
    let outcome = rebalance(&shards, &all, &everywhere(), &LIMITS).unwrap();
    assert_eq!(outcome.too_big, []);
    assert_eq!(item_ranges(&outcome.moves[0]), [(0, 1)]);
}

#[test]
fn a_move_waits_until_its_target_has_the_space() {
    let mut shards = [shard("a", 1), shard("b", 1), shard("c", 1)];
    shards[1].space = Some(600);
    // Shard b is full of bytes that only c may have, so items of a cannot move to b before these bytes have moved.
    let stray = RebalanceItem {
        bytes: 500,
        ..item(1, 1, 1)
    };
    let all = [items(0, 1, 60), vec![stray], vec![item(2, 1, 1); 29]].concat();
    let allowed = [AllowedSet::of([0, 1]), AllowedSet::of([2])];
    let outcome = rebalance(&shards, &all, &allowed, &LIMITS).unwrap();
    assert_eq!(outcome.unresolved, []);
    let pairs: Vec<_> = outcome
        .moves
        .iter()
        .map(|made| (made.from, made.to))
        .collect();
    assert_eq!(pairs, [(1, 2), (0, 1)]);
    assert_eq!((outcome.moves[0].wave, outcome.moves[1].wave), (0, 1));
    assert_eq!(outcome.moves[1].after, [0]);
}

#[test]
fn shards_that_wait_for_each_others_space_are_reported() {
    let mut shards = [shard("a", 1), shard("b", 1)];
    shards[0].space = Some(100);
    shards[1].space = Some(100);
    let all = [item(0, 10, 1), item(1, 10, 0)];
    let allowed = [AllowedSet::of([0]), AllowedSet::of([1])];
    let outcome = rebalance(&shards, &all, &allowed, &LIMITS).unwrap();
    assert_eq!(outcome.moves, []);
    assert_eq!(outcome.before, outcome.after);
    let found: Vec<_> = outcome
        .unresolved
        .iter()
        .map(|left| (left.obstacle, left.stranded))
        .collect();
    assert_eq!(found, [(Obstacle::Space, 1), (Obstacle::Space, 1)]);
}

#[test]
fn pins_are_obeyed_and_what_they_prevent_is_reported() {
    let shards = [shard("a", 1), shard("b", 1)];
    let all: Vec<RebalanceItem> = (0..100).map(|_| item(0, 1, 0)).collect();
    let outcome = rebalance(&shards, &all, &[AllowedSet::of([0])], &LIMITS).unwrap();
    assert_eq!(outcome.moves, []);
    assert_eq!(outcome.unresolved[0].obstacle, Obstacle::Constraints);
    assert_eq!(outcome.unresolved[0].excess, 45);
    assert_eq!(
        outcome.unresolved[0].why,
        "shard a stays at 2x: pins and exclusions leave no shard with room"
    );
}

#[test]
fn a_shard_passes_items_on_to_make_room_for_others() {
    let shards = [shard("a", 1), shard("b", 1), shard("c", 1)];
    let all = [vec![item(0, 1, 1); 180], items(1, 1, 100), items(2, 1, 20)].concat();
    let allowed = [AllowedSet::of([1, 2]), AllowedSet::of([0, 1])];
    let outcome = rebalance(&shards, &all, &allowed, &LIMITS).unwrap();
    assert_eq!(outcome.unresolved, []);
    assert_eq!(costs(&outcome), [110, 110, 80]);
}

#[test]
fn constrained_shards_share_the_load_that_cannot_leave_them() {
    let shards = [shard("a", 1), shard("b", 1), shard("c", 1)];
    let all = [vec![item(0, 1, 0); 200], vec![item(1, 1, 0); 100]].concat();
    let outcome = rebalance(&shards, &all, &[AllowedSet::of([0, 1])], &LIMITS).unwrap();
    assert_eq!(outcome.after[0].cost + outcome.after[1].cost, 300);
    assert!(outcome.after[0].cost < 165, "{:?}", outcome.after);
    assert_eq!(outcome.unresolved.len(), 2);
}

#[test]
fn the_limit_on_bytes_is_obeyed_and_reported() {
    let shards = [shard("a", 1), shard("b", 1)];
    let limits = RebalanceLimits {
        max_bytes: Some(100),
        ..LIMITS
    };
    let outcome = rebalance(&shards, &items(0, 1, 100), &everywhere(), &limits).unwrap();
    assert_eq!(outcome.moves[0].bytes, 100);
    assert_eq!(outcome.unresolved[0].obstacle, Obstacle::Bytes);
}

#[test]
fn nothing_can_leave_when_no_shard_accepts() {
    let mut shards = [shard("a", 1)];
    shards[0].accepts = false;
    let outcome = rebalance(&shards, &items(0, 1, 3), &everywhere(), &LIMITS).unwrap();
    assert_eq!(outcome.unresolved[0].obstacle, Obstacle::NoShard);
    assert_eq!(outcome.unresolved[0].stranded, 3);
}

#[test]
fn sets_of_allowed_shards_come_from_labels_and_are_shared() {
    let mut shards = [shard("a", 1), shard("b", 1)];
    shards[1]
        .labels
        .insert("region".to_owned(), "eu".to_owned());
    let eu = |shard: &RebalanceShard| {
        shard
            .labels
            .get("region")
            .is_some_and(|region| region == "eu")
    };
    let mut table = AllowedTable::default();
    let first = table.id(AllowedSet::matching(&shards, eu));
    assert_eq!(table.id(AllowedSet::everywhere()), AllowedId(1));
    assert_eq!(table.id(AllowedSet::of([1])), first);
    assert!(table.sets()[0].contains(1) && !table.sets()[0].contains(0));
    assert!(!table.sets()[0].contains(1_000) && table.sets()[1].contains(1_000));
}

#[test]
fn input_that_contradicts_itself_is_refused() {
    let shards = [shard("a", 1)];
    let outcome = rebalance(&shards, &[item(1, 1, 0)], &everywhere(), &LIMITS);
    assert_eq!(
        outcome,
        Err(InvalidInput::UnknownShard {
            item: 0,
            shard: 1,
            shards: 1
        })
    );
    let outcome = rebalance(&shards, &[item(0, 1, 7)], &everywhere(), &LIMITS);
    assert_eq!(
        outcome,
        Err(InvalidInput::UnknownAllowed {
            item: 0,
            allowed: 7,
            sets: 1
        })
    );
    let outcome = rebalance(&[], &[], &[], &LIMITS).unwrap();
    assert_eq!(outcome.moves, []);
}
