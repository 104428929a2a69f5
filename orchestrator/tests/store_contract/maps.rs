//! Maps of every strategy and key type, their versions and settings.

use super::{at, flip, operation, register, seeded, submit};
use crate::fixture::{Database, keys, map, mapping, plan_of, planned_move};
use orchestrator::store::{MapStore, SettingsRecord, Store, StoreError};
use plans::id::{MapName, MapVersion, MigrationId};
use plans::key::{Key, KeyType};
use plans::key_set::{KeyRange, KeySet, bucket_of};
use plans::shard_map::{MapSettings, Mapping, Sequences, ShardMap, Strategy};

contract!(
    range_maps_of_every_key_type_are_read_back,
    a_composite_map_is_read_back,
    list_maps_of_every_key_type_are_read_back,
    a_hash_map_flips_bucket_by_bucket,
    a_single_key_of_a_hash_map_is_one_piece,
    a_list_map_flips_key_by_key,
    the_next_version_is_made_once,
    a_removed_map_leaves_its_name_and_its_numbers,
    keys_that_move_keep_their_owner,
    settings_follow_one_another,
);

fn version(store: &dyn Store, strategy: Strategy, mappings: Vec<Mapping>) -> ShardMap {
    let map = ShardMap {
        strategy,
        buckets: if strategy == Strategy::Hash { 16 } else { 0 },
        mappings,
        ..map(store.incarnation())
    };
    map.validated().unwrap()
}

fn samples(kind: KeyType) -> [Key; 3] {
    let texts = match kind {
        KeyType::Smallint => ["-32768", "0", "32767"],
        KeyType::Integer => ["-2147483648", "-1", "2147483647"],
        KeyType::Bigint => ["-9223372036854775808", "7", "9223372036854775807"],
        KeyType::Text => ["", "a\u{1}\"'\\", "é€\u{10ffff}"],
        KeyType::Uuid => [
            "00000000-0000-0000-0000-000000000000",
            "7f000000-0000-0000-0000-000000000001",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
        KeyType::Bytea => ["\\x", "\\x00", "\\x00ff"],
        KeyType::Date => ["-infinity", "1999-12-31", "2000-01-01"],
        KeyType::Timestamptz => [
            "1999-12-31 23:59:59.999999+00",
            "2000-01-01 00:00:00+00",
            "infinity",
        ],
    };
    texts.map(|text| kind.read(text).unwrap())
}

async fn is_read_back(store: &dyn Store, map: &ShardMap) {
    store.create_map(map, "op").await.unwrap();
    let read = store.map(&map.name).await.unwrap();
    assert_eq!(read.as_deref(), Some(map));
}

async fn range_maps_of_every_key_type_are_read_back(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    for kind in KeyType::ALL {
        let [low, middle, high] = samples(kind).map(Some);
        let mappings = vec![
            mapping(KeySet::range(middle.clone(), high.clone()), "a"),
            mapping(KeySet::range(low, middle), "b"),
            mapping(KeySet::range(high, None), "b"),
        ];
        let map = ShardMap {
            name: MapName::from(kind.sql_name()),
            key: vec![kind],
            mappings,
            ..map(store.incarnation())
        };
        is_read_back(store, &map.validated().unwrap()).await;
    }
    assert_eq!(store.maps().await.unwrap().len(), 8);
}

async fn a_composite_map_is_read_back(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    let row = |tenant: &str, day: i32| Key::Row(vec![tenant.into(), Key::Date(day), Key::Int(-1)]);
    let ranges = KeySet::Range(vec![
        KeyRange {
            from: None,
            to: Some(row("a", 1)),
        },
        KeyRange {
            from: Some(row("a", 2)),
            to: Some(row("a\u{1}", -5)),
        },
    ]);
    let map = ShardMap {
        key: vec![KeyType::Text, KeyType::Date, KeyType::Integer],
        mappings: vec![
            mapping(ranges, "a"),
            mapping(KeySet::range(Some(row("a", 1)), Some(row("a", 2))), "b"),
        ],
        ..map(store.incarnation())
    };
    is_read_back(store, &map.validated().unwrap()).await;
}

async fn list_maps_of_every_key_type_are_read_back(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    for kind in KeyType::ALL {
        let [low, middle, high] = samples(kind);
        let map = ShardMap {
            name: MapName::from(kind.sql_name()),
            key: vec![kind],
            ..version(store, Strategy::List, Vec::new())
        };
        let map = ShardMap {
            mappings: vec![
                mapping(KeySet::list([middle]), "b"),
                mapping(KeySet::list([low, high]), "a"),
            ],
            ..map
        };
        is_read_back(store, &map.validated().unwrap()).await;
        let history = store.history(&map_name(kind)).await.unwrap();
        assert_eq!(history[0].pieces, 3);
    }
}

fn map_name(kind: KeyType) -> MapName {
    MapName::from(kind.sql_name())
}

/// Two operations on one map flip one after the other; each version is read while it is in force, and what it says is
/// kept.
async fn flips_twice(store: &dyn Store, first: &ShardMap, moves: [KeySet; 2]) -> Vec<ShardMap> {
    register(store, &["a", "b"]).await;
    store.create_map(first, "op").await.unwrap();
    let mut expected = vec![first.clone()];
    for (keys, id) in moves.into_iter().zip(["m1", "m2"]) {
        let plan = plan_of(store.incarnation(), 1, vec![planned_move("m1", keys)]);
        store.submit(&operation(id, plan)).await.unwrap();
    }
    for id in ["m1", "m2"].map(MigrationId::from) {
        let before = expected.last().unwrap();
        let read = store.map(&first.name).await.unwrap();
        assert_eq!(read.as_deref(), Some(before));
        let moving = store
            .load(&id)
            .await
            .unwrap()
            .unwrap()
            .migration
            .plan
            .moving;
        let next = before
            .with_moved(&moving.keys, &moving.source, &moving.target, &id)
            .unwrap();
        assert_eq!(flip(store, &id).await, next.version);
        expected.push(next);
    }
    let named = store.shards_of_map(&first.name).await.unwrap();
    assert_eq!(named, ["a".into(), "b".into()]);
    assert!(
        store
            .shards_of_map(&"none".into())
            .await
            .unwrap()
            .is_empty()
    );
    let read = store.map(&first.name).await.unwrap();
    assert_eq!(read.as_deref(), expected.last());
    for map in &expected {
        let read = store.map_at(&map.name, map.version).await.unwrap();
        assert_eq!(read.as_deref(), Some(map));
    }
    expected
}

async fn a_hash_map_flips_bucket_by_bucket(store: &dyn Store) {
    let mappings = vec![
        mapping(KeySet::buckets(16, 0, 12), "a"),
        mapping(KeySet::buckets(16, 12, 16), "b"),
    ];
    let first = version(store, Strategy::Hash, mappings);
    let odd = KeySet::buckets(16, 1, 2).union(&KeySet::buckets(16, 3, 4));
    let versions = flips_twice(store, &first, [odd, KeySet::buckets(16, 4, 12)]).await;
    assert_eq!(versions[2].mappings.len(), 4);
    let history = store.history(&first.name).await.unwrap();
    let pieces: Vec<i64> = history.iter().map(|version| version.pieces).collect();
    assert_eq!(pieces, [2, 6, 4]);
}

/// An exception is one piece, and changes no other one. It ends when its virtual shard's owner has the key again.
async fn a_single_key_of_a_hash_map_is_one_piece(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    let mappings = vec![
        mapping(KeySet::buckets(16, 0, 12), "a"),
        mapping(KeySet::buckets(16, 12, 16), "b"),
    ];
    let first = version(store, Strategy::Hash, mappings);
    store.create_map(&first, "op").await.unwrap();
    let mut of_a = (0..1000).map(Key::Int);
    let mut next_of_a = || of_a.find(|key| bucket_of(key, 16) < 12).unwrap();
    let (one, other) = (next_of_a(), next_of_a());
    let moved = |map: &ShardMap, key: &Key, from: &str, to: &str| {
        let keys = KeySet::single_keys(map.buckets, [key.clone()]);
        let next = map.with_moved(&keys, &from.into(), &to.into(), &"m".into());
        ShardMap {
            migration: None,
            ..next.unwrap()
        }
    };
    let mut versions = vec![first];
    let changes: [&dyn Fn(&ShardMap) -> ShardMap; 4] = [
        &|map| moved(map, &one, "a", "b"),
        &|map| moved(map, &other, "a", "b"),
        &|map| map.with_bucket_count(64).unwrap(),
        &|map| moved(map, &one, "b", "a"),
    ];
    for change in changes {
        let before = versions.last().unwrap();
        let mut next = change(before);
        next.version = before.version.next();
        store.put_version(&next, "op").await.unwrap();
        let read = store.map(&next.name).await.unwrap();
        assert_eq!(read.as_deref(), Some(&next));
        versions.push(next);
    }
    assert_eq!(versions[3].exceptions().count(), 2);
    assert_eq!(versions[4].exceptions().count(), 1);
    for map in &versions {
        let read = store.map_at(&map.name, map.version).await.unwrap();
        assert_eq!(read.as_deref(), Some(map));
    }
    let history = store.history(&versions[0].name).await.unwrap();
    let changes: Vec<_> = history
        .iter()
        .map(|version| (version.added, version.removed))
        .collect();
    assert_eq!(changes[..3], [(2, 0), (1, 0), (1, 0)]);
    assert_eq!(changes[4], (0, 1));
}

async fn a_list_map_flips_key_by_key(store: &dyn Store) {
    let listed = |range: std::ops::Range<i64>| KeySet::list(range.map(Key::Int));
    let mappings = vec![mapping(listed(0..500), "a"), mapping(listed(500..505), "b")];
    let first = version(store, Strategy::List, mappings);
    let moves = [listed(10..12), listed(490..500)];
    let versions = flips_twice(store, &first, moves).await;
    assert_eq!(versions[2].owned_by(&"b".into()).spans().len(), 17);
    let history = store.history(&first.name).await.unwrap();
    let counts: Vec<_> = history
        .iter()
        .map(|version| (version.pieces, version.added, version.removed))
        .collect();
    assert_eq!(counts, [(505, 505, 0), (505, 2, 2), (505, 10, 10)]);
}

/// The next map of the name may divide keys in another way. No version of the removed map is read as one of it.
async fn a_removed_map_leaves_its_name_and_its_numbers(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    let first = ShardMap {
        mappings: vec![mapping(keys(None, None), "a")],
        ..map(store.incarnation())
    };
    let name = &first.name;
    assert_eq!(store.create_map(&first, "op").await.unwrap(), MapVersion(1));
    store.remove_map(name, "op").await.unwrap();
    assert_eq!(store.map(name).await.unwrap(), None);
    assert_eq!(store.map_at(name, MapVersion(1)).await.unwrap(), None);
    assert!(store.maps().await.unwrap().is_empty());
    let again = store.remove_map(name, "op").await.unwrap_err();
    assert_eq!(again.to_string(), "there is no map tenants");
    store.remove_shard(&"a".into()).await.unwrap();

    let listed = KeySet::list([Key::Int(1), Key::Int(2)]);
    let mut second = version(store, Strategy::List, vec![mapping(listed, "b")]);
    second.name = name.clone();
    assert_eq!(
        store.create_map(&second, "op").await.unwrap(),
        MapVersion(3)
    );
    let exists = store.create_map(&second, "op").await.unwrap_err();
    assert_eq!(exists.to_string(), "map tenants exists already");
    second.version = MapVersion(3);
    assert_eq!(store.map(name).await.unwrap().as_deref(), Some(&second));
    let read = store.map_at(name, MapVersion(3)).await.unwrap();
    assert_eq!(read.as_deref(), Some(&second));
    assert_eq!(store.map_at(name, MapVersion(1)).await.unwrap(), None);
    let history = store.history(name).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].pieces, history[0].added), (2, 2));
}

async fn the_next_version_is_made_once(store: &dyn Store) {
    register(store, &["a", "b"]).await;
    let first = ShardMap {
        mappings: vec![
            mapping(keys(Some(0), Some(5)), "a"),
            mapping(keys(Some(5), Some(9)), "a"),
        ],
        ..map(store.incarnation())
    };
    store.create_map(&first, "op").await.unwrap();
    let mut next = first.clone().joined();
    next.mappings.push(mapping(keys(Some(9), None), "b"));
    next.version = MapVersion(2);
    store.put_version(&next, "other").await.unwrap();
    let name = &first.name;
    assert_eq!(store.map(name).await.unwrap().as_deref(), Some(&next));
    let earlier = store.map_at(name, MapVersion(1)).await.unwrap();
    assert_eq!(earlier.as_deref(), Some(&first));
    let settings = MapSettings {
        ignore: vec!["logs".to_owned()],
        ..MapSettings::default()
    };
    let record = SettingsRecord {
        map: name.clone(),
        revision: 2,
        settings: settings.clone(),
        by: "op".to_owned(),
        created_at: chrono::Utc::now(),
    };
    store.put_settings(&record).await.unwrap();
    let with_settings = ShardMap {
        settings,
        ..first.clone()
    };
    for _ in 0..2 {
        let earlier = store.map_at(name, MapVersion(1)).await.unwrap();
        assert_eq!(earlier.as_deref(), Some(&with_settings));
    }
    let error = store.put_version(&next, "op").await.unwrap_err();
    assert_eq!(error.to_string(), "map tenants is at version 2, not 1");
    let record = &store.history(name).await.unwrap()[1];
    assert_eq!(
        (record.by.as_str(), record.pieces, &record.migration),
        ("other", 2, &None)
    );
}

async fn keys_that_move_keep_their_owner(store: &dyn Store) {
    seeded(store).await;
    let first = store.map(&"tenants".into()).await.unwrap().unwrap();
    let with = |mappings| ShardMap {
        version: MapVersion(2),
        mappings,
        ..ShardMap::clone(&first)
    };
    let taken = with(vec![
        mapping(keys(None, Some(9)), "a"),
        mapping(keys(Some(9), None), "b"),
    ]);
    let error = store.put_version(&taken, "op").await.unwrap_err();
    assert!(matches!(error, StoreError::KeysMoving { .. }), "{error}");
    let cut = with(vec![
        mapping(keys(None, Some(3)), "b"),
        mapping(keys(Some(3), Some(9)), "a"),
        mapping(keys(Some(9), None), "a"),
    ]);
    store.put_version(&cut, "op").await.unwrap();
    let read = store.map(&first.name).await.unwrap();
    assert_eq!(read.as_deref(), Some(&cut));
    let proven = ShardMap {
        version: MapVersion(3),
        ..taken
    };
    store.put_proven_version(&proven, "op").await.unwrap();
    let read = store.map(&first.name).await.unwrap();
    assert_eq!(read.as_deref(), Some(&proven));
}

async fn settings_follow_one_another(store: &dyn Store) {
    seeded(store).await;
    let name = MapName::from("tenants");
    let new = SettingsRecord {
        map: name.clone(),
        revision: 2,
        settings: MapSettings {
            sequences: Sequences::Block,
            reference: vec!["countries".to_owned()],
            ..MapSettings::default()
        },
        by: "op".to_owned(),
        created_at: at(3),
    };
    store.put_settings(&new).await.unwrap();
    let error = store.put_settings(&new).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the settings of map tenants are at revision 2, not 1"
    );
    let revisions = store.settings(&name).await.unwrap();
    assert_eq!(revisions[0], new);
    assert_eq!((revisions.len(), revisions[1].revision), (2, 1));
    let map = store.map(&name).await.unwrap().unwrap();
    assert_eq!((&map.settings, map.version), (&new.settings, MapVersion(1)));
    assert!(store.settings(&"other".into()).await.unwrap().is_empty());
}

/// Map, version, lower, upper, first and last virtual shard, key, shard, state or author.
type ViewRow = (
    String,
    i64,
    Option<String>,
    Option<String>,
    Option<i32>,
    Option<i32>,
    Option<String>,
    String,
    String,
);

#[tokio::test]
async fn applications_read_maps_in_views() {
    let database = Database::new().await;
    let store = database.led().await;
    seeded(&store).await;
    let uuid = KeyType::Uuid
        .read("7f000000-0000-0000-0000-000000000001")
        .unwrap();
    let keys = [
        (Strategy::Hash, KeyType::Bigint, KeySet::buckets(16, 4, 8)),
        (Strategy::List, KeyType::Uuid, KeySet::list([uuid])),
    ];
    for (strategy, kind, keys) in keys {
        let map = ShardMap {
            name: MapName::from(strategy.name()),
            key: vec![kind],
            ..version(&store, strategy, Vec::new())
        };
        let mappings = vec![mapping(keys, "b")];
        store
            .create_map(&ShardMap { mappings, ..map }, "op")
            .await
            .unwrap();
    }
    flip(&store, &"m1".into()).await;
    submit(&store, "m2", 2, (Some(-5), Some(0))).await.unwrap();
    let pool = database.pool().await;
    let read = async |view: &str, last: &str| -> Vec<String> {
        let columns = "lower, upper, bucket_from, bucket_to, key, shard";
        let rows: Vec<ViewRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "select map, version, {columns}, {last} from shardwright.{view} order by map, version, upper"
        )))
        .fetch_all(&pool)
        .await
        .unwrap();
        let text = |(map, version, lower, upper, from, to, key, shard, last): ViewRow| {
            let ends = [
                lower,
                upper,
                from.map(|n| n.to_string()),
                to.map(|n| n.to_string()),
                key,
            ];
            let ends: Vec<_> = ends
                .into_iter()
                .map(|end| end.unwrap_or_default())
                .collect();
            format!("{map} {version} [{}] {shard} {last}", ends.join("|"))
        };
        rows.into_iter().map(text).collect()
    };
    let others = [
        "hash 1 [||4|8|] b",
        "list 1 [||||7f000000-0000-0000-0000-000000000001] b",
    ];
    let expected = ["active", "active"]
        .iter()
        .zip(others)
        .map(|(s, row)| format!("{row} {s}"));
    let mut expected: Vec<String> = expected.collect();
    expected
        .extend(["tenants 2 [|5|||] a moving", "tenants 2 [5||||] b active"].map(str::to_owned));
    assert_eq!(read("shard_map", "state").await, expected);
    let mut expected: Vec<String> = others.iter().map(|row| format!("{row} op")).collect();
    let tenants = [
        "tenants 1 [||||] a op",
        "tenants 2 [|5|||] a m1",
        "tenants 2 [5||||] b m1",
    ];
    expected.extend(tenants.map(str::to_owned));
    assert_eq!(read("shard_map_history", "created_by").await, expected);
}
