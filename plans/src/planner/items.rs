//! The measured load of a shard, as items that together contain exactly the keys that the shard owns.

use super::draft::PlannerInput;
use crate::id::ShardName;
use crate::inspection::ItemLoad;
use crate::key_set::{Buckets, KeySet};
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
    let measured_keys = union(&owned.empty_set(), load.items.iter().map(|item| &item.keys));
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

/// Returns the union of `sets`. The strategy (range, hash, list) of the empty set `empty` must be that of all `sets`.
///
/// The function works in one pass; the time of pairwise unions would grow with the square of the number of sets.
pub(super) fn union<'a>(empty: &KeySet, sets: impl Iterator<Item = &'a KeySet>) -> KeySet {
    let mut all = empty.clone();
    for set in sets {
        match (&mut all, set) {
            (KeySet::Range(all), KeySet::Range(more)) => all.extend(more.iter().cloned()),
            (KeySet::Hash(Buckets { of, ranges }), KeySet::Hash(more)) if *of == more.of => {
                ranges.extend(more.ranges.iter().copied());
            }
            (KeySet::List(all), KeySet::List(more)) => all.extend(more.iter().cloned()),
            (_, _) => {}
        }
    }
    all.normal()
}
