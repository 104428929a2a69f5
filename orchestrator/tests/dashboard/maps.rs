//! Maps of each strategy: bars, shards, tables, rules, versions and what lies between two.

use crate::fixture::{Dashboard, hash_map, list_map, mapping};
use orchestrator::store::{MapStore, ShardStore, ShardUpdate};
use plans::id::{MapName, ShardName};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{Effect, KeyColumns, PlacementRule, Sequences, ShardMap};

/// Makes the version that gives `keys` of `from` to `to`.
async fn give(dashboard: &Dashboard, keys: KeySet, from: &str, to: &str) {
    let name = MapName::from("tenants");
    let map = dashboard.store.map(&name).await.unwrap().unwrap();
    let (from, to) = (ShardName::from(from), ShardName::from(to));
    let next = map.with_moved(&keys, &from, &to, &"m9".into()).unwrap();
    dashboard.store.put_version(&next, "mallory").await.unwrap();
}

#[tokio::test]
async fn a_hash_map_is_bars_of_virtual_shards() {
    let dashboard = Dashboard::with(hash_map).await;
    let page = dashboard.page("/maps/tenants").await;
    for words in [
        "64 virtual shards by the hash of key (bigint)",
        "32 of 64 virtual shards, 50.0 %",
        "x=\"50%\" width=\"50%\"",
        "buckets",
        "nothing",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let maps = dashboard.page("/maps").await;
    for words in ["href=\"/maps/tenants\"", "64 virtual shards", "hash"] {
        assert!(maps.contains(words), "{words}: {maps}");
    }
}

#[tokio::test]
async fn a_list_map_is_counts_with_a_bounded_list() {
    let dashboard = Dashboard::with(list_map).await;
    let page = dashboard.page("/maps/tenants").await;
    for words in [
        "151 keys of text, one by one",
        "<summary>150 keys</summary>",
        "<summary>1 key</summary>",
        "tenant-099",
        "and 50 more",
        "&#60;i&#62;",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("tenant-100"), "{page}");
    assert!(!page.contains("<i>"), "{page}");
    let maps = dashboard.page("/maps").await;
    assert!(maps.contains("1 key: b; 150 keys: a"), "{maps}");
    assert!(maps.contains("151 keys"), "{maps}");
}

#[tokio::test]
async fn ranges_of_any_type_fill_the_bar() {
    for (kind, key) in [
        (KeyType::Text, "m"),
        (KeyType::Uuid, "80000000-0000-0000-0000-000000000000"),
        (KeyType::Bytea, "\\x80"),
        (KeyType::Date, "2026-01-01"),
        (KeyType::Timestamptz, "2026-01-01 00:00:00+00"),
    ] {
        let split = |map: ShardMap| ShardMap {
            key: vec![kind],
            mappings: vec![
                mapping(KeySet::range(None, Some(Key::from(key))), "a"),
                mapping(KeySet::range(Some(Key::from(key)), None), "b"),
            ],
            ..map
        };
        let dashboard = Dashboard::with(split).await;
        let page = dashboard.page("/maps/tenants").await;
        assert!(page.contains("x=\"50%\" width=\"50%\""), "{kind}: {page}");
        assert!(page.contains(key), "{kind}: {page}");
    }
    let composite = |map: ShardMap| {
        let row = || Some(Key::Row(vec![Key::Int(7), Key::from("eu")]));
        ShardMap {
            key: vec![KeyType::Bigint, KeyType::Text],
            mappings: vec![
                mapping(KeySet::range(None, row()), "a"),
                mapping(KeySet::range(row(), None), "b"),
            ],
            ..map
        }
    };
    let page = Dashboard::with(composite).await.page("/maps/tenants").await;
    assert!(page.contains("ranges of key (bigint, text)"), "{page}");
}

#[tokio::test]
async fn tables_rules_sequences_and_labels_are_shown() {
    let dashboard = Dashboard::with(|mut map| {
        let settings = &mut map.settings;
        let columns = KeyColumns(vec!["tenant_id".to_owned()]);
        settings.tables.insert("orders".to_owned(), columns);
        settings.reference.push("countries".to_owned());
        settings.ignore.push("logs".to_owned());
        settings.sequences = Sequences::Block;
        settings.check_every = Some(3600);
        settings.rules.push(PlacementRule {
            name: "eu <only>".to_owned(),
            effect: Effect::Pin,
            keys: Some(KeySet::range(Some(Key::Int(7)), Some(Key::Int(9)))),
            shard: None,
            labels: [("region".to_owned(), "eu".to_owned())].into(),
        });
        map
    })
    .await;
    let update = ShardUpdate {
        name: ShardName::from("b"),
        labels: [("region".to_owned(), "eu".to_owned())].into(),
        capacity: 250,
        space: Some(1 << 30),
        dsn: None,
    };
    dashboard.store.update_shard(&update).await.unwrap();
    let page = dashboard.page("/maps/tenants").await;
    for words in [
        "key tenant_id",
        "same rows on every shard",
        "ignored",
        "block: each shard",
        "every 1h",
        "eu &#60;only&#62;",
        "only on",
        "<code>region=eu</code>",
        ">250<",
        "1.0 GiB",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn versions_lead_to_what_changed_between_them() {
    let dashboard = Dashboard::with_map().await;
    give(
        &dashboard,
        KeySet::range(Some(Key::Int(501)), None),
        "a",
        "b",
    )
    .await;
    give(
        &dashboard,
        KeySet::range(Some(Key::Int(900)), None),
        "b",
        "c",
    )
    .await;
    let page = dashboard.page("/maps/tenants").await;
    for words in [
        "Version 3 is in force",
        "mallory",
        "/maps/tenants/diff?from=2&amp;to=3",
        "from=1&amp;to=2",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let page = dashboard.page("/maps/tenants/diff?from=1&to=3").await;
    for words in [
        "Version 1 → 3",
        "[501, 900)",
        "<option selected>3</option>",
        "shardwright map diff tenants 1 3",
        "shardwright map revert tenants 1",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(
        dashboard
            .page("/maps/tenants/diff")
            .await
            .contains("Version 2 → 3")
    );
    let same = dashboard.page("/maps/tenants/diff?from=2&to=2").await;
    assert!(
        same.contains("Every key has the same owner in both"),
        "{same}"
    );
    for (path, status) in [("?from=1&to=9", 404), ("?from=x&to=1", 422)] {
        let path = format!("/maps/tenants/diff{path}");
        assert_eq!(dashboard.get(&path).await.status(), status, "{path}");
    }
    assert_eq!(dashboard.get("/maps/nope/diff").await.status(), 404);
}
