//! The load of a map: agents measure the shards, several at a time, and the counts of the clients are added.
//!
//! The answer only proposes moves. The operator plans them. The process keeps the last measurement of each map for the
//! dashboard; the store does not have it.

use super::counters::ClientCount;
use super::planning::{AT_ONCE, LoadQuery};
use super::{ControlError, Controller, clock};
use crate::store::ShardRecord;
use chrono::{DateTime, Utc};
use futures::stream::{StreamExt, TryStreamExt};
use plans::doctor::Finding;
use plans::fleet::ShardInfo;
use plans::id::{MapName, MapVersion, ShardName};
use plans::inspection::{ItemLoad, Load};
use plans::key::Key;
use plans::planner::{HotKey, hot_keys};
use plans::request::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What to measure.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadRequest {
    /// The measure of the load. Default: writes if `watch_seconds` is above 0, otherwise rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Measure>,
    /// For how many seconds to count writes in the log (WAL) of the shards, at most 3600. 0: not at all.
    pub watch_seconds: u32,
    /// The largest number of hot keys in the answer, 1 to 1000. Default: 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hottest: Option<u32>,
    /// For a range map: into how many items to divide the keys of each shard, 1 to 4096. Default: 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
}

/// The load of a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapLoad {
    /// The map.
    pub map: MapName,
    /// The version of the map.
    pub version: MapVersion,
    /// The measure of the load.
    pub by: Measure,
    /// For how long writes were counted, in milliseconds.
    pub watched_ms: u64,
    /// True if rows and bytes are estimated from samples.
    pub sampled: bool,
    /// The load of each shard, ordered by name.
    pub shards: Vec<ShardLoad>,
    /// The hot keys of all shards, the hottest first.
    pub hottest: Vec<HotKeyLoad>,
    /// Keys whose own load exceeds the fair share of a whole shard, with a proposal for each.
    pub proposals: Vec<IsolationProposal>,
    /// The load of each virtual shard, range or key.
    pub items: Vec<ShardItem>,
    /// The uses of keys that client libraries counted in the last minute, the most used first.
    pub counted: Vec<ClientCount>,
    /// What could not be measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The load of one shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardLoad {
    /// The shard.
    pub shard: ShardName,
    /// The capacity of the shard: how much load it should carry, relative to the other shards.
    pub capacity: u32,
    /// The estimated number of rows.
    pub rows: u64,
    /// The estimated size, in bytes.
    pub bytes: u64,
    /// The number of row changes that were counted.
    pub writes: u64,
    /// The number of row changes per second.
    pub writes_per_second: f64,
    /// The load of the shard, in the unit of the measure.
    pub cost: u64,
    /// The part of the total load that corresponds to the shard's part of the total capacity.
    pub fair_share: u64,
    /// The load of the shard divided by its fair share; 1 if the load is fair.
    pub of_fair_share: f64,
}

/// The load of one key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotKeyLoad {
    /// The key.
    pub key: Key,
    /// The shard that owns the key.
    pub shard: ShardName,
    /// The estimated number of rows.
    pub rows: u64,
    /// The number of row changes that were counted.
    pub writes: u64,
    /// The number of row changes per second.
    pub writes_per_second: f64,
}

/// A key that should be moved to a shard of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationProposal {
    /// The key.
    pub key: Key,
    /// The shard that owns the key.
    pub shard: ShardName,
    /// The load of the key, in the unit of the measure.
    pub cost: u64,
    /// The fair share of the shard.
    pub fair_share: u64,
    /// What to do, as text.
    pub proposal: String,
}

/// The load of a virtual shard, a range or a key, with its shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardItem {
    /// The shard that owns it.
    pub shard: ShardName,
    /// The keys and their load.
    #[serde(flatten)]
    pub item: ItemLoad,
}

/// A measurement of a map, and when it ended.
#[derive(Debug, Clone)]
pub struct MeasuredLoad {
    /// When the measurement ended.
    pub at: DateTime<Utc>,
    /// What was measured.
    pub load: Arc<MapLoad>,
}

/// The last measurement of each map. The memory of the process holds it.
#[derive(Debug, Default)]
pub(super) struct MeasuredLoads(Mutex<BTreeMap<MapName, MeasuredLoad>>);

impl MeasuredLoads {
    fn keep(&self, load: &MapLoad) {
        let measured = MeasuredLoad {
            at: clock(),
            load: Arc::new(load.clone()),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(load.map.clone(), measured);
    }

    fn last(&self, map: &MapName) -> Option<MeasuredLoad> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(map).cloned()
    }
}

impl Controller {
    /// Returns the last measurement of a map by this process, if there was one.
    #[must_use]
    pub fn last_load(&self, map: &MapName) -> Option<MeasuredLoad> {
        self.inner.loads.last(map)
    }

    /// Keeps a measurement as the last one of its map.
    pub fn keep_load(&self, load: &MapLoad) {
        self.inner.loads.keep(load);
        self.announce();
    }

    /// Measures every shard that owns keys of a map, several at a time.
    ///
    /// # Errors
    /// [`ControlError::NoTables`], no agent is connected, or an agent reported an error about a shard.
    pub async fn map_load(
        &self,
        name: &MapName,
        request: LoadRequest,
    ) -> Result<MapLoad, ControlError> {
        let map = self.bare_map(name).await?;
        let watched = request.watch_seconds > 0;
        let default_measure = if watched {
            Measure::Writes
        } else {
            Measure::Rows
        };
        let by = request.by.unwrap_or(default_measure);
        let query = LoadQuery {
            by: &by,
            watch_seconds: request.watch_seconds.min(3600),
            items: request.items.unwrap_or(64).clamp(1, 4096),
            hottest: request.hottest.unwrap_or(10).clamp(1, 1000),
        };
        let owners = map.shards();
        let measured = owners
            .iter()
            .map(|shard| self.measure(shard, &map, &map.settings, query));
        let measured = futures::stream::iter(measured.collect::<Vec<_>>());
        let loads: Vec<Load> = measured.buffered(AT_ONCE).try_collect().await?;
        let shards = self.inner.store.shards().await?;
        let fleet: Vec<ShardInfo> = shards.iter().map(ShardRecord::info).collect();
        let proposals = hot_keys(&map, &fleet, &loads, &by)
            .into_iter()
            .map(proposal);
        let mut hottest = hottest(&loads, watched);
        hottest.truncate(usize::try_from(query.hottest).unwrap_or(usize::MAX));
        let mut findings: Vec<Finding> = Vec::new();
        for finding in loads.iter().flat_map(|load| &load.findings) {
            if !findings.contains(finding) {
                findings.push(finding.clone());
            }
        }
        let load = MapLoad {
            map: map.name.clone(),
            version: map.version,
            watched_ms: loads.iter().map(|load| load.watched_ms).max().unwrap_or(0),
            sampled: loads.iter().any(|load| load.sampled),
            shards: shard_loads(&loads, &fleet, &by),
            hottest,
            proposals: proposals.collect(),
            items: items(loads),
            counted: self.counted(name),
            findings,
            by,
        };
        self.keep_load(&load);
        Ok(load)
    }
}

fn proposal(hot: HotKey) -> IsolationProposal {
    IsolationProposal {
        key: hot.key,
        shard: hot.shard,
        cost: hot.cost,
        fair_share: hot.fair,
        proposal: hot.proposal,
    }
}

/// Returns the items of all shards.
fn items(loads: Vec<Load>) -> Vec<ShardItem> {
    let items = loads.into_iter().flat_map(|load| {
        let shard = load.shard;
        let of_shard = move |item| ShardItem {
            shard: shard.clone(),
            item,
        };
        load.items.into_iter().map(of_shard)
    });
    items.collect()
}

/// Returns the hot keys of all shards, the hottest first.
fn hottest(loads: &[Load], watched: bool) -> Vec<HotKeyLoad> {
    let keys = loads.iter().flat_map(|load| {
        load.hottest.iter().map(|hot| HotKeyLoad {
            key: hot.key.clone(),
            shard: load.shard.clone(),
            rows: hot.rows,
            writes: hot.writes,
            writes_per_second: per_second(hot.writes, load.watched_ms),
        })
    });
    let mut hottest: Vec<HotKeyLoad> = keys.collect();
    let heat = |hot: &HotKeyLoad| match watched {
        true => (hot.writes, hot.rows),
        false => (hot.rows, hot.writes),
    };
    hottest.sort_by(|a, b| heat(b).cmp(&heat(a)).then_with(|| a.key.cmp(&b.key)));
    hottest
}

/// Returns the load of each shard, with its fair share.
fn shard_loads(loads: &[Load], fleet: &[ShardInfo], by: &Measure) -> Vec<ShardLoad> {
    let capacity = |load: &Load| {
        let mut shards = fleet.iter();
        shards
            .find(|info| info.name == load.shard)
            .map_or(0, |info| info.capacity)
    };
    let sum =
        |load: &Load, figure: &dyn Fn(&ItemLoad) -> u64| load.items.iter().map(figure).sum::<u64>();
    let cost = |load: &Load| sum(load, &|item| item.cost(by));
    let total: u128 = loads.iter().map(|load| u128::from(cost(load))).sum();
    let total_capacity: u128 = loads.iter().map(|load| u128::from(capacity(load))).sum();
    let mut shards: Vec<ShardLoad> = loads
        .iter()
        .map(|load| {
            let fair = (total * u128::from(capacity(load))).div_ceil(total_capacity.max(1));
            let fair = u64::try_from(fair).unwrap_or(u64::MAX);
            let writes = sum(load, &|item| item.writes);
            ShardLoad {
                shard: load.shard.clone(),
                capacity: capacity(load),
                rows: sum(load, &|item| item.rows),
                bytes: sum(load, &|item| item.bytes),
                writes,
                writes_per_second: per_second(writes, load.watched_ms),
                cost: cost(load),
                fair_share: fair,
                of_fair_share: cost(load) as f64 / (fair.max(1)) as f64,
            }
        })
        .collect();
    shards.sort_by(|a, b| a.shard.cmp(&b.shard));
    shards
}

fn per_second(count: u64, window_ms: u64) -> f64 {
    match window_ms {
        0 => 0.0,
        window_ms => count as f64 * 1000.0 / window_ms as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::inspection::KeyLoad;
    use plans::key_set::KeySet;

    fn load(shard: &str, writes: &[(i64, u64)]) -> Load {
        let key = |key: i64| Key::Int(key);
        Load {
            shard: ShardName::from(shard),
            items: writes
                .iter()
                .map(|(at, writes)| ItemLoad {
                    keys: KeySet::range(Some(key(*at)), Some(key(at + 1))),
                    rows: 1,
                    bytes: 10,
                    writes: *writes,
                    weight: 0,
                })
                .collect(),
            hottest: writes
                .iter()
                .map(|(at, writes)| KeyLoad {
                    key: key(*at),
                    rows: 1,
                    writes: *writes,
                })
                .collect(),
            watched_ms: 2000,
            sampled: false,
            findings: Vec::new(),
        }
    }

    fn info(name: &str, number: i32, capacity: u32) -> ShardInfo {
        ShardInfo {
            name: ShardName::from(name),
            number,
            labels: Default::default(),
            capacity,
            space: None,
        }
    }

    #[test]
    fn shares_follow_capacity_and_the_hottest_of_all_shards_comes_first() {
        let loads = [
            load("a", &[(1, 50), (2, 10)]),
            load("b", &[(9, 140), (8, 100)]),
        ];
        let fleet = [info("a", 1, 100), info("b", 2, 200)];
        let shards = shard_loads(&loads, &fleet, &Measure::Writes);
        let costs: Vec<_> = shards.iter().map(|s| (s.cost, s.fair_share)).collect();
        assert_eq!(costs, [(60, 100), (240, 200)]);
        assert!((shards[1].of_fair_share - 1.2).abs() < 1e-9);
        assert!((shards[0].writes_per_second - 30.0).abs() < 1e-9);
        let keys: Vec<_> = hottest(&loads, true)
            .into_iter()
            .map(|hot| hot.key)
            .collect();
        assert_eq!(keys, [9, 8, 1, 2].map(Key::Int));
    }
}
