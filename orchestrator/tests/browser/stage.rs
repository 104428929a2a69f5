//! Two clusters of shards, a control store, an open controller and one that asks for tokens, each with an agent.
//!
//! A map `m` has shards `m-a`, with all keys, and `m-b`, empty: databases of their own in the two clusters.

use cluster::{Cluster, Options};
use orchestrator::access::{AccessRule, Secret};
use orchestrator::controller::{Controller, ControllerSettings};
use orchestrator::store::pg::PgStore;
use reqwest::redirect::Policy;
use serde_json::{Map, Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

const SCHEMA: &str = include_str!("schema.sql");
const DATA: &str = include_str!("data.sql");
/// Between two writes of the application.
const PAUSE: Duration = Duration::from_millis(50);
/// Maps whose target has a password file of its own, which a scenario makes wrong and right again.
const WITH_OWN_PASSWORD: [&str; 3] = ["accounts", "customers", "payments"];

/// Everything that scenarios with real migrations need; ends with [`Stage::stop`].
pub(crate) struct Stage {
    open: Plane,
    locked: Option<Plane>,
    clusters: Clusters,
}

struct Clusters {
    store: Cluster,
    a: Cluster,
    b: Cluster,
}

/// A controller in this process, and its agent, which ends when it is dropped.
struct Plane {
    url: String,
    admin: String,
    agent: Option<Child>,
}

impl Stage {
    /// An open controller with `maps`, and, where there are any, one with the maps `locked`.
    pub(crate) async fn start(maps: &[&str], locked: &[&str]) -> Self {
        let [store, a, b] = ["store", "a", "b"].map(launch);
        let clusters = Clusters {
            store: store.await,
            a: a.await,
            b: b.await,
        };
        clusters.fill(&[maps, locked].concat()).await;
        let open = Plane::start(&clusters, AccessRule::Open, maps).await;
        let locked = match locked {
            [] => None,
            maps => Some(Plane::start(&clusters, AccessRule::Tokens, maps).await),
        };
        Self {
            open,
            locked,
            clusters,
        }
    }

    /// What scenarios get: where controllers are, the admin's token, and the password files of targets.
    pub(crate) fn told(&self) -> Value {
        let passwords: Map<String, Value> = WITH_OWN_PASSWORD
            .iter()
            .map(|map| ((*map).to_owned(), json!(self.clusters.own_password(map))))
            .collect();
        json!({
            "url": self.open.url,
            "locked": self.locked.as_ref().map(|plane| json!({"url": plane.url, "admin": plane.admin})),
            "passwords": passwords,
        })
    }

    /// An application that writes to keys of `map` which move, until its shard takes them no more.
    pub(crate) async fn write(&self, map: &str) -> JoinHandle<()> {
        let mut session = connect(&self.clusters.a, map).await;
        let statement =
            "update orders set placed_at = now() where tenant_id > 500 and id % 97 = $1";
        tokio::spawn(async move {
            for some in (0..97).cycle() {
                let write = sqlx::query(statement).bind(some);
                if write.execute(&mut session).await.is_err() {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    /// Servers stop with blocking calls.
    pub(crate) async fn stop(self) {
        let stopped = tokio::task::spawn_blocking(move || drop(self));
        stopped.await.unwrap();
    }
}

impl Clusters {
    /// Databases for the shards of `maps`; those of `a` have rows.
    async fn fill(&self, maps: &[&str]) {
        run(&self.store, "postgres", "create database open").await;
        run(&self.store, "postgres", "create database locked").await;
        run(&self.a, "postgres", "create database seed").await;
        run(&self.a, "seed", SCHEMA).await;
        run(&self.a, "seed", DATA).await;
        for map in maps {
            let copy = format!("create database {map} template seed");
            run(&self.a, "postgres", &copy).await;
            run(&self.b, "postgres", &format!("create database {map}")).await;
        }
        for map in WITH_OWN_PASSWORD {
            std::fs::copy(self.b.password_file(), self.own_password(map)).unwrap();
        }
    }

    /// A copy of the password of `b`.
    fn own_password(&self, map: &str) -> PathBuf {
        self.store.dir().join(format!("password-of-{map}-b"))
    }

    fn dsn_of_b(&self, map: &str) -> String {
        let dsn = self.b.dsn(map, "postgres");
        if WITH_OWN_PASSWORD.contains(&map) {
            let (usual, own) = (self.b.password_file(), self.own_password(map));
            return dsn.replace(&usual.display().to_string(), &own.display().to_string());
        }
        dsn
    }
}

impl Plane {
    async fn start(clusters: &Clusters, rule: AccessRule, maps: &[&str]) -> Self {
        let name = if rule == AccessRule::Open {
            "open"
        } else {
            "locked"
        };
        let admin = Secret::random();
        let settings = ControllerSettings {
            rule,
            admin: Some(admin.digest()),
            ..ControllerSettings::default()
        };
        let dsn = clusters.store.dsn(name, "postgres");
        let store = Arc::new(PgStore::open(&dsn).await.unwrap());
        let controller = Controller::new(store, settings);
        let listener = orchestrator::api::listen("127.0.0.1:0".parse().unwrap(), rule);
        let listener = listener.await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            orchestrator::server::serve(listener, controller, None)
                .await
                .unwrap()
        });
        let mut plane = Self {
            url,
            admin: admin.reveal().to_owned(),
            agent: None,
        };
        plane.agent = Some(plane.start_agent(clusters.store.dir().join(name)).await);
        for map in maps {
            plane.register(clusters, map).await;
        }
        plane
    }

    /// An agent with a token of its own, whose spools are in `folder`.
    async fn start_agent(&self, folder: PathBuf) -> Child {
        std::fs::create_dir(&folder).unwrap();
        let new = json!({"name": "agent-1", "role": "agent", "labels": {}});
        let made = self.post("tokens", &new).await;
        let token = folder.join("token");
        std::fs::write(&token, made["token"].as_str().unwrap()).unwrap();
        let mut agent = Command::new(agent_program());
        agent.args(["--name", "agent-1", "--controller", &self.url]);
        agent.arg("--spool-dir").arg(folder.join("spools"));
        agent.arg("--token-file").arg(token);
        agent.arg("--secrets-dir").arg(std::env::temp_dir());
        agent.env("SHARDWRIGHT_LOG", "warn").stdin(Stdio::null());
        agent.kill_on_drop(true).spawn().unwrap()
    }

    async fn register(&self, clusters: &Clusters, map: &str) {
        let (a, b) = (format!("{map}-a"), format!("{map}-b"));
        let dsn = clusters.a.dsn(map, "postgres");
        self.post("shards", &json!({"name": a, "dsn": dsn})).await;
        let dsn = clusters.dsn_of_b(map);
        self.post("shards", &json!({"name": b, "dsn": dsn})).await;
        let keys = json!([{"keys": {"range": [{}]}, "shard": a}]);
        let map = json!({"name": map, "strategy": "range", "key": ["bigint"], "mappings": keys});
        self.post("maps", &map).await;
    }

    async fn post(&self, what: &str, body: &Value) -> Value {
        let asked = controller_client::client(Policy::default(), None)
            .unwrap()
            .post(format!("{}/api/v1/{what}", self.url))
            .bearer_auth(&self.admin)
            .json(body);
        let answer = asked.send().await.unwrap();
        let status = answer.status();
        let said = answer.text().await.unwrap();
        assert_eq!(status, 201, "{said}");
        serde_json::from_str(&said).unwrap()
    }
}

async fn launch(name: &'static str) -> Cluster {
    let options = Options::temporary(name)
        .setting("fsync", "off")
        .setting("max_wal_senders", "30")
        .setting("max_replication_slots", "30");
    let start = move || Cluster::launch(options);
    tokio::task::spawn_blocking(start).await.unwrap().unwrap()
}

async fn connect(cluster: &Cluster, database: &str) -> PgConnection {
    let password = std::fs::read_to_string(cluster.password_file()).unwrap();
    let place = format!("{}:{}", cluster.host(), cluster.port());
    let url = format!("postgres://postgres:{password}@{place}/{database}");
    PgConnection::connect(&url).await.unwrap()
}

async fn run(cluster: &Cluster, database: &str, statements: &str) {
    let mut session = connect(cluster, database).await;
    sqlx::raw_sql(AssertSqlSafe(statements))
        .execute(&mut session)
        .await
        .unwrap();
    session.close().await.unwrap();
}

/// The agent's program, beside this test's folder.
fn agent_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let programs = test.ancestors().nth(2).unwrap();
    let program = programs.join("shardwright-agent");
    let built = "cargo build --workspace --locked --bins";
    assert!(
        program.is_file(),
        "{} is missing: {built}",
        program.display()
    );
    program
}
