//! Divides a tally into items: virtual shards, listed keys, or ranges of similar load.

use std::collections::{BTreeMap, BTreeSet};

use plans::inspection::{ItemLoad, LoadTask};
use plans::key::Key;
use plans::key_set::{BucketRange, Buckets, KeyRange, KeySet, bucket_of};
use plans::request::Measure;

use super::tally::{KeyCost, LoadTally, rounded};

/// Returns the items in key order. Together they contain exactly the keys that the shard owns.
pub(super) fn divide_into_items(task: &LoadTask, tally: &LoadTally) -> Vec<ItemLoad> {
    match &task.owned {
        KeySet::Hash(buckets) => items_by_bucket(buckets, tally),
        KeySet::List(keys) => keys
            .iter()
            .map(|key| {
                let cost = tally.keys.get(key).copied().unwrap_or_default();
                item_load(KeySet::list([key.clone()]), &cost)
            })
            .collect(),
        KeySet::Range(ranges) => items_by_range(task, ranges, tally),
    }
}

fn item_load(keys: KeySet, cost: &KeyCost) -> ItemLoad {
    ItemLoad {
        keys,
        rows: rounded(cost.rows),
        bytes: rounded(cost.bytes),
        writes: rounded(cost.writes),
        weight: rounded(cost.weight),
    }
}

/// Returns an item for each virtual shard without its exceptions, and then one for each single key.
fn items_by_bucket(owned: &Buckets, tally: &LoadTally) -> Vec<ItemLoad> {
    let (missing, single) = owned.exceptions();
    let mut missing_by_bucket: BTreeMap<u32, BTreeSet<Key>> = BTreeMap::new();
    for key in missing {
        let bucket = bucket_of(key, owned.of);
        missing_by_bucket
            .entry(bucket)
            .or_default()
            .insert(key.clone());
    }
    let buckets = owned.ranges.iter().flat_map(|range| range.from..range.to);
    let virtual_shards = buckets.map(|bucket| {
        let index = usize::try_from(bucket).ok();
        let cost = index.and_then(|index| tally.buckets.get(index)).copied();
        let range = BucketRange {
            from: bucket,
            to: bucket + 1,
        };
        let keys = KeySet::Hash(Buckets {
            of: owned.of,
            ranges: vec![range],
            except: missing_by_bucket.remove(&bucket).unwrap_or_default(),
        });
        item_load(keys, &cost.unwrap_or_default())
    });
    let mut items: Vec<ItemLoad> = virtual_shards.collect();
    items.extend(single.into_iter().map(|key| {
        let cost = tally.exceptions.get(key).copied().unwrap_or_default();
        item_load(KeySet::single_keys(owned.of, [key.clone()]), &cost)
    }));
    items
}

/// Divides each range into items, and begins a new item before the load of the current one exceeds the limit. A single
/// key with more load than the limit is an item of its own.
fn items_by_range(task: &LoadTask, ranges: &[KeyRange], tally: &LoadTally) -> Vec<ItemLoad> {
    let measured = |cost: &KeyCost| match &task.by {
        Measure::Rows => cost.rows,
        Measure::Bytes => cost.bytes,
        Measure::Writes => cost.writes,
        Measure::Query(_) => cost.weight,
    };
    let total: f64 = tally.keys.values().map(measured).sum();
    // Two neighbouring items together have more load than this limit, so a range has at most the requested number of
    // items.
    let max_load = 2.0 * total / f64::from(task.items.max(1));
    let mut items = Vec::new();
    for range in ranges {
        let mut divider = ItemDivider {
            from: range.from.clone(),
            sum: KeyCost::default(),
            items: &mut items,
        };
        let entries = tally.keys.iter().filter(|(key, _)| range.contains(key));
        for (key, cost) in entries {
            let is_heavy = measured(cost) >= max_load && !cost.is_group && max_load > 0.0;
            let is_full = divider.sum != KeyCost::default()
                && measured(&divider.sum) + measured(cost) > max_load;
            if is_full || (is_heavy && divider.from.as_ref() != Some(key)) {
                divider.start_item_at(key.clone());
            }
            divider.sum.add(cost);
            if is_heavy && let Some(next) = key.successor().filter(|next| range.contains(next)) {
                divider.start_item_at(next);
            }
        }
        divider.end_item(range.to.clone());
    }
    items
}

/// Builds the items of a range one after the other: the first key of the current item, and its load so far.
struct ItemDivider<'a> {
    from: Option<Key>,
    sum: KeyCost,
    items: &'a mut Vec<ItemLoad>,
}

impl ItemDivider<'_> {
    fn start_item_at(&mut self, key: Key) {
        self.end_item(Some(key.clone()));
        self.from = Some(key);
        self.sum = KeyCost::default();
    }

    fn end_item(&mut self, to: Option<Key>) {
        let keys = KeySet::range(self.from.clone(), to);
        if !keys.is_empty() {
            self.items.push(item_load(keys, &self.sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::fleet::ShardRef;
    use plans::id::{MapName, ShardName};
    use plans::key::KeyType;
    use plans::shard_map::Strategy;
    use std::collections::BTreeMap;

    fn task(items: u32) -> LoadTask {
        LoadTask {
            whole: None,
            map: MapName::from("m"),
            shard: ShardRef {
                name: ShardName::from("a"),
                number: 1,
                dsn: String::new(),
                identity: None,
            },
            strategy: Strategy::Range,
            buckets: 0,
            key: vec![KeyType::Bigint],
            tables: BTreeMap::new(),
            owned: KeySet::range(Some(Key::Int(0)), Some(Key::Int(1000))),
            by: Measure::Rows,
            watch_seconds: 0,
            items,
            hottest: 3,
        }
    }

    fn rows(rows: f64) -> KeyCost {
        KeyCost {
            rows,
            ..KeyCost::default()
        }
    }

    #[test]
    fn items_contain_all_owned_keys_and_all_rows() {
        let task = task(8);
        let mut tally = LoadTally::new(&task);
        for key in 0..1000 {
            tally.add(Key::Int(key), &rows(if key == 500 { 2000.0 } else { 1.0 }));
        }
        let items = divide_into_items(&task, &tally);
        let all = items
            .iter()
            .fold(task.owned.empty_set(), |all, item| all.union(&item.keys));
        assert_eq!(all, task.owned);
        assert_eq!(items.iter().map(|item| item.rows).sum::<u64>(), 2999);
        let hot = KeySet::range(Some(Key::Int(500)), Some(Key::Int(501)));
        assert!(items.iter().any(|item| item.keys == hot), "{items:?}");
        assert!(items.len() <= 9, "{}", items.len());
    }

    #[test]
    fn a_tally_has_a_limited_size_and_keeps_the_sums_and_the_heaviest_key() {
        let task = task(8);
        let mut tally = LoadTally::new(&task);
        for key in 0..450_000 {
            tally.add(Key::Int(key), &rows(1.0));
            if key % 3 == 0 {
                tally.add(Key::Int(77), &rows(1.0));
            }
        }
        assert!(tally.keys.len() <= 200_001, "{}", tally.keys.len());
        let total: f64 = tally.keys.values().map(|cost| cost.rows).sum();
        assert!((total - 600_000.0).abs() < 0.5, "{total}");
        assert_eq!(tally.hottest_keys(false, 1)[0].key, Key::Int(77));
    }
}
