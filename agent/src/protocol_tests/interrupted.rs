//! Steps that were interrupted after they removed the migration's register continue to their end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plans::fleet::ShardRef;
use plans::id::{MapName, MapVersion, StepId};
use plans::identity::DatabaseIdentity;
use plans::key::KeyType;
use plans::request::{Mode, Options};
use plans::shard_map::Sequences;
use plans::step::StepKind;
use plans::step::preflight::Preflighted;
use plans::wire::Dispatch;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, ITEM, VERSION, system};
use super::shard::Shard as Database;
use super::spool::Folder;
use crate::controller::Controller;
use crate::migration::context::StepContext;
use crate::migration::session::MigrationSession;
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{epoch, guard};
use crate::steps;
use controller_client::ControllerClient;

const CLOSED: i64 = i64::MAX;

/// Returns `step` of the bench's migration, dispatched again. These steps send nothing to the controller.
pub(super) fn again(bench: &Bench, step: StepKind) -> StepContext {
    let shard = |name: &str, number: i32, database: &Database| ShardRef {
        name: name.into(),
        number,
        dsn: database.dsn_text(),
        identity: None,
    };
    let dispatch = Dispatch {
        migration: bench.token.migration.clone(),
        operation: None,
        epoch: bench.token.epoch,
        secret: None,
        step: Some((StepId::from(step.name()), step)),
        attempt: 2,
        stream: None,
        map: MapName::from("m"),
        incarnation: String::new(),
        map_version: MapVersion(VERSION),
        source: shard("source", 1, &bench.source),
        target: shard("target", 2, &bench.target),
        surplus_keys: None,
        keys: bench.keys.clone(),
        key: vec![KeyType::Bigint],
        tables: bench.tables.to_vec(),
        schema_fingerprint: String::new(),
        mode: Mode::Online,
        sequences: Sequences::Stride,
        drop_tables: false,
        source_keeps_keys: true,
        reference_tables: BTreeSet::new(),
        ignored_tables: BTreeSet::new(),
        options: Options::default(),
        limits: None,
        outputs: BTreeMap::new(),
        verify: None,
    };
    let session = Arc::new(MigrationSession::new(
        dispatch.migration.clone(),
        dispatch.epoch,
        &std::env::temp_dir(),
    ));
    let caller = ControllerClient::new(&controller_client::Identity::default()).unwrap();
    let nobody = Controller::new("http://127.0.0.1:1", caller);
    StepContext::new(dispatch, session, nobody, CancellationToken::new())
}

/// As [`again`], after a preflight, with a folder for the spool.
pub(super) async fn after_preflight(bench: &Bench, step: StepKind, spools: &Folder) -> StepContext {
    let mut context = again(bench, step);
    context.session = Arc::new(MigrationSession::new(
        bench.token.migration.clone(),
        bench.token.epoch,
        &spools.0,
    ));
    let known = Preflighted {
        source: identity(&bench.source).await,
        target: identity(&bench.target).await,
        ..Preflighted::default()
    };
    context.dispatch = Arc::new(Dispatch {
        outputs: BTreeMap::from([(StepId::from(StepKind::Preflight.name()), json!(known))]),
        ..(*context.dispatch).clone()
    });
    context
}

async fn identity(database: &Database) -> DatabaseIdentity {
    let system = system(database).await;
    DatabaseIdentity {
        system: system.system_id.to_string(),
        timeline: i32::try_from(system.timeline).expect("a timeline"),
        ..DatabaseIdentity::default()
    }
}

#[tokio::test]
async fn a_drop_that_had_handed_its_keys_over_ends() {
    let bench = Bench::new("handedover", ITEM).await;
    bench.guard(&bench.source, CLOSED).await;
    let ours = bench.ours(&bench.source).await;
    let map = MapName::from("m");
    let away = ReleasedKeys {
        token: &bench.token,
        map: &map,
        keys: &bench.keys,
        tables: &bench.tables,
        shard: "source",
    };
    away.release(&ours, MapVersion(VERSION + 1))
        .await
        .expect("handed over");
    guard::drop_all(&ours, &bench.token).await.expect("dropped");
    steps::run(&again(&bench, StepKind::DropOld), StepKind::DropOld)
        .await
        .expect("it ends");
    let left = epoch::is_enrolled(&ours, &bench.token).await.expect("read");
    assert!(!left, "the migration is forgotten");
}

#[tokio::test]
async fn taking_back_goes_on_after_the_targets_guards_are_gone() {
    let bench = Bench::new("guardsgone", ITEM).await;
    let there = bench.ours(&bench.target).await;
    there
        .batch_execute("insert into public.item values (1, 1, 'live'); update shardwright.move set loaded = true")
        .await
        .expect("a live target whose copied rows are deleted");
    steps::run(&again(&bench, StepKind::DropNew), StepKind::DropNew)
        .await
        .expect("it ends");
    let left = epoch::is_enrolled(&there, &bench.token)
        .await
        .expect("read");
    assert!(!left, "the migration is forgotten");
    let row = there
        .query_one("select count(*) from public.item", &[])
        .await
        .expect("read");
    assert_eq!(
        row.get::<_, i64>(0),
        1,
        "rows that are not the migration's stay"
    );
}
