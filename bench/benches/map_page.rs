//! Measures how long the server takes for the page of a map with a million ranges on ten thousand shards, over the
//! store in memory: the whole page, and a part of the map.

use controller_client::client;
use criterion::{Criterion, criterion_group, criterion_main};
use orchestrator::access::AccessRule;
use orchestrator::controller::{Controller, ControllerSettings};
use orchestrator::store::memory::MemoryStore;
use orchestrator::store::{MapStore, NewShard, ShardStore, Store};
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};
use reqwest::redirect::Policy;
use std::sync::Arc;
use tokio::runtime::Runtime;

const MAPPINGS: i64 = 1_000_000;
const SHARDS: i64 = 10_000;
/// The most bytes that the page may have.
const MAX_PAGE: usize = 500_000;

fn shard(number: i64) -> ShardName {
    ShardName(format!("s{:05}", number % SHARDS))
}

fn map(incarnation: &str) -> ShardMap {
    let mapping = |number: i64| Mapping {
        keys: KeySet::range(
            Some(Key::Int(number * 10)),
            Some(Key::Int(number * 10 + 10)),
        ),
        shard: shard(number * 7_919),
        state: MappingState::Active,
    };
    ShardMap {
        name: MapName::from("m"),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: incarnation.to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: (0..MAPPINGS).map(mapping).collect(),
    }
}

/// Starts a controller with the map, and returns its URL.
async fn serve() -> anyhow::Result<String> {
    let store = Arc::new(MemoryStore::new());
    for number in 0..SHARDS {
        let new = NewShard::plain(shard(number), "host=x".to_owned());
        store.add_shard(&new).await?;
    }
    store.create_map(&map(store.incarnation()), "bench").await?;
    let controller = Controller::new(store, ControllerSettings::default());
    let listener = orchestrator::api::listen("127.0.0.1:0".parse()?, AccessRule::Open).await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(orchestrator::server::serve(listener, controller, None));
    Ok(url)
}

fn pages(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let url = runtime.block_on(serve()).expect("a server");
    let http = client(Policy::default(), None).expect("a client");
    let mut group = criterion.benchmark_group("page of a map of a million ranges on 10,000 shards");
    group.sample_size(20);
    for (name, query) in [
        ("whole", ""),
        ("part", "?part=0-99"),
        ("piece", "?piece=500000"),
    ] {
        let page = || async {
            let answer = http
                .get(format!("{url}/maps/m{query}"))
                .send()
                .await
                .expect("an answer");
            assert!(answer.status().is_success(), "{}", answer.status());
            answer.text().await.expect("an answer")
        };
        let size = runtime.block_on(page()).len();
        assert!(size < MAX_PAGE, "{name}: {size} bytes");
        group.bench_function(name, |bencher| bencher.iter(|| runtime.block_on(page())));
    }
    group.finish();
}

criterion_group!(benches, pages);
criterion_main!(benches);
