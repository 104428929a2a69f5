//! Compares the Rust implementation of keys and key sets with PostgreSQL.
//!
//! A server computes text forms, order, hashes, virtual shards and the members of many key sets for values of
//! every key type; the results of the Rust implementation must be equal, and so must the committed golden file, with
//! which implementations in other languages can be tested. `UPDATE_GOLDEN=1` writes that file again.
//! PostgreSQL must accept every predicate as a publication's row filter, as a trigger's WHEN and in COPY.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod golden;
mod server;
mod uses;
mod values;

use golden::{Document, Group};
use server::Server;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/golden/keys.json");

#[tokio::test]
async fn the_rust_results_equal_those_of_postgresql() {
    let server = Server::start().await;
    let mut document = Document::default();
    for samples in values::groups(1, 16) {
        let table = server.table(&samples).await;
        let computed = server.compute(&table, &samples).await;
        assert_same(&computed, &Group::by_rust(&samples));
        uses::check(&server, &table, &samples, &computed).await;
        document.groups.push(computed);
    }
    // More values than a file should hold.
    for samples in values::groups(2, 400) {
        let table = server.table(&samples).await;
        assert_same(
            &server.compute(&table, &samples).await,
            &Group::by_rust(&samples),
        );
    }
    let text = document.to_text();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(std::path::Path::new(GOLDEN).parent().unwrap()).unwrap();
        std::fs::write(GOLDEN, &text).unwrap();
    }
    let committed = std::fs::read_to_string(GOLDEN).unwrap();
    assert!(
        committed == text,
        "{GOLDEN} is outdated: run with UPDATE_GOLDEN=1"
    );
}

/// Fails at the first difference, so that the message does not contain all results.
fn assert_same(server: &Group, rust: &Group) {
    let name = &server.name;
    assert_eq!(server.keys.len(), rust.keys.len(), "{name}");
    for (by_server, by_rust) in server.keys.iter().zip(&rust.keys) {
        assert_eq!(by_server, by_rust, "{name}");
    }
    for (by_server, by_rust) in server.sets.iter().zip(&rust.sets) {
        assert_eq!(by_server, by_rust, "{name}");
    }
    assert_eq!(server, rust, "{name}");
}
