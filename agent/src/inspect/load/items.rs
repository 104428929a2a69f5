//! A tally as items: virtual shards, listed keys, or ranges of about the same load.

use plans::inspection::{ItemLoad, LoadTask};
use plans::key::Key;
use plans::key_set::{Buckets, KeyRange, KeySet};
use plans::request::Measure;

use super::tally::{KeyCost, LoadTally, whole};

/// The items of what the shard owns, in key order; together exactly that.
pub(super) fn divide(task: &LoadTask, tally: &LoadTally) -> Vec<ItemLoad> {
    match &task.owned {
        KeySet::Hash(buckets) => by_bucket(buckets, tally),
        KeySet::List(keys) => keys
            .iter()
            .map(|key| {
                let cost = tally.keys.get(key).copied().unwrap_or_default();
                item(KeySet::list([key.clone()]), &cost)
            })
            .collect(),
        KeySet::Range(ranges) => by_range(task, ranges, tally),
    }
}

fn item(keys: KeySet, cost: &KeyCost) -> ItemLoad {
    ItemLoad {
        keys,
        rows: whole(cost.rows),
        bytes: whole(cost.bytes),
        writes: whole(cost.writes),
        weight: whole(cost.weight),
    }
}

fn by_bucket(owned: &Buckets, tally: &LoadTally) -> Vec<ItemLoad> {
    let buckets = owned.ranges.iter().flat_map(|range| range.from..range.to);
    buckets
        .map(|bucket| {
            let at = usize::try_from(bucket).ok();
            let cost = at.and_then(|at| tally.buckets.get(at)).copied();
            let keys = KeySet::buckets(owned.of, bucket, bucket + 1);
            item(keys, &cost.unwrap_or_default())
        })
        .collect()
}

/// Cuts each range where a share of the whole is reached; a key that outweighs that stands alone.
fn by_range(task: &LoadTask, ranges: &[KeyRange], tally: &LoadTally) -> Vec<ItemLoad> {
    let figure = |cost: &KeyCost| match &task.by {
        Measure::Rows => cost.rows,
        Measure::Bytes => cost.bytes,
        Measure::Writes => cost.writes,
        Measure::Query(_) => cost.weight,
    };
    let total: f64 = tally.keys.values().map(figure).sum();
    // Two neighbours carry more than this, so that there are not more items than asked for.
    let share = 2.0 * total / f64::from(task.items.max(1));
    let mut items = Vec::new();
    for range in ranges {
        let mut cutter = ItemCutter {
            from: range.from.clone(),
            sum: KeyCost::default(),
            items: &mut items,
        };
        let within = tally.keys.iter().filter(|(key, _)| range.contains(key));
        for (key, cost) in within {
            let heavy = figure(cost) >= share && !cost.several && share > 0.0;
            let full =
                cutter.sum != KeyCost::default() && figure(&cutter.sum) + figure(cost) > share;
            if full || (heavy && cutter.from.as_ref() != Some(key)) {
                cutter.cut(key.clone());
            }
            cutter.sum.add(cost);
            if heavy && let Some(next) = key.successor().filter(|next| range.contains(next)) {
                cutter.cut(next);
            }
        }
        cutter.end(range.to.clone());
    }
    items
}

struct ItemCutter<'a> {
    from: Option<Key>,
    sum: KeyCost,
    items: &'a mut Vec<ItemLoad>,
}

impl ItemCutter<'_> {
    fn cut(&mut self, at: Key) {
        self.end(Some(at.clone()));
        self.from = Some(at);
        self.sum = KeyCost::default();
    }

    fn end(&mut self, to: Option<Key>) {
        let keys = KeySet::range(self.from.clone(), to);
        if !keys.is_empty() {
            self.items.push(item(keys, &self.sum));
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
    fn items_tile_what_is_owned_and_hold_every_row() {
        let task = task(8);
        let mut tally = LoadTally::new(&task);
        for key in 0..1000 {
            tally.add(Key::Int(key), &rows(if key == 500 { 2000.0 } else { 1.0 }));
        }
        let items = divide(&task, &tally);
        let all = items
            .iter()
            .fold(task.owned.none(), |all, item| all.union(&item.keys));
        assert_eq!(all, task.owned);
        assert_eq!(items.iter().map(|item| item.rows).sum::<u64>(), 2999);
        let hot = KeySet::range(Some(Key::Int(500)), Some(Key::Int(501)));
        assert!(items.iter().any(|item| item.keys == hot), "{items:?}");
        assert!(items.len() <= 9, "{}", items.len());
    }

    #[test]
    fn a_tally_of_many_keys_stays_small_and_keeps_sums_and_the_heavy_key() {
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
        assert_eq!(tally.hottest(false, 1)[0].key, Key::Int(77));
    }
}
