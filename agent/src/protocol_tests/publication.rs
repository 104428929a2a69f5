//! A publication that was dropped, created again or altered is detected, whether or not the server reports it to the
//! stream.

use plans::names::Direction;

use super::bench::{Bench, ITEM, pid};
use super::shard::until;
use crate::error::StepError;
use crate::shard::publication;

const FORWARD: Direction = Direction::Forward;

async fn check(bench: &Bench) -> Result<(), StepError> {
    let session = bench.ours(&bench.source).await;
    publication::check(&session, &bench.token, FORWARD).await
}

async fn refused(bench: &Bench, done: &str) {
    let session = bench.source.session().await;
    session.batch_execute(done).await.expect("done");
    let error = check(bench).await.expect_err(done);
    assert_eq!(
        error.failure().map(|f| f.code.as_str()),
        Some("publication.changed"),
        "{done}"
    );
}

/// A write that has read the list of publications of its table looks up each of them afterwards.
#[tokio::test]
async fn a_publication_is_dropped_once_the_writers_of_its_tables_have_ended() {
    let bench = Bench::new("writers_end", ITEM).await;
    let name = bench.token.migration.publication(FORWARD);
    bench.capture(FORWARD).await;
    let (application, watcher) = (bench.source.session().await, bench.source.session().await);
    let write = "begin; insert into public.item values (1, 1, 'a')";
    application.batch_execute(write).await.expect("written");
    let ours = bench.ours(&bench.source).await;
    let dropping = pid(&ours).await;
    let dropped = publication::drop(&ours, Some(&bench.token), &name);
    let ended = async {
        let waits = "select query like '%virtualtransaction%' from pg_stat_activity where pid = $1";
        until("the drop waits for the writer", async || {
            let row = watcher.query_one(waits, &[&dropping]).await.expect("read");
            row.get(0)
        })
        .await;
        let there = "select exists (select from pg_publication where pubname = $1),
                            exists (select from pg_publication_rel)";
        let row = watcher.query_one(there, &[&name]).await.expect("read");
        assert_eq!((row.get(0), row.get(1)), (true, false));
        application
            .batch_execute("commit")
            .await
            .expect("committed");
    };
    let (dropped, ()) = tokio::join!(dropped, ended);
    dropped.expect("dropped");
    let left = "select count(*) from pg_publication";
    assert_eq!(
        watcher
            .query_one(left, &[])
            .await
            .expect("read")
            .get::<_, i64>(0),
        0
    );
}

#[tokio::test]
async fn a_publication_that_is_not_as_it_was_made_is_refused() {
    let bench = Bench::new("republished", ITEM).await;
    let name = bench.token.migration.publication(FORWARD);
    bench.capture(FORWARD).await;
    check(&bench).await.expect("as it was made");
    let table = "table public.item where (tenant_id between 100 and 199)";
    refused(&bench, &format!("drop publication {name}")).await;
    refused(&bench, &format!("create publication {name} for {table}")).await;

    let bench = Bench::new("altered", ITEM).await;
    let name = bench.token.migration.publication(FORWARD);
    bench.capture(FORWARD).await;
    let out_and_in = format!(
        "alter publication {name} drop table public.item; alter publication {name} add {table}"
    );
    refused(&bench, &out_and_in).await;

    let bench = Bench::new("altered_back", ITEM).await;
    let name = bench.token.migration.publication(FORWARD);
    bench.capture(FORWARD).await;
    let there_and_back = format!(
        "alter publication {name} set (publish = 'insert');
         alter publication {name} set (publish = 'insert, update, delete, truncate')"
    );
    refused(&bench, &there_and_back).await;

    let bench = Bench::new("schema_added", ITEM).await;
    let name = bench.token.migration.publication(FORWARD);
    bench.capture(FORWARD).await;
    let more = format!("alter publication {name} add tables in schema public");
    refused(&bench, &more).await;
}

/// Before PostgreSQL 18 the stream ends. Since PostgreSQL 18 it continues without the rows, and only the check of the
/// publication detects this.
#[tokio::test]
async fn a_publication_that_goes_meanwhile_loses_rows_only_where_it_is_found() {
    let bench = Bench::new("unpublished", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    let name = bench.token.migration.publication(FORWARD);
    let app = bench.source.session().await;
    let lost = format!("drop publication {name}; insert into public.item values (100, 1, 'lost')");
    app.batch_execute(&lost).await.expect("written");
    if bench.source.cluster.binaries().major() >= 18 {
        bench.drain(&stream).await.expect("drained");
        let there = bench.target.session().await;
        let read = "select count(*) from public.item";
        let rows: i64 = there.query_one(read, &[]).await.expect("read").get(0);
        assert_eq!(rows, 0);
    } else {
        let ended = bench.drain(&stream).await.expect_err("the stream ends");
        assert_eq!(
            ended.failure().map(|f| f.code.as_str()),
            Some("publication.changed")
        );
    }
    check(&bench).await.expect_err("gone");
}

#[tokio::test]
async fn a_publication_gives_its_tables_up_before_it_goes() {
    let bench = Bench::new("given_up", ITEM).await;
    let name = bench.token.migration.publication(FORWARD);
    bench.capture(FORWARD).await;
    let (ours, other) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    let held = "begin; lock table public.item in share update exclusive mode";
    other.batch_execute(held).await.expect("held");
    let us = pid(&ours).await;
    let dropped = publication::drop(&ours, Some(&bench.token), &name);
    let letting_go = async {
        until("the table is to be taken out", || async {
            let waits = "select exists (select from pg_locks where pid = $1 and not granted \
                         and relation = 'public.item'::regclass)";
            let row = other.query_one(waits, &[&us]).await;
            row.expect("read").get(0)
        })
        .await;
        other.batch_execute("rollback").await.expect("let go");
    };
    let (dropped, ()) = tokio::join!(dropped, letting_go);
    dropped.expect("dropped");
    let left = "select count(*) from pg_publication";
    let left = other.query_one(left, &[]).await.expect("counted");
    assert_eq!(left.get::<_, i64>(0), 0);
}
