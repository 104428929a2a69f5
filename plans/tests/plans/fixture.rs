//! The example requests, and fixed maps, fleets, loads and surveys to plan them with.

use plans::failure::{Finding, Severity};
use plans::fleet::ShardInfo;
use plans::id::MapVersion;
use plans::inspection::{ItemLoad, KeyLoad, Load};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::plan::{Plan, TargetState};
use plans::planner::{self, MoveOutline, Outline, PlanError};
use plans::request::Request;
use plans::shard_map::{KeyColumns, MapSettings, Mapping, MappingState, ShardMap, Strategy};
use plans::survey::Survey;
use plans::table::{Column, KeyColumn, MovingTable, TableKey, TableName};
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

/// A map of bigint ranges at version 7.
pub(crate) fn map(name: &str, mappings: &[(Option<i64>, Option<i64>, &str)]) -> ShardMap {
    let mappings = mappings
        .iter()
        .map(|(from, to, shard)| (range(*from, *to), *shard));
    map_of_kind(name, Strategy::Range, &[KeyType::Bigint], mappings)
}

/// A map at version 7; a hash map has 4096 virtual shards.
pub(crate) fn map_of_kind<'a>(
    name: &str,
    strategy: Strategy,
    key: &[KeyType],
    mappings: impl IntoIterator<Item = (KeySet, &'a str)>,
) -> ShardMap {
    let mappings = mappings.into_iter().map(|(keys, shard)| Mapping {
        keys,
        shard: shard.into(),
        state: MappingState::Active,
    });
    ShardMap {
        name: name.into(),
        strategy,
        key: key.to_vec(),
        buckets: if strategy == Strategy::Hash { 4096 } else { 0 },
        version: MapVersion(7),
        incarnation: "5f0c6a52".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: mappings.collect(),
    }
}

pub(crate) fn range(from: Option<i64>, to: Option<i64>) -> KeySet {
    KeySet::range(from.map(Key::Int), to.map(Key::Int))
}

/// Shards of these names, alike.
pub(crate) fn fleet(names: &[&str]) -> Vec<ShardInfo> {
    let shard = |(name, number): (&&str, i32)| ShardInfo {
        name: (*name).into(),
        number,
        labels: [(
            "region".to_owned(),
            name.split('-').next().unwrap().to_owned(),
        )]
        .into(),
        capacity: 100,
        space: None,
    };
    names.iter().zip(1..).map(shard).collect()
}

/// The shards of every example.
const SHARDS: [&str; 10] = [
    "shard-a", "shard-b", "shard-c", "shard-d", "eu-1", "eu-2", "us-1", "bank-1", "bank-2", "vip-1",
];

/// The outline of a request with the fixed map, fleet and loads.
pub(crate) fn outlined(request: &Request) -> Result<Outline, PlanError> {
    let map = map_of(request);
    let loads = loads_of(request, &map);
    planner::outline(request, &map, &fleet(&SHARDS), &loads)
}

/// The plan of an example's text with the fixed map, fleet, loads and surveys.
pub(crate) fn planned(text: &str) -> Plan {
    let request = Request::parse(text).unwrap();
    let outline = outlined(&request).unwrap_or_else(|error| panic!("{error}"));
    let surveys = surveys_of(&request, &outline);
    planner::plan(&request, &map_of(&request), outline, &surveys).unwrap()
}

/// What is measured for a request: nothing yet needs it.
fn loads_of(request: &Request, map: &ShardMap) -> Vec<Load> {
    let Some(needs) = planner::needs(request, map) else {
        return Vec::new();
    };
    needs
        .shards
        .iter()
        .map(|shard| load(shard.as_str(), &[], &[]))
        .collect()
}

/// A load by keys, rows and writes; a row has 100 bytes and the weight 1.
pub(crate) fn load(shard: &str, items: &[(KeySet, u64, u64)], hottest: &[(Key, u64)]) -> Load {
    let item = |(keys, rows, writes): &(KeySet, u64, u64)| ItemLoad {
        keys: keys.clone(),
        rows: *rows,
        bytes: rows * 100,
        writes: *writes,
        weight: *rows,
    };
    let hot = |(key, writes): &(Key, u64)| KeyLoad {
        key: key.clone(),
        rows: *writes,
        writes: *writes,
    };
    Load {
        shard: shard.into(),
        items: items.iter().map(item).collect(),
        hottest: hottest.iter().map(hot).collect(),
        watched_ms: 0,
        sampled: true,
        findings: Vec::new(),
    }
}

/// For each move a survey that found the tables of the request or the map, half of whose rows move.
pub(crate) fn surveys_of(request: &Request, outline: &Outline) -> Vec<Survey> {
    let map = map_of(request);
    let settings = planner::settings(request, &map);
    let tables: Vec<MovingTable> = settings
        .tables
        .iter()
        .zip(1..)
        .map(|((table, key), nth)| moving_table(table, key, &map.key, nth))
        .collect();
    let survey = |outlined: &MoveOutline| Survey {
        moving_ppm: vec![500_000; tables.len()],
        tables: tables.clone(),
        target: if map.shards().contains(&outlined.target) {
            TargetState::Live
        } else {
            TargetState::New
        },
        schema_fingerprint: "sha256:2c26b46b68ffc68f".to_owned(),
        findings: vec![finding(Severity::Warning)],
    };
    outline.moves.iter().map(survey).collect()
}

fn moving_table(table: &str, key: &KeyColumns, types: &[KeyType], nth: i64) -> MovingTable {
    let column = |name: &str, data_type: &str, generated| Column {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        generated,
        binary_safe: true,
    };
    let keys = key.0.iter().zip(types);
    let mut columns: Vec<Column> = keys
        .clone()
        .map(|(name, kind)| column(name, kind.sql_name(), false))
        .collect();
    columns.extend([
        column("nth", "bigint", false),
        column("body", "text", false),
        column("length", "integer", true),
    ]);
    let key_columns = keys.map(|(name, kind)| KeyColumn {
        name: name.clone(),
        kind: *kind,
    });
    MovingTable {
        table: TableName::parse(table),
        key: TableKey::Columns(key_columns.collect()),
        primary_key: [key.0.clone(), vec!["nth".to_owned()]].concat(),
        columns,
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
