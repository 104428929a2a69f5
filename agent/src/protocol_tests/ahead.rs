//! Rows that the stream has read again from the source and that are ahead of its position. A batch closes between two
//! such rows, and the stream reaches a park point without other commits.

use connect::Connected;
use plans::names::Direction;

use super::bench::{Bench, ITEM, pid, until_blocked};
use super::park::point;
use super::shard::{LIMIT, until};
use crate::shard::epoch;
use crate::stream::ApplyStream;

/// Creates a source with large TOASTed values, which an UPDATE of the key column does not send, and starts its stream.
async fn seeded(name: &str) -> (Bench, Connected, ApplyStream) {
    let bench = Bench::new(name, ITEM).await;
    let app = bench.source.session().await;
    let seed = "alter table public.item alter column v set storage external;
        insert into public.item select 1, g, repeat('x', 9000) from generate_series(1, 2) g";
    app.batch_execute(seed).await.expect("seeded");
    bench.capture(Direction::Forward).await;
    let stream = bench.stream(Direction::Forward).await;
    bench.drain(&stream).await.expect("drained");
    (bench, app, stream)
}

/// Updates a row so that it enters the moving keys.
async fn bring(app: &Connected, id: i64) {
    let bring = "update public.item set tenant_id = 150 where id = $1";
    assert_eq!(app.execute(bring, &[&id]).await.expect("brought"), 1);
}

/// Takes the migration's advisory lock, which blocks the writes of the agent on the source.
async fn keep_off(session: &Connected, bench: &Bench) -> Result<(), tokio_postgres::Error> {
    let key = epoch::lock_key(&bench.token.migration);
    let lock = format!("begin; select pg_advisory_xact_lock({key})");
    session.batch_execute(&lock).await
}

/// Waits until the stream has read a row on the source and waits for the lock to write its barrier there.
async fn until_read(bench: &Bench, observer: &Connected) {
    let read = "select 1 from pg_stat_activity where datname = current_database() \
                and application_name like $1 and wait_event_type = 'Lock'";
    let name = bench.token.migration.application_name("barrier/%");
    until("the barrier waits", || async {
        let row = observer.query_opt(read, &[&name]).await.expect("read");
        row.is_some()
    })
    .await;
}

/// Without this rule, a steady sequence of such rows would keep every batch open for the next row.
#[tokio::test]
async fn a_batch_closes_between_two_rows_that_are_ahead() {
    let (bench, app, stream) = seeded("between").await;
    let (first, next) = (bench.source.session().await, bench.source.session().await);
    keep_off(&first, &bench).await.expect("locked");
    bring(&app, 1).await;
    until_read(&bench, &app).await;
    let next_pid = pid(&next).await;
    let queued = keep_off(&next, &bench);
    let second_row = async {
        until_blocked(&app, next_pid).await;
        bring(&app, 2).await;
        first.batch_execute("commit").await.expect("let go");
    };
    // The barrier of the first row precedes the session that waits for the lock after it.
    let (locked, ()) = tokio::join!(queued, second_row);
    locked.expect("locked");
    until_read(&bench, &app).await;

    let there = bench.ours(&bench.target).await;
    assert_eq!(bench.rows(&there).await.len(), 1, "the first row is there");
    next.batch_execute("commit").await.expect("let go");
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
}

/// After the point, only the stream itself writes to the log.
#[tokio::test]
async fn a_row_that_is_ahead_leads_to_the_point_by_itself() {
    let (bench, app, stream) = seeded("by_itself").await;
    let held = stream.pause().await.expect("held");
    bring(&app, 1).await;
    let (at, source, _slot) = point(&bench, 0).await;
    let parked = tokio::time::timeout(LIMIT, held.park(at)).await;
    parked.expect("nobody else is waited for").expect("parked");
    let there = bench.ours(&bench.target).await;
    let rows = bench.rows(&there).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows, bench.rows(&source).await);
}
