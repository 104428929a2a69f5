//! Applications that know nothing of maps, behind the PgBouncer of the system's packages: each virtual shard is a
//! database there, and a hook writes its configuration anew when keys change hands.

use super::stage::{Stage, session, sql};
use cluster::Cluster;
use plans::key::Key;
use plans::key_set::bucket_of;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions};
use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// Virtual shards; the upper half moves.
const BUCKETS: u32 = 8;
const MOVED: u32 = 4;
/// Writes of moved keys before and after the cutover, at least.
const WRITES: usize = 100;
/// A refusal does not last longer.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

const ITEMS: &str =
    "create table public.items (tenant_id bigint, id bigint, primary key (tenant_id, id));
    insert into public.items select g % 1000, g from generate_series(1, 4000) g";
/// The application's account, which PgBouncer knows the password of on either shard.
const ACCOUNT: &str = "create role shop superuser login password 'secret'";
const REQUEST: &str = "operation: split\nmap: h\nsource: a\ninto:\n\
    - {shard: a, keys: {buckets: [{from: 0, to: 4}]}}\n- {shard: b, keys: {buckets: [{from: 4, to: 8}]}}\n\
    tables: {items: tenant_id}\nignore: [orders]\n";

/// PgBouncer, which ends when it is dropped.
struct Pooler {
    folder: PathBuf,
    port: u16,
    _child: Child,
}

impl Pooler {
    /// Starts it with the configuration that `stage` exports, and leaves the hook's program beside it.
    async fn start(stage: &Stage) -> Self {
        let folder = stage.folder().join("pgbouncer");
        std::fs::create_dir(&folder).unwrap();
        let port = cluster::free_port().unwrap();
        std::fs::write(folder.join("users"), "\"shop\" \"secret\"\n").unwrap();
        let here = folder.display();
        let settings = format!(
            "%include {here}/databases.ini\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {here}/users\npool_mode = transaction\n\
             ignore_startup_parameters = extra_float_digits\nlogfile = {here}/log\npidfile = {here}/pid\n"
        );
        std::fs::write(folder.join("pgbouncer.ini"), settings).unwrap();
        let program = stage.program().display().to_string();
        let export = format!(
            "#!/bin/sh\nset -e\nexport SHARDWRIGHT_CONTROLLER={} SHARDWRIGHT_TOKEN_FILE={}\n\
             {program} map export h --format pgbouncer --out {here}/databases.ini\n\
             if [ -e {here}/pid ]; then kill -HUP \"$(cat {here}/pid)\"; fi\n",
            stage.url(),
            stage.token_file().display()
        );
        write_program(&folder.join("reload"), &export);
        let exported = Command::new(folder.join("reload")).status().await.unwrap();
        assert!(exported.success());
        let child = run(&folder);
        Self {
            folder,
            port,
            _child: child,
        }
    }

    /// The file of hooks that has the configuration written anew.
    fn hooks(&self) -> PathBuf {
        let (file, program) = (self.folder.join("hooks.yaml"), self.folder.join("reload"));
        let hook = format!(
            "hooks:\n- name: pgbouncer\n  on: [after_cutover]\n  command: [{}]\n",
            program.display()
        );
        std::fs::write(&file, hook).unwrap();
        file
    }

    /// Once it takes connections.
    async fn connect(&self, bucket: u32) -> PgConnection {
        let options = PgConnectOptions::new()
            .host("127.0.0.1")
            .port(self.port)
            .username("shop")
            .database(&format!("h.{bucket}"));
        let begun = Instant::now();
        loop {
            match options.connect().await {
                Ok(connection) => return connection,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn write_program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// It does not run as root, so its folder is another account's then.
fn run(folder: &Path) -> Child {
    // Not everybody's path has the folder of the system's own programs.
    let installed = Path::new("/usr/sbin/pgbouncer");
    let program = if installed.exists() {
        installed
    } else {
        Path::new("pgbouncer")
    };
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        let given = std::process::Command::new("chown")
            .args(["-R", "postgres"])
            .arg(folder)
            .status();
        assert!(given.unwrap().success());
        command.args(["--user", "postgres"]);
    }
    command.arg("--quiet").arg(folder.join("pgbouncer.ini"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = command.kill_on_drop(true).spawn();
    started.expect("pgbouncer is missing: run scripts/setup test")
}

/// What the application did.
#[derive(Default)]
struct Written {
    stop: AtomicBool,
    /// Writes of moved keys that were acknowledged.
    moved: AtomicUsize,
    refused: AtomicUsize,
}

/// An application: it computes the virtual shard of a key, which never changes, and repeats what is refused.
async fn write(pooler: Arc<Pooler>, written: Arc<Written>) -> Vec<(i64, i64)> {
    let mut connections: HashMap<u32, PgConnection> = HashMap::new();
    let mut acknowledged = Vec::new();
    for id in 1_000_000.. {
        if written.stop.load(Ordering::Relaxed) {
            break;
        }
        let tenant = id % 1000;
        let bucket = bucket_of(&Key::Int(tenant), BUCKETS);
        if let std::collections::hash_map::Entry::Vacant(place) = connections.entry(bucket) {
            place.insert(pooler.connect(bucket).await);
        }
        let connection = connections.get_mut(&bucket).unwrap();
        let insert = format!("insert into public.items values ({tenant}, {id})");
        let begun = Instant::now();
        while let Err(error) = sqlx::raw_sql(AssertSqlSafe(insert.as_str()))
            .execute(&mut *connection)
            .await
        {
            let state = error.as_database_error().and_then(|error| error.code());
            let refused = matches!(state.as_deref(), Some("SM001" | "SM002"));
            assert!(refused && begun.elapsed() < PATIENCE, "{error}");
            written.refused.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PAUSE).await;
        }
        acknowledged.push((tenant, id));
        if bucket >= MOVED {
            written.moved.fetch_add(1, Ordering::Relaxed);
        }
    }
    acknowledged
}

/// Items that the application wrote, of the virtual shards that the shard has.
async fn items_on(cluster: &Cluster, buckets: std::ops::Range<u32>) -> Vec<(i64, i64)> {
    let session = session(cluster, "app").await;
    let read = "select tenant_id, id from public.items where id >= 1000000";
    let rows = session.query(read, &[]).await.unwrap();
    session.close().await;
    let items = rows.iter().map(|row| (row.get(0), row.get(1)));
    items
        .filter(|(tenant, _)| buckets.contains(&bucket_of(&Key::Int(*tenant), BUCKETS)))
        .collect()
}

#[tokio::test]
async fn a_pooler_follows_the_flip_and_no_acknowledged_write_is_lost() {
    let mut stage = Stage::new("pooler").await;
    sql(&stage.a, "app", ITEMS).await;
    for cluster in [&stage.a, &stage.b] {
        sql(cluster, "postgres", ACCOUNT).await;
    }
    stage
        .ok("map create h --strategy hash --buckets 8 --shards a")
        .await;
    let pooler = Arc::new(Pooler::start(&stage).await);
    stage.kill_controller().await;
    stage
        .start_controller_with(&["--hooks", pooler.hooks().to_str().unwrap()])
        .await;

    let written: Arc<Written> = Arc::default();
    let writing = tokio::spawn(write(Arc::clone(&pooler), Arc::clone(&written)));
    let id = stage
        .submit_as(&format!("{REQUEST}options: {{cutover: approve}}\n"))
        .await;
    stage.until_state(&id, "waiting").await;
    let enough = |since: usize| written.moved.load(Ordering::Relaxed) >= since + WRITES;
    stage
        .until("writes before the cutover", async || {
            enough(0) || writing.is_finished()
        })
        .await;
    stage.cut_over(&id).await;
    let since = written.moved.load(Ordering::Relaxed);
    stage
        .until("writes after the cutover", async || {
            enough(since) || writing.is_finished()
        })
        .await;
    written.stop.store(true, Ordering::Relaxed);
    let mut acknowledged = writing.await.unwrap();

    let mut there = items_on(&stage.a, 0..MOVED).await;
    there.extend(items_on(&stage.b, MOVED..BUCKETS).await);
    there.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(there, acknowledged);
    let refused = written.refused.load(Ordering::Relaxed);
    println!(
        "{} writes, {refused} refused until the pooler had read the map again",
        there.len()
    );
}
