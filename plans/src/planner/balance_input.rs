//! Converts the shards and items of a map to the input of [`crate::rebalance`], and its result to wanted moves.

use super::draft::{PlanDraft, PlannerInput, WantedMove};
use super::items;
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::rebalance::{
    self, AllowedId, AllowedSet, AllowedTable, RebalanceItem, RebalanceLimits, RebalanceResult,
    RebalanceShard,
};
use crate::request::Measure;
use std::collections::{BTreeMap, BTreeSet};

/// The input of a rebalance or a drain. Shards and items are identified by their indexes in the lists.
pub(super) struct BalanceInput<'a> {
    input: PlannerInput<'a>,
    pub(super) shards: Vec<RebalanceShard>,
    /// The registered shards, in the order of `shards`.
    infos: Vec<&'a ShardInfo>,
    items: Vec<RebalanceItem>,
    /// The keys of the items, in the order of `items`.
    keys: Vec<KeySet>,
    /// The sets of shards that items may move to.
    allowed: AllowedTable,
}

/// The shards that take part, and their roles.
pub(super) struct ShardRoles<'a> {
    pub(super) all: BTreeSet<&'a ShardName>,
    /// The drained shard. Items of the other shards then stay.
    pub(super) drained: Option<&'a ShardName>,
}

impl<'a> BalanceInput<'a> {
    /// Collects shards, items and rules, or returns what is missing.
    pub(super) fn new(
        roles: &ShardRoles<'a>,
        measure: &Measure,
        input: PlannerInput<'a>,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut balance_input = Self {
            input,
            shards: Vec::new(),
            infos: Vec::new(),
            items: Vec::new(),
            keys: Vec::new(),
            allowed: AllowedTable::default(),
        };
        for name in &roles.all {
            match input.shard(name) {
                Some(info) => balance_input.add_shard(info, roles),
                None => problems.push(input.unknown_shard_problem(name)),
            }
        }
        if problems.is_empty() {
            for index in 0..balance_input.infos.len() {
                balance_input
                    .add_items(index, roles, measure)
                    .unwrap_or_else(|problem| problems.push(problem));
            }
        }
        if problems.is_empty() {
            Ok(balance_input)
        } else {
            Err(problems)
        }
    }

    /// Adds a shard. A drained shard accepts no items.
    fn add_shard(&mut self, info: &'a ShardInfo, roles: &ShardRoles<'_>) {
        self.infos.push(info);
        self.shards.push(RebalanceShard {
            name: info.name.clone(),
            capacity: info.capacity.into(),
            space: info.space,
            labels: info.labels.clone(),
            accepts: roles.drained != Some(&info.name),
        });
    }

    /// Adds the items of the shard at `index`, measured in `by`, and the shards to which the rules allow each to move.
    fn add_items(
        &mut self,
        index: usize,
        roles: &ShardRoles<'_>,
        measure: &Measure,
    ) -> Result<(), String> {
        let name = &self.infos[index].name;
        let shard = u32::try_from(index).map_err(|_| "too many shards".to_owned())?;
        let stays = roles.drained.is_some_and(|drained| drained != name);
        let mut sets: BTreeMap<Vec<usize>, AllowedId> = BTreeMap::new();
        for item in items::measured_items(name, measure, self.input)? {
            let allowed = if stays {
                self.allowed.id(AllowedSet::of([shard]))
            } else {
                let rules = self.rules_of(&item.keys);
                match sets.get(&rules) {
                    Some(id) => *id,
                    None => {
                        let id = self.allowed_shards(&rules);
                        sets.insert(rules, id);
                        id
                    }
                }
            };
            self.items.push(RebalanceItem {
                shard,
                cost: item.cost,
                bytes: item.bytes,
                allowed,
            });
            self.keys.push(item.keys);
        }
        Ok(())
    }

    /// Returns the indexes of the rules that apply to `keys`; none if rules are overridden.
    fn rules_of(&self, keys: &KeySet) -> Vec<usize> {
        if self.input.options.override_rules.is_some() {
            return Vec::new();
        }
        let rules = self.input.map.settings.rules.iter().enumerate();
        rules
            .filter(|(_, rule)| rule.keys.as_ref().is_none_or(|own| own.overlaps(keys)))
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the id of the set of shards that `rules` allow, which are the indexes of rules.
    fn allowed_shards(&mut self, rules: &[usize]) -> AllowedId {
        if rules.is_empty() {
            return self.allowed.id(AllowedSet::everywhere());
        }
        let rules: Vec<_> = rules
            .iter()
            .map(|index| &self.input.map.settings.rules[*index])
            .collect();
        let no_keys = self.input.map.empty_key_set();
        let allowed = (0_u32..).zip(&self.infos).filter(|(_, info)| {
            // The rules are known to apply to the item's keys. A rule without keys applies to any keys.
            rules.iter().all(|rule| {
                let keys = rule.keys.as_ref().unwrap_or(&no_keys);
                rule.allows(keys, info)
            })
        });
        let set = AllowedSet::of(allowed.map(|(index, _)| index));
        self.allowed.id(set)
    }

    /// Computes the moves that balance the shards within the limits.
    pub(super) fn balance(&self, limits: &RebalanceLimits) -> Result<RebalanceResult, String> {
        rebalance::rebalance(&self.shards, &self.items, self.allowed.sets(), limits)
            .map_err(|error| error.to_string())
    }

    pub(super) fn name(&self, shard: u32) -> &ShardName {
        &self.infos[to_index(shard)].name
    }

    pub(super) fn keys(&self, item: u32) -> &KeySet {
        &self.keys[to_index(item)]
    }

    /// Returns the keys of `shard` that no other shard may receive, with the rules that forbid it.
    pub(super) fn stranded_keys(&self, shard: u32) -> (KeySet, Vec<&'a str>) {
        let items_of_shard = self
            .items
            .iter()
            .zip(&self.keys)
            .filter(|(item, _)| item.shard == shard);
        let stranded = items_of_shard.filter(|(item, _)| {
            let set = &self.allowed.sets()[to_index(item.allowed.0)];
            let mut others = (0_u32..).zip(&self.shards);
            !others.any(|(index, other)| index != shard && other.accepts && set.contains(index))
        });
        let keys = self
            .input
            .map
            .empty_key_set()
            .union_all(stranded.map(|(_, keys)| keys));
        let rules = self.rules_of(&keys);
        let rules = rules
            .iter()
            .map(|index| self.input.map.settings.rules[*index].name.as_str());
        (keys, rules.collect())
    }

    /// Adds the computed moves, in their order, to the wanted moves of `draft`.
    pub(super) fn add_wanted_moves(
        &self,
        outcome: &RebalanceResult,
        drop_tables: bool,
        draft: &mut PlanDraft,
    ) {
        for computed in &outcome.moves {
            let indices = computed.items.iter().cloned().flatten();
            let keys = self
                .input
                .map
                .empty_key_set()
                .union_all(indices.map(|item| self.keys(item)));
            draft.moves.push(WantedMove {
                source: self.name(computed.from).clone(),
                target: self.name(computed.to).clone(),
                mode: self.input.options.mode,
                why: computed.explain(&self.shards, &keys.to_string()),
                after: computed.after.clone(),
                drop_tables,
                keys,
            });
        }
    }
}

fn to_index(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
