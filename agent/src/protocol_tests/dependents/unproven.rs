//! Rows of the target itself that lack their parents: their foreign key was dropped after the plan, or another migration
//! copies rows. The agent neither changes nor deletes them.

use super::super::apply::halted;
use super::super::bench::Bench;
use super::super::follow::Followed;
use super::snapshots::DeletionParts;
use super::{FORWARD, bench};
use crate::shard::epoch;
use plans::table::{MovingTable, TableKey};

const DROP: &str = "alter table public.line drop constraint line_order_id_fkey";
/// A row of the target itself loses its parent.
const ORPHAN: &str = "delete from public.orders where id = 1000";

/// Returns the rows of a table of the target that the target itself owned.
async fn own_rows(bench: &Bench, table: &str) -> i64 {
    let session = bench.target.session().await;
    let count = format!("select count(*) from public.{table} where v = 'own'");
    session.query_one(&count, &[]).await.expect("rows").get(0)
}

/// Writes copied rows, as the migration does.
async fn copy(bench: &Bench, values: &str) {
    let shard = bench.shard(&bench.target, bench.token.epoch);
    let session = shard.replica_session("copy").await.expect("a session");
    epoch::begin(&session, &bench.token).await.expect("proved");
    let copy = format!("insert into public.line values {values}; commit");
    session.batch_execute(&copy).await.expect("copied");
}

async fn on_target(bench: &Bench, sql: &str) {
    let session = bench.target.session().await;
    session.batch_execute(sql).await.expect(sql);
}

#[tokio::test]
async fn an_abort_keeps_rows_whose_foreign_key_was_dropped() {
    let after = [
        "select",
        "alter table public.line add foreign key (order_id) references public.orders (id) not valid",
        // A validated one to another table.
        "create table public.archive (id bigint primary key);
         insert into public.archive select order_id from public.line;
         alter table public.line add foreign key (order_id) references public.archive",
    ];
    for (after, number) in after.iter().zip(1..) {
        let bench = bench(&format!("dep_unproven_{number}")).await;
        on_target(&bench, &format!("{DROP}; {ORPHAN}; {after}")).await;
        let parts = DeletionParts::new(&bench);
        let deletion = parts.deletion(&bench);
        for table in bench.tables.iter().rev() {
            deletion.delete_rows_of(table).await.expect("deleted");
        }
        for (table, rows) in [("orders", 99), ("line", 100), ("tag", 100)] {
            assert_eq!(own_rows(&bench, table).await, rows, "{table} after {after}");
        }
        let line = &bench.tables[1];
        let through = line.through().expect("a dependent table");
        let refused = deletion.delete_rows_without_parents(line, through).await;
        let error = refused.expect_err("refused").to_string();
        assert!(
            error.contains("table public.line: no validated foreign key"),
            "{error}"
        );
        assert_eq!(own_rows(&bench, "line").await, 100, "{after}");
    }
}

/// A row of another key on the source has the identity of a row of the target.
#[tokio::test]
async fn a_dropped_foreign_key_stops_the_stream() {
    let bench = bench("dep_unproven_stream").await;
    let app = bench.source.session().await;
    let rows = "insert into public.orders values (1, 1000, 'b'); insert into public.line values (1000, 1000, 'y')";
    bench.capture(FORWARD).await;
    app.batch_execute(rows).await.expect("rows");
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    on_target(&bench, &format!("{DROP}; {ORPHAN}")).await;
    let delete = "delete from public.line where id = 1000";
    app.batch_execute(delete).await.expect("deleted");
    let (code, message) = halted(&stream).await;
    assert_eq!(code, "schema.drift", "{message}");
    assert!(
        message.contains("table public.line: no validated foreign key"),
        "{message}"
    );
    assert_eq!(own_rows(&bench, "line").await, 100);
}

/// The rows that lose their parents on the owner would move no more, and could move again later.
#[tokio::test]
async fn the_drop_of_a_foreign_key_on_the_owner_is_not_followed() {
    let changes = [
        (1, DROP.to_owned(), true),
        (
            2,
            format!(
                "{DROP}; alter table public.line add foreign key (order_id) references public.orders (id) not valid"
            ),
            true,
        ),
        (
            3,
            format!(
                "{DROP}; alter table public.line add foreign key (order_id) references public.orders (id) on delete set null"
            ),
            true,
        ),
        (
            4,
            "alter table public.line rename constraint line_order_id_fkey to other".to_owned(),
            false,
        ),
        (
            5,
            "alter table public.line add foreign key (order_id) references public.orders (id)"
                .to_owned(),
            false,
        ),
    ];
    for (number, change, is_refused) in changes {
        let mut bench = Bench::new(&format!("dep_dropped_{number}"), super::DDL).await;
        bench.tables = std::sync::Arc::new(super::with_parents(&bench.tables));
        let mut followed = Followed::of(bench).await;
        followed.app.batch_execute(&change).await.expect("changed");
        let result = followed.try_follow().await;
        assert_eq!(result.is_err(), is_refused, "{change}: {result:?}");
        if let Err(error) = result {
            let message = error.to_string();
            let reason = "public.line: its validated foreign key to public.orders must remain";
            assert!(message.contains(reason), "{message}");
        }
    }
}

/// Rows of another migration can lack their parents as well, as long as its copy is incomplete.
#[tokio::test]
async fn rows_that_another_migration_copies_stay() {
    let bench = bench("dep_two_copies").await;
    on_target(
        &bench,
        "insert into shardwright.move (migration, role, epoch, map, map_version, about)
           select 'other', 'target', 1, map, 1, '{\"tables\": [{\"key\": {\"through\": {}}}]}' from shardwright.move",
    )
    .await;
    copy(&bench, "(1, 1, 'other'), (2, 2, 'other')").await;
    let parts = DeletionParts::new(&bench);
    let deletion = parts.deletion(&bench);
    let line = &bench.tables[1];
    let deleted = deletion.delete_rows_of(line).await.expect("deleted");
    assert_eq!(deleted, 0);
    let through = line.through().expect("a dependent table");
    let refused = deletion.delete_rows_without_parents(line, through).await;
    let error = refused.expect_err("refused").to_string();
    assert!(error.contains("another migration copies rows"), "{error}");
    on_target(
        &bench,
        "update shardwright.move set flipped = 2 where migration = 'other'",
    )
    .await;
    let deleted = deletion.delete_rows_without_parents(line, through).await;
    assert_eq!(deleted.expect("deleted"), 2);
}

/// A table that the migration created has its foreign keys only after the copy.
#[tokio::test]
async fn a_table_that_the_migration_created_needs_no_foreign_key() {
    let bench = bench("dep_created").await;
    let migration = bench.token.migration.as_str();
    on_target(
        &bench,
        &format!(
            "{DROP}; insert into shardwright.created (migration, class, oid, type, identity)
               values ('{migration}', 'pg_class'::regclass, 'public.line'::regclass, 'table', 'public.line')"
        ),
    )
    .await;
    copy(&bench, "(1, 1, 'copied')").await;
    let parts = DeletionParts::new(&bench);
    let deletion = parts.deletion(&bench);
    let deleted = deletion.delete_rows_of(&bench.tables[1]).await;
    assert_eq!(deleted.expect("deleted"), 1);
    assert_eq!(own_rows(&bench, "line").await, 100);
}

/// The guard of the dependent rows reads the columns to which they refer by their names.
#[tokio::test]
async fn the_name_of_a_referenced_column_remains() {
    const DDL: &str = "\
        create table public.orders (tenant_id bigint, id bigint, code integer unique, v integer, primary key (tenant_id, id));
        create table public.line (id bigint primary key, order_id integer references public.orders (code), v text);
        create index on public.line (order_id)";
    let changes = [
        (1, "rename column code to other", true),
        (2, "rename column v to other", false),
        (3, "alter column code type bigint", false),
    ];
    for (number, change, is_refused) in changes {
        let mut bench = Bench::new(&format!("dep_renamed_{number}"), DDL).await;
        let named = |name: &str| {
            let found = bench.tables.iter().find(|table| table.table.name == name);
            found.expect("a table").clone()
        };
        let orders = named("orders");
        let mut key = super::through("orders", "order_id", orders.key.clone());
        if let TableKey::Through(through) = &mut key {
            through.columns = vec![("order_id".to_owned(), "code".to_owned())];
        }
        let line = MovingTable {
            key,
            identity: vec!["id".to_owned()],
            ..named("line")
        };
        bench.tables = std::sync::Arc::new(vec![orders, line]);
        let mut followed = Followed::of(bench).await;
        let change = format!("alter table public.orders {change}");
        followed.app.batch_execute(&change).await.expect("changed");
        let result = followed.try_follow().await;
        assert_eq!(result.is_err(), is_refused, "{change}: {result:?}");
        if let Err(error) = result {
            let message = error.to_string();
            let reason = "public.orders: column code, which identifies rows, holds the shard key or is referenced";
            assert!(message.contains(reason), "{message}");
        }
    }
}
