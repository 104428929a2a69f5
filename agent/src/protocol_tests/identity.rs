//! The identity of rows. The tests use rows that change their identity, enter the moving keys or leave them, in both
//! directions.

use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use plans::failure::Failure;
use plans::id::AttemptNo;
use plans::names::Direction;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::apply::halted;
use super::bench::Bench;
use crate::shard::marker::{Marker, MarkerKind};

const COLUMNS: &str = "create table public.item (tenant_id bigint not null, id bigint not null, code bigint not null, v text, big text";
const LARGE: &str = "alter table public.item alter column big set storage external";

/// Returns DDL of a table whose rows have this identity.
fn item(key: &str, identity: &str) -> String {
    format!("{COLUMNS}{key}); {LARGE}; {identity}")
}

/// Writes the open marker, at which the reverse stream begins.
async fn open(bench: &Bench, direction: Direction) {
    if direction == Direction::Reverse {
        let session = bench.ours(&bench.target).await;
        let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Opened);
        marker.emit(&session, &bench.token).await.expect("opened");
    }
}

/// Executes transactions that change rows, their keys, and whether they move, until `stop` is set.
async fn write(session: &Connected, seed: u64, insert: &str, stop: &AtomicBool) {
    let mut random = StdRng::seed_from_u64(seed);
    while !stop.load(Ordering::SeqCst) {
        let mut turn = "begin; ".to_owned();
        for _ in 0..random.random_range(1..4) {
            turn.push_str(&statement(&mut random, insert));
        }
        let end = if random.random_bool(0.1) {
            "rollback"
        } else {
            "commit"
        };
        turn.push_str(end);
        if session.batch_execute(&turn).await.is_err() {
            let ended = session.batch_execute("rollback").await;
            ended.expect("rolled back");
        }
    }
}

fn statement(random: &mut StdRng, insert: &str) -> String {
    let mut tenant = || random.random_range(97..103);
    let (from, to) = (tenant(), tenant());
    let (id, other) = (random.random_range(0..20), random.random_range(0..20));
    let row = format!("where tenant_id = {from} and id = {id}");
    match random.random_range(0..10) {
        0..3 => format!(
            "insert into public.item values ({from}, {id}, {id}, 'n', repeat(md5(random()::text), 200)) {insert}; "
        ),
        3 => format!("update public.item set v = v || 'u' where tenant_id = {from}; "),
        4 => format!("update public.item set big = repeat(md5(random()::text), 200) {row}; "),
        5 | 6 => format!("update public.item set tenant_id = {to} {row}; "),
        7 => format!(
            "update public.item set id = -1, code = -1 {row};
             update public.item set id = {id}, code = {id} where tenant_id = {from} and id = {other};
             update public.item set id = {other}, code = {other} where tenant_id = {from} and id = -1; "
        ),
        8 => format!("update public.item set v = null, big = null {row}; "),
        _ => format!("delete from public.item {row}; "),
    }
}

const ONCE: &str = "on conflict do nothing";

/// Writes at random in both directions while the stream is killed repeatedly. Checks that the copies are equal.
async fn arrives(name: &str, ddl: &str, insert: &str) {
    arrives_or_halts(name, ddl, insert, None).await;
}

/// As [`arrives`]. A row that is ahead of the stream may conflict with another row in the index `secondary`. The stream
/// then halts until the upstream shard no longer has these values (ADR 22).
async fn arrives_or_halts(name: &str, ddl: &str, insert: &str, secondary: Option<&str>) {
    for direction in [Direction::Forward, Direction::Reverse] {
        let bench = Bench::new(&format!("{name}_{direction}"), ddl).await;
        bench.capture(direction).await;
        open(&bench, direction).await;
        let (origin, _) = bench.ends(direction);
        let (one, two) = (origin.session().await, origin.session().await);
        let three = origin.session().await;
        let stop = AtomicBool::new(false);
        let writing =
            async { tokio::join!(write(&one, 1, insert, &stop), write(&two, 2, insert, &stop)) };
        let killing = async {
            let mut random = StdRng::seed_from_u64(3);
            for _ in 0..3 {
                let stream = bench.stream(direction).await;
                let mut seen = stream.subscribe();
                for _ in 0..random.random_range(3..12) {
                    seen.changed().await.expect("it works");
                    let failure = seen.borrow_and_update().status.failure.clone();
                    if let Some(failure) = failure {
                        give_up(&three, &failure, secondary).await;
                        break;
                    }
                }
            }
            stop.store(true, Ordering::SeqCst);
        };
        tokio::join!(writing, killing);
        let stream = bench.stream(direction).await;
        if let Err(error) = bench.drain(&stream).await {
            give_up(&three, error.failure().expect("a failure"), secondary).await;
            let stream = bench.stream(direction).await;
            bench.drain(&stream).await.expect("drained");
        }
        assert!(bench.assert_equal().await > 0, "{name} {direction}");
    }
}

/// Applies the remedy for a halt in the index `secondary`. Fails for any other halt.
async fn give_up(session: &Connected, failure: &Failure, secondary: Option<&str>) {
    let known = secondary.is_some_and(|index| failure.message.contains(index));
    assert!(known && failure.code == "sql.23505", "{failure:?}");
    let anew = "delete from public.item; insert into public.item values (100, 0, 0, 'n')";
    for _ in 0..20 {
        // The statement and the writers can block each other.
        if session.batch_execute(anew).await.is_ok() {
            return;
        }
    }
    panic!("the values could not be given up");
}

#[tokio::test]
async fn rows_with_a_primary_key_arrive_whatever_they_become() {
    arrives("by_key", &item(", primary key (tenant_id, id)", ""), ONCE).await;
}

#[tokio::test]
async fn rows_with_a_unique_index_as_identity_arrive_whatever_they_become() {
    let identity = "create unique index by_id on public.item (id, tenant_id);
                    alter table public.item replica identity using index by_id";
    arrives("by_index", &item("", identity), ONCE).await;
}

const BY_CODE: &str = "create unique index by_code on public.item (tenant_id, code) include (v);
                       alter table public.item replica identity using index by_code";

#[tokio::test]
async fn rows_that_another_index_than_the_primary_key_identifies_arrive_whatever_they_become() {
    let ddl = item(", primary key (id)", BY_CODE);
    arrives_or_halts("by_other", &ddl, ONCE, Some("item_pkey")).await;
}

/// This is the behaviour that the documentation describes. The failure names the conflicting values.
#[tokio::test]
async fn a_row_that_is_ahead_halts_at_a_secondary_value_that_is_not_given_up_yet() {
    let bench = Bench::new(
        "ahead_meets",
        &item(", primary key (tenant_id, id), unique (code)", ""),
    )
    .await;
    let app = bench.source.session().await;
    let rows = "insert into public.item values (50, 1, 1, 'v', repeat('0123456789', 2000))";
    app.batch_execute(rows).await.expect("inserted");
    bench.capture(Direction::Forward).await;
    for statement in [
        "insert into public.item values (100, 2, 2, 'v', 'v')",
        "update public.item set tenant_id = 100 where id = 1",
        "update public.item set code = 3 where id = 2",
        "update public.item set code = 2 where id = 1",
    ] {
        app.batch_execute(statement).await.expect(statement);
    }
    let stream = bench.stream(Direction::Forward).await;
    let (code, message) = halted(&stream).await;
    assert_eq!(code, "sql.23505", "{message}");
    assert!(message.contains("item_code_key"), "{message}");
    drop(stream);
    let given_up = "update public.item set code = 4 where id = 1";
    app.batch_execute(given_up).await.expect("changed");
    let stream = bench.stream(Direction::Forward).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
}

const FULL: &str = "alter table public.item replica identity full";

#[tokio::test]
async fn whole_rows_with_a_primary_key_arrive_whatever_they_become() {
    arrives("full", &item(", primary key (tenant_id, id)", FULL), ONCE).await;
}

#[tokio::test]
async fn whole_rows_whose_primary_key_lacks_the_shard_key_arrive_whatever_they_become() {
    arrives("full_other", &item(", primary key (id)", FULL), ONCE).await;
}

#[tokio::test]
async fn equal_rows_without_a_key_arrive_as_often_as_they_are() {
    arrives("full_bare", &item("", FULL), "").await;
}

/// Statements on the row ID after it has entered the moving keys and before the stream starts, so that the stream reads
/// the row in its final state.
const MOVED_IN: [&str; 9] = [
    "",
    "update public.item set v = 'later' where id = ID;",
    "update public.item set big = repeat('later', 1000) where id = ID;",
    "update public.item set id = -ID where id = ID;",
    "update public.item set id = -ID where id = ID; update public.item set big = 'other' where id = -ID;
     update public.item set id = ID where id = -ID;",
    "delete from public.item where id = ID;",
    "update public.item set tenant_id = 50 where id = ID;",
    "update public.item set tenant_id = 50 where id = ID; update public.item set tenant_id = 101 where id = ID;
     update public.item set tenant_id = 100 where id = ID;",
    "update public.item set id = -ID where id = ID; insert into public.item values (100, ID, 9, 'new', repeat('new', 2000));",
];

/// The change by which the row enters the keys does not contain the large value, which is unchanged.
async fn is_read_again(name: &str, ddl: &str, later: &[&str], left: usize) {
    for direction in [Direction::Forward, Direction::Reverse] {
        let bench = Bench::new(&format!("{name}_{direction}"), ddl).await;
        let app = bench.ends(direction).0.session().await;
        let large = "insert into public.item select 50, g, g, 'v', repeat('0123456789', 2000) from generate_series(1, 9) g";
        app.batch_execute(large).await.expect("inserted");
        bench.capture(direction).await;
        open(&bench, direction).await;
        let change = "update public.item set tenant_id = 100";
        app.batch_execute(change).await.expect("moved in");
        for (id, later) in (1..).zip(later) {
            let later = later.replace("ID", &id.to_string());
            // Each change is a separate transaction.
            for statement in later.split(';') {
                app.batch_execute(statement).await.expect(statement);
            }
        }
        let stream = bench.stream(direction).await;
        bench.drain(&stream).await.expect("drained");
        assert_eq!(bench.assert_equal().await, left);
        for last in [
            "update public.item set v = 'last'",
            "delete from public.item",
        ] {
            app.batch_execute(last).await.expect(last);
            bench.drain(&stream).await.expect("drained");
            bench.assert_equal().await;
        }
    }
}

#[tokio::test]
async fn a_row_that_moves_in_without_its_large_value_is_read_again() {
    let ddl = item(", primary key (tenant_id, id)", "");
    is_read_again("moved_in", &ddl, &MOVED_IN, 8).await;
}

#[tokio::test]
async fn a_row_that_another_index_than_the_primary_key_identifies_is_read_again() {
    let ddl = item(", primary key (id)", BY_CODE);
    // In the last case another row has the code of the first one.
    is_read_again("moved_in_other", &ddl, &MOVED_IN[..8], 7).await;
}

/// A deferrable unique constraint: rows exchange their values within a transaction, and the source checks at its end.
#[tokio::test]
async fn rows_swap_a_deferrable_unique_value_and_their_keys() {
    let identity =
        "alter table public.item add unique (tenant_id, code) deferrable initially deferred";
    let ddl = item(", primary key (tenant_id, id)", identity);
    for direction in [Direction::Forward, Direction::Reverse] {
        let bench = Bench::new(&format!("swaps_{direction}"), &ddl).await;
        bench.capture(direction).await;
        open(&bench, direction).await;
        let app = bench.ends(direction).0.session().await;
        let stream = bench.stream(direction).await;
        for change in [
            "insert into public.item select 100, g, g, 'v' || g, repeat(md5(g::text), 200) from generate_series(1, 9) g",
            "update public.item set code = 10 - code",
            "begin; update public.item set code = 2 where id = 1; update public.item set code = 9 where code = 2 and id <> 1; commit",
            "begin; update public.item set id = 0 where id = 1; update public.item set id = 1 where id = 2; update public.item set id = 2 where id = 0; commit",
        ] {
            app.batch_execute(change).await.expect(change);
        }
        bench.drain(&stream).await.expect("drained");
        assert_eq!(bench.assert_equal().await, 9);
    }
}

/// Another session deleted one of two equal rows on the target. A change that finds no row must not count as applied.
#[tokio::test]
async fn an_equal_row_that_is_missing_halts_the_stream() {
    let bench = Bench::new("bare_missing", &item("", FULL)).await;
    bench.capture(Direction::Forward).await;
    let app = bench.source.session().await;
    let twice = "insert into public.item select 100, 1, 1, null, 'x' from generate_series(1, 2)";
    app.batch_execute(twice).await.expect("inserted");
    let stream = bench.stream(Direction::Forward).await;
    bench.drain(&stream).await.expect("drained");
    let there = bench.target.session().await;
    let one = "delete from public.item where ctid = (select min(ctid) from public.item)";
    there.batch_execute(one).await.expect("taken away");
    app.batch_execute("delete from public.item")
        .await
        .expect("deleted");
    assert_eq!(halted(&stream).await.0, "apply.count");
}

/// Rows that are identified by all their columns: long rows, and texts that the column's collation treats as equal.
#[tokio::test]
async fn whole_rows_are_told_apart_by_each_byte_whatever_their_length() {
    let table = "
        create collation public.alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        create table public.item (tenant_id bigint not null, v text collate public.alike, big text);
        alter table public.item replica identity full";
    let bench = Bench::each_alone("bytes", table).await;
    bench.capture(Direction::Forward).await;
    let stream = bench.stream(Direction::Forward).await;
    stream.start_recording_dirty_keys();
    let app = bench.source.session().await;
    for change in [
        "insert into public.item values (100, 'Foo', 'x'), (100, 'foo', 'x'), (100, 'FOO', 'x')",
        "insert into public.item select 100, 'long', string_agg(md5(random()::text), '') from generate_series(1, 500)",
        "delete from public.item where v collate \"C\" = 'foo'",
        "update public.item set big = 'y' where v collate \"C\" = 'FOO'",
        "update public.item set v = 'longer' where v = 'long'",
    ] {
        app.batch_execute(change).await.expect(change);
    }
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 3);
    let target = bench.ours(&bench.target).await;
    let read = "select count(distinct key) from shardwright.dirty, unnest(keys) key where length(key) > 16000";
    let long: i64 = target.query_one(read, &[]).await.expect("read").get(0);
    assert_eq!(long, 2);
}

/// Measures the number of changes applied per second, by kind of identity: `cargo test --release -p agent --lib
/// apply_rate -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "figures"]
async fn apply_rate() {
    let key = ", primary key (tenant_id, id)";
    let indexed = format!("{FULL}; create index on public.item (tenant_id)");
    for (what, key, identity, rows) in [
        ("default", key, "", 40_000),
        ("full, with a primary key", key, FULL, 40_000),
        (
            "full, without a key, an index on the shard key",
            "",
            &indexed,
            4_000,
        ),
        ("full, without a key or an index", "", FULL, 4_000),
    ] {
        let bench = Bench::new(&format!("rate_{}_{rows}", what.len()), &item(key, identity)).await;
        let fill = format!(
            "insert into public.item select 100 + g % 100, g, g, 'v', repeat(md5(g::text), 10) from generate_series(1, {rows}) g; analyze public.item"
        );
        for database in [&bench.source, &bench.target] {
            let session = database.session().await;
            session.batch_execute(&fill).await.expect("filled");
        }
        bench.capture(Direction::Forward).await;
        let app = bench.source.session().await;
        let change = "update public.item set v = 'w'; update public.item set v = 'x'";
        app.batch_execute(change).await.expect("changed");
        let began = std::time::Instant::now();
        let stream = bench.stream(Direction::Forward).await;
        let changes = bench.drain(&stream).await.expect("drained");
        let rate = changes as f64 / began.elapsed().as_secs_f64();
        println!("{what}: {changes} changes of {rows} rows, {rate:.0}/s");
        bench.assert_equal().await;
    }
}
