//! Agents of neighbouring versions are given work, others are told what to do.

use crate::fixture::Server;
use plans::wire::{OLDEST_PROTOCOL, PROTOCOL};
use reqwest::Response;
use serde_json::{Value, json};

async fn claim(server: &Server, protocol: u32, oldest: Option<u32>) -> Response {
    let mut claim = json!({"protocol": protocol, "agent": "x", "instance": "x1", "holding": []});
    if let Some(oldest) = oldest {
        claim["oldest"] = json!(oldest);
    }
    server.post("/api/v1/agents/claim", &claim).await
}

#[tokio::test]
async fn agents_with_a_protocol_in_common_are_given_work() {
    let server = Server::start().await;
    for protocol in OLDEST_PROTOCOL..=PROTOCOL {
        assert_eq!(claim(&server, protocol, None).await.status(), 204);
    }
    // One of the next version, which understands this one.
    let newer = claim(&server, PROTOCOL + 1, Some(PROTOCOL)).await;
    assert_eq!(newer.status(), 204);
    let pool = server.database.pool().await;
    let seen = "select protocol from shardwright.agent_status where agent = 'x'";
    let (seen,): (i32,) = sqlx::query_as(seen).fetch_one(&pool).await.unwrap();
    assert_eq!(
        u32::try_from(seen),
        Ok(PROTOCOL + 1),
        "what the agent says that it speaks"
    );
    let version = server.json("/version").await;
    assert_eq!(version["protocol"], PROTOCOL);
    assert_eq!(version["oldest_protocol"], OLDEST_PROTOCOL);
}

#[tokio::test]
async fn agents_that_are_further_away_are_told_what_to_do() {
    let server = Server::start().await;
    let next = PROTOCOL + 1;
    for (protocol, oldest, theirs) in [
        (
            OLDEST_PROTOCOL - 1,
            None,
            format!("protocol {}", OLDEST_PROTOCOL - 1),
        ),
        (next, None, format!("protocol {next}")),
        (
            next + 1,
            Some(next),
            format!("protocols {next} to {}", next + 1),
        ),
    ] {
        let refused = claim(&server, protocol, oldest).await;
        assert_eq!(refused.status(), 409);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["code"], "agent.protocol");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.starts_with(&format!("the agent speaks {theirs}, this controller ")),
            "{detail}"
        );
        assert!(
            problem["hint"]
                .as_str()
                .unwrap()
                .contains("docs/upgrades.md"),
            "{problem}"
        );
    }
}
