//! The survey estimates how many rows move.

use std::collections::BTreeMap;

use plans::key_set::KeySet;
use plans::request::Mode;
use plans::shard_map::ThroughRef;

use super::shard::Shard as Database;
use super::survey::{run, task};
use crate::inspect::survey;

/// The planner does not know how many keys have a certain hash.
#[tokio::test]
async fn the_moving_rows_of_a_hash_map_are_counted_in_a_sample() {
    let source = Database::new("hashed_s").await;
    let target = Database::on(source.cluster.clone(), "hashed_t").await;
    run(
        &source,
        "create table account (tenant bigint, id bigint, v text, primary key (tenant, id)); \
         create table line (id bigint primary key, account bigint, owner bigint, foreign key (owner, account) references account); \
         create table empty (tenant bigint primary key); \
         insert into account select g % 2000, g, repeat('x', 300) from generate_series(1, 20000) g; \
         insert into line select g, g, g % 2000 from generate_series(1, 20000) g; analyze",
    )
    .await;
    let listed = [("account", "tenant"), ("empty", "tenant")];
    let mut task = task(&source.dsn_text(), &target.dsn_text(), &listed);
    task.keys = KeySet::buckets(16, 0, 4);
    task.mode = Mode::Offline;
    let through = ThroughRef {
        parent: "account".to_owned(),
        columns: BTreeMap::new(),
    };
    task.settings.through.insert("line".to_owned(), through);
    let survey = survey::run(&task).await.expect("surveyed");
    let found: BTreeMap<&str, i64> = survey
        .tables
        .iter()
        .zip(&survey.moving_ppm)
        .map(|(table, ppm)| (table.table.name.as_str(), *ppm))
        .collect();
    for name in ["account", "line"] {
        assert!((200_000..300_000).contains(&found[name]), "{found:?}");
    }
    assert_eq!(found["empty"], 0);
}
