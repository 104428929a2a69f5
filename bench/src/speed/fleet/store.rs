//! Fills a control store with shards, a list map and migrations that have not started.

use super::Size;
use anyhow::Context;
use chrono::Utc;
use orchestrator::store::pg::PgStore;
use orchestrator::store::{
    LeaderCandidate, LeaderStore, MapStore, MigrationStore, NewOperation, NewShard, ShardStore,
    Store,
};
use plans::graph::{StepGraph, StepNode};
use plans::id::{MapName, MapVersion, MigrationId, ShardName, StepId};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::plan::{API_VERSION, Estimate, Move, Plan, PlannedMove, TargetState};
use plans::request::Mode;
use plans::shard_map::{MapSettings, Mapping, MappingState, Sequences, ShardMap, Strategy};
use plans::step::FORWARD;
use std::time::Duration;

/// The name of the map.
pub(super) const MAP: &str = "tenants";
/// The number of keys that each migration moves.
const MOVING: u32 = 10;
const LEASE: Duration = Duration::from_secs(3600);

/// Fills the empty store at `dsn`. Afterwards the store has no leader.
pub(super) async fn fill(dsn: &str, size: Size) -> anyhow::Result<()> {
    let store = PgStore::open(dsn).await?;
    let candidate = LeaderCandidate {
        holder: "bench".into(),
        url: "http://bench".to_owned(),
        lease: LEASE,
    };
    store.campaign(&candidate).await?;
    for number in 0..size.shards {
        let dsn = format!("host=127.0.0.1 port=1 dbname=s{number}");
        store
            .add_shard(&NewShard::plain(shard(number), dsn))
            .await?;
    }
    let map = map(store.incarnation(), size);
    store.create_map(&map, "bench").await?;
    for number in 0..size.migrations {
        let id = MigrationId(format!("m{number:09}"));
        store.submit(&operation(id, &map, number, size)?).await?;
    }
    store.resign().await?;
    Ok(())
}

fn shard(number: u32) -> ShardName {
    ShardName(format!("s{number:05}"))
}

/// Returns the keys of shard number `owner`. The keys are dealt to the shards one by one (round robin).
fn keys(owner: u32, size: Size) -> impl Iterator<Item = Key> {
    let all = owner..size.mappings;
    let step = usize::try_from(size.shards).unwrap_or(usize::MAX);
    all.step_by(step).map(|key| Key::Int(i64::from(key)))
}

fn map(incarnation: &str, size: Size) -> ShardMap {
    let mapping = |owner| Mapping {
        keys: KeySet::list(keys(owner, size)),
        shard: shard(owner),
        state: MappingState::Active,
    };
    ShardMap {
        name: MapName::from(MAP),
        strategy: Strategy::List,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: incarnation.to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: (0..size.shards).map(mapping).collect(),
    }
}

/// Returns an operation with one move: some keys of a shard move to the next shard. The sources of the operations are
/// spread evenly over the shards.
fn operation(
    id: MigrationId,
    map: &ShardMap,
    number: u32,
    size: Size,
) -> anyhow::Result<NewOperation> {
    let source = number * (size.shards / size.migrations);
    let steps = FORWARD.map(|kind| StepId::from(kind.name()));
    let nodes = FORWARD.iter().enumerate().map(|(index, kind)| StepNode {
        id: steps[index].clone(),
        kind: *kind,
        after: index
            .checked_sub(1)
            .map(|i| steps[i].clone())
            .into_iter()
            .collect(),
    });
    let moving = keys(source, size).take(usize::try_from(MOVING)?);
    let planned = PlannedMove {
        id: "m1".to_owned(),
        after: Vec::new(),
        why: "split".to_owned(),
        mode: Mode::Online,
        target: TargetState::Live,
        drop_tables: false,
        schema_fingerprint: "none".to_owned(),
        moving: Move {
            source: shard(source),
            target: shard(source + 1),
            keys: KeySet::list(moving),
            tables: Vec::new(),
        },
        graph: StepGraph::new(nodes.collect()).context("the graph of a move")?,
        estimate: Estimate::default(),
    };
    let plan = Plan {
        api_version: API_VERSION.to_owned(),
        operation: "split".to_owned(),
        map: map.name.clone(),
        map_version: map.version,
        incarnation: map.incarnation.clone(),
        strategy: map.strategy,
        key: map.key.clone(),
        sequences: Sequences::Stride,
        ignore: Vec::new(),
        options: plans::request::Options::default(),
        moves: vec![planned],
        estimate: Estimate::default(),
        notes: Vec::new(),
        findings: Vec::new(),
        trials: Vec::new(),
        hash: String::new(),
    };
    Ok(NewOperation {
        id,
        map_version: plan.map_version,
        plan: plan.with_hash(),
        by: "bench".to_owned(),
        at: Utc::now(),
        queue: false,
        override_reason: None,
    })
}
