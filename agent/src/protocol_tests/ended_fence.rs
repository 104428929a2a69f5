//! Writes that pass the guard because the fence has expired, and how the seal detects them (C8, ADR 44).

use std::collections::BTreeSet;
use std::time::Duration;

use connect::Connected;
use plans::id::AttemptNo;
use tokio::time::Instant;

use super::bench::{Bench, ITEM, code, pid, state};
use super::cutover::committed_before;
use super::shard::LIMIT;
use super::wait_out::{Marking, prepare, until_queued};
use crate::postgres::lsn::Lsn;
use crate::shard::epoch::{AttemptCount, EpochProof};
use crate::shard::guard;
use crate::shard::marker_after_wait::AwaitedWriters;
use crate::shard::register::{self, RegisterSetting};

/// A write to a moving key, in a transaction that stays open.
const WRITE: &str = "begin; insert into public.item values (100, 1, 'x')";

/// Sets a fence that expires immediately. Returns the attempt count of the shard.
async fn fence_that_has_ended(marking: &Marking) -> AttemptCount {
    let fence = RegisterSetting::FencedFor(0);
    let fenced = register::begin_and_set(&marking.session, &marking.token, AttemptNo(1), fence);
    fenced.await.expect("fenced")
}

async fn seal(marking: &Marking, count: AttemptCount) -> BTreeSet<String> {
    let (proof, closed) = (EpochProof::Count(count), RegisterSetting::Closed);
    let behind = marking.behind();
    let sealed = behind
        .set_and_mark(proof, closed, AwaitedWriters::PassedExpiredFence)
        .await;
    sealed.expect("sealed").1
}

#[tokio::test]
async fn who_passes_an_ended_fence_is_waited_for_behind_the_seal() {
    let bench = Bench::new("passed", ITEM).await;
    let marking = Marking::new(&bench).await;
    let (writer, observer) = (bench.source.session().await, bench.source.session().await);
    let count = fence_that_has_ended(&marking).await;
    writer.batch_execute(WRITE).await.expect("it has ended");
    let passed = seal(&marking, count).await;
    assert_eq!(passed.len(), 1);

    let prepare = "prepare transaction 'passed'";
    writer.batch_execute(prepare).await.expect("prepared");
    let soon = Instant::now() + Duration::from_millis(50);
    let over = marking.behind().wait_and_mark(passed.clone(), soon).await;
    assert_eq!(code(over), "wait_out.budget");
    assert_eq!(marking.markers(&observer).await, 0);

    let commit = "commit prepared 'passed'";
    writer.batch_execute(commit).await.expect("committed");
    let late = Instant::now() + LIMIT;
    let written = marking.behind().wait_and_mark(passed, late).await;
    written.expect("waited out");
    assert_eq!(marking.markers(&observer).await, 1);
    let before = committed_before(&bench, Lsn(u64::MAX), &marking.marker).await;
    assert_eq!(before, BTreeSet::from([1]));
}

#[tokio::test]
async fn who_reads_an_ended_fence_while_it_is_being_sealed_is_refused() {
    let bench = Bench::new("crossed", ITEM).await;
    let marking = Marking::new(&bench).await;
    let (holder, writer) = (bench.source.session().await, bench.source.session().await);
    let count = fence_that_has_ended(&marking).await;

    // The guard has read that the fence has expired, and waits for the lock with which it records this.
    let key = guard::passed_lock_key(&bench.token.migration);
    let hold = format!("begin; select pg_catalog.pg_advisory_xact_lock({key})");
    holder.batch_execute(&hold).await.expect("held");
    let waiter = pid(&writer).await;
    let writing = tokio::spawn(async move { writer.batch_execute(WRITE).await });
    until_queued(&marking.session, waiter).await;
    let (proof, closed) = (EpochProof::Count(count), RegisterSetting::Closed);
    let sealed = marking
        .behind()
        .set_and_mark(proof, closed, marking.writers())
        .await;
    let (_, everybody) = sealed.expect("sealed");
    assert_eq!(everybody.len(), 1, "it writes to a moving table");
    holder.batch_execute("commit").await.expect("let go");
    assert_eq!(state(writing.await.expect("no panic")), "SM001");
}

#[tokio::test]
async fn behind_the_seal_writers_of_other_keys_are_not_waited_for() {
    let bench = Bench::new("stay", ITEM).await;
    let marking = Marking::new(&bench).await;
    let (writer, observer) = (bench.source.session().await, bench.source.session().await);
    let (count, _) = marking.fence().await.expect("fenced");
    let stays = "begin; insert into public.item values (200, 1, 'x')";
    writer.batch_execute(stays).await.expect("of another key");
    let who = marking.writers();
    let everybody = marking.behind().mark_or_list(who).await;
    assert_eq!(everybody.expect("listed").len(), 1);
    assert!(seal(&marking, count).await.is_empty());
    assert_eq!(marking.markers(&observer).await, 2, "fence and seal");
}

#[tokio::test]
async fn a_guard_of_an_older_version_is_made_again_before_the_fence() {
    let bench = Bench::new("older", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (writer, observer) = (bench.source.session().await, bench.source.session().await);
    let function = bench.token.migration.guard_function();
    let older = format!(
        "create or replace function shardwright.{function}() returns trigger language plpgsql
         as 'begin return null; end'"
    );
    observer.batch_execute(&older).await.expect("replaced");
    let marking = Marking::behind_its_guard(&bench).await;
    let renewed = written_by(&bench, &observer).await;
    prepare(&bench, &bench.ours(&bench.source).await).await;
    assert_eq!(written_by(&bench, &observer).await, renewed, "left alone");

    let count = fence_that_has_ended(&marking).await;
    writer.batch_execute(WRITE).await.expect("it has ended");
    assert_eq!(seal(&marking, count).await.len(), 1);
}

/// Returns the transaction id that last wrote the guard's function.
async fn written_by(bench: &Bench, observer: &Connected) -> String {
    let read = "select xmin::text from pg_catalog.pg_proc where proname = $1";
    let function = bench.token.migration.guard_function();
    let row = observer.query_one(read, &[&function]).await;
    row.expect("a function").get(0)
}
