//! Takes load off shards that are over their limit: no more than needed, and what costs the fewest bytes first.
//!
//! Order: into shards with room; then along chains of shards where constraints leave no direct room; then, where
//! even that is not enough, at least onto shards that are clearly less loaded, which in turn shed once more.

use super::board::{RebalanceState, at};
use super::chain;
use super::receiver::{ReceiverLimit, Receivers};
use std::cmp::Reverse;

/// Rounds after which what is still over its limit stays so.
const ROUNDS: usize = 2;
/// Attempts to end one source's shedding when shards for the best ends are not found.
const ENDS: usize = 16;

/// An item that may leave its shard; the order is that in which items should leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// Less is better: classes of cost per byte that differ by less than 2 %, so that neighbours leave together.
    rank: u16,
    pub(super) item: u32,
}

impl Candidate {
    /// The item with its rank for leaving the shard that it is on now.
    pub(super) fn of(board: &RebalanceState<'_>, item: u32) -> Self {
        let rank = rank(board.items[at(item)].cost, board.extra_bytes(item));
        Self { rank, item }
    }
}

/// Sheds until no shard is over its limit, or nothing helps any more.
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

/// Shards over their limit, the relatively most loaded first.
pub(super) fn sources(board: &RebalanceState<'_>) -> Vec<u32> {
    let overloaded = |shard: &u32| board.accepts(*shard) && board.excess(*shard) > 0;
    let mut sources: Vec<u32> = board.shard_indices().filter(overloaded).collect();
    sources.sort_by_key(|shard| Reverse(board.ratio_with(*shard, 0)));
    sources
}

/// Per shard of `wanted`: its items that may leave, in no order yet.
pub(super) fn candidates(board: &RebalanceState<'_>, wanted: &[bool]) -> Vec<Vec<Candidate>> {
    let mut lists = vec![Vec::new(); wanted.len()];
    for ((item, spec), shard) in (0_u32..).zip(board.items).zip(&board.place) {
        if wanted[at(*shard)] && spec.cost > 0 && !board.outweighs(item) {
            lists[at(*shard)].push(Candidate::of(board, item));
        }
    }
    lists
}

/// Lets every source shed once; whether any did.
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

/// One source that sheds.
struct Shedding<'a, 'b> {
    board: &'a mut RebalanceState<'b>,
    receivers: &'a mut Receivers,
    bars: &'a [ReceiverLimit],
    source: u32,
}

impl Shedding<'_, '_> {
    /// Best items first while they fit the excess; then the cheapest end.
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

    /// The cheaper of two ways to end, and the items that are left: one item that covers the excess, or smaller
    /// ones and then one that covers the rest.
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

    /// The item of fewest bytes, then of least cost, that covers an excess by itself.
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

/// Bits of cost per byte that are told apart below the leading one: classes are less than 2 % wide.
const PRECISION: u32 = 6;

/// Class of cost per byte, the best first.
fn rank(cost: u64, bytes: u64) -> u16 {
    let Some(ratio) = (u128::from(cost) << 64).checked_div(u128::from(bytes)) else {
        return 0;
    };
    let zeros = ratio.leading_zeros();
    let digits = ratio.checked_shl(zeros + 1).unwrap_or(0) >> (u128::BITS - PRECISION);
    let class = (u128::from(zeros) << PRECISION) + (1 << PRECISION) - 1 - digits;
    u16::try_from(class + 1).unwrap_or(u16::MAX)
}
