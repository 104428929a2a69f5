//! Where the load of a map is: every shard measured side by side, and what its clients counted.
//!
//! Absent: moving anything; the answer proposes, the operator plans.

use super::counters::ClientCount;
use super::planning::{AT_ONCE, LoadQuery};
use super::{ControlError, Controller};
use crate::store::ShardRecord;
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

/// What to measure.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadRequest {
    /// What load is counted by; writes when they are watched, rows otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Measure>,
    /// Seconds for which the log is watched; 0: not at all.
    pub watch_seconds: u32,
    /// How many of the hottest keys are named; 10 unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hottest: Option<u32>,
    /// Into how many items a range map's keys are divided on each shard; 64 unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
}

/// The load of a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapLoad {
    /// The map.
    pub map: MapName,
    /// Its version.
    pub version: MapVersion,
    /// What load is counted by.
    pub by: Measure,
    /// Milliseconds for which the log was watched.
    pub watched_ms: u64,
    /// True when rows and bytes come from samples.
    pub sampled: bool,
    /// Shards by name.
    pub shards: Vec<ShardLoad>,
    /// The hottest keys of all shards, the hottest first.
    pub hottest: Vec<HotKeyLoad>,
    /// Keys that alone carry more than their shard's fair share, and what to do about each.
    pub proposals: Vec<IsolationProposal>,
    /// Virtual shards, ranges or keys of all shards.
    pub items: Vec<ShardItem>,
    /// Uses per key that client libraries counted over the last minute, the most used first.
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
    /// How much load it should carry, relative to the others.
    pub capacity: u32,
    /// Rows, estimated.
    pub rows: u64,
    /// Bytes, estimated.
    pub bytes: u64,
    /// Row changes seen.
    pub writes: u64,
    /// Row changes per second.
    pub writes_per_second: f64,
    /// Its load by what load is counted by.
    pub cost: u64,
    /// Its part of all shards' load, by capacity.
    pub fair_share: u64,
    /// Its load as a multiple of the fair share.
    pub of_fair_share: f64,
}

/// The load of one key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotKeyLoad {
    /// The key.
    pub key: Key,
    /// The shard where it is.
    pub shard: ShardName,
    /// Rows, estimated.
    pub rows: u64,
    /// Row changes seen.
    pub writes: u64,
    /// Row changes per second.
    pub writes_per_second: f64,
}

/// A key that should have a shard of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationProposal {
    /// The key.
    pub key: Key,
    /// The shard where it is.
    pub shard: ShardName,
    /// Its load.
    pub cost: u64,
    /// The fair share of its shard.
    pub fair_share: u64,
    /// The command.
    pub proposal: String,
}

/// A virtual shard, range or key and where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardItem {
    /// The shard.
    pub shard: ShardName,
    /// Its load.
    #[serde(flatten)]
    pub item: ItemLoad,
}

impl Controller {
    /// Measures every shard that owns keys of a map, side by side.
    ///
    /// # Errors
    /// [`ControlError::NoTables`], no agent, or what an agent says of a shard.
    pub async fn map_load(
        &self,
        name: &MapName,
        request: LoadRequest,
    ) -> Result<MapLoad, ControlError> {
        let map = self.map(name).await?;
        let watched = request.watch_seconds > 0;
        let usual = if watched {
            Measure::Writes
        } else {
            Measure::Rows
        };
        let by = request.by.unwrap_or(usual);
        let gauge = LoadQuery {
            by: &by,
            watch_seconds: request.watch_seconds.min(3600),
            items: request.items.unwrap_or(64).clamp(1, 4096),
            hottest: request.hottest.unwrap_or(10).clamp(1, 1000),
        };
        let owners = map.shards();
        let measured = owners
            .iter()
            .map(|shard| self.measure(shard, &map, &map.settings, gauge));
        let measured = futures::stream::iter(measured.collect::<Vec<_>>());
        let loads: Vec<Load> = measured.buffered(AT_ONCE).try_collect().await?;
        let shards = self.inner.store.shards().await?;
        let fleet: Vec<ShardInfo> = shards.iter().map(ShardRecord::info).collect();
        let proposals = hot_keys(&map, &fleet, &loads, &by)
            .into_iter()
            .map(proposal);
        let mut hottest = hottest(&loads, watched);
        hottest.truncate(usize::try_from(gauge.hottest).unwrap_or(usize::MAX));
        let mut findings: Vec<Finding> = Vec::new();
        for finding in loads.iter().flat_map(|load| &load.findings) {
            if !findings.contains(finding) {
                findings.push(finding.clone());
            }
        }
        Ok(MapLoad {
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
        })
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
    let whole: u128 = loads.iter().map(|load| u128::from(capacity(load))).sum();
    let mut shards: Vec<ShardLoad> = loads
        .iter()
        .map(|load| {
            let fair = (total * u128::from(capacity(load))).div_ceil(whole.max(1));
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
