//! The scenario of a run: the shards, the initial owners of keys, and the request.
//!
//! The migrations depend only on the request. The application and the checker use the rest.

mod pieces;
mod request;

use crate::options::{DemoTask, MapOperation, Options};
use crate::shop::{KeyShape, PerTenant, Shop, TABLES};
use crate::workload::{TenantChoice, TenantMix};
use pieces::KeyPieces;
use plans::key_set::KeySet;
use plans::request::{Cutover, Hold, Measure, Mode, Options as RequestOptions, Request, Tables};
use plans::shard_map::{
    KeyColumns, KeyedBy, MapSettings, Sequences, ShardMap, Strategy, ThroughRef,
};
use request::RequestSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The map of the demo.
const MAP: &str = "tenants";
const SHARDS: [&str; 4] = ["a", "b", "c", "d"];
/// Ten of thirteen transactions use moving keys. Before a rebalance, one of the four shards therefore gets ten times as
/// many transactions as each other shard (10, 1, 1, 1).
const MOVING_SHARE: f64 = 10.0 / 13.0;
/// By how many percent a shard may exceed its fair share of the load, in the request of a rebalance. It is less than
/// [`Scenario::threshold_percent`], because the application writes between the plan and the last count.
const PLANNED_PERCENT: u32 = 10;
/// The number of tenants on the hot shard that get writes, if load is measured by writes.
const HOT_TENANTS: usize = 16;
/// For how many seconds a rebalance by writes observes the log.
const OBSERVE_SECONDS: u32 = 4;

/// The shards, the map and the request of one run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) task: DemoTask,
    pub(crate) shop: Shop,
    /// All shards, including those without keys.
    pub(crate) shards: Vec<&'static str>,
    /// The initial map.
    pub(crate) map: ShardMap,
    /// The moving keys. For a rebalance these are the keys of the overloaded shard.
    pub(crate) moving: KeySet,
    pub(crate) request: Request,
}

/// Returns how many shards own keys initially, and the number of all shards.
fn shard_counts(task: &DemoTask) -> (usize, usize) {
    let has_whole_tables = task.shape.has_whole_tables();
    match task.operation {
        // The target has no schema of the moving tables.
        MapOperation::Move if has_whole_tables => (1, 2),
        MapOperation::Drain if has_whole_tables => (2, 2),
        MapOperation::Split => (1, usize::try_from(task.parts).unwrap_or(2)),
        MapOperation::Merge if task.into_live => (2, 2),
        MapOperation::Merge => (2, 3),
        MapOperation::Move => (2, 2),
        MapOperation::Isolate => (1, 2),
        MapOperation::Drain => (3, 3),
        MapOperation::Rebalance => (4, 4),
    }
}

impl Scenario {
    pub(crate) fn new(options: &Options, request_options: RequestOptions) -> Self {
        let task = options.task.clone();
        let shop = shop(options);
        let (live_shards, all_shards) = shard_counts(&task);
        let pieces = KeyPieces::new(&task, &shop, live_shards);
        let map = pieces.map(&SHARDS[..live_shards]);
        // A plain split names its tables in the request. For any other operation the map has the tables.
        let is_listed = task.is_plain_split()
            && !task.shape.has_whole_tables()
            && task.shape != KeyShape::Dependents;
        let settings = RequestSettings {
            tables: if is_listed {
                tables(task.shape)
            } else {
                Tables::new()
            },
            request_options: if task.is_single_move() {
                request_options
            } else {
                default_request_options(task.mode)
            },
        };
        let (moving, request) = settings.request(&task, &shop, &pieces, &map);
        Self {
            shop,
            shards: SHARDS[..all_shards].to_vec(),
            map: if is_listed {
                map
            } else {
                with_tables(map, &shop)
            },
            task,
            moving,
            request,
        }
    }

    /// Returns which tenants the clients choose. For a rebalance the clients choose all tenants equally often, so that
    /// whole virtual shards are hot and not single tenants.
    pub(crate) fn mix(&self) -> TenantMix {
        let all = 1..=self.shop.tenants;
        let moves = |tenant: &i64| self.moving.contains(&self.shop.key(*tenant));
        let (mut moving, staying): (Vec<i64>, Vec<i64>) = all.partition(moves);
        let share = match (self.task.hot, self.task == DemoTask::default()) {
            (Some(share), _) => share,
            (None, true) => 0.5,
            (None, false) => MOVING_SHARE,
        };
        let choice = match self.task.operation {
            MapOperation::Rebalance => TenantChoice::InTurn(Arc::default()),
            MapOperation::Split
            | MapOperation::Merge
            | MapOperation::Move
            | MapOperation::Isolate
            | MapOperation::Drain => TenantChoice::Skewed,
        };
        if self.task.by == Measure::Writes {
            moving = self.one_per_virtual_shard(&moving);
        }
        TenantMix {
            moving,
            staying,
            share,
            choice,
        }
    }

    /// Returns a few of the tenants, no two in the same virtual shard, so that a measurement that lasts only seconds is
    /// representative.
    fn one_per_virtual_shard(&self, tenants: &[i64]) -> Vec<i64> {
        let none = self.map.empty_key_set();
        let mut known = BTreeSet::new();
        let place = |key| match self.map.strategy {
            Strategy::Hash => KeySet::virtual_shard_of(&key, self.map.buckets),
            Strategy::Range | Strategy::List => none.only(&key),
        };
        let is_first_of_virtual_shard =
            |tenant: &&i64| known.insert(place(self.shop.key(**tenant)));
        tenants
            .iter()
            .filter(is_first_of_virtual_shard)
            .take(HOT_TENANTS)
            .copied()
            .collect()
    }

    /// Returns by how many percent a shard may exceed its fair share of the load after a rebalance. It is more than
    /// `PLANNED_PERCENT`, because the application writes between the plan and the last count, and a measurement of
    /// writes is only a sample.
    pub(crate) fn threshold_percent(&self) -> u32 {
        if self.task.by == Measure::Writes {
            30
        } else {
            20
        }
    }

    /// Returns the keys of the tenants that have ten times as many rows as others, if the operation is a rebalance.
    pub(crate) fn keys_with_most_rows(&self) -> Option<&KeySet> {
        (self.task.operation == MapOperation::Rebalance).then_some(&self.moving)
    }

    /// Returns the keys that a shard owns initially.
    pub(crate) fn owned_by(&self, shard: &str) -> KeySet {
        self.map.owned_by(&shard.into())
    }
}

/// Returns the data for the options. For a rebalance the rows belong to many small tenants, so that all virtual shards
/// have similar loads.
fn shop(options: &Options) -> Shop {
    let mut shop = Shop::new(options.scale, options.seed).of_shape(options.task.shape);
    if options.task.operation == MapOperation::Rebalance {
        shop.tenants = 1_000;
        shop.rows = PerTenant {
            accounts: 4,
            orders: 4,
            events: 4,
            // With 278 events a tenant has about ten times as many rows in all tables as with 4.
            max_events: 278,
        };
    }
    shop
}

/// Returns the request options of a run that is not a plain split. An offline move needs no approvals. The driver
/// approves the cutover of an online move and ends its hold, so that it can compare the rows of both shards before the
/// hold ends.
fn default_request_options(mode: Mode) -> RequestOptions {
    let (cutover, hold) = match mode {
        Mode::Online => (Cutover::Approve, Hold::UntilFinish),
        Mode::Offline => (Cutover::Automatic, Hold::Seconds(0)),
    };
    RequestOptions {
        mode,
        cutover,
        hold,
        ..RequestOptions::default()
    }
}

fn tables(shape: KeyShape) -> Tables {
    let key_columns = |table: &str| {
        let columns = shape.columns_of(table);
        let names = columns.into_iter().map(|(name, _)| name.to_owned());
        (table.to_owned(), KeyColumns(names.collect()))
    };
    let is_dependent = |table: &&str| shape == KeyShape::Dependents && *table == "order_items";
    let tables = TABLES.into_iter().filter(|table| !is_dependent(table));
    tables.map(key_columns).collect()
}

fn with_tables(map: ShardMap, shop: &Shop) -> ShardMap {
    let settings = match shop.shape {
        KeyShape::Schema => MapSettings {
            keyed_by: KeyedBy::Schema,
            sequences: Sequences::Keep,
            ..map.settings
        },
        KeyShape::Group => MapSettings {
            keyed_by: KeyedBy::Group,
            groups: groups(shop),
            sequences: Sequences::Keep,
            ..map.settings
        },
        KeyShape::BigInt | KeyShape::TextBigInt | KeyShape::Timestamp => MapSettings {
            tables: tables(shop.shape),
            ..map.settings
        },
        KeyShape::Dependents => {
            let orders = ThroughRef {
                parent: "orders".to_owned(),
                columns: BTreeMap::new(),
            };
            MapSettings {
                tables: tables(shop.shape),
                through: BTreeMap::from([("order_items".to_owned(), orders)]),
                ..map.settings
            }
        }
    };
    ShardMap { settings, ..map }
}

/// Returns the tables of each group.
fn groups(shop: &Shop) -> BTreeMap<String, Vec<String>> {
    let group = |tenant| {
        let name = shop.key(tenant).text();
        let tables = TABLES.map(|table| format!("{name}.{table}"));
        (name, tables.to_vec())
    };
    (1..=shop.tenants).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::planner::outline;
    use plans::shard_map::Strategy;

    fn scenario(operation: MapOperation, strategy: Strategy) -> Scenario {
        let task = DemoTask {
            operation,
            strategy,
            ..DemoTask::default()
        };
        let options = Options {
            task,
            scale: 0.01,
            ..Options::default()
        };
        Scenario::new(&options, RequestOptions::default())
    }

    #[test]
    fn every_tenant_has_an_owner_and_the_plan_moves_exactly_the_moving_keys() {
        let operations = [
            MapOperation::Split,
            MapOperation::Merge,
            MapOperation::Move,
            MapOperation::Isolate,
        ];
        for operation in operations {
            for strategy in [Strategy::Range, Strategy::Hash, Strategy::List] {
                let scenario = scenario(operation, strategy);
                let map = scenario.map.clone().validated().unwrap();
                let tenants = (1..=scenario.shop.tenants).map(|tenant| scenario.shop.key(tenant));
                assert!(tenants.clone().all(|key| map.locate(&key).is_some()));
                let mix = scenario.mix();
                assert!(!mix.moving.is_empty());
                assert_eq!(
                    mix.staying.is_empty(),
                    operation == MapOperation::Merge,
                    "{operation} {strategy}"
                );
                let fleet: Vec<_> = scenario
                    .shards
                    .iter()
                    .map(|name| shard_info(name))
                    .collect();
                let outline = outline(&scenario.request, &map, &fleet, &[]).unwrap();
                let moved = outline
                    .moves
                    .iter()
                    .fold(map.empty_key_set(), |all, m| all.union(&m.keys));
                assert_eq!(moved, scenario.moving, "{operation} {strategy}");
            }
        }
    }

    fn shard_info(name: &str) -> plans::fleet::ShardInfo {
        plans::fleet::ShardInfo {
            name: name.into(),
            number: 1,
            labels: Default::default(),
            capacity: 100,
            space: None,
        }
    }
}
