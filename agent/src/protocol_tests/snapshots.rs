//! Conditions that a snapshot must fulfil so that the copied rows and the stream together contain each change once (G1,
//! G2, E1, E21).

use plans::id::AttemptNo;
use std::sync::Arc;

use cluster::Cluster;
use connect::Connected;
use plans::names::Direction;

use super::apply::halted;
use super::bench::{Bench, ITEM};
use super::cutover::committed_before;
use super::frozen::FrozenProcess;
use super::shard::until;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ReplicationSession, SlotOptions};
use crate::postgres::visibility::TxSnapshot;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::snapshot;

const FORWARD: Direction = Direction::Forward;

async fn text<T: for<'a> tokio_postgres::types::FromSql<'a>>(session: &Connected, sql: &str) -> T {
    session.query_one(sql, &[]).await.expect(sql).get(0)
}

async fn current(session: &Connected) -> TxSnapshot {
    let read = text::<String>(session, "select pg_current_snapshot()::text").await;
    read.parse().expect("a snapshot")
}

pub(super) async fn server_waits_for(session: &Connected, standbys: &str) {
    let set = format!("alter system set synchronous_standby_names = '{standbys}'");
    session.batch_execute(&set).await.expect("set");
    text::<bool>(session, "select pg_reload_conf()").await;
    let show = "select setting from pg_settings where name = 'synchronous_standby_names'";
    until("the setting is in force", || async {
        text::<String>(session, show).await == standbys
    })
    .await;
    // Commits wait when the checkpointer has read the setting, which it does before the second checkpoint at the
    // latest.
    for _ in 0..2 {
        session.batch_execute("checkpoint").await.expect("written");
    }
}

/// A commit that is in the log and waits for a standby, so that no session sees it yet.
struct Unseen {
    commit: tokio::task::JoinHandle<Connected>,
}

impl Unseen {
    async fn insert(bench: &Bench, session: &Connected, id: i64) -> Self {
        server_waits_for(session, "nobody").await;
        let writer = bench.source.session().await;
        let commit = tokio::spawn(async move {
            let insert = format!("insert into public.item values (100, {id}, 'x')");
            writer.batch_execute(&insert).await.expect("acknowledged");
            writer
        });
        let waiting = "select count(*) = 1 from pg_stat_activity where wait_event = 'SyncRep'";
        until("the commit waits for its standby", || async {
            text::<bool>(session, waiting).await
        })
        .await;
        Self { commit }
    }

    async fn acknowledged(self, session: &Connected) {
        server_waits_for(session, "").await;
        self.commit.await.expect("the writer");
    }
}

/// Opens a transaction with an id that stays open. Returns the session and the id.
async fn open(bench: &Bench, id: i64) -> (Connected, String) {
    let session = bench.source.session().await;
    let write = format!("begin; insert into public.item values (100, {id}, 'open')");
    session.batch_execute(&write).await.expect("open");
    let xid = text(&session, "select pg_current_xact_id()::xid::text").await;
    (session, xid)
}

/// Waits until a session waits for the end of transaction `xid`. This is the creation of a slot.
async fn until_waited_for(session: &Connected, xid: &str) {
    let waits = format!(
        "select exists (select from pg_locks where locktype = 'transactionid' and not granted
                        and transactionid::text = '{xid}')"
    );
    until("the slot waits for a transaction", || async {
        text::<bool>(session, &waits).await
    })
    .await;
}

/// Creates the slot. Returns it with its exported snapshot.
async fn slot_with_snapshot(bench: &Bench) -> (ReplicationSession, TxSnapshot) {
    let mut replication = ReplicationSession::open(&bench.source.dsn(), "test")
        .await
        .expect("opened");
    let options = SlotOptions {
        temporary: false,
        export: true,
        failover: false,
    };
    let slot = bench.token.migration.slot(FORWARD);
    let made = replication
        .create_slot(&slot, options)
        .await
        .expect("a slot");
    let importer = bench.source.session().await;
    let exported = made.snapshot.expect("exported");
    snapshot::begin_with_snapshot(&importer, &exported, "read only")
        .await
        .expect("imported");
    let first = current(&importer).await;
    (replication, first)
}

async fn count(session: &Connected) -> i64 {
    text(session, "select count(*) from public.item").await
}

#[tokio::test]
pub(super) async fn control_without_the_gate_a_commit_is_neither_copied_nor_sent() {
    let bench = Bench::slow_log("gate", ITEM).await;
    let session = bench.source.session().await;
    let publication = bench.token.migration.publication(FORWARD);
    let publish = format!("create publication {publication} for table public.item");
    session.batch_execute(&publish).await.expect("published");
    // Two transactions delay the creation of the slot, one after the other. The commit is written after the slot has
    // read the list of running transactions for the second time. The slot therefore does not wait for it, and counts it
    // as committed.
    let (one, first_xid) = open(&bench, 11).await;
    let making = slot_with_snapshot(&bench);
    let schedule = async {
        until_waited_for(&session, &first_xid).await;
        let (two, second_xid) = open(&bench, 12).await;
        one.batch_execute("rollback").await.expect("ended");
        until_waited_for(&session, &second_xid).await;
        let unseen = Unseen::insert(&bench, &session, 1).await;
        two.batch_execute("rollback").await.expect("ended");
        unseen
    };
    let ((_slot, first), unseen) = tokio::join!(making, schedule);
    let naive = current(&session).await;
    assert_eq!(count(&session).await, 0, "a copy made now lacks the row");
    assert!(!naive.dominates(&first), "and the gate says so");
    unseen.acknowledged(&session).await;
    assert!(current(&session).await.dominates(&first), "it opens later");

    let ours = bench.ours(&bench.source).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Probe);
    marker.emit(&ours, &bench.token).await.expect("marked");
    let sent = committed_before(&bench, Lsn(u64::MAX), &marker).await;
    assert!(sent.is_empty(), "control: the slot does not send it either");
}

#[tokio::test]
pub(super) async fn control_a_filter_by_position_drops_a_commit_that_the_copy_lacks() {
    let bench = Bench::slow_log("by_position", ITEM).await;
    bench.capture(FORWARD).await;
    let session = bench.source.session().await;
    let unseen = Unseen::insert(&bench, &session, 1).await;
    let snapshot = current(&session).await;
    assert_eq!(count(&session).await, 0, "a copy made now lacks the row");
    let position: Lsn = text(&session, "select pg_current_wal_lsn()").await;
    unseen.acknowledged(&session).await;
    let ours = bench.ours(&bench.source).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Probe);
    marker.emit(&ours, &bench.token).await.expect("marked");
    let dropped = committed_before(&bench, position, &marker).await;
    assert!(dropped.contains(&1), "control: it lies before the position");
    let xid: String = text(&session, "select xmin::text from public.item").await;
    let xid = xid.parse().expect("an id");
    assert!(
        !snapshot.sees(snapshot.widen(xid)),
        "by its id it is applied"
    );
}

/// Commits rows asynchronously and crashes the source after a snapshot that sees them. Returns the snapshot, and what
/// remains after the crash.
async fn crash_behind_a_snapshot(name: &str, barrier: bool) -> (TxSnapshot, i64, u32) {
    let bench = Bench::slow_log(name, ITEM).await;
    let reader = bench.ours(&bench.source).await;
    let writer = bench.source.session().await;
    let _no_flush = FrozenProcess::wal_writer_of(&bench.source).await;
    let set = "set synchronous_commit = off";
    writer.batch_execute(set).await.expect("set");
    for id in 0..5 {
        let insert = format!("insert into public.item values (100, {id}, 'x')");
        writer.batch_execute(&insert).await.expect("acknowledged");
    }
    let snapshot = current(&reader).await;
    assert_eq!(count(&reader).await, 5, "a copy made now has them");
    if barrier {
        let marker = Marker::new(&bench.token, AttemptNo(0), MarkerKind::Barrier);
        marker.emit(&reader, &bench.token).await.expect("a barrier");
    }
    crash(bench.source.cluster.clone()).await;
    let session = bench.ours(&bench.source).await;
    let left = count(&session).await;
    let new = "insert into public.item values (100, 99, 'new') returning xmin::text";
    let xid: String = text(&session, new).await;
    (snapshot, left, xid.parse().expect("an id"))
}

async fn crash(cluster: Arc<Cluster>) {
    let crash = move || {
        cluster.kill().expect("killed");
        cluster.start().expect("recovered");
    };
    tokio::task::spawn_blocking(crash).await.expect("crashed");
}

#[tokio::test]
async fn behind_a_barrier_a_crash_takes_nothing_back_that_the_snapshot_saw() {
    let (snapshot, left, new) = crash_behind_a_snapshot("barrier", true).await;
    assert_eq!(left, 5);
    assert!(!snapshot.sees(snapshot.widen(new)));
}

#[tokio::test]
pub(super) async fn control_without_the_barrier_a_crash_makes_phantoms_and_hides_new_commits() {
    let (snapshot, left, new) = crash_behind_a_snapshot("no_barrier", false).await;
    assert!(left < 5, "control: {left} of the 5 copied rows are left");
    assert!(
        snapshot.sees(snapshot.widen(new)),
        "control: a new commit has an id that the snapshot has judged"
    );
}

#[tokio::test]
pub(super) async fn control_changes_applied_asynchronously_and_confirmed_are_lost_in_a_crash() {
    let bench = Bench::apart("early", ITEM).await;
    let there = bench.ours(&bench.target).await;
    let slow = "alter system set wal_writer_delay = '10s'";
    there.batch_execute(slow).await.expect("set");
    text::<bool>(&there, "select pg_reload_conf()").await;
    let delay = "select setting = '10000' from pg_settings where name = 'wal_writer_delay'";
    until("the setting is in force", || async {
        text::<bool>(&there, delay).await
    })
    .await;
    let _no_flush = FrozenProcess::wal_writer_of(&bench.target).await;
    bench.capture(FORWARD).await;
    let here = bench.source.session().await;
    let insert = "insert into public.item values (100, 1, 'x')";
    here.batch_execute(insert).await.expect("acknowledged");
    let end: Lsn = text(&here, "select pg_current_wal_lsn()").await;

    let set = "set synchronous_commit = off";
    there.batch_execute(set).await.expect("set");
    epoch::begin(&there, &bench.token).await.expect("proved");
    there.batch_execute(insert).await.expect("applied");
    let applied = ApplyProgress {
        lsn: end,
        opened: true,
        transactions: 1,
        changes: 1,
    };
    apply_progress::write(&there, &bench.token, FORWARD, applied)
        .await
        .expect("written");
    epoch::commit(&there, "applying").await.expect("committed");
    let slot = bench.token.migration.slot(FORWARD);
    let confirm = format!("select pg_replication_slot_advance('{slot}', '{end}')::text");
    text::<String>(&here, &confirm).await;
    crash(bench.target.cluster.clone()).await;

    let there = bench.ours(&bench.target).await;
    assert_eq!(count(&there).await, 0, "control: the change is gone");
    let stream = bench.stream(FORWARD).await;
    assert_eq!(
        halted(&stream).await.0,
        "slot.gap",
        "and the gap is noticed"
    );
}
