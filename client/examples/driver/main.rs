//! The library as the conformance suite drives it: requests and answers are lines of JSON, one object in each.
//!
//! `clients/conformance/README.md` describes the requests.

#![allow(clippy::unwrap_used, reason = "the suite reports a driver that ends")]

mod failure;
mod keys;
mod requests;
mod values;

use crate::failure::Failure;
use crate::requests::Connected;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, BufReader};

/// One line of the input.
#[derive(Deserialize)]
struct Request {
    id: u64,
    op: String,
    #[serde(flatten)]
    arguments: Value,
}

#[tokio::main]
async fn main() {
    let connected = Arc::new(Connected::default());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let connected = Arc::clone(&connected);
        tokio::spawn(async move {
            let request: Request = serde_json::from_str(&line).unwrap();
            let answer = match answer(&connected, &request.op, request.arguments).await {
                Ok(value) => json!({"id": request.id, "ok": value}),
                Err(failure) => json!({"id": request.id, "error": failure}),
            };
            println!("{answer}");
        });
    }
}

async fn answer(connected: &Connected, op: &str, arguments: Value) -> Result<Value, Failure> {
    match op {
        "keys" => keys::keys(read(arguments)),
        "sort" => keys::sort(read(arguments)),
        "sets" => keys::sets(read(arguments)),
        "routes" => keys::routes(read(arguments)),
        "measure" => keys::measure(read(arguments)),
        "connect" => connected.connect(read(arguments)).await,
        "close" => connected.close(),
        "lookup" => connected.lookup(&read(arguments)),
        "stats" => connected.stats(),
        "wait_version" => connected.wait_version(&read(arguments)).await,
        "with_shard" => connected.with_shard(read(arguments)).await,
        "on_all" => connected.on_all(read(arguments)).await,
        _ => Err(Failure::new("unexpected", format!("no request {op}"))),
    }
}

fn read<T: for<'de> Deserialize<'de>>(arguments: Value) -> T {
    serde_json::from_value(arguments).unwrap()
}
