//! A verification that is killed continues with the remaining chunks, and its result is correct.

use plans::names::Direction;
use plans::step::StepKind;

use super::case::VerifyCase;
use crate::protocol_tests::bench::{Bench, code};
use crate::protocol_tests::shard::until;
use crate::steps::{self, ComparisonSessions, StreamShards, count_differences};

/// Two tables. They are compared in this order.
const TWO: &str = "
create table public.first (tenant_id bigint, id bigint, v text, primary key (tenant_id, id));
create table public.second (tenant_id bigint, id bigint, v text, primary key (tenant_id, id))";

const FILL: &str = "
insert into public.first select 100, g, 'v' from pg_catalog.generate_series(1, 300) g;
insert into public.second select 100, g, 'v' from pg_catalog.generate_series(1, 200) g";

/// Kills run 1 after the chunk of the first table and before that of the second table.
async fn killed_in_the_middle(name: &str) -> VerifyCase {
    // The transaction with the lock has a transaction id. A slot on the same server would wait for its end.
    let case = VerifyCase::of(Bench::apart(name, TWO).await, FILL, FILL).await;
    // No session can read the second table.
    let locker = case.bench.target.session().await;
    let lock = "begin; lock table public.second in access exclusive mode";
    locker.batch_execute(lock).await.expect("locked");
    let context = case.dispatched(1, false);
    let step = tokio::spawn(async move { steps::run(&context, StepKind::Verify).await });
    until("the first chunk is recorded", || async {
        let read = "select count(compared_at) from shardwright.verified";
        let row = case.target.query_one(read, &[]).await.expect("read");
        row.get::<_, i64>(0) == 1
    })
    .await;
    step.abort();
    assert!(step.await.is_err_and(|error| error.is_cancelled()));
    locker.batch_execute("rollback").await.expect("unlocked");
    case
}

#[tokio::test]
async fn finished_chunks_are_not_compared_again_until_another_run_begins() {
    let case = killed_in_the_middle("v_killed").await;
    // A difference in the compared chunk. It would be found if the chunk were compared again.
    let plant = "update public.first set v = 'x' where id = 7";
    case.target.batch_execute(plant).await.expect("planted");
    let verified = case.verify(1).await.expect("goes on");
    assert_eq!((verified.chunks, verified.chunks_kept), (2, 1));
    assert_eq!((verified.rows_compared, verified.different), (500, 0));
    assert_eq!(code(case.verify(2).await), "verify.different");
}

/// This rule makes the result of the older chunk valid: keys that changed after its position are still dirty at the
/// end.
#[tokio::test]
async fn keys_that_changed_since_the_oldest_point_stay_dirty() {
    let case = killed_in_the_middle("v_marks").await;
    let write = "update public.first set v = 'w' where id = 7; update public.second set v = 'w' where id = 7";
    case.source.batch_execute(write).await.expect("written");
    case.drain().await;
    assert_eq!(case.dirty().await, 2);
    // This simulates a change that was applied wrongly between the first and the second position.
    let plant = "update public.first set v = 'wrong' where id = 7";
    case.target.batch_execute(plant).await.expect("planted");
    let verified = case.verify(1).await.expect("goes on");
    assert_eq!(verified.chunks_kept, 1);
    let sides = StreamShards::of(&case.context, Direction::Forward).expect("two sides");
    let both = ComparisonSessions {
        upstream: &case.source,
        downstream: &case.target,
        log: &case.target,
    };
    let found = count_differences(&case.context, &sides, &both).await;
    assert_eq!(found.expect("compared").0, 1, "the cutover would refuse");
}

#[tokio::test]
async fn a_run_over_other_tables_begins_anew() {
    let case = killed_in_the_middle("v_reshaped").await;
    let mut context = case.dispatched(1, false);
    let dispatch = std::sync::Arc::make_mut(&mut context.dispatch);
    dispatch.schema_fingerprint = "another".to_owned();
    let output = steps::run(&context, StepKind::Verify).await.expect("equal");
    assert_eq!(output["chunks_kept"], 0);
}

#[tokio::test]
async fn a_run_that_has_ended_is_not_made_again() {
    let case = VerifyCase::new("v_ended", TWO, FILL, FILL).await;
    let first = case.verify(1).await.expect("equal");
    let again = case.verify(1).await.expect("known");
    assert_eq!((again.at, again.chunks_kept), (first.at, 2));
}
