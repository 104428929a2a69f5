//! Shards and the audit trail.

use super::{at, register, seeded};
use crate::fixture::{keys, mapping};
use orchestrator::store::{
    AuditLine, AuditRecord, ImbalanceSample, NewShard, ShardUpdate, Store, StoreError,
};
use plans::fleet::StandbySlot;
use plans::id::{MapName, MapVersion};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::ShardMap;
use std::collections::BTreeMap;

contract!(
    shards_are_numbered_once,
    slots_of_standbys_are_recorded_once,
    a_shard_is_changed_as_a_whole,
    a_shard_in_force_stays,
    a_shard_of_an_unfinished_migration_stays,
    a_removed_shard_stays_in_old_versions,
    a_server_is_remembered_as_it_was_seen_last,
    the_imbalance_is_kept_for_a_day,
    the_audit_trail_is_read_newest_first,
);

async fn a_server_is_remembered_as_it_was_seen_last(store: &dyn Store) {
    register(store, &["a"]).await;
    let mut seen = ObservedServer {
        number: 1,
        server: DatabaseIdentity {
            system: "7".to_owned(),
            timeline: 1,
            ..DatabaseIdentity::default()
        },
        flushed: 1 << 40,
        missing: 0,
    };
    for (timeline, missing) in [(1, 0), (1, 4096), (2, 0)] {
        (seen.server.timeline, seen.missing) = (timeline, missing);
        store.put_server(&seen).await.unwrap();
        assert_eq!(store.servers().await.unwrap(), std::slice::from_ref(&seen));
    }
    // A standby, and the database of its own that a promotion makes of it.
    for (standby, id) in [(true, None), (false, Some("i"))] {
        seen.server.standby = standby;
        seen.server.id = id.map(str::to_owned);
        store.put_server(&seen).await.unwrap();
        assert_eq!(store.servers().await.unwrap(), std::slice::from_ref(&seen));
        let [shard] = store.shards().await.unwrap().try_into().unwrap();
        assert_eq!(shard.identity.as_ref(), Some(&seen.server));
        assert_eq!(shard.is_standby(), standby);
    }
}

/// A sample of one measure.
pub(super) fn imbalance(second: i64, measure: &str, factor: f64) -> ImbalanceSample {
    ImbalanceSample {
        at: at(second),
        factors: [(measure.to_owned(), factor)].into(),
    }
}

async fn the_imbalance_is_kept_for_a_day(store: &dyn Store) {
    let (day, first) = (86_400, imbalance(0, "size", 1.5));
    store.add_imbalance(&first).await.unwrap();
    let last = imbalance(day, "size", 1.25);
    store.add_imbalance(&last).await.unwrap();
    let read = store.imbalance(at(0)).await.unwrap();
    assert_eq!(read, [first, last.clone()]);
    assert_eq!(store.imbalance(at(1)).await.unwrap(), [last]);

    // Another controller took over within the interval, and has measured the writes first.
    let (writes, size) = (
        imbalance(day + 1, "writes", 2.0),
        imbalance(day + 1, "size", 1.0),
    );
    store.add_imbalance(&writes).await.unwrap();
    store.add_imbalance(&size).await.unwrap();
    let read = store.imbalance(at(0)).await.unwrap();
    let seconds: Vec<i64> = read
        .iter()
        .map(|sample| (sample.at - at(0)).num_seconds())
        .collect();
    assert_eq!(seconds, [day, day + 1]);
    let measures: Vec<&str> = read[1].factors.keys().map(String::as_str).collect();
    assert_eq!(measures, ["size", "writes"]);
}

async fn slots_of_standbys_are_recorded_once(store: &dyn Store) {
    let slot = |slot: &str, standby: &str| StandbySlot {
        slot: slot.to_owned(),
        standby: standby.into(),
        source: "a".into(),
    };
    let (first, second) = (slot("s2", "b"), slot("s1", "b"));
    store.add_standby_slot(&first).await.unwrap();
    store.add_standby_slot(&second).await.unwrap();
    let error = store.add_standby_slot(&slot("s1", "c")).await.unwrap_err();
    assert_eq!(error.to_string(), "standby slot s1 exists already");
    let recorded = store.standby_slots().await.unwrap();
    assert_eq!(recorded, [first.clone(), second]);
    for _ in 0..2 {
        store.remove_standby_slot("s1").await.unwrap();
        let recorded = store.standby_slots().await.unwrap();
        assert_eq!(recorded, std::slice::from_ref(&first));
    }
}

async fn shards_are_numbered_once(store: &dyn Store) {
    register(store, &["b", "a"]).await;
    store.remove_shard(&"a".into()).await.unwrap();
    assert!(store.remove_shard(&"a".into()).await.is_err());
    register(store, &["a"]).await;
    let again = NewShard::plain("b".into(), "host=y".to_owned());
    let error = store.add_shard(&again).await.unwrap_err();
    assert_eq!(error.to_string(), "shard b exists already");
    let shards = store.shards().await.unwrap();
    let numbers: Vec<_> = shards.iter().map(|s| (s.name.as_str(), s.number)).collect();
    assert_eq!(numbers, [("a", 3), ("b", 1)]);
}

async fn a_shard_is_changed_as_a_whole(store: &dyn Store) {
    register(store, &["a"]).await;
    let labels = BTreeMap::from([("region".to_owned(), "eu".to_owned())]);
    let mut update = ShardUpdate {
        name: "a".into(),
        labels: labels.clone(),
        capacity: u32::MAX,
        space: Some(1 << 40),
        dsn: None,
    };
    let made = store.update_shard(&update).await.unwrap();
    assert_eq!(store.shards().await.unwrap(), std::slice::from_ref(&made));
    let info = made.info();
    assert_eq!(
        (info.labels, info.capacity, info.space),
        (labels, u32::MAX, Some(1 << 40))
    );
    assert_eq!(made.dsn, "host=x");
    update.name = "b".into();
    let error = store.update_shard(&update).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no shard b");
}

async fn a_shard_in_force_stays(store: &dyn Store) {
    seeded(store).await;
    let error = store.remove_shard(&"a".into()).await.unwrap_err();
    assert_eq!(error.to_string(), "map tenants names shard a");
}

async fn a_shard_of_an_unfinished_migration_stays(store: &dyn Store) {
    seeded(store).await;
    let error = store.remove_shard(&"b".into()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "shard b is source or target of migration m1"
    );
}

async fn a_removed_shard_stays_in_old_versions(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    let first = crate::fixture::map(store.incarnation());
    store.create_map(&first, "op").await.unwrap();
    let second = ShardMap {
        version: MapVersion(2),
        mappings: vec![mapping(keys(None, None), "b")],
        ..first.clone()
    };
    store.put_version(&second, "op").await.unwrap();
    store.remove_shard(&"a".into()).await.unwrap();
    let name = MapName::from("tenants");
    let old = store.map_at(&name, MapVersion(1)).await.unwrap();
    assert_eq!(old.as_deref(), Some(&first));
    let read = store.map(&name).await.unwrap();
    assert_eq!(read.as_deref(), Some(&second));
    let third = ShardMap {
        version: MapVersion(3),
        ..first
    };
    let error = store.put_version(&third, "op").await.unwrap_err();
    assert!(
        matches!(error, StoreError::Missing { what: "shard", .. }),
        "{error}"
    );
}

async fn the_audit_trail_is_read_newest_first(store: &dyn Store) {
    let record = |second| AuditRecord {
        at: at(second),
        actor: "op".to_owned(),
        action: "shard.added".to_owned(),
        object: format!("shard s{second}"),
        data: serde_json::json!({ "n": second }),
    };
    for second in 0..3 {
        store.add_audit(&record(second)).await.unwrap();
    }
    let lines = store.audit(2, None).await.unwrap();
    let said = |lines: &[AuditLine]| -> Vec<AuditRecord> {
        lines.iter().map(|line| line.record.clone()).collect()
    };
    assert_eq!(said(&lines), [record(2), record(1)]);
    let older = store.audit(2, Some(lines[1].line)).await.unwrap();
    assert_eq!(said(&older), [record(0)]);
}
