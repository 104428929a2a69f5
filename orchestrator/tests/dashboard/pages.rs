//! The pages beside a migration's own: the list, the switch, a step, agents, audit, tokens, and what is said while a
//! request is typed.

use super::fixture::{Dashboard, plan};
use super::{state, step};
use orchestrator::store::{AccessStore, AgentProcess, AgentStore, AuditRecord, Store};
use plans::id::{AgentName, InstanceId, ShardName};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;
use serde_json::json;

/// The migrations that are listed, in their order.
fn listed(page: &str) -> Vec<&str> {
    let list = page.split("<section id=\"list\"").nth(1).unwrap();
    let links = list.split("<a href=\"/migrations/").skip(1);
    let ids = links.filter_map(|rest| rest.split('"').next());
    ids.filter(|id| !id.starts_with("new")).collect()
}

/// `m1` to `m3`, the second one failed, the third one completed.
async fn three() -> Dashboard {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    for (id, from, to) in [("m2", 400, 450), ("m3", 300, 350)] {
        let mut plan = plan(dashboard.store.incarnation());
        plan.moves[0].moving.keys = KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)));
        plan.moves[0].moving.target = ShardName::from("c");
        dashboard.submit(id, plan.with_hash()).await;
    }
    dashboard
        .edit("m2", state(State::Failed, Ownership::Ready))
        .await;
    let completed = state(State::Completed, Ownership::Completed);
    dashboard.edit("m3", completed).await;
    dashboard
}

#[tokio::test]
async fn migrations_are_found_by_state_and_by_words_of_theirs() {
    let dashboard = three().await;
    for (query, found) in [
        ("", vec!["m3", "m2", "m1"]),
        ("?state=failed", vec!["m2"]),
        ("?state=open", vec!["m2", "m1"]),
        ("?state=ended", vec!["m3"]),
        ("?state=attention", vec!["m2"]),
        ("?q=M2", vec!["m2"]),
        ("?q=EVE&state=running", vec!["m1"]),
        ("?q=nobody", vec![]),
    ] {
        let page = dashboard.page(&format!("/migrations{query}")).await;
        assert_eq!(listed(&page), found, "{query}");
    }
    assert_eq!(dashboard.get("/migrations?state=odd").await.status(), 404);
    let page = dashboard.page("/migrations?state=failed&q=%3Cb%3E").await;
    for words in [
        "value=\"failed\" selected",
        "value=\"&#60;b&#62;\"",
        "No migration matches",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn a_long_list_is_read_page_by_page_while_others_are_added() {
    let dashboard = Dashboard::with_map().await;
    let submit = async |number: i64| {
        let mut plan = plan(dashboard.store.incarnation());
        let (from, to) = (Key::Int(number), Key::Int(number + 1));
        plan.moves[0].moving.keys = KeySet::range(Some(from), Some(to));
        let id = format!("m{number:03}");
        dashboard.submit(&id, plan.with_hash()).await;
    };
    for number in 0..120 {
        submit(number).await;
    }
    let (mut path, mut seen) = ("/migrations".to_owned(), Vec::new());
    loop {
        let page = dashboard.page(&path).await;
        seen.extend(listed(&page).into_iter().map(str::to_owned));
        submit(200 + i64::try_from(seen.len()).unwrap()).await;
        let Some(older) = page.split("id=\"older\" href=\"").nth(1) else {
            break;
        };
        older.split('"').next().unwrap().clone_into(&mut path);
    }
    let expected: Vec<String> = (0..120)
        .rev()
        .map(|number| format!("m{number:03}"))
        .collect();
    assert_eq!(seen, expected);
}

/// Every row of a list of the API, read by its links, so many at once.
async fn followed(dashboard: &Dashboard, list: &str, limit: usize) -> Vec<serde_json::Value> {
    let mut path = format!("/api/v1/{list}?limit={limit}");
    let mut rows = Vec::new();
    loop {
        let answer = dashboard.get(&path).await;
        assert_eq!(answer.status(), 200, "{path}");
        let link = answer.headers().get("link").cloned();
        let page: Vec<serde_json::Value> = answer.json().await.unwrap();
        assert!(page.len() <= limit, "{path}");
        rows.extend(page);
        let Some(link) = link else { return rows };
        let link = link.to_str().unwrap();
        let next = link.strip_prefix('<').unwrap();
        let (next, rest) = next.split_once('>').unwrap();
        assert_eq!(rest, "; rel=\"next\"");
        next.clone_into(&mut path);
    }
}

#[tokio::test]
async fn lists_of_the_api_are_read_by_their_links() {
    let dashboard = three().await;
    for number in 0..5 {
        let name = format!("t{number}");
        let fields = [("name", name.as_str()), ("role", "viewer")];
        dashboard.post("/tokens", &fields).await;
    }
    let ids = |rows: Vec<serde_json::Value>| -> Vec<String> {
        rows.iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    for limit in [1, 2, 3, 7] {
        let migrations = ids(followed(&dashboard, "migrations", limit).await);
        assert_eq!(migrations, ["m3", "m2", "m1"], "{limit}");
        let operations = ids(followed(&dashboard, "operations", limit).await);
        assert_eq!(operations, ["m3", "m2", "m1"], "{limit}");
        let audit = followed(&dashboard, "audit", limit).await;
        let lines: Vec<i64> = audit
            .iter()
            .map(|row| row["line"].as_i64().unwrap())
            .collect();
        assert!(
            lines.len() >= 5 && lines.is_sorted_by(|a, b| a > b),
            "{lines:?}"
        );
    }
    for (path, status) in [
        ("migrations?after=m9", 404),
        ("operations?after=m9", 404),
        ("audit?after=odd", 422),
        ("migrations?limit=odd", 422),
    ] {
        let answer = dashboard.get(&format!("/api/v1/{path}")).await;
        assert_eq!(answer.status(), status, "{path}");
    }
}

#[tokio::test]
async fn the_switch_says_who_has_the_keys_now_and_then() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Waiting, Ownership::Ready)(snapshot);
    })
    .await;
    let page = dashboard.page("/migrations/m1/switch").await;
    for words in [
        "takes every read and write",
        "Writes are not blocked now",
        "No attempt was made yet",
        "id=\"do-approve\"",
        "name=\"back\" value=\"switch\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let fields = [("confirm", "m1"), ("back", "switch")];
    let given = dashboard.post("/migrations/m1/approve", &fields).await;
    assert_eq!(given.headers()["location"], "/migrations/m1/switch");
    let elsewhere = [("confirm", "m1"), ("back", "//evil.example")];
    let given = dashboard.post("/migrations/m1/pause", &elsewhere).await;
    assert_eq!(given.headers()["location"], "/migrations/m1");
    assert_eq!(dashboard.get("/migrations/m9/switch").await.status(), 404);
}

#[tokio::test]
async fn a_step_is_shown_beside_the_others_with_what_it_executes() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Running, Ownership::Ready)(snapshot);
        super::hold(snapshot);
        let copy = step(snapshot, StepKind::Copy);
        copy.state = StepState::Running;
        copy.attempt = 2;
        copy.progress = Some(
            json!({"message": "copying public.orders", "tables": [], "rows_per_second": 0.0,
            "bytes_per_second": 0.0, "eta_seconds": 95.0, "statements":
            [{"shard": "a", "role": "copy", "text": "COPY (select <all>) TO STDOUT", "ms": 1200}]}),
        );
    })
    .await;
    let page = dashboard.page("/migrations/m1?step=copy").await;
    for words in [
        "<section id=\"step\"",
        "copying public.orders · 1 min 35 s left",
        "COPY (select &#60;all&#62;) TO STDOUT",
        "a, session copy, for 1.2 s",
        "x, process i1",
        "data-url=\"/live/migrations/m1?step=copy\"",
        "href=\"/migrations/m1?step=copy#step\" id=\"node-copy\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    for other in ["/migrations/m1", "/migrations/m1?step=%3Cb%3E"] {
        let page = dashboard.page(other).await;
        assert!(!page.contains("<section id=\"step\""), "{other}");
    }
}

#[tokio::test]
async fn the_page_of_agents_says_whom_each_works_for() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Running, Ownership::Ready)(snapshot);
        super::hold(snapshot);
        step(snapshot, StepKind::Copy).state = StepState::Running;
    })
    .await;
    let page = dashboard.page("/agents").await;
    assert!(page.contains("No agent has connected yet"), "{page}");
    let command = "shardwright-agent --name agent-1 --controller http://this";
    assert!(page.contains(command), "{page}");
    let (name, instance) = (AgentName::from("x"), InstanceId::from("i1"));
    let at = chrono::Utc::now();
    let process = AgentProcess {
        host: Some("db<7".to_owned()),
        ..AgentProcess::of(&name, &instance)
    };
    let seen = dashboard.store.note_agent(&process, at, None);
    seen.await.unwrap();
    let page = dashboard.page("/agents").await;
    for words in [
        "connected",
        "db&#60;7",
        "href=\"/migrations/m1\"",
        "a → b, check",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("No agent works for"), "{page}");
    let lapsed = |snapshot: &mut orchestrator::store::Snapshot| {
        snapshot.lease_until = Some(chrono::Utc::now() - chrono::TimeDelta::seconds(60));
    };
    dashboard.edit("m1", lapsed).await;
    let page = dashboard.page("/agents").await;
    assert!(page.contains("No agent works for"), "{page}");
    assert!(!page.contains("agent remove"), "{page}");
    let gone = AgentProcess::of(&"gone".into(), &"g1".into());
    let long_ago = at - chrono::TimeDelta::seconds(600);
    let seen = dashboard.store.note_agent(&gone, long_ago, None);
    seen.await.unwrap();
    let page = dashboard.page("/agents").await;
    assert!(page.contains("shardwright agent remove gone"), "{page}");
    let removed = dashboard.store.remove_agent(&gone.name, at);
    removed.await.unwrap();
    let page = dashboard.page("/agents").await;
    assert!(!page.contains("gone"), "{page}");
}

#[tokio::test]
async fn the_trail_is_searched_and_read_page_by_page() {
    let dashboard = Dashboard::empty().await;
    assert!(
        dashboard
            .page("/activity")
            .await
            .contains("No command was given yet")
    );
    for number in 0..150 {
        let record = AuditRecord {
            at: chrono::Utc::now(),
            actor: "ada".to_owned(),
            action: "order".to_owned(),
            object: format!("POST /number/{number:03}"),
            data: json!({"from": "10.0.0.1", "why": "<because>", "outcome": 200}),
        };
        dashboard.store.add_audit(&record).await.unwrap();
    }
    let page = dashboard.page("/activity").await;
    let count = |page: &str| page.matches("order · POST /number/").count();
    assert_eq!(count(&page), 100);
    for words in [
        "ada",
        "10.0.0.1",
        "&#60;because&#62;",
        "done (200)",
        "/number/149",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let older = page.split("id=\"older\" href=\"").nth(1).unwrap();
    let older = dashboard.page(older.split('"').next().unwrap()).await;
    assert_eq!(count(&older), 50);
    assert!(older.contains("/number/049") && !older.contains("id=\"older\""));
    let found = dashboard.page("/activity?q=NUMBER/007&after=odd").await;
    assert_eq!(count(&found), 1);
    assert!(
        dashboard
            .page("/activity?q=zzz")
            .await
            .contains("No line matches")
    );
}

#[tokio::test]
async fn a_token_is_made_shown_once_and_taken_back_by_its_typed_name() {
    let dashboard = Dashboard::empty().await;
    assert!(
        dashboard
            .page("/tokens")
            .await
            .contains("There is no token yet")
    );
    let fields = [
        ("name", "vera"),
        ("role", "viewer"),
        ("labels", ""),
        ("days", "30"),
    ];
    let made = dashboard.post("/tokens", &fields).await;
    assert_eq!(made.headers()["cache-control"], "no-store");
    let made = made.text().await.unwrap();
    let secret = made.split("id=\"secret\">").nth(1).unwrap();
    let secret = secret.split('<').next().unwrap();
    assert!(secret.len() > 20, "{made}");
    let page = dashboard.page("/tokens").await;
    assert!(page.contains("vera") && !page.contains(secret), "{page}");
    for (field, value, said) in [
        ("name", "vera", "exists already"),
        ("role", "king", "is no role"),
        ("days", "soon", "is not a number of days"),
        ("labels", "region", "are not labels"),
    ] {
        let mut fields = [
            ("name", "otto"),
            ("role", "agent"),
            ("labels", ""),
            ("days", ""),
        ];
        let slot = fields.iter_mut().find(|(name, _)| *name == field).unwrap();
        slot.1 = value;
        let refused = dashboard.post("/tokens", &fields).await;
        assert!(refused.status().is_client_error(), "{field}");
        let refused = refused.text().await.unwrap();
        assert!(refused.contains(said), "{said}: {refused}");
    }
    let path = "/tokens/vera/revoke";
    let confirm = dashboard.page(path).await;
    assert!(
        confirm.contains("shardwright token revoke vera"),
        "{confirm}"
    );
    let wrong = dashboard.post(path, &[("confirm", "otto")]).await;
    assert_eq!(wrong.status(), 422);
    let fields = [("confirm", "vera"), ("reason", "she left")];
    let revoked = dashboard.post(path, &fields).await;
    assert_eq!(revoked.headers()["location"], "/tokens");
    assert!(dashboard.page("/tokens").await.contains("revoked"));
    let audit = dashboard.page("/activity?q=she+left").await;
    assert!(audit.contains("token vera"), "{audit}");
}

#[tokio::test]
async fn the_doctor_says_what_it_takes_where_nobody_can_look() {
    let dashboard = Dashboard::with_map().await;
    let page = dashboard.page("/doctor").await;
    for words in [
        "value=\"map tenants\"",
        "value=\"shard b\"",
        "shardwright doctor",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let refused = dashboard.post("/doctor", &[("what", "shard a")]).await;
    assert!(refused.status().is_server_error() || refused.status().is_client_error());
    let refused = refused.text().await.unwrap();
    for words in [
        "role=\"alert\"",
        "shardwright doctor --shard a",
        "value=\"shard a\" selected",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let wrong = dashboard.post("/doctor", &[("what", "king a")]).await;
    assert_eq!(wrong.status(), 422);
}

#[tokio::test]
async fn a_request_is_looked_at_while_it_is_typed() {
    let dashboard = Dashboard::with_map().await;
    let check = async |request: &str| {
        let fields = [("request", request)];
        let answer = dashboard.post("/migrations/check", &fields).await;
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap()
    };
    let split = "operation: split\nmap: tenants\nsource: a\ninto:\n- {shard: a, keys: {to: 501}}\n- {shard: b, keys: {from: 501}}\ntables: {tenants: id}\n";
    let said = check(split).await;
    assert!(said.contains("from a to b (online)"), "{said}");
    let said = check(&split.replace("source: a", "source: [")).await;
    assert!(said.contains("class=\"wrong\">Line "), "{said}");
    let said = check(&split.replace("tenants\n", "nothing\n")).await;
    assert!(said.contains("there is no map nothing"), "{said}");
    assert!(check("  ").await.contains("></p>"));
    let none = dashboard.store.audit(10, None).await.unwrap();
    assert_eq!(none, [], "nothing is kept of it");
}
