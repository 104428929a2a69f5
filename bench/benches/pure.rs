//! Measures computations for each key, change or plan that need no server: routing, planning, decoding of changes, and
//! whether a snapshot sees a transaction.
//!
//! PostgreSQL computes the hashes of rows, so they are not measured here.

use agent::postgres::pgoutput::decode;
use agent::postgres::visibility::TxSnapshot;
use bytes::{BufMut, Bytes, BytesMut};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use plans::fleet::{DEFAULT_CAPACITY, ShardInfo};
use plans::id::{MapName, MapVersion, ShardName};
use plans::inspection::{ItemLoad, Load};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::planner::outline;
use plans::request::Request;
use plans::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};
use std::collections::BTreeMap;
use std::hint::black_box;

/// The number of keys that each iteration looks up.
const KEYS: i64 = 1_000;
/// The number of mappings of each map, and of keys of each mapping.
const MAPPINGS: i64 = 1_000;
const KEYS_OF_EACH: i64 = 100;
/// The number of virtual shards of the hash map.
const BUCKETS: u32 = 4_096;
/// The number of measured parts of the shard that is split.
const PIECES: i64 = 4_096;

fn shard(number: i64) -> ShardName {
    ShardName(format!("s{}", number % 64))
}

fn map(strategy: Strategy, keys: impl Fn(i64) -> KeySet, mappings: i64) -> ShardMap {
    let mapping = |number| Mapping {
        keys: keys(number),
        shard: shard(number),
        state: MappingState::Active,
    };
    ShardMap {
        name: MapName::from("m"),
        strategy,
        key: vec![KeyType::Bigint],
        buckets: if strategy == Strategy::Hash {
            BUCKETS
        } else {
            0
        },
        version: MapVersion(1),
        incarnation: "bench".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: (0..mappings).map(mapping).collect(),
    }
}

fn range(number: i64, width: i64) -> KeySet {
    let (from, to) = (number * width, (number + 1) * width);
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

/// Returns keys from the whole map in mixed order.
fn keys() -> Vec<Key> {
    let all = MAPPINGS * KEYS_OF_EACH;
    (0..KEYS).map(|key| Key::Int(key * 7_919 % all)).collect()
}

fn routing(criterion: &mut Criterion) {
    let buckets = |number: i64| {
        let width = BUCKETS / 64;
        let from = u32::try_from(number).unwrap_or_default() * width;
        KeySet::buckets(BUCKETS, from, from + width)
    };
    let listed = |number: i64| {
        let first = number * KEYS_OF_EACH;
        KeySet::list((first..first + KEYS_OF_EACH).map(Key::Int))
    };
    let maps = [
        (
            "range",
            map(Strategy::Range, |n| range(n, KEYS_OF_EACH), MAPPINGS),
        ),
        ("hash", map(Strategy::Hash, buckets, 64)),
        ("list", map(Strategy::List, listed, MAPPINGS)),
    ];
    let keys = keys();
    let mut group = criterion.benchmark_group("locate a key");
    group.throughput(Throughput::Elements(KEYS.unsigned_abs()));
    for (name, map) in &maps {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                keys.iter()
                    .filter(|key| map.locate(black_box(key)).is_some())
                    .count()
            });
        });
    }
    group.finish();
}

fn planning(criterion: &mut Criterion) {
    let text = "{operation: split, map: m, source: s0, even: rows, into: [{shard: s0}, {shard: s1}, {shard: s2}]}";
    let request = Request::parse(text).expect("the request of this benchmark");
    let map = map(Strategy::Range, |n| range(n, PIECES * 10), 1);
    let fleet: Vec<ShardInfo> = (0..3)
        .map(|number| ShardInfo {
            name: shard(number.into()),
            number: number + 1,
            labels: BTreeMap::new(),
            capacity: DEFAULT_CAPACITY,
            space: None,
        })
        .collect();
    let item = |number: i64| ItemLoad {
        keys: range(number, 10),
        rows: number.unsigned_abs() % 97,
        bytes: 0,
        writes: 0,
        weight: 0,
    };
    let loads = [Load {
        shard: shard(0),
        items: (0..PIECES).map(item).collect(),
        hottest: Vec::new(),
        watched_ms: 0,
        sampled: true,
        findings: Vec::new(),
    }];
    let mut group = criterion.benchmark_group("outline an even split");
    group.throughput(Throughput::Elements(PIECES.unsigned_abs()));
    group.bench_function("in three, by pieces", |bencher| {
        bencher.iter(|| outline(black_box(&request), &map, &fleet, &loads).expect("an outline"));
    });
    group.finish();
}

/// Returns the message of an insert of a row whose columns are texts of `width` bytes.
fn insert(columns: u16, width: u32) -> Bytes {
    let mut message = BytesMut::new();
    message.put_u8(b'I');
    message.put_u32(16_384);
    message.put_u8(b'N');
    message.put_u16(columns);
    for _ in 0..columns {
        message.put_u8(b't');
        message.put_u32(width);
        message.put_bytes(b'x', usize::try_from(width).unwrap_or_default());
    }
    message.freeze()
}

fn decoding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode pgoutput");
    for (name, message) in [
        ("six short columns", insert(6, 8)),
        ("one of 64 KiB", insert(1, 65_536)),
    ] {
        group.throughput(Throughput::Bytes(
            u64::try_from(message.len()).unwrap_or_default(),
        ));
        group.bench_function(name, |bencher| {
            bencher.iter(|| decode(black_box(message.clone())).expect("an insert"));
        });
    }
    group.finish();
}

fn visibility(criterion: &mut Criterion) {
    let running: Vec<String> = (0..50).map(|n| (1_000 + n * 7).to_string()).collect();
    let snapshot: TxSnapshot = format!("1000:2000:{}", running.join(","))
        .parse()
        .expect("a snapshot");
    let mut group = criterion.benchmark_group("is a transaction seen");
    group.throughput(Throughput::Elements(2_000));
    group.bench_function("50 were running", |bencher| {
        bencher.iter(|| {
            (500..2_500)
                .filter(|xid| snapshot.sees(black_box(*xid)))
                .count()
        });
    });
    group.finish();
}

criterion_group!(benches, routing, planning, decoding, visibility);
criterion_main!(benches);
