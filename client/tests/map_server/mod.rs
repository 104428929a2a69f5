//! A stand-in for the controller: serves one map and its changes.

use axum::Router;
use axum::extract::State;
use axum::response::Json;
use axum::response::sse::{Event, Sse};
use axum::routing::get;
use futures::{Stream, StreamExt};
use plans::id::MapVersion;
use plans::key_set::{Key, KeyRange, KeySet, KeyType};
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::WatchStream;

/// Serves until it is dropped.
#[derive(Debug)]
pub(crate) struct MapServer {
    map: Arc<watch::Sender<ShardMap>>,
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl MapServer {
    pub(crate) async fn start(map: ShardMap) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let map = Arc::new(watch::Sender::new(map));
        let path = "/api/v1/maps/{name}";
        let router = Router::new()
            .route(path, get(current))
            .route(&format!("{path}/changes"), get(changes))
            .with_state(Arc::clone(&map));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { map, url, task }
    }

    /// Publishes the next version, in which `key` and above belong to `shard`.
    pub(crate) fn split_off(&self, source: &str, key: i64, shard: &str) -> MapVersion {
        let keys = KeySet::Range(KeyRange {
            from: Some(Key::Int(key)),
            to: None,
        });
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

/// All keys on `shard`.
pub(crate) fn whole(shard: &str) -> ShardMap {
    ShardMap {
        name: "tenants".into(),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        version: MapVersion(1),
        incarnation: "test".to_owned(),
        migration: None,
        mappings: vec![Mapping {
            keys: KeySet::Range(KeyRange::default()),
            shard: shard.into(),
            state: MappingState::Active,
        }],
    }
}
