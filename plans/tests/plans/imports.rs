//! Exported maps can be imported again, and problems of an input have positions.

use crate::fixture::{accounts, map, map_of_kind, users};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{
    ExportForm, ImportForm, MAX_PROBLEMS, Mapping, ShardMap, Strategy as Division, export, import,
    import_rows,
};
use proptest::prelude::*;

/// A key of one column.
fn key(kind: KeyType) -> BoxedStrategy<Key> {
    let int = |low: i64, high: i64| (low..=high).prop_map(Key::Int).boxed();
    match kind {
        KeyType::Smallint => int(i16::MIN.into(), i16::MAX.into()),
        KeyType::Integer => int(i32::MIN.into(), i32::MAX.into()),
        KeyType::Bigint => int(i64::MIN, i64::MAX),
        // Everything that CSV, JSON and YAML quote; the empty text is no bound in CSV.
        KeyType::Text => prop_oneof![
            "\\PC{1,6}",
            "[a\"',\\\\\n\r\t #\\[{:=+@-]{1,4}",
            "[0-9]{1,3}|null|~|true"
        ]
        .prop_map(Key::Text)
        .boxed(),
        KeyType::Uuid => any::<[u8; 16]>().prop_map(Key::Uuid).boxed(),
        KeyType::Bytea => prop::collection::vec(any::<u8>(), 0..5)
            .prop_map(Key::Bytes)
            .boxed(),
        KeyType::Date => prop_oneof![-900_000..900_000, Just(i32::MIN), Just(i32::MAX)]
            .prop_map(Key::Date)
            .boxed(),
        KeyType::Timestamptz => prop_oneof![
            -60_000_000_000_000_000_i64..90_000_000_000_000_000,
            Just(i64::MIN),
            Just(i64::MAX)
        ]
        .prop_map(Key::Timestamp)
        .boxed(),
    }
}

fn kind() -> impl Strategy<Value = KeyType> {
    prop::sample::select(KeyType::ALL.to_vec())
}

fn row(types: &[KeyType]) -> BoxedStrategy<Key> {
    match types {
        [only] => key(*only),
        several => several
            .iter()
            .map(|kind| key(*kind))
            .collect::<Vec<_>>()
            .prop_map(Key::Row)
            .boxed(),
    }
}

const SHARDS: [&str; 3] = ["a", "b,\"c\"", "d'é"];

fn range_map() -> impl Strategy<Value = ShardMap> {
    prop::collection::vec(kind(), 1..=3).prop_flat_map(|types| {
        let cuts = prop::collection::btree_set(row(&types), 1..6);
        let owners = prop::collection::vec(0..4_usize, 8);
        (cuts, any::<[bool; 2]>(), owners).prop_map(move |(cuts, open, owners)| {
            let mut bounds: Vec<Option<Key>> = cuts.into_iter().map(Some).collect();
            if open[0] {
                bounds.insert(0, None);
            }
            if open[1] {
                bounds.push(None);
            }
            let pairs = bounds.windows(2).zip(owners);
            // The owner 3 is no shard: a gap.
            let mappings = pairs.filter_map(|(pair, owner)| {
                let keys = KeySet::range(pair[0].clone(), pair[1].clone());
                Some((keys, *SHARDS.get(owner)?))
            });
            map_of_kind("m", Division::Range, &types, mappings)
        })
    })
}

fn hash_map() -> impl Strategy<Value = ShardMap> {
    let cuts = prop::collection::btree_set(0..=4096_u32, 0..8);
    (kind(), cuts, prop::collection::vec(0..4_usize, 8)).prop_map(|(kind, cuts, owners)| {
        let cuts: Vec<u32> = cuts.into_iter().collect();
        let mappings = cuts.windows(2).zip(owners).filter_map(|(pair, owner)| {
            Some((KeySet::buckets(4096, pair[0], pair[1]), *SHARDS.get(owner)?))
        });
        map_of_kind("m", Division::Hash, &[kind], mappings)
    })
}

fn list_map() -> impl Strategy<Value = ShardMap> {
    kind().prop_flat_map(|kind| {
        let keys = prop::collection::btree_set(key(kind), 0..12);
        (keys, prop::collection::vec(0..3_usize, 12)).prop_map(move |(keys, owners)| {
            let mappings = keys
                .into_iter()
                .zip(owners)
                .map(|(key, owner)| (KeySet::list([key]), SHARDS[owner]));
            map_of_kind("m", Division::List, &[kind], mappings)
        })
    })
}

fn any_map() -> impl Strategy<Value = ShardMap> {
    prop_oneof![range_map(), hash_map(), list_map()].prop_map(|map| map.validated().unwrap())
}

fn shape(map: &ShardMap) -> ShardMap {
    ShardMap {
        mappings: Vec::new(),
        ..map.clone()
    }
}

proptest! {
    #[test]
    fn an_exported_map_can_be_imported_unchanged(map in any_map()) {
        for (export_form, import_form) in [(ExportForm::Csv, ImportForm::Csv), (ExportForm::Json, ImportForm::Json)] {
            let text = export(&map, export_form);
            let mappings = import(&text, import_form, &shape(&map));
            prop_assert_eq!(mappings.as_ref(), Ok(&map.mappings), "{}", text);
        }
    }

    #[test]
    fn mappings_in_yaml_can_be_imported(map in any_map()) {
        let entries: Vec<_> = map
            .mappings
            .iter()
            .map(|m| serde_json::json!({ "keys": plans::shard_map::Selection::of(&m.keys), "shard": m.shard }))
            .collect();
        let text = serde_saphyr::to_string(&entries).unwrap();
        let mappings = import(&text, ImportForm::Yaml, &shape(&map));
        prop_assert_eq!(mappings.as_ref(), Ok(&map.mappings), "{}", text);
    }

    #[test]
    fn no_text_makes_the_import_panic(text in "\\PC{0,60}", map in any_map()) {
        for form in [ImportForm::Csv, ImportForm::Json, ImportForm::Yaml] {
            let _ = import(&text, form, &shape(&map));
        }
    }
}

/// Tenants may choose such keys, and a spreadsheet would execute them.
#[test]
fn no_cell_of_a_csv_begins_like_a_formula_and_every_key_can_be_imported() {
    let texts = [
        "=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1", "\n=1", "＝1", "'", "'=1", "''", "'a",
        "a=1", "",
    ];
    let keys = KeySet::list(texts.map(|text| Key::Text(text.to_owned())));
    let map = map_of_kind("m", Division::List, &[KeyType::Text], [(keys, "-a")]);
    let text = export(&map, ExportForm::Csv);
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let cells = rows.records().flat_map(|row| {
        let row = row.unwrap();
        row.iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let cells: Vec<String> = cells.collect();
    let is_formula =
        |cell: &&String| cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝']);
    assert_eq!(cells.iter().find(is_formula), None);
    assert!(cells.contains(&"a=1".to_owned()), "{cells:?}");
    let back = import(&text, ImportForm::Csv, &shape(&map));
    assert_eq!(back.as_ref(), Ok(&map.mappings), "{text}");
}

/// A number is no formula, and programs read it.
#[test]
fn numbers_below_zero_stay_numbers_in_a_csv() {
    let below = KeySet::range(Some(Key::Int(-5)), Some(Key::Int(0)));
    let map = map_of_kind("m", Division::Range, &[KeyType::Bigint], [(below, "a")]);
    assert_eq!(export(&map, ExportForm::Csv), "from,to,shard\n-5,0,a\n");
}

/// A user may type keys with an apostrophe. Only an apostrophe before a text that begins like a formula is removed.
#[test]
fn an_apostrophe_is_part_of_a_key_unless_a_formula_would_follow() {
    let map = map_of_kind("m", Division::List, &[KeyType::Text], []);
    let mappings = import("key,shard\n'a,x\n'=b,x\n", ImportForm::Csv, &map).unwrap();
    let keys = KeySet::list(["'a", "=b"].map(|text| Key::Text(text.to_owned())));
    assert_eq!(mappings[0].keys, keys);
}

fn problems(text: &str, form: ImportForm, like: &ShardMap) -> Vec<String> {
    let error = import(text, form, &shape(like)).unwrap_err();
    error.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_bad_line_of_a_csv_is_named() {
    let text = "from,to,shard\n0,10,a\n5,20,b\nten,,c\n30,30,c\n40,50\n60,70,\n";
    let expected = [
        "line 3: [5, 20) of shard b overlaps [0, 10) of shard a (line 2)",
        "line 4: \"ten\" is not a bigint",
        "line 5: [30, 30) is no range of keys",
        "line 6: 2 value(s), but there are 3 column(s)",
        "line 7: the name of the shard is empty",
    ];
    assert_eq!(problems(text, ImportForm::Csv, &map("m", &[])), expected);
}

#[test]
fn a_header_that_does_not_fit_the_map_is_refused_with_the_one_that_does() {
    let expected =
        ["line 1: the columns of a hash map are bucket_from,bucket_to,shard; found from,to,shard"];
    let text = "from,to,shard\n0,10,a\n";
    assert_eq!(problems(text, ImportForm::Csv, &users()), expected);
}

#[test]
fn buckets_beyond_the_map_are_refused() {
    let text = "bucket_from,bucket_to,shard\n0,5000,a\n9,3,b\n";
    let expected = [
        "line 2: \"5000\" is no virtual shard of 4096",
        "line 3: [9, 3) is no range of virtual shards",
    ];
    assert_eq!(problems(text, ImportForm::Csv, &users()), expected);
}

#[test]
fn bad_entries_of_documents_have_their_lines() {
    let yaml = "- keys: { to: 5 }\n  shard: a\n- keys: { from: x }\n  shard: b\n- keys: { values: [1] }\n  shard: b\n";
    let expected = [
        "line 3: map m: \"x\" is not a bigint",
        "line 5: map m divides keys by range: name them by `from` and `to`, or by `ranges`",
    ];
    assert_eq!(problems(yaml, ImportForm::Yaml, &map("m", &[])), expected);
    let json = "[\n {\"keys\": {\"to\": 5}, \"shard\": \"a\"},\n {\"keys\": {\"from\": 4}, \"shard\": \"b\"}\n]";
    let expected = ["line 3: [4, ∞) of shard b overlaps (-∞, 5) of shard a (entry 1)"];
    assert_eq!(problems(json, ImportForm::Json, &map("m", &[])), expected);
}

#[test]
fn a_malformed_document_is_refused_at_its_line() {
    let json = "[\n {\"keys\": {\"below\": 5}, \"shard\": \"a\"}]";
    let found = problems(json, ImportForm::Json, &map("m", &[]));
    assert!(
        found[0].starts_with("line 2: unknown field `below`"),
        "{found:?}"
    );
    let yaml = "- keys: { to: 5 }\n  shard: a\n- keys: { to: 5 \n  shard: a\n";
    let found = problems(yaml, ImportForm::Yaml, &map("m", &[]));
    assert!(found[0].starts_with("line "), "{found:?}");
}

#[test]
fn of_many_problems_only_the_first_are_named_and_the_others_counted() {
    let lines: String = (0..50).map(|_| "x,y,a\n").collect();
    let error = import(
        &format!("from,to,shard\n{lines}"),
        ImportForm::Csv,
        &map("m", &[]),
    );
    let error = error.unwrap_err();
    assert_eq!((error.problems.len(), error.more), (MAX_PROBLEMS, 30));
    assert!(error.to_string().ends_with("; and 30 more"));
}

#[test]
fn composite_keys_are_arrays_or_several_columns() {
    let types = [KeyType::Text, KeyType::Bigint];
    let like = map_of_kind("m", Division::Range, &types, []);
    let arrays = "from,to,shard\n,\"[\"\"eu\"\", 5]\",a\n\"[\"\"eu\"\", 5]\",,b\n";
    let columns = "from_1,from_2,to_1,to_2,shard\n,,eu,5,a\neu,5,,,b\n";
    let expected = import(arrays, ImportForm::Csv, &like).unwrap();
    assert_eq!(
        import(columns, ImportForm::Csv, &like).as_ref(),
        Ok(&expected)
    );
    let eu = Key::Row(vec!["eu".into(), Key::Int(5)]);
    assert_eq!(expected[1].keys, KeySet::range(Some(eu), None));
    let half = "from_1,from_2,to_1,to_2,shard\neu,,,,a\n";
    let expected = ["line 2: some columns of the bound are empty, others are not"];
    assert_eq!(problems(half, ImportForm::Csv, &like), expected);
}

fn rows(rows: &[&[Option<&str>]]) -> Vec<Vec<Option<String>>> {
    let row = |row: &&[Option<&str>]| row.iter().map(|cell| cell.map(str::to_owned)).collect();
    rows.iter().map(row).collect()
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}

fn texts(mappings: &[Mapping]) -> Vec<String> {
    mappings
        .iter()
        .map(|m| format!("{} {}", m.keys, m.shard))
        .collect()
}

#[test]
fn keys_of_a_directory_stay_single_keys() {
    let like = map_of_kind("m", Division::List, &[KeyType::Bigint], []);
    let found = rows(&[
        &[Some("1"), Some("a")],
        &[Some("2"), Some("a")],
        &[Some("3"), Some("b")],
        &[Some("2"), Some("a")],
    ]);
    let mappings = import_rows(&names(&["tenant_id", "node"]), &found, &like).unwrap();
    assert_eq!(texts(&mappings), ["keys 1, 2 a", "keys 3 b"]);
    assert_eq!(mappings[0].keys, KeySet::list([Key::Int(1), Key::Int(2)]));
}

#[test]
fn a_directory_may_have_its_columns_in_any_order() {
    let like = map_of_kind("m", Division::Range, &[KeyType::Date], []);
    let found = rows(&[
        &[Some("a"), None, Some("2026-01-01")],
        &[Some("b"), Some("2026-01-01"), None],
    ]);
    let mappings = import_rows(&names(&["shard", "begins", "ends"]), &found, &like).unwrap();
    assert_eq!(
        texts(&mappings),
        ["(-∞, 2026-01-01) a", "[2026-01-01, ∞) b"]
    );
    let single = rows(&[&[Some("7"), Some("a")]]);
    let mappings = import_rows(&names(&["bucket", "node"]), &single, &users()).unwrap();
    assert_eq!(texts(&mappings), ["buckets [7, 8) a"]);
}

#[test]
fn bad_rows_of_a_directory_have_their_numbers() {
    let found = rows(&[
        &[Some("acme"), Some("a")],
        &[None, Some("a")],
        &[Some("acme"), Some("b")],
        &[Some("hooli"), None],
    ]);
    let error = import_rows(&names(&["name", "shard"]), &found, &shape(&accounts())).unwrap_err();
    let expected = [
        "row 2: the key is null",
        "row 3: keys \"acme\" of shard b overlaps keys \"acme\" of shard a (row 1)",
        "row 4: the name of the shard is null",
    ];
    let problems: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected);
}

/// Ranges of three columns with a gap, and with texts that must be quoted.
fn composite() -> ShardMap {
    let types = [KeyType::Text, KeyType::Date, KeyType::Bytea];
    let row = |text: &str, days| {
        Some(Key::Row(vec![
            text.into(),
            Key::Date(days),
            Key::Bytes(vec![0, 39]),
        ]))
    };
    let mappings = [
        (KeySet::range(None, row("o'\\b$$", 9000)), "a"),
        (KeySet::range(row("p", 9000), None), "it's b"),
    ];
    map_of_kind("parts of \"x\"", Division::Range, &types, mappings)
}

#[test]
fn a_script_of_sql_has_a_table_and_a_function() {
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("export.range.sql", export(&map("m", &[(None, Some(5), "a"), (Some(5), None, "b")]), ExportForm::Sql));
        insta::assert_snapshot!("export.composite.sql", export(&composite(), ExportForm::Sql));
        insta::assert_snapshot!("export.hash.sql", export(&users(), ExportForm::Sql));
        insta::assert_snapshot!("export.list.sql", export(&accounts(), ExportForm::Sql));
    });
    let empty = export(&map("m", &[]), ExportForm::Sql);
    assert!(!empty.contains("insert into"), "{empty}");
}
