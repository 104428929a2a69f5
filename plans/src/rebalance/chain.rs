//! Makes room if constraints leave none: a shard passes items on to other shards, so that it can receive others.
//!
//! A breadth-first search finds the shortest chain from an overloaded shard to one with room. Then each shard of the
//! chain, beginning with the last, passes on as much as the one before it needs. No shard of the chain exceeds its
//! limit.

use super::board::{RebalanceState, at};
use super::receiver::{ReceiverLimit, fits};
use super::shed::{self, Candidate};
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of chains for one overloaded shard.
const CHAINS: usize = 64;

/// Reduces the load of shards that exceed their limit, as far as there are chains.
pub(super) fn relieve(board: &mut RebalanceState<'_>) {
    if board.allowed.len() < 2 {
        return;
    }
    let mut network = HandoverGraph::new(board);
    for source in shed::sources(board) {
        let mut chains = 0;
        while chains < CHAINS
            && board.excess(source) > 0
            && let Some(path) = network.path(board, source)
            && network.push(board, &path)
        {
            chains += 1;
        }
    }
}

/// The items that could be passed on, for each shard.
struct HandoverGraph {
    /// For each shard: the items that may leave. Items that have left are still listed.
    lists: Vec<Vec<Candidate>>,
    /// For each shard and set of allowed shards: the least cost of such an item.
    least: Vec<BTreeMap<u32, u64>>,
    /// For each shard: whether its list is sorted.
    sorted: Vec<bool>,
    /// Shards from which no chain leads to a shard with room.
    closed: Vec<bool>,
}

impl HandoverGraph {
    fn new(board: &RebalanceState<'_>) -> Self {
        let lists = shed::candidates(board, &vec![true; board.shards.len()]);
        let mut least = vec![BTreeMap::new(); lists.len()];
        for (list, least) in lists.iter().zip(&mut least) {
            for candidate in list {
                note(least, board, candidate.item);
            }
        }
        let none = vec![false; lists.len()];
        Self {
            lists,
            least,
            sorted: none.clone(),
            closed: none,
        }
    }

    /// Returns the shortest chain from `source` to a shard that has room for an item of the shard before it.
    fn path(&mut self, board: &RebalanceState<'_>, source: u32) -> Option<Vec<u32>> {
        if self.closed[at(source)] {
            return None;
        }
        let mut before: BTreeMap<u32, u32> = BTreeMap::new();
        let mut visited = vec![false; board.allowed.len()];
        let mut unknown: Vec<u32> = board
            .shard_indices()
            .filter(|shard| *shard != source && board.accepts(*shard))
            .collect();
        let mut queue = VecDeque::from([source]);
        while let Some(shard) = queue.pop_front() {
            for (set, cost) in &self.least[at(shard)] {
                if unknown.is_empty() || std::mem::replace(&mut visited[at(*set)], true) {
                    continue;
                }
                let found = unknown.extract_if(.., |next| board.allowed[at(*set)].contains(*next));
                for next in found {
                    before.insert(next, shard);
                    let after = board.load[at(next)] + u128::from(*cost);
                    if after <= board.goals[at(next)].limit {
                        return Some(walk_back(&before, next));
                    }
                    queue.push_back(next);
                }
            }
        }
        for shard in before.into_keys().chain([source]) {
            self.closed[at(shard)] = true;
        }
        None
    }

    /// Passes items on along the chain. Returns whether its first shard lost load. If not, nothing is changed.
    fn push(&mut self, board: &mut RebalanceState<'_>, path: &[u32]) -> bool {
        let Some(source) = path.first() else {
            return false;
        };
        let (load, need) = (board.load[at(*source)], board.excess(*source));
        let mut journal = Vec::new();
        for link in path.windows(2).rev() {
            let &[from, to] = link else {
                continue;
            };
            let keep = if from == *source { 0 } else { need };
            journal.extend(self.hand_on(board, (from, to), keep));
        }
        let relieved = board.load[at(*source)] < load;
        if !relieved {
            for (item, from) in journal.into_iter().rev() {
                board.put(item, from);
                self.add(board, item, from);
            }
        }
        relieved
    }

    /// Moves items from one shard to the next until the first has `keep` room. Returns the moved items with their old
    /// shards.
    fn hand_on(
        &mut self,
        board: &mut RebalanceState<'_>,
        (from, to): (u32, u32),
        keep: u128,
    ) -> Vec<(u32, u32)> {
        let mut list = std::mem::take(&mut self.lists[at(from)]);
        if !std::mem::replace(&mut self.sorted[at(from)], true) {
            list.sort_unstable();
            list.dedup();
        }
        let mut moved = Vec::new();
        for Candidate { item, .. } in &list {
            if board.load[at(from)] + keep <= board.goals[at(from)].limit {
                break;
            }
            if board.place[at(*item)] == from && fits(board, *item, to, ReceiverLimit::Limit) {
                board.put(*item, to);
                self.add(board, *item, to);
                moved.push((*item, from));
            }
        }
        if !moved.is_empty() {
            list.retain(|candidate| board.place[at(candidate.item)] == from);
        }
        self.lists[at(from)] = list;
        moved
    }

    /// Records an item that was placed on the shard.
    fn add(&mut self, board: &RebalanceState<'_>, item: u32, shard: u32) {
        self.lists[at(shard)].push(Candidate::of(board, item));
        self.sorted[at(shard)] = false;
        note(&mut self.least[at(shard)], board, item);
    }
}

/// Records the least cost for each set of allowed shards.
fn note(least: &mut BTreeMap<u32, u64>, board: &RebalanceState<'_>, item: u32) {
    let item = &board.items[at(item)];
    least
        .entry(item.allowed.0)
        .and_modify(|cost| *cost = item.cost.min(*cost))
        .or_insert(item.cost);
}

/// Returns the chain that ends at `last`, in order.
fn walk_back(before: &BTreeMap<u32, u32>, last: u32) -> Vec<u32> {
    let mut path = vec![last];
    let mut shard = last;
    while let Some(previous) = before.get(&shard) {
        path.push(*previous);
        shard = *previous;
    }
    path.reverse();
    path
}
