//! A comparison reads both copies at one exact position while writes continue.

use plans::id::AttemptNo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect::Connected;
use plans::names::Direction;
use uuid::Uuid;

use super::bench::{Bench, ITEM, code};
use super::shard::{LIMIT, until};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ReplicationSession, SlotOptions};
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::snapshot;
use crate::stream::{ApplyStream, ParkAt, wait_for_marker};

const FORWARD: Direction = Direction::Forward;

/// Writes one row after the other until `stop` is set. Returns the number of acknowledged rows.
async fn write(bench: &Bench, lane: i64, commit: &str, stop: Arc<AtomicBool>) -> i64 {
    let session = bench.source.session().await;
    let commit = format!("set synchronous_commit = {commit}");
    session.batch_execute(&commit).await.expect("set");
    let mut id = 0;
    while !stop.load(Ordering::SeqCst) {
        id += 1;
        let insert = "insert into public.item values ($1, $2, 'x')";
        let written = session.execute(insert, &[&(100 + lane), &id]).await;
        written.expect("written");
    }
    id
}

/// Creates a slot. Returns its position, a session that sees exactly the commits before it, and the session that holds
/// its snapshot.
pub(super) async fn point(bench: &Bench, round: u32) -> (ParkAt, Connected, ReplicationSession) {
    let mut slot = ReplicationSession::open(&bench.source.dsn(), "test")
        .await
        .expect("opened");
    let options = SlotOptions {
        temporary: true,
        export: true,
        failover: false,
    };
    let name = format!("{}_{round}", bench.token.migration);
    let made = slot.create_slot(&name, options).await.expect("a slot");
    let session = bench.ours(&bench.source).await;
    let exported = made.snapshot.expect("a snapshot");
    snapshot::begin_with_snapshot(&session, &exported, "read only")
        .await
        .expect("imported");
    let at = ParkAt {
        before: made.consistent_point,
        snapshot: exported,
    };
    (at, session, slot)
}

/// Waits until the source has more rows than were compared before.
async fn until_more_than(bench: &Bench, compared: usize) {
    let session = bench.ours(&bench.source).await;
    until("writes go on", || async {
        bench.rows(&session).await.len() > compared
    })
    .await;
}

pub(super) async fn mark(bench: &Bench) {
    let session = bench.ours(&bench.source).await;
    let marker = Marker::new(&bench.token, AttemptNo(0), MarkerKind::Park);
    marker.emit(&session, &bench.token).await.expect("marked");
}

#[tokio::test]
async fn a_parked_stream_has_applied_exactly_what_the_snapshot_sees() {
    let bench = Bench::new("park", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writing = futures::future::join_all(
        [(1, "on"), (2, "on"), (3, "off"), (4, "off")]
            .map(|(lane, commit)| write(&bench, lane, commit, stop.clone())),
    );
    let comparing = async {
        let mut compared = 0;
        for round in 0..6 {
            until_more_than(&bench, compared).await;
            let held = stream.pause().await.expect("held");
            let (at, source, _slot) = point(&bench, round).await;
            let (parked, ()) = tokio::join!(held.park(at), mark(&bench));
            parked.expect("parked");
            let target = bench.ours(&bench.target).await;
            let there = bench.rows(&target).await;
            assert_eq!(bench.rows(&source).await, there, "round {round}");
            compared = there.len();
        }
        stop.store(true, Ordering::SeqCst);
    };
    let (written, ()) = tokio::join!(writing, comparing);
    bench.drain(&stream).await.expect("drained");
    let rows = i64::try_from(bench.assert_equal().await).expect("few");
    assert_eq!(rows, written.iter().sum::<i64>());
}

/// Rows that arrive without their large values between the hold and the position must be read as of the position.
#[tokio::test]
async fn a_parked_stream_has_no_row_that_is_ahead() {
    let bench = Bench::new("park_ahead", ITEM).await;
    let app = bench.source.session().await;
    let storage = "alter table public.item alter column v set storage external";
    app.batch_execute(storage).await.expect("altered");
    let seed = "insert into public.item select 1 + g % 2 * 110, g, repeat('x', 9000) from generate_series(1, 20) g";
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    app.batch_execute(seed).await.expect("seeded");
    let there_and_back = async |session: &Connected| {
        let go = "update public.item set tenant_id = 112 - tenant_id";
        session.batch_execute(go).await.expect("gone");
    };
    bench.drain(&stream).await.expect("drained");
    for round in 0..4 {
        there_and_back(&app).await;
        let held = stream.pause().await.expect("held");
        there_and_back(&app).await;
        let (at, source, _slot) = point(&bench, round).await;
        // Changes that commit after the position must not be visible in rows that are read before it.
        there_and_back(&app).await;
        let (parked, ()) = tokio::join!(held.park(at), mark(&bench));
        parked.expect("parked");
        let target = bench.ours(&bench.target).await;
        let here = bench.rows(&source).await;
        assert!(!here.is_empty());
        assert_eq!(here, bench.rows(&target).await, "round {round}");
    }
    bench.drain(&stream).await.expect("drained");
    bench.assert_equal().await;
}

/// Without the hold, the stream may have passed the position before it is known. It must not report that it is parked.
#[tokio::test]
async fn a_stream_that_is_past_the_point_says_so() {
    let bench = Bench::new("pastpoint", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let (at, _source, _slot) = point(&bench, 0).await;
    bench.drain(&stream).await.expect("applied beyond it");
    let held = stream.pause().await.expect("held");
    let (parked, ()) = tokio::join!(held.park(at), mark(&bench));
    assert_eq!(code(parked), "stream.passed");
    drop(held);
    bench.drain(&stream).await.expect("it goes on");
}

#[tokio::test]
async fn a_hold_that_is_given_up_lets_the_stream_go_on() {
    let bench = Bench::new("hold", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("it runs");
    let held = stream.pause().await.expect("held");
    let session = bench.ours(&bench.source).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Probe);
    marker.emit(&session, &bench.token).await.expect("marked");
    let read = "select pg_current_wal_flush_lsn()";
    let end: Lsn = session.query_one(read, &[]).await.expect("read").get(0);
    until("the marker was sent", || async {
        let read = "select coalesce(r.sent_lsn >= $2, false) from pg_stat_replication r \
                    join pg_replication_slots s on s.active_pid = r.pid where slot_name = $1";
        let slot = bench.token.migration.slot(FORWARD);
        let row = session.query_opt(read, &[&slot, &end]).await.expect("read");
        row.is_some_and(|row| row.get(0))
    })
    .await;
    assert!(
        !stream
            .observation()
            .applied_markers
            .contains_key(&marker.id)
    );
    drop(held);
    let arrived = tokio::time::timeout(LIMIT, wait_for_marker(stream.subscribe(), marker.id));
    arrived.await.expect("in time").expect("it goes on");
}

/// Ends the stream's session on the downstream shard, so that the stream restarts.
async fn restart(bench: &Bench, stream: &ApplyStream) {
    let session = bench.ours(&bench.target).await;
    let end = "select pg_terminate_backend(pid, 10000) from pg_stat_activity \
               where datname = current_database() and application_name like '%/apply/%'";
    until("the stream has a session", || async {
        session.query_opt(end, &[]).await.expect("read").is_some()
    })
    .await;
    bench
        .drain(stream)
        .await
        .expect("drained after the restart");
}

#[tokio::test]
async fn a_stream_that_is_to_stop_does_so_at_its_marker_even_after_a_restart() {
    let bench = Bench::new("stop_at", ITEM).await;
    bench.capture(FORWARD).await;
    let mut stream = bench.stream(FORWARD).await;
    let marker = Marker {
        id: Uuid::new_v4(),
        ..Marker::new(&bench.token, AttemptNo(1), MarkerKind::Sealed)
    };
    stream.stop_at(marker.id);
    restart(&bench, &stream).await;
    let app = bench.source.session().await;
    let insert = |id| format!("insert into public.item values (100, {id}, 'x')");
    app.batch_execute(&insert(1)).await.expect("before");
    let session = bench.ours(&bench.source).await;
    marker.emit(&session, &bench.token).await.expect("marked");
    app.batch_execute(&insert(2)).await.expect("after");
    let arrived = tokio::time::timeout(LIMIT, wait_for_marker(stream.subscribe(), marker.id));
    arrived.await.expect("in time").expect("reached");
    let ended = tokio::time::timeout(Duration::from_secs(60), stream.wait_until_ended());
    ended.await.expect("it ends by itself");
    let target = bench.ours(&bench.target).await;
    assert_eq!(bench.rows(&target).await.len(), 1, "exactly at the marker");
}
