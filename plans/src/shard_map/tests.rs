//! Tests of shard maps: which maps are accepted, how they change, and who owns a key.

mod conversion;
mod exceptions;

use super::*;

fn keys(from: Option<i64>, to: Option<i64>) -> KeySet {
    KeySet::range(from.map(Key::Int), to.map(Key::Int))
}

fn map(mappings: &[(Option<i64>, Option<i64>, &str)]) -> ShardMap {
    of_kind(
        Strategy::Range,
        mappings
            .iter()
            .map(|(from, to, shard)| (keys(*from, *to), *shard)),
    )
}

fn of_kind<'a>(strategy: Strategy, mappings: impl Iterator<Item = (KeySet, &'a str)>) -> ShardMap {
    ShardMap {
        name: "m".into(),
        strategy,
        key: vec![KeyType::Bigint],
        buckets: if strategy == Strategy::Hash { 16 } else { 0 },
        version: MapVersion(1),
        incarnation: "i".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: mappings
            .map(|(keys, shard)| Mapping {
                keys,
                shard: shard.into(),
                state: MappingState::Active,
            })
            .collect(),
    }
}

#[test]
fn after_a_split_the_source_keeps_the_other_keys() {
    let before = map(&[(None, None, "a")]);
    let after = before
        .with_moved(
            &keys(Some(5), Some(9)),
            &"a".into(),
            &"b".into(),
            &"m1".into(),
        )
        .unwrap();
    assert_eq!(after.version, MapVersion(2));
    let owner = |key: i64| {
        after
            .locate(&Key::Int(key))
            .map(|m| m.shard.as_str().to_owned())
    };
    assert_eq!(owner(4).as_deref(), Some("a"));
    assert_eq!(owner(5).as_deref(), Some("b"));
    assert_eq!(owner(8).as_deref(), Some("b"));
    assert_eq!(owner(9).as_deref(), Some("a"));
}

#[test]
fn returned_keys_are_joined_with_the_adjacent_range() {
    let split = map(&[(None, Some(5), "a"), (Some(5), None, "b")]);
    let merged = split
        .with_moved(&keys(Some(5), None), &"b".into(), &"a".into(), &"m1".into())
        .unwrap();
    assert_eq!(merged.mappings.len(), 1);
    assert_eq!(merged.owned_by(&"a".into()), keys(None, None));
}

#[test]
fn an_unmapped_key_has_no_owner() {
    let m = map(&[(Some(0), Some(10), "a"), (Some(20), None, "b")]);
    assert!(m.locate(&Key::Int(-1)).is_none());
    assert!(m.locate(&Key::Int(15)).is_none());
    assert_eq!(m.locate(&Key::Int(20)).unwrap().shard.as_str(), "b");
}

#[test]
fn every_key_of_a_hash_map_has_the_owner_of_its_bucket() {
    let halves = [
        (KeySet::buckets(16, 8, 16), "b"),
        (KeySet::buckets(16, 0, 8), "a"),
    ];
    let m = of_kind(Strategy::Hash, halves.into_iter())
        .validated()
        .unwrap();
    for key in 0..100 {
        let key = Key::Int(key);
        let expected = if bucket_of(&key, 16) < 8 { "a" } else { "b" };
        assert_eq!(m.locate(&key).unwrap().shard.as_str(), expected);
    }
}

#[test]
fn a_list_map_has_one_mapping_for_each_shard() {
    let lists = [
        (KeySet::list([Key::Int(1)]), "b"),
        (KeySet::list([Key::Int(2)]), "a"),
        (KeySet::list([Key::Int(3)]), "b"),
    ];
    let m = of_kind(Strategy::List, lists.into_iter())
        .validated()
        .unwrap();
    assert_eq!(m.mappings.len(), 2);
    assert_eq!(m.locate(&Key::Int(3)).unwrap().shard.as_str(), "b");
    assert!(m.locate(&Key::Int(4)).is_none());
}

#[test]
fn overlapping_mappings_are_refused() {
    let error = map(&[(None, Some(10), "a"), (Some(9), None, "b")])
        .validated()
        .unwrap_err();
    assert_eq!(error.to_string(), "map m: (-∞, 10) and [9, ∞) overlap");
}

#[test]
fn keys_of_another_shard_cannot_be_moved() {
    let m = map(&[(None, Some(10), "a"), (Some(10), None, "b")]);
    assert!(
        m.with_moved(
            &keys(Some(5), Some(15)),
            &"a".into(),
            &"b".into(),
            &"m1".into()
        )
        .is_err()
    );
}

#[test]
fn a_difference_names_old_and_new_owner() {
    let before = map(&[(None, Some(10), "a"), (Some(10), None, "b")]);
    let after = map(&[(None, Some(5), "a"), (Some(5), Some(20), "b")]);
    let found = difference(&before, &after);
    let texts: Vec<String> = found
        .iter()
        .map(|d| {
            let name = |s: &Option<ShardName>| s.as_ref().map_or("-", |s| s.as_str()).to_owned();
            format!("{} {}>{}", d.keys, name(&d.from), name(&d.to))
        })
        .collect();
    assert_eq!(texts, ["[5, 10) a>b", "[20, ∞) b>-"]);
}

fn addresses() -> BTreeMap<ShardName, ShardAddress> {
    let address = |shard: &str, host: &str| {
        let address = ShardAddress {
            host: host.to_owned(),
            port: "5432".to_owned(),
            dbname: "app".to_owned(),
        };
        (ShardName::from(shard), address)
    };
    [address("a", "10.0.0.1"), address("b", "it's")].into()
}

#[test]
fn a_pooler_has_a_database_for_each_shard_virtual_shard_and_listed_key() {
    let hashed = of_kind(
        Strategy::Hash,
        [
            (KeySet::buckets(4, 0, 2), "a"),
            (KeySet::buckets(4, 2, 4), "b"),
        ]
        .into_iter(),
    );
    let own = "; shard map \"m\", version 1: written anew by each export\n[databases]\n\
        m.shard.a = host='10.0.0.1' port=5432 dbname='app'\nm.shard.b = host='it''s' port=5432 dbname='app'\n\
        m.0 = host='10.0.0.1' port=5432 dbname='app'\nm.1 = host='10.0.0.1' port=5432 dbname='app'\n\
        m.2 = host='it''s' port=5432 dbname='app'\nm.3 = host='it''s' port=5432 dbname='app'\n";
    assert_eq!(
        route(&hashed, Router::Pgbouncer, &addresses()).unwrap(),
        own
    );
    let mut listed = of_kind(
        Strategy::List,
        [(KeySet::list([Key::Text("a \"b\"".to_owned())]), "b")].into_iter(),
    );
    listed.key = vec![KeyType::Text];
    let text = route(&listed, Router::Pgbouncer, &addresses()).unwrap();
    assert!(
        text.ends_with("\n\"m.a \"\"b\"\"\" = host='it''s' port=5432 dbname='app'\n"),
        "{text}"
    );
    let text = route(&hashed, Router::Service, &addresses()).unwrap();
    assert!(
        text.contains("\n[m.3]\nhost=it's\nport=5432\ndbname=app\n"),
        "{text}"
    );
    let nowhere = route(&hashed, Router::Service, &BTreeMap::new());
    assert_eq!(nowhere, Err(RouterError::NoAddress("a".into())));
}

/// Tenants choose keys. A key must not add a line to the file, and must not replace another key.
#[test]
fn a_key_that_cannot_be_part_of_a_name_is_left_out_of_a_poolers_file() {
    let keys = ["a", "b\nm.a = host='evil'", "a]c"].map(|text| Key::Text(text.to_owned()));
    let mut listed = of_kind(Strategy::List, [(KeySet::list(keys), "b")].into_iter());
    listed.key = vec![KeyType::Text];
    for (router, lines, left_out) in [(Router::Pgbouncer, 5, 1), (Router::Service, 9, 2)] {
        let text = route(&listed, router, &addresses()).unwrap();
        assert_eq!(text.lines().count(), lines, "{text}");
        assert!(!text.contains("evil"), "{text}");
        let head = format!(", without {left_out} key(s) that no name here can hold");
        assert!(text.lines().next().unwrap().ends_with(&head), "{text}");
    }
}

#[test]
fn a_shard_or_an_address_with_control_characters_is_refused() {
    let address = |host: &str| ShardAddress {
        host: host.to_owned(),
        port: "5432".to_owned(),
        dbname: "app".to_owned(),
    };
    for (shard, host) in [("b\n[[databases]]", "h"), ("b", "h\nhost=evil")] {
        let map = map(&[(None, None, shard)]);
        let addresses = [(ShardName::from(shard), address(host))].into();
        for router in [Router::Pgbouncer, Router::Service, Router::Pgdog] {
            let refused = route(&map, router, &addresses);
            assert!(refused.is_err(), "{refused:?}");
        }
    }
}

#[test]
fn pgdog_gets_ranges_and_lists_and_no_hash() {
    let mut ranged = map(&[(None, Some(100), "a"), (Some(100), None, "b")]);
    let settings = r#"{"tables": {"orders": "tenant_id", "public.items": "tenant_id"}}"#;
    ranged.settings = serde_json::from_str(settings).unwrap();
    let text = route(&ranged, Router::Pgdog, &addresses()).unwrap();
    for part in [
        "# shard b\n[[databases]]\nname = \"m\"\nhost = \"it's\"\nport = 5432\ndatabase_name = \"app\"\nshard = 1\n",
        "[[sharded_tables]]\ndatabase = \"m\"\nname = \"items\"\ncolumn = \"tenant_id\"\ndata_type = \"bigint\"\n",
        "[[sharded_mappings]]\ndatabase = \"m\"\ncolumn = \"tenant_id\"\nkind = \"range\"\nend = 100\nshard = 0\n",
        "kind = \"range\"\nstart = 100\nshard = 1\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("[[sharded_mappings]]").count(), 2);
    let hashed = of_kind(
        Strategy::Hash,
        [(KeySet::buckets(16, 0, 16), "a")].into_iter(),
    );
    assert_eq!(
        route(&hashed, Router::Pgdog, &addresses()),
        Err(RouterError::Hash)
    );
    ranged.key = vec![KeyType::Date];
    let refused = route(&ranged, Router::Pgdog, &addresses());
    assert_eq!(refused, Err(RouterError::Key("date".to_owned())));
}

/// Returns the owners of many keys.
fn owners(map: &ShardMap) -> Vec<Option<String>> {
    let owner = |key| {
        let mapping = map.locate(&Key::Int(key));
        mapping.map(|mapping| mapping.shard.to_string())
    };
    (-2000..2000).map(owner).collect()
}

#[test]
fn another_number_of_virtual_shards_gives_no_key_another_owner() {
    // A part of the keys has no owner.
    let mappings = [
        (KeySet::buckets(16, 0, 3), "a"),
        (KeySet::buckets(16, 3, 4), "b"),
        (KeySet::buckets(16, 6, 16), "a"),
    ];
    let mut before = of_kind(Strategy::Hash, mappings.into_iter());
    before.settings.rules.push(PlacementRule {
        name: "pinned".to_owned(),
        effect: Effect::Pin,
        keys: Some(KeySet::buckets(16, 3, 4)),
        shard: Some("b".into()),
        labels: BTreeMap::new(),
    });
    for buckets in [32, 1024] {
        let after = before.with_bucket_count(buckets).unwrap();
        assert_eq!(after.buckets, buckets);
        assert_eq!(owners(&after), owners(&before), "{buckets}");
        assert!(difference(&before, &after).is_empty());
        let rule = after.settings.rules[0].keys.as_ref().unwrap();
        assert_eq!(
            Some(rule),
            KeySet::buckets(16, 3, 4)
                .with_bucket_count(buckets)
                .as_ref()
        );
        let back = after.with_bucket_count(16).unwrap();
        assert_eq!(
            (back.mappings, back.settings),
            (before.mappings.clone(), before.settings.clone())
        );
    }
}

#[test]
fn a_number_of_virtual_shards_that_is_impossible_is_refused_with_the_reason() {
    let halves = [
        (KeySet::buckets(16, 0, 8), "a"),
        (KeySet::buckets(16, 8, 16), "b"),
    ];
    let hash = of_kind(Strategy::Hash, halves.into_iter());
    let refused = |map: &ShardMap, buckets| map.with_bucket_count(buckets).unwrap_err().to_string();
    assert!(refused(&hash, 8).contains("keys of shard a and of others"));
    assert!(refused(&hash, 24).contains("power of two"));
    assert!(refused(&hash, 1 << 25).contains("power of two"));
    let range = map(&[(None, None, "a")]);
    assert!(refused(&range, 8).contains("has no virtual shards"));
    let mut ruled = hash.with_bucket_count(32).unwrap();
    ruled.mappings = vec![Mapping {
        keys: KeySet::buckets(32, 0, 32),
        shard: "a".into(),
        state: MappingState::Active,
    }];
    ruled.settings.rules.push(PlacementRule {
        name: "pinned".to_owned(),
        effect: Effect::Pin,
        keys: Some(KeySet::buckets(32, 3, 4)),
        shard: Some("b".into()),
        labels: BTreeMap::new(),
    });
    assert!(refused(&ruled, 16).contains("could not name these keys"));
}

/// A return to a version with another number of virtual shards names virtual shards of the present number.
#[test]
fn a_request_leads_back_over_a_change_of_the_number_of_virtual_shards() {
    let halves = [
        (KeySet::buckets(16, 0, 8), "a"),
        (KeySet::buckets(16, 8, 16), "b"),
    ];
    let first = of_kind(Strategy::Hash, halves.into_iter());
    let more = first.with_bucket_count(32).unwrap();
    let none = crate::planner::revert(&more, &first).unwrap_err();
    assert!(none.to_string().contains("the owner that it had"), "{none}");
    let moved = KeySet::buckets(32, 0, 1);
    let now = more
        .with_moved(&moved, &"a".into(), &"b".into(), &"m1".into())
        .unwrap();
    let Ok(crate::request::Request::Move(back)) = crate::planner::revert(&now, &first) else {
        panic!("no request");
    };
    let keys: Vec<_> = back.moves.iter().map(|entry| entry.keys.clone()).collect();
    assert_eq!(keys, [Some(Selection::of(&moved))]);
}
