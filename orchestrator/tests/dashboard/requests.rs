//! The form and the YAML of a request: each is made from the other, and links fill both in.

use crate::fixture::{Dashboard, hash_map, list_map, mapping};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use orchestrator::api::ACTOR_HEADER;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use tokio::task::JoinHandle;

const SPLIT: &str = "operation: split\nmap: tenants\nsource: a\ninto:\n  - shard: a\n    keys: { to: 501 }\n  - shard: b\n    keys: { from: 501 }\ntables: { orders: tenant_id }\noptions: { throttle: { rate_bytes_s: 5000 } }\n";

fn text_of(page: &str) -> String {
    let area = page.split("<textarea id=\"request\"").nth(1).unwrap();
    let area = area.split_once(">\n").unwrap().1;
    let text = area.split("</textarea>").next().unwrap();
    text.replace("&#34;", "\"")
}

async fn turned(dashboard: &Dashboard, fields: &[(&str, &str)]) -> String {
    let answer = dashboard.post("/migrations/new", fields).await;
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap()
}

#[tokio::test]
async fn the_form_shows_what_the_text_has_and_changes_only_what_it_shows() {
    let dashboard = Dashboard::with_map().await;
    let page = turned(&dashboard, &[("request", SPLIT), ("view", "form")]).await;
    for words in [
        "name=\"source\" value=\"a\"",
        "name=\"from.1\" value=\"501\"",
        "orders: tenant_id",
        "Set in the YAML and kept: throttle",
        "1 changed",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let fields = [
        ("request", SPLIT),
        ("view", "yaml"),
        ("operation", "split"),
        ("map", "tenants"),
        ("source", "a"),
        ("shard.0", "a"),
        ("to.0", "601"),
        ("shard.1", "c"),
        ("from.1", "601"),
        ("option.mode", "offline"),
        ("tables", "orders: tenant_id\nitems: tenant_id, id"),
    ];
    let text = text_of(&turned(&dashboard, &fields).await);
    for words in [
        "- shard: c\n    keys: { from: 601 }",
        "throttle: { rate_bytes_s: 5000 }",
        "mode: offline",
        "items: [tenant_id, id]",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[tokio::test]
async fn an_unchanged_form_keeps_the_text_with_its_comments() {
    let dashboard = Dashboard::with_map().await;
    let commented = format!("# why\n{SPLIT}");
    let fields = [
        ("request", commented.as_str()),
        ("view", "yaml"),
        ("operation", "split"),
        ("map", "tenants"),
        ("source", "a"),
        ("shard.0", "a"),
        ("to.0", "501"),
        ("shard.1", "b"),
        ("from.1", "501"),
    ];
    let text = text_of(&turned(&dashboard, &fields).await);
    assert_eq!(text, commented);
}

#[tokio::test]
async fn a_check_returns_the_side_that_was_not_edited() {
    let dashboard = Dashboard::with_map().await;
    let by_text = dashboard
        .post("/migrations/check", &[("request", SPLIT)])
        .await;
    let by_text = by_text.text().await.unwrap();
    assert!(
        by_text.contains("It would move [501, ∞) from a to b (online)."),
        "{by_text}"
    );
    assert!(
        by_text.contains("id=\"fields\" hidden disabled"),
        "{by_text}"
    );
    assert!(!by_text.contains("id=\"request\""), "{by_text}");
    let fields = [
        ("request", SPLIT),
        ("operation", "drain"),
        ("map", "tenants"),
        ("source", "a"),
        ("targets", "b, c"),
        ("by", "rows"),
    ];
    let by_form = dashboard.post("/migrations/check", &fields).await;
    let by_form = by_form.text().await.unwrap();
    let text = text_of(&by_form);
    assert!(
        text.starts_with("operation: drain\nmap: tenants\nsource: a\ntargets: [b, c]\nby: rows\n"),
        "{text}"
    );
    assert!(by_form.contains("depends on the load"), "{by_form}");
    let wrong = [("operation", "split"), ("option.copy_streams", "many")];
    let wrong = dashboard.post("/migrations/check", &wrong).await;
    let wrong = wrong.text().await.unwrap();
    assert!(
        wrong.contains("copy_streams: &#34;many&#34; is not a whole number"),
        "{wrong}"
    );
}

#[tokio::test]
async fn links_fill_in_requests_for_maps_of_each_strategy() {
    let dashboard = Dashboard::with(hash_map).await;
    let split = "/migrations/new?operation=split&map=tenants&source=a&buckets=0-32&at=8&side=upper&target=c";
    let text = text_of(&dashboard.page(split).await);
    assert!(
        text.contains("keys: { buckets: [{ from: 8, to: 32 }] }"),
        "{text}"
    );
    let isolate = "/migrations/new?operation=isolate&map=tenants&key=42&target=c";
    let page = dashboard.page(isolate).await;
    assert!(text_of(&page).contains("key: 42\ntarget: c"), "{page}");
    let dashboard = Dashboard::with(list_map).await;
    let moves = "/migrations/new?operation=move&map=tenants&source=a&target=c";
    let text = text_of(&dashboard.page(moves).await);
    assert!(
        text.contains("moves:\n  - source: a\n    target: c\n"),
        "{text}"
    );
    assert!(!text.contains("keys"), "{text}");
    for wrong in [
        "operation=dance",
        "operation=split&map=tenants&option.hold=x",
    ] {
        let path = format!("/migrations/new?{wrong}");
        assert_eq!(dashboard.get(&path).await.status(), 422, "{path}");
    }
}

#[tokio::test]
async fn keys_that_the_form_cannot_show_are_kept() {
    let dashboard = Dashboard::with(|map: ShardMap| ShardMap {
        mappings: vec![
            mapping(KeySet::range(None, Some(Key::Int(5))), "a"),
            mapping(KeySet::range(Some(Key::Int(5)), None), "b"),
        ],
        ..map
    })
    .await;
    let request = "operation: move\nmap: tenants\nmoves:\n  - source: a\n    target: c\n    keys: { ranges: [{ to: 1 }, { from: 2, to: 3 }] }\n";
    let page = turned(&dashboard, &[("request", request)]).await;
    assert!(
        page.contains("name=\"kept.0\" value=\"{ ranges: [{ to: 1 }"),
        "{page}"
    );
    let fields = [
        ("request", request),
        ("operation", "move"),
        ("map", "tenants"),
        ("source.0", "a"),
        ("target.0", "b"),
        ("kept.0", "{ ranges }"),
    ];
    let text = text_of(&turned(&dashboard, &fields).await);
    assert!(
        text.contains("target: b\n    keys: { ranges: [{ to: 1 }, { from: 2, to: 3 }] }"),
        "{text}"
    );
}

#[tokio::test]
async fn an_estimate_says_why_there_is_no_plan() {
    let dashboard = Dashboard::with_map().await;
    let fields = [("request", SPLIT), ("csrf", "")];
    let answer = dashboard.post("/migrations/estimate", &fields).await;
    assert_eq!(answer.status(), 200);
    let element = answer.text().await.unwrap();
    assert!(element.contains("No plan can be made"), "{element}");
    assert!(element.contains("no agent is connected"), "{element}");
}

/// The estimates of one caller run one after another; only a few may wait.
#[tokio::test]
async fn a_caller_has_one_estimate_at_a_time() {
    let dashboard = Dashboard::patient().await.having(|map| map).await;
    let fields = [("request", SPLIT), ("csrf", "")];
    let estimate = |caller: &str| {
        let form = dashboard.form("/migrations/estimate", &fields);
        let form = form.header("origin", &dashboard.url);
        form.header(ACTOR_HEADER, caller).send()
    };
    let ended = async |answer: JoinHandle<reqwest::Result<reqwest::Response>>| {
        assert_eq!(answer.await.unwrap().unwrap().status(), 200);
    };
    let first = tokio::spawn(estimate("ann"));
    let survey = dashboard.claimed().await;
    let mut waiting = FuturesUnordered::new();
    for _ in 0..4 {
        waiting.push(estimate("ann"));
    }
    let refused = waiting.next().await.unwrap().unwrap();
    assert_eq!(refused.status(), 429);
    let page = refused.text().await.unwrap();
    assert!(page.contains("repeat the request"), "{page}");

    // The next survey is that of the other caller, because those of the first one wait.
    let other = tokio::spawn(estimate("bob"));
    let of_other = dashboard.claimed().await;
    dashboard.fail(&of_other).await;
    ended(other).await;
    dashboard.fail(&survey).await;
    ended(first).await;
    for _ in 0..3 {
        let survey = async {
            let survey = dashboard.claimed().await;
            dashboard.fail(&survey).await;
        };
        let (answer, ()) = tokio::join!(waiting.next(), survey);
        assert_eq!(answer.unwrap().unwrap().status(), 200);
    }
}
