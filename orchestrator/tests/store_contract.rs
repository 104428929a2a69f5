//! The contract of a store, run against both.

use crate::fixture::{Database, keys, map, plan};
use chrono::{DateTime, Duration, Utc};
use orchestrator::store::{
    Approval, CleanupRecord, FigureReading, LeaderStore, LeaseHolder, MigrationChange,
    MigrationStore, NewEvent, NewOperation, NewShard, OwnerBeat, SealedMigration, ShardStore,
    Snapshot, Store, StoreError, StreamReading,
};
use plans::id::{MapVersion, MigrationId, ShardName};
use plans::names::Direction;
use plans::plan::Plan;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use std::sync::Arc;

macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $name() {
                let store = orchestrator::store::memory::MemoryStore::new();
                crate::fixture::lead(&store).await;
                super::$name(&store).await;
            })*
        }
        mod pg {
            $(#[tokio::test]
            async fn $name() {
                let database = crate::fixture::Database::hostile().await;
                super::$name(&database.led().await).await;
            })*
        }
    };
}

mod access;
mod agents;
mod answers;
mod conversions;
mod fleet;
mod hooks;
mod leader;
mod maps;
mod operations;
mod seals;
mod writes;

contract!(
    a_map_needs_its_shards,
    a_submitted_migration_is_read_back,
    keys_that_move_are_not_admitted_twice,
    a_plan_for_another_version_is_refused,
    a_change_from_an_old_revision_is_not_applied,
    limits_and_approvals_are_read_back,
    an_empty_owner_has_no_lease,
    only_the_owner_extends_the_lease,
    what_has_not_ended_is_as_it_was_written_last,
    cleanup_records_are_done_once,
);

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

async fn register(store: &dyn Store, names: &[&str]) {
    for name in names {
        let new = NewShard::plain(ShardName::from(*name), "host=x".to_owned());
        store.add_shard(&new).await.unwrap();
    }
}

/// Shards `a` and `b`, map `tenants`, migration `m1` of the keys from 5.
async fn seeded(store: &dyn Store) -> Snapshot {
    register(store, &["a", "b"]).await;
    store
        .create_map(&map(store.incarnation()), "op")
        .await
        .unwrap();
    submit(store, "m1", 1, (Some(5), None)).await.unwrap()
}

fn operation(id: &str, plan: Plan) -> NewOperation {
    NewOperation {
        id: MigrationId::from(id),
        map_version: plan.map_version,
        plan,
        by: "op".to_owned(),
        at: at(0),
        queue: false,
        override_reason: None,
    }
}

async fn submit(
    store: &dyn Store,
    id: &str,
    version: i64,
    (from, to): (Option<i64>, Option<i64>),
) -> Result<Snapshot, StoreError> {
    let plan = plan(store.incarnation(), version, keys(from, to));
    let mut made = store.submit(&operation(id, plan)).await?;
    assert_eq!(made.len(), 1);
    Ok(made.remove(0))
}

/// The change that starts a migration.
fn start(snapshot: &Snapshot) -> MigrationChange {
    let mut start = change(snapshot);
    start.migration.state = MigrationState::Running;
    start.migration.started_at = Some(at(1));
    start
}

/// Seals and flips; the version that it made.
async fn flip(store: &dyn Store, id: &MigrationId) -> MapVersion {
    let (sealed, version) = written(store, id).await;
    sealed.commit().await.unwrap();
    version
}

/// Seals and writes a flip; the version that it would make.
async fn written(store: &dyn Store, id: &MigrationId) -> (Box<dyn SealedMigration>, MapVersion) {
    let mut sealed = store.seal(id).await.unwrap();
    let moving = sealed.snapshot().migration.plan.moving.clone();
    let next = sealed
        .map()
        .with_moved(&moving.keys, &moving.source, &moving.target, id)
        .unwrap();
    let mut flip = start(sealed.snapshot());
    flip.migration.state = MigrationState::Flipped;
    flip.migration.ownership = Ownership::Flipped;
    flip.migration.map_version_after = Some(next.version);
    sealed.write(&flip, &next).await.unwrap();
    (sealed, next.version)
}

fn change(snapshot: &Snapshot) -> MigrationChange {
    MigrationChange {
        plan_changed: false,
        from_revision: snapshot.migration.revision,
        migration: snapshot.migration.clone(),
        steps: Vec::new(),
        lease_until: None,
        events: vec![NewEvent {
            at: at(1),
            actor: "op".to_owned(),
            kind: "test.done".to_owned(),
            step: None,
            data: serde_json::json!({}),
        }],
    }
}

fn owned(snapshot: &Snapshot) -> MigrationChange {
    let mut change = change(snapshot);
    change.migration.owner = Some(LeaseHolder {
        agent: "x".into(),
        instance: "x1".into(),
        token: None,
        secret: None,
    });
    change.lease_until = Some(at(4));
    change
}

fn beat(migration: &str) -> OwnerBeat {
    OwnerBeat {
        migration: migration.into(),
        figures: None,
        reading: None,
    }
}

fn reading(second: i64) -> FigureReading {
    FigureReading {
        at: at(second),
        step: Some("copy".into()),
        rows: 5,
        rows_total: 10,
        bytes: 500,
        left_ms: Some(2_000),
        stream: Some(StreamReading {
            direction: Direction::Forward,
            lag_bytes: 7,
            lag_ms: 8,
            changes: 9,
            written_at: 12,
            applied_at: 13,
            retained_bytes: 10,
            spooled_bytes: 11,
        }),
    }
}

async fn a_map_needs_its_shards(store: &dyn Store) {
    let error = store
        .create_map(&map(store.incarnation()), "op")
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no shard a");
    assert!(store.map(&"tenants".into()).await.unwrap().is_none());
}

async fn a_submitted_migration_is_read_back(store: &dyn Store) {
    let made = seeded(store).await;
    let read = store.load(&"m1".into()).await.unwrap().unwrap();
    assert_eq!(read, made);
    assert_eq!(store.unfinished().await.unwrap()[..], [Arc::new(made)]);
    assert_eq!(store.events(&"m1".into(), 0, 10).await.unwrap().len(), 1);
    assert!(store.load(&"m2".into()).await.unwrap().is_none());
}

async fn keys_that_move_are_not_admitted_twice(store: &dyn Store) {
    seeded(store).await;
    let error = submit(store, "m2", 1, (None, Some(6))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "migration m1 is moving some of these keys"
    );
    submit(store, "m3", 1, (None, Some(5))).await.unwrap();
}

async fn a_plan_for_another_version_is_refused(store: &dyn Store) {
    seeded(store).await;
    let error = submit(store, "m2", 2, (None, Some(5))).await.unwrap_err();
    assert_eq!(error.to_string(), "map tenants is at version 1, not 2");
}

async fn a_change_from_an_old_revision_is_not_applied(store: &dyn Store) {
    let made = seeded(store).await;
    let mut first = start(&made);
    first.steps = vec![made.steps[0].clone()];
    first.steps[0].state = StepState::Running;
    assert!(store.commit(&first).await.unwrap());
    assert!(!store.commit(&change(&made)).await.unwrap());
    let read = store.load(&"m1".into()).await.unwrap().unwrap();
    assert_eq!(read.migration.revision, 2);
    assert_eq!(read.steps[0].state, StepState::Running);
    assert_eq!(read.steps.len(), made.steps.len());
    assert_eq!(store.events(&"m1".into(), 1, 10).await.unwrap().len(), 1);
}

async fn limits_and_approvals_are_read_back(store: &dyn Store) {
    let made = seeded(store).await;
    assert_eq!(made.migration.limits, None);
    let mut limits = made.migration.limits();
    limits.streams += 1;
    let mut changed = change(&made);
    changed.migration.limits = Some(limits.clone());
    changed.migration.approvals = vec![Approval {
        by: "ada".to_owned(),
        at: at(1),
        reason: Some("seen".to_owned()),
    }];
    assert!(store.commit(&changed).await.unwrap());
    let read = store.load(&"m1".into()).await.unwrap().unwrap();
    assert_eq!(read.migration.limits(), limits);
    assert_eq!(read.migration.approvals, changed.migration.approvals);
}

async fn an_empty_owner_has_no_lease(store: &dyn Store) {
    let made = seeded(store).await;
    assert!(store.commit(&owned(&made)).await.unwrap());
    let read = store.load(&"m1".into()).await.unwrap().unwrap();
    assert_eq!(read.lease_until, Some(at(4)));
    let mut without = change(&read);
    without.migration.owner = None;
    assert!(store.commit(&without).await.unwrap());
    let read = store.load(&"m1".into()).await.unwrap().unwrap();
    assert_eq!(read.lease_until, None);
}

async fn only_the_owner_extends_the_lease(store: &dyn Store) {
    let made = seeded(store).await;
    store.commit(&owned(&made)).await.unwrap();
    let id = MigrationId::from("m1");
    let step = made.steps[0].id.clone();
    let figures = serde_json::json!({"message": "half"});
    let later = at(4) + Duration::seconds(9);
    let beats = [OwnerBeat {
        migration: id.clone(),
        figures: Some((step, figures.clone())),
        reading: Some(reading(3)),
    }];
    let extended = store.extend_leases(&"x2".into(), later, &beats).await;
    assert_eq!(extended.unwrap(), []);
    assert_eq!(store.readings(&id).await.unwrap(), []);
    let extended = store.extend_leases(&"x1".into(), later, &beats).await;
    assert_eq!(extended.unwrap(), ["m1".into()]);
    assert_eq!(store.readings(&id).await.unwrap(), [reading(3)]);
    let read = store.load(&id).await.unwrap().unwrap();
    assert_eq!(read.lease_until, Some(later));
    assert_eq!(read.steps[0].progress, Some(figures));
    assert_eq!(read.migration.revision, 2);
}

async fn what_has_not_ended_is_as_it_was_written_last(store: &dyn Store) {
    let seen = async || store.unfinished().await.unwrap();
    let made = seeded(store).await;
    assert_eq!(seen().await[..], [Arc::new(made.clone())]);
    store.commit(&owned(&made)).await.unwrap();
    let mut own = store.load(&"m1".into()).await.unwrap().unwrap();
    assert_eq!(seen().await[..], [Arc::new(own.clone())]);
    let beats = [beat("m1")];
    let extended = store.extend_leases(&"x1".into(), at(9), &beats).await;
    extended.unwrap();
    own.lease_until = Some(at(9));
    assert_eq!(seen().await[..], [Arc::new(own.clone())]);
    let later = NewOperation {
        at: at(5),
        ..operation("m2", plan(store.incarnation(), 1, keys(None, Some(0))))
    };
    let other = store.submit(&later).await.unwrap().remove(0);
    assert_eq!(seen().await[..], [Arc::new(own.clone()), Arc::new(other)]);
    let mut over = change(&own);
    over.migration.state = MigrationState::Unwound;
    over.migration.ownership = Ownership::Aborted;
    over.migration.owner = None;
    over.migration.finished_at = Some(at(9));
    assert!(store.commit(&over).await.unwrap());
    let left = seen().await;
    let left: Vec<&str> = left.iter().map(|s| s.migration.id.as_str()).collect();
    assert_eq!(left, ["m2"]);
}

async fn cleanup_records_are_done_once(store: &dyn Store) {
    let id = seeded(store).await.migration.id;
    let record = CleanupRecord {
        shard: "a".into(),
        kind: "slot".to_owned(),
        name: "s".to_owned(),
        policy: "always".to_owned(),
        done_at: None,
    };
    let records = [record.clone()];
    store.add_cleanup(&id, &records).await.unwrap();
    store.finish_cleanup(&id, &records, at(7)).await.unwrap();
    store.finish_cleanup(&id, &records, at(8)).await.unwrap();
    let read = store.cleanup(&id).await.unwrap();
    assert_eq!(read[0].done_at, Some(at(7)));
    store.add_cleanup(&id, &records).await.unwrap();
    assert_eq!(store.cleanup(&id).await.unwrap(), [record]);
}

#[tokio::test]
async fn the_database_itself_refuses_a_broken_map_and_a_changed_journal() {
    let database = Database::new().await;
    let store = database.led().await;
    seeded(&store).await;
    let mut session = database.pool().await.acquire().await.unwrap();
    sqlx::query("select set_config('shardwright.term', '1', false)")
        .execute(&mut *session)
        .await
        .unwrap();
    for (statement, why) in [
        (
            "insert into shardwright.mapping (map, since, span, keys, shard) \
             values ('tenants', 1, '[\\\\x01,\\\\x02)', '{}', 2)",
            "key_has_one_owner",
        ),
        (
            "insert into shardwright.mapping (map, since, span, keys, shard) \
             values ('tenants', 2, '[\\\\x01,\\\\x02)', '{\"list\": [1]}', 2)",
            "listed_key_is_a_point",
        ),
        (
            "insert into shardwright.mapping (map, since, until, span, keys, shard) \
             values ('tenants', 5, 7, '[\\\\x01,\\\\x0100)', '{\"list\": [1]}', 2)",
            "not its newest",
        ),
        (
            "insert into shardwright.map_version (map, version, created_by, pieces, added, removed) \
             values ('tenants', 3, 'x', 1, 0, 0)",
            "does not follow",
        ),
        ("update shardwright.event set actor = 'x'", "append-only"),
        ("delete from shardwright.mapping", "append-only"),
        ("update shardwright.mapping set shard = 2", "append-only"),
        ("update shardwright.mapping set until = 2", "not its newest"),
        (
            "update shardwright.operation set queued = true",
            "append-only",
        ),
        (
            "update shardwright.migration set state = 'running'",
            "what_acts_has_started",
        ),
        (
            "update shardwright.migration set ownership = 'flipped'",
            "flip_made_a_version",
        ),
    ] {
        let error = sqlx::query(statement)
            .execute(&mut *session)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{statement}: {error}");
    }
    let state: (String,) = sqlx::query_as("select state from shardwright.shard_map")
        .fetch_one(&mut *session)
        .await
        .unwrap();
    assert_eq!(state.0, "moving");
}

/// A caller goes away in the middle of a call, as an agent does that is killed in a long poll.
#[tokio::test]
async fn what_follows_a_call_that_was_given_up_is_durable() {
    let database = Database::new().await;
    let store = database.led().await;
    let made = seeded(&store).await;
    for patience in 0..200 {
        let limit = std::time::Duration::from_micros(patience * 5);
        let _ = tokio::time::timeout(limit, store.load(&made.migration.id)).await;
        // Given back to the pool in another task.
        tokio::task::yield_now().await;
        let name = ShardName(format!("s{patience}"));
        register(&store, &[name.as_str()]).await;
    }
    let other = database.store().await;
    assert_eq!(other.shards().await.unwrap().len(), 202);
}

/// Sessions that go back to the pool in good order leave no warning.
#[tokio::test]
async fn the_servers_log_stays_quiet() {
    let database = Database::alone().await;
    let store = database.led().await;
    let made = seeded(&store).await;
    for _ in 0..20 {
        store.load(&made.migration.id).await.unwrap();
        store.unfinished().await.unwrap();
    }
    let log = std::fs::read_to_string(database.cluster.log_file()).unwrap();
    let warnings: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("WARNING"))
        .collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}

/// A commit has locked a lease: the others are extended at once.
#[tokio::test]
async fn a_lease_that_is_being_changed_is_left_out() {
    let database = Database::new().await;
    let store = database.led().await;
    let made = seeded(&store).await;
    store.commit(&owned(&made)).await.unwrap();
    let other = submit(&store, "m2", 1, (None, Some(5))).await.unwrap();
    store.commit(&owned(&other)).await.unwrap();
    let pool = database.pool().await;
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("select from shardwright.lease where migration = 'm1' for update")
        .execute(&mut *holder)
        .await
        .unwrap();
    let beats = [beat("m1"), beat("m2")];
    let extended = store.extend_leases(&"x1".into(), at(9), &beats).await;
    assert_eq!(extended.unwrap(), ["m2".into()]);
    holder.rollback().await.unwrap();
    let extended = store.extend_leases(&"x1".into(), at(9), &beats).await;
    assert_eq!(extended.unwrap(), ["m1".into(), "m2".into()]);
}

/// Another process led meanwhile and wrote; what this one knew before is not taken for what is.
#[tokio::test]
async fn what_was_read_under_an_older_term_is_read_again() {
    let database = Database::new().await;
    let store = database.led().await;
    let made = seeded(&store).await;
    assert_eq!(
        store.unfinished().await.unwrap()[..],
        [Arc::new(made.clone())]
    );
    store.resign().await.unwrap();
    let other = database.led().await;
    other.commit(&owned(&made)).await.unwrap();
    let written = other.load(&made.migration.id).await.unwrap().unwrap();
    assert_eq!(
        store.unfinished().await.unwrap()[..],
        [Arc::new(written.clone())]
    );
    other.resign().await.unwrap();
    crate::fixture::lead(&store).await;
    assert_eq!(store.unfinished().await.unwrap()[..], [Arc::new(written)]);
}
