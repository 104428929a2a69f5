//! Puts moves into waves that can run one after the other within the limits.
//!
//! A move is due when both its shards have a free lane, its target has the space without what is still to leave,
//! and it improves the balance as it then is, unless its items have to leave anyway.

use super::board::{RebalanceState, at};
use super::gather::UnscheduledMove;
use super::share::{LoadRatio, ShardGoal, hundredths};
use super::types::{MoveKind, MoveShares, RebalanceLimits, RebalanceMove, RebalanceShard};
use std::collections::BTreeMap;

/// What can be done, in order, and what cannot.
pub(super) struct Timetable {
    pub(super) moves: Vec<RebalanceMove>,
    /// Moves that wait for each other's space, or that others would have had to make worthwhile.
    pub(super) dropped: Vec<UnscheduledMove>,
}

/// Places every draft in the first wave where it is due.
pub(super) fn build(
    board: &RebalanceState<'_>,
    drafts: Vec<UnscheduledMove>,
    limits: &RebalanceLimits,
) -> Timetable {
    let mut fleet = Fleet::new(board);
    let mut moves = Vec::with_capacity(drafts.len());
    let mut pending = drafts;
    let mut wave = 0;
    loop {
        let mut lanes = Lanes::new(limits);
        let (mut freed, mut waiting) = (Vec::new(), Vec::new());
        for draft in pending {
            if lanes.free(&draft) && fleet.due(&draft) {
                lanes.take(&draft);
                freed.push((draft.from, moves.len(), draft.bytes));
                moves.push(fleet.start(draft, wave));
            } else {
                waiting.push(draft);
            }
        }
        if freed.is_empty() || waiting.is_empty() {
            return Timetable {
                moves,
                dropped: waiting,
            };
        }
        for (shard, index, bytes) in freed {
            fleet.held[at(shard)] -= bytes;
            fleet.left[at(shard)].push((index, bytes));
        }
        pending = waiting;
        wave += 1;
    }
}

/// What one wave uses.
struct Lanes {
    per_shard: u32,
    total: u32,
    used: BTreeMap<u32, u32>,
}

impl Lanes {
    fn new(limits: &RebalanceLimits) -> Self {
        let (per_shard, total) = (limits.per_shard.max(1), limits.total.max(1));
        Self {
            per_shard,
            total,
            used: BTreeMap::new(),
        }
    }

    fn free(&self, draft: &UnscheduledMove) -> bool {
        let free = |shard| {
            self.used
                .get(&shard)
                .is_none_or(|used| *used < self.per_shard)
        };
        self.total > 0 && free(draft.from) && free(draft.to)
    }

    fn take(&mut self, draft: &UnscheduledMove) {
        self.total -= 1;
        for shard in [draft.from, draft.to] {
            *self.used.entry(shard).or_default() += 1;
        }
    }
}

/// The fleet as it is when the waves so far are complete.
struct Fleet<'a> {
    shards: &'a [RebalanceShard],
    goals: &'a [ShardGoal],
    load: Vec<u128>,
    /// Bytes per shard, with those that come in the present wave and those that leave in it.
    held: Vec<u128>,
    /// Bytes per shard that are above its space as long as nothing leaves.
    demand: Vec<u128>,
    /// Per shard: moves out of it that are complete, and their bytes.
    left: Vec<Vec<(usize, u128)>>,
}

impl<'a> Fleet<'a> {
    /// The fleet as it is today.
    fn new(board: &'a RebalanceState<'a>) -> Self {
        let count = board.shards.len();
        let (mut load, mut held) = (vec![0; count], vec![0; count]);
        for item in board.items {
            load[at(item.shard)] += u128::from(item.cost);
            held[at(item.shard)] += u128::from(item.bytes);
        }
        Self {
            shards: board.shards,
            goals: &board.goals,
            load,
            demand: held.clone(),
            held,
            left: vec![Vec::new(); count],
        }
    }

    fn due(&self, draft: &UnscheduledMove) -> bool {
        let space = self.shards[at(draft.to)].space.map(u128::from);
        let fits = space.is_none_or(|space| self.held[at(draft.to)] + draft.bytes <= space);
        fits && (draft.kind != MoveKind::Balance || self.improves(draft))
    }

    /// Whether the greater relative load of the two shards falls.
    fn improves(&self, draft: &UnscheduledMove) -> bool {
        let (from, to) = (at(draft.from), at(draft.to));
        let ratio = |shard: usize, load| LoadRatio::new(load, self.goals[shard].weight);
        let before = ratio(from, self.load[from]).max(ratio(to, self.load[to]));
        let after =
            ratio(from, self.load[from] - draft.cost).max(ratio(to, self.load[to] + draft.cost));
        after < before
    }

    fn start(&mut self, draft: UnscheduledMove, wave: u32) -> RebalanceMove {
        let (from, to) = (at(draft.from), at(draft.to));
        let times = |shard: usize, load| hundredths(load, self.goals[shard].fair);
        let shares = MoveShares {
            from_before: times(from, self.load[from]),
            from_after: times(from, self.load[from] - draft.cost),
            to_before: times(to, self.load[to]),
            to_after: times(to, self.load[to] + draft.cost),
        };
        self.load[from] -= draft.cost;
        self.load[to] += draft.cost;
        self.held[to] += draft.bytes;
        self.demand[to] += draft.bytes;
        let mut made = RebalanceMove {
            from: draft.from,
            to: draft.to,
            items: draft.items,
            kind: draft.kind,
            cost: u64::try_from(draft.cost).unwrap_or(u64::MAX),
            bytes: u64::try_from(draft.bytes).unwrap_or(u64::MAX),
            after: self.waits_for(to),
            wave,
            shares,
            why: String::new(),
        };
        made.why = made.explain(self.shards, &made.count());
        made
    }

    /// The moves out of the shard, the first ones, without which all that came so far would not fit.
    fn waits_for(&self, shard: usize) -> Vec<usize> {
        let Some(space) = self.shards[shard].space else {
            return Vec::new();
        };
        let mut missing = self.demand[shard].saturating_sub(u128::from(space));
        let mut after = Vec::new();
        for (index, bytes) in &self.left[shard] {
            if missing == 0 {
                break;
            }
            if *bytes > 0 {
                missing = missing.saturating_sub(*bytes);
                after.push(*index);
            }
        }
        after
    }
}
