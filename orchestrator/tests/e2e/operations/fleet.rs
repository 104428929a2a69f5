//! A small fleet for tests that say themselves what is on the shards: databases of one server, a controller, an agent.

use crate::run::program;
use cluster::Cluster;
use connect::{Connected, Dsn, Session};
use demo::Leftovers;
use plans::id::ShardName;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

const LIMIT: Duration = Duration::from_secs(60);

/// Shards by name; each is a database.
pub(crate) struct Fleet {
    // Dropped in this order.
    _programs: Vec<Child>,
    server: Cluster,
    shards: Vec<&'static str>,
    url: String,
    folder: PathBuf,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Fleet {
    /// Starts everything and registers the shards; their databases are empty.
    pub(crate) async fn start(test: &'static str, shards: &[&'static str]) -> Self {
        let options =
            cluster::Options::temporary(&format!("operations-{test}")).setting("fsync", "off");
        let launched = tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap());
        let server = launched.await.unwrap();
        for shard in shards {
            let session = open(&server, "postgres").await;
            let create = format!("create database {shard}");
            session.batch_execute(&create).await.unwrap();
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let name = format!("shardwright-operations-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let url = format!("http://{address}");
        let store = server.dsn("postgres", "postgres");
        let mut serve = Command::new(program());
        serve.args(["serve", "--listen", &address, "--store", &store]);
        let mut agent = Command::new(program().with_file_name("shardwright-agent"));
        agent.args(["--name", "x", "--controller", &url]);
        agent.env("SHARDWRIGHT_PG_BIN", server.binaries().dir());
        let fleet = Self {
            _programs: vec![background(serve), background(agent)],
            server,
            shards: shards.to_vec(),
            url,
            folder,
        };
        fleet.register().await;
        fleet
    }

    async fn register(&self) {
        let begun = Instant::now();
        while !self.run(&["shard", "list"]).await.status.success() {
            assert!(begun.elapsed() < LIMIT, "no controller");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        for shard in &self.shards {
            let dsn = self.server.dsn(shard, "postgres");
            self.ok(&["shard", "add", shard, "--dsn", &dsn]).await;
        }
    }

    /// Makes a map of these JSON fields.
    pub(crate) async fn map(&self, map: Value) {
        let url = format!("{}/api/v1/maps", self.url);
        let answer = reqwest::Client::new().post(url).json(&map).send().await;
        let answer = answer.unwrap();
        assert!(
            answer.status().is_success(),
            "{}",
            answer.text().await.unwrap()
        );
    }

    /// Runs statements on a shard.
    pub(crate) async fn sql(&self, shard: &str, text: &str) {
        let session = open(&self.server, shard).await;
        session.batch_execute(text).await.unwrap();
        session.close().await;
    }

    /// A number from a shard.
    pub(crate) async fn number(&self, shard: &str, query: &str) -> i64 {
        let session = open(&self.server, shard).await;
        let row = session.query_one(query, &[]).await.unwrap();
        session.close().await;
        row.get(0)
    }

    /// A session on a shard.
    pub(crate) async fn session(&self, shard: &str) -> Connected {
        open(&self.server, shard).await
    }

    pub(crate) async fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.args(args).env("SHARDWRIGHT_CONTROLLER", &self.url);
        command.stdin(Stdio::null()).output().await.unwrap()
    }

    /// What the command prints; it must succeed.
    pub(crate) async fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes a plan of a request; it is kept in a file.
    pub(crate) async fn plan(&self, request: &str) -> Output {
        let file = self.folder.join("request.yaml");
        std::fs::write(&file, request).unwrap();
        let (file, plan) = (file.to_str().unwrap(), self.folder.join("plan.json"));
        self.run(&["plan", file, "-o", plan.to_str().unwrap()])
            .await
    }

    /// Plans and applies a request whose options let it run to its end; waits for the end.
    pub(crate) async fn complete(&self, request: &str) {
        let planned = self.plan(request).await;
        let said = String::from_utf8_lossy(&planned.stderr).into_owned();
        assert!(planned.status.success(), "{said}");
        let plan = self.folder.join("plan.json");
        let id = self.ok(&["apply", plan.to_str().unwrap()]).await;
        let wait = ["wait", id.trim(), "--for", "completed", "--timeout", "120s"];
        self.ok(&wait).await;
    }

    /// Objects of ours on all shards; `gave_away` are those that keep their guards.
    pub(crate) async fn leftovers(&self, gave_away: &[&str]) -> Leftovers {
        let dsn = |shard: &&str| Dsn::parse(&self.server.dsn(shard, "postgres")).unwrap();
        let shards = self.shards.iter();
        let shards: Vec<_> = shards
            .map(|shard| (ShardName::from(*shard), dsn(shard)))
            .collect();
        let gave_away: Vec<ShardName> = gave_away.iter().map(|shard| (*shard).into()).collect();
        let begun = Instant::now();
        loop {
            let left = Leftovers::count(&shards, &gave_away).await.unwrap();
            if left.total() == 0 || begun.elapsed() > LIMIT {
                return left;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn background(mut command: Command) -> Child {
    command.kill_on_drop(true).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

async fn open(server: &Cluster, database: &str) -> Connected {
    let dsn = Dsn::parse(&server.dsn(database, "postgres")).unwrap();
    connect::connect(&dsn, &Session::named("test"))
        .await
        .unwrap()
}
