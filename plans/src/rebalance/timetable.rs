//! Schedules moves in waves that can run one after the other within the limits.
//!
//! A move is scheduled when both of its shards have a free lane, its target has the space without counting on later
//! moves, and it improves the current balance, unless its items must leave anyway.

use super::board::{RebalanceState, at};
use super::gather::UnscheduledMove;
use super::share::{LoadRatio, ShardGoal, hundredths};
use super::types::{MoveKind, MoveShares, RebalanceLimits, RebalanceMove, RebalanceShard};
use std::collections::BTreeMap;

/// The moves that can be carried out, in order, and those that cannot.
pub(super) struct Timetable {
    pub(super) moves: Vec<RebalanceMove>,
    /// Moves that wait for each other's space, or that would be useful only after other moves.
    pub(super) dropped: Vec<UnscheduledMove>,
}

/// Places every move in the first wave in which it can run.
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

/// The state of the fleet when the waves so far are complete.
struct Fleet<'a> {
    shards: &'a [RebalanceShard],
    goals: &'a [ShardGoal],
    load: Vec<u128>,
    /// The bytes of each shard, with those that arrive in the current wave and those that leave in it.
    held: Vec<u128>,
    /// The bytes of each shard above its space as long as nothing leaves.
    demand: Vec<u128>,
    /// For each shard: the completed moves from it, and their bytes.
    left: Vec<Vec<(usize, u128)>>,
}

impl<'a> Fleet<'a> {
    /// Returns the current state of the fleet.
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

    /// Returns whether the greater relative load of the two shards decreases.
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

    /// Returns the first moves from the shard that must be complete so that everything that has arrived fits.
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
