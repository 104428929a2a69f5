//! A server over the store in memory, and migrations put into any state.

#[path = "probes.rs"]
pub(crate) mod probes;

use orchestrator::access::AccessRule;
use orchestrator::api;
use orchestrator::controller::{Controller, ControllerSettings};
use orchestrator::dashboard;
use orchestrator::store::memory::MemoryStore;
use orchestrator::store::{
    MapStore, MigrationChange, MigrationStore, NewEvent, NewOperation, NewShard, ShardStore,
    Snapshot, Store,
};
use plans::failure::{Failure, RetryClass};
use plans::graph::{StepGraph, StepNode};
use plans::id::{MapName, MapVersion, MigrationId, ShardName, StepId};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::plan::{API_VERSION, After, Estimate, Move, Plan, PlannedMove, TargetState, Until};
use plans::request::Mode;
use plans::shard_map::{MapSettings, Mapping, MappingState, Sequences, ShardMap, Strategy};
use plans::step::{FORWARD, OFFLINE, StepKind};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// A server over some store, whose controller decides nothing by itself, so that every state stays.
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) controller: Controller,
    pub(crate) http: Client,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Served {
    /// Its controller leads, and waits so long for agents.
    pub(crate) async fn over(store: Arc<dyn Store>, inspection_wait: Duration) -> Self {
        let settings = ControllerSettings {
            inspection_wait,
            leader_lease: Duration::from_secs(3600),
            ..ControllerSettings::default()
        };
        let controller = Controller::new(store, settings);
        controller.advertise("http://this");
        controller.campaign().await.unwrap();
        let listener = api::listen("127.0.0.1:0".parse().unwrap(), AccessRule::Open)
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let routes = api::routes(controller.clone()).merge(dashboard::routes(controller.clone()));
        let app = api::guarded(
            routes,
            &controller,
            address,
            orchestrator::dashboard::refused,
        );
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url: format!("http://{address}"),
            controller,
            http: controller_client::client(Policy::none(), None).unwrap(),
            task,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let url = format!("{}{path}", self.url);
        self.http.get(url).send().await.unwrap()
    }
}

/// A dashboard over the store in memory.
pub(crate) struct Dashboard {
    served: Served,
    pub(crate) store: Arc<MemoryStore>,
}

impl std::ops::Deref for Dashboard {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl Dashboard {
    /// Nothing is registered.
    pub(crate) async fn empty() -> Self {
        Self::waiting_for_agents(Duration::from_millis(20)).await
    }

    /// Nothing is registered, and what agents are asked for is awaited.
    pub(crate) async fn patient() -> Self {
        Self::waiting_for_agents(Duration::from_secs(60)).await
    }

    async fn waiting_for_agents(inspection_wait: Duration) -> Self {
        let store = Arc::new(MemoryStore::new());
        Self {
            served: Served::over(store.clone(), inspection_wait).await,
            store,
        }
    }

    /// The dashboard of another controller over the same store, which follows this one.
    pub(crate) async fn follower(&self) -> Self {
        let store = Arc::new(self.store.for_another_process());
        Self {
            served: Served::over(store.clone(), Duration::from_millis(20)).await,
            store,
        }
    }

    /// Shards `a` to `c`, and `map`.
    pub(crate) async fn with(map: impl FnOnce(ShardMap) -> ShardMap) -> Self {
        Self::empty().await.having(map).await
    }

    /// The same of this dashboard.
    pub(crate) async fn having(self, map: impl FnOnce(ShardMap) -> ShardMap) -> Self {
        let dashboard = self;
        for name in ["a", "b", "c"] {
            let shard = NewShard::plain(ShardName::from(name), "host=x".to_owned());
            dashboard.store.add_shard(&shard).await.unwrap();
        }
        let map = map(range_map(dashboard.store.incarnation()));
        let map = map.validated().unwrap();
        dashboard.store.create_map(&map, "eve").await.unwrap();
        dashboard
    }

    /// Map `tenants` with everything on `a`.
    pub(crate) async fn with_map() -> Self {
        Self::with(|map| map).await
    }

    /// Migration `m1`, changed by `edit`.
    pub(crate) async fn with_migration(edit: impl FnOnce(&mut Snapshot)) -> Self {
        let dashboard = Self::with_map().await;
        dashboard
            .submit("m1", plan(dashboard.store.incarnation()))
            .await;
        dashboard.edit("m1", edit).await;
        dashboard
    }

    /// Operation `m1` of three moves; `m2` comes after `m1`, `m3` is offline.
    pub(crate) async fn with_operation() -> Self {
        Self::with_map().await.having_operation().await
    }

    /// The same of this dashboard.
    pub(crate) async fn having_operation(self) -> Self {
        let dashboard = self;
        let mut plan = plan(dashboard.store.incarnation());
        let keys = [
            (Some(501), Some(600)),
            (Some(600), Some(700)),
            (Some(700), None),
        ];
        let moves = ["m1", "m2", "m3"].into_iter().zip(keys);
        plan.moves = moves
            .map(|(id, (from, to))| planned(id, from, to))
            .collect();
        plan.moves[1].after = vec![After {
            id: "m1".to_owned(),
            until: Until::Finished,
        }];
        plan.moves[2].moving.target = ShardName::from("c");
        plan.moves[2].mode = Mode::Offline;
        plan.moves[2].graph = graph(&OFFLINE);
        plan.notes = vec!["shard a 1.8x over <b>".to_owned()];
        dashboard.submit("m1", plan.with_hash()).await;
        dashboard
    }

    pub(crate) async fn submit(&self, id: &str, plan: Plan) {
        let new = NewOperation {
            id: MigrationId::from(id),
            map_version: plan.map_version,
            plan,
            by: "eve".to_owned(),
            at: chrono::Utc::now(),
            queue: false,
            override_reason: None,
        };
        self.store.submit(&new).await.unwrap();
    }

    /// Puts a migration into another state.
    pub(crate) async fn edit(&self, id: &str, edit: impl FnOnce(&mut Snapshot)) {
        self.record(id, Vec::new(), edit).await;
    }

    /// Puts a migration into another state, with these lines of its journal.
    pub(crate) async fn record(
        &self,
        id: &str,
        events: Vec<NewEvent>,
        edit: impl FnOnce(&mut Snapshot),
    ) {
        change(&*self.store, id, events, edit).await;
    }

    /// The API's answer, which must be there.
    pub(crate) async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path).await).unwrap()
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
        self.load("m1").await
    }

    pub(crate) async fn load(&self, id: &str) -> Snapshot {
        let id = MigrationId::from(id);
        self.store.load(&id).await.unwrap().unwrap()
    }
}

/// Puts a migration into another state, with these lines of its journal.
pub(crate) async fn change(
    store: &dyn Store,
    id: &str,
    events: Vec<NewEvent>,
    edit: impl FnOnce(&mut Snapshot),
) {
    let mut snapshot = store.load(&MigrationId::from(id)).await.unwrap().unwrap();
    let from_revision = snapshot.migration.revision;
    edit(&mut snapshot);
    let change = MigrationChange {
        plan_changed: false,
        from_revision,
        migration: snapshot.migration,
        steps: snapshot.steps,
        lease_until: snapshot.lease_until,
        events,
    };
    assert!(store.commit(&change).await.unwrap());
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

pub(crate) fn range_map(incarnation: &str) -> ShardMap {
    ShardMap {
        name: MapName::from("tenants"),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: incarnation.to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: vec![mapping(KeySet::range(None, None), "a")],
    }
}

pub(crate) fn mapping(keys: KeySet, shard: &str) -> Mapping {
    Mapping {
        keys,
        shard: ShardName::from(shard),
        state: MappingState::Active,
    }
}

/// Half of 64 virtual shards on `a`, half on `b`.
pub(crate) fn hash_map(map: ShardMap) -> ShardMap {
    ShardMap {
        strategy: Strategy::Hash,
        buckets: 64,
        mappings: vec![
            mapping(KeySet::buckets(64, 0, 32), "a"),
            mapping(KeySet::buckets(64, 32, 64), "b"),
        ],
        ..map
    }
}

/// 150 tenants on `a`, one with a dangerous name on `b`.
pub(crate) fn list_map(map: ShardMap) -> ShardMap {
    let tenants = (0..150).map(|n| Key::Text(format!("tenant-{n:03}")));
    ShardMap {
        strategy: Strategy::List,
        key: vec![KeyType::Text],
        mappings: vec![
            mapping(KeySet::list(tenants), "a"),
            mapping(KeySet::list([Key::from("<i>")]), "b"),
        ],
        ..map
    }
}

fn graph(kinds: &[StepKind]) -> StepGraph {
    let id = |index: usize| StepId::from(kinds[index].name());
    let nodes = kinds.iter().enumerate().map(|(index, kind)| StepNode {
        id: id(index),
        kind: *kind,
        after: index.checked_sub(1).map(id).into_iter().collect(),
    });
    StepGraph::new(nodes.collect()).unwrap()
}

/// Moves some keys from `a` to `b`.
pub(crate) fn planned(id: &str, from: Option<i64>, to: Option<i64>) -> PlannedMove {
    PlannedMove {
        id: id.to_owned(),
        after: Vec::new(),
        why: format!("shard a carries too much for {id}"),
        mode: Mode::Online,
        target: TargetState::Live,
        drop_tables: false,
        schema_fingerprint: "f1".to_owned(),
        moving: Move {
            source: ShardName::from("a"),
            target: ShardName::from("b"),
            keys: KeySet::range(from.map(Key::Int), to.map(Key::Int)),
            tables: Vec::new(),
        },
        graph: graph(&FORWARD),
        estimate: Estimate::default(),
    }
}

/// Moves the keys from 501 on from `a` to `b`.
pub(crate) fn plan(incarnation: &str) -> Plan {
    Plan {
        api_version: API_VERSION.to_owned(),
        operation: "split".to_owned(),
        map: MapName::from("tenants"),
        map_version: MapVersion(1),
        incarnation: incarnation.to_owned(),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        sequences: Sequences::Stride,
        ignore: Vec::new(),
        options: plans::request::Options::default(),
        moves: vec![planned("m1", Some(501), None)],
        estimate: Estimate::default(),
        notes: Vec::new(),
        findings: Vec::new(),
        trials: Vec::new(),
        hash: String::new(),
    }
    .with_hash()
}
