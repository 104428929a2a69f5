//! Compares the results of this crate for keys and key sets with those of PostgreSQL, in docs/golden/keys.json.
//!
//! A test of the client writes that file and compares it with a server.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

use plans::key::{Key, KeyType, accept};
use plans::key_set::{KeySet, bucket_of};
use plans::table::{KeyColumn, TableKey};
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    columns: Vec<String>,
    keys: Vec<Entry>,
    sets: Vec<Set>,
}

#[derive(Deserialize)]
struct Entry {
    key: Key,
    texts: Vec<String>,
    ordered: String,
    hash: Option<String>,
    #[serde(default)]
    buckets: Vec<u32>,
}

#[derive(Deserialize)]
struct Set {
    set: KeySet,
    predicate: String,
    members: Vec<usize>,
}

fn groups() -> Vec<(Vec<KeyType>, Group)> {
    let text = include_str!("../../docs/golden/keys.json");
    let document: Document = serde_json::from_str(text).unwrap();
    let kind = |name: &String| match name.as_str() {
        "varchar" => KeyType::Text,
        name => KeyType::parse(name).unwrap(),
    };
    let typed = |group: Group| (group.columns.iter().map(kind).collect(), group);
    document.groups.into_iter().map(typed).collect()
}

#[test]
fn keys_have_the_texts_order_and_hashes_of_the_server() {
    for (types, group) in groups() {
        for Entry {
            key,
            texts,
            ordered,
            hash,
            buckets,
        } in &group.keys
        {
            assert_eq!(accept(&types, key).as_ref(), Ok(key));
            let own: Vec<String> = key.values().iter().map(Key::text).collect();
            assert_eq!(&own, texts);
            let read = |(kind, text): (&KeyType, &String)| kind.read(text).unwrap();
            let read: Vec<Key> = types.iter().zip(texts).map(read).collect();
            assert_eq!(read, key.values());
            let bytes = key.ordered_bytes();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(&hex, ordered, "{key}");
            if let Some(hash) = hash {
                assert_eq!(&key.hash64().cast_signed().to_string(), hash, "{key}");
                assert_eq!(
                    &[1, 16, 4096].map(|of| bucket_of(key, of))[..],
                    buckets,
                    "{key}"
                );
            }
        }
        let in_order =
            |pair: &[Entry]| pair[0].key < pair[1].key && pair[0].ordered < pair[1].ordered;
        assert!(group.keys.windows(2).all(in_order), "{types:?}");
    }
}

#[test]
fn sets_have_the_members_that_the_server_selects() {
    for (types, group) in groups() {
        let column = |(n, kind): (usize, &KeyType)| KeyColumn {
            name: format!("k{}", n + 1),
            kind: *kind,
        };
        let columns = TableKey::Columns(types.iter().enumerate().map(column).collect());
        for Set {
            set,
            predicate,
            members,
        } in &group.sets
        {
            assert_eq!(&columns.predicate(set, ""), predicate);
            assert_eq!(&set.clone().normal(), set);
            let holds = |position: &usize| set.contains(&group.keys[*position].key);
            let own: Vec<usize> = (0..group.keys.len()).filter(holds).collect();
            assert_eq!(&own, members, "{set}");
        }
    }
}

#[test]
fn a_set_of_one_key_contains_no_other_key() {
    for (types, group) in groups() {
        let all = KeySet::range(None, None);
        for entry in &group.keys {
            let set = all.only(&entry.key);
            let members_of_set: Vec<&Key> = group
                .keys
                .iter()
                .map(|other| &other.key)
                .filter(|key| set.contains(key))
                .collect();
            assert_eq!(members_of_set, [&entry.key]);
            if types.len() == 1 {
                let accepted = set.accept(&types).unwrap();
                assert!(accepted.contains(&entry.key));
            }
        }
    }
}

#[test]
fn values_that_no_column_can_hold_are_refused() {
    for (kind, key) in [
        (KeyType::Smallint, Key::Int(32_768)),
        (KeyType::Integer, Key::Int(-2_147_483_649)),
        (KeyType::Text, Key::from("a\0b")),
        (KeyType::Date, Key::Date(i32::MAX - 1)),
        (KeyType::Timestamptz, Key::Timestamp(i64::MIN + 1)),
        (KeyType::Uuid, Key::Int(1)),
    ] {
        assert!(accept(&[kind], &key).is_err(), "{kind}");
    }
}
