//! Rows of dependent tables follow the rows to which they belong, while both shards have other rows with the same
//! identities (ADR 76).

mod guards;
mod random;
mod snapshots;
mod unproven;

use std::sync::Arc;

use connect::Connected;
use plans::names::Direction;
use plans::table::{MovingTable, TableKey, TableName, ThroughTable};

use super::apply::halted;
use super::bench::Bench;
use crate::shard::guard::{GuardedRows, owner_change};

const FORWARD: Direction = Direction::Forward;

/// A table with the key, one whose rows belong to it, and one whose rows belong to those.
const DDL: &str = "\
    create table public.orders (tenant_id bigint, id bigint unique, v text, primary key (tenant_id, id));
    create table public.line (id bigint primary key,
        order_id bigint references public.orders (id) on delete cascade on update cascade deferrable, v text);
    create index on public.line (order_id);
    create table public.tag (id bigint primary key,
        line_id bigint references public.line on delete set null on update cascade deferrable, v text);
    create index on public.tag (line_id)";

/// Rows that the target owns. Rows of other keys on the source have the same identities.
const OWN_ROWS: &str = "\
    insert into public.orders select 1, g, 'own' from generate_series(1000, 1099) g;
    insert into public.line select g, g, 'own' from generate_series(1000, 1099) g;
    insert into public.tag select g, g, 'own' from generate_series(1000, 1099) g";

fn through(parent: &str, column: &str, key: TableKey) -> TableKey {
    TableKey::Through(Box::new(ThroughTable {
        parent: TableName::parse(parent),
        columns: vec![(column.to_owned(), "id".to_owned())],
        enforced: true,
        key,
    }))
}

/// Returns the tables of [`DDL`], parents first.
fn with_parents(tables: &[MovingTable]) -> Vec<MovingTable> {
    let named = |name: &str| {
        let mut tables = tables.iter();
        let found = tables.find(|table| table.table.name == name);
        found.expect("a table").clone()
    };
    let orders = named("orders");
    let line = MovingTable {
        key: through("orders", "order_id", orders.key.clone()),
        identity: vec!["id".to_owned()],
        ..named("line")
    };
    let tag = MovingTable {
        key: through("line", "line_id", line.key.clone()),
        identity: vec!["id".to_owned()],
        ..named("tag")
    };
    vec![orders, line, tag]
}

/// Creates both shards; the target has rows of its own.
async fn bench(name: &str) -> Bench {
    let mut bench = Bench::new(name, DDL).await;
    bench.tables = Arc::new(with_parents(&bench.tables));
    let session = bench.target.session().await;
    session.batch_execute(OWN_ROWS).await.expect("rows");
    for (database, register) in [(&bench.source, 0), (&bench.target, i64::MAX)] {
        bench.guard(database, register).await;
        let session = bench.ours(database).await;
        let guarded = GuardedRows {
            keys: &bench.keys,
            tables: &bench.tables,
        };
        owner_change::create(&session, &bench.token, guarded)
            .await
            .expect("created");
    }
    bench
}

/// Returns the rows that are neither moving rows nor copies of them.
async fn other_rows(bench: &Bench, session: &Connected) -> Vec<String> {
    let mut all = Vec::new();
    for table in bench.tables.iter() {
        let read = format!(
            "select t.tableoid::regclass || (t.*)::text from {} t where {} is not true order by t.id",
            table.table.sql(),
            table.predicate_or_missing(&bench.keys, "t")
        );
        let rows = session.query(&read, &[]).await.expect("rows");
        all.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    all
}

/// Executes transactions on the source, one after the other, and checks both shards after each; and then once more
/// with a stream that begins when all are committed.
async fn follows(name: &str, transactions: &[&str], moving_rows: usize) {
    for at_once in [false, true] {
        let bench = bench(&format!("{name}_{}", u8::from(at_once))).await;
        let own = other_rows(&bench, &bench.ours(&bench.target).await).await;
        let app = bench.source.session().await;
        bench.capture(FORWARD).await;
        let mut stream = None;
        for transaction in transactions {
            let sql = format!("begin; {transaction}; commit");
            app.batch_execute(&sql).await.expect(transaction);
            if !at_once {
                if stream.is_none() {
                    stream = Some(bench.stream(FORWARD).await);
                }
                let stream = stream.as_ref().expect("a stream");
                bench.drain(stream).await.expect(transaction);
                bench.assert_equal().await;
            }
        }
        let stream = match stream {
            Some(stream) => stream,
            None => bench.stream(FORWARD).await,
        };
        bench.drain(&stream).await.expect("drained");
        assert_eq!(bench.assert_equal().await, moving_rows);
        let own_after = other_rows(&bench, &bench.ours(&bench.target).await).await;
        assert_eq!(own, own_after, "the rows of the target itself");
    }
}

#[tokio::test]
async fn rows_follow_their_parents_in_and_out() {
    let transactions = [
        "insert into public.orders values (100, 1, 'a'), (1, 1000, 'b'), (150, 2, 'c')",
        "insert into public.line values (1, 1, 'x'), (1000, 1000, 'y'), (2, 2, 'z'), (3, null, 'n')",
        "insert into public.tag values (1, 1, 'x'), (1000, 1000, 'y'), (2, 2, 'z'), (3, null, 'n')",
        // Rows of other keys with identities that the target has too.
        "update public.line set v = 'u'; update public.tag set v = 'u'",
        "update public.tag set id = id + 10 where id < 1000",
        "delete from public.tag where id = 1000",
        // A row without a parent gets one, another one loses it, a third one gets a parent of another key.
        "update public.line set order_id = 1 where id = 3",
        "update public.line set order_id = null where id = 1",
        "update public.tag set line_id = null where id = 11; update public.line set order_id = 1 where id = 1; \
         update public.tag set line_id = 1 where id = 11",
        // A parent gets another key: those that belong to it leave with it.
        "insert into public.orders values (151, 4, 'd'); insert into public.line values (4, 4, 'd'), (5, 4, 'd'); \
         insert into public.tag values (4, 4, 'd')",
        "update public.orders set tenant_id = 1 where id = 4; update public.line set v = 'w' where id = 5",
        "update public.line set order_id = 1 where id = 5; delete from public.line where id = 5",
        "insert into public.orders values (1, 3000, 'b'); update public.line set order_id = 3000 where id = 2",
        "delete from public.tag where id = 12; update public.line set order_id = 2 where id = 2",
        // Identities change, with those of the rows that refer to them.
        "update public.orders set id = 7 where id = 1",
        "update public.line set id = 77 where id = 1",
        // The parent goes first.
        "delete from public.orders where id = 2",
        "insert into public.orders values (150, 2, 'c'); insert into public.line values (2, 2, 'again')",
        "delete from public.orders where id = 1000",
    ];
    // Orders 7 and 2; lines 77, 3 and 2; the tag of 77.
    follows("dep_follow", &transactions, 6).await;
}

#[tokio::test]
async fn rows_can_be_written_before_their_parents() {
    let transactions = [
        "set constraints all deferred; insert into public.tag values (1, 1, 'x'); \
         insert into public.line values (1, 1, 'x'); insert into public.orders values (100, 1, 'a')",
        "set constraints all deferred; delete from public.orders where id = 1; \
         insert into public.line values (1, 1, 'again'); insert into public.orders values (100, 1, 'again')",
        "with l as (insert into public.line values (2, 2, 'y')), o as (insert into public.orders values (101, 2, 'b')) \
         insert into public.tag values (2, 2, 'y')",
        "set constraints all deferred; update public.line set order_id = 9 where id = 2; \
         insert into public.orders values (102, 9, 'c'); update public.tag set line_id = 1",
    ];
    follows("dep_before", &transactions, 8 - 1).await;
}

/// The log does not have a large value that the UPDATE does not change, but the row is new on the target.
#[tokio::test]
async fn a_row_that_gets_a_moving_parent_brings_its_large_values() {
    let bench = bench("dep_large").await;
    let app = bench.source.session().await;
    let rows = "alter table public.line alter column v set storage external;
        create function public.large(seed text, pieces int) returns text return
          (select string_agg(md5(seed || g), '') from generate_series(1, pieces) g);
        insert into public.orders values (100, 1, 'a'), (1, 3000, 'b');
        insert into public.line values (1, 3000, public.large('a', 1000)), (2, 3000, public.large('b', 20000)),
                                       (3, null, public.large('c', 65536)), (4, 1, 'd')";
    bench.capture(FORWARD).await;
    app.batch_execute(rows).await.expect("rows");
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
    for change in [
        "update public.line set order_id = 1 where id = 1",
        "update public.line set order_id = 1 where id in (2, 3); update public.line set v = 'now' where id = 2",
        "update public.line set order_id = 3000 where id = 3; update public.line set order_id = 1 where id = 3",
        "update public.line set id = id + 10 where id < 10",
        "update public.line set v = public.large('e', 65536) where id = 11",
        "update public.line set order_id = 3000 where id = 11; update public.line set v = public.large('f', 65536) where id = 11",
    ] {
        app.batch_execute(change).await.expect("changed");
        bench.drain(&stream).await.expect(change);
        bench.assert_equal().await;
    }
    assert_eq!(bench.assert_equal().await, 4);
}

/// The agent copies a large parent by itself, in place of an UPDATE that arrives without its value. Rows that belong to it
/// were gathered before, or come in the same transaction.
#[tokio::test]
async fn a_parent_that_is_copied_by_itself_keeps_its_rows() {
    let bench = bench("dep_parent").await;
    let app = bench.source.session().await;
    bench.capture(FORWARD).await;
    let rows = "alter table public.orders alter column v set storage external;
        create function public.large(seed text) returns text return
          (select string_agg(md5(seed || g), '') from generate_series(1, 65536) g);
        insert into public.orders values (100, 1, 'a'), (101, 2, 'b')";
    app.batch_execute(rows).await.expect("rows");
    for change in [
        "insert into public.line values (1, 1, 'x')",
        "update public.orders set v = public.large('c') where id = 1",
        "begin; insert into public.line values (2, 2, 'y'); update public.orders set v = public.large('d') where id = 2;
         insert into public.line values (3, 2, 'z'); commit",
        "begin; insert into public.orders values (102, 3, public.large('e')); insert into public.line values (4, 3, 'z'); commit",
    ] {
        app.batch_execute(change).await.expect(change);
    }
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 7);
    let child_first =
        "begin; set constraints all deferred; insert into public.line values (5, 4, 'w');
        insert into public.orders values (103, 4, public.large('f')); commit";
    app.batch_execute(child_first).await.expect("inserted");
    let (code, message) = halted(&stream).await;
    assert_eq!(code, "apply.parent", "{message}");
}

/// The agent has discarded the rows of an earlier piece when their parents arrive.
#[tokio::test]
async fn a_transaction_that_is_too_large_and_writes_parents_last_halts_the_stream() {
    let bench = bench("dep_late").await;
    let app = bench.source.session().await;
    bench.capture(FORWARD).await;
    let parents_first =
        "begin; insert into public.orders select 100, g, 'a' from generate_series(10001, 50000) g;
        insert into public.line select g, g, 'a' from generate_series(10001, 50000) g; commit";
    app.batch_execute(parents_first).await.expect("inserted");
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 80_000);
    let of_other_keys = "begin; set constraints all deferred; insert into public.line select g, g, 'a' from generate_series(100001, 140000) g;
        insert into public.orders select 1, g, 'a' from generate_series(100001, 140000) g; commit";
    app.batch_execute(of_other_keys).await.expect("inserted");
    bench.drain(&stream).await.expect("drained");
    let parents_last = "begin; set constraints all deferred; insert into public.line select g, g, 'a' from generate_series(200001, 240000) g;
        insert into public.orders select 100, g, 'a' from generate_series(200001, 240000) g; commit";
    app.batch_execute(parents_last).await.expect("inserted");
    let (code, message) = halted(&stream).await;
    assert_eq!(code, "apply.parent", "{message}");
    assert!(message.contains("row of public.orders"), "{message}");
}

#[tokio::test]
async fn parents_without_the_key_that_are_written_last_halt_the_stream_too() {
    let bench = bench("dep_late_line").await;
    let app = bench.source.session().await;
    bench.capture(FORWARD).await;
    let parents_last = "insert into public.orders values (100, 1, 'a');
        begin; set constraints all deferred; insert into public.tag select g, g, 'a' from generate_series(10001, 50000) g;
        insert into public.line select g, 1, 'a' from generate_series(10001, 50000) g; commit";
    app.batch_execute(parents_last).await.expect("inserted");
    let stream = bench.stream(FORWARD).await;
    let (code, message) = halted(&stream).await;
    assert_eq!(code, "apply.parent", "{message}");
    assert!(message.contains("row of public.line"), "{message}");
}
