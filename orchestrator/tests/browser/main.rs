//! The dashboard in a real browser: a real migration between two real clusters, driven by clicks.
//!
//! Order: clusters, a small schema, controller in this process, agent as a program, shards and map over the API,
//! then `node --test`, whose output is the failure. Screenshots go to `target/dashboard/`.
//! Needs what `scripts/setup test` installs: Chromium, node and the packages of this folder.

// A test says what it expects by unwrapping it.
#![allow(clippy::unwrap_used)]

use cluster::{Cluster, Options};
use orchestrator::controller::{Controller, Settings};
use orchestrator::store::pg::PgStore;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use tokio::process::{Child, Command};

const SCHEMA: &str = include_str!("schema.sql");
const DATA: &str = include_str!("data.sql");

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_is_run_from_the_dashboard() {
    let clusters = ["store", "a", "b"].map(launch);
    let [store, a, b] = clusters;
    let (store, a, b) = (store.await, a.await, b.await);
    for (shard, statements) in [(&a, &[SCHEMA, DATA][..]), (&b, &[])] {
        let mut session = connect(shard).await;
        for statement in statements {
            sqlx::raw_sql(*statement)
                .execute(&mut session)
                .await
                .unwrap();
        }
        session.close().await.unwrap();
    }
    let url = serve(&store).await;
    let agent = start_agent(&url).await;
    for (name, shard) in [("shard-a", &a), ("shard-b", &b)] {
        let dsn = shard.dsn("postgres", "postgres");
        post(&url, "shards", &json!({"name": name, "dsn": dsn})).await;
    }
    let keys = json!([{"keys": {"range": [{}]}, "shard": "shard-a"}]);
    let map = json!({"name": "tenants", "strategy": "range", "key": ["bigint"], "mappings": keys});
    post(&url, "maps", &map).await;
    drive(&url).await;
    drop(agent);
    // Servers stop with blocking calls.
    let stopped = tokio::task::spawn_blocking(move || drop((store, a, b)));
    stopped.await.unwrap();
}

async fn launch(name: &'static str) -> Cluster {
    let start = move || Cluster::launch(Options::temporary(name).setting("fsync", "off"));
    tokio::task::spawn_blocking(start).await.unwrap().unwrap()
}

async fn connect(cluster: &Cluster) -> PgConnection {
    let password = std::fs::read_to_string(cluster.password_file()).unwrap();
    let place = format!("{}:{}", cluster.host(), cluster.port());
    let url = format!("postgres://postgres:{password}@{place}/postgres");
    PgConnection::connect(&url).await.unwrap()
}

/// Serves API and dashboard in this process; returns where.
async fn serve(store: &Cluster) -> String {
    let dsn = store.dsn("postgres", "postgres");
    let store = Arc::new(PgStore::open(&dsn).await.unwrap());
    let controller = Controller::new(store, Settings::default());
    let address = "127.0.0.1:0".parse().unwrap();
    let listener = orchestrator::api::listen(address).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        orchestrator::api::serve(listener, controller)
            .await
            .unwrap()
    });
    url
}

/// Starts an agent; it ends when it is dropped.
async fn start_agent(url: &str) -> Child {
    Command::new(agent_program().await)
        .args(["--name", "agent-1", "--controller", url])
        .env("SHARDWRIGHT_LOG", "warn")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// The agent's program beside this test's folder; built if it is not there.
async fn agent_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let programs = test.ancestors().nth(2).unwrap();
    let program = programs.join("shardwright-agent");
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "-p", "agent", "--bin", "shardwright-agent"]);
        assert!(cargo.status().await.unwrap().success());
    }
    program
}

async fn post(url: &str, what: &str, body: &Value) {
    let to = format!("{url}/api/v1/{what}");
    let answer = reqwest::Client::new().post(to).json(body).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
}

/// Runs the browser's part, which fails with its own words.
async fn drive(url: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/dashboard");
    assert!(
        here.join("node_modules/playwright-core").exists(),
        "the node packages are missing: scripts/setup test"
    );
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec", "smoke.test.mjs"])
        .current_dir(here)
        .env("DASHBOARD_URL", url)
        .env("DASHBOARD_PICTURES", pictures)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
