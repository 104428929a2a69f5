//! Partitions that the application drops or detaches during a migration: they do not move any more.

use std::sync::Arc;

use connect::Connected;
use plans::step::StepKind;
use plans::table::TableName;

use super::after_flip::{held, in_step};
use super::{CLOSED, FORWARD, adopting};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::protocol_tests::bench::{Bench, code};
use crate::protocol_tests::ddl::{drift, plan, run};
use crate::protocol_tests::partitions::SALE;
use crate::shard::publication;
use crate::steps::{create_target, definitions};
use crate::stream::ApplyStream;

/// Rows of both shards' keys in the partition of January, and one in that of February.
const ROWS: &str = "insert into public.sale (tenant_id, at, v) \
    select t, '2026-01-01'::date + t % 20, 'v' from generate_series(90, 120) t; \
    insert into public.sale (tenant_id, at, v) values (150, '2026-02-05', 'stays')";

/// A move before its flip, whose stream has applied all rows.
async fn captured(name: &str) -> (Bench, StepContext, ApplyStream) {
    let bench = Bench::new(name, SALE).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    run(&bench.source.session().await, ROWS).await;
    let target = bench.target.session().await;
    run(
        &target,
        "insert into public.sale (tenant_id, at, v) values (50, '2026-01-09', 'of another key')",
    )
    .await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    let context = adopting(&bench).await;
    (bench, context, stream)
}

/// Returns the reported partitions, which the plan then has as retired ones.
async fn retire(context: &mut StepContext, kind: StepKind) -> Vec<String> {
    let error = definitions::check(context, kind).await;
    let Err(StepError::Reshaped {
        tables,
        fingerprint,
        changes,
        retired,
        copy_again: false,
        ..
    }) = error
    else {
        panic!("it is not retired: {error:?}");
    };
    assert!(tables.iter().all(|table| !retired.contains(&table.table)));
    plan(context, tables, fingerprint);
    for table in Arc::make_mut(&mut context.planned_tables) {
        table.retired |= retired.contains(&table.table);
    }
    changes
}

/// Returns the tenants of the rows of the partition of January.
async fn january(session: &Connected) -> Vec<i64> {
    let read = "select distinct tenant_id from only public.sale_1 order by 1";
    let rows = session.query(read, &[]).await.expect("rows");
    rows.iter().map(|row| row.get(0)).collect()
}

async fn attached_retired_error(context: &StepContext, shard: &str) {
    let cutover = in_step(context.clone(), StepKind::Cutover);
    let refused = definitions::check(&cutover, StepKind::Cutover);
    let message = match refused.await {
        Err(StepError::Failed(failure)) => {
            assert_eq!(failure.code, "schema.changed", "{failure:?}");
            failure.message
        }
        other => panic!("{other:?}"),
    };
    assert!(
        message.starts_with(&format!("shard {shard} has partition public.sale_1")),
        "{message}"
    );
}

#[tokio::test]
async fn a_dropped_partition_is_retired_and_its_rows_leave_the_other_shard() {
    let (mut bench, mut context, stream) = captured("retires").await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    assert!(january(&there).await.len() > 10);
    // The stream sends what was written before the partition was dropped.
    drop(stream);
    run(
        &app,
        "insert into public.sale (tenant_id, at, v) values (150, '2026-01-30', 'late')",
    )
    .await;
    run(&app, "drop table public.sale_1").await;
    let changes = retire(&mut context, StepKind::CatchUp).await;
    assert_eq!(
        changes,
        ["public.sale: partition public.sale_1 was dropped"]
    );
    // Nothing is deleted before the plan has it.
    assert!(january(&there).await.len() > 10);
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("the plan follows");
    assert_eq!(january(&there).await, [50]);
    publication::check(&bench.ours(&bench.source).await, &bench.token, FORWARD)
        .await
        .expect("intact");

    bench.tables = Arc::new(context.dispatch.tables.clone());
    let mut spec = bench.spec(FORWARD).await;
    spec.retired = vec![TableName::parse("sale_1")];
    let stream = ApplyStream::start(spec, false, true);
    run(
        &app,
        "insert into public.sale (tenant_id, at, v) values (151, '2026-02-07', 'later')",
    )
    .await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(january(&there).await, [50]);
    assert_eq!(bench.assert_equal().await, 2);

    // The application could write to the partition of the new owner.
    attached_retired_error(&context, "target").await;
    run(&there, "drop table public.sale_1").await;
    let cutover = in_step(context.clone(), StepKind::Cutover);
    definitions::check(&cutover, StepKind::Cutover)
        .await
        .expect("neither shard has it");
    run(&app, "create table public.sale_1 partition of public.sale for values from ('2026-01-01') to ('2026-02-01')").await;
    attached_retired_error(&context, "source").await;
    // Its rows are not captured. The check in the window of an attempt compares the same facts.
    let facts = definitions::check(&context, StepKind::CatchUp).await;
    assert_eq!(code(facts), "schema.drift");
}

#[tokio::test]
async fn a_detached_partition_keeps_its_rows_on_the_owner_only() {
    let (mut bench, mut context, stream) = captured("detaches").await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    let before = january(&app).await;
    drop(stream);
    run(
        &app,
        "alter table public.sale detach partition public.sale_1; \
         alter table public.sale_1 rename to archive; create schema old; alter table public.archive set schema old; \
         insert into old.archive (tenant_id, at, id, v) values (150, '2026-01-30', 9000, 'late')",
    )
    .await;
    let changes = retire(&mut context, StepKind::CatchUp).await;
    assert_eq!(
        changes,
        ["public.sale: partition public.sale_1 was detached"]
    );
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("the plan follows");
    assert_eq!(january(&there).await, [50]);
    // It is no table of the migration any more: nothing refuses TRUNCATE, and the stream has nothing of it.
    let count = "select count(distinct tenant_id) from old.archive";
    let kept: i64 = app.query_one(count, &[]).await.expect("read").get(0);
    assert_eq!(usize::try_from(kept).expect("few"), before.len() + 1);
    run(&app, "truncate old.archive").await;
    bench.tables = Arc::new(context.dispatch.tables.clone());
    let mut spec = bench.spec(FORWARD).await;
    spec.retired = vec![TableName::parse("sale_1")];
    let stream = ApplyStream::start(spec, false, true);
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 1);
}

/// Changes of another table can be missing then.
#[tokio::test]
async fn no_partition_is_retired_if_another_table_left_the_publication() {
    let (bench, context, _stream) = captured("leaves_first").await;
    let app = bench.source.session().await;
    let name = bench.token.migration.publication(FORWARD);
    run(
        &app,
        &format!("alter publication {name} drop table public.sale_2_0"),
    )
    .await;
    run(&app, "drop table public.sale_1").await;
    let refused = definitions::check(&context, StepKind::CatchUp).await;
    assert_eq!(code(refused), "publication.changed");
}

/// The new partition has the name of the old one, but none of its rows are captured.
#[tokio::test]
async fn a_partition_that_was_created_again_is_not_retired() {
    let (bench, context, _stream) = captured("again").await;
    let app = bench.source.session().await;
    run(
        &app,
        "drop table public.sale_1; \
         create table public.sale_1 partition of public.sale for values from ('2026-01-01') to ('2026-02-01')",
    )
    .await;
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("as planned");
    let checked = publication::check(&bench.ours(&bench.source).await, &bench.token, FORWARD).await;
    assert_eq!(code(checked), "publication.changed");
}

#[tokio::test]
async fn in_a_hold_a_dropped_partition_is_retired_on_the_source() {
    let (bench, mut context) = held("held_retires", CLOSED).await;
    let (owner, source) = (bench.target.session().await, bench.source.session().await);
    run(&owner, ROWS).await;
    run(
        &source,
        "insert into public.sale (tenant_id, at, v) values (50, '2026-01-09', 'of another key')",
    )
    .await;
    let stream = bench.stream(super::Direction::Reverse).await;
    bench.drain(&stream).await.expect("drained");
    drop(stream);
    run(&owner, "drop table public.sale_1").await;
    retire(&mut context, StepKind::Hold).await;
    definitions::check(&context, StepKind::Hold)
        .await
        .expect("the plan follows");
    assert_eq!(january(&source).await, [50]);
}

/// The leaves stay attached to a table that is not below the topmost one any more.
#[tokio::test]
async fn a_detached_table_that_is_partitioned_itself_is_retired_with_its_leaves() {
    let (bench, mut context, _stream) = captured("detaches_tree").await;
    run(
        &bench.source.session().await,
        "alter table public.sale detach partition public.sale_2",
    )
    .await;
    let changes = retire(&mut context, StepKind::CatchUp).await;
    let detached = ["public.Sale", "public.sale_2_0"];
    assert_eq!(
        changes,
        detached.map(|leaf| format!("public.sale: partition {leaf} was detached"))
    );
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("the plan follows");
}

/// The step after the report would have deleted the copied rows.
#[tokio::test]
async fn an_abort_deletes_the_copied_rows_of_a_retired_partition() {
    let (bench, mut context, stream) = captured("unwinds").await;
    drop(stream);
    run(&bench.source.session().await, "drop table public.sale_1").await;
    retire(&mut context, StepKind::CatchUp).await;
    let there = bench.ours(&bench.target).await;
    run(&there, "update shardwright.move set loaded = true").await;
    create_target::undo_creation(&context, &there)
        .await
        .expect("undone");
    assert_eq!(january(&there).await, [50]);
}

/// Its table stays, without any partition.
#[tokio::test]
async fn the_leaves_of_a_partitioned_partition_are_retired() {
    let (bench, mut context, _stream) = captured("empties").await;
    let app = bench.source.session().await;
    run(
        &app,
        "drop table public.sale_2_0; drop table public.\"Sale\"",
    )
    .await;
    assert_eq!(retire(&mut context, StepKind::CatchUp).await.len(), 2);
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("the plan follows");
}

/// The rows of a detached partition would refer to rows that leave the shard.
#[tokio::test]
async fn a_foreign_key_of_a_detached_partition_to_a_moving_table_halts_the_move() {
    let schema = format!(
        "create table public.buyer (tenant_id bigint primary key); {SALE}; \
         alter table public.sale add foreign key (tenant_id) references public.buyer"
    );
    let bench = Bench::new("retiresreferring", &schema).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    let mut context = adopting(&bench).await;
    let app = bench.source.session().await;
    run(
        &app,
        "alter table public.sale detach partition public.sale_1",
    )
    .await;
    retire(&mut context, StepKind::CatchUp).await;
    let message = drift(&context).await;
    let named = "table public.sale_1 refers to public.buyer";
    assert!(message.contains(named), "{message}");
}
