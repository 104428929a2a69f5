//! The measured load of a shard, as items that together contain exactly the keys that the shard owns.

use super::draft::PlannerInput;
use crate::id::ShardName;
use crate::inspection::ItemLoad;
use crate::key_set::KeySet;
use crate::request::Measure;

/// Keys that move together.
#[derive(Debug, Clone)]
pub(super) struct MeasuredKeys {
    pub(super) keys: KeySet,
    pub(super) cost: u64,
    pub(super) bytes: u64,
}

/// Returns the items of `shard` in the order of the measurement, with their load by `measure`. Keys that were not
/// measured come last, with the load 0.
pub(super) fn measured_items(
    shard: &ShardName,
    measure: &Measure,
    input: PlannerInput<'_>,
) -> Result<Vec<MeasuredKeys>, String> {
    let owned = input.map.owned_by(shard);
    let Some(load) = input.load(shard) else {
        if owned.is_empty() {
            return Ok(Vec::new());
        }
        return Err(format!("the load of shard {shard} was not measured"));
    };
    let measured_keys_of = |item: &ItemLoad, keys: KeySet| MeasuredKeys {
        keys,
        cost: item.cost(measure),
        bytes: item.bytes,
    };
    let items = load.items.iter().map(|item| &item.keys);
    let measured_keys = owned.empty_set().union_all(items);
    let mut items: Vec<MeasuredKeys> = if owned.covers(&measured_keys) {
        let all = load.items.iter().filter(|item| !item.keys.is_empty());
        all.map(|item| measured_keys_of(item, item.keys.clone()))
            .collect()
    } else {
        // The map has changed since the measurement. Keys that the shard no longer owns do not count.
        let still_owned = load
            .items
            .iter()
            .map(|item| (item, item.keys.intersection(&owned)));
        still_owned
            .filter(|(_, keys)| !keys.is_empty())
            .map(|(item, keys)| measured_keys_of(item, keys))
            .collect()
    };
    let rest = owned.minus(&measured_keys);
    items.extend(rest.pieces().into_iter().map(|keys| MeasuredKeys {
        keys,
        cost: 0,
        bytes: 0,
    }));
    Ok(items)
}
