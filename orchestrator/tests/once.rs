//! Orders with a key: carried out once, however often they are sent, also over a restart and a lost connection.

use crate::fixture::{Server, program};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn send(server: &Server, path: &str, body: &Value, key: &str) -> Response {
    let url = format!("{}{path}", server.url);
    let request = server.http.request(Method::POST, url).json(body);
    request.header("idempotency-key", key).send().await.unwrap()
}

async fn told(response: Response) -> (u16, bool, Value) {
    let replayed = response.headers().contains_key("idempotency-replayed");
    (
        response.status().as_u16(),
        replayed,
        response.json().await.unwrap(),
    )
}

#[tokio::test]
async fn an_order_with_a_key_is_carried_out_once() {
    let mut server = Server::start().await;
    let (path, body) = ("/api/v1/shards", json!({"name": "late", "dsn": "host=x"}));
    let (status, replayed, first) = told(send(&server, path, &body, "k1").await).await;
    assert_eq!((status, replayed), (201, false));
    assert_eq!(
        told(send(&server, path, &body, "k1").await).await,
        (201, true, first.clone())
    );
    server.restart().await;
    let again = told(send(&server, path, &body, "k1").await).await;
    assert_eq!(again, (201, true, first), "it is known after a restart");

    let other = json!({"name": "other", "dsn": "host=x"});
    let (status, _, problem) = told(send(&server, path, &other, "k1").await).await;
    assert_eq!(
        (status, &problem["code"]),
        (422, &json!("idempotency.reused"))
    );
    let (status, _, problem) = told(send(&server, path, &body, "k2").await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("shard.exists")));
    // What was refused changed nothing, so that it may come again.
    let gone = server
        .http
        .delete(format!("{}/api/v1/shards/late", server.url));
    assert!(gone.send().await.unwrap().status().is_success());
    let (status, replayed, _) = told(send(&server, path, &body, "k2").await).await;
    assert_eq!((status, replayed), (201, false));
}

#[tokio::test]
async fn a_key_is_refused_where_it_cannot_be_kept() {
    let server = Server::start().await;
    let token = json!({"name": "ada", "role": "viewer"});
    for (path, body, key, code) in [
        ("/api/v1/tokens", &token, "k", "idempotency.not_here"),
        ("/api/v1/plans", &json!({}), "k", "idempotency.not_here"),
        ("/api/v1/shards", &json!({}), " ", "idempotency.key"),
        (
            "/api/v1/shards",
            &json!({}),
            &"k".repeat(256),
            "idempotency.key",
        ),
    ] {
        let (status, _, problem) = told(send(&server, path, body, key).await).await;
        assert_eq!((status, &problem["code"]), (422, &json!(code)), "{path}");
    }
    assert_eq!(server.json("/api/v1/tokens").await, json!([]));
}

/// Hands connections on to `to`, and cuts the first answer off; how many connections there were.
async fn cutting(to: String) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let host = url.trim_start_matches("http://").to_owned();
    let task = tokio::spawn(async move {
        for number in 0.. {
            let (mut near, _) = listener.accept().await.unwrap();
            let (to, host) = (to.clone(), host.clone());
            tokio::spawn(async move {
                let mut far = TcpStream::connect(to.trim_start_matches("http://"))
                    .await
                    .unwrap();
                let mut buffer = vec![0; 64 << 10];
                let read = near.read(&mut buffer).await.unwrap();
                // The server knows itself by its own address.
                let asked = String::from_utf8_lossy(&buffer[..read]);
                let asked = asked.replace(&host, to.trim_start_matches("http://"));
                far.write_all(asked.as_bytes()).await.unwrap();
                let read = far.read(&mut buffer).await.unwrap();
                if number > 0 {
                    near.write_all(&buffer[..read]).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                }
            });
        }
    });
    (url, task)
}

#[tokio::test]
async fn a_command_whose_answer_was_lost_is_sent_again_and_done_once() {
    let server = Server::start().await;
    let (url, task) = cutting(server.url.clone()).await;
    let mut command = program(&url);
    command.args("shard add late --dsn host=x -o json".split(' '));
    let output = command.output().await.unwrap();
    task.abort();
    assert!(output.status.success(), "{output:?}");
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made["name"], "late");
    let audit = server.json("/api/v1/audit").await;
    let added = audit.as_array().unwrap().iter();
    let added =
        added.filter(|line| line["action"] == "shard.added" && line["object"] == "shard late");
    assert_eq!(added.count(), 1, "{audit}");
}
