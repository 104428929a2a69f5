//! The step `drop_old` keeps rows that were not copied, and accepts tables that no longer exist.

use plans::step::StepKind;

use super::bench::{Bench, VERSION};
use super::ddl::{dispatched, run};
use crate::steps::drop_old;

const CLOSED: i64 = i64::MAX;

/// A table with partitions by month.
const SALE: &str = "\
    create table public.sale (tenant_id bigint, at date, id bigint, primary key (tenant_id, at, id)) partition by range (at); \
    create table public.sale_1 partition of public.sale for values from ('2026-01-01') to ('2026-02-01'); \
    create table public.sale_2 partition of public.sale for values from ('2026-02-01') to ('2026-03-01')";

/// Creates a source whose rows have all moved and that was notified of the flip.
async fn given_away(name: &str) -> Bench {
    let bench = Bench::new(name, SALE).await;
    let app = bench.source.session().await;
    run(
        &app,
        "insert into public.sale values (150, '2026-01-05', 1), (151, '2026-02-05', 1)",
    )
    .await;
    bench.guard(&bench.source, CLOSED).await;
    bench.guard(&bench.target, 0).await;
    let told = format!("update shardwright.move set flipped = {}", VERSION + 1);
    run(&app, &told).await;
    bench
}

async fn rows(bench: &Bench, table: &str) -> i64 {
    let session = bench.source.session().await;
    let read = format!("select count(*) from {table}");
    session.query_one(&read, &[]).await.expect("read").get(0)
}

#[tokio::test]
async fn rows_of_a_partition_that_came_after_the_flip_stay() {
    for (name, keeps_keys, drop_tables) in [
        ("came_keeps", true, false),
        ("came_empties", false, false),
        ("came_drops", false, true),
    ] {
        let bench = given_away(name).await;
        let mut context = dispatched(&bench, StepKind::DropOld).await;
        let dispatch = std::sync::Arc::make_mut(&mut context.dispatch);
        (dispatch.source_keeps_keys, dispatch.drop_tables) = (keeps_keys, drop_tables);
        let archive = "create table public.archive (like public.sale including all); \
            insert into public.archive values (150, '2025-01-05', 1); \
            alter table public.sale attach partition public.archive for values from ('2025-01-01') to ('2025-02-01')";
        run(&bench.source.session().await, archive).await;
        let dropped = drop_old::run(&context).await.expect("dropped");
        assert_eq!(dropped.rows, 2);
        assert_eq!(rows(&bench, "public.sale").await, 1);
        assert_eq!(rows(&bench, "public.archive").await, 1, "nobody copied it");
    }
}

#[tokio::test]
async fn a_partition_that_was_dropped_since_is_passed_over() {
    let bench = given_away("gone").await;
    let context = dispatched(&bench, StepKind::DropOld).await;
    run(&bench.source.session().await, "drop table public.sale_1").await;
    let dropped = drop_old::run(&context).await.expect("dropped");
    assert_eq!(dropped.rows, 1);
    assert_eq!(rows(&bench, "public.sale").await, 0);
}

/// The new owner has dropped the one, and the source had detached the other one before the flip, as an archive.
#[tokio::test]
async fn rows_of_retired_partitions_are_deleted_where_they_are_copies() {
    let bench = given_away("retired").await;
    let source = bench.source.session().await;
    run(
        &source,
        "alter table public.sale detach partition public.sale_2",
    )
    .await;
    let trigger = bench.token.migration.trigger("truncate");
    run(&source, &format!("drop trigger {trigger} on public.sale_2")).await;
    let mut context = dispatched(&bench, StepKind::DropOld).await;
    for table in std::sync::Arc::make_mut(&mut context.planned_tables) {
        table.retired = true;
    }
    std::sync::Arc::make_mut(&mut context.dispatch)
        .tables
        .clear();
    let dropped = drop_old::run(&context).await.expect("dropped");
    assert_eq!(dropped.rows, 1);
    assert_eq!(rows(&bench, "public.sale").await, 0);
    assert_eq!(rows(&bench, "public.sale_2").await, 1, "the archive stays");
}
