//! Transactions that a guard refuses, that a crash ends, or that have errors of their own, on real servers.

use crate::map_server::{MapServer, map_of_one_shard};
use client::{ClientError, Key, Map, Options, ShardAccess, TransactionOptions};
use cluster::Cluster;
use connect::Dsn;
use futures::FutureExt;
use plans::id::ShardName;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Error;

/// A register and an AFTER guard, as a migration creates them. The value 0 is open; with any other value the guard
/// refuses writes.
const GUARD: &str = "
    create table t (k bigint, n bigint);
    create sequence register minvalue 0 start 0;
    create function guard() returns trigger language plpgsql as $$
    begin
        if (select last_value from register) <> 0 then
            raise exception 'not here' using errcode = tg_argv[0];
        end if;
        return null;
    end $$;";

struct Fleet {
    a: Cluster,
    b: Cluster,
    server: MapServer,
}

impl Fleet {
    async fn start() -> Self {
        let launch = |name: &'static str| {
            let options = cluster::Options::temporary(name).setting("fsync", "off");
            tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap())
        };
        let (a, b) = futures::join!(launch("client-a"), launch("client-b"));
        let (a, b) = (a.unwrap(), b.unwrap());
        for (cluster, state) in [(&a, "SM001"), (&b, "SM002")] {
            let trigger = format!(
                "create trigger guard after insert on t for each row when (new.k >= 10) \
                 execute function guard('{state}')"
            );
            sql(cluster, &format!("{GUARD} {trigger}")).await;
        }
        sql(&b, "select setval('register', 2)").await;
        let server = MapServer::start(map_of_one_shard("a")).await;
        Self { a, b, server }
    }

    async fn map(&self, options: Options) -> Map {
        let dsn = |c: &Cluster| Dsn::parse(&c.dsn("postgres", "postgres")).unwrap();
        let shards: HashMap<ShardName, Dsn> =
            [("a".into(), dsn(&self.a)), ("b".into(), dsn(&self.b))].into();
        let access = ShardAccess::fixed(shards);
        Map::connect_with(&self.server.url, &"tenants".into(), access, options)
            .await
            .unwrap()
    }
}

async fn sql(cluster: &Cluster, text: &str) {
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).unwrap();
    let (client, task) = connect::connect_plain(&dsn).await.unwrap();
    client.batch_execute(text).await.unwrap();
    drop(client);
    task.await.unwrap();
}

async fn insert(map: &Map, key: i64) -> Result<ShardName, ClientError> {
    map.with_shard(key, TransactionOptions::default(), move |tx| {
        async move {
            tx.execute("insert into t values ($1, 1)", &[&key]).await?;
            Ok::<_, Error>(tx.shard().clone())
        }
        .boxed()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_finds_the_new_owner() {
    let fleet = Fleet::start().await;
    let map = fleet.map(Options::default()).await;
    assert_eq!(insert(&map, 10).await.unwrap(), "a".into());

    sql(&fleet.a, "select setval('register', 1)").await;
    let refused = tokio::spawn({
        let map = map.clone();
        async move { insert(&map, 11).await }
    });
    wait_until(|| map.stats().not_owner > 0).await;
    assert_eq!(insert(&map, 9).await.unwrap(), "a".into());
    fleet.server.split_off("a", 10, "b");
    wait_until(|| map.stats().not_open > 0).await;
    sql(&fleet.b, "select setval('register', 0)").await;

    assert_eq!(refused.await.unwrap().unwrap(), "b".into());
    assert_eq!(map.stats().refreshes, 1);
    assert_eq!(map.current().version.0, 2);
    assert_eq!(insert(&map, 9).await.unwrap(), "a".into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_commit_is_retried_and_one_during_commit_is_not() {
    let fleet = Arc::new(Fleet::start().await);
    let map = fleet.map(Options::default()).await;
    insert(&map, 1).await.unwrap();
    let crash = Arc::clone(&fleet);
    tokio::task::spawn_blocking(move || {
        crash.a.kill().unwrap();
        crash.a.start().unwrap();
    })
    .await
    .unwrap();
    insert(&map, 2).await.unwrap();
    assert!(map.stats().retries <= 1);

    sql(
        &fleet.a,
        "create function hang() returns trigger language plpgsql as $$
         begin perform pg_sleep(60); return null; end $$;
         create constraint trigger hang after insert on t deferrable initially deferred
         for each row when (new.k = 5) execute function hang()",
    )
    .await;
    let hanging = tokio::spawn({
        let map = map.clone();
        async move { insert(&map, 5).await }
    });
    let asleep = "do $$ begin
        while not exists (select 1 from pg_stat_activity where wait_event = 'PgSleep') loop
            perform pg_stat_clear_snapshot();
        end loop;
    end $$";
    sql(&fleet.a, asleep).await;
    let crash = Arc::clone(&fleet);
    tokio::task::spawn_blocking(move || crash.a.kill().unwrap())
        .await
        .unwrap();
    let error = hanging.await.unwrap().unwrap_err();
    assert!(
        matches!(error, ClientError::CommitUnknown { .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_a_retry_cannot_fix_are_returned_at_once() {
    let fleet = Fleet::start().await;
    let options = Options {
        retry_for: Duration::from_millis(100),
        ..Options::default()
    };
    let map = fleet.map(options).await;
    let plain = TransactionOptions::default();
    let key = Key::Int(1);

    let ignored = map.with_shard(&key, plain, |tx| {
        async move {
            let _ = tx.execute("insert into nowhere values (1)", &[]).await;
            let _ = tx.execute("select 1/0", &[]).await;
            Ok::<_, Error>(())
        }
        .boxed()
    });
    let error = ignored.await.unwrap_err();
    assert!(
        matches!(error, ClientError::FailedStatementIgnored { .. }),
        "{error}"
    );

    let refused = map.with_shard(&key, plain, |tx| {
        async move { tx.execute("insert into nowhere values (1)", &[]).await }.boxed()
    });
    let error = refused.await.unwrap_err();
    assert!(matches!(error, ClientError::RolledBack { .. }), "{error}");
    assert_eq!(map.stats().retries, 0);

    sql(&fleet.a, "select setval('register', 1)").await;
    let error = insert(&map, 12).await.unwrap_err();
    assert!(matches!(error, ClientError::GaveUp { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_in_use_are_reported_on_request() {
    let server = MapServer::start(map_of_one_shard("a")).await;
    let options = Options {
        report_load: Some(Duration::from_millis(20)),
        ..Options::default()
    };
    let access = ShardAccess::fixed(HashMap::new());
    let map = Map::connect_with(&server.url, &"tenants".into(), access, options)
        .await
        .unwrap();
    for key in [7_i64, 8, 7] {
        assert_eq!(map.shard_for(key).unwrap(), "a".into());
    }
    assert!(map.shard_for("seven").is_err());
    let counters = tokio::time::timeout(Duration::from_secs(60), server.counters(3))
        .await
        .expect("in time");
    assert_eq!(counters, [(7, 2), (8, 1)].into());
}

/// Waits until another task has made `condition` true.
async fn wait_until(condition: impl Fn() -> bool) {
    let condition_holds = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), condition_holds)
        .await
        .expect("in time");
}
