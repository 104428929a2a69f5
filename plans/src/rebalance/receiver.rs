//! Chooses the shard that receives an item.
//!
//! A shard that already receives items from the same source is preferred, so that there are few moves; then the shard
//! with the most room.

use super::board::{RebalanceState, at};
use std::collections::BTreeMap;

/// How full a shard may become when it receives an item, in the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReceiverLimit {
    /// Up to its fair share.
    Fair,
    /// Up to its limit.
    Limit,
    /// Up to the level at which all shards that are allowed for the item have equal loads.
    Level,
    /// Clearly less loaded than the current shard of the item.
    BelowSource,
    /// Without a limit, because the item must be placed.
    Any,
}

/// The number of recent shards of one source that are tried first.
const RECENT: usize = 8;

/// What was learned while items of one pass were placed.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    /// The shards that received items of the current source, the latest last.
    recent: Vec<u32>,
    /// For each limit and set of allowed shards: cost and bytes of an item for which no shard was found.
    failed: BTreeMap<(ReceiverLimit, u32), (u64, u64)>,
}

impl Receivers {
    /// Begins a new source.
    pub(super) fn next_source(&mut self) {
        self.recent.clear();
        self.failed
            .retain(|(bar, _), _| *bar <= ReceiverLimit::Limit);
    }

    /// Returns the shard that should receive the item, by the first of `bars` that any shard satisfies.
    pub(super) fn find(
        &mut self,
        board: &RebalanceState<'_>,
        item: u32,
        bars: &[ReceiverLimit],
    ) -> Option<u32> {
        let found = bars.iter().find_map(|bar| self.by(board, item, *bar))?;
        if self.recent.last() != Some(&found) {
            self.recent.retain(|shard| *shard != found);
            if self.recent.len() == RECENT {
                self.recent.remove(0);
            }
            self.recent.push(found);
        }
        Some(found)
    }

    fn by(&mut self, board: &RebalanceState<'_>, item: u32, bar: ReceiverLimit) -> Option<u32> {
        if !board.within_bytes(item) {
            return None;
        }
        let fits = |shard: &u32| fits(board, item, *shard, bar);
        if bar <= ReceiverLimit::Level
            && let Some(shard) = self.recent.iter().rev().copied().find(fits)
        {
            return Some(shard);
        }
        let (cost, bytes) = (board.items[at(item)].cost, board.items[at(item)].bytes);
        let class = (bar, board.items[at(item)].allowed.0);
        if self
            .failed
            .get(&class)
            .is_some_and(|(c, b)| cost >= *c && bytes >= *b)
        {
            return None;
        }
        let candidates = board.shard_indices().filter(fits);
        let found = match bar {
            ReceiverLimit::Fair => candidates.min_by_key(|shard| {
                let goal = &board.goals[at(*shard)];
                std::cmp::Reverse(goal.fair - board.load[at(*shard)])
            }),
            ReceiverLimit::Limit => candidates.min_by_key(|shard| {
                let goal = &board.goals[at(*shard)];
                std::cmp::Reverse(goal.limit - board.load[at(*shard)])
            }),
            ReceiverLimit::Level | ReceiverLimit::BelowSource | ReceiverLimit::Any => {
                candidates.min_by_key(|shard| board.ratio_with(*shard, cost))
            }
        };
        if found.is_none() {
            // If the load does not fit, items with fewer bytes do not fit either.
            let loaded = !board
                .shard_indices()
                .any(|shard| has_room(board, item, shard, bar));
            self.failed
                .insert(class, (cost, if loaded { 0 } else { bytes }));
        }
        found
    }
}

/// Returns whether the shard may receive the item and stays below the limit `bar`.
pub(super) fn fits(board: &RebalanceState<'_>, item: u32, shard: u32, bar: ReceiverLimit) -> bool {
    has_room(board, item, shard, bar) && board.has_space(item, shard) && board.within_bytes(item)
}

/// Does the same without regard to bytes.
pub(super) fn has_room(
    board: &RebalanceState<'_>,
    item: u32,
    shard: u32,
    bar: ReceiverLimit,
) -> bool {
    let source = board.place[at(item)];
    let cost = board.items[at(item)].cost;
    let after = board.load[at(shard)] + u128::from(cost);
    let goal = &board.goals[at(shard)];
    let below_source = || {
        let (after, source) = (board.ratio_with(shard, cost), board.ratio_with(source, 0));
        after.clearly_below(source, board.limits.threshold_ppm)
    };
    let under = || match bar {
        ReceiverLimit::Fair => after <= goal.fair,
        ReceiverLimit::Limit => after <= goal.limit,
        ReceiverLimit::Level => {
            let level = board.levels[at(board.items[at(item)].allowed.0)];
            board.ratio_with(shard, cost) <= level && (board.stranded(item) || below_source())
        }
        ReceiverLimit::BelowSource => below_source(),
        ReceiverLimit::Any => true,
    };
    shard != source && board.accepts(shard) && board.allows(item, shard) && under()
}
