//! What a migration may take of its shards: set at any time, kept, told to its agent.

use crate::fixture::{Agent, Server};
use plans::id::MigrationId;
use plans::throttle::{Latency, MigrationLimits, Millis};
use plans::wire::{Dispatch, Outcome};
use serde_json::{Value, json};

/// What the heartbeat's answer says about limits and latency.
async fn told(agent: &Agent, dispatch: &Dispatch) -> (MigrationLimits, Option<Latency>) {
    let directive = agent.directive(dispatch).await;
    (directive.limits.unwrap(), directive.latency)
}

async fn set(server: &Server, id: &MigrationId, limit: &str, value: &str) -> Value {
    let path = format!("/api/v1/migrations/{id}/limits");
    let order = json!({"limit": limit, "value": value, "reason": "busy"});
    let answer = server.post(&path, &order).await;
    let status = answer.status().as_u16();
    let mut body: Value = answer.json().await.unwrap();
    body["http"] = json!(status);
    body
}

#[tokio::test]
async fn limits_reach_the_agent_and_outlive_the_controller() {
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    let set_point = Millis::new(25.0).unwrap();
    let id = server.apply(&agent, "throttle: {latency_ms: 25}").await;
    let copy = agent.run_to("copy").await;
    let planned = copy.limits.clone().unwrap();
    assert_eq!(planned.throttle.latency_ms, Some(set_point));
    assert_eq!(told(&agent, &copy).await, (planned, None));

    let view = set(&server, &id, "rate", "20MB/s").await;
    assert_eq!(view["http"], 200);
    assert_eq!(view["limits"]["throttle"]["rate_bytes_s"], 20_000_000);
    set(&server, &id, "streams", "5").await;
    server.restart().await;
    let agent = agent.at(&server.url);
    let (kept, _) = told(&agent, &copy).await;
    assert_eq!(
        (kept.streams, kept.throttle.latency_ms),
        (5, Some(set_point))
    );

    let events = server
        .json(&format!("/api/v1/migrations/{id}/events"))
        .await;
    let events = events.as_array().unwrap().iter();
    let first = events.clone().find(|event| event["kind"] == "limits.set");
    let first = first.unwrap();
    assert_eq!(first["data"]["limit"], "rate");
    assert_eq!(first["data"]["reason"], "busy");
    assert_eq!(first["data"]["before"]["throttle"]["latency_ms"], 25);
}

#[tokio::test]
async fn a_value_that_a_limit_cannot_have_is_refused_and_an_end_ends_them() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    let refused = set(&server, &id, "hours", "at night").await;
    assert_eq!(
        (&refused["http"], &refused["code"]),
        (&json!(422), &json!("limit.invalid"))
    );
    assert!(
        refused["detail"].as_str().unwrap().contains("HH:MM-HH:MM"),
        "{refused}"
    );
    assert_eq!(set(&server, &id, "speed", "1").await["http"], 400);
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    assert_eq!(agent.report(&copy, Outcome::Interrupted).await, 200);
    agent.done(&agent.take("unwind").await).await;
    server.in_state(&id, "unwound").await;
    let late = set(&server, &id, "rate", "off").await;
    assert_eq!(
        (&late["http"], &late["code"]),
        (&json!(409), &json!("migration.state"))
    );
}

#[tokio::test]
async fn the_applications_latency_reaches_the_agents_of_its_map() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    let path = "/api/v1/maps/tenants/latency";
    let heard = server.post(path, &json!({"p99_ms": 12.5})).await;
    assert_eq!(heard.status(), 200);
    let (_, latency) = told(&agent, &copy).await;
    let latency = latency.unwrap();
    assert!((latency.p99_ms - 12.5).abs() < 1e-9 && latency.age_ms >= 0);
    for nonsense in [json!({"p99_ms": -1.0}), json!({"p99_ms": 0})] {
        assert_eq!(server.post(path, &nonsense).await.status(), 422);
    }
    let body = json!({"p99_ms": 1});
    let unknown = server.post("/api/v1/maps/nowhere/latency", &body);
    assert_eq!(unknown.await.status(), 404);
}

#[tokio::test]
async fn an_offline_move_waits_for_hours_before_its_keys_are_read_only_and_not_after() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let options = "mode: offline, throttle: {hours: '22:00-06:00'}";
    server.apply(&agent, options).await;
    let closing = agent.run_to("set_read_only").await;
    assert!(closing.limits.clone().unwrap().throttle.hours.is_some());
    agent.done(&closing).await;
    let next = agent.next().await;
    assert_eq!(next.limits.unwrap().throttle.hours, None);
}
