//! What a run is about: which shards there are, who owns which keys at first, and the request.
//!
//! Only the request says what is to be done; the rest is what the application and the checker need to know.

mod pieces;
mod request;

use crate::options::{DemoTask, MapOperation, Options};
use crate::shop::{KeyShape, PerTenant, Shop, TABLES};
use crate::workload::{TenantChoice, TenantMix};
use pieces::KeyPieces;
use plans::key_set::KeySet;
use plans::request::{Cutover, Hold, Measure, Mode, Options as Behaviour, Request, Tables};
use plans::shard_map::{KeyColumns, MapSettings, ShardMap};
use request::RequestSettings;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The map of the demo.
const MAP: &str = "tenants";
const SHARDS: [&str; 4] = ["a", "b", "c", "d"];
/// Of thirteen transactions ten go to moving keys; before a rebalance one shard has ten times as many as any other.
const MOVING_SHARE: f64 = 10.0 / 13.0;
/// What the request of a rebalance asks for; less than what the run may end with.
const PLANNED_PERCENT: u32 = 10;
/// Tenants that are written to on the hot shard where load is counted by writes.
const HOT_TENANTS: usize = 16;
/// Seconds for which a rebalance by writes watches the log.
const WATCH_SECONDS: u32 = 4;

/// Shards, map and request of one run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) task: DemoTask,
    pub(crate) shop: Shop,
    /// Every shard, those that own nothing yet too.
    pub(crate) shards: Vec<&'static str>,
    /// The map as it is to be made.
    pub(crate) map: ShardMap,
    /// The keys that move; of a rebalance the keys of the shard that has too many.
    pub(crate) moving: KeySet,
    pub(crate) request: Request,
}

/// How many shards own keys at first, and how many there are.
fn shards(task: &DemoTask) -> (usize, usize) {
    match task.operation {
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
    pub(crate) fn new(options: &Options, behaviour: Behaviour) -> Self {
        let task = options.task.clone();
        let shop = shop(options);
        let (live, all) = shards(&task);
        let pieces = KeyPieces::new(&task, &shop, live);
        let map = pieces.map(&SHARDS[..live]);
        let plain = task.is_plain_split();
        let settings = RequestSettings {
            tables: if plain {
                tables(task.shape)
            } else {
                Tables::new()
            },
            behaviour: if plain { behaviour } else { quick(task.mode) },
        };
        let (moving, request) = settings.request(&task, &shop, &pieces, &map);
        Self {
            shop,
            shards: SHARDS[..all].to_vec(),
            map: if plain {
                map
            } else {
                with_tables(map, task.shape)
            },
            task,
            moving,
            request,
        }
    }

    /// Which tenants the clients choose: of a rebalance all alike, so that virtual shards are what is hot.
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
            moving = self.far_apart(&moving);
        }
        TenantMix {
            moving,
            staying,
            share,
            choice,
        }
    }

    /// A few of the tenants, no two of them in one virtual shard: what is seen of them in seconds is no accident.
    fn far_apart(&self, tenants: &[i64]) -> Vec<i64> {
        let none = self.map.no_keys();
        let mut seen = BTreeSet::new();
        let own = |tenant: &&i64| {
            none.only(&self.shop.key(**tenant))
                .is_some_and(|keys| seen.insert(keys))
        };
        tenants
            .iter()
            .filter(own)
            .take(HOT_TENANTS)
            .copied()
            .collect()
    }

    /// How much more than its fair share a shard may carry after a rebalance, percent. The application goes on writing
    /// between the plan and the last count; writes are a sample besides.
    pub(crate) fn threshold_percent(&self) -> u32 {
        if self.task.by == Measure::Writes {
            30
        } else {
            20
        }
    }

    /// Keys whose tenants have ten times as many rows as others.
    pub(crate) fn busy(&self) -> Option<&KeySet> {
        (self.task.operation == MapOperation::Rebalance).then_some(&self.moving)
    }

    /// What a shard owns at first.
    pub(crate) fn owned_by(&self, shard: &str) -> KeySet {
        self.map.owned_by(&shard.into())
    }
}

/// The rows of a rebalance lie in many small tenants, so that virtual shards are much alike.
fn shop(options: &Options) -> Shop {
    let mut shop = Shop::new(options.scale, options.seed);
    shop.shape = options.task.shape;
    if options.task.operation == MapOperation::Rebalance {
        shop.tenants = 1_000;
        shop.rows = PerTenant {
            accounts: 4,
            orders: 4,
            events: 4,
            busy_events: 278,
        };
    }
    shop
}

/// Runs that are no plain split wait for no operator where they need not: the driver still approves and finishes
/// what goes on online, to check both copies meanwhile.
fn quick(mode: Mode) -> Behaviour {
    let (cutover, hold) = match mode {
        Mode::Online => (Cutover::Approve, Hold::UntilFinish),
        Mode::Offline => (Cutover::Automatic, Hold::Seconds(0)),
    };
    Behaviour {
        mode,
        cutover,
        hold,
        ..Behaviour::default()
    }
}

fn tables(shape: KeyShape) -> Tables {
    let own = |table: &str| {
        let columns = shape.columns_of(table);
        let names = columns.into_iter().map(|(name, _)| name.to_owned());
        (table.to_owned(), KeyColumns(names.collect()))
    };
    TABLES.into_iter().map(own).collect()
}

fn with_tables(map: ShardMap, shape: KeyShape) -> ShardMap {
    let settings = MapSettings {
        tables: tables(shape),
        ..map.settings
    };
    ShardMap { settings, ..map }
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
        Scenario::new(&options, Behaviour::default())
    }

    #[test]
    fn every_tenant_is_mapped_and_the_moving_ones_belong_to_their_source() {
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
                let fleet: Vec<_> = scenario.shards.iter().map(|name| info(name)).collect();
                let outline = outline(&scenario.request, &map, &fleet, &[]).unwrap();
                let moved = outline
                    .moves
                    .iter()
                    .fold(map.no_keys(), |all, m| all.union(&m.keys));
                assert_eq!(moved, scenario.moving, "{operation} {strategy}");
            }
        }
    }

    fn info(name: &str) -> plans::fleet::ShardInfo {
        plans::fleet::ShardInfo {
            name: name.into(),
            number: 1,
            labels: Default::default(),
            capacity: 100,
            space: None,
        }
    }
}
