//! The snapshot of the copy outlives the process that created it (R21).

use connect::Connected;
use plans::id::Epoch;

use super::bench::{Bench, ITEM};
use super::shard::until;
use crate::postgres::replication::{ReplicationSession, SlotOptions};
use crate::shard::database::Shard;
use crate::shard::snapshot::{self, SnapshotHolders};

/// Returns the pids of the holder sessions that sleep.
async fn asleep(session: &Connected) -> Vec<i32> {
    let read = "select pid from pg_stat_activity where datname = current_database() \
                and application_name like 'shardwright/%/holder/%' and wait_event = 'PgSleep' order by pid";
    let rows = session.query(read, &[]).await.expect("sessions");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Runs the actions of the first owner before it dies: it creates a slot with a snapshot, and two holder sessions.
fn die_holding(shard: Shard, migration: String, both_asleep: std::sync::mpsc::Receiver<()>) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut slot = ReplicationSession::open(&shard.dsn, "test")
            .await
            .expect("opened");
        let options = SlotOptions {
            temporary: true,
            export: true,
            failover: false,
        };
        let made = slot.create_slot("held_s", options).await.expect("a slot");
        let exported = made.snapshot.expect("a snapshot");
        let holders = SnapshotHolders::start(&shard, &migration, &exported).await;
        assert!(holders.as_ref().expect("holders").are_alive());
        std::mem::forget(holders);
    });
    both_asleep.recv().expect("told when to die");
    // All tasks and sockets of the process end at once, as after kill -9.
    runtime.shutdown_background();
}

/// Returns the number of rows that a session sees with the held snapshot; None if no snapshot is held.
async fn seen_on_snapshot(bench: &Bench) -> Option<i64> {
    let session = bench.ours(&bench.source).await;
    let id = bench.token.migration.as_str();
    let held = snapshot::begin_with_held(&session, id).await;
    if !held.expect("no error") {
        return None;
    }
    let count = "select count(*) from public.item";
    Some(session.query_one(count, &[]).await.expect("read").get(0))
}

#[tokio::test]
async fn a_snapshot_stays_importable_when_its_owner_dies_and_the_next_owner_takes_it_over() {
    let bench = Bench::new("held", ITEM).await;
    let id = bench.token.migration.to_string();
    let session = bench.ours(&bench.source).await;
    let insert = "insert into public.item select 100, g, 'x' from generate_series(1, 10) g";
    session.batch_execute(insert).await.expect("rows");

    let (die, told) = std::sync::mpsc::channel();
    let (shard, migration) = (bench.shard(&bench.source, Epoch(1)), id.clone());
    let owner = std::thread::spawn(move || die_holding(shard, migration, told));
    until("both sleep", || async { asleep(&session).await.len() == 2 }).await;
    let first = asleep(&session).await;
    session
        .batch_execute("delete from public.item")
        .await
        .expect("deleted");
    die.send(()).expect("alive until now");
    let joined = tokio::task::spawn_blocking(move || owner.join());
    joined.await.expect("joined").expect("no panic");

    assert_eq!(asleep(&session).await, first, "they outlive their client");
    assert_eq!(seen_on_snapshot(&bench).await, Some(10));

    let next = bench.shard(&bench.source, Epoch(2));
    let names = snapshot::importable_names(&session, &id)
        .await
        .expect("read");
    let holders = SnapshotHolders::start(&next, &id, &names[0])
        .await
        .expect("taken over");
    until("only the new ones sleep", || async {
        let now = asleep(&session).await;
        now.len() == 2 && now.iter().all(|pid| !first.contains(pid))
    })
    .await;
    assert_eq!(seen_on_snapshot(&bench).await, Some(10));

    snapshot::end_holders(&session, &id).await.expect("ended");
    until("none is left", || async {
        asleep(&session).await.is_empty()
    })
    .await;
    until("the tasks have noticed", || async { !holders.are_alive() }).await;
    assert_eq!(seen_on_snapshot(&bench).await, None);
}
