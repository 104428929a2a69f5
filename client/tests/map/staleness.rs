//! The use of a cached map when no controller answers any more.

use crate::map_server::{MapServer, map_of_one_shard};
use client::{ClientError, Map, Options, RouteError, ShardAccess, TransactionOptions};
use futures::FutureExt;
use std::collections::HashMap;
use std::time::Duration;
use tokio::runtime::Runtime;

const LIMIT: Duration = Duration::from_secs(2);

async fn connect(url: &str, max_staleness: Option<Duration>) -> Map {
    let options = Options {
        max_staleness,
        ..Options::default()
    };
    let access = ShardAccess::fixed(HashMap::new());
    let map = Map::connect_with(url, &"tenants".into(), access, options).await;
    map.unwrap()
}

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

#[tokio::test(flavor = "multi_thread")]
async fn with_max_staleness_lookups_fail_if_no_controller_confirms_the_map() {
    // The server has its own runtime, so that a shutdown of the runtime closes its connections too.
    let controller = Runtime::new().unwrap();
    let start = controller.spawn(MapServer::start(map_of_one_shard("a")));
    let server = start.await.unwrap();
    let strict = connect(&server.url, Some(LIMIT)).await;
    let patient = connect(&server.url, None).await;

    // If the feed has no events, the client reads the map before it is too old.
    let begun = std::time::Instant::now();
    wait_until(|| {
        assert_eq!(strict.shard_for(1).unwrap(), "a".into());
        begun.elapsed() > LIMIT * 2
    })
    .await;

    controller.shutdown_background();
    wait_until(|| strict.shard_for(1).is_err()).await;
    let error = strict.shard_for(1).unwrap_err();
    assert!(
        matches!(&error, RouteError::Stale { silence, .. } if *silence > LIMIT),
        "{error}"
    );
    let work = strict.with_shard(1, TransactionOptions::default(), |_| {
        async { Ok::<(), tokio_postgres::Error>(()) }.boxed()
    });
    let error = work.await.unwrap_err();
    assert!(
        matches!(error, ClientError::Route(RouteError::Stale { .. })),
        "{error}"
    );
    let all = strict.on_all(1, |_, _| {
        async { Ok::<(), tokio_postgres::Error>(()) }.boxed()
    });
    assert!(all.await.is_err());
    assert_eq!(patient.shard_for(1).unwrap(), "a".into());

    wait_until(|| strict.stats().reconnects > 1).await;
    let stats = strict.stats();
    assert!(
        stats.silence > LIMIT && stats.lookups > stats.lookups_refused,
        "{stats:?}"
    );
    assert!(stats.lookups_refused >= 3, "{stats:?}");
    assert_eq!(stats.version.0, 1);
}
