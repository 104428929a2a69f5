//! Proposals for keys with too much load: requests that the operator can make.

use super::draft::PlannerInput;
use super::figures::{load_text, multiple_text, shell_quoted};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::{KeyLoad, Load};
use crate::key::Key;
use crate::key_set::KeySet;
use crate::request::{Measure, Options};
use crate::shard_map::ShardMap;

/// The placeholder for a shard that the operator must name.
const NEW_SHARD: &str = "NEW-SHARD";

/// Returns the command that gives `key` a shard of its own.
pub(super) fn isolate_command(key: &Key, input: PlannerInput<'_>) -> String {
    format!(
        "shardwright plan isolate {} {} --to {NEW_SHARD}",
        shell_quoted(input.map.name.as_str()),
        shell_quoted(&key.file_text())
    )
}

/// Returns how the load of `keys` on `shard` can be reduced, if no move can balance them as a whole.
pub(super) fn relief(keys: &KeySet, shard: &ShardName, input: PlannerInput<'_>) -> String {
    let hottest = input.load(shard).and_then(|load| {
        let mut hottest = load.hottest.iter();
        hottest
            .find(|hot| keys.contains(&hot.key))
            .map(|hot| &hot.key)
    });
    let only = match keys {
        KeySet::List(all) => all.first().filter(|_| all.len() == 1),
        KeySet::Hash(_) => keys.exception(),
        KeySet::Range(_) => None,
    };
    if let Some(key) = only.or(hottest) {
        return format!("isolate the key: `{}`", isolate_command(key, input));
    }
    match keys {
        KeySet::Range(_) => format!(
            "split {keys} of shard {shard} at a key within it, by a request with `operation: split` that names the parts"
        ),
        KeySet::Hash(_) => format!(
            "move {keys} of shard {shard} to a shard of their own, or single keys of them, by a request with `operation: move`"
        ),
        KeySet::List(_) => {
            format!("split {keys} of shard {shard} by a request that names the keys")
        }
    }
}

/// Returns the load of one key by `measure`; `None` if there is no such figure for single keys.
///
/// The bytes of a key are estimated from its rows and the bytes of its item.
fn cost_of(hot: &KeyLoad, measure: &Measure, load: &Load) -> Option<u64> {
    match measure {
        Measure::Rows => Some(hot.rows),
        Measure::Writes => Some(hot.writes),
        Measure::Bytes => {
            let item = load
                .items
                .iter()
                .find(|item| item.keys.contains(&hot.key))?;
            let bytes = u128::from(item.bytes) * u128::from(hot.rows);
            u64::try_from(bytes / u128::from(item.rows.max(1))).ok()
        }
        Measure::Query(_) => None,
    }
}

/// A key whose load alone exceeds the fair share of its shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotKey {
    /// The shard that owns the key.
    pub shard: ShardName,
    /// The key.
    pub key: Key,
    /// The load of the key.
    pub cost: u64,
    /// The fair share of its shard.
    pub fair: u64,
    /// What the operator can do about it.
    pub proposal: String,
}

/// Returns those of the hottest keys whose load exceeds the fair share of their shard, the heaviest first.
///
/// The fair share of a shard is its part of the load of all measured shards, by capacity.
#[must_use]
pub fn hot_keys(
    map: &ShardMap,
    fleet: &[ShardInfo],
    loads: &[Load],
    measure: &Measure,
) -> Vec<HotKey> {
    let options = Options::default();
    let input = PlannerInput {
        map,
        fleet,
        loads,
        options: &options,
    };
    let capacity = |load: &Load| {
        input
            .shard(&load.shard)
            .map_or(0, |info| info.capacity.into())
    };
    let total_capacity: u128 = loads.iter().map(capacity).sum();
    let costs = loads
        .iter()
        .flat_map(|load| &load.items)
        .map(|item| u128::from(item.cost(measure)));
    let total_cost: u128 = costs.sum();
    let mut found: Vec<HotKey> = Vec::new();
    for load in loads {
        let fair = (total_cost * capacity(load)).div_ceil(total_capacity.max(1));
        let fair = u64::try_from(fair).unwrap_or(u64::MAX);
        found.extend(hot_keys_of(&load.shard, fair, measure, input));
    }
    found.sort_by_key(|hot| std::cmp::Reverse(hot.cost));
    found
}

/// Returns those of the hottest keys of `shard` whose load exceeds its fair share.
pub(super) fn hot_keys_of(
    shard: &ShardName,
    fair: u64,
    measure: &Measure,
    input: PlannerInput<'_>,
) -> Vec<HotKey> {
    let Some(load) = input.load(shard) else {
        return Vec::new();
    };
    let with_cost = load
        .hottest
        .iter()
        .filter_map(|hot| Some((hot, cost_of(hot, measure, load)?)));
    with_cost
        .filter(|(_, cost)| *cost > fair && fair > 0)
        .map(|(hot, cost)| HotKey {
            shard: shard.clone(),
            key: hot.key.clone(),
            cost,
            fair,
            proposal: format!(
                "key {} alone has {}, {} the fair share of shard {shard}; isolate it: `{}`",
                hot.key,
                load_text(measure, cost),
                multiple_text(cost, fair),
                isolate_command(&hot.key, input)
            ),
        })
        .collect()
}
