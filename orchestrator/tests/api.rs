//! What the API says to people and programs that are not agents.

use crate::fixture::{Server, quick, request, until};
use orchestrator::access::AccessRule;
use plans::wire::SECRET_HEADER;
use serde_json::{Value, json};
use std::time::Duration;

async fn problem(response: reqwest::Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(kind, "application/problem+json");
    (status, response.json().await.unwrap())
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused() {
    let server = Server::start().await;
    let url = format!("{}/api/v1/shards", server.url);
    let foreign = server.http.get(&url).header("host", "evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    let foreign = server
        .http
        .post(&url)
        .header("origin", "http://evil.example");
    assert_eq!(foreign.body("{}").send().await.unwrap().status(), 403);
    let own = server.http.post(&url).header("origin", &server.url);
    assert_eq!(own.body("{}").send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn only_loopback_is_listened_on() {
    let error = orchestrator::api::listen("0.0.0.0:0".parse().unwrap(), AccessRule::Open)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("not a loopback address"),
        "{error}"
    );
}

#[tokio::test]
async fn the_map_has_an_etag() {
    let server = Server::start().await;
    let first = server.get("/api/v1/maps/tenants").await;
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let map: Value = first.json().await.unwrap();
    assert_eq!(
        tag,
        format!("\"{}-1\"", map["incarnation"].as_str().unwrap())
    );
    let url = format!("{}/api/v1/maps/tenants", server.url);
    let again = server
        .http
        .get(url)
        .header("if-none-match", tag)
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), 304);
}

#[tokio::test]
async fn a_map_change_is_pushed() {
    let server = Server::start().await;
    let mut changes = server.get("/api/v1/maps/tenants/changes").await;
    assert!(next(&mut changes).await.contains("\"version\":1"));
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    assert!(next(&mut changes).await.contains("\"moving\""));
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, plans::names::Direction::Forward).await;
    let event = next(&mut changes).await;
    assert!(
        event.contains("id: 2") && event.contains("event: map"),
        "{event}"
    );
    let url = format!("{}/api/v1/maps/tenants/changes", server.url);
    let back = server.http.get(url).header("last-event-id", "1");
    assert!(
        next(&mut back.send().await.unwrap())
            .await
            .contains("id: 2")
    );
}

#[tokio::test]
async fn the_journal_and_the_view_are_pushed() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let url = format!("{}/api/v1/migrations/{id}/events?after=1", server.url);
    let request = server.http.get(url).header("accept", "text/event-stream");
    let mut feed = request.send().await.unwrap();
    let mut seen = next(&mut feed).await;
    agent.take("preflight").await;
    while !(seen.contains("step.dispatched") && seen.contains("event: view")) {
        seen += &next(&mut feed).await;
    }
    assert!(!seen.contains("migration.submitted"), "{seen}");
}

async fn next(feed: &mut reqwest::Response) -> String {
    let chunk = tokio::time::timeout(Duration::from_secs(60), feed.chunk()).await;
    String::from_utf8(chunk.unwrap().unwrap().unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_stale_plan_is_refused_and_says_what_changed() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let plan = server
        .plan(&agent, "cutover: automatic, hold: {seconds: 0}")
        .await;
    let sent = server.post("/api/v1/migrations", &plan);
    let (response, ()) = tokio::join!(sent, agent.survey("f2"));
    let (status, told) = problem(response).await;
    assert_eq!(
        (status, told["code"].as_str().unwrap()),
        (409, "plan.stale")
    );
    assert!(
        told["detail"]
            .as_str()
            .unwrap()
            .contains("was f1, and is now f2"),
        "{told}"
    );

    let sent = server.post("/api/v1/migrations", &plan);
    let (response, ()) = tokio::join!(sent, agent.survey("f1"));
    let view: Value = response.json().await.unwrap();
    let id = view["id"].as_str().unwrap().to_owned();
    let (status, told) = problem(server.post("/api/v1/migrations", &plan).await).await;
    assert_eq!(status, 409);
    assert!(told["detail"].as_str().unwrap().contains(&id), "{told}");

    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, plans::names::Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    agent.done(&hold).await;
    let drop_old = agent.run_to("drop_old").await;
    agent.done(&drop_old).await;
    server.in_state(&cutover.migration, "completed").await;
    let (_, told) = problem(server.post("/api/v1/migrations", &plan).await).await;
    let detail = told["detail"].as_str().unwrap();
    assert!(
        detail.contains("version 1 of map tenants, which is now at version 2"),
        "{detail}"
    );

    let mut edited = plan.clone();
    edited["options"]["copy_streams"] = json!(3);
    let (status, told) = problem(server.post("/api/v1/migrations", &edited).await).await;
    assert_eq!(
        (status, told["code"].as_str().unwrap()),
        (400, "plan.edited")
    );
}

#[tokio::test]
async fn bad_input_is_named() {
    let server = Server::start().await;
    let shard = |dsn: &str| json!({"name": "c", "dsn": dsn});
    let map = |mappings: Value| json!({"name": "m", "strategy": "range", "key": ["bigint"], "mappings": mappings});
    let range = |from: i64, to: i64, shard: &str| json!({"keys": {"range": [{"from": from, "to": to}]}, "shard": shard});
    for (path, body, status, words) in [
        (
            "/api/v1/shards",
            shard("host=a password=x"),
            422,
            "holds a password",
        ),
        (
            "/api/v1/shards",
            shard("host=a pasword=${env:X}"),
            422,
            "the connection string of shard c cannot be read",
        ),
        (
            "/api/v1/shards",
            json!({"name": "a", "dsn": "host=x"}),
            409,
            "shard a exists already",
        ),
        (
            "/api/v1/maps",
            map(json!([range(1, 2, "z")])),
            404,
            "no shard z",
        ),
        (
            "/api/v1/maps",
            map(json!([range(1, 5, "a"), range(4, 9, "b")])),
            422,
            "overlap",
        ),
        ("/api/v1/maps", map(json!([range(5, 5, "a")])), 422, "empty"),
        ("/api/v1/maps", json!({"name": 1}), 400, "line 1"),
        (
            "/api/v1/migrations/mxyz/abort",
            json!({}),
            404,
            "no migration mxyz",
        ),
    ] {
        let (seen, told) = problem(server.post(path, &body).await).await;
        assert_eq!(seen, status, "{told}");
        assert!(told["detail"].as_str().unwrap().contains(words), "{told}");
    }
    let url = format!("{}/api/v1/plans", server.url);
    let text = request("").replace("into:", "  into");
    let sent = server.http.post(&url).body(text).send().await.unwrap();
    let (status, told) = problem(sent).await;
    assert_eq!(status, 400);
    assert!(told["line"].is_u64(), "{told}");
    let text = request("").replace("source: a", "source: b");
    let sent = server.http.post(&url).body(text).send().await.unwrap();
    assert_eq!(problem(sent).await.0, 422);
}

#[tokio::test]
async fn a_plan_needs_an_agent() {
    let mut settings = quick();
    settings.inspection_wait = Duration::from_millis(50);
    let server = Server::with(settings).await;
    let url = format!("{}/api/v1/plans", server.url);
    let sent = server
        .http
        .post(url)
        .body(request(""))
        .send()
        .await
        .unwrap();
    let (status, told) = problem(sent).await;
    assert_eq!(
        (status, told["code"].as_str().unwrap()),
        (503, "agent.none")
    );
}

#[tokio::test]
async fn every_order_is_journaled_with_its_actor() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    server.in_state(&id, "running").await;
    let url = format!("{}/api/v1/migrations/{id}/pause", server.url);
    let sent = server
        .http
        .post(url)
        .header("x-shardwright-actor", "eve")
        .send();
    assert_eq!(sent.await.unwrap().status(), 200);
    let events = until("journaled", || async {
        let path = format!("/api/v1/migrations/{id}/events");
        let events: Vec<Value> = server.get(&path).await.json().await.unwrap();
        events
            .iter()
            .find(|e| e["kind"] == "migration.paused")
            .cloned()
    });
    assert_eq!(events.await["actor"], "eve");
}

#[tokio::test]
async fn cleanup_records_are_kept() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let secret = agent.next().await.secret.unwrap();
    let path = format!("/api/v1/migrations/{id}/cleanup-records");
    let record = json!([{"shard": "a", "kind": "slot", "name": "s", "policy": "on_failure"}]);
    for path in [path.clone(), format!("{path}/done")] {
        let asked = server.http.post(format!("{}{path}", server.url));
        let asked = asked.header(SECRET_HEADER, secret.reveal());
        assert_eq!(asked.json(&record).send().await.unwrap().status(), 200);
    }
    let path = format!("/api/v1/migrations/{id}/cleanup");
    let kept: Value = server.get(&path).await.json().await.unwrap();
    assert!(kept[0]["done_at"].is_string(), "{kept}");
}

/// Followers send agents and people there.
#[tokio::test]
async fn a_controller_answers_at_the_addresses_that_it_was_told() {
    let server = Server::start().await;
    let store = std::sync::Arc::new(server.database.store().await);
    let controller = orchestrator::controller::Controller::new(store, quick());
    controller.also_at(vec!["https://shards.example".to_owned()]);
    controller.advertise("https://ctl-a.example:7432/");
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = orchestrator::api::listen(any, AccessRule::Open)
        .await
        .unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(orchestrator::server::serve(listener, controller, None));
    let status = async |host: &str, origin: &str| {
        let post = server.http.post(format!("{url}/api/v1/none"));
        let sent = post.header("host", host).header("origin", origin).send();
        sent.await.unwrap().status().as_u16()
    };
    let ours = "ctl-a.example:7432";
    assert_eq!(status(ours, "https://ctl-a.example:7432").await, 404);
    assert_eq!(status(ours, "https://evil.example").await, 403);
    let balanced = "shards.example";
    assert_eq!(status(balanced, "https://shards.example").await, 404);
    assert_eq!(status(balanced, "http://shards.example").await, 403);
    assert_eq!(
        status("evil.example:7432", "https://evil.example:7432").await,
        403
    );
    task.abort();
}

/// Two people who look at the same migration do not give the same order twice.
#[tokio::test]
async fn an_order_about_what_has_changed_since_is_refused() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    agent.run_to("copy").await;
    let order = async |command: &str, seen: &str| {
        let url = format!("{}/api/v1/migrations/{id}/{command}", server.url);
        let sent = server.http.post(url).header("if-match", seen).send().await;
        let answer = sent.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap())
    };
    let seen = server.get(&format!("/api/v1/migrations/{id}")).await;
    let tag = seen.headers()["etag"].to_str().unwrap().to_owned();
    let (status, paused) = order("pause", &tag).await;
    assert_eq!(status, 200, "{paused}");
    let (status, problem) = order("abort", &tag).await;
    assert_eq!(
        (status, &problem["code"]),
        (412, &json!("migration.changed"))
    );
    let (status, problem) = order("abort", "yesterday").await;
    assert_eq!((status, &problem["code"]), (422, &json!("field.invalid")));
    let now = format!("\"{}\"", paused["revision"]);
    assert_eq!(order("abort", &now).await.0, 200);
}

#[tokio::test]
async fn the_api_describes_itself_and_says_no_in_one_form() {
    let server = Server::start().await;
    let document: Value = server
        .get("/api/v1/openapi.json")
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let abort = &document["paths"]["/api/v1/migrations/{id}/{command}"]["post"];
    assert_eq!(abort["x-least-role"], "operator");
    let page = server.get("/api/docs").await.text().await.unwrap();
    assert!(
        page.contains("<code>/api/v1/operations/{id}/report</code>"),
        "{page}"
    );
    for path in [
        "operations?limit=many",
        "maps/tenants/versions/last",
        "maps/tenants/diff",
    ] {
        let answer = server.get(&format!("/api/v1/{path}")).await;
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        assert_eq!(answer.status(), 422, "{path}");
    }
}
