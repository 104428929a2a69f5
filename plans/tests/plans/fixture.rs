//! The example requests, and fixed maps, fleets, loads and surveys to plan them with.

use plans::doctor::Finding;
use plans::failure::Severity;
use plans::fleet::ShardInfo;
use plans::id::MapVersion;
use plans::inspection::{ItemLoad, KeyLoad, Load};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::plan::{Plan, TargetState};
use plans::planner::{self, MoveOutline, Outline, PlanError};
use plans::request::{Request, Seed};
use plans::shard_map::{KeyColumns, MapSettings, Mapping, MappingState, ShardMap, Strategy};
use plans::survey::Survey;
use plans::table::{
    BinaryForm, Column, CopyBy, Format, KeyColumn, MajorVersions, MovingTable, TableKey, TableName,
};
use std::collections::BTreeMap;
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

/// The text of one example.
pub(crate) fn example(name: &str) -> String {
    fs::read_to_string(crate_folder().join("examples").join(name)).unwrap()
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
        "shops" => map(
            "shops",
            &[
                (None, Some(1000), "shard-a"),
                (Some(1000), Some(2000), "shard-b"),
                (Some(2000), None, "shard-c"),
            ],
        )
        .with_tables(&[("shops", &["id"]), ("invoices", &["shop_id"])]),
        "users" => users().with_tables(&[("users", &["id"])]),
        "accounts" => accounts().with_tables(&[("accounts", &["name"])]),
        "documents" => {
            let key = [KeyType::Text, KeyType::Bigint];
            let all = [(KeySet::range(None, None), "shard-a")];
            map_of_kind("documents", Strategy::Range, &key, all)
        }
        "readings" => {
            let all = [(KeySet::range(None, None), "shard-a")];
            map_of_kind("readings", Strategy::Range, &[KeyType::Timestamptz], all)
                .with_tables(&[("readings", &["taken_at"])])
        }
        other => panic!("no fixture for map {other}"),
    }
}

/// Adds tables to the settings of a map.
pub(crate) trait WithTables {
    fn with_tables(self, tables: &[(&str, &[&str])]) -> Self;
}

impl WithTables for ShardMap {
    fn with_tables(mut self, tables: &[(&str, &[&str])]) -> Self {
        let columns = |names: &&[&str]| KeyColumns(names.iter().map(|n| (*n).to_owned()).collect());
        self.settings.tables = tables
            .iter()
            .map(|(table, names)| ((*table).to_owned(), columns(names)))
            .collect();
        self
    }
}

/// A hash map of four shards with a quarter of the virtual shards each.
pub(crate) fn users() -> ShardMap {
    let quarter = |(shard, nth): (&'static str, u32)| {
        (KeySet::buckets(4096, nth * 1024, (nth + 1) * 1024), shard)
    };
    let shards = ["users-1", "users-2", "users-3", "users-4"];
    let mappings = shards.into_iter().zip(0..).map(quarter);
    map_of_kind("users", Strategy::Hash, &[KeyType::Bigint], mappings)
}

/// A list map of two shards.
pub(crate) fn accounts() -> ShardMap {
    let names = |names: &[&str]| KeySet::list(names.iter().map(|name| Key::from(*name)));
    let mappings = [
        (names(&["acme", "globex", "hooli"]), "shard-a"),
        (names(&["initech", "umbrella"]), "shard-b"),
    ];
    map_of_kind("accounts", Strategy::List, &[KeyType::Text], mappings)
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

/// Shards with these names and otherwise equal properties, except their numbers and regions.
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
const SHARDS: [&str; 15] = [
    "shard-a", "shard-b", "shard-c", "shard-d", "eu-1", "eu-2", "us-1", "bank-1", "bank-2",
    "vip-1", "users-1", "users-2", "users-3", "users-4", "users-5",
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

/// Returns the loads that the planner needs for a request.
fn loads_of(request: &Request, map: &ShardMap) -> Vec<Load> {
    let Some(needs) = planner::needs(request, map) else {
        return Vec::new();
    };
    let shards = needs.shards.iter();
    shards
        .map(|shard| match map.strategy {
            Strategy::Hash => load_with_hot_shard(shard.as_str()),
            Strategy::Range | Strategy::List => load_growing_with_keys(shard.as_str(), map),
        })
        .collect()
}

/// A quarter of the virtual shards in 64 items; users-1 has ten times the writes of the others, and a hot key.
fn load_with_hot_shard(shard: &str) -> Load {
    let nth: u32 = shard.strip_prefix("users-").unwrap().parse().unwrap();
    let hot = if nth == 1 { 10 } else { 1 };
    let items: Vec<_> = (0..64)
        .map(|item| (nth - 1) * 1024 + item * 16)
        .map(|from| (KeySet::buckets(4096, from, from + 16), 2500, 25 * hot))
        .collect();
    load(shard, &items, &[(Key::Int(17), 480 * hot)])
}

/// Pieces of a hundred keys, each with a thousand rows more than the one before.
fn load_growing_with_keys(shard: &str, map: &ShardMap) -> Load {
    let owned = map.owned_by(&shard.into());
    let items: Vec<_> = (0..10)
        .map(|nth| {
            let end = |at: i64| Some(at * 100).filter(|at| (1..1000).contains(at));
            (range(end(nth), end(nth + 1)).intersection(&owned), nth)
        })
        .map(|(keys, nth)| (keys, 1000 + nth.unsigned_abs() * 1000, 10))
        .collect();
    load(shard, &items, &[])
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
        trial: None,
        moving_ppm: vec![500_000; tables.len()],
        tables: tables.clone(),
        target: match map.shards().contains(&outlined.target) {
            _ if request.options().seed == Seed::Standby => TargetState::Standby,
            true => TargetState::Live,
            false => TargetState::New,
        },
        majors: MajorVersions::default(),
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
        binary: BinaryForm::Stable,
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
        partition_of: None,
        key: TableKey::Columns(key_columns.collect()),
        identity: [key.0.clone(), vec!["nth".to_owned()]].concat(),
        lookup_columns: None,
        columns,
        rows: nth * 100_000,
        bytes: nth * 9_000_000,
        row_order: None,
        copy_by: CopyBy::Blocks,
        copy_why: String::new(),
        format: Format::Text,
        format_why: String::new(),
        renamed_columns: BTreeMap::new(),
        retired: false,
    }
}

pub(crate) fn finding(severity: Severity) -> Finding {
    Finding {
        sw: String::new(),
        code: "replica_identity".to_owned(),
        severity,
        object: "shard shard-a, table public.orders".to_owned(),
        problem: "an update that changes the key cannot be told apart from an insert".to_owned(),
        remedy: "alter table public.orders replica identity full".to_owned(),
        fix: None,
    }
}

/// Returns a short text for each move, such as "m1 a > b: keys", with the moves for which it waits.
pub(crate) fn brief(outline: &Outline) -> Vec<String> {
    let move_text = |m: &MoveOutline| {
        let after = m
            .after
            .iter()
            .map(|after| format!(" after {} {:?}", after.id, after.until));
        let after: String = after.collect();
        format!("{} {} > {}: {}{after}", m.id, m.source, m.target, m.keys)
    };
    outline.moves.iter().map(move_text).collect()
}

/// The outline of a request's text.
pub(crate) fn try_outline(
    text: &str,
    map: &ShardMap,
    fleet: &[ShardInfo],
    loads: &[Load],
) -> Result<Outline, Vec<String>> {
    let request = Request::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let outline = planner::outline(&request, map, fleet, loads);
    // The same input gives the same outline.
    assert_eq!(outline, planner::outline(&request, map, fleet, loads));
    outline.map_err(|error| {
        let PlanError::Unfit { problems } = error else {
            panic!("{error}");
        };
        problems
    })
}
