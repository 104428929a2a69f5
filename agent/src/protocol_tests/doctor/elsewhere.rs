//! Defects that a primary cannot have, and findings of a load measurement.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::{Cluster, Options, Shutdown};
use plans::id::MapName;
use plans::inspection::{Inspected, Inspection, LoadTask};
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::request::Measure;
use plans::shard_map::{KeyColumns, Strategy};

use super::{Database, GOOD, ddl, examine, judge, plant, reference, server, server_of_its_own};
use crate::inspect;

/// Creates a standby of this server, which is stopped for that.
fn standby_of(cluster: &Arc<Cluster>) -> Cluster {
    let options = Options::temporary("doctor-standby")
        .setting("fsync", "off")
        .setting("max_replication_slots", "10")
        .setting("max_wal_senders", "10")
        .binaries(cluster.binaries().clone());
    cluster.stop(Shutdown::Fast).expect("stopped");
    let standby = cluster.standby_by_files("standby", options);
    cluster.start().expect("started");
    let standby = standby.expect("copied");
    standby.start().expect("started");
    standby
}

#[tokio::test]
async fn a_standby_is_found() {
    let primary = Database::on(server_of_its_own("doctor_primary").await, "primary_of").await;
    ddl(&primary, GOOD).await;
    let cluster = Arc::clone(&primary.cluster);
    let made = tokio::task::spawn_blocking(move || standby_of(&cluster)).await;
    let standby = made.expect("made");
    let found = examine(plant("", "").task(&standby.dsn("primary_of", "postgres"))).await;
    assert_eq!(judge("server.standby", &found.findings), None);
}

#[tokio::test]
async fn a_table_whose_writes_are_not_counted_is_found() {
    let database = Database::on(server().await, "uncounted").await;
    ddl(&database, "create table bare (tenant_id bigint not null)").await;
    let task = LoadTask {
        whole: None,
        map: MapName::from("orders"),
        shard: reference("a", 1, &database.dsn_text()),
        strategy: Strategy::Range,
        buckets: 0,
        key: vec![KeyType::Bigint],
        tables: BTreeMap::from([("bare".to_owned(), KeyColumns(vec!["tenant_id".to_owned()]))]),
        owned: KeySet::range(None, None),
        by: Measure::Rows,
        watch_seconds: 1,
        items: 8,
        hottest: 3,
    };
    match inspect::run(&Inspection::Load(task), &std::env::temp_dir()).await {
        Ok(Inspected::Load(load)) => assert_eq!(judge("load.identity", &load.findings), None),
        other => panic!("{other:?}"),
    }
}
