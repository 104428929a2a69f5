//! One query to all shards, on real servers.

use crate::map_server::{MapServer, whole};
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
        // Rows of keys that moved are still where they were, as they are until a move is finished.
        for (shard, keys) in [("a", "0, 29"), ("b", "10, 19"), ("c", "20, 29")] {
            let fill =
                format!("create table t (k bigint); insert into t select generate_series({keys})");
            sql(&cluster, shard, &fill).await;
        }
        let server = MapServer::start(whole("a")).await;
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

/// The number of own rows of each shard.
async fn counted(map: &Map, limit: usize) -> FanOut<i64> {
    let asked = map.on_all(limit, |part, tx| {
        async move {
            let own = part.predicate(&["t.k"])?;
            let rows = tx
                .query(&format!("select count(*) from t where {own}"), &[])
                .await?;
            Ok::<i64, BoxError>(rows.first().ok_or("no row")?.get(0))
        }
        .boxed()
    });
    asked.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_is_counted_once_under_one_version() {
    let fleet = Fleet::start("fan-out").await;
    let counts = counted(&fleet.map, 2).await;
    assert_eq!((counts.version, counts.newer), (MapVersion(3), None));
    assert_eq!(counts.all().unwrap(), [10, 10, 10]);

    // Keys change hands while all are asked.
    let asked = fleet.map.on_all(1, |part, _| {
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
    let asked = asked.await.unwrap();
    assert_eq!(
        (asked.version, asked.newer),
        (MapVersion(3), Some(MapVersion(4)))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_are_asked_at_once_than_the_limit() {
    let fleet = Fleet::start("fan-limit").await;
    for (limit, most) in [(0, 1), (1, 1), (2, 2), (9, 3)] {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let asked = fleet.map.on_all(limit, |_, tx| {
            let counts = Arc::clone(&counts);
            async move {
                let (now, seen) = &*counts;
                seen.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                // Until as many are there as may be, once.
                while seen.load(SeqCst) < most {
                    tokio::task::yield_now().await;
                }
                tx.query("select 1", &[]).await?;
                now.fetch_sub(1, SeqCst);
                Ok::<(), BoxError>(())
            }
            .boxed()
        });
        assert_eq!(asked.await.unwrap().all().unwrap().len(), 3);
        assert_eq!(counts.1.load(SeqCst), most, "limit {limit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_and_one_silent_shard_does_not_keep_the_others() {
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
    let lock = "alter database b allow_connections false; select pg_terminate_backend(pid) from pg_stat_activity where datname = 'b'";
    sql(&fleet.cluster, "postgres", lock).await;
    let mut counts = counted(&fleet.map, 3).await;
    let silent = counts.shards.remove(&"b".into()).unwrap();
    assert!(silent.is_err());
    assert_eq!(counts.all().unwrap(), [10, 10]);
    let wrong = fleet.map.on_all(3, |part, _| {
        let told = part.predicate(&["k", "l"]);
        async move { told }.boxed()
    });
    let error = wrong.await.unwrap().all().unwrap_err();
    assert!(matches!(error, ClientError::RolledBack { .. }), "{error}");
}
