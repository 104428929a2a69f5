//! Synchronous dual-write (R22): an acknowledged write is durable on both shards, and no write waits for the agent
//! longer than the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plans::names::Direction;
use plans::wire::DualWriteState;

use super::bench::{Bench, ITEM};
use super::shard::{Shard as Database, until};
use crate::postgres::replication::{ReplicationSession, SlotOptions};
use crate::stream::ApplyStream;
use crate::stream::dual_write::{DualWrite, STANDBY_ROLE, run_watchdog};

mod process;
mod standby_names;
use process::{AgentProcess, program};

const FORWARD: Direction = Direction::Forward;
/// A time limit that is not reached if nothing fails.
const FAR: Duration = Duration::from_secs(50);
/// A time limit that is reached soon if something fails.
const NEAR: Duration = Duration::from_secs(1);
/// The time that probes, locks and reloads may take in addition to the limit on a busy machine. Without the limit the
/// writes would wait much longer.
const SLACK: Duration = Duration::from_secs(30);

/// Starts a stream for which commits on its upstream shard wait.
async fn synchronous(bench: &Bench, direction: Direction, limit: Duration) -> ApplyStream {
    let mut spec = bench.spec(direction).await;
    spec.dual_write = Some(DualWrite {
        limit,
        watchdog: program("watchdog_process"),
    });
    let stream = ApplyStream::start(spec, false, true);
    until_synchronous(bench, direction, &stream).await;
    stream
}

/// A write that the server decodes and that changes no row.
const WRITE: &str = "select pg_logical_emit_message(true, 'test', 'on')";

/// Waits until commits wait for both shards. It writes in the meantime: on an idle server, the walsender learns that
/// the stream has caught up only when the server logs the running transactions, every 15 s.
async fn until_synchronous(bench: &Bench, direction: Direction, stream: &ApplyStream) {
    let upstream = bench.ends(direction).0.session().await;
    until("commits wait for both shards", || async {
        upstream.batch_execute(WRITE).await.expect("written");
        state(stream) == DualWriteState::Synchronous
    })
    .await;
}

async fn until_degraded(stream: &ApplyStream) -> String {
    until("commits do not wait", || async { why(stream).is_some() }).await;
    why(stream).unwrap_or_default()
}

fn why(stream: &ApplyStream) -> Option<String> {
    match state(stream) {
        DualWriteState::Degraded { why, .. } => Some(why),
        DualWriteState::Asynchronous | DualWriteState::Synchronous => None,
    }
}

fn state(stream: &ApplyStream) -> DualWriteState {
    stream.observation().status.dual_write
}

async fn setting(database: &Database) -> String {
    let session = database.session().await;
    let read = "select current_setting('synchronous_standby_names')";
    let row = session.query_one(read, &[]).await.expect("read");
    row.get(0)
}

/// Runs concurrent writers. Returns how many acknowledged rows were missing on the other shard immediately after the
/// acknowledgement.
async fn missing_after_ack(bench: &Bench, rows: i64) -> usize {
    let lanes = (1..=4).map(|lane| async move {
        let (here, there) = (bench.source.session().await, bench.target.session().await);
        let mut missing = 0;
        for id in 0..rows {
            // For keys that do not move, the stream has no row to apply, but must confirm the commits too.
            let sql = format!("insert into public.item values ({lane}, {id}, 'stays')");
            here.batch_execute(&sql).await.expect("acknowledged");
            let tenant: i64 = 100 + lane;
            let sql = format!("insert into public.item values ({tenant}, {id}, 'moves')");
            here.batch_execute(&sql).await.expect("acknowledged");
            let read = "select 1 from public.item where tenant_id = $1 and id = $2";
            let found = there.query_opt(read, &[&tenant, &id]).await.expect("read");
            missing += usize::from(found.is_none());
        }
        missing
    });
    futures::future::join_all(lanes).await.iter().sum()
}

#[tokio::test]
async fn an_acknowledged_write_is_on_both_shards() {
    let bench = Bench::each_alone("dwack", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = synchronous(&bench, FORWARD, FAR).await;
    assert_eq!(missing_after_ack(&bench, 60).await, 0);
    assert_eq!(state(&stream), DualWriteState::Synchronous, "all the time");
    stream.stop().await;
    assert_eq!(setting(&bench.source).await, "");
    assert_eq!(bench.assert_equal().await, 240);
}

#[tokio::test]
async fn control_without_it_acknowledged_writes_are_missing_for_a_moment() {
    let bench = Bench::each_alone("dwasync", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    assert!(missing_after_ack(&bench, 60).await > 0);
    bench.drain(&stream).await.expect("drained");
    bench.assert_equal().await;
}

#[tokio::test]
async fn everything_acknowledged_survives_a_crash_of_the_source_on_the_other_shard() {
    let bench = Bench::each_alone("dwcrash", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = synchronous(&bench, FORWARD, FAR).await;
    let acknowledged = Arc::new(std::sync::Mutex::new(Vec::new()));
    let lanes = (0..4_i64).map(|lane| {
        let (bench, acknowledged) = (&bench, acknowledged.clone());
        async move {
            let here = bench.source.session().await;
            for id in 0_i64.. {
                let sql = format!("insert into public.item values ({}, {id}, 'x')", 100 + lane);
                if here.batch_execute(&sql).await.is_err() {
                    return;
                }
                acknowledged.lock().expect("whole").push((100 + lane, id));
            }
        }
    });
    let crash = async {
        until("enough is written", || async {
            acknowledged.lock().expect("whole").len() > 200
        })
        .await;
        let cluster = bench.source.cluster.clone();
        let killed = tokio::task::spawn_blocking(move || cluster.kill());
        killed.await.expect("joined").expect("killed");
    };
    tokio::join!(futures::future::join_all(lanes), crash);
    drop(stream);
    let there = bench.target.session().await;
    let read = "select tenant_id, id from public.item";
    let rows = there.query(read, &[]).await.expect("read");
    let found: std::collections::HashSet<(i64, i64)> =
        rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let acknowledged = acknowledged.lock().expect("whole");
    assert!(acknowledged.len() > 200);
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|row| !found.contains(row))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn the_reverse_stream_is_synchronous_on_the_target() {
    let bench = Bench::each_alone("dwrev", ITEM).await;
    bench.capture(Direction::Reverse).await;
    let stream = synchronous(&bench, Direction::Reverse, FAR).await;
    assert!(setting(&bench.target).await.contains(STANDBY_ROLE));
    assert_eq!(setting(&bench.source).await, "");
    let there = bench.target.session().await;
    let insert = "insert into public.item values (1, 1, 'not ours')";
    there.batch_execute(insert).await.expect("confirmed");
    drop(stream);
    until("it is out again", || async {
        setting(&bench.target).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn an_absent_shard_stops_writes_no_longer_than_the_limit_and_is_waited_for_again_once_level()
{
    let bench = Bench::each_alone("dwaway", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = synchronous(&bench, FORWARD, NEAR).await;
    let here = bench.source.session().await;
    let insert = |id: i32| format!("insert into public.item values (150, {id}, 'x')");
    here.batch_execute(&insert(1)).await.expect("acknowledged");
    bench.target.cluster.freeze().expect("frozen");
    let began = Instant::now();
    here.batch_execute(&insert(2)).await.expect("acknowledged");
    let hung = began.elapsed();
    let why = until_degraded(&stream).await;
    bench.target.cluster.thaw();
    assert!(hung >= NEAR / 2 && hung < NEAR + SLACK, "{hung:?}");
    // The agent and its watchdog have the same limit, so either of them can remove the name.
    let known = [
        "the downstream shard has confirmed nothing for too long",
        "the stream's name is not in force in synchronous_standby_names",
    ];
    assert!(known.contains(&why.as_str()), "{why}");
    until_synchronous(&bench, FORWARD, &stream).await;
    here.batch_execute(&insert(3)).await.expect("acknowledged");
    assert_eq!(bench.assert_equal().await, 3, "at once");
}

#[tokio::test]
async fn a_comparison_s_point_is_not_waited_for_by_the_commits_that_it_waits_for() {
    let bench = Bench::each_alone("dwhold", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = synchronous(&bench, FORWARD, FAR).await;
    let stop = AtomicBool::new(false);
    let writing = async {
        let here = bench.source.session().await;
        let mut id = 0;
        while !stop.load(Ordering::SeqCst) {
            let sql = format!("insert into public.item values (150, {id}, 'x')");
            here.batch_execute(&sql).await.expect("acknowledged");
            id += 1;
        }
    };
    let comparing = async {
        let held = stream.pause().await.expect("held");
        let began = Instant::now();
        let mut slot = ReplicationSession::open(&bench.source.dsn(), "test")
            .await
            .expect("opened");
        let options = SlotOptions {
            temporary: true,
            export: true,
            failover: false,
        };
        slot.create_slot("dwhold_point", options)
            .await
            .expect("a slot");
        let took = began.elapsed();
        let why = until_degraded(&stream).await;
        drop(held);
        stop.store(true, Ordering::SeqCst);
        (took, why)
    };
    let ((took, why), ()) = tokio::join!(comparing, writing);
    assert!(took < SLACK, "{took:?}");
    assert_eq!(
        why,
        "the stream is paused at the exact point that a comparison reads"
    );
    until_synchronous(&bench, FORWARD, &stream).await;
}

#[tokio::test]
async fn writes_go_on_after_the_limit_when_the_agent_is_stopped_or_killed() {
    let bench = Bench::each_alone("dwkill", ITEM).await;
    bench.capture(FORWARD).await;
    let here = bench.source.session().await;
    let insert = |id: i32| format!("insert into public.item values (150, {id}, 'x')");
    let agent = AgentProcess::start(&bench, NEAR);
    let counted = "select count(*) = 1 from pg_stat_replication where sync_state = 'sync'";
    let until_counted = || {
        until("commits wait for both shards", || async {
            here.batch_execute(WRITE).await.expect("written");
            here.query_one(counted, &[]).await.expect("read").get(0)
        })
    };
    until_counted().await;
    agent.signal("STOP");
    // The first commit may not wait: the server reports the walsender as synchronous a moment before commits wait for
    // it.
    let mut hung = Duration::ZERO;
    for id in 0..1000 {
        if hung >= NEAR / 2 {
            break;
        }
        let began = Instant::now();
        here.batch_execute(&insert(id)).await.expect("acknowledged");
        hung = began.elapsed();
    }
    assert!(hung >= NEAR / 2 && hung < NEAR + SLACK, "stopped: {hung:?}");
    assert_eq!(setting(&bench.source).await, "");

    agent.signal("CONT");
    until_counted().await;
    agent.signal("KILL");
    let began = Instant::now();
    here.batch_execute(&insert(2000))
        .await
        .expect("acknowledged");
    let hung = began.elapsed();
    assert!(hung < NEAR + SLACK, "killed: {hung:?}");
    until("it is out, and the watchdog gone", || async {
        let read = "select count(*) = 0 from pg_stat_activity where application_name like 'shardwright/%/dual-write-watch/%'";
        let gone: bool = here.query_one(read, &[]).await.expect("read").get(0);
        gone && setting(&bench.source).await.is_empty()
    })
    .await;
}

/// Measures the commit latency with and without dual-write: `cargo test -p agent commit_latency -- --ignored
/// --nocapture`.
#[tokio::test]
#[ignore = "figures"]
async fn commit_latency() {
    let bench = Bench::each_alone_with("dwfigures", ITEM, &[("fsync", "on")]).await;
    bench.capture(FORWARD).await;
    for (what, keep) in [("asynchronous", false), ("synchronous", true)] {
        let stream = if keep {
            synchronous(&bench, FORWARD, FAR).await
        } else {
            bench.stream(FORWARD).await
        };
        for (keys, tenant) in [("moving", 120), ("other", 20)] {
            for writers in [1_i64, 8] {
                let lanes = (0..writers).map(|lane| {
                    commits(
                        &bench,
                        tenant + i64::from(keep),
                        lane * 1000 + writers * 100_000,
                    )
                });
                let began = Instant::now();
                let mut took: Vec<Duration> = futures::future::join_all(lanes).await.concat();
                let rate = took.len() as f64 / began.elapsed().as_secs_f64();
                took.sort_unstable();
                let at = |share: usize| took[took.len() * share / 100];
                println!(
                    "{what}, {keys} keys, {writers} writers: p50 {:?} p95 {:?} p99 {:?}, {rate:.0}/s",
                    at(50),
                    at(95),
                    at(99)
                );
            }
        }
        stream.stop().await;
    }
}

async fn commits(bench: &Bench, tenant: i64, from: i64) -> Vec<Duration> {
    let here = bench.source.session().await;
    let mut took = Vec::new();
    for id in from..from + 300 {
        let sql = format!("insert into public.item values ({tenant}, {id}, 'x')");
        let began = Instant::now();
        here.batch_execute(&sql).await.expect("acknowledged");
        took.push(began.elapsed());
    }
    took
}

/// No test: the process of the watchdog, which corresponds to `shardwright-agent watch-dual-write`.
#[tokio::test]
#[ignore = "other tests start it"]
async fn watchdog_process() {
    if std::env::var_os(crate::stream::dual_write::TASK_VARIABLE).is_some() {
        run_watchdog().await.expect("watched");
    }
}
