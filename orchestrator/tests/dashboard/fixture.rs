//! A server over the store in memory, and migrations put into any state.

use orchestrator::api;
use orchestrator::controller::{Controller, Settings};
use orchestrator::dashboard;
use orchestrator::store::memory::MemoryStore;
use orchestrator::store::{Change, NewMigration, Snapshot, Store};
use plans::failure::{Failure, RetryClass};
use plans::graph::{StepGraph, StepNode};
use plans::id::{MapName, MapVersion, MigrationId, ShardName, StepId};
use plans::key_set::{Key, KeyRange, KeySet, KeyType};
use plans::plan::{API_VERSION, Estimate, Move, Plan};
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use plans::step::FORWARD;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// A dashboard whose controller decides nothing by itself, so that every state stays.
pub(crate) struct Dashboard {
    pub(crate) url: String,
    pub(crate) store: Arc<MemoryStore>,
    http: Client,
    task: JoinHandle<()>,
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Dashboard {
    /// Nothing is registered.
    pub(crate) async fn empty() -> Self {
        let store = Arc::new(MemoryStore::new());
        let settings = Settings {
            survey_wait: Duration::from_millis(20),
            ..Settings::default()
        };
        let controller = Controller::new(store.clone(), settings);
        let listener = api::listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = api::routes(controller.clone()).merge(dashboard::routes(controller));
        let app = api::guarded(routes, address);
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url: format!("http://{address}"),
            store,
            http: Client::builder().redirect(Policy::none()).build().unwrap(),
            task,
        }
    }

    /// Shards `a` and `b`, map `tenants` with everything on `a`.
    pub(crate) async fn with_map() -> Self {
        let dashboard = Self::empty().await;
        for name in ["a", "b"] {
            let name = ShardName::from(name);
            dashboard.store.add_shard(&name, "host=x").await.unwrap();
        }
        let map = map(dashboard.store.incarnation());
        dashboard.store.create_map(&map, "eve").await.unwrap();
        dashboard
    }

    /// Migration `m1`, changed by `edit`.
    pub(crate) async fn with_migration(edit: impl FnOnce(&mut Snapshot)) -> Self {
        let dashboard = Self::with_map().await;
        let new = NewMigration {
            id: MigrationId::from("m1"),
            plan: plan(dashboard.store.incarnation()),
            by: "eve".to_owned(),
            at: chrono::Utc::now(),
        };
        let mut snapshot = dashboard.store.submit(&new).await.unwrap();
        let from_revision = snapshot.migration.revision;
        edit(&mut snapshot);
        let change = Change {
            from_revision,
            migration: snapshot.migration,
            steps: snapshot.steps,
            lease_until: snapshot.lease_until,
            events: Vec::new(),
        };
        assert!(dashboard.store.commit(&change).await.unwrap());
        dashboard
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let url = format!("{}{path}", self.url);
        self.http.get(url).send().await.unwrap()
    }

    /// The page's HTML, which must be there.
    pub(crate) async fn page(&self, path: &str) -> String {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.unwrap()
    }

    /// A form on its way, as a browser on this machine sends it.
    pub(crate) fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let pairs = fields.iter();
        let pairs = pairs.map(|(name, value)| format!("{name}={}", encoded(value)));
        let body: Vec<String> = pairs.collect();
        self.http
            .post(format!("{}{path}", self.url))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&"))
    }

    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let form = self.form(path, fields).header("origin", &self.url);
        form.send().await.unwrap()
    }

    pub(crate) async fn migration(&self) -> Snapshot {
        let id = MigrationId::from("m1");
        self.store.load(&id).await.unwrap().unwrap()
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub(crate) fn failure() -> Failure {
    Failure {
        code: "connect.refused".to_owned(),
        message: "shard b refused <script>alert(1)</script>".to_owned(),
        hint: Some("start the server & try again".to_owned()),
        retry: RetryClass::None,
    }
}

fn map(incarnation: &str) -> ShardMap {
    ShardMap {
        name: MapName::from("tenants"),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        version: MapVersion(1),
        incarnation: incarnation.to_owned(),
        migration: None,
        mappings: vec![Mapping {
            keys: KeySet::Range(KeyRange::default()),
            shard: ShardName::from("a"),
            state: MappingState::Active,
        }],
    }
}

/// Moves the keys from 501 on from `a` to `b`.
pub(crate) fn plan(incarnation: &str) -> Plan {
    let id = |index: usize| StepId::from(FORWARD[index].name());
    let nodes = FORWARD.iter().enumerate().map(|(index, kind)| StepNode {
        id: id(index),
        kind: *kind,
        after: index.checked_sub(1).map(id).into_iter().collect(),
    });
    Plan {
        api_version: API_VERSION.to_owned(),
        operation: "split".to_owned(),
        map: MapName::from("tenants"),
        map_version: MapVersion(1),
        incarnation: incarnation.to_owned(),
        schema_fingerprint: "f1".to_owned(),
        moving: Move {
            source: ShardName::from("a"),
            target: ShardName::from("b"),
            keys: KeySet::Range(KeyRange {
                from: Some(Key::Int(501)),
                to: None,
            }),
            tables: Vec::new(),
        },
        options: plans::request::Options::default(),
        graph: StepGraph::new(nodes.collect()).unwrap(),
        estimate: Estimate {
            rows: 0,
            bytes: 0,
            write_stop_budget_ms: 2000,
        },
        findings: Vec::new(),
        hash: String::new(),
    }
    .sealed()
}
