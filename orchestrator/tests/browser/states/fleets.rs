//! Fleets without migrations: empty, with maps of each strategy, with agents that speak and that are lost; and the
//! pages that ask and refuse.

use super::Shown;
use super::migrations::put;
use crate::fixture::probes::{hidden_inventory, inventory};
use crate::fixture::{Dashboard, list_map};
use chrono::TimeDelta;
use orchestrator::access::{Role, Secret};
use orchestrator::store::{
    AccessStore, AgentProcess, AgentStore, AuditRecord, ImbalanceSample, ImbalanceStore, NewShard,
    ShardStore, TokenRecord,
};
use plans::id::MapVersion;
use plans::state::migration::MigrationState;
use serde_json::json;

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
        Shown::new("page: reference", Dashboard::empty().await, &["/api/docs"])
            .says(&["/api/v1/shards"]),
        Shown::new("page: doctor", Dashboard::with_map().await, &["/doctor"])
            .says(&["they change nothing"]),
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
        .says(&["Cancel"]),
    );
    let moves = Dashboard::with_operation().await;
    let confirmation = &["/operations/m1/abort"];
    all.push(Shown::new("page: confirmation", moves, confirmation).says(&["Cancel"]));
    all.push(reports().await);
    for (name, ago) in [
        ("connected", TimeDelta::hours(-1)),
        ("silent", TimeDelta::hours(1)),
    ] {
        let dashboard = with_agent(ago).await;
        let paths = &["/", "/agents"];
        all.push(Shown::new(format!("agent: {name}"), dashboard, paths).says(&[name]));
    }
    all.extend(lists().await);
    all.extend(probed_fleets().await);
    all
}

/// The evidence of an operation and of one of its moves, which are pages of the API.
async fn reports() -> Shown {
    let dashboard = Dashboard::with_operation().await;
    dashboard
        .edit("m1x1", |snapshot| put(snapshot, MigrationState::Completed))
        .await;
    let pages = &[
        "/api/v1/operations/m1/report?format=html",
        "/api/v1/migrations/m1x1/report?format=html",
    ];
    Shown::new("page: report", dashboard, pages).says(&["Report of"])
}

/// Fleets that an agent has probed: measured, with moves, with a shard out of reach, and a large one.
async fn probed_fleets() -> Vec<Shown> {
    let measured = probed(&["a", "b", "c"]).await;
    add_imbalance(&measured).await;
    let hidden = Dashboard::patient().await.having(|map| map).await;
    let hidden = hidden.probed(|name, probe| Some(hidden_inventory(name, 10, probe)));
    let pages = &["/", "/?by=rows", "/shards", "/shards/a"];
    let moving = probed(&["a", "b", "c"]).await.having_operation().await;
    moving
        .edit("m1x1", |snapshot| put(snapshot, MigrationState::Running))
        .await;
    let held = probed(&["a", "b", "c"]).await.having_operation().await;
    held.edit("m1x1", |snapshot| put(snapshot, MigrationState::Waiting))
        .await;
    held.edit("m1x2", |snapshot| {
        put(snapshot, MigrationState::RolledBack);
        snapshot.migration.map_version_back = Some(MapVersion(3));
        snapshot.migration.finished_at = None;
    })
    .await;
    held.edit("m1x3", |snapshot| put(snapshot, MigrationState::Flipped))
        .await;
    let leader = probed(&["a", "b", "c"]).await;
    let follower = leader.follower().await;
    let unreachable = probed(&["a", "b"]).await;
    let lost = &["/", "/shards?state=unreachable", "/shards/c"];
    let large = Dashboard::with_map().await;
    for number in 0..120 {
        let name = format!("shard-with-a-long-name-{number:03}");
        let shard = NewShard::plain(name.as_str().into(), "host=x".to_owned());
        large.store.add_shard(&shard).await.unwrap();
    }
    vec![
        Shown::new("fleet: measured", measured, pages).says(&["GiB"]),
        Shown::new("fleet: not readable", hidden.await, &["/shards/a"])
            .says(&["not readable: needs pg_read_all_stats"]),
        Shown::new("fleet: moving", moving, &["/", "/shards", "/shards/a"]).says(&["GiB"]),
        Shown::new("fleet: in hold", held, &["/"]).says(&["in hold · c owns the keys"]),
        Shown::new("fleet: follower", follower, &["/", "/shards", "/shards/a"])
            .says(&["This controller does not probe shards"]),
        Shown::new("fleet: unreachable", unreachable, lost).says(&["unreachable"]),
        Shown::new("fleet: large", large, &["/", "/shards"]).says(&["not measured"]),
        Shown::new("shards: none", Dashboard::empty().await, &["/shards"])
            .says(&["No shard is registered"]),
        Shown::new(
            "shards: none like that",
            Dashboard::with_map().await,
            &["/shards?q=zzz"],
        )
        .says(&["No shard matches"]),
        Shown::new(
            "shards: not probed",
            Dashboard::with_map().await,
            &["/shards/a"],
        )
        .says(&["No agent has probed the shard yet"]),
        Shown::new("maps: none", without_map().await, &["/maps"]).says(&["There is no map yet"]),
        Shown::new("maps: no shard", Dashboard::empty().await, &["/maps"])
            .says(&["There is no map, and no shard"]),
        Shown::new("maps: some", Dashboard::with(list_map).await, &["/maps"]).says(&["151 keys"]),
    ]
}

/// A day of imbalance in which nothing was measured for two hours.
async fn add_imbalance(dashboard: &Dashboard) {
    let now = ImbalanceSample::interval_of(chrono::Utc::now());
    for ago in (0..280).rev().filter(|ago| !(60..84).contains(ago)) {
        let wave = f64::from(ago) / 30.0;
        let sample = ImbalanceSample {
            at: now - TimeDelta::minutes(5 * i64::from(ago)),
            factors: [("size".to_owned(), 1.35 + 0.25 * wave.sin())].into(),
        };
        dashboard.store.add_imbalance(&sample).await.unwrap();
    }
}

/// Shards `a` to `c`, of which `reached` are measured.
async fn probed(reached: &[&str]) -> Dashboard {
    let dashboard = Dashboard::patient().await.having(|map| map).await;
    let answer = |name: &str, probe| reached.contains(&name).then(|| inventory(name, 10, probe));
    dashboard.probed(answer).await
}

/// The pages that list, with something on them and with nothing.
async fn lists() -> Vec<Shown> {
    let empty = |name, paths, words| async move {
        Shown::new(name, Dashboard::empty().await, paths).says(&[words])
    };
    let trail = Dashboard::with_map().await;
    let line = AuditRecord {
        at: chrono::Utc::now(),
        actor: "ada".to_owned(),
        action: "order".to_owned(),
        object: format!("POST /api/v1/migrations/{}/approve", "m".repeat(63)),
        data: json!({"role": "approver", "from": "2001:db8::ff00:42:8329", "why": "all checks are green", "outcome": 200}),
    };
    trail.store.add_audit(&line).await.unwrap();
    let tokens = Dashboard::empty().await;
    for (name, role, ended) in [("ada", Role::Admin, false), ("agent-1", Role::Agent, true)] {
        let token = token(name, role);
        tokens.store.add_token(&token).await.unwrap();
        if ended {
            let now = chrono::Utc::now();
            tokens.store.revoke_token(name, "ada", now).await.unwrap();
        }
    }
    let running = Dashboard::with_operation().await;
    running
        .edit("m1x1", |snapshot| put(snapshot, MigrationState::Running))
        .await;
    let found = "/migrations?state=open&q=tenants";
    vec![
        empty(
            "migrations: none",
            &["/migrations"],
            "There is no migration yet",
        )
        .await,
        Shown::new("migrations: found", running, &["/migrations", found]).says(&["running"]),
        empty(
            "migrations: none like that",
            &["/migrations?q=zzz"],
            "No migration matches",
        )
        .await,
        empty("agents: none", &["/agents"], "No agent has connected yet").await,
        empty("activity: none", &["/activity"], "No command was given yet").await,
        empty(
            "activity: none like that",
            &["/activity?q=zzz"],
            "No line matches",
        )
        .await,
        Shown::new("activity: lines", trail, &["/activity"]).says(&["all checks are green"]),
        empty("tokens: none", &["/tokens"], "There is no token yet").await,
        Shown::new("tokens: some", tokens, &["/tokens", "/tokens/ada/revoke"]).says(&["Revoke"]),
    ]
}

fn token(name: &str, role: Role) -> TokenRecord {
    let labels = [("region".to_owned(), "eu".to_owned())];
    TokenRecord {
        id: name.to_owned(),
        name: name.to_owned(),
        role,
        labels: labels.into_iter().filter(|_| role == Role::Agent).collect(),
        digest: Secret::random().digest(),
        created_at: chrono::Utc::now(),
        created_by: "admin".to_owned(),
        ends_at: None,
        revoked_at: None,
        revoked_by: None,
    }
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
        .note_agent(&AgentProcess::of(&name, &instance), at, None)
        .await
        .unwrap();
    dashboard
}
