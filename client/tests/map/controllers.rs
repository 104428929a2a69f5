//! Several controllers: the client works if one controller answers, although another one has ended or sends no changes.

use crate::map_server::{MapServer, map_of_one_shard};
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
async fn unused_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn wait_for_version(map: &Map, version: MapVersion) {
    let known = async {
        while map.current().version < version {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, known).await.unwrap();
}

#[tokio::test]
async fn reads_feed_and_reports_skip_a_first_controller_that_is_down() {
    let server = MapServer::start(map_of_one_shard("a")).await;
    let (dead_url, url) = (unused_url().await, &server.url);
    let map = connect(&format!("{dead_url}, {url}/")).await.unwrap();
    assert_eq!(map.shard_for(7).unwrap(), "a".into());
    assert_eq!(server.counters(1).await, [(7, 1)].into());
    wait_for_version(&map, server.split_off("a", 5, "b")).await;
    assert_eq!(map.shard_for(7).unwrap(), "b".into());
}

#[tokio::test]
async fn after_a_failure_the_next_controller_is_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let first = format!("http://{}", listener.local_addr().unwrap());
    let only_reads = axum::Router::new().route(
        "/api/v1/maps/{name}",
        get(async || Json(map_of_one_shard("a"))),
    );
    let task = tokio::spawn(async { axum::serve(listener, only_reads).await.unwrap() });
    let second = MapServer::start(map_of_one_shard("a")).await;
    let map = connect(&format!("{first},{}", second.url)).await.unwrap();
    wait_for_version(&map, second.split_off("a", 5, "b")).await;
    assert_eq!(map.shard_for(7).unwrap(), "b".into());
    assert_eq!(second.counters(1).await, [(7, 1)].into());
    task.abort();
}

#[tokio::test]
async fn if_no_controller_answers_the_error_names_all() {
    let (one, two) = (unused_url().await, unused_url().await);
    let error = connect(&format!("{one},{two}")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&one) && text.contains(&two), "{text}");
}
