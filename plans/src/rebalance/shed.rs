//! Reduces the load of shards that exceed their limit: no more than necessary, and with the fewest bytes.
//!
//! First it moves items to shards with room. Then it uses chains of shards, if constraints leave no direct room. If
//! this does not suffice, it moves items to shards that are clearly less loaded, and these pass items on once more.

use super::board::{RebalanceState, at};
use super::chain;
use super::receiver::{ReceiverLimit, Receivers};
use std::cmp::Reverse;

/// The maximum number of rounds. Shards that still exceed their limit then stay so.
const ROUNDS: usize = 2;
/// The number of attempts to find shards for the last items of a source.
const ENDS: usize = 16;

/// An item that may leave its shard, in the order in which items should leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// A lower rank is better. A rank is a class of cost per byte; costs in one class differ by less than 2 %, so that
    /// adjacent items leave together.
    rank: u16,
    pub(super) item: u32,
}

impl Candidate {
    /// Creates the candidate with its rank on its current shard.
    pub(super) fn of(board: &RebalanceState<'_>, item: u32) -> Self {
        let rank = rank(board.items[at(item)].cost, board.extra_bytes(item));
        Self { rank, item }
    }
}

/// Reduces loads until no shard exceeds its limit, or nothing helps any more.
pub(super) fn all(board: &mut RebalanceState<'_>) {
    for _ in 0..ROUNDS {
        pass(board, &[ReceiverLimit::Fair, ReceiverLimit::Limit]);
        if sources(board).is_empty() {
            return;
        }
        chain::relieve(board);
        board.set_levels(&vec![0; board.allowed.len()]);
        if !pass(
            board,
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
pub(super) fn sources(board: &RebalanceState<'_>) -> Vec<u32> {
    let overloaded = |shard: &u32| board.accepts(*shard) && board.excess(*shard) > 0;
    let mut sources: Vec<u32> = board.shard_indices().filter(overloaded).collect();
    sources.sort_by_key(|shard| Reverse(board.ratio_with(*shard, 0)));
    sources
}

/// Returns for each shard of `wanted` its items that may leave, unsorted.
pub(super) fn candidates(board: &RebalanceState<'_>, wanted: &[bool]) -> Vec<Vec<Candidate>> {
    let mut lists = vec![Vec::new(); wanted.len()];
    for ((item, spec), shard) in (0_u32..).zip(board.items).zip(&board.place) {
        if wanted[at(*shard)] && spec.cost > 0 && !board.outweighs(item) {
            lists[at(*shard)].push(Candidate::of(board, item));
        }
    }
    lists
}

/// Reduces the load of every source once. Returns whether any item moved.
fn pass(board: &mut RebalanceState<'_>, bars: &[ReceiverLimit]) -> bool {
    let sources = sources(board);
    let mut wanted = vec![false; board.shards.len()];
    for source in &sources {
        wanted[at(*source)] = true;
    }
    let mut lists = candidates(board, &wanted);
    let mut receivers = Receivers::default();
    let mut any = false;
    for source in sources {
        receivers.next_source();
        let mut list = std::mem::take(&mut lists[at(source)]);
        list.sort_unstable();
        let before = board.load[at(source)];
        Shedding {
            board,
            receivers: &mut receivers,
            bars,
            source,
        }
        .run(&list);
        any |= board.load[at(source)] < before;
    }
    any
}

/// One source whose load is reduced.
struct Shedding<'a, 'b> {
    board: &'a mut RebalanceState<'b>,
    receivers: &'a mut Receivers,
    bars: &'a [ReceiverLimit],
    source: u32,
}

impl Shedding<'_, '_> {
    /// Moves the best items while they fit the excess, then the cheapest last items.
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
        for _ in 0..ENDS {
            let (end, remaining) = self.end(&rest);
            for item in end {
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

    /// Returns the cheaper of two ways to finish: one item that covers the excess; or smaller items, and then one that
    /// covers the rest.
    fn end(&self, rest: &[u32]) -> (Vec<u32>, Vec<u32>) {
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
            self.cover(&large, left)
        } else {
            None
        };
        let all = bytes + last.map_or(0, |last| self.bytes(last));
        if let Some(single) = self.cover(rest, self.excess())
            && (left > 0 && last.is_none() || self.bytes(single) <= all)
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
    fn cover(&self, rest: &[u32], excess: u128) -> Option<u32> {
        let enough = rest
            .iter()
            .copied()
            .filter(|item| self.cost(*item) >= excess);
        enough.min_by_key(|item| (self.bytes(*item), self.cost(*item)))
    }

    fn place(&mut self, item: u32) {
        if let Some(shard) = self.receivers.find(self.board, item, self.bars) {
            self.board.put(item, shard);
        }
    }

    fn excess(&self) -> u128 {
        self.board.excess(self.source)
    }

    fn cost(&self, item: u32) -> u128 {
        u128::from(self.board.items[at(item)].cost)
    }

    fn bytes(&self, item: u32) -> u128 {
        u128::from(self.board.extra_bytes(item))
    }
}

/// The number of bits after the leading one by which costs per byte are distinguished. A class is less than 2 % wide.
const PRECISION: u32 = 6;

/// Returns the class of cost per byte, the best first.
fn rank(cost: u64, bytes: u64) -> u16 {
    let Some(ratio) = (u128::from(cost) << 64).checked_div(u128::from(bytes)) else {
        return 0;
    };
    let zeros = ratio.leading_zeros();
    let digits = ratio.checked_shl(zeros + 1).unwrap_or(0) >> (u128::BITS - PRECISION);
    let class = (u128::from(zeros) << PRECISION) + (1 << PRECISION) - 1 - digits;
    u16::try_from(class + 1).unwrap_or(u16::MAX)
}
