//! A row is found by the index of its identity and by no other index, with any statistics of the table.
//!
//! The tests use the server's counters: how often a session scanned each index and the table.

use std::collections::BTreeMap;

use connect::Connected;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::names::Direction;

use super::bench::Bench;
use crate::compare::{MovingRows, canonical_key, delete_rows, hashes_by_key, parse_key, read_rows};
use crate::postgres::pgoutput::{OldRow, Relation, RelationColumn, Tuple, TupleValue};
use crate::stream::apply::{Applier, Executor, PlannedChanges, RowChange};

/// Other indexes also begin with columns of the identity, so the planner could use each of them.
const ITEM: &str = "
    create table public.item (tenant_id bigint, id bigint, line int, v text, op bigint, primary key (tenant_id, id, line));
    alter table public.item set (autovacuum_enabled = false);
    create index item_tenant on public.item (tenant_id);
    create index item_v on public.item (tenant_id, v);
    create index item_id on public.item (id);
    create index item_op on public.item (tenant_id, op) where op is not null";
/// The number of rows of one hot tenant.
const ROWS: i64 = 20_000;
const LOOKED_UP: i64 = 40;

/// The statistics that the planner has of a table.
#[derive(Debug, Clone, Copy)]
enum Statistics {
    /// No statistics.
    None,
    /// Statistics in which all rows have one tenant.
    OneTenant,
    /// Outdated statistics, in which each tenant has one row.
    OneRowEach,
    /// No statistics, and statements that were planned while the table was empty.
    Empty,
}

const ALL: [Statistics; 4] = [
    Statistics::None,
    Statistics::OneTenant,
    Statistics::OneRowEach,
    Statistics::Empty,
];

/// Creates a shard whose table is loaded so that it has these statistics.
async fn loaded(name: &str, statistics: Statistics) -> Bench {
    let name = format!("{name}_{statistics:?}").to_lowercase();
    let bench = Bench::new(&name, ITEM).await;
    let session = bench.target.session().await;
    if let Statistics::OneRowEach = statistics {
        let few = "insert into public.item select g, g, 0, 'v', g from pg_catalog.generate_series(1000, 3000) g;
                   analyze public.item; delete from public.item";
        session.batch_execute(few).await.expect("analyzed");
    }
    if !matches!(statistics, Statistics::Empty) {
        load(&session).await;
    }
    if let Statistics::OneTenant = statistics {
        session
            .batch_execute("analyze public.item")
            .await
            .expect("analyzed");
    }
    bench
}

async fn load(session: &Connected) {
    let rows = format!(
        "insert into public.item select 100, g, 0, 'v', g from pg_catalog.generate_series(1, {ROWS}) g"
    );
    session.batch_execute(&rows).await.expect("loaded");
}

/// Returns the scans of the table and of each of its indexes by this session, with the number of entries or rows that
/// they read.
async fn scans(session: &Connected) -> BTreeMap<String, (i64, i64)> {
    let read = "select c.relname::text, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid)
                from pg_class c left join pg_index i on i.indexrelid = c.oid
                where c.oid = 'public.item'::regclass or i.indrelid = 'public.item'::regclass";
    let rows = session.query(read, &[]).await.expect("counted");
    let count = |row: &tokio_postgres::Row| (row.get(0), (row.get(1), row.get(2)));
    rows.iter().map(count).collect()
}

/// Checks that the session has found `rows` rows since `before`, each by one scan of the primary key.
async fn assert_by_identity(
    what: &str,
    session: &Connected,
    before: &BTreeMap<String, (i64, i64)>,
    rows: i64,
) {
    let after = scans(session).await;
    let since: BTreeMap<&str, (i64, i64)> = after
        .iter()
        .map(|(name, (scans, read))| {
            let (old_scans, old_read) = before.get(name).copied().unwrap_or_default();
            (name.as_str(), (scans - old_scans, read - old_read))
        })
        .filter(|(_, count)| *count != (0, 0))
        .collect();
    let (scans, read) = since.get("item_pkey").copied().unwrap_or_default();
    assert!(scans >= rows, "{what}: {since:?}");
    assert!(read <= 3 * rows, "{what}: {since:?}");
    // The planner reads the first and last entries of indexes. A row that is found by its ctid counts as one read.
    let others: Vec<_> = since
        .iter()
        .filter(|(name, (_, read))| **name != "item_pkey" && *read > rows + 10)
        .collect();
    assert!(others.is_empty(), "{what}: {since:?}");
}

fn keys() -> Vec<String> {
    let id = |nth: i64| 1 + nth * (ROWS / LOOKED_UP);
    let key = |nth| format!("[\"100\",\"{}\",\"0\"]", id(nth));
    (0..LOOKED_UP).map(key).collect()
}

/// Returns the moving keys for each kind of map. The tenant is one of them.
fn key_sets() -> [KeySet; 3] {
    [
        KeySet::list([Key::Int(100)]),
        KeySet::range(Some(Key::Int(100)), Some(Key::Int(200))),
        KeySet::buckets(2, 0, 2),
    ]
}

#[tokio::test]
async fn changed_keys_are_compared_by_the_index_of_the_identity() {
    for statistics in ALL {
        let bench = loaded("look_compare", statistics).await;
        let shard = bench.shard(&bench.target, bench.token.epoch);
        for keys_that_move in key_sets() {
            let session = shard.lookup_session("cutover").await.expect("a session");
            let generic = "set plan_cache_mode = force_generic_plan";
            session.batch_execute(generic).await.expect("set");
            let moving = MovingRows::new(&bench.tables[0], &keys_that_move);
            let side = &session;
            if let Statistics::Empty = statistics {
                let none = hashes_by_key(side, &moving, &keys())
                    .await
                    .expect("looked up");
                assert!(none.is_empty());
                let app = bench.target.session().await;
                load(&app).await;
            }
            session.batch_execute("begin").await.expect("begun");
            let before = scans(&session).await;
            let found = hashes_by_key(side, &moving, &keys())
                .await
                .expect("looked up");
            assert_eq!(found.len(), keys().len());
            let what = format!("compare, {statistics:?}, {keys_that_move:?}");
            assert_by_identity(&what, &session, &before, LOOKED_UP).await;

            let before = scans(&session).await;
            let read = read_rows(side, &moving, &keys()).await.expect("read");
            assert_eq!(read.len(), keys().len());
            let what = format!("read to repair, {statistics:?}");
            assert_by_identity(&what, &session, &before, LOOKED_UP).await;

            let before = scans(&session).await;
            let gone = delete_rows(side, &moving, &keys()).await.expect("deleted");
            assert_eq!(gone, keys().len() as u64);
            let what = format!("repair, {statistics:?}");
            assert_by_identity(&what, &session, &before, LOOKED_UP).await;
            session.batch_execute("rollback").await.expect("undone");
            if let Statistics::Empty = statistics {
                let empty = "truncate public.item";
                let app = bench.target.session().await;
                app.batch_execute(empty).await.expect("emptied");
            }
        }
    }
}

fn relation() -> Relation {
    let column = |name: &str, type_oid: u32| RelationColumn {
        key: ["tenant_id", "id", "line"].contains(&name),
        name: name.to_owned(),
        type_oid,
        typmod: -1,
    };
    Relation {
        id: 1,
        namespace: "public".to_owned(),
        name: "item".to_owned(),
        replica_identity: 'd',
        columns: vec![
            column("tenant_id", 20),
            column("id", 20),
            column("line", 23),
            column("v", 25),
            column("op", 20),
        ],
    }
}

fn tuple(id: i64, v: &str) -> Tuple {
    let text = |text: String| TupleValue::Text(text.into());
    let values = [
        "100".to_owned(),
        id.to_string(),
        "0".to_owned(),
        v.to_owned(),
    ];
    let values = values.into_iter().map(text);
    Tuple(values.chain([TupleValue::Null]).collect())
}

/// Returns changes that update, or delete, the rows `from..to`.
fn changes(applier: &Applier, from: i64, to: i64, updated: bool) -> Vec<RowChange> {
    (from..to)
        .map(|id| match updated {
            true => applier.update(1, OldRow::Absent, tuple(id, "w")),
            false => applier.delete(1, OldRow::Key(tuple(id, "v"))),
        })
        .map(|change| change.expect("a change"))
        .collect()
}

#[tokio::test]
async fn changes_are_applied_by_the_index_of_the_identity() {
    for statistics in ALL {
        let bench = loaded("look_apply", statistics).await;
        let shard = bench.shard(&bench.target, bench.token.epoch);
        let session = shard.replica_session("apply").await.expect("a session");
        let mut applier = Applier::prepare(&session, &bench.tables)
            .await
            .expect("prepared");
        applier.set_relation(relation()).expect("its shape");
        let mut executor = Executor::new(session).await.expect("a session");
        if let Statistics::Empty = statistics {
            plan_on_empty(&mut executor, &applier).await;
            let app = bench.target.session().await;
            load(&app).await;
        }
        let session = executor.session().clone();
        session.batch_execute("begin").await.expect("begun");
        let sets = [
            ((1000, 1000 + LOOKED_UP), true),
            ((2000, 2000 + LOOKED_UP), false),
        ];
        let one_by_one = [((3000, 3001), true), ((4000, 4001), false)];
        for (ids, updated) in sets.into_iter().chain(one_by_one) {
            let changes = changes(&applier, ids.0, ids.1, updated);
            let planned = PlannedChanges::of(&changes);
            let before = scans(&session).await;
            executor.execute(&planned).await.expect("applied");
            let what = format!("apply {ids:?}, updated {updated}, {statistics:?}");
            assert_by_identity(&what, &session, &before, ids.1 - ids.0).await;
        }
    }
}

/// Plans the statements for single changes while the table is empty.
async fn plan_on_empty(executor: &mut Executor, applier: &Applier) {
    for updated in [true, false] {
        let session = executor.session().clone();
        session.batch_execute("begin").await.expect("begun");
        let changes = changes(applier, 1, 2, updated);
        let missed = executor.execute(&PlannedChanges::of(&changes)).await;
        assert!(missed.is_err(), "no row is there");
        session.batch_execute("rollback").await.expect("undone");
    }
}

/// For each table `(definition, more)`: the number of identity columns that the index returns in sort order, if these
/// are not all.
#[tokio::test]
async fn an_index_in_another_order_is_not_asked_for_its_own() {
    const TEXT: &str = "tenant_id bigint not null, name text not null";
    let by = |index: &str| {
        format!(
            "create unique index item_by on public.item ({index}); alter table public.item replica identity using index item_by"
        )
    };
    let full = "alter table public.item replica identity full";
    let cases = [
        (
            "look_key",
            "primary key (tenant_id, name)",
            String::new(),
            None,
        ),
        ("look_desc", "v int", by("tenant_id desc, name desc"), None),
        ("look_mixed", "v int", by("tenant_id, name desc"), Some(0)),
        (
            "look_nulls",
            "v int",
            by("tenant_id nulls first, name nulls first"),
            Some(0),
        ),
        (
            "look_class",
            "v int",
            by("tenant_id, name text_pattern_ops"),
            Some(0),
        ),
        (
            "look_collation",
            "v int",
            by("tenant_id, name collate \"C\""),
            Some(0),
        ),
        ("look_full", "primary key (name)", full.to_owned(), Some(1)),
    ];
    for (name, rest, more, expected) in cases {
        let ddl = format!("create table public.item ({TEXT}, {rest}); {more}");
        let bench = Bench::new(name, &ddl).await;
        let table = &bench.tables[0];
        assert_eq!(
            table.lookup_columns, expected,
            "{name}: {:?}",
            table.identity
        );
        let row =
            "insert into public.item select 100, 'n' || g from pg_catalog.generate_series(1, 9) g";
        let app = bench.target.session().await;
        app.batch_execute(row).await.expect("a row");
        let shard = bench.shard(&bench.target, bench.token.epoch);
        let session = shard.lookup_session("test").await.expect("a session");
        let moving = MovingRows::new(table, &bench.keys);
        let side = &session;
        let key = match expected {
            Some(1) => "[\"n4\",\"100\"]",
            _ => "[\"100\",\"n4\"]",
        };
        let found = hashes_by_key(side, &moving, &[key.to_owned()]).await;
        assert_eq!(found.expect("looked up").len(), 1, "{name}");
    }
}

/// The first column of the identity can have any type with a sort order.
#[tokio::test]
async fn rows_are_found_whatever_the_type_of_the_first_column_is() {
    let types = [
        ("int", "bigint", "g"),
        ("domain", "public.number", "g"),
        (
            "enum",
            "public.mood",
            "case g % 2 when 0 then 'good' else 'bad' end::public.mood",
        ),
        ("array", "int[]", "array[g, g + 1]"),
        ("texts", "text[]", "array['a,b', g::text]"),
        ("varchar", "varchar(20)", "'n''' || g"),
        ("char", "char(6)", "'c' || g"),
        ("numeric", "numeric(8, 2)", "g + 0.50"),
        (
            "time",
            "timestamptz(3)",
            "'2024-02-01 10:00+02'::timestamptz + g * interval '1 s'",
        ),
        ("bytea", "bytea", "decode(md5(g::text), 'hex')"),
        ("uuid", "uuid", "md5(g::text)::uuid"),
        ("range", "int4range", "int4range(g, g + 2)"),
        ("pair", "public.pair", "row(g, 'x, y')::public.pair"),
    ];
    for (name, first, value) in types {
        let ddl = format!(
            "create domain public.number as bigint check (value > 0); create type public.mood as enum ('good', 'bad');
             create type public.pair as (a int, b text);
             create table public.item (k {first}, tenant_id bigint, id int, v text, primary key (k, tenant_id, id))"
        );
        let bench = Bench::new(&format!("look_{name}"), &ddl).await;
        bench.capture(Direction::Forward).await;
        let stream = bench.stream(Direction::Forward).await;
        let app = bench.source.session().await;
        let fill = format!(
            "insert into public.item select {value}, 100, g, 'v' from generate_series(1, 40) g"
        );
        app.batch_execute(&fill).await.expect(name);
        bench.drain(&stream).await.expect("inserted");
        // The first two changes are applied as sets, the others one by one.
        for change in [
            "update public.item set v = 'w'",
            "delete from public.item where id % 3 = 0",
            "update public.item set v = 'x' where id = 4",
            "delete from public.item where id = 5",
        ] {
            app.batch_execute(change).await.expect(change);
            let applied = bench.drain(&stream).await;
            applied.unwrap_or_else(|error| panic!("{name}, {change}: {error}"));
        }
        assert_eq!(bench.assert_equal().await, 26, "{name}");

        let shard = bench.shard(&bench.target, bench.token.epoch);
        let session = shard.lookup_session("test").await.expect("a session");
        let moving = MovingRows::new(&bench.tables[0], &bench.keys);
        let side = &session;
        let keys = "select json_build_array(format('%s', k), format('%s', tenant_id), format('%s', id))::text from public.item";
        let rows = session.query(keys, &[]).await.expect("keys");
        let keys: Vec<String> = rows
            .iter()
            .map(|row| canonical_key(&parse_key(row.get(0))))
            .collect();
        let found = hashes_by_key(side, &moving, &keys).await.expect(name);
        assert_eq!(found.len(), 26, "{name}");
    }
}
