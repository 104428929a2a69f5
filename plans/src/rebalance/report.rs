//! Describes the loads of the fleet, items that no move can fit, and the reason for each move.

use super::board::{RebalanceState, at};
use super::gather::UnscheduledMove;
use super::receiver::{ReceiverLimit, has_room};
use super::types::{
    MoveKind, Obstacle, RebalanceItem, RebalanceMove, RebalanceShard, ShardBalance, TooBig,
    Unresolved,
};
use std::collections::BTreeMap;

/// Converts a sum for a report.
fn number(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Returns the load of every shard.
pub(super) fn balances(board: &RebalanceState<'_>) -> Vec<ShardBalance> {
    let mut items = vec![0; board.shards.len()];
    for shard in &board.place {
        items[at(*shard)] += 1;
    }
    let balance = |shard: u32| {
        let goal = &board.goals[at(shard)];
        ShardBalance {
            shard,
            cost: number(board.load[at(shard)]),
            fair: number(goal.fair),
            limit: number(goal.limit),
            bytes: number(board.held[at(shard)]),
            items: items[at(shard)],
        }
    };
    board.shard_indices().map(balance).collect()
}

/// Returns the items that exceed the fair share of their shard, the heaviest first.
pub(super) fn too_big(board: &RebalanceState<'_>) -> Vec<TooBig> {
    let mut found: Vec<TooBig> = (0..)
        .zip(board.items)
        .zip(&board.place)
        .filter_map(|((index, item), shard)| heavy(board, index, item, *shard))
        .collect();
    found.sort_by_key(|too_big| (std::cmp::Reverse(too_big.cost), too_big.item));
    found
}

fn heavy(
    board: &RebalanceState<'_>,
    index: u32,
    item: &RebalanceItem,
    shard: u32,
) -> Option<TooBig> {
    let fair = number(board.goals[at(shard)].fair);
    if !board.accepts(shard) || item.cost <= fair {
        return None;
    }
    let parts = item.cost.div_ceil(fair.max(1));
    let name = &board.shards[at(shard)].name;
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
    board: &RebalanceState<'_>,
    dropped: &[UnscheduledMove],
) -> Vec<Unresolved> {
    let mut stranded = vec![0_u64; board.shards.len()];
    let mut heavy = vec![0_u128; board.shards.len()];
    // For each shard and set of allowed shards: the item that is easiest to move.
    let mut easiest: BTreeMap<(u32, u32), (u64, u64, u32)> = BTreeMap::new();
    for ((index, item), shard) in (0..).zip(board.items).zip(&board.place) {
        let stays = board.stranded(index);
        if stays {
            stranded[at(*shard)] += 1;
        } else if board.outweighs(index) {
            heavy[at(*shard)] += u128::from(item.cost);
        }
        if stays || (board.excess(*shard) > 0 && item.cost > 0 && !board.outweighs(index)) {
            let this = (item.cost, item.bytes, index);
            let best = easiest.entry((*shard, item.allowed.0)).or_insert(this);
            *best = this.min(*best);
        }
    }
    let mut obstacles: BTreeMap<u32, Obstacle> = BTreeMap::new();
    for ((shard, _), (_, _, item)) in easiest {
        let found = obstacle(board, item, dropped);
        obstacles
            .entry(shard)
            .and_modify(|known| *known = found.min(*known))
            .or_insert(found);
    }
    board
        .shard_indices()
        .filter(|shard| board.excess(*shard) > 0 || stranded[at(*shard)] > 0)
        .map(|shard| {
            let too_big = heavy[at(shard)] > board.goals[at(shard)].limit;
            let known = obstacles.get(&shard).copied();
            let obstacle = if too_big {
                Obstacle::TooBig
            } else {
                known.unwrap_or(Obstacle::Coarse)
            };
            explain(board, shard, stranded[at(shard)], obstacle)
        })
        .collect()
}

/// Returns what prevents a move of the item.
fn obstacle(board: &RebalanceState<'_>, item: u32, dropped: &[UnscheduledMove]) -> Obstacle {
    let place = board.place[at(item)];
    let cost = u128::from(board.items[at(item)].cost);
    let bar = if board.stranded(item) {
        ReceiverLimit::Any
    } else {
        ReceiverLimit::Limit
    };
    let open = |shard: &u32| board.accepts(*shard);
    let room = |shard: &u32| has_room(board, item, *shard, bar);
    if !board.shard_indices().any(|shard| open(&shard)) {
        Obstacle::NoShard
    } else if board.shard_indices().any(|shard| room(&shard)) {
        if !board.within_bytes(item) {
            Obstacle::Bytes
        } else if dropped.iter().any(|draft| draft.from == place)
            || !board
                .shard_indices()
                .filter(room)
                .any(|shard| board.has_space(item, shard))
        {
            Obstacle::Space
        } else {
            Obstacle::Coarse
        }
    } else if bar == ReceiverLimit::Any
        || board.shard_indices().filter(open).any(|shard| {
            shard != place && board.load[at(shard)] + cost <= board.goals[at(shard)].limit
        })
    {
        Obstacle::Constraints
    } else {
        Obstacle::Coarse
    }
}

fn explain(
    board: &RebalanceState<'_>,
    shard: u32,
    stranded: u64,
    obstacle: Obstacle,
) -> Unresolved {
    let goal = &board.goals[at(shard)];
    let name = &board.shards[at(shard)].name;
    let state = match super::share::hundredths(board.load[at(shard)], goal.fair) {
        _ if stranded > 0 => format!("keeps {stranded} items that should leave"),
        Some(share) => format!("stays at {}", times(Some(share))),
        None => "keeps items although it should carry nothing".to_owned(),
    };
    let because = match obstacle {
        Obstacle::NoShard => "no shard accepts items",
        Obstacle::Bytes => "the limit on bytes moved is used up",
        Obstacle::Space => "other shards lack the space",
        Obstacle::Constraints => "pins and exclusions leave no shard with room",
        Obstacle::TooBig => "items outweigh its fair share",
        Obstacle::Coarse => "no item fits the room that is left elsewhere",
    };
    Unresolved {
        shard,
        excess: number(board.excess(shard)),
        stranded,
        obstacle,
        why: format!("shard {name} {state}: {because}"),
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
    pub(super) fn count(&self) -> String {
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

    /// Returns the reason for the move; `what` describes its items: "buckets 12-40".
    #[must_use]
    pub fn explain(&self, shards: &[RebalanceShard], what: &str) -> String {
        let name = |shard: u32| {
            shards
                .get(at(shard))
                .map_or("?", |shard| shard.name.as_str())
        };
        let (from, to) = (name(self.from), name(self.to));
        let shares = &self.shares;
        let (to_before, to_after) = (times(shares.to_before), times(shares.to_after));
        let both = format!("{} / {to_after}", times(shares.from_after));
        match self.kind {
            MoveKind::Repair => {
                format!(
                    "shard {from} holds items that it may not; moving {what} to {to} gives {both}"
                )
            }
            MoveKind::Drain => format!(
                "shard {from} is drained, {to} {to_before}; moving {what} gives {to} {to_after}"
            ),
            MoveKind::Balance => {
                let verb = if shares.from_before > Some(100) {
                    " over"
                } else {
                    ""
                };
                let before = times(shares.from_before);
                format!("shard {from} {before}{verb}, {to} {to_before}; moving {what} gives {both}")
            }
        }
    }
}
