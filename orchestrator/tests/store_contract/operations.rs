//! Operations of several moves, the queue, and keys that move only once.

use super::{at, change, flip, operation, register, seeded, start, submit};
use crate::fixture::{keys, map, plan, plan_of, planned_move};
use orchestrator::store::{NewOperation, Snapshot, Store, StoreError};
use plans::id::{MapVersion, MigrationId, ShardName};
use plans::key_set::KeySet;
use plans::plan::Plan;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;

contract!(
    each_move_becomes_a_migration,
    an_operation_is_admitted_as_a_whole,
    an_operation_needs_its_shards,
    a_queued_operation_waits_with_the_same_keys,
    keys_move_once,
    two_migrations_of_one_map_flip_in_turn,
    a_sealed_map_stays,
);

fn two_moves(store: &dyn Store) -> Plan {
    let moves = vec![
        planned_move("m1", keys(Some(10), Some(20))),
        planned_move("m2", keys(Some(30), None)),
    ];
    plan_of(store.incarnation(), 1, moves)
}

async fn with_map(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    let map = map(store.incarnation());
    store.create_map(&map, "op").await.unwrap();
}

fn ids(snapshots: &[Snapshot]) -> Vec<&str> {
    let migrations = snapshots.iter().map(|s| &s.migration);
    migrations.map(|m| m.id.as_str()).collect()
}

async fn each_move_becomes_a_migration(store: &dyn Store) {
    with_map(store).await;
    let new = NewOperation {
        override_reason: Some("rush".to_owned()),
        ..operation("op1", two_moves(store))
    };
    let made = store.submit(&new).await.unwrap();
    assert_eq!(ids(&made), ["op1x1", "op1x2"]);
    let unfinished = store.unfinished().await.unwrap();
    let unfinished: Vec<Snapshot> = unfinished.iter().map(|s| Snapshot::clone(s)).collect();
    assert_eq!(unfinished, made);
    let read = store.operation(&new.id).await.unwrap().unwrap();
    let migrations: Vec<_> = made.iter().map(|s| s.migration.clone()).collect();
    assert_eq!(read.migrations, migrations);
    assert_eq!((&read.plan, read.queued), (&new.plan, false));
    assert_eq!(read.override_reason, new.override_reason);
    assert_eq!(read.migrations[1].plan.moving.keys, keys(Some(30), None));
    let later = NewOperation {
        at: at(5),
        ..operation("op2", plan(store.incarnation(), 1, keys(None, Some(0))))
    };
    store.submit(&later).await.unwrap();
    let operations = store.operations(2, None).await.unwrap();
    let sizes = operations
        .iter()
        .map(|o| (o.id.as_str(), o.migrations.len()));
    assert_eq!(sizes.collect::<Vec<_>>(), [("op2", 1), ("op1", 2)]);
    assert_eq!(store.list(2, None).await.unwrap()[1].id.as_str(), "op1x1");
    let behind = async |after: &str| {
        let after = MigrationId::from(after);
        let all = store.list(9, Some(&after)).await.unwrap();
        all.iter().map(|m| m.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(behind("op2").await, ["op1x1", "op1x2"]);
    assert_eq!(behind("op1x1").await, ["op1x2"]);
    assert_eq!(behind("nobody").await, [""; 0]);
    let older = store.operations(9, Some(&"op2".into())).await.unwrap();
    assert_eq!(older.len(), 1);
    assert_eq!(older[0].id.as_str(), "op1");
    assert!(store.operation(&"op1x1".into()).await.unwrap().is_none());
}

async fn an_operation_is_admitted_as_a_whole(store: &dyn Store) {
    with_map(store).await;
    submit(store, "m9", 1, (Some(40), Some(41))).await.unwrap();
    let new = operation("op1", two_moves(store));
    let error = store.submit(&new).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "migration m9 is moving some of these keys"
    );
    assert!(store.operation(&new.id).await.unwrap().is_none());
    assert!(store.load(&"op1x1".into()).await.unwrap().is_none());
    assert!(
        store
            .events(&"op1x1".into(), 0, 9)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn an_operation_needs_its_shards(store: &dyn Store) {
    with_map(store).await;
    let mut plan = two_moves(store);
    plan.moves[1].moving.target = ShardName::from("c");
    let error = store.submit(&operation("op1", plan)).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no shard c");
}

async fn a_queued_operation_waits_with_the_same_keys(store: &dyn Store) {
    let first = seeded(store).await;
    let queued = NewOperation {
        queue: true,
        ..operation("m2", plan(store.incarnation(), 7, keys(Some(8), Some(9))))
    };
    let second = store.submit(&queued).await.unwrap().remove(0);
    assert!(second.migration.queued && !first.migration.queued);
    assert!(store.commit(&start(&first)).await.unwrap());
    let error = store.commit(&start(&second)).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::KeysMoving { migration } if migration.as_str() == "m1"),
        "{error:?}"
    );
    let mut paused = change(&second);
    paused.migration.state = MigrationState::Paused;
    paused.migration.waiting_for = Some("migration m1".to_owned());
    assert!(store.commit(&paused).await.unwrap());
    let mut ended = change(&store.load(&"m1".into()).await.unwrap().unwrap());
    ended.migration.state = MigrationState::Unwound;
    ended.migration.ownership = Ownership::Aborted;
    ended.migration.finished_at = Some(at(9));
    assert!(store.commit(&ended).await.unwrap());
    let second = store.load(&"m2".into()).await.unwrap().unwrap();
    assert!(store.commit(&start(&second)).await.unwrap());
}

/// Of sets with holes, only what they contain counts.
async fn keys_move_once(store: &dyn Store) {
    with_map(store).await;
    let holes = keys(Some(0), Some(2)).union(&keys(Some(8), Some(9)));
    let cases: [(&str, KeySet); 3] = [
        ("m1", holes),
        ("m2", keys(Some(2), Some(8))),
        ("m3", keys(Some(7), Some(9))),
    ];
    let mut made = Vec::new();
    for (id, keys) in cases {
        let new = NewOperation {
            queue: true,
            ..operation(id, plan(store.incarnation(), 1, keys))
        };
        made.extend(store.submit(&new).await.unwrap());
    }
    assert!(store.commit(&start(&made[0])).await.unwrap());
    assert!(store.commit(&start(&made[1])).await.unwrap());
    let error = store.commit(&start(&made[2])).await.unwrap_err();
    assert!(matches!(error, StoreError::KeysMoving { .. }), "{error:?}");
    let read = store.load(&"m3".into()).await.unwrap().unwrap();
    assert_eq!(read, made[2]);
}

async fn two_migrations_of_one_map_flip_in_turn(store: &dyn Store) {
    with_map(store).await;
    let new = operation("op1", two_moves(store));
    for snapshot in store.submit(&new).await.unwrap() {
        assert!(store.commit(&start(&snapshot)).await.unwrap());
    }
    for (id, version) in [("op1x2", 2), ("op1x1", 3)] {
        assert_eq!(flip(store, &id.into()).await, MapVersion(version));
    }
    let map = store.map(&"tenants".into()).await.unwrap().unwrap();
    let expected = keys(Some(10), Some(20)).union(&keys(Some(30), None));
    assert_eq!(map.owned_by(&"b".into()), expected);
    assert_eq!(map.migration, Some(MigrationId::from("op1x1")));
}

async fn a_sealed_map_stays(store: &dyn Store) {
    with_map(store).await;
    store
        .submit(&operation("op1", two_moves(store)))
        .await
        .unwrap();
    let sealed = store.seal(&"op1x1".into()).await.unwrap();
    let error = store.seal(&"op1x2".into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    let error = submit(store, "m9", 1, (None, Some(0))).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    let mut other = sealed.map().clone();
    other.version = other.version.next();
    let error = store.put_version(&other, "op").await.unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    sealed.release().await;
    drop(store.seal(&"op1x2".into()).await.unwrap());
}
