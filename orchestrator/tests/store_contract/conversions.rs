//! Conversions: a map gets another strategy and key, and nothing else changes it meanwhile.

use super::{at, register, seeded, submit};
use crate::fixture::{map, mapping};
use orchestrator::store::{ConversionRecord, SettingsRecord, Store, StoreError};
use plans::id::{Epoch, MapVersion, MigrationId};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{KeyColumns, MapSettings, ShardMap, Strategy};

contract!(
    each_version_is_read_back_with_its_own_division,
    a_map_does_not_change_while_it_is_converted,
    only_the_newest_owner_writes_the_version,
    settings_that_have_changed_are_not_overwritten,
    a_moving_map_is_not_converted,
);

pub(super) fn conversion(id: &str, map: &str) -> ConversionRecord {
    ConversionRecord {
        id: MigrationId::from(id),
        map: map.into(),
        epoch: Epoch(1),
        before: MapVersion(1),
        version: None,
        shards: vec!["a".into(), "b".into()],
        by: "op".to_owned(),
        created_at: at(1),
        finished_at: None,
    }
}

/// A hash map of texts with an exception, in place of the range map of the tests.
pub(super) fn hashed(store: &dyn Store, name: &str) -> ShardMap {
    let mut settings = MapSettings::default();
    let columns = KeyColumns(vec!["region".to_owned()]);
    settings.tables.insert("public.item".to_owned(), columns);
    let map = ShardMap {
        name: name.into(),
        strategy: Strategy::Hash,
        key: vec![KeyType::Text],
        buckets: 16,
        settings,
        mappings: vec![
            mapping(KeySet::buckets(16, 0, 16), "a"),
            mapping(
                KeySet::single_keys(16, [Key::Text("north".to_owned())]),
                "b",
            ),
        ],
        ..map(store.incarnation())
    };
    map.validated().unwrap()
}

/// Shards and a map at version 1, without migrations.
async fn with_map(store: &dyn Store) -> ShardMap {
    register(store, &["a", "b"]).await;
    let map = map(store.incarnation());
    store.create_map(&map, "op").await.unwrap();
    map
}

async fn each_version_is_read_back_with_its_own_division(store: &dyn Store) {
    let first = with_map(store).await;
    let conversion = conversion("c1", first.name.as_str());
    store.begin_conversion(&conversion, 1).await.unwrap();
    let second = ShardMap {
        version: MapVersion(2),
        ..hashed(store, first.name.as_str())
    };
    store.put_converted(&conversion, &second).await.unwrap();
    assert_eq!(
        store.map(&first.name).await.unwrap().as_deref(),
        Some(&second)
    );
    let earlier = store
        .map_at(&first.name, MapVersion(1))
        .await
        .unwrap()
        .unwrap();
    // The settings are always those in force.
    let expected = ShardMap {
        settings: second.settings.clone(),
        ..first.clone()
    };
    assert_eq!(*earlier, expected);
    let unfinished = store.conversions().await.unwrap();
    assert_eq!(unfinished[0].version, Some(MapVersion(2)));
    store.finish_conversion(&conversion, at(2)).await.unwrap();
    // A later version of the new division.
    let third = ShardMap {
        version: MapVersion(3),
        mappings: vec![mapping(KeySet::buckets(16, 0, 16), "a")],
        ..second.clone()
    };
    store.put_version(&third, "op").await.unwrap();
    assert_eq!(
        store.map(&first.name).await.unwrap().as_deref(),
        Some(&third)
    );
    let (versions, settings) = (
        store.history(&first.name).await.unwrap(),
        store.settings(&first.name).await.unwrap(),
    );
    let pieces: Vec<(i64, i64, i64)> = versions
        .iter()
        .map(|v| (v.pieces, v.added, v.removed))
        .collect();
    let of_first = i64::try_from(first.mappings.len()).unwrap();
    assert_eq!(
        pieces,
        [(of_first, of_first, 0), (2, 2, of_first), (1, 0, 1)]
    );
    assert_eq!(settings[0].revision, 2);
}

async fn a_map_does_not_change_while_it_is_converted(store: &dyn Store) {
    let first = with_map(store).await;
    let begun = conversion("c1", first.name.as_str());
    store.begin_conversion(&begun, 1).await.unwrap();
    let next = ShardMap {
        version: MapVersion(2),
        ..first.clone()
    };
    let settings = SettingsRecord {
        map: first.name.clone(),
        revision: 2,
        settings: MapSettings::default(),
        by: "op".to_owned(),
        created_at: at(1),
    };
    let refusals = [
        store.put_version(&next, "op").await,
        store.put_proven_version(&next, "op").await,
        store.put_settings(&settings).await,
        store.remove_map(&first.name, "op").await,
        submit(store, "m1", 1, (Some(5), None)).await.map(drop),
        store
            .begin_conversion(&conversion("c2", first.name.as_str()), 1)
            .await,
    ];
    for refusal in refusals {
        let converting = StoreError::Converting {
            map: first.name.clone(),
            conversion: begun.id.clone(),
        };
        assert_eq!(refusal.unwrap_err().to_string(), converting.to_string());
    }
    // Without a version it ends as if it had not begun.
    store.finish_conversion(&begun, at(2)).await.unwrap();
    assert_eq!(
        store.map(&first.name).await.unwrap().as_deref(),
        Some(&first)
    );
    store.put_version(&next, "op").await.unwrap();
}

async fn only_the_newest_owner_writes_the_version(store: &dyn Store) {
    let first = with_map(store).await;
    let begun = conversion("c1", first.name.as_str());
    store.begin_conversion(&begun, 1).await.unwrap();
    let second = hashed(store, first.name.as_str());
    let taken = store.take_conversion(&begun.id).await.unwrap();
    assert_eq!((taken.epoch, taken.version), (Epoch(2), None));
    let ended = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::ConversionEnded { .. })));
    };
    ended(store.put_converted(&begun, &second).await);
    store.finish_conversion(&begun, at(2)).await.unwrap();
    assert_eq!(store.conversions().await.unwrap()[0].finished_at, None);
    store.put_converted(&taken, &second).await.unwrap();
    ended(store.put_converted(&taken, &second).await);
    let taken = store.take_conversion(&begun.id).await.unwrap();
    assert_eq!(taken.version, Some(MapVersion(2)));
    store.finish_conversion(&taken, at(3)).await.unwrap();
    ended(store.take_conversion(&begun.id).await.map(drop));
}

async fn settings_that_have_changed_are_not_overwritten(store: &dyn Store) {
    let first = with_map(store).await;
    let changed = SettingsRecord {
        map: first.name.clone(),
        revision: 2,
        settings: hashed(store, "other").settings,
        by: "op".to_owned(),
        created_at: at(1),
    };
    store.put_settings(&changed).await.unwrap();
    let begun = conversion("c1", first.name.as_str());
    let refused = store.begin_conversion(&begun, 1).await.unwrap_err();
    assert!(matches!(
        refused,
        StoreError::SettingsRevision {
            current: 2,
            expected: 1,
            ..
        }
    ));
    store.begin_conversion(&begun, 2).await.unwrap();
}

async fn a_moving_map_is_not_converted(store: &dyn Store) {
    let moving = seeded(store).await.migration;
    let begun = conversion("c1", moving.plan.map.as_str());
    let refused = store.begin_conversion(&begun, 1).await.unwrap_err();
    assert!(matches!(refused, StoreError::KeysMoving { migration } if migration == moving.id));
}
