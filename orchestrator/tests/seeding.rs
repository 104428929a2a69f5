//! Migrations whose target is a standby of the source: registration, the promoted identity, aborts and refusals.
//!
//! An agent that touches no shard reports the servers that a test sets.

mod endings;
mod lost;
mod refusals;
mod registry;

use crate::fixture::{Agent, Database, Server, failure, quick, surveyed};
use plans::failure::{Failure, RetryClass};
use plans::id::MigrationId;
use plans::identity::DatabaseIdentity;
use plans::inspection::identify::Identified;
use plans::inspection::inventory::{About, Inventory, ObservedMove};
use plans::inspection::{Inspected, Inspection};
use plans::plan::TargetState;
use plans::step::StepKind;
use plans::step::promote::Promoted;
use plans::wire::{Dispatch, Outcome};
use reqwest::Response;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Mutex;

/// A controller, its agent, and the server of each shard as the agent finds it.
struct Stage {
    server: Server,
    agent: Agent,
    servers: Mutex<BTreeMap<String, DatabaseIdentity>>,
    /// The rows of migrations on each shard.
    moves: Mutex<BTreeMap<&'static str, ObservedMove>>,
}

/// The database of shard `a`, on timeline 1.
fn primary() -> DatabaseIdentity {
    DatabaseIdentity {
        system: "7".to_owned(),
        timeline: 1,
        database: Some(5),
        id: Some("id-of-a".to_owned()),
        standby: false,
    }
}

/// A standby of shard `a`.
fn standby() -> DatabaseIdentity {
    DatabaseIdentity {
        id: None,
        standby: true,
        ..primary()
    }
}

/// The standby after its promotion by a migration, which has given it an id.
fn promoted() -> DatabaseIdentity {
    DatabaseIdentity {
        timeline: 2,
        id: Some("id-of-b".to_owned()),
        ..primary()
    }
}

impl Stage {
    /// Shard `a` owns all keys of map `tenants`; shard `b` is a standby of it.
    async fn new() -> Self {
        let server = Server::on(Database::new().await, quick()).await;
        let agent = server.agent("x", "x1");
        let stage = Self {
            server,
            agent,
            servers: Mutex::default(),
            moves: Mutex::default(),
        };
        // The controller identifies databases while an agent is connected.
        assert!(stage.agent.claim().await.is_none());
        stage.set("a", primary());
        stage.set("b", standby());
        assert_eq!(
            stage.add("a", "host=a dbname=app user=u").await.status(),
            201
        );
        assert_eq!(
            stage.add("b", "host=b dbname=app user=u").await.status(),
            201
        );
        let map = json!({"name": "tenants", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}]});
        assert_eq!(stage.server.post("/api/v1/maps", &map).await.status(), 201);
        stage
    }

    /// From now on the agent finds this server under the shard's connection string.
    fn set(&self, shard: &str, server: DatabaseIdentity) {
        self.servers
            .lock()
            .unwrap()
            .insert(shard.to_owned(), server);
    }

    async fn add(&self, name: &str, dsn: &str) -> Response {
        let shard = json!({"name": name, "dsn": dsn});
        self.during(self.server.post("/api/v1/shards", &shard))
            .await
    }

    /// Answers inspections until the request is answered.
    async fn during<T>(&self, request: impl Future<Output = T>) -> T {
        let inspect = async {
            loop {
                let task = self.agent.asked().await;
                self.agent.answer(&task, self.seen(&task.inspection)).await;
            }
        };
        tokio::select! {
            answer = request => answer,
            () = inspect => unreachable!("inspects for ever"),
        }
    }

    /// What the agent finds; it cannot examine tables.
    fn seen(&self, inspection: &Inspection) -> Result<Inspected, Failure> {
        let server = |shard: &str| self.servers.lock().unwrap()[shard].clone();
        Ok(match inspection {
            Inspection::Identify(task) => Inspected::Identified(Identified {
                identity: server(task.shard.name.as_str()),
                flushed: 1000,
                lacks: Vec::new(),
            }),
            Inspection::Inventory(task) => Inspected::Inventory(Box::new(Inventory {
                shard: task.shard.name.clone(),
                server: server(task.shard.name.as_str()),
                flushed: 1000,
                objects: Vec::new(),
                figures: None,
                activity: None,
                similar: Vec::new(),
                moves: self.rows(task.shard.name.as_str()),
                released_keys: Vec::new(),
                released_moves: Vec::new(),
            })),
            Inspection::Survey(_) => surveyed("f1", TargetState::Standby),
            _ => return Err(failure(RetryClass::None)),
        })
    }

    fn rows(&self, shard: &str) -> Vec<ObservedMove> {
        let moves = self.moves.lock().unwrap();
        moves.get(shard).cloned().into_iter().collect()
    }

    /// From now on the shards have these rows.
    fn set_rows<const N: usize>(&self, rows: [(&'static str, ObservedMove); N]) {
        *self.moves.lock().unwrap() = rows.into();
    }

    /// The answer to a request for which the agent inspects shards.
    async fn posted(&self, path: &str, body: &Value) -> Value {
        let response = self.during(self.server.post(path, body)).await;
        response.json().await.unwrap()
    }

    /// The status and the body of the answer to a request for a plan.
    async fn plan(&self, request: &str) -> (u16, Value) {
        let url = format!("{}/api/v1/plans", self.server.url);
        let sent = self.server.http.post(url).body(request.to_owned()).send();
        let response = self.during(sent).await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// A seeded split that was submitted.
    async fn submit(&self) -> MigrationId {
        let (status, plan) = self.plan(&split("seed: standby, cutover: automatic")).await;
        assert_eq!(status, 200, "{plan}");
        let response = self
            .during(self.server.post("/api/v1/migrations", &plan))
            .await;
        let status = response.status();
        let view: Value = response.json().await.unwrap();
        assert_eq!(status, 201, "{view}");
        MigrationId(view["id"].as_str().unwrap().to_owned())
    }

    /// Performs the step `promote`, which the agent has claimed.
    async fn promote(&self, dispatch: &Dispatch) {
        self.set("b", promoted());
        let output = json!(Promoted {
            target: promoted(),
            switch_point: "0/5000".to_owned(),
            unused_slot: Some("shard_b".to_owned()),
            rolled_back: 0,
        });
        let reported = self.agent.report(dispatch, Outcome::Done { output }).await;
        assert_eq!(reported, 200);
    }

    /// The registered identity of a shard.
    async fn registered(&self, shard: &str) -> DatabaseIdentity {
        let shard = self.server.json(&format!("/api/v1/shards/{shard}")).await;
        serde_json::from_value(shard["identity"].clone()).unwrap()
    }

    /// The findings of a probe of all shards.
    async fn reconcile(&self, body: &Value) -> Value {
        self.posted("/api/v1/fleet/reconcile", body).await
    }

    async fn set_replaced(&self, shard: &str) -> Response {
        let url = format!("{}/api/v1/shards/{shard}", self.server.url);
        let change = json!({"replaced": true, "reason": "created again"});
        let sent = self.server.http.patch(url).json(&change).send();
        self.during(sent).await.unwrap()
    }
}

/// A split of all keys from 100 on into shard `b`.
fn split(options: &str) -> String {
    crate::fixture::request(options)
}

/// The row of a migration on its source, with an open register.
fn source_row(migration: &str) -> ObservedMove {
    ObservedMove {
        migration: migration.into(),
        role: "source".to_owned(),
        epoch: 1,
        attempt: 0,
        map: "tenants".into(),
        map_version: 1,
        flipped: None,
        register: Some(0),
        guards: 4,
        owns: true,
        copied: false,
        about: Some(About {
            incarnation: String::new(),
            source: "a".into(),
            target: "b".into(),
            keys: crate::fixture::keys(Some(100), None),
            tables: Vec::new(),
        }),
    }
}

/// The kinds of the steps of a migration and their states.
async fn steps(server: &Server, id: &MigrationId) -> Vec<(StepKind, String)> {
    let view = server.view(id).await;
    let steps = view["steps"].as_array().unwrap().iter();
    let step = |step: &Value| {
        let kind = serde_json::from_value(step["kind"].clone()).unwrap();
        (kind, step["state"].as_str().unwrap().to_owned())
    };
    steps.map(step).collect()
}
