//! A small fleet for tests that say themselves what is on the shards: a server, a controller, an agent.
//!
//! The shards are databases of one server. Where the versions of source and target are asked for, the first shard is
//! on a server of the one, and the others are on a server of the other.

use crate::run::{program, servers};
use cluster::{Binaries, Cluster};
use connect::{Connected, Dsn, Session};
use demo::Leftovers;
use plans::id::ShardName;
use plans::plan::Plan;
use reqwest::redirect::Policy;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

const LIMIT: Duration = Duration::from_secs(60);
/// What controller and agent say.
const LOGS: [&str; 2] = ["controller.log", "agent.log"];

/// Shards by name; each is a database.
pub(crate) struct Fleet {
    // Dropped in this order.
    programs: Mutex<Vec<Child>>,
    servers: Vec<Cluster>,
    shards: Vec<&'static str>,
    url: String,
    folder: PathBuf,
}

/// A program of a fleet, in the order of [`LOGS`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Controller,
    Agent,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for log in LOGS {
                let text = std::fs::read_to_string(self.folder.join(log)).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Fleet {
    /// Starts everything and registers the shards; their databases are empty.
    pub(crate) async fn start(test: &'static str, shards: &[&'static str]) -> Self {
        Self::armed(test, shards, "").await
    }

    /// The same with an agent whose fail points are armed.
    pub(crate) async fn armed(
        test: &'static str,
        shards: &[&'static str],
        fail_points: &str,
    ) -> Self {
        let versions = servers();
        let mut majors = vec![versions.source, versions.target];
        majors.dedup();
        let mut launched = Vec::new();
        for major in majors {
            launched.push(launch(test, major).await);
        }
        let dsn = |server: &Cluster, shard: &str| server.dsn(shard, "postgres");
        let fleet = Self::with_fail_points(test, shards, launched, fail_points).await;
        fleet.register(&dsn).await;
        fleet
    }

    /// The same on running servers, the last of which is the target's, before the shards are registered.
    pub(crate) async fn unregistered(
        test: &'static str,
        shards: &[&'static str],
        launched: Vec<Cluster>,
    ) -> Self {
        Self::with_fail_points(test, shards, launched, "").await
    }

    async fn with_fail_points(
        test: &'static str,
        shards: &[&'static str],
        launched: Vec<Cluster>,
        fail_points: &str,
    ) -> Self {
        for shard in shards {
            let session = open(home(&launched, shards, shard), "postgres").await;
            let create = format!("create database {shard}");
            session.batch_execute(&create).await.unwrap();
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let name = format!("shardwright-operations-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let fleet = Self {
            programs: Mutex::default(),
            servers: launched,
            shards: shards.to_vec(),
            url: format!("http://{address}"),
            folder,
        };
        let started = vec![
            fleet.launch(Part::Controller, ""),
            fleet.launch(Part::Agent, fail_points),
        ];
        *fleet.programs.lock().await = started;
        fleet
    }

    /// Starts the controller or the agent with armed fail points.
    fn launch(&self, part: Part, fail_points: &str) -> Child {
        let address = self.url.trim_start_matches("http://");
        let store = self.servers[0].dsn("postgres", "postgres");
        let mut command = match part {
            Part::Controller => {
                let mut serve = Command::new(program());
                serve.args(["serve", "--open", "--listen", address, "--store", &store]);
                serve
            }
            Part::Agent => {
                let mut agent = Command::new(program().with_file_name("shardwright-agent"));
                agent.args(["--name", "x", "--controller", &self.url]);
                agent.env("SHARDWRIGHT_LOG", "info,agent=debug");
                agent.arg("--secrets-dir").arg(std::env::temp_dir());
                if std::env::var_os("SHARDWRIGHT_PG_BIN").is_none() {
                    agent.env("SHARDWRIGHT_PG_BIN", self.servers[0].binaries().dir());
                }
                agent
            }
        };
        command.env(fail_point::VARIABLE, fail_points);
        background(command, &self.folder.join(LOGS[part as usize]))
    }

    /// Kills the controller or the agent, unless it has ended, and starts it again with armed fail points.
    pub(crate) async fn restart(&self, part: Part, fail_points: &str) {
        let mut programs = self.programs.lock().await;
        let running = &mut programs[part as usize];
        let _ = running.kill().await;
        *running = self.launch(part, fail_points);
    }

    /// Waits until the controller or the agent has ended by itself.
    pub(crate) async fn ended(&self, part: Part) {
        let mut programs = self.programs.lock().await;
        let ends = tokio::time::timeout(LIMIT, programs[part as usize].wait());
        ends.await.unwrap().unwrap();
    }

    /// The server that a shard is on.
    pub(crate) fn server_of(&self, shard: &str) -> &Cluster {
        home(&self.servers, &self.shards, shard)
    }

    /// Registers the shards; an agent connects to each of them.
    pub(crate) async fn register(&self, dsn: &dyn Fn(&Cluster, &str) -> String) {
        let begun = Instant::now();
        while !self.run(&["shard", "list"]).await.status.success() {
            assert!(begun.elapsed() < LIMIT, "no controller");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        for shard in &self.shards {
            let dsn = dsn(self.server_of(shard), shard);
            self.ok(&["shard", "add", shard, "--dsn", &dsn]).await;
        }
    }

    /// Makes a map of these JSON fields.
    pub(crate) async fn map(&self, map: Value) {
        let url = format!("{}/api/v1/maps", self.url);
        let answer = controller_client::client(Policy::default(), None)
            .unwrap()
            .post(url)
            .json(&map)
            .send()
            .await;
        let answer = answer.unwrap();
        assert!(
            answer.status().is_success(),
            "{}",
            answer.text().await.unwrap()
        );
    }

    /// Posts JSON to a route of the API: status and answer.
    pub(crate) async fn post(&self, route: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}/api/v1/{route}", self.url);
        let client = controller_client::client(Policy::default(), None).unwrap();
        let response = client.post(url).json(body).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or(Value::Null))
    }

    /// Reads JSON from a route of the API; null while no controller answers.
    pub(crate) async fn read(&self, route: &str) -> Value {
        let url = format!("{}/api/v1/{route}", self.url);
        let client = controller_client::client(Policy::default(), None).unwrap();
        let Ok(response) = client.get(url).send().await else {
            return Value::Null;
        };
        response.json().await.unwrap_or(Value::Null)
    }

    /// Runs statements on a shard.
    pub(crate) async fn sql(&self, shard: &str, text: &str) {
        let session = open(self.server_of(shard), shard).await;
        session.batch_execute(text).await.unwrap();
        session.close().await;
    }

    /// A number from a shard.
    pub(crate) async fn number(&self, shard: &str, query: &str) -> i64 {
        let session = open(self.server_of(shard), shard).await;
        let row = session.query_one(query, &[]).await.unwrap();
        session.close().await;
        row.get(0)
    }

    /// Whether all servers are of one major version: only these print a definition in the same words.
    pub(crate) fn is_of_one_version(&self) -> bool {
        let mut majors = self.servers.iter().map(|server| server.binaries().major());
        let first = majors.next();
        majors.all(|major| Some(major) == first)
    }

    /// Whether each server came with pg_dump.
    pub(crate) fn has_pg_dump(&self) -> bool {
        let mut servers = self.servers.iter();
        servers.all(|server| server.binaries().path("pg_dump").is_file())
    }

    /// The schema of a shard as pg_dump sees it, without ours.
    pub(crate) async fn schema(&self, shard: &str) -> String {
        let mut command = Command::new(self.server_of(shard).binaries().path("pg_dump"));
        command.args(["--schema-only", "--exclude-schema=shardwright"]);
        let server = self.server_of(shard);
        let password = std::fs::read_to_string(server.password_file()).unwrap();
        command.args([
            "--host",
            server.host(),
            "--port",
            &server.port().to_string(),
        ]);
        command.args(["--username", "postgres", "--dbname", shard]);
        command.env("PGPASSWORD", password.trim());
        // Whatever the database says of its sessions.
        command.env("PGOPTIONS", "-c quote_all_identifiers=off");
        let output = command.stdin(Stdio::null()).output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the catalog says of the tests' schema, a line for each object.
    pub(crate) async fn fingerprint(&self, shard: &str) -> Vec<String> {
        let session = self.session(shard).await;
        let read = include_str!("fingerprint.sql");
        let lines = session.query(read, &[]).await.unwrap();
        lines.iter().map(|line| line.get(0)).collect()
    }

    /// The server of the first shard, and of all of them where no versions are asked for.
    pub(crate) fn server(&self) -> &Cluster {
        self.servers.first().unwrap()
    }

    /// A session on a shard.
    pub(crate) async fn session(&self, shard: &str) -> Connected {
        open(self.server_of(shard), shard).await
    }

    /// The sessions on all shards that are in a transaction, with what they wait for and which sessions block them.
    pub(crate) async fn sessions(&self) -> String {
        let read = "select concat_ws(' ', datname, pid, application_name, state, wait_event_type, wait_event,
                        'blocked by', pg_blocking_pids(pid)::text, left(query, 200))
                    from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid() order by datname, pid";
        let mut lines = Vec::new();
        for server in &self.servers {
            let session = open(server, "postgres").await;
            let rows = session.query(read, &[]).await.unwrap();
            lines.extend(rows.iter().map(|row| row.get::<_, String>(0)));
        }
        lines.join("\n")
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
        let (file, plan) = (self.request(request), self.folder.join("plan.json"));
        self.run(&["plan", &file, "-o", plan.to_str().unwrap()])
            .await
    }

    /// A file with this request.
    pub(crate) fn request(&self, request: &str) -> String {
        let file = self.folder.join("request.yaml");
        std::fs::write(&file, request).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// Plans and applies a request whose options let it run to its end; waits for the end.
    pub(crate) async fn complete(&self, request: &str) {
        self.reach(request, "completed").await;
    }

    /// Plans and applies a request, waits until the operation is in `state`; its id.
    pub(crate) async fn reach(&self, request: &str, state: &str) -> String {
        let planned = self.plan(request).await;
        let said = String::from_utf8_lossy(&planned.stderr).into_owned();
        assert!(planned.status.success(), "{said}");
        let applied = self.apply().await;
        let said = String::from_utf8_lossy(&applied.stderr).into_owned();
        assert!(applied.status.success(), "{said}");
        let id = String::from_utf8(applied.stdout).unwrap().trim().to_owned();
        self.wait(&id, state).await;
        id
    }

    /// Applies the plan that was made last.
    pub(crate) async fn apply(&self) -> Output {
        let plan = self.folder.join("plan.json");
        self.run(&["apply", plan.to_str().unwrap()]).await
    }

    /// Waits until the operation is in `state`.
    pub(crate) async fn wait(&self, id: &str, state: &str) {
        let wait = ["wait", id, "--for", state, "--timeout", "120s"];
        let output = self.run(&wait).await;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let shown = self.run(&["report", id]).await;
            let shown = String::from_utf8_lossy(&shown.stdout);
            let logs = LOGS.map(|log| std::fs::read_to_string(self.folder.join(log)).unwrap());
            panic!("{said}\n{shown}\n{}", logs.join("\n"));
        }
    }

    /// The plan that was made last.
    pub(crate) fn planned(&self) -> Plan {
        let text = std::fs::read_to_string(self.folder.join("plan.json")).unwrap();
        Plan::parse(&text).unwrap()
    }

    /// Objects of ours on all shards; `gave_away` are those that keep their guards.
    pub(crate) async fn leftovers(&self, gave_away: &[&str]) -> Leftovers {
        let dsn = |shard: &&str| Dsn::parse(&self.server_of(shard).dsn(shard, "postgres")).unwrap();
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

/// The server of `shard`: the first of `servers` for the first of `shards`, the last one for the others.
fn home<'a>(servers: &'a [Cluster], shards: &[&str], shard: &str) -> &'a Cluster {
    let place = if shards.first() == Some(&shard) {
        servers.first()
    } else {
        servers.last()
    };
    place.unwrap()
}

async fn launch(test: &str, major: Option<u32>) -> Cluster {
    let mut options =
        cluster::Options::temporary(&format!("operations-{test}")).setting("fsync", "off");
    options.binaries = major.map(|major| Binaries::find(Some(major)).unwrap());
    let launched = tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap());
    launched.await.unwrap()
}

/// Starts a program; what it says goes to a file.
fn background(mut command: Command, log: &Path) -> Child {
    let mut append = std::fs::OpenOptions::new();
    let log = append.create(true).append(true).open(log).unwrap();
    command.kill_on_drop(true).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(log);
    command.spawn().unwrap()
}

async fn open(server: &Cluster, database: &str) -> Connected {
    let dsn = Dsn::parse(&server.dsn(database, "postgres")).unwrap();
    connect::connect(&dsn, &Session::named("test"))
        .await
        .unwrap()
}
