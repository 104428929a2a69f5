//! The request of each operation.

use super::pieces::KeyPieces;
use super::{MAP, OBSERVE_SECONDS, PLANNED_PERCENT, SHARDS};
use crate::options::{DemoTask, MapOperation};
use crate::shop::Shop;
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::request::{
    Drain, Isolate, Measure, Merge, MoveEntry, MoveOperation, Options as RequestOptions, Part,
    Rebalance, Request, Split, Tables,
};
use plans::shard_map::Selection;
use plans::shard_map::ShardMap;

/// The parts that all requests have in common.
pub(super) struct RequestSettings {
    pub(super) tables: Tables,
    pub(super) request_options: RequestOptions,
}

impl RequestSettings {
    /// Returns the keys that move, and the request that moves them.
    pub(super) fn request(
        self,
        task: &DemoTask,
        shop: &Shop,
        pieces: &KeyPieces<'_>,
        map: &ShardMap,
    ) -> (KeySet, Request) {
        let [a, b, c, _] = SHARDS.map(ShardName::from);
        match task.operation {
            MapOperation::Split => self.split(task, pieces, map),
            MapOperation::Merge if task.into_live => {
                (map.owned_by(&b), self.merge(vec![a.clone(), b], a))
            }
            MapOperation::Merge => {
                let all = map.owned_by(&a).union(&map.owned_by(&b));
                (all, self.merge(vec![a, b], c))
            }
            MapOperation::Move if task.hot.is_some() => {
                let owned = map.owned_by(&a);
                let tenant = (1..=shop.tenants).find(|tenant| owned.contains(&shop.key(*tenant)));
                let keys = map.empty_key_set().only(&shop.key(tenant.unwrap_or(1)));
                (keys.clone(), self.moves(a, b, &keys))
            }
            MapOperation::Move if task.group.is_some() => {
                let key = shop.key(task.group.unwrap_or(1));
                let keys = map.empty_key_set().only(&key);
                (keys.clone(), self.moves(a, b, &keys))
            }
            MapOperation::Move => {
                let keys = pieces.divide(4).swap_remove(0);
                (keys.clone(), self.moves(a, b, &keys))
            }
            MapOperation::Isolate => {
                let key = shop.key(2);
                (map.empty_key_set().only(&key), self.isolate(key, b))
            }
            MapOperation::Drain if task.shape.has_whole_tables() => {
                (map.owned_by(&a), self.drain(a))
            }
            MapOperation::Drain => (map.owned_by(&c), self.drain(c)),
            MapOperation::Rebalance => (map.owned_by(&a), self.rebalance(task)),
        }
    }

    fn split(self, task: &DemoTask, pieces: &KeyPieces<'_>, map: &ShardMap) -> (KeySet, Request) {
        let parts = pieces.divide(usize::try_from(task.parts).unwrap_or(2));
        let others = parts.iter().skip(1);
        let moving = others.fold(map.empty_key_set(), |all, keys| all.union(keys));
        let part = |(keys, shard): (&KeySet, &str)| Part {
            shard: shard.into(),
            keys: Some(Selection::of(keys)),
            share: None,
        };
        let request = Request::Split(Split {
            map: map.name.clone(),
            source: SHARDS[0].into(),
            into: parts.iter().zip(SHARDS).map(part).collect(),
            even: None,
            tables: self.tables,
            ignore: Vec::new(),
            options: self.request_options,
        });
        (moving, request)
    }

    fn merge(self, sources: Vec<ShardName>, into: ShardName) -> Request {
        Request::Merge(Merge {
            map: MAP.into(),
            sources,
            into,
            tables: self.tables,
            ignore: Vec::new(),
            options: self.request_options,
        })
    }

    fn moves(self, source: ShardName, target: ShardName, keys: &KeySet) -> Request {
        Request::Move(MoveOperation {
            map: MAP.into(),
            moves: vec![MoveEntry {
                source,
                target,
                keys: Some(Selection::of(keys)),
                mode: None,
            }],
            tables: self.tables,
            ignore: Vec::new(),
            options: self.request_options,
        })
    }

    fn isolate(self, key: Key, target: ShardName) -> Request {
        Request::Isolate(Isolate {
            map: MAP.into(),
            key,
            target,
            tables: self.tables,
            ignore: Vec::new(),
            options: self.request_options,
        })
    }

    fn drain(self, source: ShardName) -> Request {
        Request::Drain(Drain {
            map: MAP.into(),
            source,
            targets: Vec::new(),
            by: Measure::Rows,
            drop_tables: false,
            tables: self.tables,
            ignore: Vec::new(),
            options: self.request_options,
        })
    }

    fn rebalance(self, task: &DemoTask) -> Request {
        Request::Rebalance(Rebalance {
            map: MAP.into(),
            by: task.by.clone(),
            onto: Vec::new(),
            threshold_percent: PLANNED_PERCENT,
            max_bytes: None,
            watch_seconds: OBSERVE_SECONDS,
            tables: self.tables,
            ignore: Vec::new(),
            options: self.request_options,
        })
    }
}
