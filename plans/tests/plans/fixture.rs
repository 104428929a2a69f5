//! The example requests, and fixed maps and surveys to plan them with.

use plans::failure::{Finding, Severity};
use plans::id::MapVersion;
use plans::key_set::{Key, KeyRange, KeySet, KeyType};
use plans::request::Request;
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use plans::survey::Survey;
use plans::table::{Column, MovingTable, TableName};
use std::fs;
use std::path::{Path, PathBuf};

/// Every example by file name, in order.
pub(crate) fn examples() -> Vec<(String, String)> {
    let folder = crate_folder().join("examples");
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (file_name(&path), fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() >= 3, "the examples are gone");
    found
}

pub(crate) fn crate_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The map that an example is about.
pub(crate) fn map_of(request: &Request) -> ShardMap {
    match request.map().as_str() {
        "tenants" => map("tenants", &[(None, None, "shard-a")]),
        "customers" => map(
            "customers",
            &[
                (Some(0), Some(100_000), "eu-1"),
                (Some(100_000), None, "us-1"),
            ],
        ),
        "branches" => map("branches", &[(Some(1), Some(21), "bank-1")]),
        other => panic!("no fixture for map {other}"),
    }
}

/// A map at version 7.
pub(crate) fn map(name: &str, mappings: &[(Option<i64>, Option<i64>, &str)]) -> ShardMap {
    let mappings = mappings.iter().map(|(from, to, shard)| Mapping {
        keys: range(*from, *to),
        shard: (*shard).into(),
        state: MappingState::Active,
    });
    ShardMap {
        name: name.into(),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        version: MapVersion(7),
        incarnation: "5f0c6a52".to_owned(),
        migration: None,
        mappings: mappings.collect(),
    }
}

pub(crate) fn range(from: Option<i64>, to: Option<i64>) -> KeySet {
    KeySet::Range(KeyRange {
        from: from.map(Key::Int),
        to: to.map(Key::Int),
    })
}

/// A survey that found the tables of `request`, half of whose rows move.
pub(crate) fn survey_of(request: &Request) -> Survey {
    let Request::Split(split) = request;
    let tables: Vec<MovingTable> = split
        .tables
        .iter()
        .zip(1..)
        .map(|((table, key), nth)| moving_table(table, key, nth))
        .collect();
    Survey {
        moving_ppm: vec![500_000; tables.len()],
        tables,
        schema_fingerprint: "sha256:2c26b46b68ffc68f".to_owned(),
        findings: vec![finding(Severity::Warning)],
    }
}

fn moving_table(table: &str, key: &str, nth: i64) -> MovingTable {
    let column = |name: &str, data_type: &str, generated| Column {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        generated,
        binary_safe: true,
    };
    MovingTable {
        table: TableName::parse(table),
        key_column: key.to_owned(),
        primary_key: vec![key.to_owned(), "nth".to_owned()],
        columns: vec![
            column(key, "bigint", false),
            column("nth", "bigint", false),
            column("body", "text", false),
            column("length", "integer", true),
        ],
        rows: nth * 100_000,
        bytes: nth * 9_000_000,
    }
}

pub(crate) fn finding(severity: Severity) -> Finding {
    Finding {
        code: "replica_identity".to_owned(),
        severity,
        object: "shard shard-a, table public.orders".to_owned(),
        problem: "an update that changes the key cannot be told apart from an insert".to_owned(),
        remedy: "alter table public.orders replica identity full".to_owned(),
    }
}
