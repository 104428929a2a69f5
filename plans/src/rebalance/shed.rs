//! Reduces the load of shards that exceed their limit: no more than necessary, and with the fewest bytes.
//!
//! First it moves items to shards with room. If shards still exceed their limit, it uses chains of shards ([`chain`]).
//! If this does not suffice, it moves items to shards that are clearly less loaded, although these then exceed their
//! own limit. The next round reduces their load.

use super::chain;
use super::receiver::{ReceiverLimit, Receivers};
use super::state::{RebalanceState, to_index};
use std::cmp::Reverse;

/// The maximum number of rounds. Shards that still exceed their limit then stay so.
const MAX_ROUNDS: usize = 2;
/// The maximum number of choices of the last items that leave a source. If no shard can receive them, others are
/// chosen.
const MAX_CHOICES: usize = 16;

/// An item that may leave its shard, in the order in which items should leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The class of cost per byte; items of a lower rank leave first. Costs per byte in one class differ by less than
    /// 2 %, so that adjacent items leave together.
    rank: u16,
    pub(super) item: u32,
}

impl Candidate {
    /// Creates the candidate with its rank on its current shard.
    pub(super) fn of(state: &RebalanceState<'_>, item: u32) -> Self {
        let rank = rank(state.items[to_index(item)].cost, state.extra_bytes(item));
        Self { rank, item }
    }
}

/// Reduces loads until no shard exceeds its limit, or nothing helps any more.
pub(super) fn reduce_loads(state: &mut RebalanceState<'_>) {
    for _ in 0..MAX_ROUNDS {
        reduce_each_source(state, &[ReceiverLimit::Fair, ReceiverLimit::Limit]);
        if overloaded_shards(state).is_empty() {
            return;
        }
        chain::reduce_loads_by_chains(state);
        state.set_levels(&vec![0; state.allowed.len()]);
        if !reduce_each_source(
            state,
            &[
                ReceiverLimit::Fair,
                ReceiverLimit::Limit,
                ReceiverLimit::Level,
                ReceiverLimit::BelowSource,
            ],
        ) {
            return;
        }
    }
}

/// Returns the shards above their limit, the relatively most loaded first.
pub(super) fn overloaded_shards(state: &RebalanceState<'_>) -> Vec<u32> {
    let overloaded = |shard: &u32| state.accepts(*shard) && state.excess(*shard) > 0;
    let mut sources: Vec<u32> = state.shard_indices().filter(overloaded).collect();
    sources.sort_by_key(|shard| Reverse(state.ratio_with(*shard, 0)));
    sources
}

/// Returns for each shard its items that may leave, unsorted. Only for the shards with a true value in `is_wanted` the
/// list is filled.
pub(super) fn candidates(state: &RebalanceState<'_>, is_wanted: &[bool]) -> Vec<Vec<Candidate>> {
    let mut lists = vec![Vec::new(); is_wanted.len()];
    for ((item, spec), shard) in (0_u32..).zip(state.items).zip(&state.shard_of_item) {
        if is_wanted[to_index(*shard)] && spec.cost > 0 && !state.is_too_heavy(item) {
            lists[to_index(*shard)].push(Candidate::of(state, item));
        }
    }
    lists
}

/// Reduces the load of every source once. Returns whether any item moved.
fn reduce_each_source(state: &mut RebalanceState<'_>, receiver_limits: &[ReceiverLimit]) -> bool {
    let sources = overloaded_shards(state);
    let mut is_wanted = vec![false; state.shards.len()];
    for source in &sources {
        is_wanted[to_index(*source)] = true;
    }
    let mut lists = candidates(state, &is_wanted);
    let mut receivers = Receivers::default();
    let mut any_moved = false;
    for source in sources {
        receivers.next_source();
        let mut list = std::mem::take(&mut lists[to_index(source)]);
        list.sort_unstable();
        let before = state.load[to_index(source)];
        Shedding {
            state,
            receivers: &mut receivers,
            receiver_limits,
            source,
        }
        .run(&list);
        any_moved |= state.load[to_index(source)] < before;
    }
    any_moved
}

/// One source whose load is reduced.
struct Shedding<'a, 'b> {
    state: &'a mut RebalanceState<'b>,
    receivers: &'a mut Receivers,
    receiver_limits: &'a [ReceiverLimit],
    source: u32,
}

impl Shedding<'_, '_> {
    /// Moves the items of the lowest ranks while each costs at most the excess, then the chosen last items.
    fn run(&mut self, list: &[Candidate]) {
        let mut rest = list.iter();
        let mut overshoot = None;
        for candidate in rest.by_ref() {
            if self.excess() == 0 {
                return;
            }
            if self.cost(candidate.item) > self.excess() {
                overshoot = Some(*candidate);
                break;
            }
            self.place(candidate.item);
        }
        let mut rest: Vec<u32> = overshoot
            .iter()
            .chain(rest)
            .map(|candidate| candidate.item)
            .collect();
        for _ in 0..MAX_CHOICES {
            let (last_items, remaining) = self.choose_last_items(&rest);
            for item in last_items {
                if self.excess() > 0 {
                    self.place(item);
                }
            }
            if self.excess() == 0 || remaining.is_empty() {
                return;
            }
            rest = remaining;
        }
    }

    /// Chooses the last items that leave: one item that covers the excess; or smaller items, and then one that covers
    /// the rest of the excess, if this moves fewer bytes. Returns them and the remaining items.
    fn choose_last_items(&self, rest: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut left = self.excess();
        let mut bytes = 0;
        let (mut small, mut large): (Vec<u32>, Vec<u32>) = rest.iter().partition(|item| {
            let fits = left > 0 && self.cost(**item) <= left;
            if fits {
                left -= self.cost(**item);
                bytes += self.bytes(**item);
            }
            fits
        });
        let last = if left > 0 {
            self.covering_item(&large, left)
        } else {
            None
        };
        let total_bytes = bytes + last.map_or(0, |last| self.bytes(last));
        if let Some(single) = self.covering_item(rest, self.excess())
            && (left > 0 && last.is_none() || self.bytes(single) <= total_bytes)
        {
            let remaining = rest
                .iter()
                .copied()
                .filter(|item| *item != single)
                .collect();
            return (vec![single], remaining);
        }
        small.extend(last);
        large.retain(|item| Some(*item) != last);
        (small, large)
    }

    /// Returns the item with the fewest bytes, then the least cost, that covers the excess alone.
    fn covering_item(&self, rest: &[u32], excess: u128) -> Option<u32> {
        let enough = rest
            .iter()
            .copied()
            .filter(|item| self.cost(*item) >= excess);
        enough.min_by_key(|item| (self.bytes(*item), self.cost(*item)))
    }

    fn place(&mut self, item: u32) {
        if let Some(shard) = self.receivers.find(self.state, item, self.receiver_limits) {
            self.state.place_item(item, shard);
        }
    }

    fn excess(&self) -> u128 {
        self.state.excess(self.source)
    }

    fn cost(&self, item: u32) -> u128 {
        u128::from(self.state.items[to_index(item)].cost)
    }

    fn bytes(&self, item: u32) -> u128 {
        u128::from(self.state.extra_bytes(item))
    }
}

/// The number of bits after the leading one by which costs per byte are distinguished. A class is less than 2 % wide.
const PRECISION_BITS: u32 = 6;

/// Returns the class of cost per byte, the best first.
fn rank(cost: u64, bytes: u64) -> u16 {
    let Some(ratio) = (u128::from(cost) << 64).checked_div(u128::from(bytes)) else {
        return 0;
    };
    let zeros = ratio.leading_zeros();
    let digits = ratio.checked_shl(zeros + 1).unwrap_or(0) >> (u128::BITS - PRECISION_BITS);
    let class = (u128::from(zeros) << PRECISION_BITS) + (1 << PRECISION_BITS) - 1 - digits;
    u16::try_from(class + 1).unwrap_or(u16::MAX)
}
