//! Fence, wait-out and marker: simpler sequences of these steps lose writes (E7, C3 to C5).

use plans::id::AttemptNo;
use std::collections::BTreeSet;

use connect::Connected;
use plans::names::Direction;
use tokio::time::Instant;

use super::bench::{Bench, ITEM, state, system};
use super::frozen::FrozenProcess;
use super::shard::{LIMIT, until};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::Change;
use crate::postgres::replication::{ChangeStream, StreamEvent, StreamStart};
use crate::postgres::wait_out::{wait_out, writers};
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::register::{self, RegisterSetting};
use crate::stream::wait_for_marker;

const FORWARD: Direction = Direction::Forward;

/// The record of an application: the ids of rows whose commit was acknowledged.
#[derive(Default)]
pub(super) struct Ledger(pub(super) BTreeSet<i64>);

impl Ledger {
    /// Returns the acknowledged writes that a copy does not have.
    pub(super) async fn lost(&self, copy: &Connected) -> Vec<i64> {
        let read = "select id from public.item where tenant_id between 100 and 199";
        let rows = copy.query(read, &[]).await.expect("rows");
        let there: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        self.0.difference(&there).copied().collect()
    }
}

/// A writer that has read "open" and has not committed yet.
async fn open_writer(session: &Connected, id: i64) {
    let insert = format!("begin; insert into public.item values (100, {id}, 'x')");
    session.batch_execute(&insert).await.expect("open");
}

/// C3: fences the source. Checks that it refuses a later write.
async fn fence(bench: &Bench, ours: &Connected) {
    register::begin_and_set(
        ours,
        &bench.token,
        AttemptNo(1),
        RegisterSetting::FencedFor(50_000),
    )
    .await
    .expect("fenced");
    let late = bench.source.session().await;
    let insert = "insert into public.item values (100, 99, 'late')";
    assert_eq!(state(late.batch_execute(insert).await), "SM001");
    // A server reports an error before it releases the locks of the failed transaction. They are released when it
    // answers the next query.
    late.batch_execute("select").await.expect("answered");
}

/// C5: the stream ends at the marker, as in a cutover. Then the target is opened.
async fn drained_to_marker(bench: &Bench, ours: &Connected) {
    let mut stream = bench.stream(FORWARD).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Sealed);
    stream.stop_at(marker.id);
    marker.emit(ours, &bench.token).await.expect("marked");
    let arrived = tokio::time::timeout(LIMIT, wait_for_marker(stream.subscribe(), marker.id));
    arrived.await.expect("in time").expect("reached");
    stream.wait_until_ended().await;
}

#[tokio::test]
async fn a_writer_from_before_the_fence_is_kept_by_the_wait_out() {
    let bench = Bench::new("waited", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.capture(FORWARD).await;
    let (ours, writer) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    open_writer(&writer, 1).await;
    fence(&bench, &ours).await;

    let mut ledger = Ledger::default();
    let waiting = wait_out(&ours, &bench.tables, Instant::now() + LIMIT);
    let committing = async {
        writer.batch_execute("commit").await.expect("acknowledged");
        ledger.0.insert(1);
    };
    let (waited, ()) = tokio::join!(waiting, committing);
    waited.expect("waited out");
    drained_to_marker(&bench, &ours).await;
    let target = bench.ours(&bench.target).await;
    assert!(ledger.lost(&target).await.is_empty());
}

#[tokio::test]
pub(super) async fn control_without_the_wait_out_an_acknowledged_write_is_lost() {
    let bench = Bench::new("unwaited", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.capture(FORWARD).await;
    let (ours, writer) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    open_writer(&writer, 1).await;
    fence(&bench, &ours).await;
    let there = writers(&ours, &bench.tables).await.expect("listed");
    assert_eq!(there.len(), 1, "the wait-out would see it");

    drained_to_marker(&bench, &ours).await;
    let mut ledger = Ledger::default();
    writer.batch_execute("commit").await.expect("acknowledged");
    ledger.0.insert(1);
    let target = bench.ours(&bench.target).await;
    assert_eq!(ledger.lost(&target).await, [1], "and the checker says so");
}

/// Returns the ids of the moving rows that a stream sends of transactions that commit before a position.
pub(super) async fn committed_before(bench: &Bench, end: Lsn, marker: &Marker) -> BTreeSet<i64> {
    let start = StreamStart {
        slot: bench.token.migration.slot(FORWARD),
        publication: bench.token.migration.publication(FORWARD),
        start: start_of(bench).await,
        system: system(&bench.source).await,
        format: plans::table::Format::Text,
        trims: false,
    };
    let mut stream = ChangeStream::open(&bench.source.dsn(), "test", &start)
        .await
        .expect("streaming");
    let (mut commits_at, mut ids) = (Lsn::ZERO, BTreeSet::new());
    loop {
        let next = tokio::time::timeout(LIMIT, stream.next()).await;
        let StreamEvent::Change { change, .. } = next.expect("in time").expect("an event") else {
            continue;
        };
        if let Change::Begin(begin) = &change {
            commits_at = begin.final_lsn;
        }
        if let (Change::Insert { new, .. }, true) = (&change, commits_at < end) {
            let crate::postgres::pgoutput::TupleValue::Text(id) = &new.0[1] else {
                panic!("{new:?}")
            };
            let id = String::from_utf8_lossy(id).parse();
            ids.insert(id.expect("a number"));
        }
        if let Change::Message(message) = &change {
            let found = Marker::parse(&message.prefix, &message.content);
            if found.is_some_and(|found| found.id == marker.id) {
                return ids;
            }
        }
    }
}

async fn start_of(bench: &Bench) -> Lsn {
    let session = bench.ours(&bench.source).await;
    let read = "select confirmed_flush_lsn from pg_replication_slots where slot_name = $1";
    let slot = bench.token.migration.slot(FORWARD);
    session
        .query_one(read, &[&slot])
        .await
        .expect("a slot")
        .get(0)
}

/// A drain to a position loses writes unless the server writes its log in the same moment. The WAL writer is stopped here.
#[tokio::test]
pub(super) async fn a_marker_comes_after_every_acknowledged_commit_and_a_position_does_not() {
    let bench = Bench::slow_log("position", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.capture(FORWARD).await;
    let ours = bench.ours(&bench.source).await;
    let mut sessions = Vec::new();
    for id in 0..20 {
        let writer = bench.source.session().await;
        let set = "set synchronous_commit = off";
        writer.batch_execute(set).await.expect("set");
        open_writer(&writer, id).await;
        sessions.push(writer);
    }
    fence(&bench, &ours).await;
    let _no_flush = FrozenProcess::wal_writer_of(&bench.source).await;
    let mut ledger = Ledger::default();
    for (id, writer) in (0..).zip(&sessions) {
        writer.batch_execute("commit").await.expect("acknowledged");
        ledger.0.insert(id);
    }
    wait_out(&ours, &bench.tables, Instant::now() + LIMIT)
        .await
        .expect("everybody has ended");
    let read = "select pg_current_wal_lsn()";
    let naive: Lsn = ours.query_one(read, &[]).await.expect("a position").get(0);
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Fenced);
    marker.emit(&ours, &bench.token).await.expect("marked");

    let to_marker = committed_before(&bench, Lsn(u64::MAX), &marker).await;
    assert_eq!(to_marker, ledger.0);
    let to_position = committed_before(&bench, naive, &marker).await;
    assert_ne!(
        to_position, ledger.0,
        "control: a drain to the position lacks acknowledged writes"
    );
}

/// Another session has locked the progress row, so the stream cannot commit. A marker with no row before it must be
/// reported without a commit, and a marker after a row only after the commit.
#[tokio::test]
async fn a_marker_behind_nothing_needs_no_commit_and_one_behind_a_row_does() {
    let bench = Bench::new("behind_nothing", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    // The stream reads its progress row with a lock. It must have finished this before the test locks the row.
    bench.drain(&stream).await.expect("live");
    let _hurried = stream.commit_promptly();
    let (ours, app) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    let (lock, observer) = (bench.target.session().await, bench.target.session().await);
    let hold = "begin; select from shardwright.progress for update";
    lock.batch_execute(hold).await.expect("locked");
    let arrived = tokio::time::timeout(LIMIT, bench.drain(&stream)).await;
    assert_eq!(arrived.expect("in time").expect("told"), 0);

    let insert = "insert into public.item values (100, 1, 'x')";
    app.batch_execute(insert).await.expect("written");
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Probe);
    marker.emit(&ours, &bench.token).await.expect("marked");
    until("the stream waits for its progress", || async {
        let waits = "select exists (select from pg_stat_activity where wait_event_type = 'Lock' \
                     and query like '%shardwright.progress%' and datname = current_database())";
        observer.query_one(waits, &[]).await.expect("read").get(0)
    })
    .await;
    assert!(
        !stream
            .subscribe()
            .borrow()
            .applied_markers
            .contains_key(&marker.id)
    );
    lock.batch_execute("commit").await.expect("let go");
    let arrived = tokio::time::timeout(LIMIT, wait_for_marker(stream.subscribe(), marker.id));
    assert_eq!(arrived.await.expect("in time").expect("told"), 1);
    assert!(bench.assert_equal().await >= 1);
}
