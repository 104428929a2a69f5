//! Standbys that an agent's program creates on the machine of the new server, and the moves that are seeded from them.

use crate::stage::{Stage, count, session, sql};
use cluster::{Cluster, Shutdown};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

const SLOTS: &str =
    "select count(*) from pg_replication_slots where slot_name like 'shardwright_standby_%'";
const END_OF_COPY: &str = "select pg_terminate_backend(pid) from pg_stat_replication
    where application_name like 'shardwright_standby_%'";
const ORDERS: i64 = 4000;

/// The machine of a new server: a data directory, and the account that owns it.
struct Machine<'a> {
    stage: &'a Stage,
    folder: PathBuf,
    name: &'static str,
    database: &'static str,
    port: u16,
}

impl<'a> Machine<'a> {
    fn new(stage: &'a Stage, name: &'static str) -> Self {
        let folder = stage.a.dir().join(format!("machine-{name}"));
        std::fs::create_dir(&folder).unwrap();
        let token = folder.join("token");
        std::fs::copy(stage.token_file(), &token).unwrap();
        let machine = Self {
            stage,
            folder,
            name,
            database: "app",
            port: cluster::free_port().unwrap(),
        };
        let (user, group) = machine.account();
        for path in [&machine.folder, &token] {
            std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
        }
        machine
    }

    /// The account of the servers.
    fn account(&self) -> (u32, u32) {
        let data = std::fs::metadata(self.stage.a.data()).unwrap();
        (data.uid(), data.gid())
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The command of a program under the servers' account.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let (user, group) = self.account();
        command.uid(user).gid(group).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.kill_on_drop(true);
        command
    }

    fn create_command(&self, options: &[&str]) -> Command {
        let agent = self.stage.program().with_file_name("shardwright-agent");
        let mut command = self.command(&agent);
        command.args(["standby", "create", self.name, "--source", "a"]);
        command
            .arg("--dsn")
            .arg(self.stage.a.dsn_by(self.port, self.database, "postgres"));
        command.arg("--data-dir").arg(self.data());
        command.arg("--controller").arg(self.stage.url());
        command.arg("--token-file").arg(self.folder.join("token"));
        command.arg("--secrets-dir").arg(std::env::temp_dir());
        command.args(options);
        command.env("SHARDWRIGHT_PG_BIN", cluster_programs(&self.stage.a));
        command.stderr(Stdio::piped());
        command
    }

    /// Creates the standby; how the command ended, and what it wrote.
    async fn create(&self, options: &[&str]) -> (ExitStatus, String) {
        let output = self.create_command(options).output().await.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status, text)
    }

    /// Begins to create the standby so slowly that it does not end, and waits until it copies.
    async fn begin(&self) -> Child {
        // A copy cannot be slower.
        let mut child = self.create_command(&["--max-rate", "32k"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.starts_with("base backup: ") && line.contains(" of ") {
                return child;
            }
        }
        panic!("it ended: {:?}", child.wait().await);
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        let (user, group) = self.account();
        let mut stop = std::process::Command::new(self.stage.a.binaries().path("pg_ctl"));
        std::os::unix::process::CommandExt::uid(&mut stop, user);
        std::os::unix::process::CommandExt::gid(&mut stop, group);
        stop.arg("--pgdata").arg(self.data());
        stop.args(["--mode", "immediate", "--silent", "stop"]);
        // Without a server there is nothing to stop.
        let _ = stop.stdin(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The folders of the servers' programs, in which a newer `pg_basebackup` can be too.
fn cluster_programs(cluster: &Cluster) -> String {
    let own = cluster.binaries().dir().display().to_string();
    match std::env::var("SHARDWRIGHT_PG_BIN") {
        Ok(all) => format!("{own}:{all}"),
        Err(_) => own,
    }
}

/// The decisions about slots of standbys.
async fn decisions(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let mut line = vec!["cleanup", "-o", "json"];
    line.extend(args);
    let report = stage.json(&line).await;
    let leftovers = report["leftovers"].as_array().unwrap().iter();
    let of_standbys = leftovers.filter(|left| {
        let object = left["object"].as_str().unwrap_or_default();
        object.contains("shardwright_standby_")
    });
    of_standbys.map(|left| left["verdict"].clone()).collect()
}

#[tokio::test]
async fn two_targets_of_a_split_are_seeded_side_by_side_from_created_standbys() {
    let stage = Stage::new("standbys").await;
    stage.ok("map set m --table orders=tenant_id").await;
    let machines = [Machine::new(&stage, "c"), Machine::new(&stage, "d")];
    for machine in &machines {
        let (status, text) = machine.create(&["--set", "shared_buffers=16MB"]).await;
        assert!(status.success(), "{text}");
        assert!(text.contains("is registered"), "{text}");
    }
    assert_eq!(count(&stage.a, SLOTS).await, 2);
    assert_eq!(decisions(&stage, &[]).await, [json!("keep"), json!("keep")]);
    let request = "operation: split\nmap: m\nsource: a\ninto:\n- {shard: a, keys: {to: 300}}\n\
        - {shard: c, keys: {from: 300, to: 600}}\n- {shard: d, keys: {from: 600}}\n\
        tables: {orders: tenant_id}\noptions: {seed: standby, cutover: approve, hold: until_finish}\n";
    let operation = stage.submit_as(request).await;
    let moves = ["x1", "x2"].map(|number| format!("{operation}{number}"));
    for id in &moves {
        stage.until_state(id, "waiting").await;
    }
    // Nothing retains log for the servers that are no standbys any more.
    assert_eq!(count(&stage.a, SLOTS).await, 0);
    for id in &moves {
        stage.cut_over(id).await;
    }
    for id in &moves {
        stage.ok(&format!("finish {id} --yes")).await;
        stage.until_state(id, "completed").await;
    }
    let mut rows = vec![count(&stage.a, "select count(*) from public.orders").await];
    for machine in &machines {
        let dsn = stage.a.dsn_by(machine.port, "app", "postgres");
        let dsn = connect::Dsn::parse(&dsn).unwrap();
        let session = connect::connect(&dsn, &connect::Session::named("test")).await;
        let count = "select count(*) from public.orders";
        let row = session.unwrap().query_one(count, &[]).await.unwrap();
        rows.push(row.get(0));
    }
    assert_eq!(
        rows,
        [
            ORDERS * 299 / 1000,
            ORDERS * 300 / 1000,
            ORDERS * 401 / 1000
        ]
    );
    stage.ok("map check m").await;
}

#[tokio::test]
async fn an_interrupted_creation_leaves_nothing_and_a_killed_one_a_recorded_slot() {
    let stage = Stage::new("standby_ends").await;
    let machine = Machine::new(&stage, "c");
    let mut child = machine.begin().await;
    assert_eq!(
        decisions(&stage, &["--apply", "--yes"]).await,
        [json!("keep")]
    );
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
    let mut text = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    stderr.read_to_string(&mut text).await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(1), "{text}");
    assert!(text.contains("nothing is left"), "{text}");
    assert_eq!(count(&stage.a, SLOTS).await, 0);
    assert!(!machine.data().exists());
    // What nothing can undo. The copy ends when its session ends.
    machine.begin().await.kill().await.unwrap();
    sql(&stage.a, "app", END_OF_COPY).await;
    stage
        .until("the slot is unused", || async {
            decisions(&stage, &[]).await == [json!("remove")]
        })
        .await;
    let (_, text) = machine.create(&[]).await;
    assert!(text.contains("is not empty"), "{text}");
    std::fs::remove_dir_all(machine.data()).unwrap();
    // The next attempt has a slot of its own, and the first one is not needed.
    let names = "select slot_name::text from pg_replication_slots where slot_type = 'physical'";
    let row = session(&stage.a, "app").await.query_one(names, &[]).await;
    let name: String = row.unwrap().get(0);
    let (status, text) = machine.create(&[]).await;
    assert!(status.success(), "{text}");
    let other = "select pg_create_physical_replication_slot('shardwright_standby_of_another')";
    sql(&stage.a, "app", other).await;
    let mut all = decisions(&stage, &["--apply", "--yes"]).await;
    all.sort_by_key(Value::to_string);
    assert_eq!(all, [json!("decide"), json!("keep"), json!("remove")]);
    assert_eq!(count(&stage.a, SLOTS).await, 2);
    // The record went with the slot: what has its name now was created by someone else.
    decisions(&stage, &["--apply", "--yes"]).await;
    let again = format!("select pg_create_physical_replication_slot('{name}')");
    sql(&stage.a, "app", &again).await;
    let mut all = decisions(&stage, &["--apply", "--yes"]).await;
    all.sort_by_key(Value::to_string);
    assert_eq!(all, [json!("decide"), json!("decide"), json!("keep")]);
}

#[tokio::test]
async fn what_can_be_known_is_refused_before_anything_is_created() {
    let stage = Stage::new("standby_refused").await;
    let mut machine = Machine::new(&stage, "c");
    let free = std::mem::replace(&mut machine.port, stage.a.port());
    let (_, text) = machine.create(&[]).await;
    assert!(text.contains("answers at"), "{text}");
    machine.port = free;
    machine.database = "postgres";
    let (_, text) = machine.create(&[]).await;
    assert!(text.contains("leads to database postgres"), "{text}");
    machine.database = "app";
    for (option, expected) in [
        ("no_such=1", "no setting no_such"),
        ("port=1", "sets it itself"),
    ] {
        let (_, text) = machine.create(&["--set", option]).await;
        assert!(text.contains(expected), "{text}");
    }
    let refused = |options: &'static [&'static str]| {
        let machine = &machine;
        async move {
            let (status, text) = machine.create(options).await;
            assert_eq!(status.code(), Some(1), "{text}");
            text
        }
    };
    let file = machine.data().join("of_others");
    assert!(!machine.data().exists());
    std::fs::create_dir(machine.data()).unwrap();
    let text = refused(&[]).await;
    assert!(text.contains("another account owns"), "{text}");
    let (user, group) = machine.account();
    std::os::unix::fs::chown(machine.data(), Some(user), Some(group)).unwrap();
    std::fs::write(&file, "").unwrap();
    let text = refused(&[]).await;
    assert!(text.contains("is not empty"), "{text}");
    std::fs::remove_file(&file).unwrap();
    let token = machine.folder.join("token");
    let right = std::fs::read_to_string(&token).unwrap();
    std::fs::write(&token, "wrong").unwrap();
    let text = refused(&[]).await;
    assert!(text.contains("token of an administrator"), "{text}");
    std::fs::write(&token, right).unwrap();
    sql(
        &stage.a,
        "app",
        "alter role postgres noreplication nosuperuser",
    )
    .await;
    drop(session(&stage.a, "app").await);
    let text = refused(&[]).await;
    assert!(text.contains("may not replicate"), "{text}");
    assert_eq!(count(&stage.a, SLOTS).await, 0);
    assert_eq!(decisions(&stage, &[]).await, Vec::<Value>::new());
    stage.a.stop(Shutdown::Immediate).unwrap();
    let text = refused(&[]).await;
    assert!(text.contains("shard a"), "{text}");
}
