//! Defects of a server: settings, slots and prepared transactions. The tests run one after the other, because all
//! databases of the server show them.

use std::collections::BTreeSet;

use super::{Database, GOOD, codes, ddl, examine, judge, plant, server_of_its_own};
use crate::protocol_tests::shard::until;

/// The setting, its value, and the expected code.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("max_slot_wal_keep_size", "1GB", "server.keep_size"),
    ("wal_sender_timeout", "2s", "server.sender_timeout"),
    ("synchronous_standby_names", "nobody", "standby.missing"),
    ("idle_replication_slot_timeout", "1h", "server.idle_slots"),
];

#[tokio::test]
async fn each_defect_of_a_server_is_found_by_its_code_alone() {
    let database = Database::on(server_of_its_own("doctor_server").await, "served").await;
    ddl(&database, GOOD).await;
    let session = database.session().await;
    let known = "select 1 from pg_catalog.pg_settings where name = $1";
    for (name, value, code) in SETTINGS {
        if session
            .query_opt(known, &[&name])
            .await
            .expect("asked")
            .is_none()
        {
            continue;
        }
        set(
            &database,
            &format!("alter system set {name} = '{value}'"),
            name,
        )
        .await;
        let found = examine(plant("", "").task(&database.dsn_text())).await;
        set(&database, &format!("alter system reset {name}"), name).await;
        assert_eq!(judge(code, &found.findings), None);
    }
    for (plant_it, undo, code) in [
        (
            "select pg_create_physical_replication_slot('planted_' || n) from generate_series(1, 8) n",
            "select pg_drop_replication_slot('planted_' || n) from generate_series(1, 8) n",
            "server.slots",
        ),
        (
            "begin; insert into public.good values (1, 1); prepare transaction 'planted'",
            "rollback prepared 'planted'",
            "transaction.prepared",
        ),
    ] {
        session.batch_execute(plant_it).await.expect("planted");
        let found = examine(plant("", "").task(&database.dsn_text())).await;
        session.batch_execute(undo).await.expect("undone");
        assert_eq!(judge(code, &found.findings), None);
        for finding in found
            .findings
            .iter()
            .filter(|found| found.code == "transaction.prepared")
        {
            let where_it_ends = "in database served: commit prepared 'planted'";
            assert!(
                finding.remedy.starts_with(where_it_ends),
                "{}",
                finding.remedy
            );
        }
    }
    let (found, text) = codes(
        &examine(plant("", "").task(&database.dsn_text()))
            .await
            .findings,
    );
    assert_eq!(found, BTreeSet::new(), "{text}");
}

/// Changes a setting, and waits until new sessions have the new value.
async fn set(database: &Database, sql: &str, name: &str) {
    let session = database.session().await;
    let show = "select reset_val || coalesce(pending_restart::text, '') from pg_catalog.pg_settings where name = $1";
    let value = async || -> String {
        let fresh = database.session().await;
        fresh.query_one(show, &[&name]).await.expect("read").get(0)
    };
    let before = value().await;
    session.batch_execute(sql).await.expect("set");
    session
        .batch_execute("select pg_catalog.pg_reload_conf()")
        .await
        .expect("reloaded");
    until("a setting in force", || async { value().await != before }).await;
}

#[tokio::test]
async fn a_server_that_does_not_wait_for_its_disk_is_found() {
    let quick = Database::on(super::server().await, "quick").await;
    ddl(&quick, GOOD).await;
    let found = examine(plant("", "").task(&quick.dsn_text())).await;
    let found: Vec<&str> = found.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(found, [super::QUICK]);
}

#[tokio::test]
async fn a_server_without_logical_log_is_found() {
    let replica = Database::with_settings("doctor_wal", &[("wal_level", "replica")]).await;
    ddl(&replica, GOOD).await;
    let found = examine(plant("", "").task(&replica.dsn_text())).await;
    assert_eq!(judge("server.wal_level", &found.findings), None);
    let found = examine(plant("", "").offline().task(&replica.dsn_text())).await;
    let (found, text) = codes(&found.findings);
    assert_eq!(
        found,
        BTreeSet::new(),
        "an offline move captures nothing: {text}"
    );
}
