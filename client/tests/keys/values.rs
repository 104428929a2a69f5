//! Values and key sets with which errors are likely, and random ones, which are the same in each run.

use plans::key::{Key, KeyType};
use plans::key_set::{BucketRange, Buckets, KeySet};
use plans::table::{KeyColumn, TableKey};

/// The numbers of virtual shards with which each type is tested.
pub(crate) const BUCKETS: [u32; 3] = [1, 16, 4096];

/// The keys and key sets with which one table is tested.
#[derive(Debug)]
pub(crate) struct Samples {
    /// The key columns' types as the table declares them.
    pub(crate) declared: Vec<&'static str>,
    pub(crate) kinds: Vec<KeyType>,
    /// Different keys, in key order.
    pub(crate) keys: Vec<Key>,
    pub(crate) sets: Vec<KeySet>,
}

impl Samples {
    /// The key's columns, `k1` and so on.
    pub(crate) fn columns(&self) -> TableKey {
        let column = |(n, kind): (usize, &KeyType)| KeyColumn {
            name: format!("k{}", n + 1),
            kind: *kind,
        };
        TableKey::Columns(self.kinds.iter().enumerate().map(column).collect())
    }
}

/// Samples of every kind of key, with about `random` random values each.
pub(crate) fn groups(seed: u64, random: usize) -> Vec<Samples> {
    let mut random_numbers = Random(seed);
    let tables: [&[&'static str]; 14] = [
        &["smallint"],
        &["integer"],
        &["bigint"],
        &["text"],
        &["varchar"],
        &["uuid"],
        &["bytea"],
        &["date"],
        &["timestamptz"],
        &["text", "bigint"],
        &["integer", "timestamptz"],
        &["varchar", "bytea"],
        &["uuid", "date", "smallint"],
        &["bytea", "text", "timestamptz"],
    ];
    let group = |declared: &&[&'static str]| samples(declared, random, &mut random_numbers);
    tables.iter().map(group).collect()
}

fn samples(declared: &[&'static str], random: usize, random_numbers: &mut Random) -> Samples {
    let kind = |name: &&str| match *name {
        "varchar" => KeyType::Text,
        name => KeyType::parse(name).unwrap(),
    };
    let kinds: Vec<KeyType> = declared.iter().map(kind).collect();
    let mut keys: Vec<Key> = match kinds.as_slice() {
        [only] => {
            let random = (0..random).map(|_| random_key(*only, random_numbers));
            edge_values(*only).into_iter().chain(random).collect()
        }
        several => (0..random + 32)
            .map(|_| random_row(several, random_numbers))
            .collect(),
    };
    keys.sort();
    keys.dedup();
    let sets = sets(&keys, kinds.len() == 1, random_numbers);
    Samples {
        declared: declared.to_vec(),
        kinds,
        keys,
        sets,
    }
}

/// Returns a composite key of few different values, so that the order of keys often depends on the later columns.
fn random_row(kinds: &[KeyType], random_numbers: &mut Random) -> Key {
    let value = |kind: &KeyType| {
        let edges = edge_values(*kind);
        let count = edges.len().min(if random_numbers.below(2) == 0 {
            3
        } else {
            edges.len()
        });
        edges[random_numbers.below(count)].clone()
    };
    Key::Row(kinds.iter().map(value).collect())
}

const UUIDS: [&str; 6] = [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "00000000-0000-0000-0000-000000000001",
    "7fffffff-ffff-ffff-ffff-ffffffffffff",
    "80000000-0000-0000-0000-000000000000",
    "018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c",
];
const DATES: [&str; 15] = [
    "2000-01-01",
    "-infinity",
    "infinity",
    "1999-12-31",
    "2024-02-29",
    "1900-03-01",
    "1970-01-01",
    "0001-01-01",
    "0001-12-31 BC",
    "0005-02-29 BC",
    "4714-11-24 BC",
    "9999-12-31",
    "10000-01-01",
    "294277-01-01",
    "5874897-12-31",
];
const TIMES: [&str; 12] = [
    "2000-01-01 00:00:00+00",
    "-infinity",
    "infinity",
    "1999-12-31 23:59:59.999999+00",
    "1969-07-20 20:17:40.000001+00",
    "2024-02-29 12:34:56.5+00",
    "2024-03-31 02:30:00+02:00",
    "0001-01-01 00:00:00+00",
    "0001-12-31 23:59:59.99+00 BC",
    "4714-11-24 00:00:00+00 BC",
    "10000-01-01 00:00:00.10203+00",
    "294276-12-31 23:59:59.999999+00",
];

fn edge_values(kind: KeyType) -> Vec<Key> {
    let read = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| kind.read(text).expect(text))
            .collect()
    };
    let integers = |least: i64, most: i64| {
        let near = [
            0,
            1,
            -1,
            2,
            42,
            -42,
            100,
            255,
            256,
            least,
            least + 1,
            most - 1,
            most,
        ];
        near.into_iter().map(Key::Int).collect()
    };
    match kind {
        KeyType::Smallint => integers(i16::MIN.into(), i16::MAX.into()),
        KeyType::Integer => integers(i32::MIN.into(), i32::MAX.into()),
        KeyType::Bigint => {
            let mut keys: Vec<Key> = integers(i64::MIN, i64::MAX);
            let words = [1_i64 << 31, 1 << 32, (1 << 32) - 1, -(1 << 31), -(1 << 32)];
            keys.extend(words.map(Key::Int));
            keys
        }
        KeyType::Text => texts().into_iter().map(Key::Text).collect(),
        KeyType::Uuid => read(&UUIDS),
        KeyType::Bytea => byteas().into_iter().map(Key::Bytes).collect(),
        KeyType::Date => read(&DATES),
        KeyType::Timestamptz => read(&TIMES),
    }
}

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "a",
        "A",
        "b",
        "B",
        "a ",
        " a",
        "\u{1}",
        "\u{7f}",
        "ä",
        "Z",
        "z",
        "ß",
        "日本語",
        "é",
        "e\u{301}",
        "🐘",
        "\u{10ffff}",
        "\u{ffff}",
        "it's",
        "''",
        "\\",
        "\\\\",
        "a\"b",
        "{a,b}",
        "NULL",
        "null",
        "$1",
        "%s",
        "tab\there",
        "line\nbreak",
        "e'x'",
        "--",
        "exactly12byt",
        "thirteen bytes",
    ]
    .map(str::to_owned)
    .into();
    texts.extend([11, 23, 24, 25, 100, 300].map(|length| "x".repeat(length)));
    texts.push("€".repeat(60));
    texts
}

fn byteas() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        &[][..],
        &[0],
        &[0, 0],
        &[0, 1],
        &[0xff],
        &[0xff, 0],
        &[0, 0xff],
        &[1],
        b"a",
        b"a\0",
        b"a\0b",
        b"\\x00",
        b"'",
        b"{\"",
    ]
    .map(<[u8]>::to_vec)
    .into();
    all.extend([6_usize, 11, 12, 13, 120].map(|length| vec![0xab; length]));
    all
}

fn random_key(kind: KeyType, random_numbers: &mut Random) -> Key {
    let shift = u32::try_from(random_numbers.below(64)).unwrap();
    let number = random_numbers.next().cast_signed() >> shift;
    match kind {
        KeyType::Smallint => Key::Int(number % (1 << 15)),
        KeyType::Integer => Key::Int(number % (1 << 31)),
        KeyType::Bigint => Key::Int(number),
        KeyType::Text => {
            let length = random_numbers.below(40);
            let letters: Vec<char> = "abcXYZ 019_-äΩ語🐘'\\\"{},\n".chars().collect();
            Key::Text(
                (0..length)
                    .map(|_| letters[random_numbers.below(letters.len())])
                    .collect(),
            )
        }
        KeyType::Uuid => {
            let number =
                u128::from(random_numbers.next()) << 64 | u128::from(random_numbers.next());
            Key::Uuid(number.to_be_bytes())
        }
        KeyType::Bytea => {
            let length = random_numbers.below(30);
            Key::Bytes(
                (0..length)
                    .map(|_| random_numbers.next().to_le_bytes()[0])
                    .collect(),
            )
        }
        KeyType::Date => Key::Date(i32::try_from(number % 2_451_545).unwrap()),
        KeyType::Timestamptz => Key::Timestamp(number % 211_813_488_000_000_000),
    }
}

/// Returns sets of every kind whose limits are near `keys`, which are in order.
fn sets(keys: &[Key], one_column: bool, random_numbers: &mut Random) -> Vec<KeySet> {
    let mut sets = ranges(keys, random_numbers);
    if one_column {
        sets.extend(
            BUCKETS
                .into_iter()
                .flat_map(|of| buckets(keys, of, random_numbers)),
        );
        sets.extend([
            KeySet::list([]),
            KeySet::list(keys.first().cloned()),
            KeySet::list(keys.iter().step_by(2).cloned()),
            KeySet::list(keys.iter().skip(1).step_by(3).cloned()),
            KeySet::list(keys.iter().cloned()),
        ]);
    }
    sets
}

fn ranges(keys: &[Key], random_numbers: &mut Random) -> Vec<KeySet> {
    let mut key = || keys[random_numbers.below(keys.len())].clone();
    let mut pair = || {
        let (a, b) = (key(), key());
        (Some(a.clone().min(b.clone())), Some(a.max(b)))
    };
    let mut sets = vec![KeySet::range(None, None), KeySet::Range(Vec::new())];
    for _ in 0..4 {
        let ((a, b), (c, d), (e, f)) = (pair(), pair(), pair());
        let two = KeySet::range(c.clone(), d).union(&KeySet::range(e, f));
        sets.extend([
            KeySet::range(a.clone(), b.clone()),
            KeySet::range(None, b),
            KeySet::range(a, None),
            KeySet::range(None, None).minus(&two),
            two,
        ]);
    }
    let ends = keys.first().into_iter().chain(keys.last());
    for key in ends.chain(keys.iter().step_by(7)) {
        sets.push(KeySet::range(None, None).only(key));
    }
    sets
}

fn buckets(keys: &[Key], of: u32, random_numbers: &mut Random) -> Vec<KeySet> {
    let half = of / 2;
    let comb = (0..of).step_by(4).map(|from| BucketRange {
        from,
        to: (from + 2).min(of),
    });
    let key = &keys[random_numbers.below(keys.len())];
    let all = KeySet::buckets(of, 0, of);
    let mut sets = vec![
        KeySet::buckets(of, half, of),
        KeySet::buckets(of, 0, half),
        KeySet::buckets(of, of / 5, of / 3),
        KeySet::virtual_shard_of(key, of),
        all.only(key),
        all.minus(&all.only(key)),
        all,
    ];
    if of == 16 {
        let ranges = comb.collect();
        let except = keys.iter().step_by(5).cloned().collect();
        sets.insert(0, KeySet::Hash(Buckets { of, ranges, except }));
    }
    sets
}

/// SplitMix64. The numbers never change, because no library generates them.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }
}
