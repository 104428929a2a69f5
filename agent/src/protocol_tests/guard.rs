//! The guard refuses every write to a moving key, and no other write (R5, R13, R16, R19).

use connect::{Connected, Session};

use super::bench::{Bench, ITEM, state};
use crate::shard::guard;

const CLOSED: i64 = i64::MAX;
const ROWS: &str = "insert into public.item values (1, 1, 'here'), (100, 1, 'moving')";

/// Statements that write to a moving key, each in another way.
const WRITES: [&str; 9] = [
    "insert into public.item values (100, 2, 'x')",
    "insert into public.item values (1, 5, 'x'), (199, 2, 'x')",
    "update public.item set v = 'x' where tenant_id = 100",
    "update public.item set tenant_id = 100, id = 9 where tenant_id = 1",
    "update public.item set tenant_id = 1, id = 9 where tenant_id = 100",
    "delete from public.item where tenant_id = 100",
    "insert into public.item values (100, 1, 'x') on conflict (tenant_id, id) do update set v = 'x'",
    "merge into public.item i using (select 100 as k) n on i.tenant_id = n.k \
     when matched then update set v = 'x' when not matched then do nothing",
    "with gone as (delete from public.item where tenant_id = 100 returning *) select from gone",
];

async fn guarded(name: &str, value: i64) -> Bench {
    let bench = Bench::new(name, ITEM).await;
    let session = bench.ours(&bench.source).await;
    session.batch_execute(ROWS).await.expect("rows");
    bench.guard(&bench.source, value).await;
    bench
}

async fn set(bench: &Bench, session: &Connected, value: &str) {
    let register = bench.token.migration.register();
    let set = format!("select setval('shardwright.{register}', {value})");
    session.batch_execute(&set).await.expect("set");
}

/// Runs a statement and rolls it back.
async fn tried(session: &Connected, statement: &str) -> Result<(), tokio_postgres::Error> {
    session.batch_execute("begin").await.expect("begun");
    let outcome = session.batch_execute(statement).await;
    session
        .batch_execute("rollback")
        .await
        .expect("rolled back");
    outcome
}

async fn copy_in(session: &Connected) -> Result<u64, tokio_postgres::Error> {
    let copy = session.copy_in::<_, bytes::Bytes>("copy public.item from stdin");
    let sink = copy.await?;
    futures::pin_mut!(sink);
    futures::SinkExt::send(&mut sink, bytes::Bytes::from("100\t7\tx\n")).await?;
    sink.finish().await
}

#[tokio::test]
async fn every_way_to_write_a_moving_key_is_refused_while_closed_and_passes_while_open() {
    let bench = guarded("ways", 0).await;
    let app = bench.source.session().await;
    for role in ["origin", "replica"] {
        let become_role = format!("set session_replication_role = {role}");
        app.batch_execute(&become_role).await.expect("set");
        set(&bench, &app, "0").await;
        for write in WRITES {
            tried(&app, write).await.expect(write);
        }
        set(&bench, &app, &CLOSED.to_string()).await;
        for write in WRITES {
            assert_eq!(state(tried(&app, write).await), "SM001", "{role}: {write}");
        }
        assert_eq!(state(copy_in(&app).await), "SM001");
    }
    set(&bench, &app, "0").await;
    assert_eq!(copy_in(&app).await.expect("copied"), 1);
}

#[tokio::test]
async fn other_keys_pass_whatever_the_register_says() {
    let bench = guarded("others", CLOSED).await;
    let app = bench.source.session().await;
    for write in [
        "insert into public.item values (99, 1, 'x'), (200, 1, 'x')",
        "update public.item set v = 'x' where tenant_id = 1",
        "update public.item set tenant_id = 200 where tenant_id = 1",
        "delete from public.item where tenant_id = 1",
        "select from public.item where tenant_id = 100 for update",
        "insert into public.item values (100, 1, 'x') on conflict do nothing",
    ] {
        tried(&app, write).await.expect(write);
    }
}

#[tokio::test]
async fn a_fence_counts_until_its_time_and_never_longer_than_a_minute() {
    let bench = guarded("states", 0).await;
    let app = bench.source.session().await;
    let now = "(extract(epoch from clock_timestamp()) * 1000)::bigint";
    for (value, refused) in [
        (format!("{now} + 30000"), true),
        (format!("{now} + 59000"), true),
        (format!("{now} - 1"), false),
        // A clock that was set back must not keep the shard closed.
        (format!("{now} + 61000"), false),
        (format!("{now} + 3600000"), false),
        (CLOSED.to_string(), true),
        ("(1::bigint << 62) - 1".to_owned(), false),
        // Bound to the timeline of this server, and to another one.
        ("(1::bigint << 62) + 1".to_owned(), false),
        ("(1::bigint << 62) + 2".to_owned(), true),
        ("0".to_owned(), false),
    ] {
        set(&bench, &app, &value).await;
        let outcome = tried(&app, WRITES[0]).await;
        assert_eq!(outcome.is_err(), refused, "{value}");
    }
}

#[tokio::test]
async fn older_snapshots_and_cached_plans_meet_the_register_as_it_is() {
    let bench = guarded("snapshots", 0).await;
    let (app, other) = (bench.source.session().await, bench.source.session().await);
    for level in ["repeatable read", "serializable"] {
        set(&bench, &other, "0").await;
        let open = format!("begin isolation level {level}; select from public.item");
        app.batch_execute(&open).await.expect("a snapshot");
        set(&bench, &other, &CLOSED.to_string()).await;
        assert_eq!(
            state(app.batch_execute(WRITES[0]).await),
            "SM001",
            "{level}"
        );
        app.batch_execute("rollback").await.expect("rolled back");
    }
    set(&bench, &other, "0").await;
    let prepare = "set plan_cache_mode = force_generic_plan; \
                   prepare w (bigint) as insert into public.item values (100, $1, 'x'); execute w (20)";
    app.batch_execute(prepare).await.expect("open");
    set(&bench, &other, &CLOSED.to_string()).await;
    assert_eq!(state(app.batch_execute("execute w (21)").await), "SM001");
}

#[tokio::test]
pub(super) async fn control_a_guard_that_reads_a_table_lets_an_older_snapshot_through() {
    let bench = Bench::new("table_guard", ITEM).await;
    let (app, other) = (bench.source.session().await, bench.source.session().await);
    let naive = "create table public.fence (closed boolean); insert into public.fence values (false); \
        create function public.naive() returns trigger language plpgsql as \
        $$ begin if (select closed from public.fence) then raise 'closed'; end if; return null; end $$; \
        create trigger naive after insert on public.item for each row execute function public.naive()";
    other.batch_execute(naive).await.expect("a naive guard");
    let open = "begin isolation level repeatable read; select from public.item";
    app.batch_execute(open).await.expect("a snapshot");
    let close = "update public.fence set closed = true";
    other.batch_execute(close).await.expect("closed");
    tried(&other, WRITES[0])
        .await
        .expect_err("new snapshots meet it");
    let write = format!("{}; commit", WRITES[0]);
    app.batch_execute(&write)
        .await
        .expect("the older one passes");
}

/// The usual multi-tenant design: a trigger sets the key from a session setting.
const TENANT: &str = "\
    create function public.tenant() returns trigger language plpgsql as \
    $$ begin new.tenant_id := current_setting('app.tenant')::bigint; return new; end $$; \
    create trigger zz_tenant before insert or update on public.item \
    for each row execute function public.tenant(); set app.tenant = '150'";

#[tokio::test]
async fn a_key_that_a_trigger_of_the_application_writes_is_refused() {
    let bench = guarded("rewrites", CLOSED).await;
    let app = bench.source.session().await;
    app.batch_execute(TENANT).await.expect("a trigger");
    for write in [
        "insert into public.item values (1, 2, 'x')",
        "update public.item set v = 'x' where tenant_id = 1",
    ] {
        assert_eq!(state(tried(&app, write).await), "SM001", "{write}");
    }
}

#[tokio::test]
async fn control_a_before_guard_does_not_see_the_key_that_is_written() {
    let bench = Bench::new("before", ITEM).await;
    let app = bench.source.session().await;
    let predicate = bench.tables[0].predicate(&bench.keys, "new");
    let naive = format!(
        "{TENANT}; create function public.refuse() returns trigger language plpgsql as \
         $$ begin raise 'refused'; end $$; \
         create trigger shardwright_guard before insert or update on public.item \
         for each row when ({predicate}) execute function public.refuse()"
    );
    app.batch_execute(&naive).await.expect("a naive guard");
    let write = "insert into public.item values (1, 2, 'x') returning tenant_id";
    let row = app.query_one(write, &[]).await.expect("it passes");
    assert_eq!(row.get::<_, i64>(0), 150, "with a moving key");
}

#[tokio::test]
async fn truncate_is_refused_whatever_the_register_says() {
    let bench = guarded("truncate", 0).await;
    let app = bench.source.session().await;
    for value in ["0".to_owned(), CLOSED.to_string()] {
        set(&bench, &app, &value).await;
        let outcome = tried(&app, "truncate public.item").await;
        assert_eq!(state(outcome), "SM003");
    }
    let ours = "set local shardwright.bypass = 'on'; truncate public.item";
    tried(&app, ours).await.expect("ours passes");
    let session = bench.ours(&bench.source).await;
    guard::drop_all(&session, &bench.token)
        .await
        .expect("dropped");
    tried(&app, "truncate public.item")
        .await
        .expect("not for good");
}

#[tokio::test]
async fn refused_writes_are_counted_though_their_transactions_are_rolled_back() {
    let bench = guarded("counted", 0).await;
    let (app, ours) = (
        bench.source.session().await,
        bench.ours(&bench.source).await,
    );
    let id = &bench.token.migration;
    let refused = async || guard::count_refused(&ours, id).await.expect("counted");
    tried(&app, WRITES[0]).await.expect("open");
    assert_eq!(refused().await, Some(0));
    set(&bench, &app, &CLOSED.to_string()).await;
    for (before, write) in (0..).zip(WRITES) {
        assert_eq!(refused().await, Some(before));
        assert_eq!(state(tried(&app, write).await), "SM001");
    }
    tried(&app, "delete from public.item where tenant_id = 1")
        .await
        .expect("another key");
    assert_eq!(refused().await, Some(9));
    guard::drop_all(&ours, &bench.token).await.expect("dropped");
    assert_eq!(refused().await, None);
}

async fn application(bench: &Bench) -> Connected {
    let role = format!("{}_app", bench.token.migration);
    let create = format!(
        "create role {role} login password 'app'; grant all on public.item to {role}; \
         grant usage on schema public to {role}"
    );
    let session = bench.ours(&bench.source).await;
    session.batch_execute(&create).await.expect("a role");
    let dsn = bench.source.dsn_as(&role, "app");
    let session = Session::named("app");
    connect::connect(&dsn, &session).await.expect("connected")
}

#[tokio::test]
async fn the_bypass_needs_our_role_and_our_setting_in_this_transaction() {
    let bench = guarded("bypass", CLOSED).await;
    let app = application(&bench).await;
    let ours = bench.source.session().await;
    let on = "set local shardwright.bypass = 'on'";
    for write in WRITES {
        tried(&ours, &format!("{on}; {write}")).await.expect(write);
        assert_eq!(state(tried(&app, &format!("{on}; {write}")).await), "SM001");
        assert_eq!(state(tried(&ours, write).await), "SM001", "not after it");
    }
    // A session that uses the application's role counts as the application.
    let role = format!("{}_app", bench.token.migration);
    let acting = format!("set session authorization {role}; {on}; {}", WRITES[0]);
    assert_eq!(state(tried(&ours, &acting).await), "SM001");
    // While the register is open, the application needs no privilege on the sidecar schema.
    set(&bench, &ours, "0").await;
    for write in WRITES {
        tried(&app, write).await.expect(write);
    }
    let denied = app.query("select from shardwright.move", &[]).await;
    assert_eq!(state(denied), "42501");
}

#[tokio::test]
async fn whose_statement_it_is_is_asked_once_for_all_of_its_rows() {
    let bench = guarded("once", 0).await;
    let app = bench.source.session().await;
    let asked = bench.token.migration.foreign_function();
    let count = format!(
        "create sequence public.asked; create or replace function shardwright.{asked}() returns boolean \
         language plpgsql immutable as $$ begin perform nextval('public.asked'); return true; end $$"
    );
    app.batch_execute(&count).await.expect("counted");
    let rows = "insert into public.item select 100, n, 'x' from generate_series(10, 1009) n";
    app.batch_execute(rows).await.expect("a thousand rows");
    let row = app
        .query_one("select last_value from public.asked", &[])
        .await;
    assert_eq!(row.expect("read").get::<_, i64>(0), 1);
}

#[tokio::test]
async fn the_guard_needs_no_right_that_a_database_may_not_grant_and_no_search_path() {
    let bench = Bench::new("rights", ITEM).await;
    let ours = bench.ours(&bench.source).await;
    let cautious = "alter default privileges revoke execute on functions from public";
    ours.batch_execute(cautious).await.expect("cautious");
    ours.batch_execute(ROWS).await.expect("rows");
    bench.guard(&bench.source, 0).await;
    let app = application(&bench).await;
    for write in WRITES {
        tried(&app, write).await.expect(write);
    }
    set(&bench, &ours, &CLOSED.to_string()).await;
    let misled = "create schema misled; \
         create function misled.never(anyelement, anyelement) returns boolean language sql as 'select false'; \
         create operator misled.<> (function = misled.never, leftarg = anyelement, rightarg = anyelement); \
         create function misled.no(text, text) returns boolean language sql as 'select false'; \
         create operator misled.<> (function = misled.no, leftarg = text, rightarg = text); \
         create function misled.no(name, name) returns boolean language sql as 'select false'; \
         create operator misled.<> (function = misled.no, leftarg = name, rightarg = name); \
         grant usage on schema misled to public; grant execute on all functions in schema misled to public";
    ours.batch_execute(misled).await.expect("operators");
    let path = "set local search_path = misled, pg_catalog; set local shardwright.bypass = 'on'";
    for write in WRITES {
        assert_eq!(
            state(tried(&app, &format!("{path}; {write}")).await),
            "SM001"
        );
    }
}

#[tokio::test]
async fn a_guard_whose_functions_were_dropped_is_put_back() {
    let bench = guarded("dropped", CLOSED).await;
    let (session, id) = (bench.ours(&bench.source).await, &bench.token.migration);
    for function in [
        id.guard_function(),
        id.foreign_function(),
        id.truncate_function(),
    ] {
        let drop = format!("drop function shardwright.{function} cascade");
        session.batch_execute(&drop).await.expect("dropped");
        let found = guard::check(&session, id, &bench.tables).await;
        assert_eq!(super::bench::code(found), "guard.changed");
        bench.put_guard(&session).await;
        guard::check(&session, id, &bench.tables)
            .await
            .expect("stands");
    }
    let app = application(&bench).await;
    assert_eq!(state(tried(&app, WRITES[0]).await), "SM001");
}

/// Returns SQLSTATE and detail of a refused write.
async fn refusal(session: &Connected) -> (String, String) {
    let error = tried(session, WRITES[0]).await.expect_err("refused");
    let db = error.as_db_error().expect("by the server");
    let detail = db.detail().expect("a detail").to_owned();
    (db.code().code().to_owned(), detail)
}

#[tokio::test]
async fn a_refusal_names_the_version_that_is_there_and_after_the_flip_the_next_one() {
    let bench = Bench::new("refusals", ITEM).await;
    let flip = "update shardwright.move set flipped = 8";
    for (database, before) in [(&bench.source, "SM001"), (&bench.target, "SM002")] {
        bench.guard(database, CLOSED).await;
        let session = database.session().await;
        let detail = |version| format!("map=m version>={version} migration=refusals");
        assert_eq!(refusal(&session).await, (before.to_owned(), detail(7)));
        session.batch_execute(flip).await.expect("told");
        assert_eq!(refusal(&session).await, ("SM001".to_owned(), detail(8)));
    }
}

#[tokio::test]
async fn a_guard_that_was_disabled_or_changed_is_noticed() {
    let bench = guarded("noticed", 0).await;
    let (session, id) = (bench.ours(&bench.source).await, &bench.token.migration);
    let standing = guard::check(&session, id, &bench.tables)
        .await
        .expect("stands");
    let insert = id.trigger("insert");
    for (change, back) in [
        ("disable trigger", "enable always trigger"),
        ("enable trigger", "enable always trigger"),
    ] {
        let change = format!("alter table public.item {change} {insert}");
        session.batch_execute(&change).await.expect("changed");
        let found = guard::check(&session, id, &bench.tables).await;
        assert_eq!(super::bench::code(found), "guard.changed");
        let back = format!("alter table public.item {back} {insert}");
        session.batch_execute(&back).await.expect("as it was");
    }
    assert_eq!(
        guard::read_triggers(&session, id).await.expect("read"),
        standing
    );
    guard::drop_all(&session, &bench.token)
        .await
        .expect("dropped");
    assert!(
        guard::read_triggers(&session, id)
            .await
            .expect("read")
            .is_empty()
    );
}
