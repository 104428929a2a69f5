//! The state of the fleet during planning: the shard of each item, and the load of each shard.

use super::allowed::AllowedSet;
use super::gather::UnscheduledMove;
use super::share::{LoadRatio, ShardGoal, goals};
use super::types::{InvalidInput, MoveKind, RebalanceItem, RebalanceLimits, RebalanceShard};

/// Converts the index of a shard, an item or a set to the index type of the standard library.
pub(super) fn to_index(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The input, and the placement so far.
#[derive(Debug)]
pub(super) struct RebalanceState<'a> {
    pub(super) shards: &'a [RebalanceShard],
    pub(super) items: &'a [RebalanceItem],
    pub(super) allowed: &'a [AllowedSet],
    pub(super) limits: &'a RebalanceLimits,
    /// For each shard: the load that it should have.
    pub(super) goals: Vec<ShardGoal>,
    /// For each shard: the cost of its items.
    pub(super) load: Vec<u128>,
    /// For each shard: the bytes of its items.
    pub(super) shard_bytes: Vec<u128>,
    /// For each item: the shard on which it is now.
    pub(super) shard_of_item: Vec<u32>,
    /// For each set of allowed shards: the greatest fair share in it.
    greatest_fair: Vec<u128>,
    /// For each set of allowed shards: the load per capacity if all its shards had equal loads; see `set_levels`.
    pub(super) levels: Vec<LoadRatio>,
    /// The bytes of all items that are not on their original shard.
    moved_bytes: u128,
}

impl<'a> RebalanceState<'a> {
    /// Creates the state in which every item is on its current shard.
    pub(super) fn new(
        shards: &'a [RebalanceShard],
        items: &'a [RebalanceItem],
        allowed: &'a [AllowedSet],
        limits: &'a RebalanceLimits,
    ) -> Result<Self, InvalidInput> {
        check(shards, items, allowed)?;
        let total = items.iter().map(|item| u128::from(item.cost)).sum();
        let goals = goals(shards, total, limits.threshold_ppm);
        let mut load = vec![0; shards.len()];
        let mut shard_bytes = vec![0; shards.len()];
        for item in items {
            load[to_index(item.shard)] += u128::from(item.cost);
            shard_bytes[to_index(item.shard)] += u128::from(item.bytes);
        }
        let greatest_fair = allowed
            .iter()
            .map(|set| {
                let fair =
                    |(shard, goal): (u32, &ShardGoal)| set.contains(shard).then_some(goal.fair);
                (0..).zip(&goals).filter_map(fair).max().unwrap_or(0)
            })
            .collect();
        let shard_of_item = items.iter().map(|item| item.shard).collect();
        Ok(Self {
            shards,
            items,
            allowed,
            limits,
            goals,
            load,
            shard_bytes,
            shard_of_item,
            greatest_fair,
            levels: Vec::new(),
            moved_bytes: 0,
        })
    }

    /// Returns the indexes of all shards.
    pub(super) fn shard_indices(&self) -> impl Iterator<Item = u32> + use<'a> {
        (0..).zip(self.shards).map(|(index, _)| index)
    }

    /// Returns whether the shard may receive any items.
    pub(super) fn accepts(&self, shard: u32) -> bool {
        self.goals[to_index(shard)].weight > 0
    }

    /// Returns whether the item may be on the shard.
    pub(super) fn allows(&self, item: u32, shard: u32) -> bool {
        self.allowed[to_index(self.items[to_index(item)].allowed.0)].contains(shard)
    }

    /// Returns why the item must leave its current shard, if it must.
    pub(super) fn must_leave(&self, item: u32) -> Option<MoveKind> {
        let owner = self.items[to_index(item)].shard;
        if !self.allows(item, owner) {
            Some(MoveKind::Repair)
        } else if !self.accepts(owner) {
            Some(MoveKind::Drain)
        } else {
            None
        }
    }

    /// Returns whether the item is still on a shard that it must leave.
    pub(super) fn is_stranded(&self, item: u32) -> bool {
        self.shard_of_item[to_index(item)] == self.items[to_index(item)].shard
            && self.must_leave(item).is_some()
    }

    /// Computes `levels` from the current loads and the load that each set of allowed shards will receive.
    pub(super) fn set_levels(&mut self, incoming: &[u128]) {
        let level = |(set, incoming): (&AllowedSet, &u128)| {
            let open = self.shard_indices().filter(|shard| self.accepts(*shard));
            let (load, weight) = open
                .filter(|shard| set.contains(*shard))
                .map(to_index)
                .fold((*incoming, 0), |(load, weight), shard| {
                    (load + self.load[shard], weight + self.goals[shard].weight)
                });
            LoadRatio::new(load, weight)
        };
        self.levels = self.allowed.iter().zip(incoming).map(level).collect();
    }

    /// Returns whether the item exceeds the fair share of every shard on which it may be. Then no move helps.
    pub(super) fn is_too_heavy(&self, item: u32) -> bool {
        let item = &self.items[to_index(item)];
        u128::from(item.cost) > self.greatest_fair[to_index(item.allowed.0)]
    }

    /// Returns the cost above the shard's limit.
    pub(super) fn excess(&self, shard: u32) -> u128 {
        self.load[to_index(shard)].saturating_sub(self.goals[to_index(shard)].limit)
    }

    /// Returns the shard's load per capacity with an additional cost of `more`.
    pub(super) fn ratio_with(&self, shard: u32, more: u64) -> LoadRatio {
        LoadRatio::new(
            self.load[to_index(shard)] + u128::from(more),
            self.goals[to_index(shard)].weight,
        )
    }

    /// Returns the additional bytes that move if the item is placed on another shard: none if it moves anyway.
    pub(super) fn extra_bytes(&self, item: u32) -> u64 {
        let (owner, bytes) = (
            self.items[to_index(item)].shard,
            self.items[to_index(item)].bytes,
        );
        if self.shard_of_item[to_index(item)] == owner {
            bytes
        } else {
            0
        }
    }

    /// Returns whether the limit on moved bytes permits that the item is placed on another shard.
    pub(super) fn is_within_byte_limit(&self, item: u32) -> bool {
        let after = self.moved_bytes + u128::from(self.extra_bytes(item));
        self.limits
            .max_bytes
            .is_none_or(|most| after <= u128::from(most))
    }

    /// Returns whether the shard has space for the item.
    pub(super) fn has_space(&self, item: u32, shard: u32) -> bool {
        let after =
            self.shard_bytes[to_index(shard)] + u128::from(self.items[to_index(item)].bytes);
        self.shards[to_index(shard)]
            .space
            .is_none_or(|space| after <= u128::from(space))
    }

    /// Places the item on the shard.
    pub(super) fn place_item(&mut self, item: u32, shard: u32) {
        let RebalanceItem {
            shard: owner,
            cost,
            bytes,
            ..
        } = self.items[to_index(item)];
        let old = std::mem::replace(&mut self.shard_of_item[to_index(item)], shard);
        self.load[to_index(old)] -= u128::from(cost);
        self.load[to_index(shard)] += u128::from(cost);
        self.shard_bytes[to_index(old)] -= u128::from(bytes);
        self.shard_bytes[to_index(shard)] += u128::from(bytes);
        if old != owner {
            self.moved_bytes -= u128::from(bytes);
        }
        if shard != owner {
            self.moved_bytes += u128::from(bytes);
        }
    }

    /// Places the items of moves that cannot be carried out on their original shards again.
    pub(super) fn return_items(&mut self, drafts: &[UnscheduledMove]) {
        for draft in drafts {
            for item in draft.items.iter().cloned().flatten() {
                self.place_item(item, draft.from);
            }
        }
    }
}

/// Checks that every index is valid.
fn check(
    shards: &[RebalanceShard],
    items: &[RebalanceItem],
    allowed: &[AllowedSet],
) -> Result<(), InvalidInput> {
    if u32::try_from(items.len()).is_err() {
        return Err(InvalidInput::TooManyItems { count: items.len() });
    }
    for (index, item) in (0..).zip(items) {
        if to_index(item.shard) >= shards.len() {
            return Err(InvalidInput::UnknownShard {
                item: index,
                shard: item.shard,
                shards: shards.len(),
            });
        }
        if to_index(item.allowed.0) >= allowed.len() {
            return Err(InvalidInput::UnknownAllowed {
                item: index,
                allowed: item.allowed.0,
                sets: allowed.len(),
            });
        }
    }
    Ok(())
}
