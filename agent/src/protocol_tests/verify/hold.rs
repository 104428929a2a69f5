//! During the hold, the rows of the old owner are compared with those of the new owner. A difference prevents a
//! rollback.

use std::sync::Arc;

use plans::names::Direction;
use plans::step::StepKind;
use plans::step::verify::VerifyRun;

use super::case::VerifyCase;
use super::dirty::judge;
use crate::protocol_tests::bench::ITEM;
use crate::protocol_tests::shard::until;
use crate::steps;

const FILL: &str =
    "insert into public.item select 100, g, 'v' from pg_catalog.generate_series(1, 500) g";

#[tokio::test]
async fn the_hold_compares_the_old_copy_when_it_is_ordered() {
    let case = VerifyCase::new("v_hold", ITEM, FILL, FILL).await;
    case.bench.capture(Direction::Reverse).await;
    let reverse = case.bench.stream(Direction::Reverse).await;
    *case.context.session.stream.lock().await = Some(reverse);
    let corrupt = "update public.item set v = 'x' where id = 7";
    case.source
        .batch_execute(corrupt)
        .await
        .expect("planted on the old copy");
    let mut context = case.context.clone();
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.step = Some((StepKind::Hold.name().into(), StepKind::Hold));
    dispatch.verify = Some(VerifyRun {
        number: 5,
        repair: false,
    });
    let holding = context.clone();
    let hold = tokio::spawn(async move { steps::run(&holding, StepKind::Hold).await });
    until("the comparison is over", || async {
        let read = "select count(*) from shardwright.verification where finished_at is not null";
        let row = case.source.query_one(read, &[]).await.expect("read");
        row.get::<_, i64>(0) == 1
    })
    .await;
    assert!(!hold.is_finished(), "the hold goes on");
    let report = case.report(Direction::Reverse).await;
    assert_eq!((report.run, report.rows(), report.different()), (5, 500, 1));
    assert_eq!(judge(&case, &context, Direction::Reverse).await, (1, 1));
    context.session.end_hold.notify_one();
    hold.await.expect("no panic").expect("it ends");
}
