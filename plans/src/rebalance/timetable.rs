//! Schedules moves in waves: the moves of one wave run at the same time, and the waves run one after the other.
//!
//! A move gets into a wave if the limits permit one more move on both of its shards and in total, and if the target has
//! the space after the earlier waves. It must also improve the balance, unless its items must leave anyway.

use super::gather::UnscheduledMove;
use super::share::{LoadRatio, ShardGoal, hundredths};
use super::state::{RebalanceState, to_index};
use super::types::{MoveKind, MoveShares, RebalanceLimits, RebalanceMove, RebalanceShard};
use std::collections::BTreeMap;

/// The moves that can be carried out, in order, and those that cannot be carried out.
pub(super) struct Timetable {
    pub(super) moves: Vec<RebalanceMove>,
    /// Moves that wait for each other's space, or that would be useful only after other moves.
    pub(super) dropped: Vec<UnscheduledMove>,
}

/// Places every move in the first wave in which it can run.
pub(super) fn schedule(
    state: &RebalanceState<'_>,
    drafts: Vec<UnscheduledMove>,
    limits: &RebalanceLimits,
) -> Timetable {
    let mut fleet = FleetState::new(state);
    let mut moves = Vec::with_capacity(drafts.len());
    let mut pending = drafts;
    let mut wave = 0;
    loop {
        let mut capacity = WaveCapacity::new(limits);
        let (mut started, mut not_started) = (Vec::new(), Vec::new());
        for draft in pending {
            if capacity.permits(&draft) && fleet.can_start(&draft) {
                capacity.use_for(&draft);
                started.push((draft.from, moves.len(), draft.bytes));
                moves.push(fleet.start(draft, wave));
            } else {
                not_started.push(draft);
            }
        }
        if started.is_empty() || not_started.is_empty() {
            return Timetable {
                moves,
                dropped: not_started,
            };
        }
        for (shard, index, bytes) in started {
            fleet.shard_bytes[to_index(shard)] -= bytes;
            fleet.left[to_index(shard)].push((index, bytes));
        }
        pending = not_started;
        wave += 1;
    }
}

/// The moves that one wave may still start.
struct WaveCapacity {
    per_shard: u32,
    /// How many moves may still start.
    left: u32,
    /// For each shard: the number of its moves in this wave.
    used: BTreeMap<u32, u32>,
}

impl WaveCapacity {
    fn new(limits: &RebalanceLimits) -> Self {
        let (per_shard, left) = (limits.per_shard.max(1), limits.total.max(1));
        Self {
            per_shard,
            left,
            used: BTreeMap::new(),
        }
    }

    fn permits(&self, draft: &UnscheduledMove) -> bool {
        let has_capacity = |shard| {
            self.used
                .get(&shard)
                .is_none_or(|used| *used < self.per_shard)
        };
        self.left > 0 && has_capacity(draft.from) && has_capacity(draft.to)
    }

    fn use_for(&mut self, draft: &UnscheduledMove) {
        self.left -= 1;
        for shard in [draft.from, draft.to] {
            *self.used.entry(shard).or_default() += 1;
        }
    }
}

/// The state of the fleet when the waves so far are complete.
struct FleetState<'a> {
    shards: &'a [RebalanceShard],
    goals: &'a [ShardGoal],
    load: Vec<u128>,
    /// The bytes of each shard. Those that arrive in the current wave count already; those that leave in it still
    /// count.
    shard_bytes: Vec<u128>,
    /// The bytes that each shard would have if nothing left it.
    demand: Vec<u128>,
    /// For each shard: the completed moves from it, and their bytes.
    left: Vec<Vec<(usize, u128)>>,
}

impl<'a> FleetState<'a> {
    /// Returns the current state of the fleet.
    fn new(state: &'a RebalanceState<'a>) -> Self {
        let count = state.shards.len();
        let (mut load, mut shard_bytes) = (vec![0; count], vec![0; count]);
        for item in state.items {
            load[to_index(item.shard)] += u128::from(item.cost);
            shard_bytes[to_index(item.shard)] += u128::from(item.bytes);
        }
        Self {
            shards: state.shards,
            goals: &state.goals,
            load,
            demand: shard_bytes.clone(),
            shard_bytes,
            left: vec![Vec::new(); count],
        }
    }

    fn can_start(&self, draft: &UnscheduledMove) -> bool {
        let space = self.shards[to_index(draft.to)].space.map(u128::from);
        let fits =
            space.is_none_or(|space| self.shard_bytes[to_index(draft.to)] + draft.bytes <= space);
        fits && (draft.kind != MoveKind::Balance || self.improves(draft))
    }

    /// Returns whether the greater relative load of the two shards decreases.
    fn improves(&self, draft: &UnscheduledMove) -> bool {
        let (from, to) = (to_index(draft.from), to_index(draft.to));
        let ratio = |shard: usize, load| LoadRatio::new(load, self.goals[shard].weight);
        let before = ratio(from, self.load[from]).max(ratio(to, self.load[to]));
        let after =
            ratio(from, self.load[from] - draft.cost).max(ratio(to, self.load[to] + draft.cost));
        after < before
    }

    fn start(&mut self, draft: UnscheduledMove, wave: u32) -> RebalanceMove {
        let (from, to) = (to_index(draft.from), to_index(draft.to));
        let times = |shard: usize, load| hundredths(load, self.goals[shard].fair);
        let shares = MoveShares {
            from_before: times(from, self.load[from]),
            from_after: times(from, self.load[from] - draft.cost),
            to_before: times(to, self.load[to]),
            to_after: times(to, self.load[to] + draft.cost),
        };
        self.load[from] -= draft.cost;
        self.load[to] += draft.cost;
        self.shard_bytes[to] += draft.bytes;
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
        made.why = made.explain(self.shards, &made.item_count_text());
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
