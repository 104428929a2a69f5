//! The token of this machine: who finds it, who does not, and how a browser gets in.

use super::locked::{Browser, Locked};
use crate::fixture::{Database, free_address, program, until};
use orchestrator::access::Role;
use reqwest::Method;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[tokio::test]
async fn a_controller_on_loopback_asks_everybody_and_knows_its_own_account() {
    let database = Database::new().await;
    let state = std::env::temp_dir().join(format!("state-{}", uuid::Uuid::new_v4().simple()));
    let address = free_address();
    let url = format!("http://{address}");
    let run = |line: &[&str]| {
        let mut command = program(&url);
        command.args(line).env("XDG_STATE_HOME", &state);
        command.env_remove("SHARDWRIGHT_TOKEN_FILE");
        command
    };
    let mut serve = run(&[
        "serve",
        "--listen",
        &address.to_string(),
        "--store",
        &database.dsn,
    ]);
    let mut serve = serve.stderr(Stdio::null()).spawn().unwrap();
    until("its own account is let in", || async {
        let list = run(&["shard", "list"]).output().await.unwrap();
        list.status.success().then_some(())
    })
    .await;
    let token = state.join("shardwright/token");
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let http = controller_client::client(reqwest::redirect::Policy::none(), None).unwrap();
    let shard = json!({"name": "leak", "dsn": "host=127.0.0.1 user=x password=${env:X}"});
    let asked = http.post(format!("{url}/api/v1/shards")).json(&shard);
    let answer = asked.send().await.unwrap();
    assert_eq!(answer.status(), 401);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["code"], "token.missing");

    let link = run(&["dashboard"]).output().await.unwrap();
    let link = String::from_utf8(link.stdout).unwrap();
    let code = link.trim().strip_prefix(&format!("{url}/sign-in?code="));
    let form = format!("token={}", code.unwrap());
    let form_type = "application/x-www-form-urlencoded";
    let signed_in = http.post(format!("{url}/sign-in"));
    let signed_in = signed_in.header("content-type", form_type).body(form);
    assert_eq!(signed_in.send().await.unwrap().status(), 303);
    serve.kill().await.unwrap();
    std::fs::remove_dir_all(&state).unwrap();
}

#[tokio::test]
async fn a_code_signs_in_once() {
    let locked = Locked::start().await;
    let viewer = locked.token("vera", Role::Viewer, &json!({})).await;
    for token in [&viewer, &locked.admin] {
        let made = locked
            .post(token, "/api/v1/sign-in-codes", &json!({}))
            .await;
        assert_eq!(made.status(), 200);
        let made: Value = made.json().await.unwrap();
        let path = made["path"].as_str().unwrap();
        let code = path.strip_prefix("/sign-in?code=").unwrap();
        let mut browser = Browser::new(&locked);
        let page = browser.get(path).await.text().await.unwrap();
        assert!(page.contains(code), "{page}");
        // It is no cookie, and no token.
        browser.cookie = format!("shardwright_session={code}");
        assert_eq!(browser.get("/agents").await.status(), 303);
        let asked = locked.ask(code, Method::GET, "/api/v1/shards");
        assert_eq!(asked.send().await.unwrap().status(), 401);
        let browser = Browser::signed_in(&locked, code).await;
        assert_eq!(browser.get("/agents").await.status(), 200);
        let again = browser.post("/sign-in", format!("token={code}")).await;
        assert_eq!(again.status(), 401);
    }
    let agent = locked.token("x", Role::Agent, &json!({})).await;
    let refused = locked
        .post(&agent, "/api/v1/sign-in-codes", &json!({}))
        .await;
    assert_eq!(refused.status(), 403);
}
