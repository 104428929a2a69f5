//! Defects of a standby that is to become the target of a move: each is found under its own code. A standby without a
//! defect has no finding that refuses it.

use std::collections::BTreeSet;

use connect::Connected;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::request::Seed;
use plans::survey::SurveyTask;

use super::{Database, GOOD, SETTINGS, ddl, reference};
use crate::inspect::findings::Findings;
use crate::inspect::survey;
use crate::protocol_tests::shard::until;

/// The codes of the findings that refuse the target. `dsn` leads to it, perhaps with another role.
async fn refusals(source: &Database, dsn: &str) -> BTreeSet<String> {
    let task = SurveyTask {
        map: "orders".into(),
        source: reference("a", 1, &source.dsn_text()),
        target: reference("b", 2, dsn),
        settings: super::read(SETTINGS),
        keys: KeySet::range(Some(Key::Int(100)), Some(Key::Int(200))),
        key: vec![KeyType::Bigint],
        mode: plans::request::Mode::Online,
        seed: Seed::Standby,
        again: false,
        trial: false,
    };
    let survey = survey::run(&task).await.expect("surveyed");
    let of_shard_b = survey
        .findings
        .iter()
        .filter(|f| f.object.contains("shard b"));
    of_shard_b.map(|finding| finding.code.clone()).collect()
}

fn only(code: &str) -> BTreeSet<String> {
    BTreeSet::from([code.to_owned()])
}

/// Waits until the query returns true.
async fn until_true(session: &Connected, query: &str) {
    until(query, || async {
        let row = session.query_opt(query, &[]).await.expect("read");
        row.is_some_and(|row| row.get(0))
    })
    .await;
}

async fn run(session: &Connected, sql: &str) {
    session.batch_execute(sql).await.expect(sql);
}

#[tokio::test]
async fn each_defect_of_a_standby_is_found_by_its_code_alone() {
    let source = Database::with_settings("standby_targets", &[]).await;
    ddl(&source, GOOD).await;
    let standby = source.standby("standby_targets").await;
    let dsn = standby.dsn_text();
    let (primary, copy) = (source.session().await, standby.session().await);
    until_true(
        &copy,
        "select count(*) = 1 from pg_stat_wal_receiver where status = 'streaming'",
    )
    .await;
    assert_eq!(refusals(&source, &dsn).await, BTreeSet::new());

    let elsewhere = Database::new("standby_targets_else").await;
    assert_eq!(
        refusals(&source, &elsewhere.dsn_text()).await,
        only("seed.standby")
    );

    run(&copy, "select pg_wal_replay_pause()").await;
    until_true(&copy, "select pg_get_wal_replay_pause_state() = 'paused'").await;
    assert_eq!(refusals(&source, &dsn).await, only("seed.paused"));
    run(&primary, "create table public.more (id int); checkpoint").await;
    let mut findings = Findings::default();
    survey::check_replay(&primary, &copy, 0, &mut findings)
        .await
        .expect("read");
    let found = findings
        .as_slice()
        .iter()
        .map(|finding| finding.code.clone());
    assert_eq!(
        found.collect::<BTreeSet<_>>(),
        ["seed.lag", "seed.paused"].map(String::from).into()
    );
    run(&copy, "select pg_wal_replay_resume()").await;

    run(
        &primary,
        "create role plain login replication password 'plain'",
    )
    .await;
    until_true(&copy, "select true from pg_roles where rolname = 'plain'").await;
    let plain = standby.dsn_as("plain", "plain");
    let plain = connect::connect(&plain, &connect::Session::named("test"))
        .await
        .expect("a session");
    let mut findings = Findings::default();
    survey::check_privilege(&plain, &mut findings)
        .await
        .expect("read");
    let found: Vec<&str> = findings
        .as_slice()
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    assert_eq!(found, ["seed.privilege"]);

    run(&primary, "create subscription planted connection 'host=127.0.0.1 port=1 dbname=none' publication none \
                   with (connect = false, slot_name = 'planted')").await;
    run(&primary, "alter subscription planted enable").await;
    until_true(&copy, "select true from pg_subscription where subenabled").await;
    assert_eq!(refusals(&source, &dsn).await, only("seed.subscription"));
    run(&primary, "alter subscription planted disable").await;
    run(
        &primary,
        "alter subscription planted set (slot_name = none)",
    )
    .await;
    run(&primary, "drop subscription planted").await;
    until_true(&copy, "select count(*) = 0 from pg_subscription").await;

    run(
        &primary,
        "alter system set synchronous_standby_names = 'standby_targets'",
    )
    .await;
    run(&primary, "select pg_reload_conf()").await;
    until_true(
        &primary,
        "select sync_state = 'sync' from pg_stat_replication",
    )
    .await;
    assert_eq!(refusals(&source, &dsn).await, only("seed.synchronous"));
    run(&primary, "alter system reset synchronous_standby_names").await;
    run(&primary, "select pg_reload_conf()").await;
    until_true(
        &primary,
        "select sync_state = 'async' from pg_stat_replication",
    )
    .await;

    run(&copy, "alter system set primary_conninfo = ''").await;
    run(&copy, "select pg_reload_conf()").await;
    until_true(&copy, "select count(*) = 0 from pg_stat_wal_receiver").await;
    assert_eq!(refusals(&source, &dsn).await, only("seed.stream"));
}
