//! Who is let in, to do what; and that every order is in the audit trail.

mod approvals;
mod binding;
mod hostile;
mod locked;
mod machine;
mod small;

use crate::fixture::{Server, failure, until};
use locked::{Browser, Locked, code, is_api, is_open, is_question};
use orchestrator::access::{AccessRule, Role};
use plans::failure::RetryClass;
use plans::wire::Report;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn without_a_token_nothing_is_changed_and_nothing_shown() {
    let locked = Locked::start().await;
    let before = locked.audit().await;
    for (method, path) in locked.changing() {
        if is_open(&path) {
            continue;
        }
        let url = format!("{}{path}", locked.server.url);
        let asked = locked.server.http.request(method.clone(), url).body("{}");
        let (status, code) = code(asked.send().await.unwrap()).await;
        assert_eq!(status, 401, "{method} {path}");
        assert!(
            !is_api(&path) || code == "token.missing",
            "{method} {path}: {code}"
        );
    }
    assert_eq!(locked.audit().await, before, "nobody fills the trail");
    for path in [
        "/api/v1/shards",
        "/api/v1/migrations",
        "/metrics",
        "/api/v1/tokens",
    ] {
        let answer = locked.server.get(path).await;
        assert_eq!(answer.status(), 401, "{path}");
        assert!(answer.headers().contains_key("www-authenticate"), "{path}");
    }
    for path in [
        "/healthz",
        "/readyz",
        "/version",
        "/api/v1/health",
        "/sign-in",
    ] {
        assert_eq!(locked.server.get(path).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_viewer_changes_nothing_and_every_try_is_written_down() {
    let locked = Locked::start().await;
    let viewer = locked.token("vera", Role::Viewer, &json!({})).await;
    let mut tried = 0;
    for (method, path) in locked.changing() {
        if is_open(&path) || is_question(&path) {
            continue;
        }
        let asked = locked.ask(&viewer, method.clone(), &path).body("{}");
        let (status, code) = code(asked.send().await.unwrap()).await;
        assert_eq!(status, 403, "{method} {path}");
        assert!(
            !is_api(&path) || code == "token.role",
            "{method} {path}: {code}"
        );
        tried += 1;
    }
    let audit = locked.audit().await;
    let hers = audit.iter().filter(|line| line["actor"] == "vera");
    let refused = hers.filter(|line| line["data"]["outcome"] == "token.role");
    assert_eq!(refused.count(), tried);
    let seen = locked.ask(&viewer, Method::GET, "/api/v1/shards");
    assert_eq!(seen.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_operator_runs_a_migration_and_an_approver_decides_about_its_cutover() {
    let locked = Locked::start().await;
    let operator = locked.token("oleg", Role::Operator, &json!({})).await;
    let approver = locked.token("pia", Role::Approver, &json!({})).await;
    let of = |command: &str| format!("/api/v1/migrations/{}/{command}", locked.migration);
    for command in [
        "approve",
        "rollback",
        "finish",
        "approve-cancel",
        "overrule",
    ] {
        let asked = locked.post(&operator, &of(command), &json!({})).await;
        assert_eq!(
            code(asked).await,
            (403, "token.role".to_owned()),
            "{command}"
        );
        // What the state does not allow is said to whom it is allowed.
        let asked = locked.post(&approver, &of(command), &json!({})).await;
        assert_eq!(
            code(asked).await,
            (409, "migration.state".to_owned()),
            "{command}"
        );
    }
    let made = locked.post(&approver, "/api/v1/shards", &json!({})).await;
    assert_eq!(code(made).await.0, 403);
    let reason = json!({"reason": "the wrong shard"});
    let aborted = locked.post(&operator, &of("abort"), &reason).await;
    assert_eq!(aborted.status(), 200);
    let audit = locked.audit().await;
    let line = audit
        .iter()
        .find(|line| line["actor"] == "oleg" && line["data"]["outcome"] == 200);
    let line = line.unwrap();
    assert_eq!(line["object"], format!("POST {}", of("abort")));
    assert_eq!(line["data"]["role"], "operator");
    assert_eq!(line["data"]["from"], "127.0.0.1");
    assert_eq!(line["data"]["why"], "the wrong shard");
    let events = locked.ask(
        &operator,
        Method::GET,
        &format!("/api/v1/migrations/{}/events", locked.migration),
    );
    let events: Vec<Value> = events.send().await.unwrap().json().await.unwrap();
    assert!(
        events.iter().any(|event| event["actor"] == "oleg"),
        "{events:?}"
    );
}

#[tokio::test]
async fn an_agent_touches_only_shards_with_its_labels_under_its_own_name() {
    let locked = Locked::start().await;
    let eu = json!({"region": "eu"});
    let near = locked.token("near", Role::Agent, &eu).await;
    let claim = |agent: &str| json!({"protocol": plans::wire::NEWEST_PROTOCOL, "agent": agent, "instance": "i1", "holding": []});
    let other = locked
        .post(&near, "/api/v1/agents/claim", &claim("far"))
        .await;
    assert_eq!(code(other).await, (403, "agent.name".to_owned()));
    // The shards carry no label: there is no work in reach.
    let none = locked
        .post(&near, "/api/v1/agents/claim", &claim("near"))
        .await;
    assert_eq!(none.status(), 204);
    let id = locked.migration.as_str();
    let progress = json!({"message": "", "tables": [], "rows_per_second": 0.0,
        "bytes_per_second": 0.0, "eta_seconds": null});
    let report = json!({"report": "step", "migration": id, "step": "preflight", "epoch": 1,
        "outcome": {"outcome": "done", "output": null}, "progress": progress});
    let cutover =
        json!({"migration": id, "epoch": 1, "ask": {"ask": "begin", "direction": "forward"}});
    let record = json!([{"shard": "a", "kind": "slot", "name": "s", "policy": "always"}]);
    let of = |what: &str| format!("/api/v1/migrations/{id}/{what}");
    for (path, body) in [
        ("/api/v1/agents/report".to_owned(), &report),
        ("/api/v1/agents/cutover".to_owned(), &cutover),
        (of("cleanup-records"), &record),
        (of("cleanup-records/done"), &record),
    ] {
        let asked = locked.post(&near, &path, body).await;
        let (status, code) = code(asked).await;
        assert_eq!((status, code.as_str()), (403, "agent.labels"), "{path}");
    }
    for path in ["/api/v1/shards", "/api/v1/migrations"] {
        let asked = locked.post(&near, path, &json!({})).await;
        assert_eq!(code(asked).await, (403, "token.role".to_owned()), "{path}");
    }
    for shard in ["a", "b"] {
        let path = format!("/api/v1/shards/{shard}");
        let labelled = locked.ask(&locked.admin, Method::PATCH, &path);
        let labelled = labelled.json(&json!({"labels": eu})).send().await.unwrap();
        assert_eq!(labelled.status(), 200);
    }
    let work = locked
        .post(&near, "/api/v1/agents/claim", &claim("near"))
        .await;
    assert_eq!(work.status(), 200);
    let work: Value = work.json().await.unwrap();
    assert!(work.to_string().contains(id), "{work}");
}

#[tokio::test]
async fn an_agent_tells_nothing_about_shards_without_its_labels() {
    let locked = Locked::start().await;
    let eu = json!({"region": "eu"});
    let near = locked.token("near", Role::Agent, &eu).await;
    let far = locked.token("far", Role::Agent, &json!({})).await;
    let agent = locked.server.agent("far", "f1").with_token(&far);
    let examined = locked.ask(&locked.admin, Method::POST, "/api/v1/doctor");
    let examined = examined.body("{}").send();
    let told = async {
        loop {
            let task = agent.asked().await;
            let result = Err(failure(RetryClass::None));
            let id = task.id.clone();
            let report = serde_json::to_value(Report::Inspected { id, result }).unwrap();
            let refused = locked.post(&near, "/api/v1/agents/report", &report).await;
            assert_eq!(code(refused).await, (403, "agent.labels".to_owned()));
            // Nothing was heard: whoever may look is still waited for.
            let taken = locked.post(&far, "/api/v1/agents/report", &report).await;
            assert_eq!(taken.status(), 200);
        }
    };
    let examined = tokio::select! {
        examined = examined => examined.unwrap(),
        () = told => unreachable!("looks for ever"),
    };
    assert_eq!(examined.status(), 200);
    let said: Value = examined.json().await.unwrap();
    assert!(said.to_string().contains("it failed"), "{said}");
}

#[tokio::test]
async fn a_browser_is_sent_to_the_sign_in_and_back_and_stays_until_it_signs_out() {
    let locked = Locked::start().await;
    let viewer = locked.token("vera", Role::Viewer, &json!({})).await;
    let path = format!("/migrations/{}", locked.migration);
    let stranger = Browser::new(&locked);
    let sent = stranger.get(&path).await;
    assert_eq!(sent.status(), 303);
    let next = path.replace('/', "%2F");
    assert_eq!(sent.headers()["location"], format!("/sign-in?next={next}"));
    let wrong = stranger.post("/sign-in", "token=nonsense".to_owned()).await;
    assert_eq!(wrong.status(), 401);
    assert!(!wrong.headers().contains_key("set-cookie"));
    let back = stranger.post("/sign-in", format!("token={viewer}&next={next}"));
    assert_eq!(back.await.headers()["location"], path);

    let browser = Browser::signed_in(&locked, &viewer).await;
    let page = browser.get(&path).await.text().await.unwrap();
    assert!(page.contains("vera, viewer"), "{page}");
    assert!(page.contains("Your role does not allow"), "{page}");
    for words in ["/migrations/new", "id=\"do-"] {
        assert!(!page.contains(words), "{words}: {page}");
    }
    assert_eq!(browser.get("/migrations/new").await.status(), 403);
    let csrf = browser.csrf(&path).await;
    for stale in ["", "csrf=", "csrf=0123"] {
        let refused = browser.post("/sign-out", stale.to_owned()).await;
        assert_eq!(refused.status(), 403, "{stale}");
    }
    assert_eq!(browser.get(&path).await.status(), 200);
    let out = browser.post("/sign-out", format!("csrf={csrf}")).await;
    assert_eq!(out.headers()["location"], "/sign-in");
    assert_eq!(browser.get(&path).await.status(), 303);
}

#[tokio::test]
async fn a_feed_ends_with_the_token_or_the_session_that_it_was_opened_with() {
    let locked = Locked::start().await;
    let viewer = locked.token("vera", Role::Viewer, &json!({})).await;
    let other = locked.token("otto", Role::Viewer, &json!({})).await;
    let page = format!("/migrations/{}", locked.migration);
    let feed = format!("/live{page}");
    let browser = Browser::signed_in(&locked, &other).await;
    let events = format!("/api/v1{page}/events");
    let asked = locked.ask(&viewer, Method::GET, &events);
    let asked = asked.header("accept", "text/event-stream");
    let (mut of_token, mut of_session) = (asked.send().await.unwrap(), browser.get(&feed).await);
    for feed in [&mut of_token, &mut of_session] {
        assert_eq!(feed.status(), 200);
        assert!(feed.chunk().await.unwrap().is_some(), "it has begun");
    }
    let gone = locked.ask(&locked.admin, Method::DELETE, "/api/v1/tokens/vera");
    assert_eq!(gone.send().await.unwrap().status(), 200);
    let csrf = browser.csrf(&page).await;
    browser.post("/sign-out", format!("csrf={csrf}")).await;
    for feed in [&mut of_token, &mut of_session] {
        while feed.chunk().await.unwrap().is_some() {}
    }
}

#[tokio::test]
async fn a_form_is_taken_from_the_session_that_it_was_sent_to() {
    let locked = Locked::start().await;
    let operator = locked.token("oleg", Role::Operator, &json!({})).await;
    let path = format!("/migrations/{}", locked.migration);
    let browser = Browser::signed_in(&locked, &operator).await;
    let csrf = browser.csrf(&path).await;
    let other = Browser::signed_in(&locked, &operator).await;
    let pause = format!("{path}/pause");
    let stale = [String::new(), "csrf=".to_owned(), format!("csrf={csrf}")];
    for body in stale {
        let refused = other.post(&pause, body.clone()).await;
        assert_eq!(refused.status(), 403, "{body}");
    }
    let body = format!("csrf={csrf}&confirm={}&reason=a+test", locked.migration);
    let taken = browser.post(&format!("{path}/abort"), body).await;
    assert_eq!(taken.status(), 303, "{}", taken.text().await.unwrap());
    let audit = locked.audit().await;
    let his = audit.iter().filter(|line| line["actor"] == "oleg");
    let outcomes: Vec<&Value> = his.map(|line| &line["data"]["outcome"]).collect();
    let (taken, stale) = (json!(303), json!("form.stale"));
    assert_eq!(outcomes, [&taken, &stale, &stale, &stale]);
}

#[tokio::test]
async fn a_token_that_was_taken_back_opens_nothing_nor_does_its_session() {
    let locked = Locked::start().await;
    let viewer = locked.token("vera", Role::Viewer, &json!({})).await;
    let seen = || locked.ask(&viewer, Method::GET, "/api/v1/shards").send();
    assert_eq!(seen().await.unwrap().status(), 200);
    let revoked = locked.ask(&locked.admin, Method::DELETE, "/api/v1/tokens/vera");
    assert_eq!(revoked.send().await.unwrap().status(), 200);
    assert_eq!(
        code(seen().await.unwrap()).await,
        (401, "token.wrong".to_owned())
    );
    let listed = locked.ask(&locked.admin, Method::GET, "/api/v1/tokens");
    let listed: Value = listed.send().await.unwrap().json().await.unwrap();
    assert_eq!(listed[0]["revoked_by"], "admin");
    assert!(!listed.to_string().contains(&viewer), "{listed}");
    for _ in 0..40 {
        if seen().await.unwrap().status() == 429 {
            return;
        }
    }
    panic!("wrong tokens may be tried for ever");
}

#[tokio::test]
async fn where_all_is_read_only_agents_go_on_and_nobody_else_changes_anything() {
    let mut server = Server::start().await;
    server.behind(AccessRule::Open, None, true).await;
    let refused = server
        .post("/api/v1/shards", &json!({"name": "c", "dsn": "host=x"}))
        .await;
    assert_eq!(
        code(refused).await,
        (403, "controller.read_only".to_owned())
    );
    assert_eq!(server.get("/api/v1/shards").await.status(), 200);
    let claim = json!({"protocol": plans::wire::NEWEST_PROTOCOL, "agent": "x", "instance": "i1", "holding": []});
    let claimed = until("leading", || async {
        let answer = server.post("/api/v1/agents/claim", &claim).await;
        (answer.status() == 204).then_some(answer)
    });
    claimed.await;
}
