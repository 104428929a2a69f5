//! Small ways in, each tried once; and what the audit trail has of each order.

use super::code;
use super::locked::{Browser, Locked};
use crate::fixture::{Database, Server, program, quick, until};
use connect::{Dsn, Session};
use orchestrator::access::{AccessRule, AuditRule, Role, Secret};
use orchestrator::api;
use orchestrator::controller::{Controller, ControllerSettings};
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

fn stranger() -> Client {
    controller_client::client(Policy::none(), None).unwrap()
}

#[tokio::test]
async fn a_token_lasts_ten_years_at_most() {
    let locked = Locked::start().await;
    for (days, status) in [
        (0, 422),
        (3_651, 422),
        (96_000_000, 422),
        (u32::MAX, 422),
        (3_650, 201),
    ] {
        let new = json!({"name": "dd", "role": "viewer", "days": days});
        let answer = locked.post(&locked.admin, "/api/v1/tokens", &new).await;
        assert_eq!(answer.status(), status, "{days}");
    }
    let audit = locked.audit().await;
    let refused = audit.iter().filter(|line| line["data"]["outcome"] == 422);
    assert_eq!(refused.count(), 4);
}

#[tokio::test]
async fn a_sign_in_leads_to_pages_of_ours_alone() {
    let locked = Locked::start().await;
    for (next, to) in [
        ("%2Fmigrations%3Fa%3Db", "/migrations?a=b"),
        ("%2F%09%2Fevil.example%2Fx", "/"),
        ("%2F%0A%2Fevil.example", "/"),
        ("%2F%5Cevil.example", "/"),
        ("%2F%2Fevil.example", "/"),
        ("https%3A%2F%2Fevil.example", "/"),
    ] {
        let browser = Browser::new(&locked);
        let form = format!("token={}&next={next}", locked.admin);
        let answer = browser.post("/sign-in", form).await;
        assert_eq!(answer.status(), 303, "{next}");
        assert_eq!(answer.headers()["location"], to, "{next}");
    }
}

#[tokio::test]
async fn after_too_many_wrong_tokens_a_right_one_is_not_looked_at() {
    let locked = Locked::start().await;
    let shards = format!("{}/api/v1/shards", locked.server.url);
    let known = stranger();
    let asked = |http: &Client, token: &str| http.get(&shards).bearer_auth(token).send();
    assert_eq!(asked(&known, &locked.admin).await.unwrap().status(), 200);
    let wrong = stranger();
    for _ in 0..21 {
        asked(&wrong, "nonsense").await.unwrap();
    }
    for _ in 0..3 {
        let refused = asked(&stranger(), &locked.admin).await.unwrap();
        assert_eq!(code(refused).await, (429, "token.too_often".to_owned()));
    }
    let form = format!("token={}", locked.admin);
    let refused = Browser::new(&locked).post("/sign-in", form).await;
    assert_eq!(refused.status(), 429);
    // Who was let in before goes on.
    assert_eq!(asked(&known, &locked.admin).await.unwrap().status(), 200);
}

#[tokio::test]
async fn wrong_cookies_count_as_wrong_tokens_do() {
    let locked = Locked::start().await;
    let shards = format!("{}/api/v1/shards", locked.server.url);
    let sent = async |cookie: &str| {
        let cookie = format!("shardwright_session={cookie}");
        let asked = stranger().get(&shards).header("cookie", cookie);
        asked.send().await.unwrap().status().as_u16()
    };
    let old = Secret::random();
    for _ in 0..40 {
        assert_eq!(sent(old.reveal()).await, 401, "one old cookie counts once");
        assert_eq!(sent("no-cookie-of-ours").await, 401);
    }
    for _ in 0..20 {
        sent(Secret::random().reveal()).await;
    }
    assert_eq!(sent(Secret::random().reveal()).await, 429);
}

#[tokio::test]
async fn an_agent_reads_migrations_of_its_own_shards_alone() {
    let locked = Locked::start().await;
    let labels = json!({"region": "eu"});
    let near = locked.token("near", Role::Agent, &labels).await;
    let far = locked.token("far", Role::Agent, &json!({})).await;
    for end in ["", "/cleanup"] {
        let path = format!("/api/v1/migrations/{}{end}", locked.migration);
        let refused = locked.ask(&near, Method::GET, &path).send().await.unwrap();
        assert_eq!(code(refused).await, (403, "agent.labels".to_owned()));
        let read = locked.ask(&far, Method::GET, &path).send().await.unwrap();
        assert_eq!(read.status(), 200);
    }
}

#[tokio::test]
async fn answers_say_what_they_are_and_secrets_are_kept_nowhere() {
    let locked = Locked::start().await;
    let new = json!({"name": "vera", "role": "viewer"});
    let made = locked.post(&locked.admin, "/api/v1/tokens", &new).await;
    assert_eq!(made.headers()["cache-control"], "no-store");
    assert_eq!(made.headers()["x-content-type-options"], "nosniff");
    let nothing = json!({});
    let coded = locked.post(&locked.admin, "/api/v1/sign-in-codes", &nothing);
    assert_eq!(coded.await.headers()["cache-control"], "no-store");
    let metrics = locked.ask(&locked.admin, Method::GET, "/metrics");
    let metrics = metrics.send().await.unwrap();
    let kinds: Vec<_> = metrics.headers().get_all("content-type").iter().collect();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    assert!(
        kinds[0]
            .to_str()
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    let agent = locked.token("x", Role::Agent, &json!({})).await;
    let asked = locked.ask(&agent, Method::POST, "/api/v1/agents/report");
    let large = asked.body(vec![b' '; (16 << 20) + 1]).send().await.unwrap();
    assert_eq!(large.headers()["content-type"], "application/problem+json");
    assert_eq!(code(large).await, (413, "body.too_large".to_owned()));
}

#[tokio::test]
async fn the_trail_has_what_was_ordered_and_no_secret() {
    let locked = Locked::start().await;
    let dsn = "host=y password=${env:SHARD_B}";
    let asked = locked.ask(&locked.admin, Method::PATCH, "/api/v1/shards/b");
    let changed = asked.json(&json!({"dsn": dsn})).send().await.unwrap();
    assert_eq!(changed.status(), 200);
    let asked = locked.ask(&locked.admin, Method::PATCH, "/api/v1/shards/b");
    let refused = asked.json(&json!({"dsn": "host=y password=geheim"}));
    assert_eq!(refused.send().await.unwrap().status(), 422);
    let limits = format!("/api/v1/migrations/{}/limits", locked.migration);
    let limit = json!({"limit": "rate", "value": "1 MB/s"});
    locked.post(&locked.admin, &limits, &limit).await;
    let audit = locked.audit().await;
    let has = |action: &str, field: &str, wanted: Value| {
        let mut lines = audit.iter().filter(|line| line["action"] == action);
        let found = lines.any(|line| line["data"].pointer(field) == Some(&wanted));
        assert!(found, "{action} {field} {wanted}: {audit:?}");
    };
    has("order", "/order/dsn", json!(dsn));
    has("order", "/order/dsn", json!("host=y password=****"));
    has("order", "/order", limit);
    has("shard.changed", "/parameters", json!(["host", "password"]));
    assert!(!json!(audit).to_string().contains("geheim"));
}

async fn within(database: &Database, statement: &str) {
    let dsn = Dsn::parse(&database.dsn).unwrap();
    let session = connect::connect(&dsn, &Session::named("test")).await;
    session.unwrap().batch_execute(statement).await.unwrap();
}

#[tokio::test]
async fn where_the_trail_is_required_nothing_is_done_without_it() {
    let server = Server::with(ControllerSettings {
        audit: AuditRule::Required,
        ..quick()
    })
    .await;
    let shard = |name: &str| json!({"name": name, "dsn": "host=x password=${env:SHARD_C}"});
    let made = server.post("/api/v1/shards", &shard("c")).await;
    assert_eq!(made.status(), 201);
    let never = "alter table shardwright.audit add constraint never check (false) not valid";
    within(&server.database, never).await;
    let refused = server.post("/api/v1/shards", &shard("d")).await;
    assert_eq!(code(refused).await, (503, "audit.unavailable".to_owned()));
    let shards = server.json("/api/v1/shards").await;
    let names = shards
        .as_array()
        .unwrap()
        .iter()
        .map(|shard| &shard["name"]);
    assert!(names.eq([&json!("a"), &json!("b"), &json!("c")]));
    within(
        &server.database,
        "alter table shardwright.audit drop constraint never",
    )
    .await;
    let lines = server.json("/api/v1/audit").await;
    let outcomes = lines.as_array().unwrap().iter();
    let mut outcomes = outcomes.filter(|line| line["data"]["order"]["name"] == "c");
    assert!(outcomes.any(|line| line["data"]["outcome"] == "begun"));
}

#[tokio::test]
async fn an_order_that_panics_is_answered_and_written_down() {
    let database = Database::new().await;
    let controller = Controller::new(Arc::new(database.store().await), quick());
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = api::listen(any, AccessRule::Open).await.unwrap();
    let address = listener.local_addr().unwrap();
    controller.advertise(&format!("https://{address}"));
    let panics = axum::routing::post(async || -> () { panic!("a defect") });
    let routes = axum::Router::new().route("/api/v1/shards", panics);
    let app = api::guarded(
        routes,
        &controller,
        address,
        orchestrator::dashboard::refused,
    );
    let served = tokio::spawn(async move { axum::serve(listener, app).await });
    let leads = controller.clone();
    let led = tokio::spawn(async move { leads.run().await });
    let line = until("it is in the trail", || async {
        let asked = stranger().post(format!("http://{address}/api/v1/shards"));
        let answer = asked.send().await.unwrap();
        assert_eq!(
            answer.headers()["strict-transport-security"],
            "max-age=31536000"
        );
        assert_eq!(code(answer).await, (500, "controller.panicked".to_owned()));
        controller.store().audit(1, None).await.unwrap().pop()
    })
    .await;
    assert_eq!(line.record.data["outcome"], 500);
    served.abort();
    led.abort();
}

#[tokio::test]
async fn a_token_that_others_read_or_guess_is_not_taken() {
    let database = Database::new().await;
    let file = std::env::temp_dir().join(format!("token-{}", uuid::Uuid::new_v4().simple()));
    let long = Secret::random();
    for (text, mode, remedy) in [
        (long.reveal(), 0o644, "chmod 600"),
        ("hunter2", 0o600, "openssl rand -hex 32"),
    ] {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let mut serve = program("");
        serve.args(["serve", "--listen", "127.0.0.1:0", "--store", &database.dsn]);
        let run = serve.arg("--admin-token-file").arg(&file).output().await;
        let run = run.unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(64), "{said}");
        assert!(said.contains(remedy), "{said}");
    }
    std::fs::remove_file(&file).unwrap();
}
