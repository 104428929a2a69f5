//! Agents of neighbouring versions are given work, others are told what to do.

use crate::fixture::Server;
use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use plans::wire::{
    FIRST_PROTOCOL_WITH_CASCADES, FIRST_PROTOCOL_WITH_FOLLOWING, FIRST_PROTOCOL_WITH_SEEDING,
    NEWEST_PROTOCOL, OLDEST_PROTOCOL, Outcome,
};
use reqwest::Response;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::mpsc;

async fn claim(server: &Server, protocol: u32, oldest: Option<u32>) -> Response {
    let mut claim = json!({"protocol": protocol, "agent": "x", "instance": "x1", "holding": []});
    if let Some(oldest) = oldest {
        claim["oldest"] = json!(oldest);
    }
    server.post("/api/v1/agents/claim", &claim).await
}

#[tokio::test]
async fn agents_with_a_protocol_in_common_are_given_work() {
    let server = Server::start().await;
    for protocol in OLDEST_PROTOCOL..=NEWEST_PROTOCOL {
        assert_eq!(claim(&server, protocol, None).await.status(), 204);
    }
    // One of the next version, which understands this one.
    let newer = claim(&server, NEWEST_PROTOCOL + 1, Some(NEWEST_PROTOCOL)).await;
    assert_eq!(newer.status(), 204);
    let pool = server.database.pool().await;
    let seen = "select protocol from shardwright.agent_status where agent = 'x'";
    let (seen,): (i32,) = sqlx::query_as(seen).fetch_one(&pool).await.unwrap();
    assert_eq!(
        u32::try_from(seen),
        Ok(NEWEST_PROTOCOL + 1),
        "what the agent says that it speaks"
    );
    let version = server.json("/version").await;
    assert_eq!(version["protocol"], NEWEST_PROTOCOL);
    assert_eq!(version["oldest_protocol"], OLDEST_PROTOCOL);
}

/// It would hand over rows that cascades have skipped, without asking what became of them.
#[tokio::test]
async fn a_migration_whose_cascades_skip_rows_goes_on_with_agents_that_know_it() {
    for (cascades, first) in [(true, 204), (false, 200)] {
        let server = Server::start().await;
        let agent = server.agent("x", "x1");
        server.apply(&agent, "cutover: automatic").await;
        let create = agent.run_to("create_target").await;
        let output = json!({"created": true, "objects": 1, "cascades": cascades});
        let reported = agent.report(&create, Outcome::Done { output }).await;
        assert_eq!(reported, StatusCode::OK);
        // The process has ended, and another version of it is started there.
        let mut claim = json!({"protocol": FIRST_PROTOCOL_WITH_CASCADES - 1, "agent": "x", "instance": "x2", "holding": [],
                               "key": "key of x2", "outlived": ["key of x1"]});
        let given = server.post("/api/v1/agents/claim", &claim).await;
        assert_eq!(given.status(), first);
        claim["protocol"] = json!(FIRST_PROTOCOL_WITH_CASCADES);
        let given = server.post("/api/v1/agents/claim", &claim).await;
        assert_eq!(given.status(), 200);
    }
}

/// It does not know the step `promote`, and would create what the standby brings along; or it would halt at the first
/// change that another agent has made on the target.
#[tokio::test]
async fn a_migration_is_given_to_agents_that_know_its_options() {
    for (option, value, first) in [
        ("seed", "standby", FIRST_PROTOCOL_WITH_SEEDING),
        ("ddl", "follow", FIRST_PROTOCOL_WITH_FOLLOWING),
    ] {
        let server = Server::start().await;
        let agent = server.agent("x", "x1");
        server.apply(&agent, &format!("{option}: {value}")).await;
        let mut claim =
            json!({"protocol": first - 1, "agent": "y", "instance": "y1", "holding": []});
        let given = server.post("/api/v1/agents/claim", &claim).await;
        assert_eq!(given.status(), 204);
        claim["protocol"] = json!(first);
        let given = server.post("/api/v1/agents/claim", &claim).await;
        assert_eq!(given.status(), 200);
        let dispatch: Value = given.json().await.unwrap();
        assert_eq!(dispatch["options"][option], value);
        let is_seeded = option == "seed";
        assert_eq!(
            dispatch["surplus_keys"].is_object(),
            is_seeded,
            "{dispatch}"
        );
    }
}

#[tokio::test]
async fn agents_that_are_further_away_are_told_what_to_do() {
    let server = Server::start().await;
    let next = NEWEST_PROTOCOL + 1;
    for (protocol, oldest, theirs) in [
        (
            OLDEST_PROTOCOL - 1,
            None,
            format!("protocol {}", OLDEST_PROTOCOL - 1),
        ),
        (next, None, format!("protocol {next}")),
        (
            next + 1,
            Some(next),
            format!("protocols {next} to {}", next + 1),
        ),
    ] {
        let refused = claim(&server, protocol, oldest).await;
        assert_eq!(refused.status(), 409);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["code"], "agent.protocol");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.starts_with(&format!("the agent speaks {theirs}, this controller ")),
            "{detail}"
        );
        assert!(
            problem["hint"]
                .as_str()
                .unwrap()
                .contains("docs/upgrades.md"),
            "{problem}"
        );
    }
}

/// A step of the next version, for whoever asks first.
const FOREIGN: &str =
    r#"{"work": "step", "migration": "m1", "epoch": 7, "step": ["fold", "fold"], "attempt": 1}"#;

/// A controller of the next version; and what is reported to it.
async fn newer_controller() -> (String, mpsc::Receiver<Value>) {
    let (reported, reports) = mpsc::channel(1);
    let given = Arc::new(AtomicBool::new(false));
    let claim = move |_: Bytes| async move {
        if given.swap(true, Ordering::SeqCst) {
            return StatusCode::NO_CONTENT.into_response();
        }
        ([(header::CONTENT_TYPE, "application/json")], FOREIGN).into_response()
    };
    let report = move |body: Bytes| async move {
        let _ = reported.send(serde_json::from_slice(&body).unwrap()).await;
    };
    let app = Router::new()
        .route("/api/v1/agents/claim", post(claim))
        .route("/api/v1/agents/report", post(report));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, reports)
}

#[tokio::test]
async fn an_agent_fails_a_step_that_it_does_not_understand() {
    let (url, mut reports) = newer_controller().await;
    let program = PathBuf::from(env!("CARGO_BIN_EXE_shardwright"));
    let mut agent = Command::new(program.with_file_name("shardwright-agent"));
    agent.args(["--name", "x", "--controller", &url]);
    agent.env("SHARDWRIGHT_SPOOL_DIR", std::env::temp_dir());
    agent.stderr(Stdio::null()).kill_on_drop(true);
    let _agent = agent.spawn().unwrap();
    let limit = Duration::from_secs(60);
    let report = tokio::time::timeout(limit, reports.recv()).await;
    let report = report.expect("nothing is reported").unwrap();
    let named = (&report["migration"], &report["step"], &report["epoch"]);
    assert_eq!(named, (&json!("m1"), &json!("fold"), &json!(7)), "{report}");
    let failure = &report["outcome"]["failure"];
    assert_eq!(
        (&failure["code"], &failure["retry"]),
        (&json!("agent.version"), &json!("none"))
    );
    assert!(
        failure["hint"]
            .as_str()
            .unwrap()
            .contains("upgrade the agents"),
        "{failure}"
    );
}
