//! One query to all shards, on real servers.

use crate::map_server::{MapServer, map_of_one_shard};
use client::{BoxError, ClientError, FanOut, Map, MapVersion, Options, ShardAccess, ShardName};
use cluster::Cluster;
use connect::Dsn;
use futures::FutureExt;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Shards `a`, `b` and `c`: databases of one server. Keys from 10 on are b's, from 20 on c's.
struct Fleet {
    cluster: Cluster,
    server: Arc<MapServer>,
    map: Map,
}

impl Fleet {
    async fn start(name: &'static str) -> Self {
        let options = cluster::Options::temporary(name).setting("fsync", "off");
        let launch = move || Cluster::launch(options).unwrap();
        let cluster = tokio::task::spawn_blocking(launch).await.unwrap();
        for shard in ["a", "b", "c"] {
            sql(&cluster, "postgres", &format!("create database {shard}")).await;
        }
        // The old owners still have the rows of moved keys, as before the end of a move.
        for (shard, keys) in [("a", "0, 29"), ("b", "10, 19"), ("c", "20, 29")] {
            let fill =
                format!("create table t (k bigint); insert into t select generate_series({keys})");
            sql(&cluster, shard, &fill).await;
        }
        let server = MapServer::start(map_of_one_shard("a")).await;
        server.split_off("a", 10, "b");
        server.split_off("b", 20, "c");
        let dsn = |name: &str| Dsn::parse(&cluster.dsn(name, "postgres")).unwrap();
        let shards: HashMap<ShardName, Dsn> =
            ["a", "b", "c"].map(|name| (name.into(), dsn(name))).into();
        let options = Options {
            retry_for: Duration::from_millis(100),
            ..Options::default()
        };
        let access = ShardAccess::fixed(shards);
        let map = Map::connect_with(&server.url, &"tenants".into(), access, options).await;
        Self {
            cluster,
            server: Arc::new(server),
            map: map.unwrap(),
        }
    }
}

async fn sql(cluster: &Cluster, database: &str, text: &str) {
    let dsn = Dsn::parse(&cluster.dsn(database, "postgres")).unwrap();
    let (client, task) = connect::connect_plain(&dsn).await.unwrap();
    client.batch_execute(text).await.unwrap();
    drop(client);
    task.await.unwrap();
}

/// Returns for each shard the number of its rows whose keys it owns.
async fn count_rows(map: &Map, limit: usize) -> FanOut<i64> {
    let answers = map.on_all(limit, |part, tx| {
        async move {
            let own = part.predicate(&["t.k"])?;
            let rows = tx
                .query(&format!("select count(*) from t where {own}"), &[])
                .await?;
            Ok::<i64, BoxError>(rows.first().ok_or("no row")?.get(0))
        }
        .boxed()
    });
    answers.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_is_counted_once_under_one_version() {
    let fleet = Fleet::start("fan-out").await;
    let counts = count_rows(&fleet.map, 2).await;
    assert_eq!((counts.version, counts.newer), (MapVersion(3), None));
    assert_eq!(counts.all().unwrap(), [10, 10, 10]);

    // The owner of keys changes while the shards are queried.
    let answers = fleet.map.on_all(1, |part, _| {
        let (server, map) = (Arc::clone(&fleet.server), fleet.map.clone());
        async move {
            if part.shard().as_str() == "a" {
                server.split_off("c", 25, "a");
                while map.current().version < MapVersion(4) {
                    tokio::task::yield_now().await;
                }
            }
            Ok::<(), BoxError>(())
        }
        .boxed()
    });
    let answers = answers.await.unwrap();
    assert_eq!(
        (answers.version, answers.newer),
        (MapVersion(3), Some(MapVersion(4)))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_as_many_shards_as_the_limit_are_queried_at_once() {
    let fleet = Fleet::start("fan-limit").await;
    for (limit, most) in [(0, 1), (1, 1), (2, 2), (9, 3)] {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let answers = fleet.map.on_all(limit, |_, tx| {
            let counts = Arc::clone(&counts);
            async move {
                let (running, most_running) = &*counts;
                most_running.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                // Waits until the maximum number of transactions has once run at the same time.
                while most_running.load(SeqCst) < most {
                    tokio::task::yield_now().await;
                }
                tx.query("select 1", &[]).await?;
                running.fetch_sub(1, SeqCst);
                Ok::<(), BoxError>(())
            }
            .boxed()
        });
        assert_eq!(answers.await.unwrap().all().unwrap().len(), 3);
        assert_eq!(counts.1.load(SeqCst), most, "limit {limit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_are_refused_and_one_unreachable_shard_does_not_affect_the_others() {
    let fleet = Fleet::start("fan-faults").await;
    let written = fleet.map.on_all(3, |_, tx| {
        async move { tx.execute("insert into t values (1)", &[]).await }.boxed()
    });
    for (shard, answer) in written.await.unwrap().shards {
        let error = answer.unwrap_err();
        assert!(
            matches!(error, ClientError::RolledBack { .. }),
            "{shard}: {error}"
        );
    }
    let disconnect = "alter database b allow_connections false; select pg_terminate_backend(pid) from pg_stat_activity where datname = 'b'";
    sql(&fleet.cluster, "postgres", disconnect).await;
    let mut counts = count_rows(&fleet.map, 3).await;
    let silent = counts.shards.remove(&"b".into()).unwrap();
    assert!(silent.is_err());
    assert_eq!(counts.all().unwrap(), [10, 10]);
    let wrong = fleet.map.on_all(3, |part, _| {
        let predicate = part.predicate(&["k", "l"]);
        async move { predicate }.boxed()
    });
    let error = wrong.await.unwrap().all().unwrap_err();
    assert!(matches!(error, ClientError::RolledBack { .. }), "{error}");
}
