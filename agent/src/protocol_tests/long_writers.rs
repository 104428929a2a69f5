//! A transaction that prevents a cutover from starting is reported without row values. The agent ends only the
//! transaction that was reported (C1).

use plans::wire::LongWriter;

use super::bench::{Bench, ITEM, pid};
use super::shard::until;
use crate::shard::long_writers::{WriteObstacle, end_writer, find_obstacles};

/// Returns the writers that block a cutover on the source of the bench: those older than a millisecond.
async fn in_the_way(bench: &Bench) -> Vec<WriteObstacle> {
    let session = bench.ours(&bench.source).await;
    find_obstacles(&session, &bench.tables, 1)
        .await
        .expect("listed")
}

async fn only_writer(bench: &Bench) -> LongWriter {
    let all = in_the_way(bench).await;
    let [WriteObstacle::Writer { writer, .. }] = all.as_slice() else {
        panic!("{all:?}")
    };
    writer.clone()
}

#[tokio::test]
async fn a_writer_is_named_by_its_statement_without_literals_and_only_he_is_ended() {
    let bench = Bench::new("longwriter", ITEM).await;
    let (writer, other) = (bench.source.session().await, bench.source.session().await);
    let id = pid(&writer).await;
    writer
        .batch_execute("begin; insert into public.item values (100, 7, 'secret')")
        .await
        .expect("open");
    other
        .batch_execute("begin; select from public.item")
        .await
        .expect("a reader");
    until("the writer is old enough", || async {
        !in_the_way(&bench).await.is_empty()
    })
    .await;
    let named = only_writer(&bench).await;
    assert_eq!(named.pid, id);
    assert_eq!(
        named.query,
        "begin; insert into public.item values (?, ?, ?)"
    );

    let session = bench.ours(&bench.source).await;
    let stranger = LongWriter {
        backend_start: "2001-01-01 00:00:00.000000".to_owned(),
        ..named.clone()
    };
    let gone = end_writer(&session, &bench.token, &stranger, true).await;
    assert!(
        !gone.expect("asked"),
        "the same pid of another time is left alone"
    );
    assert_eq!(only_writer(&bench).await, named);
    let ended = end_writer(&session, &bench.token, &named, false).await;
    assert!(
        ended.expect("asked"),
        "an idle transaction ends with its session"
    );
    until("he is gone", || async {
        in_the_way(&bench).await.is_empty()
    })
    .await;
    other
        .batch_execute("commit")
        .await
        .expect("the reader lives");
}

#[tokio::test]
async fn a_session_that_is_in_another_transaction_by_now_is_left_alone() {
    let bench = Bench::new("longpooled", ITEM).await;
    let writer = bench.source.session().await;
    let work = "begin; insert into public.item values (100, 1, 'x') on conflict do nothing";
    let named = async || {
        until("it is in the way", || async {
            !in_the_way(&bench).await.is_empty()
        })
        .await;
        only_writer(&bench).await
    };
    writer.batch_execute(work).await.expect("open");
    let before = named().await;
    writer.batch_execute("commit").await.expect("done");
    writer.batch_execute(work).await.expect("the next one");
    let now = named().await;
    assert_eq!(
        (now.pid, &now.backend_start),
        (before.pid, &before.backend_start)
    );
    assert!(!now.is_same(&before), "no wait has been reported yet");
    let session = bench.ours(&bench.source).await;
    for cancelled in [false, true] {
        let gone = end_writer(&session, &bench.token, &before, cancelled).await;
        assert!(!gone.expect("asked"));
    }
    writer.batch_execute("commit").await.expect("it lives");
}

#[tokio::test]
async fn a_statement_is_cancelled_before_its_session_is_ended() {
    let bench = Bench::new("longstatement", ITEM).await;
    let writer = bench.source.session().await;
    let id = pid(&writer).await;
    let busy = tokio::spawn(async move {
        let sleeping = writer
            .batch_execute("insert into public.item select 100, 1, pg_sleep(600)::text")
            .await;
        (sleeping, writer)
    });
    until("it is in the way", || async {
        !in_the_way(&bench).await.is_empty()
    })
    .await;
    let named = only_writer(&bench).await;
    assert_eq!(named.pid, id);
    let session = bench.ours(&bench.source).await;
    end_writer(&session, &bench.token, &named, false)
        .await
        .expect("cancelled");
    let (sleeping, writer) = busy.await.expect("no panic");
    let state = sleeping
        .expect_err("cancelled")
        .code()
        .map(|c| c.code().to_owned());
    assert_eq!(state.as_deref(), Some("57014"));
    writer
        .batch_execute("select 1")
        .await
        .expect("the session lives");
}

#[tokio::test]
async fn a_prepared_transaction_is_named_and_one_of_other_tables_is_not_in_the_way() {
    let bench = Bench::new("orphaned", ITEM).await;
    let session = bench.source.session().await;
    for sql in [
        "create table public.other (id int)",
        "begin; insert into public.other values (1); prepare transaction 'other'",
        "begin; insert into public.item values (100, 1, 'x'); prepare transaction 'the orphan'",
    ] {
        session.batch_execute(sql).await.expect("done");
    }
    let all = in_the_way(&bench).await;
    let [prepared @ WriteObstacle::Prepared { gid, .. }] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!(gid, "the orphan");
    let sentence = prepared.description();
    assert!(
        sentence.contains("rollback prepared 'the orphan'"),
        "{sentence}"
    );
    for gid in ["other", "the orphan"] {
        let sql = format!("rollback prepared '{gid}'");
        session.batch_execute(&sql).await.expect("ended");
    }
}
