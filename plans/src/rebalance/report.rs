//! Describes the loads of the fleet, items that no move can fit, and the reason for each move.

use super::gather::UnscheduledMove;
use super::receiver::{ReceiverLimit, has_room};
use super::state::{RebalanceState, to_index};
use super::types::{
    MoveKind, Obstacle, RebalanceItem, RebalanceMove, RebalanceShard, ShardBalance, TooBig,
    Unresolved,
};
use std::collections::BTreeMap;

/// Converts a sum to 64 bits; a larger sum becomes the greatest number.
fn saturated(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Returns the load of every shard.
pub(super) fn balances(state: &RebalanceState<'_>) -> Vec<ShardBalance> {
    let mut items = vec![0; state.shards.len()];
    for shard in &state.shard_of_item {
        items[to_index(*shard)] += 1;
    }
    let balance = |shard: u32| {
        let goal = &state.goals[to_index(shard)];
        ShardBalance {
            shard,
            cost: saturated(state.load[to_index(shard)]),
            fair: saturated(goal.fair),
            limit: saturated(goal.limit),
            bytes: saturated(state.shard_bytes[to_index(shard)]),
            items: items[to_index(shard)],
        }
    };
    state.shard_indices().map(balance).collect()
}

/// Returns the items that exceed the fair share of their shard, the heaviest first.
pub(super) fn too_big(state: &RebalanceState<'_>) -> Vec<TooBig> {
    let mut found: Vec<TooBig> = (0..)
        .zip(state.items)
        .zip(&state.shard_of_item)
        .filter_map(|((index, item), shard)| too_big_item(state, index, item, *shard))
        .collect();
    found.sort_by_key(|too_big| (std::cmp::Reverse(too_big.cost), too_big.item));
    found
}

/// Returns the item if it exceeds the fair share of its shard.
fn too_big_item(
    state: &RebalanceState<'_>,
    index: u32,
    item: &RebalanceItem,
    shard: u32,
) -> Option<TooBig> {
    let fair = saturated(state.goals[to_index(shard)].fair);
    if !state.accepts(shard) || item.cost <= fair {
        return None;
    }
    let parts = item.cost.div_ceil(fair.max(1));
    let name = &state.shards[to_index(shard)].name;
    let share = times(super::share::hundredths(item.cost.into(), fair.into()));
    Some(TooBig {
        item: index,
        shard,
        cost: item.cost,
        fair,
        parts,
        why: format!(
            "item {index} alone is {share} the fair share of shard {name}; split it into at least \
             {parts} parts or, if it is a single key, isolate it on a shard of its own"
        ),
    })
}

/// Returns shards that stay above their limit or keep items that should leave.
pub(super) fn unresolved(
    state: &RebalanceState<'_>,
    dropped: &[UnscheduledMove],
) -> Vec<Unresolved> {
    let mut stranded = vec![0_u64; state.shards.len()];
    // For each shard: the cost of items that exceed the fair share of every allowed shard.
    let mut too_heavy = vec![0_u128; state.shards.len()];
    // For each shard and set of allowed shards: the item that is easiest to move.
    let mut easiest: BTreeMap<(u32, u32), (u64, u64, u32)> = BTreeMap::new();
    for ((index, item), shard) in (0..).zip(state.items).zip(&state.shard_of_item) {
        let is_stranded = state.is_stranded(index);
        if is_stranded {
            stranded[to_index(*shard)] += 1;
        } else if state.is_too_heavy(index) {
            too_heavy[to_index(*shard)] += u128::from(item.cost);
        }
        if is_stranded || (state.excess(*shard) > 0 && item.cost > 0 && !state.is_too_heavy(index))
        {
            let this = (item.cost, item.bytes, index);
            let best = easiest.entry((*shard, item.allowed.0)).or_insert(this);
            *best = this.min(*best);
        }
    }
    let mut obstacles: BTreeMap<u32, Obstacle> = BTreeMap::new();
    for ((shard, _), (_, _, item)) in easiest {
        let found = obstacle(state, item, dropped);
        obstacles
            .entry(shard)
            .and_modify(|known| *known = found.min(*known))
            .or_insert(found);
    }
    state
        .shard_indices()
        .filter(|shard| state.excess(*shard) > 0 || stranded[to_index(*shard)] > 0)
        .map(|shard| {
            let too_big = too_heavy[to_index(shard)] > state.goals[to_index(shard)].limit;
            let known = obstacles.get(&shard).copied();
            let obstacle = if too_big {
                Obstacle::TooBig
            } else {
                known.unwrap_or(Obstacle::Coarse)
            };
            explain(state, shard, stranded[to_index(shard)], obstacle)
        })
        .collect()
}

/// Returns what prevents a move of the item.
fn obstacle(state: &RebalanceState<'_>, item: u32, dropped: &[UnscheduledMove]) -> Obstacle {
    let source = state.shard_of_item[to_index(item)];
    let cost = u128::from(state.items[to_index(item)].cost);
    let receiver_limit = if state.is_stranded(item) {
        ReceiverLimit::Any
    } else {
        ReceiverLimit::Limit
    };
    let accepts = |shard: &u32| state.accepts(*shard);
    let has_room_for_item = |shard: &u32| has_room(state, item, *shard, receiver_limit);
    if !state.shard_indices().any(|shard| accepts(&shard)) {
        Obstacle::NoShard
    } else if state.shard_indices().any(|shard| has_room_for_item(&shard)) {
        if !state.is_within_byte_limit(item) {
            Obstacle::Bytes
        } else if dropped.iter().any(|draft| draft.from == source)
            || !state
                .shard_indices()
                .filter(has_room_for_item)
                .any(|shard| state.has_space(item, shard))
        {
            Obstacle::Space
        } else {
            Obstacle::Coarse
        }
    } else if receiver_limit == ReceiverLimit::Any
        || state.shard_indices().filter(accepts).any(|shard| {
            shard != source
                && state.load[to_index(shard)] + cost <= state.goals[to_index(shard)].limit
        })
    {
        Obstacle::Constraints
    } else {
        Obstacle::Coarse
    }
}

fn explain(
    state: &RebalanceState<'_>,
    shard: u32,
    stranded: u64,
    obstacle: Obstacle,
) -> Unresolved {
    let goal = &state.goals[to_index(shard)];
    let name = &state.shards[to_index(shard)].name;
    let outcome = match super::share::hundredths(state.load[to_index(shard)], goal.fair) {
        _ if stranded > 0 => format!("keeps {stranded} items that should leave"),
        Some(share) => format!("stays at {}", times(Some(share))),
        None => "keeps items although its fair share is 0".to_owned(),
    };
    let because = match obstacle {
        Obstacle::NoShard => "no shard accepts items",
        Obstacle::Bytes => "the limit on bytes moved is used up",
        Obstacle::Space => "other shards lack the space",
        Obstacle::Constraints => "pins and exclusions leave no shard with room",
        Obstacle::TooBig => "items outweigh its fair share",
        Obstacle::Coarse => "no item fits into the room that other shards have left",
    };
    Unresolved {
        shard,
        excess: saturated(state.excess(shard)),
        stranded,
        obstacle,
        why: format!("shard {name} {outcome}: {because}"),
    }
}

/// Returns a multiple of the fair share, such as `1.8x`.
fn times(hundredths: Option<u64>) -> String {
    let Some(share) = hundredths else {
        return "no share".to_owned();
    };
    let text = format!("{}.{:02}", share / 100, share % 100);
    format!("{}x", text.trim_end_matches('0').trim_end_matches('.'))
}

impl RebalanceMove {
    /// Returns the number of items as text.
    pub(super) fn item_count_text(&self) -> String {
        match self
            .items
            .iter()
            .map(|range| u64::from(range.end - range.start))
            .sum()
        {
            1_u64 => "1 item".to_owned(),
            count => format!("{count} items"),
        }
    }

    /// Returns the reason for the move. `items` describes its items, for example "buckets 12-40".
    #[must_use]
    pub fn explain(&self, shards: &[RebalanceShard], items: &str) -> String {
        let name = |shard: u32| {
            shards
                .get(to_index(shard))
                .map_or("?", |shard| shard.name.as_str())
        };
        let (from, to) = (name(self.from), name(self.to));
        let shares = &self.shares;
        let (to_before, to_after) = (times(shares.to_before), times(shares.to_after));
        let both_after = format!("{} / {to_after}", times(shares.from_after));
        match self.kind {
            MoveKind::Repair => {
                format!(
                    "shard {from} has items that the rules forbid there; moving {items} to {to} gives {both_after}"
                )
            }
            MoveKind::Drain => format!(
                "shard {from} is drained, {to} {to_before}; moving {items} gives {to} {to_after}"
            ),
            MoveKind::Balance => {
                let over = if shares.from_before > Some(100) {
                    " over"
                } else {
                    ""
                };
                let before = times(shares.from_before);
                format!(
                    "shard {from} {before}{over}, {to} {to_before}; moving {items} gives {both_after}"
                )
            }
        }
    }
}
