//! Every abort ends: the source accepts writes again, and the agent lists the objects that it cannot remove, instead of
//! retrying without a limit.

use std::sync::Arc;

use connect::Connected;
use plans::id::{AttemptNo, MapVersion, StepId};
use plans::step::StepKind;
use plans::step::preflight::Preflighted;
use plans::step::unwind::Unwound;
use plans::wire::Dispatch;
use serde_json::json;

use super::bench::{Bench, ITEM, VERSION, code, state};
use super::interrupted::again;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::register::{self, RegisterSetting};
use crate::steps;

const CLOSED: i64 = i64::MAX;
/// An attempt number after which the agent retries no failure.
const LAST: u32 = 99;
const WRITE: &str = "insert into public.item values (150, 9, 'application')";

/// Returns the step `unwind` of the bench's migration, changed by `edit`.
fn unwinding(bench: &Bench, attempt: u32, edit: impl Fn(&mut Dispatch)) -> StepContext {
    let mut context = again(bench, StepKind::Unwind);
    let mut dispatch = (*context.dispatch).clone();
    dispatch.attempt = attempt;
    let preflight = StepId::from(StepKind::Preflight.name());
    dispatch
        .outputs
        .insert(preflight, json!(Preflighted::default()));
    edit(&mut dispatch);
    context.dispatch = Arc::new(dispatch);
    context
}

/// Makes the dispatch refer to a target database that does not exist.
fn target_is_gone(dispatch: &mut Dispatch) {
    dispatch.target.dsn = dispatch.target.dsn.replace("dbname=abort", "dbname=gone");
}

/// Makes the agent log in to the source as another role.
fn source_as(role: &str) -> impl Fn(&mut Dispatch) {
    let login = format!("user='{role}' password=other");
    move |dispatch| {
        let (others, _) = dispatch
            .source
            .dsn
            .split_once(" password=")
            .expect("it is last");
        let dsn = others
            .replace("user=postgres", &login)
            .replace("user='postgres'", &login);
        dispatch.source.dsn = dsn;
    }
}

async fn unwind(context: &StepContext) -> Result<Unwound, StepError> {
    let done = steps::run(context, StepKind::Unwind).await?;
    Ok(serde_json::from_value(done).expect("an unwinding's output"))
}

fn objects(unwound: &Unwound) -> Vec<String> {
    let left = unwound.leftovers.iter();
    left.map(|left| format!("{}: {}", left.shard, left.object))
        .collect()
}

/// Opens a session as the application: it lacks the agent's setting that bypasses the guard.
async fn application(bench: &Bench) -> connect::Connected {
    bench.source.session().await
}

async fn count(session: &Connected, what: &str) -> i64 {
    let sql = format!("select count(*) from {what}");
    session.query_one(&sql, &[]).await.expect("counted").get(0)
}

#[tokio::test]
async fn a_target_that_is_gone_for_ever_does_not_keep_the_source_closed() {
    let bench = Bench::new("abort_gone", ITEM).await;
    bench.guard(&bench.source, CLOSED).await;
    let app = application(&bench).await;
    assert_eq!(state(app.batch_execute(WRITE).await), "SM001");

    let unwound = unwind(&unwinding(&bench, 1, target_is_gone)).await;
    let unwound = unwound.expect("a database that does not exist is not waited for");

    assert_eq!(objects(&unwound), ["target: all objects of the migration"]);
    app.batch_execute(WRITE).await.expect("the source is open");
    assert_eq!(
        count(&app, "pg_namespace where nspname = 'shardwright'").await,
        0
    );
}

#[tokio::test]
async fn a_sealed_source_is_not_opened_without_the_targets_witness() {
    let bench = Bench::new("abort_sealed", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    let ours = bench.ours(&bench.source).await;
    register::begin_and_set(&ours, &bench.token, AttemptNo(1), RegisterSetting::Closed)
        .await
        .expect("sealed");

    let refused = unwind(&unwinding(&bench, LAST, target_is_gone)).await;
    assert_eq!(code(refused), "unwind.sealed");
    let app = application(&bench).await;
    assert_eq!(state(app.batch_execute(WRITE).await), "SM001");

    let unwound = unwind(&unwinding(&bench, LAST, |_| ())).await;
    assert_eq!(objects(&unwound.expect("witnessed")), Vec::<String>::new());
    app.batch_execute(WRITE).await.expect("the source is open");
}

/// The control store was restored to a state before the flip. The abort must not open a shard.
#[tokio::test]
async fn an_abort_of_a_flip_that_the_store_has_lost_opens_nothing() {
    let bench = Bench::new("abort_flipped", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    let (ours, there) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    register::begin_and_set(&ours, &bench.token, AttemptNo(1), RegisterSetting::Closed)
        .await
        .expect("sealed");
    register::notify_of_flip(&there, &bench.token, AttemptNo(1), MapVersion(VERSION + 1))
        .await
        .expect("told");
    assert_eq!(
        code(unwind(&unwinding(&bench, LAST, |_| ())).await),
        "flip.lost"
    );
    assert_eq!(bench.register(&ours).await, CLOSED);
}

#[tokio::test]
async fn a_table_that_stays_locked_keeps_its_guard_which_refuses_nothing() {
    let bench = Bench::new("abort_locked", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let mut dump = application(&bench).await;
    let reading = dump.transaction().await.expect("begun");
    reading
        .batch_execute("lock table public.item in access share mode")
        .await
        .expect("as a dump of the database does");

    let passing = unwind(&unwinding(&bench, 1, |_| ())).await;
    assert_eq!(code(passing), "sql.55P03", "it is tried again first");
    let unwound = unwind(&unwinding(&bench, LAST, |_| ())).await;

    assert_eq!(
        objects(&unwound.expect("it ends")),
        ["source: guards and register"]
    );
    reading.commit().await.expect("ended");
    let app = application(&bench).await;
    app.batch_execute(WRITE).await.expect("the source is open");
    app.batch_execute("truncate public.item")
        .await
        .expect("also to TRUNCATE");
}

#[tokio::test]
async fn a_prepared_transaction_that_locks_the_targets_table_does_not_keep_an_abort_from_ending() {
    let bench = Bench::each_alone_with(
        "abort_prepared",
        ITEM,
        &[("max_prepared_transactions", "2")],
    )
    .await;
    bench.guard(&bench.target, CLOSED).await;
    let other = bench.target.session().await;
    other
        .batch_execute(
            "begin; lock table public.item in row exclusive mode; prepare transaction 'forgotten'",
        )
        .await
        .expect("prepared");
    let unwound = unwind(&unwinding(&bench, LAST, |_| ())).await;
    let objects = objects(&unwound.expect("it ends"));
    assert_eq!(
        objects,
        ["target: copied rows, tables, guards and register"]
    );
}

/// The agent now has another role, which has no privileges on the sidecar schema.
#[tokio::test]
async fn an_abort_that_changed_nothing_ends_without_rights() {
    let bench = Bench::new("abort_stranger", ITEM).await;
    let stranger = "create role abort_stranger login password 'other'";
    application(&bench)
        .await
        .batch_execute(stranger)
        .await
        .expect("a role");
    let as_stranger = source_as("abort_stranger");
    let unwound = unwind(&unwinding(&bench, LAST, &as_stranger)).await;
    assert_eq!(
        objects(&unwound.expect("the catalog says that nothing refuses writes")),
        ["source: all objects of the migration"]
    );

    bench.guard(&bench.source, 0).await;
    let waits = unwind(&unwinding(&bench, LAST, &as_stranger)).await;
    let failure = waits
        .expect_err("what cannot be read is not proved")
        .failure()
        .cloned();
    assert!(
        failure
            .expect("a failure")
            .message
            .contains("the abort waits until shard source")
    );
}

#[tokio::test]
async fn an_abort_goes_on_after_the_target_has_forgotten_it() {
    let bench = Bench::new("abort_forgotten", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let there = bench.target.session().await;
    there
        .batch_execute("delete from shardwright.move")
        .await
        .expect("an earlier attempt got so far");
    let unwound = unwind(&unwinding(&bench, 2, |_| ())).await;
    assert_eq!(objects(&unwound.expect("it ends")), Vec::<String>::new());
}

#[tokio::test]
async fn the_sessions_of_an_abort_fit_into_a_limit_on_connections() {
    let bench = Bench::new("abort_limit", ITEM).await;
    let role = "create role abort_limit login replication password 'other' connection limit 2;
        grant postgres to abort_limit";
    application(&bench)
        .await
        .batch_execute(role)
        .await
        .expect("a role");
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(plans::names::Direction::Forward).await;
    let few = source_as("abort_limit");
    let unwound = unwind(&unwinding(&bench, 1, few)).await;
    assert_eq!(objects(&unwound.expect("it ends")), Vec::<String>::new());
}
