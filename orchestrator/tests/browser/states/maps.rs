//! Maps of each strategy, measured and not, with a piece in detail, in an older version, and too large to draw each
//! piece; and both sides of a request.

use super::Shown;
use crate::fixture::{Dashboard, hash_map, list_map, mapping};
use crate::measured::{range, three_loads, three_ranges};
use orchestrator::store::MapStore;
use plans::id::{MapName, ShardName};
use plans::shard_map::ShardMap;

pub(super) async fn all() -> Vec<Shown> {
    let page: &[&str] = &["/maps/tenants"];
    vec![
        Shown::new("map: hash", Dashboard::with(hash_map).await, page).says(&["64 virtual shards"]),
        Shown::new("map: list", Dashboard::with(list_map).await, page).says(&["151 keys of text"]),
        Shown::new(
            "map: range",
            Dashboard::with_map().await,
            &["/maps/tenants", "/maps/tenants/diff"],
        )
        .says(&["tenants"]),
        Shown::new(
            "map: measured",
            measured().await,
            &["/maps/tenants?by=rows", "/maps/tenants?by=writes&shard=b"],
        )
        .says(&["Load measured"]),
        Shown::new(
            "map: piece",
            measured().await,
            &["/maps/tenants?by=rows&piece=1"],
        )
        .says(&["Split at the median of the rows"]),
        Shown::new(
            "map: older version",
            changed().await,
            &["/maps/tenants?version=1"],
        )
        .says(&["not in force"]),
        Shown::new("map: large", large().await, page).says(&["thinner than a pixel"]),
        Shown::new(
            "page: request",
            Dashboard::with(three_ranges).await,
            &[
                "/migrations/new?view=yaml",
                "/migrations/new?example=split",
                "/migrations/new?example=split&view=yaml",
                "/migrations/new?example=move",
                "/migrations/new?example=drain",
                "/migrations/new?example=rebalance",
            ],
        )
        .says(&["Make the plan"]),
    ]
}

async fn measured() -> Dashboard {
    let dashboard = Dashboard::with(three_ranges).await;
    dashboard.controller.keep_load(&three_loads(10_000));
    dashboard
}

/// Version 2 gave some keys of `b` to `c`.
async fn changed() -> Dashboard {
    let dashboard = Dashboard::with(three_ranges).await;
    let name = MapName::from("tenants");
    let map = dashboard.store.map(&name).await.unwrap().unwrap();
    let (b, c) = (ShardName::from("b"), ShardName::from("c"));
    let keys = range(Some(150), Some(200));
    let next = map.with_moved(&keys, &b, &c, &"m9".into()).unwrap();
    dashboard.store.put_version(&next, "mallory").await.unwrap();
    dashboard
}

/// Ranges on three shards, more than a picture has pixels.
async fn large() -> Dashboard {
    let shards = ["a", "b", "c"];
    let pieces = (0..4_000_usize).map(|number| {
        let from = i64::try_from(number * 10).unwrap();
        let keys = range(Some(from), Some(from + 10));
        mapping(keys, shards[number * 7_919 % 17 % 3])
    });
    Dashboard::with(|map| ShardMap {
        mappings: pieces.collect(),
        ..map
    })
    .await
}
