//! Controllers and agents as services: whether they are ready, and what they tell the service manager.

use crate::fixture::{Database, Process, Server, free_address, until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::net::UnixDatagram;
use tokio::process::{Child, Command};

async fn verbose(server: &Server) -> (u16, Value) {
    let answer = server.get("/readyz?verbose").await;
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// Names of the checks that are not as they must be.
fn wrong(said: &Value) -> Vec<&str> {
    let checks = said["checks"].as_array().unwrap().iter();
    let wrong = checks.filter(|check| check["ok"] == false);
    wrong.map(|check| check["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_controller_is_ready_with_its_store_its_schema_and_a_leader_and_says_what_is_missing() {
    let server = Server::over(Database::alone().await, crate::fixture::quick()).await;
    until("ready", || async {
        let (status, said) = verbose(&server).await;
        (status == 200 && said["ready"] == true).then_some(())
    })
    .await;
    let (_, said) = verbose(&server).await;
    let checks = said["checks"].as_array().unwrap().iter();
    let names: Vec<&str> = checks
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["store", "schema", "leader"]);
    let text = server.get("/readyz").await.text().await.unwrap();
    assert_eq!(text, "ready\n");

    let pool = server.database.pool().await;
    let newer = "insert into shardwright._sqlx_migrations
        (version, description, success, checksum, execution_time) values (999999, 'newer', true, '', 0)";
    sqlx::query(newer).execute(&pool).await.unwrap();
    let (status, said) = verbose(&server).await;
    assert_eq!((status, wrong(&said)), (503, vec!["schema"]));
    assert_eq!(said["code"], "controller.not_ready");
    assert!(said["detail"].as_str().unwrap().contains("version 999999"));
    assert_eq!(server.get("/readyz").await.status(), 503);
    drop(pool);

    let cluster = std::sync::Arc::clone(&server.database.cluster);
    let stop = move || cluster.stop(cluster::Shutdown::Immediate).unwrap();
    tokio::task::spawn_blocking(stop).await.unwrap();
    let (status, said) = verbose(&server).await;
    assert_eq!(status, 503);
    assert!(wrong(&said).contains(&"store"), "{said}");
    let text = said.to_string();
    assert!(
        !text.contains("password") && !text.contains("host="),
        "{text}"
    );
    assert_eq!(server.get("/healthz").await.status(), 200);
}

#[tokio::test]
async fn while_nobody_leads_no_controller_is_ready() {
    let database = Database::new().await;
    let leader = Process::start(&database, "").await;
    leader.leads().await;
    let follower = Process::start(&database, "").await;
    follower.follows(Some(&leader.url)).await;
    // It reads on, and cannot take over.
    leader.signal("STOP").await;
    let pool = database.pool().await;
    let mut lead = pool.begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(1397248331, 1)")
        .execute(&mut *lead)
        .await
        .unwrap();
    until("unready", || async {
        let answer = follower.get("/readyz").await?;
        let status = answer.status();
        let said: Value = answer.json().await.ok()?;
        (status == 503 && wrong(&said) == ["leader"]).then_some(())
    })
    .await;
    leader.signal("CONT").await;
    drop(lead);
    until("ready", || async {
        let answer = follower.get("/readyz").await?;
        answer.status().is_success().then_some(())
    })
    .await;
}

#[tokio::test]
async fn each_answer_bears_the_name_of_its_request() {
    let server = Server::start().await;
    let answer = server.get("/api/v1/shards").await;
    let named = answer.headers()["x-request-id"].to_str().unwrap();
    assert!(uuid::Uuid::parse_str(named).is_ok(), "{named}");
    let ask = |name: &'static str| {
        let asked = server.http.get(format!("{}/api/v1/shards", server.url));
        asked.header("x-request-id", name).send()
    };
    let kept = ask("deploy-17.a_b").await.unwrap();
    assert_eq!(kept.headers()["x-request-id"], "deploy-17.a_b");
    let refused = ask("two words").await.unwrap();
    assert_ne!(refused.headers()["x-request-id"], "two words");
}

/// The service manager's end of the socket.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Manager {
    fn new() -> Self {
        let name = format!("notify-{}", uuid::Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        let socket = UnixDatagram::bind(&path).unwrap();
        // As the service manager's own: other accounts may write to it.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&path, open).unwrap();
        Self { socket, path }
    }

    fn start(&self, mut command: Command) -> Child {
        command.env("NOTIFY_SOCKET", &self.path);
        command.env("WATCHDOG_USEC", "200000");
        command.stderr(Stdio::null()).stdin(Stdio::null());
        command.kill_on_drop(true).spawn().unwrap()
    }

    /// The next message.
    async fn next(&self) -> String {
        let mut bytes = [0; 4096];
        let limit = Duration::from_secs(60);
        let read = tokio::time::timeout(limit, self.socket.recv(&mut bytes));
        let read = read.await.expect("nothing is told").unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }

    /// The next line that begins so.
    async fn told(&self, wanted: &str) -> String {
        let limit = Duration::from_secs(60);
        let told = async {
            loop {
                let text = self.next().await;
                if let Some(line) = text.lines().find(|line| line.starts_with(wanted)) {
                    return line.to_owned();
                }
            }
        };
        let told = tokio::time::timeout(limit, told).await;
        told.unwrap_or_else(|_| panic!("{wanted} is not told"))
    }
}

async fn end(child: &mut Child) -> std::process::ExitStatus {
    let pid = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-s", "TERM", &pid]).status();
    assert!(kill.await.unwrap().success());
    child.wait().await.unwrap()
}

#[tokio::test]
async fn a_controller_tells_the_service_manager_when_it_is_ready_alive_and_stopping() {
    let manager = Manager::new();
    let address = free_address().to_string();
    let folder = std::env::temp_dir().join(format!("serve-{}", uuid::Uuid::new_v4().simple()));
    let mut serve = crate::fixture::program("");
    serve.args(["serve", "--listen", &address, "--data-dir"]);
    serve.arg(&folder);
    let mut child = manager.start(serve);
    // The private server, which knows this protocol too, says nothing before.
    assert_eq!(
        manager.next().await,
        "READY=1\nSTATUS=no role yet: the controller campaigns for the leadership"
    );
    assert_eq!(
        manager.told("STATUS=leads").await,
        "STATUS=leads under term 1"
    );
    for _ in 0..3 {
        manager.told("WATCHDOG=1").await;
    }
    let ended = end(&mut child);
    let (status, _) = tokio::join!(ended, manager.told("STOPPING=1"));
    assert!(status.success(), "{status}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn an_agent_tells_the_service_manager_when_it_is_ready_alive_and_stopping() {
    let manager = Manager::new();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_shardwright"));
    let program = program.with_file_name("shardwright-agent");
    assert!(program.is_file(), "cargo build --bins");
    let mut agent = Command::new(program);
    let nobody = format!("http://{}", free_address());
    agent.args(["--name", "x", "--controller", &nobody]);
    agent.env("SHARDWRIGHT_SPOOL_DIR", std::env::temp_dir());
    let mut child = manager.start(agent);
    manager.told("READY=1").await;
    for _ in 0..3 {
        manager.told("WATCHDOG=1").await;
    }
    let (status, _) = tokio::join!(end(&mut child), manager.told("STOPPING=1"));
    assert!(status.success(), "{status}");
}

#[test]
fn the_units_of_deploy_wait_for_what_the_programs_tell() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
    for unit in ["shardwright.service", "shardwright-agent@.service"] {
        let text = std::fs::read_to_string(deploy.join(unit)).unwrap();
        assert!(text.contains("\nType=notify\n"), "{unit}");
        assert!(text.contains("\nWatchdogSec="), "{unit}");
    }
}
