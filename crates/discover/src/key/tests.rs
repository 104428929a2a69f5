//! Tests which key is found in tables of different forms.

use super::*;
use crate::facts::{Column, Index, Reference};

/// A table, the table to which it refers, and pairs of their columns.
type Refers<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

fn table(columns: &[&str], keys: &[&[&str]]) -> Table {
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        kind: Some(KeyType::Bigint),
        not_null: true,
    };
    let index = |(place, columns): (usize, &&[&str])| Index {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        is_primary: place == 0,
        is_unique: place == 0,
    };
    Table {
        columns: columns.iter().map(column).collect(),
        indexes: keys.iter().enumerate().map(index).collect(),
        ..Table::default()
    }
}

fn facts(tables: Vec<(&str, Table)>, references: &[(&str, &str, &str)]) -> Facts {
    let reference = |(from, own, to): &(&str, &str, &str)| Reference {
        from: TableName::parse(from),
        to: TableName::parse(to),
        columns: vec![((*own).to_owned(), "id".to_owned())],
    };
    let named_key = tables.into_iter();
    Facts {
        tables: named_key
            .map(|(name, table)| (TableName::parse(name), table))
            .collect(),
        references: references.iter().map(reference).collect(),
    }
}

fn best(facts: &Facts) -> KeyCandidate {
    candidates(facts).first().cloned().expect("a candidate")
}

fn columns(candidate: &KeyCandidate) -> Vec<(String, String)> {
    let columns = candidate.columns.iter();
    columns
        .map(|(table, column)| (map_name(table), column.clone()))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(one, other)| ((*one).to_owned(), (*other).to_owned()))
        .collect()
}

#[test]
fn the_id_of_every_table_is_not_the_key() {
    let shop = facts(
        vec![
            ("tenants", table(&["id"], &[&["id"]])),
            ("orders", table(&["id", "tenant_id"], &[&["id"]])),
            ("lines", table(&["id", "order_id", "tenant_id"], &[&["id"]])),
        ],
        &[
            ("orders", "tenant_id", "tenants"),
            ("lines", "tenant_id", "tenants"),
            ("lines", "order_id", "orders"),
        ],
    );
    let found = candidates(&shop);
    assert_eq!(
        (found[0].name.as_str(), found[0].kind),
        ("tenant_id", KeyType::Bigint)
    );
    assert_eq!(
        columns(&found[0]),
        pairs(&[
            ("lines", "tenant_id"),
            ("orders", "tenant_id"),
            ("tenants", "id")
        ])
    );
    assert_eq!(found[1].name, "order_id");
    let named_order = named_key(&shop, "order_id").unwrap();
    assert_eq!(
        columns(&named_order),
        pairs(&[("lines", "order_id"), ("orders", "id")])
    );
    let error = named_key(&shop, "id").unwrap_err().to_string();
    assert!(error.contains("orders.id, tenants.id"), "{error}");
    assert_eq!(
        named_key(&shop, "tenants.id").unwrap().columns,
        found[0].columns
    );
}

#[test]
fn a_schema_without_foreign_keys_is_read_by_its_names_and_indexes() {
    let rails = facts(
        vec![
            ("accounts", table(&["id"], &[&["id"]])),
            (
                "posts",
                table(&["id", "account_id"], &[&["id"], &["account_id"]]),
            ),
            (
                "likes",
                table(&["id", "account_id"], &[&["id"], &["account_id", "id"]]),
            ),
        ],
        &[],
    );
    let found = best(&rails);
    assert_eq!(found.name, "account_id");
    assert_eq!(
        columns(&found),
        pairs(&[
            ("accounts", "id"),
            ("likes", "account_id"),
            ("posts", "account_id")
        ])
    );
}

/// Tables of warehouses: each column begins with the table's prefix. `references` adds foreign keys.
fn warehouses(references: bool) -> Facts {
    let mut all = facts(
        vec![
            ("warehouse", table(&["w_id", "w_name"], &[&["w_id"]])),
            ("item", table(&["i_id", "i_name"], &[&["i_id"]])),
            (
                "district",
                table(&["d_w_id", "d_id"], &[&["d_w_id", "d_id"]]),
            ),
            (
                "stock",
                table(&["s_w_id", "s_i_id"], &[&["s_w_id", "s_i_id"]]),
            ),
            (
                "orders",
                table(
                    &["o_w_id", "o_d_id", "o_id"],
                    &[&["o_w_id", "o_d_id", "o_id"]],
                ),
            ),
            (
                "order_line",
                table(
                    &["ol_w_id", "ol_d_id", "ol_o_id", "ol_i_id"],
                    &[&["ol_w_id", "ol_d_id", "ol_o_id"]],
                ),
            ),
        ],
        &[],
    );
    let reference = |(from, to, columns): Refers<'_>| Reference {
        from: TableName::parse(from),
        to: TableName::parse(to),
        columns: pairs(columns),
    };
    if references {
        let own: [Refers<'_>; 6] = [
            ("district", "warehouse", &[("d_w_id", "w_id")]),
            ("stock", "warehouse", &[("s_w_id", "w_id")]),
            ("stock", "item", &[("s_i_id", "i_id")]),
            (
                "orders",
                "district",
                &[("o_w_id", "d_w_id"), ("o_d_id", "d_id")],
            ),
            (
                "order_line",
                "orders",
                &[
                    ("ol_w_id", "o_w_id"),
                    ("ol_d_id", "o_d_id"),
                    ("ol_o_id", "o_id"),
                ],
            ),
            (
                "order_line",
                "stock",
                &[("ol_w_id", "s_w_id"), ("ol_i_id", "s_i_id")],
            ),
        ];
        all.references = own.map(reference).into();
    }
    all
}

#[test]
fn a_key_has_another_name_in_each_table() {
    let by_name = pairs(&[
        ("district", "d_w_id"),
        ("order_line", "ol_w_id"),
        ("orders", "o_w_id"),
        ("stock", "s_w_id"),
        ("warehouse", "w_id"),
    ]);
    for references in [true, false] {
        let found = best(&warehouses(references));
        assert_eq!(columns(&found), by_name, "{references}");
        assert_eq!(found.name, "warehouse.w_id");
        let named_key = named_key(&warehouses(references), "w_id").unwrap();
        assert_eq!(columns(&named_key), by_name, "{references}");
    }
}

#[test]
fn names_count_without_case_and_underscores() {
    let camel = facts(
        vec![
            ("Tenant", table(&["id"], &[&["id"]])),
            ("Order", table(&["tenantId", "id"], &[&["tenantId", "id"]])),
            (
                "Note",
                table(&["tenant_id", "id"], &[&["id"], &["tenant_id"]]),
            ),
        ],
        &[],
    );
    let found = best(&camel);
    assert_eq!(
        columns(&found),
        pairs(&[
            ("Note", "tenant_id"),
            ("Order", "tenantId"),
            ("Tenant", "id")
        ])
    );
}

#[test]
fn of_several_columns_that_hold_the_key_the_one_in_the_primary_key_is_taken() {
    let graph = facts(
        vec![
            ("users", table(&["id"], &[&["id"]])),
            ("devices", table(&["user_id", "id"], &[&["user_id", "id"]])),
            (
                "edge",
                table(
                    &["destination_id", "source_id", "pos"],
                    &[&["source_id", "pos"]],
                ),
            ),
        ],
        &[
            ("devices", "user_id", "users"),
            ("edge", "source_id", "users"),
            ("edge", "destination_id", "users"),
        ],
    );
    let found = best(&graph);
    assert_eq!(found.name, "users.id");
    assert_eq!(
        columns(&found),
        pairs(&[
            ("devices", "user_id"),
            ("edge", "source_id"),
            ("users", "id")
        ])
    );
    let other = named_key(&graph, "destination_id").unwrap();
    assert_eq!(other.columns[&TableName::parse("edge")], "destination_id");
}

#[test]
fn a_table_that_many_refer_to_is_not_the_key_where_few_have_it_in_theirs() {
    let mut world = facts(
        vec![
            ("country", table(&["code"], &[&["code"]])),
            ("tenant", table(&["id", "country"], &[&["id"]])),
            (
                "member",
                table(&["tenant_id", "id", "country"], &[&["tenant_id", "id"]]),
            ),
            (
                "invoice",
                table(&["tenant_id", "id", "country"], &[&["tenant_id", "id"]]),
            ),
        ],
        &[
            ("tenant", "country", "country"),
            ("member", "country", "country"),
            ("invoice", "country", "country"),
            ("member", "tenant_id", "tenant"),
            ("invoice", "tenant_id", "tenant"),
        ],
    );
    for reference in &mut world.references {
        if reference.to.name == "country" {
            reference.columns = pairs(&[("country", "code")]);
        }
    }
    let found = candidates(&world);
    assert_eq!(found[0].name, "tenant_id", "{found:?}");
    // Few values in many rows are not a tenant's key: a country is none, a tenant is.
    let tables = world.tables.iter_mut();
    tables.for_each(|(name, table)| table.rows = if name.name == "country" { 2 } else { 100_000 });
    assert_eq!(best(&world).name, "tenant_id");
}

#[test]
fn tables_that_nothing_ties_have_no_key() {
    let apart = facts(
        vec![
            ("a", table(&["id", "x"], &[&["id"]])),
            ("b", table(&["id", "y"], &[&["id"], &["y"]])),
        ],
        &[],
    );
    assert!(candidates(&apart).is_empty());
    let error = named_key(&apart, "z").unwrap_err();
    assert_eq!(
        error.to_string(),
        "column z cannot be the key: no table has it"
    );
}

#[test]
fn tables_beside_another_one_of_the_same_key_hold_it_too() {
    let rooms = facts(
        vec![
            ("rooms", table(&["room_id"], &[&["room_id"]])),
            ("room_stats", table(&["room_id"], &[&["room_id"]])),
            ("aliases", table(&["alias", "room_id"], &[&["alias"]])),
            (
                "events",
                table(&["event_id", "room_id"], &[&["event_id"], &["room_id"]]),
            ),
        ],
        &[("aliases", "room_id", "rooms")],
    );
    let mut rooms = rooms;
    rooms.references[0].columns = pairs(&[("room_id", "room_id")]);
    let by_name = ["aliases", "events", "room_stats", "rooms"].map(|name| (name, "room_id"));
    assert_eq!(columns(&best(&rooms)), pairs(&by_name));
    assert_eq!(
        columns(&named_key(&rooms, "room_id").unwrap()),
        pairs(&by_name)
    );
}

#[test]
fn columns_that_foreign_keys_tie_to_each_other_alone_are_known_by_their_name() {
    let mut sso = facts(
        vec![
            ("tenants", table(&["id"], &[&["id"]])),
            (
                "repos",
                table(&["tenant_id", "id"], &[&["tenant_id", "id"]]),
            ),
            (
                "clients",
                table(&["client_id", "tenant_id"], &[&["client_id", "tenant_id"]]),
            ),
            ("apps", table(&["id", "client_id", "tenant_id"], &[&["id"]])),
        ],
        &[
            ("repos", "tenant_id", "tenants"),
            ("apps", "client_id", "clients"),
        ],
    );
    sso.references[1].columns = pairs(&[("client_id", "client_id"), ("tenant_id", "tenant_id")]);
    let found = best(&sso);
    assert_eq!(found.name, "tenant_id");
    assert_eq!(found.columns.len(), 4, "{found:?}");
}

#[test]
fn rows_that_a_migration_has_brought_say_nothing_of_a_key() {
    let mut fresh = facts(
        vec![
            ("tenants", table(&["id"], &[&["id"]])),
            ("avatars", table(&["id"], &[&["id"]])),
            (
                "users",
                table(&["id", "tenant_id", "avatar_id"], &[&["id"]]),
            ),
            ("notes", table(&["id", "tenant_id", "user_id"], &[&["id"]])),
        ],
        &[
            ("users", "tenant_id", "tenants"),
            ("users", "avatar_id", "avatars"),
            ("notes", "tenant_id", "tenants"),
            ("notes", "user_id", "users"),
        ],
    );
    for (name, table) in &mut fresh.tables {
        table.rows = i64::from(name.name == "tenants");
    }
    assert_eq!(best(&fresh).name, "tenant_id");
}
