//! The slot is confirmed only up to what the standbys of the downstream shard have flushed. So a promoted standby lacks
//! no change that the slot no longer sends (I3).

use std::sync::Arc;
use std::time::Duration;

use cluster::{Cluster, Options, Shutdown};
use connect::Connected;
use plans::id::AttemptNo;
use plans::names::Direction;
use tokio::time::Instant;

use super::apply::positions;
use super::bench::{Bench, ITEM};
use super::cutover::{Ledger, committed_before};
use super::shard::{Shard, until};
use crate::postgres::lsn::Lsn;
use crate::postgres::standbys::{StandbySlots, slowest_standby, wait_until_flushed};
use crate::shard::apply_progress;
use crate::shard::marker::{Marker, MarkerKind};
use crate::stream::ApplyStream;

const FORWARD: Direction = Direction::Forward;
const LIMIT: Duration = Duration::from_secs(30);

/// Creates shards on servers of their own, the target with a standby, and starts the stream. Returns `None` if the
/// servers of the test matrix do not include `pg_basebackup`.
async fn with_standby(name: &'static str) -> Option<(Bench, Shard, ApplyStream)> {
    let bench = Bench::each_alone(name, ITEM).await;
    let binaries = bench.target.cluster.binaries();
    if !binaries.path("pg_basebackup").is_file() {
        return None;
    }
    let (bench, standby) = begin_with_standby(bench, name).await;
    let stream = bench.stream(FORWARD).await;
    apply_row(&bench, &stream, 1).await;
    until_confirmed(&bench).await;
    Some((bench, standby, stream))
}

/// Opens the capture, and returns the standby of the target when it streams.
async fn begin_with_standby(bench: Bench, name: &'static str) -> (Bench, Shard) {
    bench.capture(FORWARD).await;
    let standby = bench.target.standby(name).await;
    let target = bench.target.session().await;
    until("the standby streams", || async {
        count(&target, "pg_stat_replication where flush_lsn is not null").await == 1
    })
    .await;
    (bench, standby)
}

/// Waits until the slot is confirmed up to the present progress.
async fn until_confirmed(bench: &Bench) {
    let (_, applied) = positions(bench).await;
    until("the slot follows", || async {
        positions(bench).await.0 >= applied
    })
    .await;
}

async fn count(session: &Connected, from: &str) -> i64 {
    let read = format!("select count(*) from {from}");
    session.query_one(&read, &[]).await.expect("read").get(0)
}

/// Commits a row on the source, and waits until the stream has applied it and a marker behind it.
async fn apply_row(bench: &Bench, stream: &ApplyStream, id: i32) {
    let app = bench.source.session().await;
    let insert = format!("insert into public.item values (100, {id}, 'x')");
    app.batch_execute(&insert).await.expect("inserted");
    bench.drain(stream).await.expect("drained");
}

/// Waits until the agent has probed the target's standbys and reported a position to the source after that.
pub(super) async fn until_probed_and_reported(bench: &Bench) {
    let (source, target) = (bench.source.session().await, bench.target.session().await);
    until_after(
        &target,
        "pg_stat_activity where application_name like '%standbys%' and query_start",
    )
    .await;
    until_after(&source, "pg_stat_replication where reply_time").await;
}

/// Waits until a row has a time after now.
async fn until_after(session: &Connected, from_time: &str) {
    let now = "select clock_timestamp()::text";
    let now: String = session.query_one(now, &[]).await.expect("read").get(0);
    let later = format!("{from_time} > '{now}'");
    until("it happens once more", || async {
        count(session, &later).await > 0
    })
    .await;
}

async fn progress_on(bench: &Bench, shard: &Shard) -> Lsn {
    let session = shard.session().await;
    let progress = apply_progress::read(&session, &bench.token, FORWARD).await;
    progress.expect("read").expect("a row").lsn
}

#[tokio::test]
async fn the_slot_waits_for_a_standby_of_the_target_and_the_stream_does_not() {
    let Some((bench, standby, stream)) = with_standby("confirm_waits").await else {
        return;
    };
    let (_, flushed) = positions(&bench).await;
    standby.cluster.freeze().expect("frozen");
    apply_row(&bench, &stream, 2).await;
    let (_, applied) = positions(&bench).await;
    assert!(applied > flushed, "the progress does not wait");
    until_probed_and_reported(&bench).await;
    let (confirmed, _) = positions(&bench).await;
    assert!(
        confirmed <= flushed,
        "{confirmed} was confirmed, the standby has {flushed} of {applied}"
    );
    standby.cluster.thaw();
    until("the slot follows", || async {
        positions(&bench).await.0 >= applied
    })
    .await;
    assert!(progress_on(&bench, &standby).await >= applied);
}

/// After the flip nothing sends the moved rows again.
#[tokio::test]
async fn a_cutover_waits_until_the_standbys_of_the_target_have_the_moved_rows() {
    let Some((bench, standby, stream)) = with_standby("flip_waits").await else {
        return;
    };
    let target = bench.ours(&bench.target).await;
    let flushed = async |ignored: &[String], limit| {
        let deadline = Instant::now() + limit;
        let waited = wait_until_flushed(&target, ignored, deadline).await;
        waited.expect("read")
    };
    assert_eq!(flushed(&[], LIMIT).await, None);
    standby.cluster.freeze().expect("frozen");
    apply_row(&bench, &stream, 2).await;
    let behind = flushed(&[], Duration::ZERO)
        .await
        .expect("it lacks the row");
    assert!(behind.contains("bytes of log behind"), "{behind}");
    let names = "select array_agg(application_name) from pg_stat_replication";
    let names: Vec<String> = target.query_one(names, &[]).await.expect("read").get(0);
    assert_eq!(flushed(&names, Duration::ZERO).await, None);
    let thawed = async { standby.cluster.thaw() };
    let (waited, ()) = tokio::join!(flushed(&[], LIMIT), thawed);
    assert_eq!(waited, None);
}

#[tokio::test]
async fn a_promoted_standby_of_the_target_gets_what_it_lacks_from_the_slot() {
    let Some((mut bench, standby, stream)) = with_standby("confirm_promoted").await else {
        return;
    };
    standby.cluster.freeze().expect("frozen");
    apply_row(&bench, &stream, 2).await;
    until_probed_and_reported(&bench).await;
    let (_, applied) = positions(&bench).await;
    stream.stop().await;
    promote(&bench, &standby).await;
    let known = progress_on(&bench, &standby).await;
    assert!(known < applied, "the standby lacks changes");
    bench.target = standby;
    let (confirmed, _) = positions(&bench).await;
    assert!(
        confirmed <= known,
        "{confirmed} was confirmed, the promoted standby has {known}"
    );
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
}

/// The standby dies before it has received the changes, and is promoted after a restart.
async fn promote(bench: &Bench, standby: &Shard) {
    for cluster in [&bench.target.cluster, &standby.cluster] {
        cluster.kill().expect("killed");
    }
    let promoted: Arc<Cluster> = standby.cluster.clone();
    tokio::task::spawn_blocking(move || {
        promoted.start().expect("started");
        promoted.promote().expect("promoted");
    })
    .await
    .expect("promoted");
}

/// The slot is confirmed up to what is applied, without regard to the standby.
#[tokio::test]
pub(super) async fn control_a_slot_that_does_not_wait_for_the_standby_loses_an_acknowledged_write()
{
    let name = "confirm_naive";
    let bench = Bench::each_alone(name, ITEM).await;
    if !bench
        .target
        .cluster
        .binaries()
        .path("pg_basebackup")
        .is_file()
    {
        return;
    }
    let (mut bench, standby) = begin_with_standby(bench, name).await;
    let mut spec = bench.spec(FORWARD).await;
    let target = bench.target.session().await;
    let names = "select array_agg(application_name) from pg_stat_replication";
    let names = target.query_one(names, &[]).await.expect("read").get(0);
    spec.ignored_standbys = names;
    let stream = ApplyStream::start(spec, false, true);
    apply_row(&bench, &stream, 1).await;
    until_confirmed(&bench).await;
    standby.cluster.freeze().expect("frozen");
    apply_row(&bench, &stream, 2).await;
    let ledger = Ledger([1, 2].into());
    until_confirmed(&bench).await;
    stream.stop().await;
    promote(&bench, &standby).await;
    bench.target = standby;
    let ours = bench.ours(&bench.source).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Probe);
    marker.emit(&ours, &bench.token).await.expect("marked");
    let sent = committed_before(&bench, Lsn(u64::MAX), &marker).await;
    assert!(sent.is_empty(), "the slot still sends {sent:?}");
    let target = bench.ours(&bench.target).await;
    assert_eq!(ledger.lost(&target).await, [2], "and the checker says so");
}

#[tokio::test]
async fn a_standby_that_disconnects_counts_by_its_slot_once_it_was_seen() {
    let shard = Shard::with_settings("confirm_slots", &[]).await;
    if !shard.cluster.binaries().path("pg_basebackup").is_file() {
        return;
    }
    let session = shard.session().await;
    let (slots, fresh) = (StandbySlots::default(), StandbySlots::default());
    let slowest = async |ignored: &[String], slots: &StandbySlots| {
        let standby = slowest_standby(&session, ignored, slots).await;
        standby.expect("read").map(|standby| standby.name)
    };
    assert_eq!(slowest(&[], &slots).await, None);
    let primary = shard.cluster.clone();
    let launch = move || {
        let options = Options::temporary("confirm-slots")
            .setting("fsync", "off")
            .setting("max_replication_slots", "400")
            .setting("max_wal_senders", "100");
        let standby = primary.standby_with_slot("second", "second_slot", options);
        let standby = standby.expect("copied");
        standby.start().expect("started");
        Arc::new(standby)
    };
    let standby = tokio::task::spawn_blocking(launch).await.expect("launched");
    until("it counts while it streams", || async {
        slowest(&[], &slots).await.as_deref() == Some("second")
    })
    .await;
    assert_eq!(slowest(&["second".to_owned()], &slots).await, None);
    let stopped = standby.clone();
    tokio::task::spawn_blocking(move || stopped.stop(Shutdown::Fast).expect("stopped"))
        .await
        .expect("stopped");
    until("it counts by its slot", || async {
        slowest(&[], &slots).await.as_deref() == Some("second_slot")
    })
    .await;
    assert_eq!(slowest(&["second_slot".to_owned()], &slots).await, None);
    assert_eq!(slowest(&[], &fresh).await, None);
}
