//! A copy forwards rows from one server to the other as they arrive. If it fails or is cancelled, it ends on both
//! servers.

use std::future::{pending, ready};

use connect::{Connected, Dsn, Session, connect};
use plans::failure::{Failure, RetryClass};
use plans::table::Format;
use tokio::sync::Notify;

use super::authority::Authority;
use super::bench::Bench;
use super::shard::until;
use crate::error::StepError;
use crate::postgres::copy_stream::{BlockRange, CopyExtent, copy_chunk};

const NOTE: &str = "\
    create table public.note (tenant_id bigint, id bigint, v text, primary key (tenant_id, id))";
const ALL: CopyExtent = CopyExtent::Blocks(BlockRange { from: 0, to: None });

/// Rows of a few bytes, some rows of several MiB, and empty and null values.
const WIDE: &str = "\
    alter table public.note alter v set storage external; \
    insert into public.note select 100, g, case when g % 50 = 0 then repeat(md5(g::text), 200000) \
        when g % 7 = 0 then '' when g % 11 = 0 then null else 'v' || g end from generate_series(1, 200) g";
const MANY: &str = "\
    insert into public.note select 100, g, repeat('x', 100) from generate_series(1, 50000) g";
const DIGEST: &str = "\
    select count(*)::text || ' ' || md5(string_agg(md5(n::text), ',' order by id)) from public.note n";

/// Opens the sessions of a copy with their transactions. Both have the application name that a take-over searches for.
async fn sides(bench: &Bench) -> (Connected, Connected) {
    let shard = |database| bench.shard(database, bench.token.epoch);
    let from = shard(&bench.source)
        .session("copy")
        .await
        .expect("a session");
    let to = shard(&bench.target)
        .replica_session("copy")
        .await
        .expect("a session");
    for session in [&from, &to] {
        session.batch_execute("begin").await.expect("begun");
    }
    (from, to)
}

/// Returns the failure of a copy of all rows that match. Checks that both servers have ended its sessions.
async fn failure(bench: &Bench, predicate: &str) -> Failure {
    let (mut from, mut to) = sides(bench).await;
    let copied = copy_chunk(
        &mut from,
        &mut to,
        &bench.tables[0],
        &ALL,
        predicate,
        |_, _| ready(()),
    )
    .await;
    ended(bench).await;
    assert!(from.batch_execute("").await.expect_err("over").is_closed());
    let Err(StepError::Failed(failure)) = copied else {
        panic!("{copied:?}");
    };
    failure
}

/// Waits until neither server has a session of the copy, although the agent's ends of the connections still exist.
async fn ended(bench: &Bench) {
    let name = bench.token.migration.application_name("copy/%");
    let count = "select count(*) = 0 from pg_stat_activity where application_name like $1";
    for database in [&bench.source, &bench.target] {
        let admin = database.session().await;
        until("the sessions have ended", async || {
            let row = admin.query_one(count, &[&name]).await.expect("counted");
            row.get(0)
        })
        .await;
    }
}

async fn digest(session: &Connected) -> String {
    session.query_one(DIGEST, &[]).await.expect("read").get(0)
}

#[tokio::test]
async fn rows_of_many_mebibytes_and_of_few_bytes_arrive_as_they_are() {
    let bench = Bench::new("copies_wide", NOTE).await;
    let app = bench.source.session().await;
    app.batch_execute(WIDE).await.expect("filled");
    let was = digest(&app).await;
    for format in [Format::Binary, Format::Text] {
        let (mut from, mut to) = sides(&bench).await;
        let mut table = bench.tables[0].clone();
        table.format = format;
        let (rows, bytes) = copy_chunk(&mut from, &mut to, &table, &ALL, "true", |_, _| ready(()))
            .await
            .expect("copied");
        assert_eq!(rows, 200);
        assert!(bytes > 25_000_000, "{bytes}");
        // The sessions can continue in their transactions.
        from.batch_execute("commit").await.expect("still there");
        assert_eq!(digest(&to).await, was);
        to.batch_execute("rollback").await.expect("still there");
    }
}

#[tokio::test]
async fn what_the_source_refuses_half_way_is_told_with_its_state_and_shard() {
    let bench = Bench::new("copies_source", NOTE).await;
    let app = bench.source.session().await;
    app.batch_execute(MANY).await.expect("filled");
    let failure = failure(&bench, "1 / (id - 49999) is not null").await;
    assert_eq!(failure.code, "sql.22012");
    assert_eq!(
        failure.message,
        "shard s: copying public.note: reading: division by zero (SQLSTATE 22012)"
    );
    assert_eq!(failure.retry, RetryClass::None);
}

#[tokio::test]
async fn what_the_target_refuses_half_way_is_told_with_its_state_and_shard() {
    let bench = Bench::new("copies_target", NOTE).await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    app.batch_execute(MANY).await.expect("filled");
    let check = "alter table public.note add constraint few check (id < 20000)";
    there.batch_execute(check).await.expect("a constraint");
    let failure = failure(&bench, "true").await;
    assert_eq!(failure.code, "sql.23514");
    let message = "shard t: copying public.note: writing: new row for relation \"note\" violates check constraint \"few\" (SQLSTATE 23514)";
    assert_eq!(failure.message, message);
}

#[tokio::test]
async fn a_session_that_an_administrator_ends_is_tried_again() {
    let bench = Bench::new("copies_ended", NOTE).await;
    let app = bench.source.session().await;
    app.batch_execute(MANY).await.expect("filled");
    for database in [&bench.source, &bench.target] {
        let (mut from, mut to) = sides(&bench).await;
        let admin = database.session().await;
        let name = bench.token.migration.application_name("copy/%");
        let end = async |_, _| {
            let end = "select pg_terminate_backend(pid, 10000) from pg_stat_activity \
                       where application_name like $1 and datname = current_database()";
            admin.execute(end, &[&name]).await.expect("ended");
        };
        let copied = copy_chunk(&mut from, &mut to, &bench.tables[0], &ALL, "true", end).await;
        let Err(StepError::Failed(failure)) = copied else {
            panic!("{copied:?}");
        };
        assert_eq!(failure.retry, RetryClass::Exponential, "{failure:?}");
    }
}

#[tokio::test]
async fn a_copy_that_is_given_up_leaves_no_session_behind() {
    let bench = Bench::new("copies_given_up", NOTE).await;
    let app = bench.source.session().await;
    app.batch_execute(MANY).await.expect("filled");
    let (mut from, mut to) = sides(&bench).await;
    let moves = Notify::new();
    let moved = |_, _| {
        moves.notify_one();
        pending()
    };
    tokio::select! {
        biased;
        copied = copy_chunk(&mut from, &mut to, &bench.tables[0], &ALL, "true", moved) => panic!("{copied:?}"),
        () = moves.notified() => {}
    }
    ended(&bench).await;
    let there = bench.target.session().await;
    let rows = there
        .query_one("select count(*) from public.note", &[])
        .await;
    assert_eq!(rows.expect("counted").get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_copied_by_verified_tls() {
    let authority = Authority::new("copies");
    let options = cluster::Options::temporary("copies_tls");
    let hba = "hostssl all mover 127.0.0.1/32 scram-sha-256";
    let cluster = tokio::task::block_in_place(|| authority.server(options, hba));
    let admin = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let admin = connect(&admin, &Session::named("test"))
        .await
        .expect("connected");
    let schema = format!(
        "create role mover login superuser password 'geheim'; create schema other; {NOTE}; {WIDE}; \
         create table other.note (like public.note)"
    );
    admin.batch_execute(&schema).await.expect("schema");
    let text = format!(
        "host=localhost hostaddr=127.0.0.1 port={} user=mover password=geheim dbname=postgres \
         sslmode=verify-full sslrootcert={} channel_binding=require",
        cluster.port(),
        authority.root().display()
    );
    let dsn = Dsn::parse(&text).expect("parses");
    let mut from = connect(&dsn, &Session::named("test"))
        .await
        .expect("connected");
    let mut to = connect(&dsn, &Session::named("test"))
        .await
        .expect("connected");
    let out = "copy public.note to stdout (format binary)";
    let into = "copy other.note from stdin (format binary)";
    let moved = |_, _| ready(());
    let (rows, _) = crate::postgres::copy_pipe::pipe((&mut from, out), (&mut to, into), moved)
        .await
        .expect("copied");
    assert_eq!(rows, 200);
    let same = "select count(*) from public.note a join other.note b using (id) \
                where a.v is not distinct from b.v";
    let row = to.query_one(same, &[]).await.expect("compared");
    assert_eq!(row.get::<_, i64>(0), 200);
}
