//! Copy units with separate snapshots: each change is either in a copy or applied from the stream, and never both.

use plans::id::AttemptNo;
use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use plans::names::Direction;
use plans::step::StepKind;

use super::apply::{halted, write};
use super::bench::{Bench, ITEM};
use super::interrupted::again;
use super::shard::until;
use super::snapshots::server_waits_for;
use crate::postgres::copy_stream::{CopyExtent, KeyRange, copy_chunk};
use crate::postgres::lsn::Lsn;
use crate::postgres::visibility::TxSnapshot;
use crate::shard::epoch;
use crate::shard::marker::{Marker, MarkerKind};
use crate::steps;

const FORWARD: Direction = Direction::Forward;

/// Returns the keys from `low` to before `high`; None means no limit.
fn range(low: Option<i64>, high: Option<i64>) -> KeyRange {
    KeyRange {
        column: "tenant_id".to_owned(),
        low: low.map(|value| value.to_string()),
        high: high.map(|value| value.to_string()),
    }
}

/// Records a snapshot in place of that of the slot: it sees nothing that the slot sends.
pub(super) async fn record_first(bench: &Bench) -> String {
    let source = bench.ours(&bench.source).await;
    let read = "select pg_current_snapshot()::text";
    let text: String = source.query_one(read, &[]).await.expect("read").get(0);
    record_snapshot(bench, 0, &text, Lsn::ZERO).await;
    text
}

async fn record_snapshot(bench: &Bench, number: i32, text: &str, barrier: Lsn) {
    let target = bench.ours(&bench.target).await;
    target
        .execute(
            "insert into shardwright.snapshot (migration, number, snapshot, barrier) values ($1, $2, $3, $4)",
            &[&bench.token.migration.0, &number, &text, &barrier],
        )
        .await
        .expect("recorded");
}

/// Copies a range of keys of the first table with its own snapshot. Returns the snapshot.
async fn copy_unit(bench: &Bench, number: i32, keys: &KeyRange) -> TxSnapshot {
    copy_extent(bench, number, 0, &CopyExtent::Keys(keys.clone())).await
}

/// Copies a part of a table with its own snapshot, after a barrier. Returns the snapshot.
pub(super) async fn copy_extent(
    bench: &Bench,
    number: i32,
    table: usize,
    extent: &CopyExtent,
) -> TxSnapshot {
    let mut source = bench.ours(&bench.source).await;
    let begin = "begin isolation level repeatable read read only";
    source.batch_execute(begin).await.expect("begun");
    let read = "select pg_current_snapshot()::text";
    let text: String = source.query_one(read, &[]).await.expect("read").get(0);
    let other = bench.ours(&bench.source).await;
    Marker::new(&bench.token, AttemptNo(0), MarkerKind::Barrier)
        .emit(&other, &bench.token)
        .await
        .expect("a barrier");
    let barrier = other.query_one("select pg_current_wal_lsn()", &[]).await;
    record_snapshot(bench, number, &text, barrier.expect("read").get(0)).await;
    let shard = bench.shard(&bench.target, bench.token.epoch);
    let mut target = shard.replica_session("copy").await.expect("a session");
    epoch::begin(&target, &bench.token).await.expect("proved");
    let table = &bench.tables[table];
    copy_chunk(
        &mut source,
        &mut target,
        table,
        extent,
        &table.predicate(&bench.keys, "t"),
        |_, _| std::future::ready(()),
    )
    .await
    .expect("copied");
    let (by_key, low, high) = match extent {
        CopyExtent::Blocks(_) => (false, None, None),
        CopyExtent::Keys(keys) => (true, keys.low.clone(), keys.high.clone()),
    };
    target
        .execute(
            "insert into shardwright.chunk (migration, ordinal, unit, relation, filenode, from_block, by_key, low, high, snapshot, done)
             values ($1, $2, $2, $3, 0, 0, $4, $5, $6, $2, true)",
            &[&bench.token.migration.0, &number, &table.table.to_string(), &by_key, &low, &high],
        )
        .await
        .expect("recorded");
    epoch::commit(&target, "a unit").await.expect("committed");
    text.parse().expect("a snapshot")
}

async fn run(session: &Connected, sql: &str) {
    session.batch_execute(sql).await.expect(sql);
}

#[tokio::test]
async fn a_change_that_a_later_snapshot_saw_is_not_applied_again() {
    let bench = Bench::new("units_later", ITEM).await;
    bench.capture(FORWARD).await;
    record_first(&bench).await;
    let app = bench.source.session().await;
    run(
        &app,
        "insert into public.item select 100, g, 'x' from generate_series(1, 9) g",
    )
    .await;
    run(
        &app,
        "update public.item set v = 'seen' where id < 5; delete from public.item where id = 9",
    )
    .await;
    copy_unit(&bench, 1, &range(None, None)).await;
    run(
        &app,
        "update public.item set v = v || '!' where id < 3; delete from public.item where id = 4",
    )
    .await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 7);
}

#[tokio::test]
async fn without_the_snapshots_the_same_changes_halt_the_stream() {
    let bench = Bench::new("units_naive", ITEM).await;
    bench.capture(FORWARD).await;
    record_first(&bench).await;
    let app = bench.source.session().await;
    run(&app, "insert into public.item values (100, 1, 'x')").await;
    copy_unit(&bench, 1, &range(None, None)).await;
    let target = bench.ours(&bench.target).await;
    run(&target, "delete from shardwright.snapshot where number > 0").await;
    let stream = bench.stream(FORWARD).await;
    let (code, _) = halted(&stream).await;
    assert_eq!(code, "sql.23505");
}

#[tokio::test]
async fn a_row_that_went_from_one_unit_to_another_is_there_once() {
    let bench = Bench::new("units_cross", ITEM).await;
    bench.capture(FORWARD).await;
    record_first(&bench).await;
    let app = bench.source.session().await;
    run(
        &app,
        "insert into public.item values (149, 1, 'up'), (151, 2, 'down'), (149, 3, 'stays')",
    )
    .await;
    copy_unit(&bench, 1, &range(None, Some(150))).await;
    run(&app, "update public.item set tenant_id = 151 where id = 1").await;
    run(&app, "update public.item set tenant_id = 149 where id = 2").await;
    copy_unit(&bench, 2, &range(Some(150), None)).await;
    run(&app, "update public.item set v = v || '!'").await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 3);
}

#[tokio::test]
async fn units_that_were_copied_at_different_times_under_load_are_equal_in_the_end() {
    let bench = Bench::new("units_load", ITEM).await;
    bench.capture(FORWARD).await;
    let first: TxSnapshot = record_first(&bench).await.parse().expect("a snapshot");
    let stop = AtomicBool::new(false);
    let (one, two) = (bench.source.session().await, bench.source.session().await);
    let ends = [None, Some(101), Some(102), Some(103), Some(104), None];
    let copying = async {
        for (number, pair) in (1..).zip(ends.windows(2)) {
            let seen = copy_unit(&bench, number, &range(pair[0], pair[1])).await;
            assert!(seen.dominates(&first));
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(write(&one, 3, &stop), write(&two, 4, &stop), copying);
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await > 0);
}

/// Records the chunks of one unit, which is the table. Each chunk is done with the given snapshot, or not done.
async fn record_chunks(bench: &Bench, snapshots: &[Option<i32>]) {
    let target = bench.ours(&bench.target).await;
    for (ordinal, snapshot) in (0_i32..).zip(snapshots) {
        target
            .execute(
                "insert into shardwright.chunk (migration, ordinal, unit, relation, filenode, from_block, snapshot, done)
                 values ($1, $2, 0, $3, 0, 0, $4, $5)",
                &[
                    &bench.token.migration.0,
                    &ordinal,
                    &bench.tables[0].table.to_string(),
                    snapshot,
                    &snapshot.is_some(),
                ],
            )
            .await
            .expect("recorded");
    }
}

#[tokio::test]
async fn a_unit_of_two_snapshots_is_refused() {
    let bench = Bench::new("units_mixed", ITEM).await;
    bench.capture(FORWARD).await;
    let text = record_first(&bench).await;
    record_snapshot(&bench, 1, &text, Lsn::ZERO).await;
    record_chunks(&bench, &[Some(0), Some(1)]).await;
    let stream = bench.stream(FORWARD).await;
    let (code, why) = halted(&stream).await;
    assert_eq!(code, "copy.snapshot", "{why}");
}

/// The commit of a chunk is still in progress and not visible when the unit begins again with another snapshot.
#[tokio::test]
async fn a_unit_begins_again_with_what_hung_in_a_commit() {
    for (name, chunks) in [
        ("units_hang", &[None, None][..]),
        ("units_hangs", &[None, Some(0), None]),
    ] {
        let bench = Bench::apart(name, ITEM).await;
        bench.guard(&bench.target, i64::MAX).await;
        record_chunks(&bench, chunks).await;
        let chunk = bench.ours(&bench.target).await;
        epoch::begin(&chunk, &bench.token).await.expect("proved");
        run(
            &chunk,
            "insert into public.item values (100, 1, 'x');
             update shardwright.chunk set done = true, snapshot = 0 where ordinal = 0",
        )
        .await;
        let admin = bench.target.session().await;
        server_waits_for(&admin, "nobody").await;
        let commit = tokio::spawn(async move { epoch::commit(&chunk, "a chunk").await });
        let counts =
            async |sql: &str| -> bool { admin.query_one(sql, &[]).await.expect(sql).get(0) };
        until("the commit waits for its standby", || {
            counts("select count(*) = 1 from pg_stat_activity where wait_event = 'SyncRep'")
        })
        .await;
        let (context, ended) = (again(&bench, StepKind::Copy), AtomicBool::new(false));
        let emptying = async {
            let session = bench.ours(&bench.target).await;
            let emptied = steps::empty_unfinished_units(&context, &session).await;
            ended.store(true, Ordering::SeqCst);
            emptied.expect("emptied");
        };
        let standby = async {
            until("it waits for the commit, or has done so", || async {
                ended.load(Ordering::SeqCst)
                    || counts("select count(*) > 0 from pg_locks where not granted").await
                    || counts(
                        "select count(*) > 1 from pg_stat_activity where wait_event = 'SyncRep'",
                    )
                    .await
            })
            .await;
            server_waits_for(&admin, "").await;
        };
        tokio::join!(emptying, standby);
        commit.await.expect("joined").expect("committed");
        let rows = "select count(*) = 0 from public.item";
        let done = "select not bool_or(done) from shardwright.chunk";
        assert!(counts(rows).await && counts(done).await, "{name}");
    }
}

/// A crash of the source ends the snapshot of a running copy. Only units that had begun are copied again.
#[tokio::test]
async fn a_finished_unit_is_not_copied_again() {
    let bench = Bench::new("units_finished", ITEM).await;
    let target = bench.ours(&bench.target).await;
    let record = "insert into shardwright.chunk
            (migration, ordinal, unit, relation, filenode, from_block, by_key, low, high, snapshot, done)
        select $1, ordinal, unit, 'public.item', 0, 0, true, low, high, snapshot, snapshot is not null
        from (values (0, 0, null, '150', 0), (1, 1, '150', null, 0), (2, 1, '150', null, null))
            chunk (ordinal, unit, low, high, snapshot)";
    let migration = &bench.token.migration.0;
    target
        .execute(record, &[migration])
        .await
        .expect("recorded");
    let admin = bench.target.session().await;
    run(
        &admin,
        "set session_replication_role = replica;
         insert into public.item values (110, 1, 'finished'), (160, 1, 'begun')",
    )
    .await;
    let context = again(&bench, StepKind::Copy);
    bench.guard(&bench.target, i64::MAX).await;
    steps::empty_unfinished_units(&context, &target)
        .await
        .expect("emptied");
    let left: Vec<String> = admin
        .query("select v from public.item", &[])
        .await
        .expect("read")
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(left, ["finished"]);
    let done = "select string_agg(ordinal::text, ',') from shardwright.chunk where done";
    let done: String = admin.query_one(done, &[]).await.expect("read").get(0);
    assert_eq!(done, "0");
}
