//! Bad input on the command line, against a real controller and agent: each names the object and the remedy, ends
//! with the documented code, and leaves nothing behind.

use crate::run::program;
use cluster::Cluster;
use connect::{Dsn, Session};
use demo::Leftovers;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

const TABLES: &str =
    "create table public.orders (tenant_id bigint, id bigint, primary key (tenant_id, id));
    create table public.bare (tenant_id bigint, id bigint);
    insert into public.orders select 1 + g % 1000, g from generate_series(1, 2000) g";

/// Shards `a` and `b`, shard `old` on a server without logical decoding, a controller, an agent.
struct Fleet {
    // Dropped in this order.
    _programs: Vec<Child>,
    shards: Vec<Cluster>,
    url: String,
    folder: PathBuf,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Fleet {
    async fn start() -> Self {
        let launch = |name: &str, wal_level: &str| {
            let options = cluster::Options::temporary(&format!("bad-input-{name}"))
                .setting("wal_level", wal_level)
                .setting("fsync", "off");
            tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap())
        };
        let (a, b, old) = tokio::join!(
            launch("a", "logical"),
            launch("b", "logical"),
            launch("old", "replica")
        );
        let shards = vec![a.unwrap(), b.unwrap(), old.unwrap()];
        for cluster in &shards {
            sql(cluster, "postgres", "create database app").await;
        }
        sql(&shards[2], "postgres", "create database store").await;
        for cluster in [&shards[0], &shards[2]] {
            sql(cluster, "app", TABLES).await;
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let folder = std::env::temp_dir().join(format!("shardwright-bad-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("wrong"), "wrong").unwrap();
        let mut serve = Command::new(program());
        let store = shards[2].dsn("store", "postgres");
        serve.args(["serve", "--listen", &address, "--store", &store]);
        let url = format!("http://{address}");
        let mut agent = Command::new(program().with_file_name("shardwright-agent"));
        agent.args(["--name", "x", "--controller", &url]);
        agent.arg("--secrets-dir").arg(std::env::temp_dir());
        agent.env("SHARDWRIGHT_PG_BIN", shards[0].binaries().dir());
        let fleet = Self {
            _programs: vec![start(serve), start(agent)],
            shards,
            url,
            folder,
        };
        fleet.register().await;
        fleet
    }

    async fn register(&self) {
        let begun = Instant::now();
        while self.code("shard list").await != 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "no controller");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        for (name, cluster) in ["a", "b", "old"].iter().zip(&self.shards) {
            self.add(name, &cluster.dsn("app", "postgres")).await;
        }
        self.register_locked().await;
        for line in [
            "map create whole --range ..=a",
            "map create parts --range ..1000=a --range 1000..=b",
            "map create older --range ..=old",
        ] {
            assert_eq!(self.code(line).await, 0, "{line}");
        }
    }

    /// A shard whose password is wrong by the time that it is used; one that is wrong from the start is refused.
    async fn register_locked(&self) {
        let role = "create role locked login password 'right'";
        sql(&self.shards[1], "postgres", role).await;
        let file = self.folder.join("wrong");
        let password = format!("password=${{file:{}}}", file.display());
        let dsn = self.shards[1].dsn("postgres", "locked");
        let (address, _) = dsn.split_once("password=").unwrap();
        let dsn = format!("{address}{password}");
        let refused = self.run(&["shard", "add", "locked", "--dsn", &dsn]).await;
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(
            said.contains("shard locked") && said.contains("password authentication failed"),
            "{said}"
        );
        let wrong = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, "right").unwrap();
        self.add("locked", &dsn).await;
        std::fs::write(&file, wrong).unwrap();
    }

    async fn add(&self, name: &str, dsn: &str) {
        let output = self.run(&["shard", "add", name, "--dsn", dsn]).await;
        assert!(output.status.success(), "{output:?}");
    }

    async fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.args(args).env("SHARDWRIGHT_CONTROLLER", &self.url);
        command.stdin(Stdio::null()).output().await.unwrap()
    }

    async fn code(&self, line: &str) -> i32 {
        let args: Vec<&str> = line.split(' ').collect();
        self.run(&args).await.status.code().unwrap()
    }

    async fn plan(&self, request: &str) -> Output {
        let file = self.folder.join("request.yaml");
        std::fs::write(&file, request).unwrap();
        let plan = self.folder.join("plan.json");
        let (file, plan) = (file.to_str().unwrap(), plan.to_str().unwrap());
        self.run(&["plan", file, "-o", plan]).await
    }

    async fn apply(&self) -> Output {
        let plan = self.folder.join("plan.json");
        self.run(&["apply", plan.to_str().unwrap()]).await
    }

    /// Ends with `code`, says each of `words` on stderr, leaves nothing on any shard.
    async fn refused(&self, output: &Output, code: i32, words: &[&str]) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(output.stdout.is_empty(), "{output:?}");
        for word in words {
            assert!(said.contains(word), "{word:?} is not in: {said}");
        }
        let shards = ["a", "b", "old"].iter().zip(&self.shards);
        let shards: Vec<_> = shards
            .map(|(name, cluster)| ((*name).into(), dsn(cluster, "app")))
            .collect();
        let begun = Instant::now();
        loop {
            let left = Leftovers::count(&shards, &[]).await.unwrap();
            if left.total() == 0 {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{left}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn start(mut command: Command) -> Child {
    command.kill_on_drop(true).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn dsn(cluster: &Cluster, database: &str) -> Dsn {
    Dsn::parse(&cluster.dsn(database, "postgres")).unwrap()
}

async fn sql(cluster: &Cluster, database: &str, text: &str) {
    let session = connect::connect(&dsn(cluster, database), &Session::named("test"))
        .await
        .unwrap();
    session.batch_execute(text).await.unwrap();
    session.close().await;
}

/// A split of `map` on `source`: keys from `from` go to `target`.
fn request(map: &str, source: &str, (to, target, from): (i64, &str, i64), tables: &str) -> String {
    format!(
        "operation: split\nmap: {map}\nsource: {source}\ninto:\n- {{shard: {source}, keys: {{to: {to}}}}}\n\
         - {{shard: {target}, keys: {{from: {from}}}}}\ntables: {{{tables}}}\nignore: [bare]\n\
         options: {{cutover: automatic, hold: {{seconds: 0}}}}\n"
    )
}

const ORDERS: &str = "orders: tenant_id";

#[tokio::test]
async fn bad_input_is_named_with_its_remedy_and_leaves_nothing_behind() {
    let fleet = Fleet::start().await;
    let cut = (500, "b", 500);
    let cases: [(String, i32, &[&str]); 8] = [
        (
            request("whole", "a", (500, "nowhere", 500), ORDERS),
            64,
            &["nowhere", "shard add"],
        ),
        (
            request("whole", "a", (500, "b", 400), ORDERS),
            64,
            &["part b", "400", "overlap"],
        ),
        (
            request("parts", "a", (5000, "b", 5000), ORDERS),
            64,
            &["parts", "1000"],
        ),
        (
            request("whole", "a", cut, "orders: tenant_id, nothing: tenant_id"),
            4,
            &["public.nothing", "hint: "],
        ),
        (
            request("whole", "a", cut, "orders: tenant_id, bare: tenant_id")
                .replace("ignore: [bare]\n", ""),
            4,
            &["public.bare", "primary key", "hint: "],
        ),
        (
            request("whole", "a", (500, "locked", 500), ORDERS),
            1,
            &["shard locked", "password", "hint: "],
        ),
        (
            request("older", "old", cut, ORDERS),
            4,
            &["shard old", "wal_level", "alter system"],
        ),
        (
            "operation: split\nmap: [whole\nsource: a\n".to_owned(),
            64,
            &["line", "column"],
        ),
    ];
    for (request, code, words) in &cases {
        let output = fleet.plan(request).await;
        fleet.refused(&output, *code, words).await;
    }
    stale_plans(&fleet).await;
}

async fn stale_plans(fleet: &Fleet) {
    let first = request("whole", "a", (500, "b", 500), ORDERS);
    let planned = fleet.plan(&first).await;
    assert!(planned.status.success(), "{planned:?}");
    sql(
        &fleet.shards[0],
        "app",
        "alter table public.orders add note text",
    )
    .await;
    let output = fleet.apply().await;
    let words = [
        "the tables on shard a were changed",
        "hint: make a new plan",
    ];
    fleet.refused(&output, 4, &words).await;

    let planned = fleet.plan(&first).await;
    assert!(planned.status.success(), "{planned:?}");
    let old = fleet.folder.join("old.json");
    std::fs::rename(fleet.folder.join("plan.json"), &old).unwrap();
    let planned = fleet
        .plan(&request("whole", "a", (900, "b", 900), ORDERS))
        .await;
    assert!(planned.status.success(), "{planned:?}");
    let output = fleet.apply().await;
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let line = format!("wait {id} --for completed --timeout 120s");
    assert_eq!(fleet.code(&line).await, 0);
    let output = fleet.run(&["apply", old.to_str().unwrap()]).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for word in [
        "version 1 of map whole",
        "now at version 2",
        "hint: make a new plan",
    ] {
        assert!(said.contains(word), "{said}");
    }
}
