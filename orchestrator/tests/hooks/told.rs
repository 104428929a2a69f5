//! Hooks that are told of events: each at least once, signed, whatever happens to controllers.

use super::stage::{Ear, Folder, Say, YES, read, server};
use crate::fixture::{Agent, Process, Server, free_address, program, until};
use base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use plans::id::MigrationId;
use plans::names::Direction;
use sha2::Sha256;
use std::collections::BTreeSet;

const DOWN: Say = Say::Status(503, "");

fn hook(name: &str, url: &str, on: &str) -> String {
    format!("- {{name: {name}, on: [{on}], url: '{url}'}}\n")
}

/// From the claim of the first step to the end.
async fn run(server: &Server, agent: &Agent, id: &MigrationId) {
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.run_to("hold").await;
    server.command(id, "finish").await;
    agent.done(&hold).await;
    let last = agent.run_to("drop_old").await;
    agent.done(&last).await;
    server.in_state(id, "completed").await;
}

#[tokio::test]
async fn every_event_is_told_in_order_and_signed() {
    let ear = Ear::new(YES).await;
    let folder = Folder::new();
    let secret = folder.write("secret", "a long secret of ours\n");
    let text = format!(
        "hooks:\n- {{name: log, on: [all], url: '{}', secret: '${{file:{}}}'}}\n",
        ear.url,
        secret.display()
    );
    let server = server(&text).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    run(&server, &agent, &id).await;
    ear.hears("completed").await;
    assert_eq!(
        ear.phases(),
        [
            "submitted",
            "started",
            "after_copy",
            "after_cutover",
            "completed"
        ]
    );
    let mut ids = BTreeSet::new();
    for heard in ear.heard() {
        let (message, at) = (heard.json(), heard.header("webhook-timestamp"));
        let told = heard.header("webhook-id");
        assert_eq!(message["id"], told);
        assert!(ids.insert(told.to_owned()), "{told} twice");
        let now = chrono::Utc::now().timestamp();
        assert!((now - at.parse::<i64>().unwrap()).abs() < 60);
        let mut mac = Hmac::<Sha256>::new_from_slice(b"a long secret of ours").unwrap();
        mac.update(format!("{told}.{at}.{}", heard.text).as_bytes());
        let code = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
        assert_eq!(heard.header("webhook-signature"), format!("v1,{code}"));
        assert_eq!(message["migration"]["id"], id.as_str());
        assert!(message["event"]["seq"].is_u64());
        for hidden in ["host=x", "${", "a long secret"] {
            assert!(!heard.text.contains(hidden), "{}", heard.text);
        }
    }
}

#[tokio::test]
async fn a_dead_endpoint_holds_back_no_migration_and_no_other_hook() {
    let ear = Ear::new(YES).await;
    let nobody = format!("http://{}/", free_address());
    let hooks = [
        hook("dead", &nobody, "all"),
        hook("alive", &ear.url, "submitted, completed"),
    ];
    let server = server(&format!("hooks:\n{}", hooks.concat())).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    run(&server, &agent, &id).await;
    ear.hears("completed").await;
    assert_eq!(ear.phases(), ["submitted", "completed"]);
    let metrics = server.get("/metrics").await.text().await.unwrap();
    let counted = "shardwright_hook_calls_total{hook=\"dead\",answer=\"silent\"}";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn what_was_not_told_before_a_restart_is_told_after_it_under_the_same_id() {
    let ear = Ear::new(DOWN).await;
    let text = format!("hooks:\n{}", hook("log", &ear.url, "all"));
    let mut server = server(&text).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    ear.hears("submitted").await;
    server.restart().await;
    ear.say(YES);
    ear.hears("started").await;
    server.restart().await;
    let agent = server.agent("x", "x1");
    let last = agent.run_to("open_reverse").await;
    agent.done(&last).await;
    server.in_state(&id, "waiting").await;
    ear.hears("waiting").await;
    let mut phases = ear.phases();
    phases.dedup();
    assert_eq!(phases, ["submitted", "started", "after_copy", "waiting"]);
    let told = ear.heard().into_iter().filter(|h| h.phase() == "submitted");
    let ids: BTreeSet<String> = told.map(|h| h.header("webhook-id").to_owned()).collect();
    assert_eq!(ids.len(), 1, "under one id, however often");
}

#[tokio::test]
async fn a_controller_that_is_killed_before_it_tells_is_followed_by_one_that_does() {
    let ear = Ear::new(DOWN).await;
    let folder = Folder::new();
    let text = format!("hooks:\n{}", hook("log", &ear.url, "all"));
    let file = folder.write("hooks.yaml", &text);
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    server.stop();
    let mut first = Process::hooked(&server.database, &file).await;
    first.leads().await;
    let second = Process::hooked(&server.database, &file).await;
    second.follows(Some(&first.url)).await;
    is_known(&server, "log").await;
    let order = format!("/api/v1/migrations/{id}/abort");
    let body = serde_json::json!({"reason": "test"});
    assert_eq!(first.post(&order, &body).await.status(), 200);
    // In order: what comes later waits for what was not heard.
    until("told in vain", || async { ear.heard().first().cloned() }).await;
    first.signal("KILL").await;
    first.is_dead().await;
    let before = ear.heard().len();
    ear.say(YES);
    second.leads().await;
    until("told", || async {
        let later = ear.phases().split_off(before);
        later.contains(&"aborted".to_owned()).then_some(())
    })
    .await;
}

/// Waits until the store knows from where on the hook is told.
async fn is_known(server: &Server, hook: &str) {
    let pool = server.database.pool().await;
    until("known", || async {
        let known = sqlx::query("select from shardwright.hook where name = $1");
        known.bind(hook).fetch_optional(&pool).await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_new_hook_is_told_of_nothing_that_was_before_it() {
    let ear = Ear::new(YES).await;
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let first = agent.next().await;
    let text = format!("hooks:\n{}", hook("late", &ear.url, "all"));
    server.hook(read(&Folder::new(), &text)).await;
    is_known(&server, "late").await;
    let agent = agent.at(&server.url);
    agent.done(&first).await;
    server.command(&id, "pause").await;
    ear.hears("paused").await;
    assert_eq!(ear.phases(), ["paused"]);
}

#[tokio::test]
async fn a_hook_is_tried_without_a_controller() {
    let ear = Ear::new(YES).await;
    let folder = Folder::new();
    let text = format!("hooks:\n{}", hook("log", &ear.url, "completed"));
    let file = folder.write("hooks.yaml", &text);
    let file = file.to_str().unwrap();
    let tried = |name: &'static str| {
        program("")
            .args(["hook", "test", name, "--hooks", file])
            .output()
    };
    let yes = tried("log").await.unwrap();
    assert!(yes.status.success());
    assert_eq!(ear.phases(), ["completed"]);
    ear.say(Say::Status(403, "no room"));
    let no = tried("log").await.unwrap();
    assert_eq!(no.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&no.stderr).contains("the hook refuses: no room"));
    ear.say(DOWN);
    assert_eq!(tried("log").await.unwrap().status.code(), Some(1));
    assert_eq!(tried("lost").await.unwrap().status.code(), Some(3));
    let broken = folder.write("broken.yaml", "hooks:\n- {name: a, on: [failed]}\n");
    let run = program("").args(["serve", "--hooks"]).arg(&broken).output();
    let run = run.await.unwrap();
    assert_eq!(run.status.code(), Some(64));
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("either `url` or `command`"), "{said}");
}
