//! Properties that hold for any fleet. The tests carry the moves out in their order.

use super::{LIMITS, everywhere};
use crate::rebalance::state::to_index;
use crate::rebalance::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A fleet with its items, constraints and limits.
#[derive(Debug, Clone)]
struct Case {
    shards: Vec<RebalanceShard>,
    items: Vec<RebalanceItem>,
    allowed: Vec<AllowedSet>,
    limits: RebalanceLimits,
}

impl Case {
    fn run(&self) -> RebalanceResult {
        rebalance(&self.shards, &self.items, &self.allowed, &self.limits).unwrap()
    }

    fn load(&self, shard: u32) -> u64 {
        self.items
            .iter()
            .filter(|item| item.shard == shard)
            .map(|item| item.cost)
            .sum()
    }

    fn shard_bytes(&self, shard: u32) -> u64 {
        self.items
            .iter()
            .filter(|item| item.shard == shard)
            .map(|item| item.bytes)
            .sum()
    }
}

fn shards() -> impl Strategy<Value = Vec<RebalanceShard>> {
    let shard = (
        0_u64..5,
        prop::option::weighted(0.3, 0_u64..3_000),
        prop::bool::weighted(0.85),
    );
    prop::collection::vec(shard, 1..9).prop_map(|shards| {
        let shard = |(name, (capacity, space, accepts)): (u32, _)| RebalanceShard {
            name: format!("s{name}").as_str().into(),
            capacity,
            space,
            labels: BTreeMap::new(),
            accepts,
        };
        (0..).zip(shards).map(shard).collect()
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let sets = prop::collection::vec(prop::collection::btree_set(0_u32..8, 0..6), 0..4);
    let item = (
        any::<prop::sample::Index>(),
        0_u64..40,
        0_u64..90,
        any::<prop::sample::Index>(),
    );
    let items = prop::collection::vec(item, 0..120);
    let limits = (
        0_u64..400_000,
        prop::option::weighted(0.3, 0_u64..4_000),
        0_u32..3,
        0_u32..5,
    );
    (shards(), sets, items, limits).prop_map(|(shards, sets, items, limits)| {
        let mut allowed = vec![AllowedSet::everywhere()];
        allowed.extend(sets.into_iter().map(AllowedSet::of));
        let small = |index: usize| u32::try_from(index).unwrap();
        let items = items
            .into_iter()
            .map(|(shard, cost, bytes, set)| RebalanceItem {
                shard: small(shard.index(shards.len())),
                cost,
                bytes,
                allowed: AllowedId(small(set.index(allowed.len()))),
            })
            .collect();
        let (threshold_ppm, max_bytes, per_shard, total) = limits;
        let limits = RebalanceLimits {
            threshold_ppm,
            max_bytes,
            per_shard,
            total,
        };
        Case {
            shards,
            items,
            allowed,
            limits,
        }
    })
}

/// Many small items on shards that can all receive them.
fn feasible_cases() -> impl Strategy<Value = Case> {
    let capacities = prop::collection::vec(10_u64..30, 2..8);
    let items = prop::collection::vec((any::<prop::sample::Index>(), 1_u64..10, 0_u64..90), 600);
    (capacities, items, 1_usize..4).prop_map(|(capacities, items, owners)| {
        let shard = |(name, capacity)| super::shard(&format!("s{name}"), capacity);
        let shards: Vec<RebalanceShard> = (0..)
            .zip(capacities)
            .map(|(n, c): (u32, u64)| shard((n, c)))
            .collect();
        let items = items
            .into_iter()
            .map(|(shard, cost, bytes)| RebalanceItem {
                shard: u32::try_from(shard.index(owners.min(shards.len()))).unwrap(),
                cost,
                bytes,
                allowed: AllowedId(0),
            })
            .collect();
        Case {
            shards,
            items,
            allowed: everywhere().to_vec(),
            limits: LIMITS,
        }
    })
}

/// Compares relative loads by cross multiplication. A shard without capacity is infinitely loaded.
fn less((load, weight): (u64, u64), (other, other_weight): (u64, u64)) -> bool {
    let weight = if load == 0 { 1 } else { weight };
    let other_weight = if other == 0 { 1 } else { other_weight };
    u128::from(load) * u128::from(other_weight) < u128::from(other) * u128::from(weight)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn items_move_once_from_their_owner_to_a_shard_that_may_have_them(case in cases()) {
        let outcome = case.run();
        let mut shard_of_item: Vec<u32> = case.items.iter().map(|item| item.shard).collect();
        for made in &outcome.moves {
            prop_assert!(made.from != made.to);
            let (mut cost, mut bytes) = (0, 0);
            let mut last = None;
            for range in &made.items {
                prop_assert!(range.start < range.end && last.is_none_or(|last| last < range.start));
                last = Some(range.end);
                for index in range.clone() {
                    let item = &case.items[to_index(index)];
                    prop_assert_eq!(shard_of_item[to_index(index)], item.shard, "moved twice");
                    prop_assert_eq!(item.shard, made.from);
                    prop_assert!(case.allowed[to_index(item.allowed.0)].contains(made.to));
                    shard_of_item[to_index(index)] = made.to;
                    cost += item.cost;
                    bytes += item.bytes;
                }
            }
            prop_assert_eq!((cost, bytes), (made.cost, made.bytes));
            let to = &case.shards[to_index(made.to)];
            prop_assert!(to.accepts && to.capacity > 0);
        }
        let pairs: std::collections::BTreeSet<_> =
            outcome.moves.iter().map(|made| (made.from, made.to)).collect();
        prop_assert_eq!(pairs.len(), outcome.moves.len(), "one move per pair");
        for balance in &outcome.after {
            let items_here = || case.items.iter().zip(&shard_of_item).filter(|(_, p)| **p == balance.shard);
            prop_assert_eq!(balance.cost, items_here().map(|(item, _)| item.cost).sum::<u64>());
            prop_assert_eq!(balance.bytes, items_here().map(|(item, _)| item.bytes).sum::<u64>());
        }
    }

    #[test]
    fn every_move_that_is_not_forced_improves_the_balance(case in cases()) {
        let weight = |shard: u32| {
            let shard = &case.shards[to_index(shard)];
            if shard.accepts { shard.capacity } else { 0 }
        };
        let count = u32::try_from(case.shards.len()).unwrap();
        let mut load: Vec<u64> = (0..count).map(|shard| case.load(shard)).collect();
        for made in case.run().moves {
            let (from, to) = (to_index(made.from), to_index(made.to));
            let (weight_from, weight_to) = (weight(made.from), weight(made.to));
            let before = [(load[from], weight_from), (load[to], weight_to)];
            load[from] -= made.cost;
            load[to] += made.cost;
            let after = [(load[from], weight_from), (load[to], weight_to)];
            if made.kind == MoveKind::Balance {
                let falls = after.iter().all(|a| before.iter().any(|b| less(*a, *b)));
                prop_assert!(falls, "{before:?} {after:?}");
            }
        }
    }

    #[test]
    fn limits_and_space_hold_in_every_wave(case in cases()) {
        let outcome = case.run();
        let moved: u64 = outcome.moves.iter().map(|made| made.bytes).sum();
        prop_assert!(case.limits.max_bytes.is_none_or(|most| moved <= most));
        let waves = outcome.moves.iter().map(|made| made.wave);
        prop_assert!(waves.clone().is_sorted());
        for wave in waves {
            let now = || outcome.moves.iter().filter(|made| made.wave == wave);
            prop_assert!(now().count() <= to_index(case.limits.total.max(1)));
            for shard in (0..).zip(&case.shards).map(|(shard, _)| shard) {
                let lanes = now().filter(|made| made.from == shard || made.to == shard).count();
                prop_assert!(lanes <= to_index(case.limits.per_shard.max(1)));
            }
        }
        for (index, made) in outcome.moves.iter().enumerate() {
            let Some(space) = case.shards[to_index(made.to)].space else { continue };
            let comes: u64 = outcome.moves[..=index]
                .iter()
                .filter(|other| other.to == made.to)
                .map(|other| other.bytes)
                .sum();
            let leaves: u64 = made.after.iter().map(|other| outcome.moves[*other].bytes).sum();
            prop_assert!(case.shard_bytes(made.to) + comes <= space + leaves);
            for other in &made.after {
                prop_assert_eq!(outcome.moves[*other].from, made.to);
                prop_assert!(outcome.moves[*other].wave < made.wave);
            }
        }
    }

    #[test]
    fn what_is_not_reached_is_said(case in cases()) {
        let outcome = case.run();
        let named: Vec<u32> = outcome.unresolved.iter().map(|left| left.shard).collect();
        for balance in &outcome.after {
            let exceeds = balance.cost > balance.limit;
            prop_assert!(!exceeds || named.contains(&balance.shard));
        }
        for too_big in &outcome.too_big {
            prop_assert!(too_big.cost > too_big.fair && too_big.parts > 1);
        }
    }

    #[test]
    fn without_limits_on_space_and_bytes_nothing_is_stranded(case in cases()) {
        let mut case = case;
        case.limits.max_bytes = None;
        case.shards.iter_mut().for_each(|shard| shard.space = None);
        case.shards[0].accepts = true;
        case.shards[0].capacity = 1;
        case.allowed = case.allowed.iter().map(|set| AllowedSet::of((0..8).filter(|shard| *shard == 0 || set.contains(*shard)))).collect();
        prop_assert!(case.run().unresolved.iter().all(|left| left.stranded == 0));
    }

    #[test]
    fn small_items_end_within_the_threshold(case in feasible_cases()) {
        let outcome = case.run();
        prop_assert_eq!(&outcome.unresolved, &vec![]);
        prop_assert!(outcome.after.iter().all(|balance| balance.cost <= balance.limit));
        prop_assert!(outcome.moves.len() < case.shards.len() * 2);
    }

    #[test]
    fn the_same_input_gives_the_same_moves(case in cases()) {
        prop_assert_eq!(case.run(), case.run());
    }
}
