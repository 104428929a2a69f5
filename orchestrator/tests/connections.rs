//! Connections that say nothing: they end, and they keep nobody out.

use crate::fixture::Server;
use orchestrator::access::{AccessRule, Secret};
use orchestrator::api::ConnectionLimits;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// More than the limits of these tests.
const IDLE: usize = 40;

async fn held(limits: ConnectionLimits) -> (Server, String) {
    let mut server = Server::start().await;
    let admin = Secret::random();
    server.limits = limits;
    server
        .behind(AccessRule::Tokens, Some(admin.digest()), false)
        .await;
    (server, admin.reveal().to_owned())
}

async fn connected(server: &Server) -> TcpStream {
    let address = server.url.strip_prefix("http://").unwrap();
    TcpStream::connect(address).await.unwrap()
}

/// What comes until the other end closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A connection that was taken away may be reset.
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn idle_connections_keep_nobody_out() {
    let limits = ConnectionLimits {
        connections: 16,
        strangers: 8,
        per_address: 8,
        head: Duration::from_secs(3_600),
        ..ConnectionLimits::of_process()
    };
    let (server, admin) = held(limits).await;
    let mut known = connected(&server).await;
    let host = server.url.strip_prefix("http://").unwrap();
    let ask = format!(
        "GET /api/v1/agents HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {admin}\r\n\r\n"
    );
    let asked = async |known: &mut TcpStream| {
        known.write_all(ask.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n[]") {
            let read = known.read_buf(&mut answer).await.unwrap();
            assert!(
                read > 0,
                "it is ended: {}",
                String::from_utf8_lossy(&answer)
            );
        }
        assert!(answer.starts_with(b"HTTP/1.1 200"));
    };
    asked(&mut known).await;
    let mut idle = Vec::new();
    for number in 0..IDLE {
        let mut stream = connected(&server).await;
        if number % 2 == 0 {
            let half = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nx: ");
            stream.write_all(half.as_bytes()).await.unwrap();
        }
        idle.push(stream);
    }
    // The oldest were ended for the newest, and somebody new is served at once.
    assert_eq!(rest(&mut idle[0]).await, "");
    assert_eq!(server.get("/healthz").await.status(), 200);
    asked(&mut known).await;
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let limits = ConnectionLimits {
        head: Duration::from_millis(100),
        ..ConnectionLimits::of_process()
    };
    let (server, _) = held(limits).await;
    let mut silent = connected(&server).await;
    assert!(!rest(&mut silent).await.contains("200"));
    let mut half = connected(&server).await;
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: ")
        .await
        .unwrap();
    assert!(!rest(&mut half).await.contains("200"));
}
