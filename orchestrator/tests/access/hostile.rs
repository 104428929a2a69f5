//! Every route that changes something, approached in bad faith: refused, never with a failure of the server, and in the
//! audit trail where it is an order of somebody.

use super::locked::{Browser, Locked, code, is_api, is_open, patterns};
use axum::body::Bytes;
use orchestrator::access::{Role, RouteAccess};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// More than any route takes.
const TOO_LARGE: usize = (48 << 20) + 1;

/// Bodies that are none.
const BODIES: [&[u8]; 10] = [
    b"",
    b"{",
    b"null",
    b"[[[[[[[[",
    b"\xff\xfe\x00",
    b"1e999999",
    b"{\"reason\": \"\\u0000\"}",
    b"csrf=%zz&confirm=%00&reason=%00&plan=%ff&request=%00&token=%00",
    b"reason=a&reason=b&=&&&",
    br#"{"name": "a\u0000b", "reason": "\u0000", "role": "viewer", "dsn": "host=x"}"#,
];

/// Names that are ways, signs or too much, as they stand in a path.
const NAMES: [&str; 12] = [
    ".",
    "..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2ftokens",
    "%00",
    "a%00b",
    "%ff%fe",
    "a%2fb",
    "m1%0d%0aset-cookie:%20a=b",
    "%F0%9F%92%A9",
    "%27%3B%20drop%20table%20shardwright.shards%3B--",
    "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
];

#[test]
fn every_route_is_in_one_of_the_two_tables() {
    let mut files = Vec::new();
    walk(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let with_routes = files.iter().filter(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.contains(".route(") || text.contains(".nest(") || text.contains(".route_service(")
    });
    let found: Vec<_> = with_routes.map(|file| file.to_str().unwrap()).collect();
    let tables = |file: &&str| {
        file.ends_with("src/api/openapi/mod.rs") || file.ends_with("src/dashboard/mod.rs")
    };
    assert!(found.len() == 2 && found.iter().all(tables), "{found:?}");
}

fn walk(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The path of a route for the order `abort`, with this id or name in it.
fn about(pattern: &str, name: &str) -> String {
    let path = pattern.replace("{id}", name).replace("{name}", name);
    path.replace("{command}", "abort")
}

/// What the trail says was ordered with this outcome.
fn objects(audit: &[Value], outcome: &Value) -> BTreeSet<String> {
    let found = audit
        .iter()
        .filter(|line| &line["data"]["outcome"] == outcome);
    found
        .map(|line| line["object"].as_str().unwrap().to_owned())
        .collect()
}

/// What an agent sends to this route under the name `agent`, about a migration that is there.
fn of_an_agent(pattern: &str, agent: &str, migration: &str) -> Value {
    let progress = json!({"message": "", "tables": [], "rows_per_second": 0.0, "bytes_per_second": 0.0, "eta_seconds": null});
    match pattern {
        "/api/v1/agents/claim" => {
            json!({"protocol": plans::wire::NEWEST_PROTOCOL, "agent": agent, "instance": "i1", "holding": []})
        }
        "/api/v1/agents/heartbeat" => json!({"agent": agent, "instance": "i1", "holding": [
            {"migration": migration, "epoch": 1, "step": null, "progress": progress, "stream": null}]}),
        "/api/v1/agents/report" => {
            json!({"report": "step", "migration": migration, "step": "preflight", "epoch": 1,
            "outcome": {"outcome": "done", "output": null}, "progress": progress})
        }
        "/api/v1/agents/cutover" => {
            json!({"migration": migration, "epoch": 1, "ask": {"ask": "begin", "direction": "forward"}})
        }
        "/api/v1/migrations/{id}/cleanup-records"
        | "/api/v1/migrations/{id}/cleanup-records/done" => {
            json!([{"shard": "a", "kind": "slot", "name": "s", "policy": "always"}])
        }
        other => panic!("{other} is for agents: say here what they send"),
    }
}

#[tokio::test]
async fn an_agent_of_other_shards_is_refused_at_every_route() {
    let locked = Locked::start().await;
    let token = locked
        .token("near", Role::Agent, &json!({"region": "eu"}))
        .await;
    let id = locked.migration.as_str();
    for (method, pattern) in patterns() {
        let last = pattern.rsplit('/').next().unwrap();
        let path = about(pattern, id);
        let works = RouteAccess::of(method.as_str(), pattern, last) == RouteAccess::Work;
        let bodies = match works {
            // Under another's name, and under its own about shards that are not in its reach.
            true if pattern == "/api/v1/agents/claim" => vec![of_an_agent(pattern, "far", id)],
            true => ["far", "near"]
                .map(|name| of_an_agent(pattern, name, id))
                .to_vec(),
            false => vec![json!({})],
        };
        if is_open(&path) {
            continue;
        }
        for body in bodies {
            let asked = locked.ask(&token, method.clone(), &path).json(&body);
            let (status, code) = code(asked.send().await.unwrap()).await;
            assert_eq!(status, 403, "{method} {path} {body}: {code}");
            let known = ["token.role", "agent.name", "agent.labels"].contains(&code.as_str());
            assert!(known || !is_api(&path), "{method} {path}: {code}");
        }
    }
    let view = locked.ask(
        &locked.admin,
        Method::GET,
        &format!("/api/v1/migrations/{id}"),
    );
    let view: Value = view.send().await.unwrap().json().await.unwrap();
    assert_eq!(view["finished_at"], Value::Null, "{view}");
}

#[tokio::test]
async fn what_a_session_sends_is_taken_only_with_what_its_pages_carry() {
    let locked = Locked::start().await;
    let approver = locked.token("pia", Role::Admin, &json!({})).await;
    let page = format!("/migrations/{}", locked.migration);
    let before = Browser::signed_in(&locked, &approver).await;
    let stale = before.csrf(&page).await;
    let browser = Browser::signed_in(&locked, &approver).await;
    let mut orders = BTreeSet::new();
    for (method, path) in locked.changing() {
        if is_open(&path) {
            continue;
        }
        for csrf in ["", "guessed", &stale] {
            let asked = browser.form(
                method.clone(),
                &path,
                format!("csrf={csrf}&confirm={}", locked.migration),
            );
            let status = asked.send().await.unwrap().status();
            assert_eq!(status, 403, "{method} {path} with {csrf:?}");
            let asked = browser.form(method.clone(), &path, String::new());
            let status = asked
                .header("x-csrf-token", csrf)
                .send()
                .await
                .unwrap()
                .status();
            assert_eq!(status, 403, "{method} {path} with {csrf:?} in a header");
        }
        orders.insert(format!("{method} {path}"));
    }
    let audit = locked.audit().await;
    assert_eq!(objects(&audit, &json!("form.stale")), orders);
}

fn kind(answer: &reqwest::Response) -> String {
    let kind = answer.headers().get("content-type");
    kind.map_or_else(String::new, |kind| kind.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_query_that_is_not_understood_is_answered_with_a_problem() {
    let locked = Locked::start().await;
    for path in [
        "/api/v1/migrations?limit=many",
        "/api/v1/migrations/m1/events?after=x",
        "/api/v1/audit?after=x",
        "/api/v1/maps/tenants?version=x",
    ] {
        let asked = locked.ask(&locked.admin, Method::GET, path);
        let answer = asked.send().await.unwrap();
        if answer.status().is_client_error() {
            assert_eq!(kind(&answer), "application/problem+json", "{path}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_the_order_written_down() {
    let locked = Locked::start().await;
    let body = Bytes::from(vec![b'x'; TOO_LARGE]);
    let mut orders = BTreeSet::new();
    for (method, pattern) in patterns() {
        let path = about(pattern, "m1");
        if is_open(&path) {
            continue;
        }
        let asked = locked.ask(&locked.admin, method.clone(), &path);
        let answer = asked.body(body.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 413, "{method} {path}");
        assert_eq!(kind(&answer), "application/problem+json", "{method} {path}");
        orders.insert(format!("{method} {path}"));
    }
    let audit = locked.audit().await;
    assert_eq!(objects(&audit, &json!(413)), orders);
}

#[tokio::test]
async fn bodies_of_any_kind_break_nothing() {
    let locked = Locked::start().await;
    // These are obeyed without a body, and wait for an agent.
    let waits = [
        "/reconcile",
        "/cleanup",
        "/doctor",
        "/directory",
        "/verify",
        "/check",
    ];
    for (method, path) in locked.changing() {
        if waits.iter().any(|end| path.ends_with(end)) {
            continue;
        }
        for body in BODIES {
            for kind in [
                "application/json",
                "application/x-www-form-urlencoded",
                "text/plain; charset=utf-16",
                "",
            ] {
                let asked = locked.ask(&locked.admin, method.clone(), &path);
                let asked = asked
                    .header("origin", &locked.server.url)
                    .header("content-type", kind);
                let status = asked.body(body.to_vec()).send().await.unwrap().status();
                assert!(
                    status.as_u16() < 500,
                    "{method} {path} {kind} {body:?}: {status}"
                );
            }
        }
    }
}

/// Sends a request as it is, where a client would tidy its path up; the answer's status.
async fn raw(locked: &Locked, token: Option<&str>, method: &Method, path: &str) -> u16 {
    let (_, place) = locked.server.url.split_once("//").unwrap();
    let shown = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {place}\r\n{shown}content-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    let mut stream = TcpStream::connect(place).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let lines = answer.to_ascii_lowercase();
    assert!(!lines.contains("\r\nset-cookie:"), "{path}: {answer}");
    answer
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("{path}: {answer:?}"))
        .parse()
        .unwrap()
}

#[tokio::test]
async fn paths_that_are_tricks_reach_nothing() {
    let locked = Locked::start().await;
    let long = "m".repeat(30_000);
    let names = NAMES.into_iter().chain([long.as_str(), "\u{202e}x", ""]);
    for name in names {
        for (method, pattern) in patterns()
            .into_iter()
            .filter(|(_, pattern)| pattern.contains('{'))
        {
            let path = about(pattern, name);
            let with = raw(&locked, Some(&locked.admin), &method, &path).await;
            assert!((400..500).contains(&with), "{method} {path}: {with}");
            let without = raw(&locked, None, &method, &path).await;
            assert!(
                (400..500).contains(&without),
                "{method} {path} by nobody: {without}"
            );
        }
    }
    for (method, path) in locked.changing() {
        for trick in [
            path.replacen('/', "//", 1),
            format!("{path}/"),
            format!("{path}/."),
            format!("/x/..{path}"),
            path.to_uppercase(),
        ] {
            let without = raw(&locked, None, &method, &trick).await;
            assert!(
                (400..500).contains(&without),
                "{method} {trick} by nobody: {without}"
            );
        }
    }
    let path = format!("/api/v1/migrations/{}", locked.migration);
    let view: Value = locked
        .ask(&locked.admin, Method::GET, &path)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(view["finished_at"], Value::Null, "{view}");
}

#[tokio::test]
async fn names_that_are_tricks_are_refused_where_they_are_given() {
    let locked = Locked::start().await;
    let long = "x".repeat(100_000);
    for name in [
        "",
        "..",
        "a/b",
        "a\0b",
        "a\nb",
        " ",
        "<script>alert(1)</script>",
        "\u{202e}x",
        long.as_str(),
    ] {
        let keys = json!([{"keys": {"range": [{}]}, "shard": "a"}]);
        for (path, body) in [
            ("/api/v1/shards", json!({"name": name, "dsn": "host=x"})),
            (
                "/api/v1/maps",
                json!({"name": name, "strategy": "range", "key": ["bigint"], "mappings": keys}),
            ),
            ("/api/v1/tokens", json!({"name": name, "role": "viewer"})),
            ("/api/v1/tokens", json!({"name": "fine", "role": name})),
        ] {
            let status = locked.post(&locked.admin, path, &body).await.status();
            assert!(status.is_client_error(), "{path} {name:?}: {status}");
        }
    }
}
