//! The dashboard's pages in every state, over the store in memory: what is shown, what may be ordered, what is refused.

// A test says what it expects by unwrapping it.
#![allow(clippy::unwrap_used)]

mod fixture;
mod fleet;
mod large;
mod maps;
mod marks;
mod measured;
mod operations;
mod pages;
mod past;
mod picture;
mod requests;
mod timeline;

use fixture::{Dashboard, failure};
use futures::StreamExt;
use orchestrator::controller::Command;
use orchestrator::store::{AgentProcess, AgentStore, LeaseHolder, Snapshot, Step, Store};
use plans::id::{AgentName, InstanceId, MapVersion};
use plans::shard_map::{KeyColumns, ShardMap};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;
use serde_json::json;

fn state(state: State, ownership: Ownership) -> impl FnOnce(&mut Snapshot) {
    move |snapshot| {
        snapshot.migration.state = state;
        snapshot.migration.ownership = ownership;
        snapshot.migration.started_at = (state != State::Planned).then(chrono::Utc::now);
        let over = matches!(state, State::Unwound | State::Completed);
        snapshot.migration.finished_at = over.then(chrono::Utc::now);
        if ownership == Ownership::Flipped {
            snapshot.migration.map_version_after = Some(MapVersion(2));
        }
    }
}

fn step(snapshot: &mut Snapshot, kind: StepKind) -> &mut Step {
    let mut steps = snapshot.steps.iter_mut();
    steps.find(|step| step.kind == kind).unwrap()
}

/// Held by process `i1` of agent `x`, whose lease lasts.
fn hold(snapshot: &mut Snapshot) {
    snapshot.migration.owner = Some(LeaseHolder {
        agent: AgentName::from("x"),
        instance: InstanceId::from("i1"),
        token: None,
        secret: None,
    });
    snapshot.lease_until = Some(chrono::Utc::now() + chrono::TimeDelta::seconds(60));
}

/// The orders whose buttons are on the page.
fn orders(page: &str) -> Vec<&str> {
    let buttons = page.split("id=\"do-").skip(1);
    buttons
        .map(|rest| rest.split('"').next().unwrap())
        .collect()
}

#[tokio::test]
async fn an_empty_dashboard_teaches_the_first_commands() {
    let page = Dashboard::empty().await.page("/").await;
    for words in [
        "shardwright shard add",
        "shardwright-agent",
        "Nothing waits for you",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let page = Dashboard::with_map().await.page("/").await;
    assert!(page.contains("href=\"/shards/a\""), "{page}");
    assert!(page.contains("href=\"/migrations/new\""), "{page}");
}

#[tokio::test]
async fn a_page_offers_exactly_the_orders_that_the_state_allows() {
    use Ownership as O;
    for (at, ownership, allowed) in [
        (State::Planned, O::Ready, vec!["pause", "abort"]),
        (State::Running, O::Ready, vec!["pause", "abort"]),
        (State::Waiting, O::Ready, vec!["approve", "pause", "abort"]),
        (State::Paused, O::Ready, vec!["resume", "abort"]),
        (State::Failed, O::Ready, vec!["resume", "abort"]),
        (State::Unwinding, O::Aborted, vec![]),
        (State::Unwound, O::Aborted, vec![]),
        (
            State::Flipped,
            O::Flipped,
            vec!["pause", "rollback", "finish"],
        ),
        (State::Completed, O::Completed, vec![]),
    ] {
        let dashboard = Dashboard::with_migration(state(at, ownership)).await;
        let page = dashboard.page("/migrations/m1").await;
        assert_eq!(orders(&page), allowed, "{at}");
        assert_eq!(page.matches("<h1").count(), 1);
        for order in allowed {
            assert!(page.contains(&format!("shardwright {order} m1")), "{order}");
        }
        let overview = dashboard.page("/").await;
        assert!(overview.contains("/migrations/m1"), "{at}");
        assert_eq!(overview.matches("<h1").count(), 1);
    }
}

#[tokio::test]
async fn a_migration_that_has_ended_takes_no_order() {
    use Ownership as O;
    for (at, ownership) in [
        (State::Unwound, O::Aborted),
        (State::Completed, O::Completed),
        (State::RolledBack, O::RolledBack),
    ] {
        let dashboard = Dashboard::with_migration(|snapshot| {
            state(at, ownership)(snapshot);
            snapshot.migration.finished_at = Some(chrono::Utc::now());
        })
        .await;
        let page = dashboard.page("/migrations/m1").await;
        assert!(page.contains("no command is possible"), "{at}: {page}");
        for command in Command::ALL {
            let path = format!("/migrations/m1/{command}");
            let sent = dashboard.post(&path, &[("confirm", "m1")]).await;
            assert_eq!(sent.status(), 409, "{at}: {command}");
        }
        assert_eq!(dashboard.migration().await.migration.state, at);
    }
}

#[tokio::test]
async fn a_failure_is_shown_with_its_remedy_and_escaped() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Failed, Ownership::Ready)(snapshot);
        snapshot.migration.failure = Some(failure());
        step(snapshot, StepKind::Copy).state = StepState::Failed;
        step(snapshot, StepKind::Copy).failure = Some(failure());
        snapshot.migration.submitted_by = "<b>eve</b>".to_owned();
    })
    .await;
    for path in ["/", "/migrations/m1"] {
        let page = dashboard.page(path).await;
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(!page.contains("<b>eve"), "{page}");
        assert!(page.contains("&#60;script&#62;alert"), "{page}");
        assert!(page.contains("start the server &#38; try again"), "{page}");
    }
}

#[tokio::test]
async fn work_and_write_stop_are_shown_in_figures() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Flipped, Ownership::Flipped)(snapshot);
        let copy = step(snapshot, StepKind::Copy);
        copy.state = StepState::Done;
        copy.progress = Some(json!({"message": "", "rows_per_second": 0.0, "bytes_per_second": 0.0,
            "eta_seconds": null, "tables": [{"table": "public.orders", "rows_done": 50, "rows_total": 200,
            "bytes_done": 1024, "bytes_total": 4096, "phase": "copying"}]}));
        let cutover = step(snapshot, StepKind::Cutover);
        cutover.state = StepState::Done;
        cutover.output = Some(json!({"attempt": 3, "map_version": 2, "dirty_keys": 7, "refused": 12, "window":
            {"total": 22.0, "fence": 0.5, "wait_out": 1.5, "drain": 8.0, "check": 4.0, "seal": 5.0, "flip": 2.0, "open": 1.0}}));
    })
    .await;
    let page = dashboard.page("/migrations/m1").await;
    for words in [
        "public.orders",
        "50 of 200",
        "1.0 KiB of 4.0 KiB",
        "25 %",
        "Cutover: 22.0 ms",
        "block writes <strong>0.5",
        "wait-out <strong>1.5",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn what_slows_a_migration_and_what_it_waits_for_is_told_with_who_holds_it() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Running, Ownership::Ready)(snapshot);
        for kind in [
            StepKind::Preflight,
            StepKind::CreateTarget,
            StepKind::OpenCapture,
        ] {
            step(snapshot, kind).state = StepState::Done;
        }
        let copy = step(snapshot, StepKind::Copy);
        copy.state = StepState::Running;
        copy.progress = Some(
            json!({"message": "copying", "rows_per_second": 0.0, "bytes_per_second": 0.0,
            "eta_seconds": null, "tables": [],
            "slowed": {"share": 0.35, "reason": "application p99 31 ms, set point 25 ms"},
            "lock": {"shard": "a", "object": "orders", "pid": 7, "waited_ms": 4000, "holder": 4711,
                "user": "app", "application": "psql", "state": "idle in transaction", "open_ms": 42_900}}),
        );
        snapshot.migration.owner = Some(LeaseHolder {
            agent: "x".into(),
            instance: "x1".into(),
            token: None,
            secret: None,
        });
        snapshot.lease_until = Some(chrono::Utc::now() + chrono::TimeDelta::hours(1));
    })
    .await;
    let page = dashboard.page("/migrations/m1").await;
    for words in [
        "<strong>Slowed to 35 %: application p99 31 ms, set point 25 ms<",
        "Waits for a lock on orders of shard a</strong>, since <time",
        ", held by server process 4711 (psql, role app, idle in transaction, open for 42 s).",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(page.contains("2 stream(s), replica lag 10 s"), "{page}");
}

#[tokio::test]
async fn orders_are_given_by_forms() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    let sent = dashboard.post("/migrations/m1/pause", &[]).await;
    assert_eq!(sent.status(), 303);
    assert_eq!(sent.headers()["location"], "/migrations/m1");
    assert_eq!(dashboard.migration().await.migration.state, State::Paused);
    let page = dashboard.page("/migrations/m1").await;
    assert!(page.contains("migration paused"), "{page}");
    let sent = dashboard
        .post("/migrations/m1/approve", &[("confirm", "m1")])
        .await;
    assert_eq!(sent.status(), 409);
    let page = sent.text().await.unwrap();
    assert!(
        page.contains("What mends it") || page.contains("approve is not possible"),
        "{page}"
    );
}

#[tokio::test]
async fn grave_orders_need_the_typed_id() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    let page = dashboard.page("/migrations/m1/abort").await;
    assert!(page.contains("name=\"confirm\""), "{page}");
    for wrong in ["", "m2"] {
        let sent = dashboard
            .post("/migrations/m1/abort", &[("confirm", wrong)])
            .await;
        assert_eq!(sent.status(), 422);
        assert!(sent.text().await.unwrap().contains("is not the id"));
    }
    assert_eq!(dashboard.migration().await.migration.state, State::Running);
    let sent = dashboard
        .post("/migrations/m1/abort", &[("confirm", "m1")])
        .await;
    assert_eq!(sent.status(), 303);
    assert_eq!(
        dashboard.migration().await.migration.state,
        State::Unwinding
    );
}

#[tokio::test]
async fn a_form_of_another_site_is_refused() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    for origin in ["http://evil.example", "null", "https://127.0.0.1"] {
        let form = dashboard.form("/migrations/m1/pause", &[]);
        let sent = form.header("origin", origin).send().await.unwrap();
        assert_eq!(sent.status(), 403, "{origin}");
    }
    let form = dashboard.form("/migrations/m1/pause", &[]);
    let sent = form.header("host", "evil.example").send().await.unwrap();
    assert_eq!(sent.status(), 403);
    assert_eq!(dashboard.migration().await.migration.state, State::Running);
}

#[tokio::test]
async fn pages_let_nothing_foreign_in() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    for path in [
        "/",
        "/migrations/m1",
        "/migrations/new",
        "/maps/tenants",
        "/maps/tenants/diff",
        "/migrations/m1/abort",
    ] {
        let response = dashboard.get(path).await;
        let headers = response.headers().clone();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'self';"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "same-origin");
        let page = response.text().await.unwrap();
        for banned in [
            " style=",
            "<style",
            " onclick=",
            "src=\"http",
            "href=\"http",
        ] {
            assert!(!page.contains(banned), "{path}: {banned}");
        }
        for asset in page.split('"').filter(|part| part.starts_with("/assets/")) {
            let answer = dashboard.get(asset).await;
            assert_eq!(answer.status(), 200, "{asset}");
            let kind = answer.headers()["content-type"]
                .to_str()
                .unwrap()
                .to_owned();
            assert!(!kind.starts_with("application/octet"), "{asset} {kind}");
        }
    }
    assert_eq!(dashboard.get("/assets/..%2fCargo.toml").await.status(), 404);
}

#[tokio::test]
async fn a_malformed_request_is_shown_with_its_place() {
    let dashboard = Dashboard::with_map().await;
    let request = "operation: split\r\nmap: tenants\r\n  source: <a>\r\n";
    let sent = dashboard
        .post("/migrations/plan", &[("request", request)])
        .await;
    assert_eq!(sent.status(), 400);
    let page = sent.text().await.unwrap();
    assert!(page.contains("data-line=\"3\""), "{page}");
    assert!(page.contains("Line 3, column"), "{page}");
    assert!(page.contains("source: &#60;a&#62;"), "{page}");
}

#[tokio::test]
async fn every_example_fits_the_map_and_a_plan_needs_an_agent() {
    let strategies: [fn(ShardMap) -> ShardMap; 3] =
        [|map| map, fixture::hash_map, fixture::list_map];
    for strategy in strategies {
        let known = |map: ShardMap| {
            let mut map = strategy(map);
            let columns = KeyColumns(vec!["id".to_owned()]);
            map.settings.tables.insert("tenants".to_owned(), columns);
            map
        };
        let dashboard = Dashboard::with(known).await;
        let form = dashboard.page("/migrations/new").await;
        let choice = form.split("id=\"choose\"").nth(1).unwrap();
        let choice = choice.split("</select>").next().unwrap();
        let values = choice.split("<option value=\"").skip(1);
        let examples: Vec<&str> = values.map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(examples.len(), 8, "{form}");
        for example in examples {
            let path = format!("/migrations/new?example={example}");
            let page = dashboard.page(&path).await;
            let chosen = format!("value=\"{example}\" selected");
            assert!(page.contains(&chosen), "{page}");
            let area = page.split("<textarea id=\"request\"").nth(1).unwrap();
            let area = area.split_once(">\n").unwrap().1;
            let request = area.split("</textarea>").next().unwrap();
            let request = request
                .replace("&#34;", "\"")
                .replace("&#60;", "<")
                .replace("&#62;", ">");
            let fields = [("request", request.as_str())];
            let sent = dashboard.post("/migrations/plan", &fields).await;
            let status = sent.status();
            let page = sent.text().await.unwrap();
            assert_eq!(status, 503, "{example}: {page}");
            assert!(page.contains("no agent is connected"), "{page}");
            assert!(page.contains("map: tenants"), "the text is kept: {page}");
        }
    }
    let dashboard = Dashboard::with_map().await;
    for path in [
        "/migrations/new?example=x",
        "/migrations/new?example=split&map=x",
    ] {
        assert_eq!(dashboard.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn an_edited_plan_is_refused() {
    let dashboard = Dashboard::with_map().await;
    let mut plan = fixture::plan(dashboard.store.incarnation());
    plan.options.copy_streams = 9;
    let plan = serde_json::to_string(&plan).unwrap();
    let sent = dashboard
        .post(
            "/migrations",
            &[("plan", plan.as_str()), ("request", "x: y")],
        )
        .await;
    assert_eq!(sent.status(), 400);
    let page = sent.text().await.unwrap();
    assert!(page.contains("was changed after it was written"), "{page}");
}

#[tokio::test]
async fn a_map_is_shown_with_its_versions() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    let page = dashboard.page("/maps/tenants").await;
    for words in ["all keys", "moving", "eve", "Version 1 is in force"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let missing = dashboard.get("/maps/%3Cb%3E").await;
    assert_eq!(missing.status(), 404);
    assert!(
        missing
            .text()
            .await
            .unwrap()
            .contains("there is no map &#60;b&#62;")
    );
    for path in [
        "/migrations/nope",
        "/live/migrations/nope",
        "/migrations/m1/dance",
    ] {
        assert_eq!(dashboard.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn news_come_as_fragments_that_changed() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    let mut news = dashboard.get("/live/migrations/m1").await.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("<section id=\"plan\"") {
        seen += std::str::from_utf8(&news.next().await.unwrap().unwrap()).unwrap();
    }
    dashboard.post("/migrations/m1/pause", &[]).await;
    seen.clear();
    while !seen.contains("<section id=\"events\"") {
        seen += std::str::from_utf8(&news.next().await.unwrap().unwrap()).unwrap();
    }
    assert!(seen.contains("paused"), "{seen}");
    assert!(!seen.contains("<section id=\"plan\""), "{seen}");
}

#[tokio::test]
async fn agents_are_shown_with_what_they_hold() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Running, Ownership::Ready)(snapshot);
        snapshot.migration.owner = Some(orchestrator::store::LeaseHolder {
            agent: AgentName::from("x<y"),
            instance: InstanceId::from("i1"),
            token: None,
            secret: None,
        });
        snapshot.lease_until = Some(chrono::Utc::now() + chrono::TimeDelta::seconds(60));
    })
    .await;
    assert!(dashboard.page("/").await.contains("No agent is connected"));
    let (name, instance) = (AgentName::from("x<y"), InstanceId::from("i1"));
    let at = chrono::Utc::now();
    dashboard
        .store
        .note_agent(&AgentProcess::of(&name, &instance), at, None)
        .await
        .unwrap();
    let page = dashboard.page("/").await;
    assert!(page.contains("1 agent connected"), "{page}");
    assert!(!page.contains("No agent is connected"), "{page}");
    let page = dashboard.page("/agents").await;
    for words in ["x&#60;y", "connected", "href=\"/migrations/m1\"><code>m1"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}
