//! Several controllers: the client works if one controller answers, although another one has ended or sends no changes.

use crate::map_server::{MapServer, whole};
use axum::response::Json;
use axum::routing::get;
use client::{ClientError, Map, Options, ShardAccess};
use plans::id::MapVersion;
use std::collections::HashMap;
use std::time::Duration;
use tokio::net::TcpListener;

async fn connect(urls: &str) -> Result<Map, ClientError> {
    let options = Options {
        report_load: Some(Duration::from_millis(10)),
        ..Options::default()
    };
    let access = ShardAccess::fixed(HashMap::new());
    Map::connect_with(urls, &"tenants".into(), access, options).await
}

/// Returns a URL at which no server listens.
async fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn until_known(map: &Map, version: MapVersion) {
    let known = async {
        while map.current().version < version {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, known).await.unwrap();
}

#[tokio::test]
async fn a_dead_first_controller_is_passed_over_by_reads_feed_and_reports() {
    let server = MapServer::start(whole("a")).await;
    let (gone, url) = (dead().await, &server.url);
    let map = connect(&format!("{gone}, {url}/")).await.unwrap();
    assert_eq!(map.shard_for(7).unwrap(), "a".into());
    assert_eq!(server.counters(1).await, [(7, 1)].into());
    until_known(&map, server.split_off("a", 5, "b")).await;
    assert_eq!(map.shard_for(7).unwrap(), "b".into());
}

#[tokio::test]
async fn a_controller_that_fails_later_is_left_for_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let first = format!("http://{}", listener.local_addr().unwrap());
    let only_reads =
        axum::Router::new().route("/api/v1/maps/{name}", get(async || Json(whole("a"))));
    let task = tokio::spawn(async { axum::serve(listener, only_reads).await.unwrap() });
    let second = MapServer::start(whole("a")).await;
    let map = connect(&format!("{first},{}", second.url)).await.unwrap();
    until_known(&map, second.split_off("a", 5, "b")).await;
    assert_eq!(map.shard_for(7).unwrap(), "b".into());
    assert_eq!(second.counters(1).await, [(7, 1)].into());
    task.abort();
}

#[tokio::test]
async fn when_all_are_gone_the_error_names_all() {
    let (one, two) = (dead().await, dead().await);
    let error = connect(&format!("{one},{two}")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&one) && text.contains(&two), "{text}");
}
