//! The guards of dependent tables and of their parents.

use connect::Connected;
use plans::id::AttemptNo;

use super::super::bench::{Bench, state};
use super::{FORWARD, bench};
use crate::shard::register::{self, RegisterSetting};

const ROWS: &str = "\
    insert into public.orders values (100, 1, 'a'), (100, 2, 'a'), (1, 3000, 'b'), (1, 3001, 'b');
    insert into public.line values (1, 1, 'x'), (2, 3000, 'y'), (3, null, 'z');
    insert into public.tag values (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')";

/// Returns the move with rows on the source, and a session of the application there.
async fn with_rows(name: &str) -> (Bench, Connected) {
    let bench = bench(name).await;
    let app = bench.source.session().await;
    app.batch_execute(ROWS).await.expect("rows");
    (bench, app)
}

async fn close(bench: &Bench) {
    let ours = bench.ours(&bench.source).await;
    register::begin_and_set(&ours, &bench.token, AttemptNo(1), RegisterSetting::Closed)
        .await
        .expect("sealed");
}

async fn refused(app: &Connected, statement: &str) -> String {
    let outcome = app
        .batch_execute(&format!("begin; {statement}; commit"))
        .await;
    app.batch_execute("rollback").await.expect("rolled back");
    state(outcome)
}

#[tokio::test]
async fn a_closed_shard_refuses_rows_of_moving_parents_and_no_others() {
    let (bench, app) = with_rows("dep_closed").await;
    close(&bench).await;
    for statement in [
        "insert into public.line values (10, 1, 'n')",
        "update public.line set v = 'n' where id = 1",
        "update public.line set order_id = null where id = 1",
        "update public.line set order_id = 2 where id = 2",
        "delete from public.line where id = 1",
        "insert into public.tag values (10, 1, 'n')",
        "delete from public.tag where id = 1",
        "delete from public.orders where id = 1",
    ] {
        assert_eq!(refused(&app, statement).await, "SM001", "{statement}");
    }
    for statement in [
        "insert into public.line values (11, 3000, 'n'), (12, null, 'n')",
        "insert into public.tag values (11, 11, 'n'), (12, 12, 'n')",
        "update public.line set order_id = 3001 where id = 11",
        "delete from public.orders where id = 3001",
        "delete from public.tag where id = 12",
    ] {
        app.batch_execute(statement).await.expect(statement);
    }
}

/// A deferred foreign key accepts a row whose parent another transaction has not committed yet.
#[tokio::test]
async fn a_deferred_foreign_key_lets_no_row_of_a_moving_parent_through() {
    let (bench, app) = with_rows("dep_deferred").await;
    let other = bench.source.session().await;
    let insert = "begin; insert into public.orders values (100, 5, 'new')";
    other.batch_execute(insert).await.expect("inserted");
    close(&bench).await;
    app.batch_execute("begin; set constraints all deferred")
        .await
        .expect("begun");
    let outcome = app
        .batch_execute("insert into public.line values (20, 5, 'n')")
        .await;
    assert_eq!(state(outcome), "SM001");
    other.batch_execute("commit").await.expect("committed");
}

#[tokio::test]
async fn a_row_with_dependents_does_not_get_a_moving_key() {
    let (_bench, app) = with_rows("dep_owner").await;
    for statement in [
        "update public.orders set tenant_id = 100 where id = 3000",
        "update public.line set order_id = 1 where id = 2",
        "update public.line set order_id = 1 where id = 3",
        "set transaction isolation level serializable; update public.orders set tenant_id = 100 where id = 3001",
    ] {
        assert_eq!(refused(&app, statement).await, "SM003", "{statement}");
    }
    for statement in [
        // It has no dependents.
        "update public.orders set tenant_id = 100 where id = 3001",
        // Its dependents leave with it, or stay.
        "update public.orders set tenant_id = 1 where id = 1",
        "update public.orders set tenant_id = 2 where id = 3000",
        "update public.line set order_id = 3000 where id = 3",
        "delete from public.tag where id = 2; update public.line set order_id = 2 where id = 2",
    ] {
        app.batch_execute(statement).await.expect(statement);
    }
}

/// The UPDATE waits for a transaction that has inserted a dependent, and then finds it.
#[tokio::test]
async fn a_dependent_that_is_not_committed_yet_counts() {
    let (bench, app) = with_rows("dep_uncommitted").await;
    let other = bench.source.session().await;
    let insert = "begin; insert into public.line values (30, 3001, 'n')";
    other.batch_execute(insert).await.expect("inserted");
    let observer = bench.source.session().await;
    let pid = super::super::bench::pid(&app).await;
    let update = app.batch_execute("update public.orders set tenant_id = 100 where id = 3001");
    let commit = async {
        super::super::bench::until_blocked(&observer, pid).await;
        other.batch_execute("commit").await.expect("committed");
    };
    let (outcome, ()) = tokio::join!(update, commit);
    assert_eq!(state(outcome), "SM003");
}

/// With a deferred foreign key a row can take the place of another one, and keep those that refer to it.
#[tokio::test]
async fn a_row_does_not_bring_the_dependents_of_another_one_into_the_moving_keys() {
    let bench = bench("dep_replaced").await;
    let app = bench.source.session().await;
    bench.capture(FORWARD).await;
    app.batch_execute(ROWS).await.expect("rows");
    let foreign_keys = "\
        alter table public.line drop constraint line_order_id_fkey,
            add foreign key (order_id) references public.orders (id) deferrable;
        alter table public.tag drop constraint tag_line_id_fkey,
            add foreign key (line_id) references public.line deferrable";
    app.batch_execute(foreign_keys).await.expect("replaced");
    let later = "set constraints all deferred";
    for statement in [
        format!("{later}; delete from public.orders where id = 3000; insert into public.orders values (100, 3000, 'n')"),
        format!("{later}; savepoint a; delete from public.orders where id = 3000; release a; savepoint b; insert into public.orders values (100, 3000, 'n')"),
        format!("{later}; update public.orders set id = -1 where id = 3000; update public.orders set id = 3000 where id = 2"),
        format!("{later}; delete from public.orders where id = 3000; update public.orders set id = 3000, tenant_id = 100 where id = 3001"),
        format!("{later}; delete from public.line where id = 2; insert into public.line values (2, 1, 'n')"),
        format!("{later}; delete from public.line where id = 2; update public.line set id = 2 where id = 1"),
        "with d as (delete from public.orders where id = 3000 returning id) insert into public.orders select 100, id, 'n' from d".to_owned(),
        "with d as (delete from public.line where id = 3 returning id) insert into public.line select id, 1, 'n' from d".to_owned(),
    ] {
        assert_eq!(refused(&app, &statement).await, "SM003", "{statement}");
    }
    for statement in [
        "delete from public.orders where id = 3000; insert into public.orders values (1, 3000, 'again')",
        "delete from public.orders where id = 1; insert into public.orders values (101, 1, 'again')",
        "delete from public.orders where id = 3000; insert into public.orders values (100, 6, 'other'), (2, 3000, 'n')",
        "delete from public.line where id = 2; insert into public.line values (2, 3001, 'n')",
        "savepoint a; delete from public.orders where id = 3000; rollback to a; insert into public.orders values (100, 7, 'n')",
        // Those that refer to it are new, or leave with it.
        "insert into public.line values (8, 8, 'n'); insert into public.orders values (100, 8, 'n')",
        "delete from public.orders where id = 1; insert into public.orders values (1, 1, 'left')",
        "delete from public.tag where id = 2; delete from public.line where id = 2; insert into public.line values (2, 8, 'n')",
    ] {
        let transaction = format!("begin; {later}; {statement}; commit");
        app.batch_execute(&transaction).await.expect(statement);
    }
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    // The orders 2, 6, 7 and 8; the lines 8 and 2.
    assert_eq!(bench.assert_equal().await, 6);
}
