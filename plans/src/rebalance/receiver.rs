//! Chooses the shard that receives an item.
//!
//! A shard that already receives items from the same source is preferred, so that there are few moves; then the shard
//! with the most room.

use super::state::{RebalanceState, to_index};
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
const MAX_RECENT: usize = 8;

/// Knowledge from earlier searches for receiving shards, which makes later searches faster.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    /// The shards that received items of the current source, the latest last.
    recent: Vec<u32>,
    /// For each limit and set of allowed shards: cost and bytes of an item for which no shard was found.
    failed: BTreeMap<(ReceiverLimit, u32), (u64, u64)>,
}

impl Receivers {
    /// Begins the search for receivers of another source.
    pub(super) fn next_source(&mut self) {
        self.recent.clear();
        self.failed
            .retain(|(receiver_limit, _), _| *receiver_limit <= ReceiverLimit::Limit);
    }

    /// Returns the shard that should receive the item, by the first of `receiver_limits` that any shard satisfies.
    pub(super) fn find(
        &mut self,
        state: &RebalanceState<'_>,
        item: u32,
        receiver_limits: &[ReceiverLimit],
    ) -> Option<u32> {
        let found = receiver_limits
            .iter()
            .find_map(|receiver_limit| self.find_within(state, item, *receiver_limit))?;
        if self.recent.last() != Some(&found) {
            self.recent.retain(|shard| *shard != found);
            if self.recent.len() == MAX_RECENT {
                self.recent.remove(0);
            }
            self.recent.push(found);
        }
        Some(found)
    }

    fn find_within(
        &mut self,
        state: &RebalanceState<'_>,
        item: u32,
        receiver_limit: ReceiverLimit,
    ) -> Option<u32> {
        if !state.is_within_byte_limit(item) {
            return None;
        }
        let fits = |shard: &u32| fits(state, item, *shard, receiver_limit);
        if receiver_limit <= ReceiverLimit::Level
            && let Some(shard) = self.recent.iter().rev().copied().find(fits)
        {
            return Some(shard);
        }
        let (cost, bytes) = (
            state.items[to_index(item)].cost,
            state.items[to_index(item)].bytes,
        );
        let class = (receiver_limit, state.items[to_index(item)].allowed.0);
        if self
            .failed
            .get(&class)
            .is_some_and(|(c, b)| cost >= *c && bytes >= *b)
        {
            return None;
        }
        let candidates = state.shard_indices().filter(fits);
        let found = match receiver_limit {
            ReceiverLimit::Fair => candidates.min_by_key(|shard| {
                let goal = &state.goals[to_index(*shard)];
                std::cmp::Reverse(goal.fair - state.load[to_index(*shard)])
            }),
            ReceiverLimit::Limit => candidates.min_by_key(|shard| {
                let goal = &state.goals[to_index(*shard)];
                std::cmp::Reverse(goal.limit - state.load[to_index(*shard)])
            }),
            ReceiverLimit::Level | ReceiverLimit::BelowSource | ReceiverLimit::Any => {
                candidates.min_by_key(|shard| state.ratio_with(*shard, cost))
            }
        };
        if found.is_none() {
            // If the load does not fit, items with fewer bytes do not fit either.
            let no_room_for_load = !state
                .shard_indices()
                .any(|shard| has_room(state, item, shard, receiver_limit));
            self.failed
                .insert(class, (cost, if no_room_for_load { 0 } else { bytes }));
        }
        found
    }
}

/// Returns whether the shard may receive the item, its load stays below the limit, and the bytes permit it.
pub(super) fn fits(
    state: &RebalanceState<'_>,
    item: u32,
    shard: u32,
    receiver_limit: ReceiverLimit,
) -> bool {
    has_room(state, item, shard, receiver_limit)
        && state.has_space(item, shard)
        && state.is_within_byte_limit(item)
}

/// Returns whether the shard may receive the item and its load stays below the limit, without regard to bytes.
pub(super) fn has_room(
    state: &RebalanceState<'_>,
    item: u32,
    shard: u32,
    receiver_limit: ReceiverLimit,
) -> bool {
    let source = state.shard_of_item[to_index(item)];
    let cost = state.items[to_index(item)].cost;
    let after = state.load[to_index(shard)] + u128::from(cost);
    let goal = &state.goals[to_index(shard)];
    let below_source = || {
        let (after, source) = (state.ratio_with(shard, cost), state.ratio_with(source, 0));
        after.clearly_below(source, state.limits.threshold_ppm)
    };
    let is_within_limit = || match receiver_limit {
        ReceiverLimit::Fair => after <= goal.fair,
        ReceiverLimit::Limit => after <= goal.limit,
        ReceiverLimit::Level => {
            let level = state.levels[to_index(state.items[to_index(item)].allowed.0)];
            state.ratio_with(shard, cost) <= level && (state.is_stranded(item) || below_source())
        }
        ReceiverLimit::BelowSource => below_source(),
        ReceiverLimit::Any => true,
    };
    shard != source && state.accepts(shard) && state.allows(item, shard) && is_within_limit()
}
