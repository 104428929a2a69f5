//! Tests of single keys of a hash map with an owner of their own.

use super::*;

fn hash(mappings: &[(KeySet, &str)]) -> ShardMap {
    of_kind(Strategy::Hash, mappings.iter().cloned())
}

fn halves() -> ShardMap {
    hash(&[
        (KeySet::buckets(16, 0, 8), "a"),
        (KeySet::buckets(16, 8, 16), "b"),
    ])
}

fn key(key: i64) -> KeySet {
    KeySet::single_keys(16, [Key::Int(key)])
}

fn moved(map: &ShardMap, keys: &KeySet, from: &str, to: &str) -> ShardMap {
    map.with_moved(keys, &from.into(), &to.into(), &"m".into())
        .unwrap()
}

/// Returns a key of shard a.
fn tenant() -> i64 {
    let in_a = |key: &i64| bucket_of(&Key::Int(*key), 16) < 8;
    (0..100).find(in_a).unwrap()
}

fn owner_of(map: &ShardMap, key: i64) -> String {
    map.locate(&Key::Int(key)).unwrap().shard.to_string()
}

#[test]
fn exactly_one_key_gets_another_owner_and_returns() {
    let (before, tenant) = (halves(), tenant());
    let after = moved(&before, &key(tenant), "a", "c");
    let changed: Vec<i64> = (-2000..2000)
        .filter(|key| owner_of(&before, *key) != owner_of(&after, *key))
        .collect();
    assert_eq!(changed, [tenant]);
    assert_eq!(owner_of(&after, tenant), "c");
    assert_eq!(after.owned_by(&"c".into()), key(tenant));
    assert!(!after.owned_by(&"a".into()).contains(&Key::Int(tenant)));
    assert!(after.gaps().is_empty());
    let [Difference { keys, from, to }] = &difference(&before, &after)[..] else {
        panic!("more than one difference");
    };
    assert_eq!(
        (keys, from.as_ref(), to.as_ref()),
        (&key(tenant), Some(&"a".into()), Some(&"c".into()))
    );

    let back = moved(&after, &key(tenant), "c", "a");
    assert_eq!(back.mappings, before.mappings, "the exception is gone");
    assert_eq!(back.exceptions().count(), 0);
}

#[test]
fn a_virtual_shard_moves_without_its_exceptions() {
    let tenant = tenant();
    let map = moved(&halves(), &key(tenant), "a", "c");
    let whole = KeySet::virtual_shard_of(&Key::Int(tenant), 16);
    let refused = map.with_moved(&whole, &"a".into(), &"b".into(), &"m".into());
    assert!(
        matches!(refused, Err(MapError::NotOwned { .. })),
        "{refused:?}"
    );
    let next = moved(&map, &whole.minus(&key(tenant)), "a", "b");
    assert_eq!(owner_of(&next, tenant), "c");
    assert_eq!(next.owned_by(&"c".into()), key(tenant));
    // To the owner of the exception: it is none any more.
    let joined = moved(&map, &whole.minus(&key(tenant)), "a", "c");
    assert_eq!(joined.owned_by(&"c".into()), whole);
    assert_eq!(joined.exceptions().count(), 0);
}

#[test]
fn an_exception_keeps_its_owner_when_the_number_of_virtual_shards_changes() {
    let map = moved(&halves(), &key(tenant()), "a", "c");
    for buckets in [32, 4096] {
        let more = map.with_bucket_count(buckets).unwrap();
        assert_eq!(owners(&more), owners(&map));
        assert!(difference(&map, &more).is_empty());
        assert_eq!(more.with_bucket_count(16).unwrap().mappings, map.mappings);
    }
}

#[test]
fn a_key_with_two_owners_or_none_is_refused() {
    let all = (KeySet::buckets(16, 0, 16), "a");
    let refused = |mappings: &[(KeySet, &str)]| {
        let mut map = halves();
        map.mappings = mappings
            .iter()
            .map(|(keys, shard)| Mapping {
                keys: keys.clone(),
                shard: (*shard).into(),
                state: MappingState::Active,
            })
            .collect();
        map.validated().unwrap_err().to_string()
    };
    let twice = refused(&[all.clone(), (key(7), "b"), (key(7), "c")]);
    assert!(twice.contains("keys 7 and keys 7 overlap"), "{twice}");
    let hole = refused(&[(all.0.minus(&key(7)), "a")]);
    assert!(hole.contains("key 7, which has no owner"), "{hole}");
}

#[test]
fn every_form_of_an_export_has_the_exceptions() {
    let map = moved(&halves(), &key(tenant()), "a", "c");
    for (export_form, import_form) in [
        (ExportForm::Csv, ImportForm::Csv),
        (ExportForm::Json, ImportForm::Json),
        (ExportForm::Json, ImportForm::Yaml),
    ] {
        let text = export(&map, export_form);
        let read = import(&text, import_form, &halves()).unwrap();
        assert_eq!(read, map.mappings, "{text}");
    }
    let columns = ["bucket_from", "bucket_to", "key", "shard"].map(str::to_owned);
    let cell = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let rows = [
        ["0", "8", "", "a"],
        ["8", "16", "", "b"],
        ["", "", &tenant().to_string(), "c"],
    ];
    let rows = rows.map(|row| row.map(cell).to_vec());
    assert_eq!(
        import_rows(&columns, &rows, &halves()).unwrap(),
        map.mappings
    );
    let twice = "bucket_from,bucket_to,key,shard\n0,16,,a\n,,7,b\n,,7,c\n3,5,9,c\n";
    let refused = import(twice, ImportForm::Csv, &halves())
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("line 4: keys 7 of shard c overlaps keys 7 of shard b (line 3)"),
        "{refused}"
    );
    assert!(
        refused.contains("line 5: a row has either virtual shards or a key"),
        "{refused}"
    );
}

#[test]
fn a_request_names_virtual_shards_without_exceptions_of_other_shards() {
    let map = moved(&halves(), &key(tenant()), "a", "c");
    let owned = map.owned_by(&"a".into());
    assert_eq!(Selection::of(&owned).resolve(&map).unwrap(), owned);
    let single: Selection = serde_json::from_str(r#"{"values": ["7", 8]}"#).unwrap();
    assert_eq!(single.resolve(&map).unwrap(), key(7).union(&key(8)));
    let both: Selection = serde_json::from_str(
        r#"{"buckets": [{"from": 0, "to": 1}], "values": [7], "except": [8]}"#,
    )
    .unwrap();
    let whole = KeySet::buckets(16, 0, 1).minus(&key(8)).union(&key(7));
    assert_eq!(both.resolve(&map).unwrap(), whole);
    let none: Selection = serde_json::from_str(r#"{"except": [8]}"#).unwrap();
    assert!(none.resolve(&map).is_err());
}
