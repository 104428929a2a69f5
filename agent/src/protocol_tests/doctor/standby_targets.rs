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
        mapped: None,
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

/// A source, and a standby of it that streams.
struct Pair {
    source: Database,
    standby: Database,
    dsn: String,
    primary: Connected,
    copy: Connected,
}

impl Pair {
    async fn new(name: &'static str) -> Self {
        let source = Database::with_settings(name, &[]).await;
        ddl(&source, GOOD).await;
        let standby = source.standby(name).await;
        let (primary, copy) = (source.session().await, standby.session().await);
        let streams = "select count(*) = 1 from pg_stat_wal_receiver where status = 'streaming'";
        until_true(&copy, streams).await;
        Self {
            dsn: standby.dsn_text(),
            source,
            standby,
            primary,
            copy,
        }
    }

    /// Checks that the survey refuses the standby for this reason alone.
    async fn assert_refused(&self, code: &str) {
        let found = refusals(&self.source, &self.dsn).await;
        assert_eq!(found, BTreeSet::from([code.to_owned()]));
    }
}

#[tokio::test]
async fn each_defect_of_a_standby_is_found_by_its_code_alone() {
    let pair = Pair::new("standby_targets").await;
    assert_eq!(refusals(&pair.source, &pair.dsn).await, BTreeSet::new());
    let elsewhere = Database::new("standby_targets_else").await;
    let found = refusals(&pair.source, &elsewhere.dsn_text()).await;
    assert_eq!(found, BTreeSet::from(["seed.standby".to_owned()]));
    paused(&pair).await;
    unprivileged(&pair).await;
    subscribed(&pair).await;
    synchronous(&pair).await;
    disconnected(&pair).await;
}

async fn paused(pair: &Pair) {
    let Pair { primary, copy, .. } = pair;
    run(copy, "select pg_wal_replay_pause()").await;
    until_true(copy, "select pg_get_wal_replay_pause_state() = 'paused'").await;
    pair.assert_refused("seed.paused").await;
    run(primary, "create table public.more (id int); checkpoint").await;
    let mut findings = Findings::default();
    survey::check_replay(primary, copy, 0, &mut findings)
        .await
        .expect("read");
    let found = findings.as_slice().iter();
    let found: BTreeSet<&str> = found.map(|finding| finding.code.as_str()).collect();
    assert_eq!(found, BTreeSet::from(["seed.lag", "seed.paused"]));
    run(copy, "select pg_wal_replay_resume()").await;
}

async fn unprivileged(pair: &Pair) {
    let create = "create role plain login replication password 'plain'";
    run(&pair.primary, create).await;
    let exists = "select true from pg_roles where rolname = 'plain'";
    until_true(&pair.copy, exists).await;
    let plain = pair.standby.dsn_as("plain", "plain");
    let plain = connect::connect(&plain, &connect::Session::named("test"))
        .await
        .expect("a session");
    let mut findings = Findings::default();
    survey::check_privilege(&plain, &mut findings)
        .await
        .expect("read");
    let found = findings.as_slice().iter();
    let found: Vec<&str> = found.map(|finding| finding.code.as_str()).collect();
    assert_eq!(found, ["seed.privilege"]);
}

async fn subscribed(pair: &Pair) {
    let Pair { primary, copy, .. } = pair;
    let create = "create subscription planted connection 'host=127.0.0.1 port=1 dbname=none' publication none
                  with (connect = false, slot_name = 'planted')";
    run(primary, create).await;
    run(primary, "alter subscription planted enable").await;
    until_true(copy, "select true from pg_subscription where subenabled").await;
    pair.assert_refused("seed.subscription").await;
    for undo in [
        "alter subscription planted disable",
        "alter subscription planted set (slot_name = none)",
        "drop subscription planted",
    ] {
        run(primary, undo).await;
    }
    until_true(copy, "select count(*) = 0 from pg_subscription").await;
}

async fn synchronous(pair: &Pair) {
    let state = |state: &str| format!("select sync_state = '{state}' from pg_stat_replication");
    let primary = &pair.primary;
    let set = "alter system set synchronous_standby_names = 'standby_targets'";
    run(primary, set).await;
    run(primary, "select pg_reload_conf()").await;
    until_true(primary, &state("sync")).await;
    pair.assert_refused("seed.synchronous").await;
    let reset = "alter system reset synchronous_standby_names";
    run(primary, reset).await;
    run(primary, "select pg_reload_conf()").await;
    until_true(primary, &state("async")).await;
}

async fn disconnected(pair: &Pair) {
    run(&pair.copy, "alter system set primary_conninfo = ''").await;
    run(&pair.copy, "select pg_reload_conf()").await;
    let gone = "select count(*) = 0 from pg_stat_wal_receiver";
    until_true(&pair.copy, gone).await;
    pair.assert_refused("seed.stream").await;
}
