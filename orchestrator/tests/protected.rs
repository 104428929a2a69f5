//! A controller beyond loopback: tokens, TLS, and a follower that sends on what its leader answers.

use crate::fixture::{Database, free_address, program, until};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use tokio::process::Child;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("shardwright-tls-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A controller that is reached at its name, by TLS.
struct Controller {
    _child: Child,
    url: String,
}

fn certificate(folder: &Folder) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.file("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.file("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

fn controller(folder: &Folder, database: &Database) -> Controller {
    let address = free_address();
    let url = format!("https://localhost:{}", address.port());
    let mut command = program(&url);
    command.args([
        "serve",
        "--listen",
        &address.to_string(),
        "--reconcile-every",
        "0",
    ]);
    command.args(["--store", &database.dsn, "--advertise", &url]);
    command.args(["--admin-token-file", &folder.file("admin")]);
    command.args(["--tls-cert", &folder.file("cert.pem")]);
    command.args(["--tls-key", &folder.file("key.pem")]);
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    Controller { _child: child, url }
}

async fn run(url: &str, line: &[&str]) -> Output {
    program(url).args(line).output().await.unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", told(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A leader whose certificate and admin token are in a folder.
struct Stage {
    folder: Folder,
    database: Database,
    leader: Controller,
}

impl Stage {
    async fn new() -> Self {
        let (folder, database) = (Folder::new(), Database::new().await);
        certificate(&folder);
        let leader = controller(&folder, &database);
        let stage = Self {
            folder,
            database,
            leader,
        };
        until("leading", || async {
            if !Path::new(&stage.folder.file("admin")).exists() {
                return None;
            }
            let listed = stage.ask(&["shard", "list"]).await;
            listed.status.success().then_some(())
        })
        .await;
        stage
    }

    /// A command with the token of this file, at the controller with this address.
    async fn ask_as(&self, (url, file): (&str, &str), line: &[&str]) -> Output {
        let (ca, token) = (self.folder.file("cert.pem"), self.folder.file(file));
        let known = ["--ca-file", &ca, "--token-file", &token];
        run(url, &[&known[..], line].concat()).await
    }

    async fn ask(&self, line: &[&str]) -> Output {
        self.ask_as((&self.leader.url, "admin"), line).await
    }
}

#[tokio::test]
async fn tokens_go_by_tls_and_along_to_the_leader() {
    let stage = Stage::new().await;
    let admin = std::fs::metadata(stage.folder.file("admin")).unwrap();
    assert_eq!(admin.permissions().mode() & 0o777, 0o600);
    let follower = controller(&stage.folder, &stage.database);
    let added = until("sent on", || async {
        let line = ["shard", "add", "s1", "host=x"];
        let output = stage.ask_as((&follower.url, "admin"), &line).await;
        output.status.success().then_some(output)
    });
    assert_eq!(said(&added.await), "s1\n");
    let url = &stage.leader.url;
    let unknown = run(url, &["shard", "list"]).await;
    assert_eq!(unknown.status.code(), Some(1));
    assert!(told(&unknown).contains("certificate"), "{}", told(&unknown));
    let ca = stage.folder.file("cert.pem");
    let nobody = run(url, &["--ca-file", &ca, "shard", "list"]).await;
    assert_eq!(nobody.status.code(), Some(4), "{}", told(&nobody));
    assert!(told(&nobody).contains("--token-file"), "{}", told(&nobody));
}

#[tokio::test]
async fn a_token_is_made_shown_once_and_taken_back_by_commands() {
    let stage = Stage::new().await;
    said(&stage.ask(&["shard", "add", "s1", "host=x"]).await);
    let line = ["token", "create", "vera", "--role", "viewer", "--days", "7"];
    let token = said(&stage.ask(&line).await);
    std::fs::write(stage.folder.file("vera"), &token).unwrap();
    let hers = (stage.leader.url.as_str(), "vera");
    let list = stage.ask_as(hers, &["shard", "list", "-o", "json"]).await;
    let list: Value = serde_json::from_str(&said(&list)).unwrap();
    assert_eq!(list[0]["name"], "s1");
    let refused = stage
        .ask_as(hers, &["shard", "remove", "s1", "--yes"])
        .await;
    assert_eq!(refused.status.code(), Some(4));
    assert!(told(&refused).contains("admin"), "{}", told(&refused));
    said(&stage.ask(&["token", "revoke", "vera", "--yes"]).await);
    let list = stage.ask_as(hers, &["shard", "list"]).await;
    assert_eq!(list.status.code(), Some(4), "{}", told(&list));
    let all = said(&stage.ask(&["token", "list"]).await);
    assert!(all.contains("vera") && !all.contains(token.trim()), "{all}");
}

#[tokio::test]
async fn beyond_loopback_nothing_is_served_without_tokens_or_in_clear() {
    let refused = async |more: &[&str]| {
        let line = ["serve", "--listen", "0.0.0.0:0", "--store", "host=/nowhere"];
        let output = run("http://127.0.0.1:1", &[&line[..], more].concat()).await;
        assert!(!output.status.success());
        told(&output)
    };
    let open = refused(&["--advertise", "http://me:1"]).await;
    assert!(
        open.contains("no token was configured") && open.contains("--admin-token-file"),
        "{open}"
    );
    let clear = refused(&["--tokens", "--advertise", "http://me:1"]).await;
    assert!(
        clear.contains("TLS was not configured") && clear.contains("--tls-cert"),
        "{clear}"
    );
    let nameless = refused(&["--tokens", "--plain-http"]).await;
    assert!(nameless.contains("--advertise"), "{nameless}");
    let half = refused(&["--tokens", "--tls-cert", "/nowhere"]).await;
    assert!(half.contains("--tls-key"), "{half}");
}
