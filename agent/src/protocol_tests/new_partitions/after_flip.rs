//! New partitions after a flip: nothing copies rows any more, so the agent copies those of the partition in the
//! transaction that publishes it.

use std::sync::Arc;

use connect::Connected;
use plans::id::AttemptNo;
use plans::names::Direction;
use plans::step::StepKind;

use super::{CLOSED, adopting};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::protocol_tests::bench::{Bench, code};
use crate::protocol_tests::ddl::{plan, run};
use crate::protocol_tests::partitions::{COMING, SALE};
use crate::protocol_tests::shard::until;
use crate::shard::marker::{Marker, MarkerKind};
use crate::steps::definitions;

const REVERSE: Direction = Direction::Reverse;

/// A move in its hold: the target owns the keys.
pub(in crate::protocol_tests) async fn held(
    name: &str,
    source_register: i64,
) -> (Bench, StepContext) {
    let bench = Bench::new(name, SALE).await;
    bench.guard(&bench.source, source_register).await;
    bench.guard(&bench.target, 0).await;
    bench.capture(REVERSE).await;
    let session = bench.ours(&bench.target).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Opened);
    marker.emit(&session, &bench.token).await.expect("opened");
    let context = in_step(adopting(&bench).await, StepKind::Hold);
    (bench, context)
}

pub(super) fn in_step(mut context: StepContext, kind: StepKind) -> StepContext {
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.step = Some((kind.name().into(), kind));
    context
}

/// Returns the rows of the new partition.
async fn rows(session: &Connected) -> Vec<String> {
    let read = "select tenant_id || ' ' || v from public.sale_3 order by id, v";
    let rows = session.query(read, &[]).await.expect("rows");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Checks the definitions, and lets the plan have the adopted partition.
async fn adopt(context: &mut StepContext, kind: StepKind, owner: &Connected) {
    let tables = match definitions::check(context, kind).await {
        Err(StepError::Reshaped { tables, .. }) => tables,
        other => panic!("it is not adopted: {other:?}"),
    };
    let fingerprint = catalog::fingerprint(owner, &tables).await.expect("read");
    plan(context, tables, fingerprint);
}

#[tokio::test]
async fn in_a_hold_the_rows_of_a_new_partition_are_copied_when_it_is_published() {
    let (mut bench, mut context) = held("held_adopts", CLOSED).await;
    let (owner, source) = (bench.target.session().await, bench.source.session().await);
    run(
        &owner,
        "create table public.sale_3 (like public.sale including all); \
         insert into public.sale_3 values (150, '2026-03-05', 1, 'early'), (50, '2026-03-05', 2, 'of another key'); \
         alter table public.sale attach partition public.sale_3 for values from ('2026-03-01') to ('2026-04-01')",
    )
    .await;
    let open = "begin; insert into public.sale values (150, '2026-03-06', 3, 'open')";
    run(&owner, open).await;
    // The source has the partition, with a row of its own, and one that an interrupted adoption has left.
    let ours = bench.ours(&bench.source).await;
    run(&ours, COMING).await;
    run(
        &source,
        "insert into public.sale values (60, '2026-03-07', 4, 'of the source')",
    )
    .await;
    run(
        &ours,
        "begin; set local shardwright.bypass = 'on'; set local session_replication_role = replica; \
         insert into public.sale values (150, '2026-03-08', 5, 'left'); commit",
    )
    .await;
    let observer = bench.target.session().await;
    let report_is_lost = context.clone();
    let ends = async {
        until("the agent waits for the writer", || async {
            let read = "select count(*) > 0 from pg_locks where mode = 'ShareRowExclusiveLock' and not granted \
                        and relation = 'public.sale_3'::regclass";
            observer.query_one(read, &[]).await.expect("read").get(0)
        })
        .await;
        run(&owner, "commit").await;
    };
    let (checked, ()) = tokio::join!(definitions::check(&report_is_lost, StepKind::Hold), ends);
    assert!(
        matches!(checked, Err(StepError::Reshaped { .. })),
        "{checked:?}"
    );
    let copied = ["150 early", "150 open", "60 of the source"];
    assert_eq!(rows(&source).await, copied);

    // The report is lost. The stream sends what is written meanwhile, so the rows are not copied again.
    let later = "insert into public.sale values (150, '2026-03-09', 6, 'later')";
    run(&observer, later).await;
    adopt(&mut context, StepKind::Hold, &observer).await;
    assert_eq!(rows(&source).await, copied);
    bench.tables = context.dispatch.tables.clone().into();
    let stream = bench.stream(REVERSE).await;
    bench.drain(&stream).await.expect("applied");
    assert_eq!(
        rows(&source).await,
        ["150 early", "150 open", "60 of the source", "150 later"]
    );
    definitions::check(&context, StepKind::Hold)
        .await
        .expect("the plan has it");
}

#[tokio::test]
async fn after_a_rollback_a_partition_of_the_source_is_recorded_as_copied() {
    let bench = Bench::new("back_adopts", SALE).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(Direction::Forward).await;
    let mut context = in_step(adopting(&bench).await, StepKind::HoldBack);
    let flipped = serde_json::json!({});
    Arc::make_mut(&mut context.dispatch)
        .outputs
        .insert(StepKind::Cutover.name().into(), flipped);
    let (owner, target) = (bench.source.session().await, bench.target.session().await);
    run(&owner, COMING).await;
    let insert = "insert into public.sale values (150, '2026-03-05', 1, 'early')";
    run(&owner, insert).await;
    adopt(&mut context, StepKind::HoldBack, &owner).await;
    assert_eq!(rows(&target).await, ["150 early"]);
    let read =
        "select count(*), bool_and(done) from shardwright.chunk where relation = 'public.sale_3'";
    let row = target.query_one(read, &[]).await.expect("read");
    assert_eq!((row.get(0), row.get(1)), (1_i64, true));
}

#[tokio::test]
async fn no_row_is_removed_or_copied_on_a_shard_that_is_open() {
    let (bench, context) = held("held_open", 0).await;
    let (owner, source) = (bench.target.session().await, bench.source.session().await);
    run(&owner, COMING).await;
    run(&source, COMING).await;
    let insert = "insert into public.sale values (150, '2026-03-05', 1, 'its own')";
    run(&source, insert).await;
    let refused = definitions::check(&context, StepKind::Hold).await;
    assert_eq!(code(refused), "follow.owner");
    assert_eq!(rows(&source).await, ["150 its own"]);
}

#[tokio::test]
async fn a_large_partition_is_refused_after_the_flip() {
    let (bench, context) = held("held_large", CLOSED).await;
    let owner = bench.target.session().await;
    run(
        &owner,
        "create table public.sale_3 (like public.sale including all); \
         alter table public.sale_3 alter column v set storage external; \
         insert into public.sale_3 select 50, '2026-03-05', g, repeat('x', 8000) from generate_series(1, 2200) g; \
         alter table public.sale alter column v set storage external; \
         alter table public.sale attach partition public.sale_3 for values from ('2026-03-01') to ('2026-04-01')",
    )
    .await;
    let source = bench.source.session().await;
    run(
        &source,
        "alter table public.sale alter column v set storage external",
    )
    .await;
    match definitions::check(&context, StepKind::Hold).await {
        Err(StepError::Failed(failure)) => {
            assert_eq!(failure.code, "schema.drift");
            assert!(
                failure.message.contains("sale_3 has 17 MiB"),
                "{}",
                failure.message
            );
        }
        other => panic!("{other:?}"),
    }
}
