//! Fleets without migrations: empty, with maps of each strategy, with agents that speak and that are lost; and the
//! pages that ask and refuse.

use super::Shown;
use super::migrations::put;
use crate::fixture::{Dashboard, hash_map, list_map};
use chrono::TimeDelta;
use orchestrator::store::Store;
use plans::state::migration::MigrationState;

pub(super) async fn all() -> Vec<Shown> {
    let commands = [
        "shardwright shard add",
        "shardwright-agent",
        "Nothing waits for you",
    ];
    let mut all = vec![
        Shown::new("fleet: empty", Dashboard::empty().await, &["/"]).says(&commands),
        Shown::new("fleet: no map", without_map().await, &["/"]).says(&["shardwright map create"]),
        Shown::new("fleet: no migration", Dashboard::with_map().await, &["/"])
            .says(&["There is no migration yet"]),
        Shown::new(
            "map: hash",
            Dashboard::with(hash_map).await,
            &["/maps/tenants"],
        )
        .says(&["64 virtual shards"]),
        Shown::new(
            "map: list",
            Dashboard::with(list_map).await,
            &["/maps/tenants"],
        )
        .says(&["151 keys of text"]),
        Shown::new(
            "map: range",
            Dashboard::with_map().await,
            &["/maps/tenants", "/maps/tenants/diff"],
        )
        .says(&["tenants"]),
        Shown::new(
            "page: request",
            Dashboard::with_map().await,
            &["/migrations/new", "/migrations/new?example=split"],
        )
        .says(&["Make the plan"]),
        Shown::new("page: reference", Dashboard::empty().await, &["/api/docs"])
            .says(&["/api/v1/shards"]),
        Shown::new("page: sign-in", Dashboard::empty().await, &["/sign-in"]).says(&["Your token"]),
    ];
    all.push(Shown {
        refused: Some(404),
        ..Shown::new(
            "page: nothing there",
            Dashboard::empty().await,
            &["/migrations/m9"],
        )
    });
    let waiting = Dashboard::with_migration(|snapshot| put(snapshot, MigrationState::Waiting));
    all.push(
        Shown::new(
            "page: confirmation",
            waiting.await,
            &["/migrations/m1/abort"],
        )
        .says(&["Leave it"]),
    );
    for (name, ago) in [
        ("connected", TimeDelta::hours(-1)),
        ("silent", TimeDelta::hours(1)),
    ] {
        let dashboard = with_agent(ago).await;
        all.push(Shown::new(format!("agent: {name}"), dashboard, &["/"]).says(&[name]));
    }
    all
}

async fn without_map() -> Dashboard {
    let dashboard = Dashboard::empty().await;
    let shard = orchestrator::store::NewShard::plain("a".into(), "host=x".to_owned());
    dashboard.store.add_shard(&shard).await.unwrap();
    dashboard
}

/// A migration that runs, and its agent, which spoke so long ago.
async fn with_agent(ago: TimeDelta) -> Dashboard {
    let dashboard =
        Dashboard::with_migration(|snapshot| put(snapshot, MigrationState::Running)).await;
    let (name, instance) = ("agent-1".into(), "i1".into());
    let at = chrono::Utc::now() - ago;
    dashboard
        .store
        .see_agent(&name, &instance, at)
        .await
        .unwrap();
    dashboard
}
