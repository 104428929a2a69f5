//! Shards `a` and `b`, a control store, a controller and an agent; a move of the keys from 500 on.

use cluster::{Cluster, Options, Shutdown};
use connect::{Connected, Dsn, Session};
use controller_client::{ControllerClient, Identity};
use reqwest::Method;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, MutexGuard};

/// No event of these tests takes longer.
const LIMIT: Duration = Duration::from_secs(90);

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

const SHOP: &str = "create table public.orders (tenant_id bigint, id bigint, note text, primary key (tenant_id, id));
    create index on public.orders (note);
    insert into public.orders select 1 + g % 1000, g, 'n' || g from generate_series(1, 4000) g";

const REQUEST: &str = "operation: split\nmap: m\nsource: a\ninto:\n- {shard: a, keys: {to: 500}}\n\
    - {shard: b, keys: {from: 500}}\ntables: {orders: tenant_id}\n";

pub(crate) struct Stage {
    // Dropped in this order: programs before servers.
    controller: Option<Child>,
    agent: Option<Child>,
    pub(crate) a: Arc<Cluster>,
    pub(crate) b: Arc<Cluster>,
    pub(crate) store: Arc<Cluster>,
    store_database: String,
    address: String,
    folder: PathBuf,
    /// The form of the programs' log.
    log: &'static str,
    _alone: MutexGuard<'static, ()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(60)..].join("\n"));
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn program(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_shardwright")).with_file_name(name)
}

impl Stage {
    /// Everything runs, the map gives all keys to shard a.
    pub(crate) async fn new(name: &str) -> Self {
        Self::logging(name, "text").await
    }

    /// As [`Stage::new`], with a log of this form.
    pub(crate) async fn logging(name: &str, log: &'static str) -> Self {
        let alone = ONE_AT_A_TIME.lock().await;
        let launch = |part: &str| {
            let options =
                Options::temporary(&format!("fleet-{name}-{part}")).setting("fsync", "off");
            tokio::task::spawn_blocking(move || Arc::new(Cluster::launch(options).unwrap()))
        };
        let (a, b, store) = tokio::join!(launch("a"), launch("b"), launch("store"));
        let folder =
            std::env::temp_dir().join(format!("shardwright-fleet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let mut stage = Self {
            controller: None,
            agent: None,
            a: a.unwrap(),
            b: b.unwrap(),
            store: store.unwrap(),
            store_database: "postgres".to_owned(),
            address,
            folder,
            log,
            _alone: alone,
        };
        for cluster in [&stage.a, &stage.b] {
            sql(cluster, "postgres", "create database app").await;
        }
        sql(&stage.a, "app", SHOP).await;
        stage.start_controller().await;
        stage.start_agent();
        stage.register().await;
        stage.ok("map create m --range ..=a").await;
        stage
    }

    /// Changes the settings of the map.
    pub(crate) async fn set_map(&self, settings: &str) {
        let file = self.folder.join("settings.yaml");
        std::fs::write(&file, settings).unwrap();
        self.ok(&format!("map set m {}", file.to_str().unwrap()))
            .await;
    }

    pub(crate) async fn register(&self) {
        for (name, cluster) in [("a", &self.a), ("b", &self.b)] {
            let dsn = cluster.dsn("app", "postgres");
            let output = self.run(&["shard", "add", name, "--dsn", &dsn]).await;
            assert!(output.status.success(), "{output:?}");
        }
    }

    pub(crate) async fn start_controller(&mut self) {
        self.start_controller_looking("1").await;
    }

    /// A controller that looks at the shards every so many seconds; 0: only when it is told to.
    pub(crate) async fn start_controller_looking(&mut self, every: &str) {
        self.start_controller_with(&["--reconcile-every", every])
            .await;
    }

    /// A controller with more options.
    pub(crate) async fn start_controller_with(&mut self, options: &[&str]) {
        let dsn = self.store.dsn(&self.store_database, "postgres");
        let mut serve = self.command("shardwright");
        serve.args(["serve", "--listen", &self.address, "--store", &dsn]);
        serve.args(options);
        self.controller = Some(serve.spawn().unwrap());
        self.until("the controller answers", || async {
            self.run(&["shard", "list"]).await.status.success()
        })
        .await;
    }

    /// Files of this test; they go with it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The command line's program.
    pub(crate) fn program(&self) -> PathBuf {
        program("shardwright")
    }

    /// Where the controller is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn start_agent(&mut self) {
        self.start_agent_failing_at("");
    }

    /// Starts the agent with these fail points.
    pub(crate) fn start_agent_failing_at(&mut self, points: &str) {
        let mut agent = self.command("shardwright-agent");
        agent.args(["--name", "x", "--controller", &self.url()]);
        agent.arg("--secrets-dir").arg(std::env::temp_dir());
        agent.env("SHARDWRIGHT_PG_BIN", self.a.binaries().dir());
        agent.env("SHARDWRIGHT_FAIL_POINTS", points);
        self.agent = Some(agent.spawn().unwrap());
    }

    /// What controller and agent have written.
    pub(crate) fn written(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }

    pub(crate) async fn kill_controller(&mut self) {
        self.controller.take().unwrap().kill().await.unwrap();
    }

    /// Waits until the agent has ended at a fail point.
    pub(crate) async fn agent_has_ended(&mut self) {
        self.agent.take().unwrap().wait().await.unwrap();
    }

    pub(crate) async fn kill_agent(&mut self) {
        self.agent.take().unwrap().kill().await.unwrap();
    }

    /// A control store that knows nothing, as after the loss of the old one.
    pub(crate) async fn new_store(&mut self) {
        sql(&self.store, "postgres", "create database another").await;
        "another".clone_into(&mut self.store_database);
    }

    fn command(&self, name: &str) -> Command {
        let mut log = std::fs::OpenOptions::new();
        let log = log
            .create(true)
            .append(true)
            .open(self.folder.join("log"))
            .unwrap();
        let mut command = Command::new(program(name));
        command.env("SHARDWRIGHT_LOG_FORMAT", self.log);
        command.env("SHARDWRIGHT_ADMIN_TOKEN_FILE", self.token_file());
        command.env("SHARDWRIGHT_TOKEN_FILE", self.token_file());
        command.kill_on_drop(true).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log);
        command
    }

    pub(crate) async fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(program("shardwright"));
        command.args(args).env("SHARDWRIGHT_CONTROLLER", self.url());
        command.env("SHARDWRIGHT_TOKEN_FILE", self.token_file());
        command.stdin(Stdio::null()).output().await.unwrap()
    }

    /// A command that must end well; what it prints.
    pub(crate) async fn ok(&self, line: &str) -> String {
        let args: Vec<&str> = line.split(' ').collect();
        let output = self.run(&args).await;
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A command that prints JSON, however it ends.
    pub(crate) async fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args).await;
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"))
    }

    /// Plans and submits the move of the keys from 500 on; the migration's id.
    pub(crate) async fn submit(&self) -> String {
        self.submit_with("hold: until_finish").await
    }

    /// As [`Stage::submit`], with more options.
    pub(crate) async fn submit_with(&self, options: &str) -> String {
        let options = format!("options: {{cutover: approve, {options}}}\n");
        self.submit_as(&format!("{REQUEST}{options}")).await
    }

    /// Plans and submits a request; the migration's id.
    pub(crate) async fn submit_as(&self, text: &str) -> String {
        let (request, plan) = (
            self.folder.join("request.yaml"),
            self.folder.join("plan.json"),
        );
        std::fs::write(&request, text).unwrap();
        let (request, plan) = (request.to_str().unwrap(), plan.to_str().unwrap());
        let output = self.run(&["plan", request, "-o", plan]).await;
        assert!(output.status.success(), "{output:?}");
        self.ok(&format!("apply {plan}")).await
    }

    pub(crate) async fn state(&self, id: &str) -> String {
        let view = self.json(&["show", id, "-o", "json"]).await;
        view["state"].as_str().unwrap_or("").to_owned()
    }

    pub(crate) async fn until_state(&self, id: &str, wanted: &str) {
        self.until(wanted, || async { self.state(id).await == wanted })
            .await;
    }

    /// The keys are copied and verified; the cutover waits for an approval.
    pub(crate) async fn ready_to_cut_over(&self) -> String {
        let id = self.submit().await;
        self.until_state(&id, "waiting").await;
        id
    }

    /// The cutover is approved and done.
    pub(crate) async fn cut_over(&self, id: &str) {
        self.ok(&format!("approve {id} --yes")).await;
        self.until("the cutover", || async {
            let view = self.json(&["show", id, "-o", "json"]).await;
            let steps = view["steps"].as_array().cloned().unwrap_or_default();
            let done = |step: &Value| step["kind"] == "cutover" && step["state"] == "done";
            view["state"] == "flipped" && steps.iter().any(done)
        })
        .await;
    }

    /// The hold has compared the definitions of the tables, and keeps the rows on the source current.
    pub(crate) async fn in_hold(&self, id: &str) {
        self.until("the hold", || async {
            let view = self.json(&["show", id, "-o", "json"]).await;
            let steps = view["steps"].as_array().cloned().unwrap_or_default();
            let keeps = |step: &Value| {
                let message = step["progress"]["message"].as_str().unwrap_or_default();
                step["kind"] == "hold" && message.contains("kept current")
            };
            steps.iter().any(keeps)
        })
        .await;
    }

    /// The cleanup records of a migration.
    pub(crate) async fn records(&self, id: &str) -> Vec<Value> {
        let answer = self.get(&format!("/api/v1/migrations/{id}/cleanup")).await;
        answer.as_array().unwrap().clone()
    }

    /// The file of the admin's token.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    fn caller(&self) -> ControllerClient {
        let identity = Identity {
            token_file: Some(self.token_file()),
            ca_file: None,
        };
        ControllerClient::new(&identity).unwrap()
    }

    /// What the API has at `path`.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (caller, url) = (self.caller(), self.url() + path);
        let answer = caller.send(caller.request(Method::GET, url)).await;
        answer.unwrap().json().await.unwrap()
    }

    /// Tells the API something that it takes.
    pub(crate) async fn post(&self, path: &str, body: Value) {
        let (caller, url) = (self.caller(), self.url() + path);
        let request = caller.request(Method::POST, url).json(&body);
        let answer = caller.send(request).await.unwrap();
        assert!(answer.status().is_success(), "{path}: {answer:?}");
    }

    /// The kinds of what the last looks found on a shard.
    pub(crate) async fn found(&self, shard: &str) -> Vec<String> {
        let report = self.json(&["reconcile", "-o", "json"]).await;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let own = findings.iter().filter(|finding| finding["shard"] == shard);
        own.filter_map(|finding| finding["kind"].as_str().map(str::to_owned))
            .collect()
    }

    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let begun = Instant::now();
        let mut pause = tokio::time::interval(Duration::from_millis(100));
        while !holds().await {
            if begun.elapsed() > LIMIT {
                let report = self.run(&["reconcile"]).await;
                let list = self.run(&["list"]).await;
                panic!("not in time: {what}\n{report:?}\n{list:?}");
            }
            pause.tick().await;
        }
    }
}

/// Stops a server and copies its files; the server stays stopped.
pub(crate) async fn copy(cluster: &Arc<Cluster>) -> PathBuf {
    let (server, kept) = (cluster.clone(), cluster.dir().join("copy"));
    let to = kept.clone();
    let copied = tokio::task::spawn_blocking(move || {
        server.stop(Shutdown::Immediate).unwrap();
        let status = std::process::Command::new("cp")
            .arg("-a")
            .arg(server.data())
            .arg(&to)
            .status();
        assert!(status.unwrap().success());
    });
    copied.await.unwrap();
    kept
}

pub(crate) async fn start(cluster: &Arc<Cluster>) {
    let server = cluster.clone();
    tokio::task::spawn_blocking(move || server.start().unwrap())
        .await
        .unwrap();
}

/// Puts the copy in the place of what a server has; `standby`: it comes up as one, and is promoted.
pub(crate) async fn restore(cluster: &Arc<Cluster>, kept: PathBuf, standby: bool) {
    let server = cluster.clone();
    let restored = tokio::task::spawn_blocking(move || {
        server.stop(Shutdown::Immediate).unwrap();
        std::fs::remove_dir_all(server.data()).unwrap();
        std::fs::rename(kept, server.data()).unwrap();
        if standby {
            std::fs::write(server.data().join("standby.signal"), "").unwrap();
        }
        server.start().unwrap();
    });
    restored.await.unwrap();
    if standby {
        sql(cluster, "postgres", "select pg_promote()").await;
    }
}

pub(crate) async fn session(cluster: &Cluster, database: &str) -> Connected {
    let dsn = Dsn::parse(&cluster.dsn(database, "postgres")).unwrap();
    connect::connect(&dsn, &Session::named("test"))
        .await
        .unwrap()
}

pub(crate) async fn sql(cluster: &Cluster, database: &str, text: &str) {
    let session = session(cluster, database).await;
    session.batch_execute(text).await.unwrap();
    session.close().await;
}

pub(crate) async fn count(cluster: &Cluster, query: &str) -> i64 {
    count_in(cluster, "app", query).await
}

pub(crate) async fn count_in(cluster: &Cluster, database: &str, query: &str) -> i64 {
    let session = session(cluster, database).await;
    let count = session.query_one(query, &[]).await.unwrap().get(0);
    session.close().await;
    count
}

/// What an application gets that writes to a moved key: nothing, or the SQLSTATE.
pub(crate) async fn write(cluster: &Cluster) -> Result<(), String> {
    let session = session(cluster, "app").await;
    let written = session
        .execute(
            "insert into public.orders values (700, (random() * 1e15)::bigint, 'w')",
            &[],
        )
        .await;
    session.close().await;
    let state = written.map(|_| ());
    state.map_err(|error| {
        error
            .code()
            .map_or_else(String::new, |code| code.code().to_owned())
    })
}

/// SM001 or SM002: the shard does not take the write.
pub(crate) async fn refuses(cluster: &Cluster) -> bool {
    matches!(write(cluster).await, Err(state) if state == "SM001" || state == "SM002")
}
