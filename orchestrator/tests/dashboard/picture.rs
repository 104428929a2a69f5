//! The picture of a map: widths by load, pieces that lead to requests, versions, and a bound for its size.

use crate::fixture::{Dashboard, hash_map, mapping, range_map};
use crate::measured::{range, three_loads, three_ranges};
use orchestrator::store::{MapStore, NewShard, ShardStore, Store};
use plans::id::{MapName, ShardName};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{KeyColumns, ShardMap};

fn assert_says(page: &str, words: &[&str]) {
    for words in words {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn a_measure_that_was_not_measured_says_why() {
    let dashboard = Dashboard::with(three_ranges).await;
    let page = dashboard.page("/maps/tenants").await;
    assert_says(
        &page,
        &[
            "not measured yet",
            "were not measured since this controller started",
            "load not measured",
            "shardwright map load tenants",
            "a range without a bound has is not known",
        ],
    );
    dashboard.controller.keep_load(&three_loads(0));
    let page = dashboard.page("/maps/tenants?by=rows").await;
    assert_says(&page, &["did not count writes", "writes not measured"]);
    assert!(!page.contains("heat-"), "{page}");
    let none = dashboard.get("/maps/tenants?by=weight").await;
    assert_eq!(none.status(), 422);
}

#[tokio::test]
async fn widths_are_the_parts_of_the_chosen_measure() {
    let dashboard = Dashboard::with(three_ranges).await;
    dashboard.controller.keep_load(&three_loads(10_000));
    let by_rows = dashboard.page("/maps/tenants?by=rows").await;
    assert_says(
        &by_rows,
        &[
            "x=\"0%\" width=\"50%\"",
            "x=\"50%\" width=\"25%\"",
            "x=\"75%\" width=\"25%\"",
            "about 250 rows",
            "10.0 writes per second",
            "500 rows · 50.0 %",
            "<text class=\"middle\" x=\"62.500%\"",
            ">Hottest key: 150, 35.0 % of writes</text>",
        ],
    );
    let by_writes = dashboard.page("/maps/tenants?by=writes").await;
    assert_says(
        &by_writes,
        &[
            "x=\"0%\" width=\"50%\"",
            "heat-0",
            "heat-4",
            "100 writes counted",
        ],
    );
}

#[tokio::test]
async fn a_piece_leads_to_requests_about_its_keys() {
    let dashboard = Dashboard::with(three_ranges).await;
    dashboard.controller.keep_load(&three_loads(10_000));
    let page = dashboard.page("/maps/tenants?piece=1").await;
    assert_says(
        &page,
        &[
            "[100, 200) <span class=\"small\">on shard b",
            "since version 1",
            "action=\"/migrations/new\"",
            "name=\"operation\" value=\"split\"",
            "name=\"operation\" value=\"isolate\"",
            "the median of the rows, 130",
            "at=130&#38;side=upper\"",
            "<option value=\"150\">",
        ],
    );
    let href = "/migrations/new?operation=split&map=tenants&source=b&from=100&to=200&at=130&side=lower&target=c";
    let page = dashboard.page(href).await;
    assert_says(
        &page,
        &[
            "- shard: c\n    keys: { from: 100, to: 130 }\n  - shard: b\n    keys: { from: 130, to: 200 }",
            "It would move [100, 130) from b to c (online).",
            "At least 100 rows",
        ],
    );
    assert!(
        !dashboard
            .page("/maps/tenants?piece=9")
            .await
            .contains("id=\"piece\"")
    );
}

#[tokio::test]
async fn an_older_version_is_shown_with_what_it_changed() {
    let dashboard = Dashboard::with(three_ranges).await;
    let name = MapName::from("tenants");
    let map = dashboard.store.map(&name).await.unwrap().unwrap();
    let (b, c) = (ShardName::from("b"), ShardName::from("c"));
    let keys = range(Some(150), Some(200));
    let next = map.with_moved(&keys, &b, &c, &"m9".into()).unwrap();
    dashboard.store.put_version(&next, "mallory").await.unwrap();
    let page = dashboard.page("/maps/tenants").await;
    assert_says(
        &page,
        &[
            "Version 2 is in force",
            "by mallory.",
            "[150, 200): b → c",
            "[150, 200) since version 2",
            "class=\"changed-keys\"",
            "id=\"older\" href=\"/maps/tenants?version=1\"",
        ],
    );
    let old = dashboard.page("/maps/tenants?version=1&piece=1").await;
    assert_says(
        &old,
        &[
            "Version 1 of 2, not in force",
            "The first version.",
            "cannot be moved",
        ],
    );
    assert!(!old.contains("data-request"), "{old}");
    assert_eq!(dashboard.get("/maps/tenants?version=7").await.status(), 404);
}

#[tokio::test]
async fn an_exception_of_a_hash_map_is_marked_at_its_virtual_shard() {
    let with_exception = |map: ShardMap| {
        let mut map = hash_map(map);
        let keys = KeySet::single_keys(64, [Key::Int(7)]);
        map.mappings.push(mapping(keys, "c"));
        map
    };
    let dashboard = Dashboard::with(with_exception).await;
    let page = dashboard.page("/maps/tenants").await;
    assert_says(
        &page,
        &[
            "key 7: shard c, an exception of its virtual shard",
            "Keys with another owner than their virtual shard: 1",
        ],
    );
    let page = dashboard.page("/maps/tenants?piece=0").await;
    assert_says(&page, &["on shard c", "name=\"values\" value=\"7\""]);
}

/// A map of `mappings` ranges of ten keys on `shards` shards.
async fn large(mappings: i64, shards: i64) -> Dashboard {
    let dashboard = Dashboard::empty().await;
    for number in 0..shards {
        let name = ShardName(format!("s{number:05}"));
        let shard = NewShard::plain(name, "host=x".to_owned());
        dashboard.store.add_shard(&shard).await.unwrap();
    }
    let mapping_of = |number: i64| {
        let keys = range(Some(number * 10), Some(number * 10 + 10));
        mapping(keys, &format!("s{:05}", number * 7_919 % shards))
    };
    let map = ShardMap {
        mappings: (0..mappings).map(mapping_of).collect(),
        ..range_map(dashboard.store.incarnation())
    };
    dashboard.store.create_map(&map, "eve").await.unwrap();
    dashboard
}

#[tokio::test]
async fn the_page_of_a_large_map_is_bounded_and_says_what_is_drawn_together() {
    let dashboard = large(50_000, 500).await;
    let page = dashboard.page("/maps/tenants").await;
    assert!(page.len() < 400_000, "{} bytes", page.len());
    assert_says(
        &page,
        &["are thinner than a pixel", "part=0-", "more shards"],
    );
    let part = dashboard.page("/maps/tenants?part=0-9").await;
    assert_says(&part, &["This is a part of the map", "[90, 100)"]);
}

#[tokio::test]
async fn ranges_have_the_name_of_the_key_column() {
    let named = |map: ShardMap| {
        let mut map = three_ranges(map);
        for (table, column) in [
            ("tenants", "id"),
            ("orders", "tenant_id"),
            ("items", "tenant_id"),
        ] {
            let columns = KeyColumns(vec![column.to_owned()]);
            map.settings.tables.insert(table.to_owned(), columns);
        }
        map
    };
    let dashboard = Dashboard::with(named).await;
    let page = dashboard.page("/maps/tenants?piece=1").await;
    assert_says(
        &page,
        &[
            "ranges of tenant_id (bigint)",
            ">tenant_id 100</text>",
            ">200</text>",
            "tenant_id [100, 200) <span class=\"small\">on shard b",
            "class=\"keys\">tenant_id [200, ∞)",
        ],
    );
}
