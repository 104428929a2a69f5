//! Operations of several moves: their page, their rows, their orders; and offline moves.

use crate::fixture::{Dashboard, failure, plan};
use crate::{orders, state, step};
use futures::StreamExt;
use orchestrator::store::{Snapshot, Store};
use plans::request::{Cutover, Mode};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;

/// Some way into operation `m1`: the first move waits for approval, the second for the first.
async fn under_way() -> Dashboard {
    let dashboard = Dashboard::with_operation().await;
    let started = |snapshot: &mut Snapshot| {
        snapshot.migration.started_at = Some(chrono::Utc::now());
    };
    dashboard
        .edit("m1x1", |snapshot| {
            state(State::Waiting, Ownership::Ready)(snapshot);
            started(snapshot);
        })
        .await;
    let held = |snapshot: &mut Snapshot| {
        snapshot.migration.waiting_for = Some("move m1 to be finished".to_owned());
    };
    dashboard.edit("m1x2", held).await;
    dashboard
        .edit("m1x3", |snapshot| {
            state(State::Running, Ownership::Ready)(snapshot);
            started(snapshot);
            for kind in [
                StepKind::Preflight,
                StepKind::CreateTarget,
                StepKind::SetReadOnly,
            ] {
                step(snapshot, kind).state = StepState::Done;
            }
            step(snapshot, StepKind::Copy).state = StepState::Running;
        })
        .await;
    dashboard
}

#[tokio::test]
async fn an_operation_is_shown_with_its_moves_and_what_they_wait_for() {
    let dashboard = under_way().await;
    let page = dashboard.page("/operations/m1").await;
    for words in [
        "split on map tenants",
        "3 moves: 1 planned, 1 running, 1 waiting.",
        "waits: move m1 to be finished",
        "m1 finished",
        "shard a carries too much for m2",
        "a → c",
        "offline",
        "offline and online",
        "shard a 1.8x over &#60;b&#62;",
        "href=\"/migrations/m1x3\"",
        "/live/operations/m1",
        "shardwright approve m1",
        "Possible for 3 of 3 moves.",
        "Plan hash",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(page.matches("<h1").count(), 1);
    assert_eq!(orders(&page), ["approve", "pause", "abort"]);
}

#[tokio::test]
async fn the_overview_has_a_row_for_the_operation_and_one_for_each_move() {
    let dashboard = under_way().await;
    let page = dashboard.page("/").await;
    let row = page.find("href=\"/operations/m1\"><strong>").expect(&page);
    for id in ["m1x1", "m1x2", "m1x3"] {
        let link = format!("<code class=\"id\">{id}<");
        assert!(page.find(&link).is_some_and(|at| at > row), "{id}: {page}");
    }
    for words in [
        "a → b, c",
        "3 moves",
        "0 of 3 moves have ended",
        "waits: move m1 to be finished",
        "shardwright approve m1x1",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn moves_that_wait_for_the_same_order_are_one_item() {
    let dashboard = Dashboard::with_operation().await;
    for id in ["m1x1", "m1x2"] {
        dashboard
            .edit(id, state(State::Waiting, Ownership::Ready))
            .await;
    }
    let broken = |snapshot: &mut Snapshot| {
        state(State::Failed, Ownership::Ready)(snapshot);
        snapshot.migration.failure = Some(failure());
    };
    dashboard.edit("m1x3", broken).await;
    let page = dashboard.page("/").await;
    let items = page.split("id=\"migrations\"").next().unwrap();
    for words in [
        "split tenants: 2 moves",
        "shardwright approve m1<",
        "shardwright resume m1x3",
    ] {
        assert!(items.contains(words), "{words}: {items}");
    }
    assert!(!items.contains("shardwright approve m1x1"), "{items}");
    let page = dashboard.page("/operations/m1").await;
    assert!(page.contains("Move m3</a>"), "{page}");
    assert!(page.contains("&#60;script&#62;alert"), "{page}");
}

#[tokio::test]
async fn many_moves_are_shown_in_part() {
    let dashboard = Dashboard::with_map().await;
    let mut plan = plan(dashboard.store.incarnation());
    let first = plan.moves[0].clone();
    plan.moves = (0..30)
        .map(|n: i64| {
            let mut planned = first.clone();
            planned.id = format!("m{}", n + 1);
            let key = |n: i64| Some(plans::key::Key::Int(501 + n));
            planned.moving.keys = plans::key_set::KeySet::range(key(n), key(n + 1));
            planned
        })
        .collect();
    dashboard.submit("m1", plan.with_hash()).await;
    dashboard
        .edit("m1x29", state(State::Running, Ownership::Ready))
        .await;
    let page = dashboard.page("/").await;
    assert!(page.contains("26 more moves"), "{page}");
    assert!(page.contains("m1x29<"), "{page}");
    assert!(!page.contains("m1x30<"), "{page}");
    assert!(
        dashboard
            .page("/operations/m1")
            .await
            .contains("/migrations/m1x30")
    );
}

#[tokio::test]
async fn orders_for_an_operation_go_to_every_move_that_can_take_them() {
    let dashboard = under_way().await;
    let page = dashboard.page("/operations/m1/abort").await;
    assert!(page.contains("Type the operation's id"), "{page}");
    let sent = dashboard
        .post("/operations/m1/abort", &[("confirm", "m1x1")])
        .await;
    assert_eq!(sent.status(), 422);
    let page = sent.text().await.unwrap();
    assert!(page.contains("is not the id of this operation"), "{page}");
    let sent = dashboard.post("/operations/m1/pause", &[]).await;
    assert_eq!(sent.status(), 303);
    assert_eq!(sent.headers()["location"], "/operations/m1");
    for id in ["m1x1", "m1x3"] {
        assert_eq!(
            dashboard.load(id).await.migration.state,
            State::Paused,
            "{id}"
        );
    }
    let sent = dashboard
        .post("/operations/m1/abort", &[("confirm", "m1")])
        .await;
    assert_eq!(sent.status(), 303);
    for (id, at) in [
        ("m1x1", State::Unwinding),
        ("m1x2", State::Unwound),
        ("m1x3", State::Unwinding),
    ] {
        assert_eq!(dashboard.load(id).await.migration.state, at, "{id}");
    }
    let sent = dashboard
        .post("/operations/m1/finish", &[("confirm", "m1")])
        .await;
    assert_eq!(sent.status(), 409);
    assert_eq!(
        dashboard.post("/operations/nope/pause", &[]).await.status(),
        404
    );
}

#[tokio::test]
async fn one_move_is_its_migration_and_several_are_their_operation() {
    let dashboard = Dashboard::with_migration(state(State::Running, Ownership::Ready)).await;
    let answer = dashboard.get("/operations/m1").await;
    assert_eq!(answer.status(), 303);
    assert_eq!(answer.headers()["location"], "/migrations/m1");
    let page = dashboard.page("/migrations/m1").await;
    assert!(!page.contains("/operations/m1"), "{page}");
    let dashboard = Dashboard::with_operation().await;
    let answer = dashboard.get("/migrations/m1").await;
    assert_eq!(answer.status(), 303);
    assert_eq!(answer.headers()["location"], "/operations/m1");
    for path in [
        "/operations/nope",
        "/live/operations/nope",
        "/operations/m1/dance",
    ] {
        assert_eq!(dashboard.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn a_planned_move_says_what_it_waits_for_in_one_sentence() {
    let dashboard = under_way().await;
    let page = dashboard.page("/migrations/m1x2").await;
    let sentence = "Waits: move m1 to be finished. Nothing was changed yet, a owns [600, 700).";
    assert!(page.contains(sentence), "{page}");
    assert_eq!(page.matches("to be finished").count(), 1, "{page}");
    assert!(!page.contains("No agent holds this migration"), "{page}");
    for words in [
        "href=\"/operations/m1\"",
        "move m2",
        "shard a carries too much for m2",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn an_offline_move_says_that_its_keys_are_read_only() {
    let dashboard = under_way().await;
    let page = dashboard.page("/migrations/m1x3").await;
    for words in [
        "the moving keys are read-only until the flip.",
        "<text class=\"name\" x=\"278\" y=\"22\">set read-only</text>",
        "#step\">set read-only</a>",
        "Nothing is captured",
        "there is no reverse stream",
        "<dd>offline</dd>",
        "accepts writes to them again",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let flipped = |snapshot: &mut Snapshot| {
        state(State::Flipped, Ownership::Flipped)(snapshot);
        step(snapshot, StepKind::Hold).state = StepState::Running;
    };
    dashboard.edit("m1x3", flipped).await;
    let page = dashboard.page("/migrations/m1x3").await;
    assert_eq!(orders(&page), ["pause", "finish"]);
    assert!(page.contains("there is no reverse stream"), "{page}");
}

#[tokio::test]
async fn news_of_an_operation_come_as_fragments() {
    let dashboard = under_way().await;
    let mut news = dashboard.get("/live/operations/m1").await.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("<section id=\"plan\"") {
        seen += std::str::from_utf8(&news.next().await.unwrap().unwrap()).unwrap();
    }
    dashboard.post("/migrations/m1x3/pause", &[]).await;
    seen.clear();
    while !seen.contains("<section id=\"moves\"") {
        seen += std::str::from_utf8(&news.next().await.unwrap().unwrap()).unwrap();
    }
    assert!(seen.contains("1 paused"), "{seen}");
}

#[tokio::test]
async fn an_approval_may_be_given_ahead_only_where_it_is_asked_for() {
    let dashboard = Dashboard::with_map().await;
    let mut plan = plan(dashboard.store.incarnation());
    let mut second = plan.moves[0].clone();
    second.id = "m2".to_owned();
    second.mode = Mode::Online;
    plan.moves[0].moving.keys = plans::key_set::KeySet::range(Some(501.into()), Some(600.into()));
    second.moving.keys = plans::key_set::KeySet::range(Some(600.into()), None);
    plan.moves.push(second);
    plan.options.cutover = Cutover::Automatic;
    dashboard.submit("m1", plan.with_hash()).await;
    let page = dashboard.page("/operations/m1").await;
    assert_eq!(orders(&page), ["pause", "abort"]);
}
