//! A requested promotion that does not end: replay stands still on the standby, so the server cannot leave recovery.

use std::sync::Arc;

use plans::step::StepKind;
use plans::wire::Dispatch;
use serde_json::Value;

use super::endings::assert_clean;
use super::{SeedBench, until};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::protocol_tests::frozen::FrozenProcess;
use crate::shard::register::Register;
use crate::shard::seed;
use crate::steps;

/// The number of attempts after which an abort lists what it could not remove.
const LAST_ATTEMPT: u32 = 6;
const PROMOTING: &str = "select pid from pg_stat_activity
    where state = 'active' and query like '%pg_promote%' and pid <> pg_backend_pid()";

/// Executes a step until it waits for the promotion, and then ends its session, as a lost connection does.
async fn interrupted(seed: &SeedBench, step: StepKind, attempt: u32) -> Result<Value, StepError> {
    let context = seed.context(step).await;
    let context = StepContext {
        dispatch: Arc::new(Dispatch {
            attempt,
            ..(*context.dispatch).clone()
        }),
        ..context
    };
    let running = tokio::spawn(async move { steps::run(&context, step).await });
    let standby = seed.bench.target.session().await;
    until("it waits for the promotion", || async {
        standby
            .query_opt(PROMOTING, &[])
            .await
            .expect("read")
            .is_some()
    })
    .await;
    let end = format!("select pg_terminate_backend(pid) from ({PROMOTING}) p");
    standby.batch_execute(&end).await.expect("ended");
    running.await.expect("joined")
}

async fn assert_source_takes_writes(seed: &SeedBench) {
    let source = &seed.bench.source;
    assert_eq!(seed.register(source).await, Register::Bound(1));
    let insert = "insert into public.item values (150, nextval('public.n'), 'meanwhile')";
    let session = source.session().await;
    session.batch_execute(insert).await.expect("accepted");
}

#[tokio::test]
async fn a_promotion_that_does_not_end_blocks_no_write_of_the_source_and_ends_later() {
    let mut seed = SeedBench::new("seedhanging").await;
    seed.open_capture().await;
    let ours = seed.bench.ours(&seed.bench.source).await;
    let sequence = "create sequence public.n start 5000";
    ours.batch_execute(sequence).await.expect("created");
    let record = seed.request().await;
    let standby = seed.bench.target.session().await;
    until("the standby has the request", || async {
        let found = seed::read(&standby, &seed.bench.token).await.expect("read");
        found.is_some_and(|found| found.id == record.id && found.requested)
    })
    .await;
    let stopped = FrozenProcess::replay_of(&seed.bench.target).await;
    let promoted = interrupted(&seed, StepKind::Promote, 1).await;
    let error = promoted.expect_err("it has not ended");
    assert!(error.failure().is_some(), "{error}");
    assert_source_takes_writes(&seed).await;
    let aborted = interrupted(&seed, StepKind::Unwind, 1).await;
    let error = aborted.expect_err("the abort is tried again");
    assert!(error.to_string().contains("attempt 1 of 6"), "{error}");
    assert_source_takes_writes(&seed).await;
    // The last attempt lists what stays: the standby can still be promoted, so the source keeps its guards.
    let aborted = interrupted(&seed, StepKind::Unwind, LAST_ATTEMPT).await;
    let output = aborted.expect("an end");
    let left = output["leftovers"].to_string();
    assert!(left.contains("all objects of the migration"), "{left}");
    assert_source_takes_writes(&seed).await;
    drop(stopped);
    until("the promotion takes effect", || async {
        let session = seed.bench.target.session().await;
        let recovery = "select pg_is_in_recovery()";
        let row = session.query_one(recovery, &[]).await.expect("read");
        !row.get::<_, bool>(0)
    })
    .await;
    assert_eq!(seed.register(&seed.bench.target).await, Register::Bound(1));
    let refused = seed.bench.target.session().await;
    let insert = "insert into public.item values (150, 88888, 'stray')";
    refused.batch_execute(insert).await.expect_err("refused");
    let output = seed.run(StepKind::Unwind).await.expect("unwound");
    assert_eq!(output["leftovers"], serde_json::json!([]));
    assert_clean(&seed.bench.source, 1).await;
    assert_clean(&seed.bench.target, 0).await;
}
