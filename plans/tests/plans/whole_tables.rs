//! Maps whose keys are schemas or groups of tables.

use crate::fixture::{fleet, map_of_kind, try_outline};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{KeyColumns, KeyedBy, MapSettings, ShardMap, Strategy};
use plans::table::{MovingTable, TableKey, TableName};

fn text(name: &str) -> Key {
    Key::Text(name.to_owned())
}

fn groups() -> MapSettings {
    let tables = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    MapSettings {
        keyed_by: KeyedBy::Group,
        groups: [
            ("billing".to_owned(), tables(&["invoice", "payment"])),
            ("sales".to_owned(), tables(&["customer"])),
        ]
        .into(),
        ..MapSettings::default()
    }
}

fn map(settings: MapSettings) -> ShardMap {
    let keys = KeySet::list(["billing", "sales"].map(text));
    let map = map_of_kind("parts", Strategy::List, &[KeyType::Text], [(keys, "a")]);
    ShardMap { settings, ..map }
}

#[test]
fn a_whole_table_has_all_of_its_rows_in_a_set_or_none() {
    let table = |key| MovingTable::bare(TableName::parse("billing.invoice"), key);
    let keys = KeySet::list([text("billing")]);
    for key in [
        TableKey::Schema("billing".to_owned()),
        TableKey::Group("billing".to_owned()),
    ] {
        let table = table(key);
        assert_eq!(table.predicate(&keys, "new"), "(true)");
        assert_eq!(table.whole_key(), Some(text("billing")));
        assert!(table.has_key() && table.may_have_rows_of(&keys));
        let others = KeySet::list([text("sales")]);
        assert_eq!(table.predicate(&others, ""), "(false)");
        assert!(!table.may_have_rows_of(&others));
    }
}

#[test]
fn a_group_that_lacks_a_planned_table_is_changed() {
    let table = |name| MovingTable::bare(TableName::parse(name), TableKey::Group("billing".into()));
    let planned = MapSettings::listing(&[table("invoice"), table("payment")]);
    assert!(groups().changed_groups(&planned).is_empty());
    let mut settings = groups();
    let qualified = ["public.payment", "public.invoice"].map(str::to_owned);
    settings
        .groups
        .insert("billing".to_owned(), qualified.into());
    assert!(settings.changed_groups(&planned).is_empty());
    // It has no partition, so no plan contains it.
    let billing = settings.groups.get_mut("billing").unwrap();
    billing.push("public.empty".to_owned());
    assert!(settings.changed_groups(&planned).is_empty());
    let billing = settings.groups.get_mut("billing").unwrap();
    billing.retain(|table| table == "public.invoice");
    assert_eq!(settings.changed_groups(&planned), ["billing"]);
    settings.groups.remove("billing");
    assert_eq!(settings.changed_groups(&planned), ["billing"]);
}

#[test]
fn settings_of_whole_tables_fit_their_map() {
    let by = |keyed_by| MapSettings {
        keyed_by,
        ..groups()
    };
    let problems = |settings: MapSettings, key| {
        let keys = KeySet::list([text("billing")]);
        let map = map_of_kind("parts", Strategy::List, &[key], [(keys, "a")]);
        settings.accepted(&map).map_err(|error| error.problems)
    };
    assert_eq!(problems(groups(), KeyType::Text), Ok(groups()));
    assert_eq!(
        problems(groups(), KeyType::Bigint).unwrap_err(),
        ["with `keyed_by: group` the map has the strategy list, and its key has the type text"]
    );
    for keyed_by in [KeyedBy::Schema, KeyedBy::Column] {
        let name = keyed_by.name();
        assert_eq!(
            problems(by(keyed_by), KeyType::Text).unwrap_err(),
            [format!(
                "a map with `keyed_by: {name}` has no list `groups`"
            )]
        );
    }
    let keyed = MapSettings {
        tables: [("item".to_owned(), KeyColumns(vec!["k".to_owned()]))].into(),
        ..groups()
    };
    assert_eq!(
        problems(keyed, KeyType::Text).unwrap_err(),
        ["a map with `keyed_by: group` has no list `tables`"]
    );
    let twice = MapSettings {
        reference: vec!["payment".to_owned()],
        ..groups()
    };
    let twice = problems(twice, KeyType::Text).unwrap_err();
    assert!(twice[0].contains("payment is listed twice"), "{twice:?}");
    let listed = MapSettings::listing(&[
        MovingTable::bare(
            TableName::parse("invoice"),
            TableKey::Group("billing".to_owned()),
        ),
        MovingTable::bare(
            TableName::parse("payment"),
            TableKey::Group("billing".to_owned()),
        ),
        MovingTable::bare(
            TableName::parse("customer"),
            TableKey::Group("sales".to_owned()),
        ),
    ]);
    assert_eq!(listed.keyed_by, KeyedBy::Group);
    assert_eq!(listed.groups["billing"].len(), 2);
}

#[test]
fn a_plan_of_a_group_says_what_the_application_must_change() {
    let request = |more: &str| {
        format!(
            "{{operation: move, map: parts, moves: [{{source: a, target: b, keys: {{values: [billing]}}}}]{more}}}"
        )
    };
    let outline =
        |more: &str| try_outline(&request(more), &map(groups()), &fleet(&["a", "b"]), &[]);
    let notes = outline("").unwrap().notes;
    assert_eq!(
        notes,
        [
            "m1: from the flip on, the application uses the tables of group billing (invoice, payment) on shard b; a statement or transaction can no longer use them together with tables that stay on shard a"
        ]
    );
    let problems = outline(", tables: {invoice: id}").unwrap_err();
    assert!(problems[0].contains("remove `tables`"), "{problems:?}");
    let problems = outline(", options: {seed: standby}").unwrap_err();
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains("use `seed: copy`")),
        "{problems:?}"
    );
}
