//! The applications of examples/ go through a live split: no error reaches them, and nothing they were told is lost.

use super::stage::{Stage, session};
use cluster::Cluster;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// Orders that an application places before and after the cutover, at least.
const ORDERS: usize = 100;
/// Tenants from here on move.
const MOVED: i64 = 500;

/// An order that was acknowledged: tenant and number.
type Order = (i64, i64);

/// An application that runs.
struct Application {
    name: &'static str,
    child: Child,
    placed: Arc<Mutex<Vec<Order>>>,
    /// Lines of its stderr.
    said: JoinHandle<String>,
}

impl Application {
    fn start(name: &'static str, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let placed: Arc<Mutex<Vec<Order>>> = Arc::default();
        let place = Arc::clone(&placed);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let (tenant, number) = line.split_once(' ').unwrap();
                let order = (tenant.parse().unwrap(), number.parse().unwrap());
                place.lock().unwrap().push(order);
            }
        });
        let mut words = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = tokio::spawn(async move {
            let mut said = String::new();
            while let Ok(Some(line)) = words.next_line().await {
                eprintln!("{name}: {line}");
                said += &line;
            }
            said
        });
        Self {
            name,
            child,
            placed,
            said,
        }
    }

    /// Until it has placed so many orders of moved tenants since `since`.
    async fn places(&mut self, stage: &Stage, since: usize) {
        let placed = Arc::clone(&self.placed);
        let enough = move || {
            let placed = placed.lock().unwrap();
            let moved = placed[since..].iter().filter(|order| order.0 >= MOVED);
            moved.count() >= ORDERS
        };
        let ended = || self.said.is_finished();
        stage.until(self.name, async || enough() || ended()).await;
        assert!(self.child.try_wait().unwrap().is_none(), "{}", self.name);
    }

    fn count(&self) -> usize {
        self.placed.lock().unwrap().len()
    }

    /// Ends it in order; what it has placed, and its last words.
    async fn end(mut self) -> (Vec<Order>, String) {
        drop(self.child.stdin.take());
        let said = self.said.await.unwrap();
        let ended = self.child.wait().await.unwrap();
        assert!(ended.success(), "{}: {said}", self.name);
        let placed = self.placed.lock().unwrap().clone();
        (placed, said)
    }
}

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap().to_owned()
}

/// A file that `scripts/setup test` and `scripts/test applications` make.
fn made(path: &str) -> PathBuf {
    let path = repository().join(path);
    assert!(
        path.exists(),
        "{} is missing: run scripts/setup test and scripts/test applications",
        path.display()
    );
    path
}

/// Starts an application that has the arguments of all of them, after those of `command`.
fn start(
    stage: &Stage,
    name: &'static str,
    mut command: Command,
    address: fn(&Cluster) -> String,
) -> Application {
    command.args(["--controller", &stage.url(), "--map", "m"]);
    command.arg("--token-file").arg(stage.token_file());
    for (name, cluster) in [("a", &stage.a), ("b", &stage.b)] {
        command.args(["--shard", &format!("{name}={}", address(cluster))]);
    }
    Application::start(name, command)
}

fn python(stage: &Stage, name: &'static str, program: &str) -> Application {
    let mut command = Command::new(made("target/examples/python/bin/python"));
    command.arg(repository().join("examples/python").join(program));
    start(stage, name, command, address)
}

fn typescript(stage: &Stage, name: &'static str, options: &[&str]) -> Application {
    let mut command = Command::new("node");
    command.arg(made("examples/typescript/dist/app.js"));
    command.args(options);
    start(stage, name, command, address)
}

fn go(stage: &Stage) -> Application {
    let command = Command::new(made("target/go/bin/app"));
    start(stage, "the application in Go", command, address)
}

fn java(stage: &Stage, name: &'static str, options: &[&str]) -> Application {
    let classes = [made("target/java/example"), made("target/java/classes")];
    let jars = ["postgresql", "HikariCP", "slf4j-api", "slf4j-nop"];
    let jars = jars.map(|jar| PathBuf::from(format!("/usr/share/java/{jar}.jar")));
    let path = std::env::join_paths(classes.into_iter().chain(jars)).unwrap();
    let mut command = Command::new("java");
    command.arg("-cp").arg(path).arg("App").args(options);
    start(stage, name, command, jdbc_address)
}

fn jdbc_address(cluster: &Cluster) -> String {
    let password = std::fs::read_to_string(cluster.password_file()).unwrap();
    let (host, port) = (cluster.host(), cluster.port());
    let password = password.trim();
    format!("jdbc:postgresql://{host}:{port}/app?user=postgres&password={password}")
}

fn address(cluster: &Cluster) -> String {
    let password = std::fs::read_to_string(cluster.password_file()).unwrap();
    let (host, port) = (cluster.host(), cluster.port());
    format!("postgres://postgres:{}@{host}:{port}/app", password.trim())
}

/// Orders that are on a shard.
async fn orders_on(cluster: &Cluster) -> Vec<Order> {
    let session = session(cluster, "app").await;
    let read = "select tenant_id, id from public.orders where note in ('python', 'typescript', 'go', 'java')";
    let rows = session.query(read, &[]).await.unwrap();
    session.close().await;
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn applications_in_each_language_go_through_a_cutover() {
    let stage = Stage::new("applications").await;
    let applications = vec![
        python(&stage, "the application in Python", "app.py"),
        typescript(&stage, "the application in TypeScript", &[]),
        go(&stage),
        java(&stage, "the application in Java", &[]),
    ];
    go_through_a_cutover(&stage, applications).await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn adapters_go_through_a_cutover() {
    let stage = Stage::new("adapters").await;
    let applications = vec![
        python(
            &stage,
            "the application with SQLAlchemy",
            "with_sqlalchemy.py",
        ),
        python(&stage, "the application with Django", "with_django.py"),
        typescript(&stage, "the application with Kysely", &["--kysely"]),
        java(
            &stage,
            "the application with HikariCP",
            &["--pool", "hikari"],
        ),
    ];
    go_through_a_cutover(&stage, applications).await;
}

/// Cuts over while the applications run. What they were told must be there afterwards, and nothing else.
async fn go_through_a_cutover(stage: &Stage, mut applications: Vec<Application>) {
    for application in &mut applications {
        application.places(stage, 0).await;
    }
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    for application in &mut applications {
        let since = application.count();
        application.places(stage, since).await;
    }
    let mut told = Vec::new();
    for application in applications {
        let (placed, said) = application.end().await;
        assert!(said.contains("map version 2, "), "{said}");
        told.extend(placed);
    }
    // Nobody else may write on the shard that gave the keys away, so what it has still is the copy for a roll back.
    let (kept, moved) = (orders_on(&stage.a).await, orders_on(&stage.b).await);
    let mut there: Vec<Order> = kept.into_iter().filter(|order| order.0 < MOVED).collect();
    there.extend(moved);
    there.sort_unstable();
    told.sort_unstable();
    assert_eq!(there, told);
}
