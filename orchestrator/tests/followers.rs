//! What controllers that follow answer: they read themselves, and send the rest to the one that leads.

use crate::controllers::Pair;
use crate::fixture::program;
use plans::names::Direction;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn followers_read_and_send_the_rest_to_the_leader() {
    let pair = Pair::at("copy", "").await;
    let (leader, follower) = (&pair.leader, &pair.follower);
    let map = follower.json("/api/v1/maps/tenants").await;
    assert_eq!(map["version"], 1);
    let shard = json!({"name": "c", "dsn": "host=x"});
    let sent_on = follower.post("/api/v1/shards?x=1", &shard).await;
    assert_eq!(sent_on.status(), 307);
    let place = sent_on.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(place, format!("{}/api/v1/shards?x=1", leader.url));
    let problem: Value = sent_on.json().await.unwrap();
    assert_eq!(problem["code"], "controller.follows");
    assert!(problem["hint"].as_str().unwrap().contains(&leader.url));
    // The command line follows, and asks the next one where one does not answer.
    let unanswered = format!("http://127.0.0.1:1,{}", follower.url);
    for (urls, capacity) in [(follower.url.clone(), 50), (unanswered, 150)] {
        let set = capacity.to_string();
        let line = ["shard", "set", "a", "--capacity", &set];
        let done = program(&urls).args(line).output().await.unwrap();
        assert!(done.status.success(), "{done:?}");
        let shards = follower.json("/api/v1/shards").await;
        assert_eq!(shards[0]["capacity"], capacity, "{shards}");
    }
    let page = follower.get("/").await.unwrap().text().await.unwrap();
    assert!(
        page.contains(&format!("follows <a href=\"{}\"", leader.url)),
        "{page}"
    );
    let page = leader.get("/").await.unwrap().text().await.unwrap();
    let address = leader.url.trim_start_matches("http://");
    assert!(page.contains(&format!(">leader {address}")), "{page}");
    let figures = leader.get("/metrics").await.unwrap().text().await.unwrap();
    assert!(
        figures.contains("\nshardwright_controller_leads{} 1.0\n"),
        "{figures}"
    );
    assert!(figures.contains("shardwright_fleet_findings{"));
    let figures = follower.get("/metrics").await.unwrap();
    let figures = figures.text().await.unwrap();
    assert!(figures.contains("\nshardwright_controller_leads{} 0.0\n"));
    assert!(!figures.contains("shardwright_fleet_findings{"));
    // An order from a follower's page is carried out, and the browser stays there.
    let id = &pair.dispatch.migration;
    let ordered = follower.form(&format!("/migrations/{id}/pause"), "").await;
    assert_eq!(ordered.status(), 303);
    assert_eq!(ordered.headers()["location"], format!("/migrations/{id}"));
    let view = follower.json(&format!("/api/v1/migrations/{id}")).await;
    assert_eq!(view["state"], "paused");
}

#[tokio::test]
async fn a_follower_tells_of_a_flip() {
    let pair = Pair::at("cutover", "").await;
    let feed = pair.follower.get("/api/v1/maps/tenants/changes").await;
    let mut feed = feed.unwrap();
    let heard = async {
        let mut text = String::new();
        while !text.contains("\"version\":2") {
            text.push_str(&String::from_utf8_lossy(
                &feed.chunk().await.unwrap().unwrap(),
            ));
        }
    };
    let flip = async {
        assert_eq!(pair.agent.flip(&pair.dispatch, Direction::Forward).await, 2);
    };
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, async { tokio::join!(flip, heard) })
        .await
        .unwrap();
}
