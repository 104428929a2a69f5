//! A step reports the lock that it waits for while it waits, with the session that holds the lock.

use plans::step::StepKind;

use super::bench::{Bench, ITEM, pid};
use super::interrupted::again;
use super::shard::until;
use crate::migration::wait_monitor;

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
