//! Compares the Rust implementation (the Rust twin) of keys and key sets with PostgreSQL.
//!
//! A server computes text forms, order, hashes, virtual shards and the members of many key sets for values of
//! every key type; the results of the Rust twin must be equal, and so must the committed golden file, with
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
async fn the_twin_is_what_postgresql_computes() {
    let server = Server::start().await;
    let mut document = Document::default();
    for samples in values::groups(1, 16) {
        let table = server.table(&samples).await;
        let measured = server.measure(&table, &samples).await;
        same(&measured, &Group::by_twin(&samples));
        uses::check(&server, &table, &samples, &measured).await;
        document.groups.push(measured);
    }
    // More values than a file should hold.
    for samples in values::groups(2, 400) {
        let table = server.table(&samples).await;
        same(
            &server.measure(&table, &samples).await,
            &Group::by_twin(&samples),
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

/// Fails with the first difference; the message does not contain all results.
fn same(measured: &Group, twin: &Group) {
    let name = &measured.name;
    assert_eq!(measured.keys.len(), twin.keys.len(), "{name}");
    for (server, twin) in measured.keys.iter().zip(&twin.keys) {
        assert_eq!(server, twin, "{name}");
    }
    for (server, twin) in measured.sets.iter().zip(&twin.sets) {
        assert_eq!(server, twin, "{name}");
    }
    assert_eq!(measured, twin, "{name}");
}
