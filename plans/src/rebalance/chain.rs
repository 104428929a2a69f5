//! Reduces the load of a shard although no shard that its items may move to has room: such a shard first passes other
//! items on to a third shard.
//!
//! A breadth-first search finds the shortest chain from an overloaded shard to one with room. Then each shard of the
//! chain, beginning with the last but one, passes on as many items as the shard before it needs. No shard that receives
//! items exceeds its limit.

use super::receiver::{ReceiverLimit, fits};
use super::shed::{self, Candidate};
use super::state::{RebalanceState, to_index};
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of chains for one overloaded shard.
const MAX_CHAINS: usize = 64;

/// Reduces the load of shards that exceed their limit, as far as there are chains.
pub(super) fn reduce_loads_by_chains(state: &mut RebalanceState<'_>) {
    if state.allowed.len() < 2 {
        return;
    }
    let mut graph = HandoverGraph::new(state);
    for source in shed::overloaded_shards(state) {
        let mut chains = 0;
        while chains < MAX_CHAINS
            && state.excess(source) > 0
            && let Some(path) = graph.find_path(state, source)
            && graph.pass_along(state, &path)
        {
            chains += 1;
        }
    }
}

/// A graph of the shards: an edge leads to each shard that may receive an item of the first one.
struct HandoverGraph {
    /// For each shard: the items that may leave. The list also contains items that have left meanwhile.
    candidates: Vec<Vec<Candidate>>,
    /// For each shard and set of allowed shards: the least cost of such an item.
    least_costs: Vec<BTreeMap<u32, u64>>,
    /// For each shard: whether its list of candidates is sorted.
    is_sorted: Vec<bool>,
    /// For each shard: whether it is known that no chain leads from it to a shard with room.
    is_dead_end: Vec<bool>,
}

impl HandoverGraph {
    fn new(state: &RebalanceState<'_>) -> Self {
        let candidates = shed::candidates(state, &vec![true; state.shards.len()]);
        let mut least_costs = vec![BTreeMap::new(); candidates.len()];
        for (list, least_costs) in candidates.iter().zip(&mut least_costs) {
            for candidate in list {
                record_least_cost(least_costs, state, candidate.item);
            }
        }
        let no_shard = vec![false; candidates.len()];
        Self {
            candidates,
            least_costs,
            is_sorted: no_shard.clone(),
            is_dead_end: no_shard,
        }
    }

    /// Returns the shortest chain from `source` to a shard that has room for an item of the shard before it.
    fn find_path(&mut self, state: &RebalanceState<'_>, source: u32) -> Option<Vec<u32>> {
        if self.is_dead_end[to_index(source)] {
            return None;
        }
        let mut previous: BTreeMap<u32, u32> = BTreeMap::new();
        let mut visited_sets = vec![false; state.allowed.len()];
        let mut unreached: Vec<u32> = state
            .shard_indices()
            .filter(|shard| *shard != source && state.accepts(*shard))
            .collect();
        let mut queue = VecDeque::from([source]);
        while let Some(shard) = queue.pop_front() {
            for (set, cost) in &self.least_costs[to_index(shard)] {
                if unreached.is_empty()
                    || std::mem::replace(&mut visited_sets[to_index(*set)], true)
                {
                    continue;
                }
                let found =
                    unreached.extract_if(.., |next| state.allowed[to_index(*set)].contains(*next));
                for next in found {
                    previous.insert(next, shard);
                    let after = state.load[to_index(next)] + u128::from(*cost);
                    if after <= state.goals[to_index(next)].limit {
                        return Some(path_to(&previous, next));
                    }
                    queue.push_back(next);
                }
            }
        }
        for shard in previous.into_keys().chain([source]) {
            self.is_dead_end[to_index(shard)] = true;
        }
        None
    }

    /// Passes items on along the chain. Returns whether its first shard lost load. If not, nothing is changed.
    fn pass_along(&mut self, state: &mut RebalanceState<'_>, path: &[u32]) -> bool {
        let Some(source) = path.first() else {
            return false;
        };
        let (load, need) = (state.load[to_index(*source)], state.excess(*source));
        let mut moved_items = Vec::new();
        for link in path.windows(2).rev() {
            let &[from, to] = link else {
                continue;
            };
            let room = if from == *source { 0 } else { need };
            moved_items.extend(self.pass_on(state, (from, to), room));
        }
        let lost_load = state.load[to_index(*source)] < load;
        if !lost_load {
            for (item, from) in moved_items.into_iter().rev() {
                state.place_item(item, from);
                self.add_candidate(state, item, from);
            }
        }
        lost_load
    }

    /// Moves items from one shard to the next until the load of the first is `room` below its limit. Returns the moved
    /// items with their old shards.
    fn pass_on(
        &mut self,
        state: &mut RebalanceState<'_>,
        (from, to): (u32, u32),
        room: u128,
    ) -> Vec<(u32, u32)> {
        let mut list = std::mem::take(&mut self.candidates[to_index(from)]);
        if !std::mem::replace(&mut self.is_sorted[to_index(from)], true) {
            list.sort_unstable();
            list.dedup();
        }
        let mut moved = Vec::new();
        for Candidate { item, .. } in &list {
            if state.load[to_index(from)] + room <= state.goals[to_index(from)].limit {
                break;
            }
            if state.shard_of_item[to_index(*item)] == from
                && fits(state, *item, to, ReceiverLimit::Limit)
            {
                state.place_item(*item, to);
                self.add_candidate(state, *item, to);
                moved.push((*item, from));
            }
        }
        if !moved.is_empty() {
            list.retain(|candidate| state.shard_of_item[to_index(candidate.item)] == from);
        }
        self.candidates[to_index(from)] = list;
        moved
    }

    /// Records an item that was placed on the shard.
    fn add_candidate(&mut self, state: &RebalanceState<'_>, item: u32, shard: u32) {
        self.candidates[to_index(shard)].push(Candidate::of(state, item));
        self.is_sorted[to_index(shard)] = false;
        record_least_cost(&mut self.least_costs[to_index(shard)], state, item);
    }
}

/// Updates the least cost for the item's set of allowed shards.
fn record_least_cost(least_costs: &mut BTreeMap<u32, u64>, state: &RebalanceState<'_>, item: u32) {
    let item = &state.items[to_index(item)];
    least_costs
        .entry(item.allowed.0)
        .and_modify(|cost| *cost = item.cost.min(*cost))
        .or_insert(item.cost);
}

/// Returns the chain that ends at `last`, in order.
fn path_to(previous: &BTreeMap<u32, u32>, last: u32) -> Vec<u32> {
    let mut path = vec![last];
    let mut shard = last;
    while let Some(shard_before) = previous.get(&shard) {
        path.push(*shard_before);
        shard = *shard_before;
    }
    path.reverse();
    path
}
