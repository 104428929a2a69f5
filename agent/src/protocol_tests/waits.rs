//! A step reports the lock that it waits for while it waits, with the session that holds the lock.

use plans::step::StepKind;

use super::bench::{Bench, ITEM, pid, until_blocked};
use super::interrupted::again;
use super::shard::until;
use crate::migration::{lock_yield, wait_monitor};
use crate::postgres::lock_wait;

#[tokio::test]
async fn a_lock_is_told_with_who_holds_it_until_it_is_free() {
    let bench = Bench::new("lockwait", ITEM).await;
    let context = again(&bench, StepKind::OpenCapture);
    let (session, shard) = (
        context.session.clone(),
        bench.shard(&bench.source, bench.token.epoch),
    );
    let held = "begin; lock table public.item in row exclusive mode";
    // Another session of the migration holds a conflicting lock too, and has held it for longer.
    let own = shard.session("other").await.expect("opened");
    own.batch_execute(held).await.expect("locked");
    let holder = bench.source.session().await;
    holder.batch_execute(held).await.expect("locked");
    let step = shard.session("step").await.expect("opened");
    let wanted = step.batch_execute("begin; lock table public.item in share mode; commit");
    let seen = async {
        until("told", || async { session.progress().lock.is_some() }).await;
        let told = session.progress();
        holder.batch_execute("rollback").await.expect("free");
        own.batch_execute("rollback").await.expect("free");
        until("no more", || async { session.progress().lock.is_none() }).await;
        until("nothing", || async {
            session.progress().statements.is_empty()
        })
        .await;
        told
    };
    let told = tokio::select! {
        never = wait_monitor::report_waits(&context) => match never {},
        (told, locked) = async { tokio::join!(seen, wanted) } => {
            locked.expect("locked once it is free");
            told
        }
    };
    let (holder, step) = (pid(&holder).await, pid(&step).await);
    let executed = told.statements.first().expect("what is executed is told");
    assert_eq!(executed.role, "step");
    assert!(
        executed
            .text
            .contains("lock table public.item in share mode")
    );
    assert!(executed.ms >= 0, "{executed:?}");
    let told = told.lock.expect("told");
    assert_eq!((told.pid, told.holder), (step, holder), "{told:?}");
    assert_eq!(
        (told.object.as_str(), told.application.as_str()),
        ("public.item", "test")
    );
    assert_eq!(told.state, "idle in transaction");
    assert!(told.open_ms.is_some_and(|ms| ms >= 0), "{told:?}");
}

/// Every session of the application would wait behind it.
#[tokio::test]
async fn a_change_of_a_table_that_waits_for_a_reader_of_the_migration_is_noticed() {
    let bench = Bench::new("lockyield", ITEM).await;
    let context = again(&bench, StepKind::Verify);
    let shard = bench.shard(&bench.source, bench.token.epoch);
    let reader = shard.session("verify").await.expect("opened");
    let read = "begin isolation level repeatable read; select count(*) from public.item";
    reader.batch_execute(read).await.expect("read");
    let (app, observer) = (bench.source.session().await, bench.source.session().await);
    let blocked = pid(&app).await;
    let change = app.batch_execute("alter table public.item add column note text");
    let notice = async {
        until_blocked(&observer, blocked).await;
        lock_yield::wait_until_in_the_way(&context).await;
        reader.batch_execute("commit").await.expect("ended");
    };
    let (changed, ()) = tokio::join!(change, notice);
    changed.expect("changed");
    let session = bench.ours(&bench.source).await;
    let waits = lock_wait::is_in_the_way(&session, &bench.token.migration).await;
    assert!(!waits.expect("read"));
}
