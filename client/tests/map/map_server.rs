//! A server for tests in place of the controller: it serves one map and its changes, and stores the reports of load.

use axum::Router;
use axum::extract::State;
use axum::response::Json;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use futures::{Stream, StreamExt};
use plans::id::MapVersion;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::WatchStream;

/// The test server. It serves requests until this value is dropped.
#[derive(Debug)]
pub(crate) struct MapServer {
    map: Arc<watch::Sender<ShardMap>>,
    counters: Arc<watch::Sender<BTreeMap<i64, u64>>>,
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl MapServer {
    pub(crate) async fn start(map: ShardMap) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let map = Arc::new(watch::Sender::new(map));
        let counters = Arc::new(watch::Sender::new(BTreeMap::new()));
        let stored = Arc::clone(&counters);
        let path = "/api/v1/maps/{name}";
        let router = Router::new()
            .route(path, get(current))
            .route(&format!("{path}/changes"), get(changes))
            .with_state(Arc::clone(&map))
            .route(
                &format!("{path}/counters"),
                post(async move |Json(report): Json<Report>| {
                    assert_ne!(report.window_ms, 0);
                    stored.send_modify(|all| add_counts(all, report.counts));
                }),
            );
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            map,
            counters,
            url,
            task,
        }
    }

    /// Returns the reported uses of each key when their sum is at least `uses`.
    pub(crate) async fn counters(&self, uses: u64) -> BTreeMap<i64, u64> {
        let mut counters = self.counters.subscribe();
        let all = counters.wait_for(|all| all.values().sum::<u64>() >= uses);
        all.await.unwrap().clone()
    }

    /// Publishes the next version, in which `key` and above belong to `shard`.
    pub(crate) fn split_off(&self, source: &str, key: i64, shard: &str) -> MapVersion {
        let keys = KeySet::range(Some(Key::Int(key)), None);
        let next = self
            .map
            .borrow()
            .with_moved(&keys, &source.into(), &shard.into(), &"m1".into())
            .unwrap();
        let version = next.version;
        self.map.send_replace(next);
        version
    }
}

impl Drop for MapServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The body of a report of load.
#[derive(Deserialize)]
struct Report {
    counts: Vec<(i64, u64)>,
    window_ms: u64,
}

fn add_counts(all: &mut BTreeMap<i64, u64>, counts: Vec<(i64, u64)>) {
    for (key, uses) in counts {
        *all.entry(key).or_default() += uses;
    }
}

type Shared = State<Arc<watch::Sender<ShardMap>>>;

async fn current(State(map): Shared) -> Json<ShardMap> {
    let map = map.borrow().clone();
    Json(map)
}

async fn changes(State(map): Shared) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = WatchStream::new(map.subscribe()).map(|map| {
        let id = map.version.to_string();
        Ok(Event::default().event("map").id(id).json_data(map).unwrap())
    });
    Sse::new(events)
}

/// Returns a map in which `shard` owns all keys.
pub(crate) fn map_of_one_shard(shard: &str) -> ShardMap {
    ShardMap {
        name: "tenants".into(),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: "test".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: vec![Mapping {
            keys: KeySet::range(None, None),
            shard: shard.into(),
            state: MappingState::Active,
        }],
    }
}
