//! Every page of a large fleet: its time, its bytes and its elements.

use crate::fixture::probes::inventory;
use crate::fixture::{Served, change, mapping, plan, planned, range_map};
use crate::state;
use cluster::{Cluster, Options};
use orchestrator::store::memory::MemoryStore;
use orchestrator::store::pg::PgStore;
use orchestrator::store::{
    AgentProcess, AuditRecord, ImbalanceSample, NewOperation, NewShard, Store,
};
use plans::id::{AgentName, InstanceId, MapName, MapVersion, MigrationId, ShardName};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::plan::Plan;
use plans::shard_map::ShardMap;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most bytes and elements of a page.
const MAX_BYTES: usize = 400_000;
const MAX_ELEMENTS: usize = 10_000;
/// The moves of the operation `many`.
const MOVES: i64 = 100;

/// Every page that is read by GET, on a fleet that [`fill`] has filled.
const PAGES: [&str; 37] = [
    "/",
    "/?by=writes",
    "/shards",
    "/shards?after=500",
    "/shards?by=size&q=s000",
    "/shards/s00007",
    "/maps",
    "/maps/tenants",
    "/maps/big",
    "/maps/big?by=rows",
    "/maps/big?shard=s00007",
    "/maps/big?part=0-99",
    "/maps/big?piece=500",
    "/maps/big?version=1",
    "/maps/big/diff",
    "/maps/big/diff?from=1&to=2",
    "/migrations",
    "/migrations?state=open",
    "/migrations?q=s00007",
    "/migrations/m1",
    "/migrations/m1/switch",
    "/migrations/m1/pause",
    "/migrations/m1/abort",
    "/migrations/new",
    "/migrations/new?example=split",
    "/migrations/new?example=rebalance",
    "/migrations/new?operation=split&map=big&at=505&side=upper&target=s00009",
    "/operations/many",
    "/operations/many/pause",
    "/agents",
    "/doctor",
    "/activity",
    "/activity?kind=migrations&who=ada",
    "/activity?q=m17",
    "/tokens",
    "/api/docs",
    "/sign-in",
];

/// What a fleet has.
struct FleetSize {
    shards: i64,
    migrations: i64,
    mappings: i64,
    agents: i64,
}

fn shard(number: i64) -> ShardName {
    ShardName(format!("s{number:05}"))
}

/// Ranges of ten keys, each on another shard than the one before.
fn big_map(incarnation: &str, size: &FleetSize) -> ShardMap {
    let range = |number: i64| {
        let keys = KeySet::range(
            Some(Key::Int(number * 10)),
            Some(Key::Int(number * 10 + 10)),
        );
        mapping(keys, shard(number * 7_919 % size.shards).as_str())
    };
    ShardMap {
        name: MapName::from("big"),
        mappings: (0..size.mappings).map(range).collect(),
        ..range_map(incarnation)
    }
}

/// Registers shards, agents and maps, and submits migrations, half of which run.
async fn fill(store: &dyn Store, size: &FleetSize) {
    for number in 0..size.shards {
        let new = NewShard::plain(shard(number), "host=x".to_owned());
        store.add_shard(&new).await.unwrap();
    }
    for number in 0..size.agents {
        let (name, instance) = (format!("agent-{number}"), format!("i{number}"));
        let process = AgentProcess::of(
            &AgentName::from(name.as_str()),
            &InstanceId::from(instance.as_str()),
        );
        let noted = store.note_agent(&process, chrono::Utc::now(), None).await;
        noted.unwrap();
    }
    let tenants = ShardMap {
        mappings: vec![mapping(KeySet::range(None, None), shard(0).as_str())],
        ..range_map(store.incarnation())
    };
    store.create_map(&tenants, "eve").await.unwrap();
    let big = big_map(store.incarnation(), size);
    store.create_map(&big, "eve").await.unwrap();
    let mut second = ShardMap {
        version: MapVersion(2),
        ..big
    };
    second.mappings[1].shard = shard(1);
    store.put_version(&second, "eve").await.unwrap();
    submit_all(store, size).await;
    for ago in 0..200 {
        let sample = ImbalanceSample {
            at: ImbalanceSample::interval_of(chrono::Utc::now())
                - chrono::TimeDelta::minutes(5 * (199 - ago)),
            factors: [("size".to_owned(), 1.2 + (ago % 7) as f64 / 10.0)].into(),
        };
        store.add_imbalance(&sample).await.unwrap();
    }
}

async fn submit_all(store: &dyn Store, size: &FleetSize) {
    let template = plan(store.incarnation());
    let moved = |id: &str, number: i64| {
        let mut moved = planned(id, Some(number), Some(number + 1));
        moved.moving.source = shard(0);
        moved.moving.target = shard(1 + number % (size.shards - 1));
        moved
    };
    for number in 0..size.migrations {
        let id = format!("m{}", number + 1);
        let moves = vec![moved("m1", number)];
        let plan = Plan {
            moves,
            ..template.clone()
        };
        submit(store, &id, plan).await;
        if number % 2 == 0 {
            let running = state(State::Running, Ownership::Ready);
            change(store, &id, Vec::new(), running).await;
        }
        let record = AuditRecord {
            at: chrono::Utc::now(),
            actor: "ada".to_owned(),
            action: "order".to_owned(),
            object: format!("POST /api/v1/migrations/{id}/pause"),
            data: json!({"outcome": 200}),
        };
        store.add_audit(&record).await.unwrap();
    }
    let moves = (0..MOVES).map(|number| moved(&format!("x{number}"), size.migrations + number));
    let plan = Plan {
        moves: moves.collect(),
        ..template
    };
    submit(store, "many", plan).await;
}

async fn submit(store: &dyn Store, id: &str, plan: Plan) {
    let new = NewOperation {
        id: MigrationId::from(id),
        map_version: plan.map_version,
        plan: plan.with_hash(),
        by: "eve".to_owned(),
        at: chrono::Utc::now(),
        queue: false,
        override_reason: None,
    };
    store.submit(&new).await.unwrap();
}

/// A page, the median time of five requests, its bytes and its elements.
struct MeasuredPage {
    path: &'static str,
    took: Duration,
    bytes: usize,
    elements: usize,
}

async fn measured(served: &Served) -> Vec<MeasuredPage> {
    let mut pages = Vec::new();
    for path in PAGES {
        let (mut took, mut page) = (Vec::new(), String::new());
        for _ in 0..5 {
            let begun = Instant::now();
            page = read(served, path).await;
            took.push(begun.elapsed());
        }
        took.sort();
        pages.push(MeasuredPage {
            path,
            took: took[2],
            bytes: page.len(),
            elements: elements(&page),
        });
    }
    pages
}

async fn read(served: &Served, path: &str) -> String {
    let response = served.get(path).await;
    assert_eq!(response.status(), 200, "{path}");
    response.text().await.unwrap()
}

/// The number of opening tags.
fn elements(page: &str) -> usize {
    let opens = |pair: &&[u8]| pair[0] == b'<' && pair[1].is_ascii_alphabetic();
    page.as_bytes().windows(2).filter(opens).count()
}

fn check_bounds(pages: &[MeasuredPage]) {
    for MeasuredPage {
        path,
        bytes,
        elements,
        ..
    } in pages
    {
        assert!(*bytes < MAX_BYTES, "{path} has {bytes} bytes");
        assert!(*elements < MAX_ELEMENTS, "{path} has {elements} elements");
    }
}

#[tokio::test]
async fn pages_of_a_large_fleet_fold_their_lists() {
    let store = Arc::new(MemoryStore::new());
    let served = Served::over(store.clone(), Duration::from_millis(20)).await;
    let size = FleetSize {
        shards: 1_000,
        migrations: 60,
        mappings: 20_000,
        agents: 300,
    };
    fill(&*store, &size).await;
    check_bounds(&measured(&served).await);
    let page = read(&served, "/shards").await;
    assert!(page.contains("1 to 100 of 1\u{202f}000"), "{page}");
    assert!(page.contains("href=\"/shards?after=100\""), "{page}");
    let last = read(&served, "/shards?after=900").await;
    assert!(last.contains("901 to 1\u{202f}000"), "{last}");
    let overview = read(&served, "/").await;
    assert!(overview.contains("976 more shards"), "{overview}");
}

/// A PostgreSQL with 10,000 shards, and a server that waits so long for agents.
async fn largest(inspection_wait: Duration) -> (Cluster, Served, FleetSize) {
    let launch = || Cluster::launch(Options::temporary("large").setting("fsync", "off")).unwrap();
    let cluster = tokio::task::spawn_blocking(launch).await.unwrap();
    let dsn = cluster.dsn("postgres", "postgres");
    let store = Arc::new(PgStore::open(&dsn).await.unwrap());
    let served = Served::over(store.clone(), inspection_wait).await;
    let size = FleetSize {
        shards: 10_000,
        migrations: 1_000,
        mappings: 1_000_000,
        agents: 500,
    };
    let begun = Instant::now();
    fill(&*store, &size).await;
    println!("filled in {:.0?}", begun.elapsed());
    (cluster, served, size)
}

/// By default each shard is probed every 5 s. The agent here executes one task at a time.
#[tokio::test]
#[ignore = "measures a release build; it takes minutes"]
async fn time_of_the_probes_of_a_large_fleet() {
    let (_cluster, served, size) = largest(Duration::from_secs(600)).await;
    let shards = usize::try_from(size.shards).unwrap();
    for round in 1..=2 {
        let begun = Instant::now();
        let probe = |shard: &str| Some(inventory(shard, 1, round));
        served.probe_once(shards, probe).await;
        println!("{shards} shards probed in {:.1?}", begun.elapsed());
    }
}

/// The goal is 200 ms: `cargo test --release -p orchestrator --test dashboard -- --ignored --nocapture large_fleet`.
#[tokio::test]
#[ignore = "measures a release build; it takes minutes"]
async fn times_of_the_pages_of_a_large_fleet() {
    let (_cluster, served, _) = largest(Duration::from_millis(20)).await;
    let pages = measured(&served).await;
    println!("| page | ms | KiB | elements |\n| --- | --- | --- | --- |");
    for page in &pages {
        let ms = page.took.as_secs_f64() * 1e3;
        let kib = page.bytes as f64 / 1024.0;
        println!(
            "| `{}` | {ms:.1} | {kib:.0} | {} |",
            page.path, page.elements
        );
    }
    check_bounds(&pages);
}
