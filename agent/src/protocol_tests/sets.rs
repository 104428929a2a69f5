//! The stream applies changes as sets if this has the same effect as one after the other, and one by one if their order
//! matters.

use connect::Connected;
use plans::names::Direction;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::apply::halted;
use super::bench::Bench;

const FORWARD: Direction = Direction::Forward;

/// Each row has a second unique value and a large value.
const ITEM: &str = "
    create table public.item (tenant_id bigint, id bigint, code bigint unique, v text, big text, primary key (tenant_id, id));
    alter table public.item alter column big set storage external";
/// The same table with types that the stream sends as text.
const TEXT: &str = "; create type public.mood as enum ('good', 'bad');
    alter table public.item add column mood public.mood default 'bad', add column moods public.mood[] default '{good,bad}'";

/// Counts the statements on the target, including those that fail and are rolled back.
const COUNT: &str = "
    create sequence public.counted;
    create function public.count() returns trigger language plpgsql as
      $$ begin perform nextval('public.counted'); return null; end $$;
    create trigger counts after insert or update or delete on public.item for each statement execute function public.count();
    alter table public.item enable always trigger counts";

async fn counted(bench: &Bench) -> i64 {
    let session = bench.target.session().await;
    let read = "select last_value from public.counted";
    session.query_one(read, &[]).await.expect("read").get(0)
}

/// Creates a move whose changes wait for the stream. The test starts the stream after it has written them.
async fn captured(name: &str, ddl: &str) -> (Bench, connect::Connected) {
    let bench = Bench::new(name, ddl).await;
    bench.capture(FORWARD).await;
    let there = bench.target.session().await;
    there.batch_execute(COUNT).await.expect("counts");
    let app = bench.source.session().await;
    (bench, app)
}

/// Returns a transaction of one to eight statements on a few rows. Many of them have no effect or fail.
fn transaction(random: &mut StdRng) -> String {
    let mut turn = "begin; ".to_owned();
    for _ in 0..random.random_range(1..=8) {
        let (tenant, to) = (random.random_range(100..104), random.random_range(100..104));
        let (id, other) = (random.random_range(0..40), random.random_range(0..40));
        // Some rows get a value that another row may have.
        let most = if random.random_bool(0.05) {
            40
        } else {
            1_000_000
        };
        let code = random.random_range(0..most);
        let row = format!("where tenant_id = {tenant} and id = {id}");
        turn.push_str(&match random.random_range(0..40) {
            0..15 => format!(
                "insert into public.item values ({tenant}, {id}, {code}, 'n', repeat(md5({code}::text), 100)) on conflict do nothing; "
            ),
            15..20 => format!("update public.item set v = v || {code} {row}; "),
            20..22 => format!("update public.item set code = {code} {row}; "),
            22..27 => format!("update public.item set big = repeat(md5({code}::text), 100) {row}; "),
            27 => format!("update public.item set id = {other}, tenant_id = {to} {row}; "),
            28 => format!(
                "update public.item set code = -1 {row};
                 update public.item set code = {code} where tenant_id = {tenant} and id = {other};
                 update public.item set code = {} {row}; ",
                code + 1
            ),
            _ => format!("delete from public.item {row}; "),
        });
    }
    turn + "commit"
}

async fn write(app: &Connected, seed: u64, transactions: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..transactions {
        if app.batch_execute(&transaction(&mut random)).await.is_err() {
            app.batch_execute("rollback").await.expect("undone");
        }
    }
}

#[tokio::test]
async fn small_transactions_arrive_whatever_they_do_to_the_same_rows() {
    for (name, more) in [("fuzz_binary", ""), ("fuzz_text", TEXT)] {
        let (bench, app) = captured(name, &format!("{ITEM}{more}")).await;
        let mut changes = 0;
        for seed in 0..6 {
            write(&app, seed, 60).await;
            let stream = bench.stream(FORWARD).await;
            changes += bench.drain(&stream).await.expect("drained");
            assert!(bench.assert_equal().await > 0, "{name} {seed}");
            stream.stop().await;
        }
        let statements = counted(&bench).await;
        assert!(
            statements < i64::try_from(changes).expect("few"),
            "{name}: {statements} for {changes}"
        );
    }
}

const FILL: &str = "insert into public.item select 100, g, g, 'v', repeat(md5(g::text), 100) from generate_series(1, 100) g";

#[tokio::test]
async fn a_backlog_is_executed_by_sets() {
    for (name, more) in [("sets_binary", ""), ("sets_text", TEXT)] {
        let (bench, app) = captured(name, &format!("{ITEM}{more}")).await;
        app.batch_execute(FILL).await.expect("filled");
        for change in [
            "update public.item set v = v || 'x'",
            "update public.item set big = 'y' where id % 2 = 0",
            "delete from public.item where id % 5 = 0",
            "insert into public.item select 101, g, 1000 + g, 'again' from generate_series(1, 100) g",
            "delete from public.item where tenant_id = 101 and id > 50",
        ] {
            app.batch_execute(change).await.expect(change);
        }
        let stream = bench.stream(FORWARD).await;
        let changes = bench.drain(&stream).await.expect("drained");
        assert_eq!(changes, 420);
        assert_eq!(bench.assert_equal().await, 130);
        let statements = counted(&bench).await;
        assert!(statements < 20, "{name}: {statements} statements");
    }
}

/// If the changes are merged, one row gets a unique value before the other row has released it.
#[tokio::test]
async fn rows_that_hand_on_a_unique_value_are_changed_in_their_order() {
    let (bench, app) = captured("hand_on", ITEM).await;
    app.batch_execute(FILL).await.expect("filled");
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    stream.stop().await;
    let before = counted(&bench).await;
    for change in [
        "update public.item set v = 'x'",
        "update public.item set code = -code where id <= 2",
        "update public.item set code = 2 where id = 1",
        "update public.item set code = 1 where id = 2",
    ] {
        app.batch_execute(change).await.expect(change);
    }
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 100);
    assert!(counted(&bench).await >= before + 104, "one by one");
}

/// A missing or additional row of the target is detected as reliably as with single changes.
#[tokio::test]
async fn a_set_that_meets_a_foreign_or_missing_row_halts_the_stream() {
    let update = "update public.item set v = 'x'";
    let delete = "delete from public.item";
    let insert = "insert into public.item select 150, g, g + 1000 from generate_series(1, 100) g";
    let pass = format!(
        "{insert}; delete from public.item where tenant_id = 150; insert into public.item values (151, 1, 9000)"
    );
    let again = format!("{delete}; {FILL}");
    let gone = "delete from public.item where id = 7";
    let come = "insert into public.item values (150, 7, 5000)";
    for (name, there, here, wanted) in [
        ("set_update", gone, update, "apply.count"),
        ("set_delete", gone, delete, "apply.count"),
        ("set_again", gone, again.as_str(), "apply.count"),
        ("set_insert", come, insert, "sql.23505"),
        ("set_pass", come, pass.as_str(), "sql.23505"),
    ] {
        let (bench, app) = captured(name, ITEM).await;
        app.batch_execute(FILL).await.expect("filled");
        let stream = bench.stream(FORWARD).await;
        bench.drain(&stream).await.expect("drained");
        stream.stop().await;
        let foreign = bench.target.session().await;
        foreign.batch_execute(there).await.expect("changed there");
        let kept = bench.rows(&foreign).await;
        app.batch_execute(here).await.expect("changed here");
        let stream = bench.stream(FORWARD).await;
        let (code, message) = halted(&stream).await;
        assert_eq!(code, wanted, "{name}: {message}");
        assert_eq!(bench.rows(&foreign).await, kept, "nothing was applied");
    }
}

/// Returns DDL of a table with columns of many types. `odd` contains types that the stream cannot send in binary.
fn kinds(odd: &str) -> String {
    format!(
        "create type public.mood as enum ('good', 'it''s \"bad\"');
         create domain public.short as varchar(5) check (value <> 'long');
         create type public.pair as (a int, b text);
         create table public.item (
           tenant_id bigint, id bigint generated always as identity, code uuid, n numeric(12, 3), f float8, r real, i smallint,
           v varchar(20), c char(4), b bytea, j jsonb, js json, t timestamptz, d date, e interval, bits bit(3), flag boolean, ip inet,
           twice bigint generated always as (tenant_id * 2) stored, big text {odd}, primary key (tenant_id, id, code));
         alter table public.item alter column big set storage external"
    )
}

const ODD: &str = ", m public.mood, s public.short, p public.pair, a int[], g int4range, q box, x xml, z \"char\"";

const VALUES: &str = "insert into public.item (tenant_id, code, n, f, r, i, v, c, b, j, js, t, d, e, bits, flag, ip, big COLUMNS)
    select 100, md5(g::text)::uuid, g / 7.0, g / 3.0::float8, g / 3.0, -g, E'tab\\t\\\\ ' || g, 'é', decode(md5(g::text), 'hex'),
           jsonb_build_object('a', g), '{\"b\" : [ 1 ]}', 'epoch'::timestamptz + g * interval '1 us', 'infinity', g * interval '-1 day 1 s',
           '101', g % 2 = 0, '10.0.0.0/8', repeat(md5(g::text), 100) MORE
    from generate_series(1, 50) g;
    insert into public.item (tenant_id, code) select 101, md5(g::text)::uuid from generate_series(1, 50) g";

const MORE: &str = ", (array['good', 'it''s \"bad\"'])[1 + g % 2]::public.mood, 'abcde', row(g, 'x,\"y')::public.pair,
    array[[g, null], [3, 4]], int4range(g, g + 5), box(point(0, g), point(1, 2)), '<a>é</a>', 'z'";

#[tokio::test]
async fn every_kind_of_value_is_the_same_in_a_set() {
    for (name, odd, columns, more) in [
        ("kinds_binary", "", "", ""),
        ("kinds_text", ODD, ", m, s, p, a, g, q, x, z", MORE),
    ] {
        let (bench, app) = captured(name, &kinds(odd)).await;
        let values = VALUES.replace("COLUMNS", columns).replace("MORE", more);
        for change in [
            values.as_str(),
            "update public.item set n = -n, v = null where i % 3 = 0",
            "update public.item set c = 'x  y', i = null where tenant_id = 101",
        ] {
            app.batch_execute(change).await.expect(change);
            let stream = bench.stream(FORWARD).await;
            bench.drain(&stream).await.expect("drained");
            assert_eq!(bench.assert_equal().await, 100, "{name}");
            stream.stop().await;
        }
        let statements = counted(&bench).await;
        assert!(statements < 20, "{name}: {statements} statements");
    }
}

/// A user-defined cast from text may return another value than the type's input function.
#[tokio::test]
async fn a_type_that_text_is_cast_to_otherwise_arrives_as_it_is() {
    let cast = "; create function public.to_mood(text) returns public.mood immutable language sql as $$ select 'bad'::public.mood $$;
        create cast (text as public.mood) with function public.to_mood(text)";
    let (bench, app) = captured("cast", &format!("{ITEM}{TEXT}{cast}")).await;
    app.batch_execute(FILL).await.expect("filled");
    let change = "update public.item set mood = 'good'";
    app.batch_execute(change).await.expect(change);
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 100);
}
