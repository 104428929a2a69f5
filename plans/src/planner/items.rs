//! The measured load of a shard, as items that together contain exactly the keys that the shard owns.

use super::wish::PlannerInput;
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

/// Returns the items of `shard` in the order of the measurement, with their load measured in `by`. `ground` is the
/// planner's input. Keys that were not measured come last, with the load 0.
pub(super) fn of_shard(
    shard: &ShardName,
    by: &Measure,
    ground: PlannerInput<'_>,
) -> Result<Vec<MeasuredKeys>, String> {
    let owned = ground.map.owned_by(shard);
    let Some(load) = ground.load(shard) else {
        if owned.is_empty() {
            return Ok(Vec::new());
        }
        return Err(format!("the load of shard {shard} was not measured"));
    };
    let measured = |item: &ItemLoad, keys: KeySet| MeasuredKeys {
        keys,
        cost: item.cost(by),
        bytes: item.bytes,
    };
    // All measured keys.
    let counted = union(&owned.empty_set(), load.items.iter().map(|item| &item.keys));
    let mut items: Vec<MeasuredKeys> = if owned.covers(&counted) {
        let all = load.items.iter().filter(|item| !item.keys.is_empty());
        all.map(|item| measured(item, item.keys.clone())).collect()
    } else {
        // The map may have changed since the measurement. Keys that left the shard do not count.
        let kept = load
            .items
            .iter()
            .map(|item| (item, item.keys.intersection(&owned)));
        kept.filter(|(_, keys)| !keys.is_empty())
            .map(|(item, keys)| measured(item, keys))
            .collect()
    };
    let rest = owned.minus(&counted);
    items.extend(rest.pieces().into_iter().map(|keys| MeasuredKeys {
        keys,
        cost: 0,
        bytes: 0,
    }));
    Ok(items)
}

/// Returns the union of `sets`. `none` is an empty set; its strategy (range, hash, list) must be that of all `sets`.
///
/// The function works in one pass; the time of pairwise unions would grow with the square of their number.
pub(super) fn union<'a>(none: &KeySet, sets: impl Iterator<Item = &'a KeySet>) -> KeySet {
    let mut all = none.clone();
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
