//! Measures how long an application needs to find the shard of a key (`Map::shard_for`) in a map of a million mappings
//! or keys, which the client has read from a controller.
//!
//! The keys are looked up in random order, so that the processor's caches and predictions do not help. The benchmark
//! prints the median of many batches, and then criterion's own figures.

use axum::Router;
use axum::routing::get;
use client::{Map, Options, ShardAccess};
use criterion::{Criterion, Throughput};
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The number of mappings of the range map, and of keys of the list map.
const SIZE: i64 = 1_000_000;
/// The number of keys in each range.
const WIDTH: i64 = 10;
const SHARDS: i64 = 64;
/// The number of lookups that are timed together. It is so small that most batches are not interrupted by another
/// program.
const BATCH: usize = 500;
const BATCHES: usize = 4_000;

fn shard(number: i64) -> ShardName {
    ShardName(format!("shard-{:02}", number % SHARDS))
}

fn mapping(keys: KeySet, shard: ShardName) -> Mapping {
    Mapping {
        keys,
        shard,
        state: MappingState::Active,
    }
}

/// Returns the mappings of the range map. Adjacent ranges are on different shards.
fn ranges() -> Vec<Mapping> {
    let key = |number: i64| Some(Key::Int(number * WIDTH));
    let range = |number| mapping(KeySet::range(key(number), key(number + 1)), shard(number));
    (0..SIZE).map(range).collect()
}

fn lists() -> Vec<Mapping> {
    let of = |number: i64| (0..SIZE).filter(move |key| key % SHARDS == number);
    let list = |number| mapping(KeySet::list(of(number).map(Key::Int)), shard(number));
    (0..SHARDS).map(list).collect()
}

fn map(strategy: Strategy, mappings: Vec<Mapping>) -> ShardMap {
    ShardMap {
        name: MapName::from("m"),
        strategy,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: "bench".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings,
    }
}

/// Connects a client to a controller that serves `map` and never reports a change.
async fn connect_client(map: ShardMap) -> anyhow::Result<Map> {
    let body = axum::body::Bytes::from(serde_json::to_vec(&map)?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let routes = Router::new()
        .route("/api/v1/maps/{name}", get(async move || body))
        .route(
            "/api/v1/maps/{name}/changes",
            get(std::future::pending::<()>),
        );
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let access = ShardAccess::fixed(HashMap::new());
    Ok(Map::connect_with(&url, &map.name, access, Options::default()).await?)
}

/// Returns keys below `all` in random order.
fn random_keys(all: i64) -> Vec<i64> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        i64::try_from(state >> 1).unwrap_or_default() % all
    };
    std::iter::repeat_with(next).take(BATCH * 320).collect()
}

/// Returns the median duration of one lookup in nanoseconds.
fn median_ns(map: &Map, keys: &[i64]) -> f64 {
    let mut batches: Vec<Duration> = Vec::with_capacity(BATCHES);
    for batch in keys.chunks_exact(BATCH).cycle().take(BATCHES) {
        let begun = Instant::now();
        for key in batch {
            black_box(map.shard_for(black_box(*key)).is_ok());
        }
        batches.push(begun.elapsed());
    }
    batches.sort();
    let middle = batches.get(BATCHES / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e9 / f64::from(u32::try_from(BATCH).unwrap_or(1))
}

fn main() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let mut criterion = Criterion::default().configure_from_args();
    let kinds = [
        ("ranges", map(Strategy::Range, ranges()), SIZE * WIDTH),
        ("list", map(Strategy::List, lists()), SIZE),
    ];
    for (name, map, all) in kinds {
        let map = runtime.block_on(connect_client(map))?;
        let keys = random_keys(all);
        let lookup_ns = median_ns(&map, &keys);
        println!(
            "{name} of {SIZE}: {lookup_ns:.0} ns for one lookup, the median of {BATCHES} batches"
        );
        let mut group = criterion.benchmark_group("lookup in a million");
        group.throughput(Throughput::Elements(1));
        let mut next = keys.iter().cycle();
        group.bench_function(name, |bencher| {
            bencher.iter(|| map.shard_for(*next.next().unwrap_or(&0)).is_ok());
        });
        group.finish();
    }
    criterion.final_summary();
    Ok(())
}
