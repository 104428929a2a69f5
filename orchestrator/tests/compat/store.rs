//! Stores of releases: brought forward, shown, and their migrations go on, by agents of the newest release.

use super::old_agent::OldAgent;
use super::recorded::{Release, newest, releases};
use crate::fixture::{Server, quick, said, until};
use plans::id::MigrationId;
use serde_json::Value;

/// The present program over the store of a release.
pub(super) async fn brought_forward(release: &Release) -> Server {
    let server = Server::on(release.restored().await, quick()).await;
    until("leading", || async {
        let health = server.json("/api/v1/health").await;
        (health["role"] == "leader").then_some(())
    })
    .await;
    server
}

async fn entries(server: &Server, path: &str) -> Vec<Value> {
    let answer = server.get(path).await;
    assert_eq!(answer.status(), 200, "{path}");
    answer.json::<Vec<Value>>().await.unwrap()
}

/// Everything that there is to see of it.
async fn shown(server: &Server, name: &str, id: &str) {
    let path = format!("/api/v1/migrations/{id}");
    let view = server.json(&path).await;
    let state = if name == "offline" { "completed" } else { name };
    assert_eq!(view["state"], state, "{name}: {view}");
    assert!(view["steps"].as_array().unwrap().len() > 8, "{view}");
    for part in ["events", "cleanup"] {
        let there = entries(server, &format!("{path}/{part}")).await;
        assert!(!there.is_empty(), "{name}: no {part}");
    }
    let report = format!("/api/v1/operations/{id}/report");
    assert_eq!(server.get(&report).await.status(), 200, "{name}");
    assert!(said(server, &["show", id]).await.contains(state), "{name}");
}

#[tokio::test]
async fn every_store_is_brought_forward_and_shown() {
    for release in releases() {
        let server = brought_forward(&release).await;
        let migrations = release.migrations();
        let listed = entries(&server, "/api/v1/migrations").await;
        assert_eq!(listed.len(), migrations.len());
        for (name, id) in &migrations {
            shown(&server, name, id).await;
        }
        let named = |all: &[Value], name: &str| all.iter().any(|one| one["name"] == name);
        assert!(named(&entries(&server, "/api/v1/agents").await, "a1"));
        assert!(named(&entries(&server, "/api/v1/tokens").await, "reader"));
        assert!(named(&entries(&server, "/api/v1/shards").await, "shard-b"));
        assert!(entries(&server, "/api/v1/audit").await.len() > 10);
        assert!(
            entries(&server, "/api/v1/maps/tenants/versions")
                .await
                .len()
                > 3
        );
        let listed = said(&server, &["list"]).await;
        assert!(
            migrations.values().all(|id| listed.contains(id)),
            "{listed}"
        );
    }
}

#[tokio::test]
async fn what_waited_and_what_was_under_way_goes_on_by_old_agents() {
    for release in releases() {
        let server = brought_forward(&release).await;
        let agent = OldAgent::new(&server, &newest());
        let migrations = release.migrations();
        let id = |name: &str| MigrationId(migrations[name].clone());
        let (waiting, running) = (id("waiting"), id("running"));
        let before = server.map_version().await;
        assert_eq!(server.command(&waiting, "approve").await.status(), 200);
        agent.work_until(&waiting, "completed").await;
        assert_eq!(server.map_version().await, before + 1);
        let view = agent.work_until(&running, "waiting").await;
        assert_eq!(view["ownership"], "ready", "{view}");
        assert_eq!(server.command(&running, "approve").await.status(), 200);
        agent.work_until(&running, "completed").await;
        assert_eq!(server.map_version().await, before + 2);
    }
}
