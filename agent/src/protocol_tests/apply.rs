//! The stream applies each change exactly once, and a difference between the copies halts it (I3).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use plans::names::Direction;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::bench::{Bench, ITEM};
use super::shard::{LIMIT, until};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::stream::{ApplyStream, wait_for_failure};

const FORWARD: Direction = Direction::Forward;

/// Returns the failure with which the stream gave up: code and message.
pub(super) async fn halted(stream: &ApplyStream) -> (String, String) {
    let failure = tokio::time::timeout(LIMIT, wait_for_failure(stream.subscribe()));
    let failure = failure.await.expect("in time");
    let failure = failure.failure().expect("a failure").clone();
    (failure.code, failure.message)
}

/// Returns the slot's confirmed position and the durable progress.
pub(super) async fn positions(bench: &Bench) -> (Lsn, Lsn) {
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let read = "select confirmed_flush_lsn from pg_replication_slots where slot_name = $1";
    let slot = bench.token.migration.slot(FORWARD);
    let row = source.query_one(read, &[&slot]).await.expect("a slot");
    let known = apply_progress::read(&target, &bench.token, FORWARD).await;
    (row.get(0), known.expect("read").expect("a row").lsn)
}

/// Executes transactions of all sizes, until `stop` is set. Some are rolled back, and some fail.
pub(super) async fn write(session: &Connected, seed: u64, stop: &AtomicBool) {
    let mut random = StdRng::seed_from_u64(seed);
    while !stop.load(Ordering::SeqCst) {
        let (tenant, id) = (random.random_range(95..105), random.random_range(0..40));
        let to = random.random_range(95..105);
        let statement = match random.random_range(0..6) {
            0 | 1 => format!(
                "insert into public.item select {tenant}, g, 'n' from generate_series({id}, {id} + 9) g on conflict do nothing"
            ),
            2 => format!("update public.item set v = v || 'u' where tenant_id = {tenant}"),
            3 => format!("delete from public.item where tenant_id = {tenant} and id < {id}"),
            4 => format!(
                "update public.item set tenant_id = {to}, id = id + 1000 where tenant_id = {tenant} and id = {id}"
            ),
            _ => {
                format!("update public.item set id = -id where tenant_id = {tenant} and id > {id}")
            }
        };
        let end = if random.random_bool(0.1) {
            "rollback"
        } else {
            "commit"
        };
        let turn = format!("begin; {statement}; savepoint s; {statement}; rollback to s; {end}");
        if session.batch_execute(&turn).await.is_err() {
            session
                .batch_execute("rollback")
                .await
                .expect("rolled back");
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_killed_at_any_moment_applies_everything_exactly_once() {
    let bench = Bench::new("killed", ITEM).await;
    bench.capture(FORWARD).await;
    let stop = AtomicBool::new(false);
    let (one, two) = (bench.source.session().await, bench.source.session().await);
    let writing = async { tokio::join!(write(&one, 1, &stop), write(&two, 2, &stop)) };
    let killing = async {
        let mut random = StdRng::seed_from_u64(3);
        for _ in 0..8 {
            let stream = bench.stream(FORWARD).await;
            let mut seen = stream.subscribe();
            for _ in 0..random.random_range(1..8) {
                seen.changed().await.expect("it works");
            }
            drop(stream);
            let (confirmed, durable) = positions(&bench).await;
            assert!(
                confirmed <= durable,
                "{confirmed} was not durable at {durable}"
            );
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(writing, killing);
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await > 0);
}

#[tokio::test]
async fn progress_that_lies_behind_the_slot_is_a_gap() {
    let bench = Bench::new("gap", ITEM).await;
    bench.capture(FORWARD).await;
    let (start, _) = positions(&bench).await;
    let app = bench.source.session().await;
    let insert = "insert into public.item values (100, 1, 'x')";
    app.batch_execute(insert).await.expect("inserted");
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    until("the slot has moved", || async {
        positions(&bench).await.0 > start
    })
    .await;
    stream.stop().await;
    bench.set_progress(&bench.target, FORWARD, start).await;
    let (code, message) = halted(&bench.stream(FORWARD).await).await;
    assert_eq!(code, "slot.gap", "{message}");
    assert!(message.contains("beyond our progress"), "{message}");
}

#[tokio::test]
async fn a_foreign_or_missing_row_on_the_other_side_halts_the_stream() {
    for (name, there, here, wanted) in [
        (
            "foreign",
            "insert into public.item values (100, 2, 'theirs')",
            "insert into public.item values (100, 2, 'x')",
            "sql.23505",
        ),
        (
            "unmatched",
            "delete from public.item",
            "update public.item set v = 'x'",
            "apply.count",
        ),
        (
            "undeleted",
            "delete from public.item",
            "delete from public.item",
            "apply.count",
        ),
        (
            "rekeyed",
            "delete from public.item",
            "update public.item set id = 5",
            "apply.count",
        ),
    ] {
        let bench = Bench::new(name, ITEM).await;
        bench.capture(FORWARD).await;
        let app = bench.source.session().await;
        let insert = "insert into public.item values (100, 1, 'x')";
        app.batch_execute(insert).await.expect("inserted");
        let stream = bench.stream(FORWARD).await;
        bench.drain(&stream).await.expect("drained");
        let foreign = bench.target.session().await;
        foreign.batch_execute(there).await.expect("changed there");
        let kept = bench.rows(&foreign).await;
        let end = "select pg_current_wal_insert_lsn()";
        let before: Lsn = app.query_one(end, &[]).await.expect("read").get(0);
        app.batch_execute(here).await.expect("changed here");
        assert_eq!(halted(&stream).await.0, wanted, "{name}");
        assert_eq!(bench.rows(&foreign).await, kept, "nothing was applied");
        let recorded = positions(&bench).await.1;
        assert!(recorded <= before, "it was recorded: {recorded}");
    }
}

#[tokio::test]
async fn another_shape_of_a_table_halts_the_stream() {
    let bench = Bench::new("drift", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let app = bench.source.session().await;
    let change = "alter table public.item add column more text; \
                  insert into public.item values (100, 1, 'x', 'y')";
    app.batch_execute(change).await.expect("changed");
    assert_eq!(halted(&stream).await.0, "schema.drift");
}

const KINDS: &str = "create table public.kinds ( \
    tenant_id bigint, id bigint generated always as identity, \"Odd name\" text, \
    big text, doubled bigint generated always as (tenant_id * 2) stored, \
    j jsonb, t timestamptz, f float8, b bytea, a int[], primary key (tenant_id, id)); \
    alter table public.kinds alter column big set storage external";

#[tokio::test]
async fn every_kind_of_value_and_column_arrives_as_it_is() {
    let bench = Bench::new("kinds", KINDS).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let app = bench.source.session().await;
    for statement in [
        "insert into public.kinds (tenant_id, \"Odd name\", big, j, t, f, b, a) values \
         (100, 'it''s', repeat('0123456789', 2000), '{\"a\": [1, null]}', now(), 0.1::float8 / 3, '\\x00ff', '{1,null,3}'), \
         (101, null, null, null, 'infinity', 'NaN', '', '{}'), \
         (50, 'stays', null, null, null, null, null, null)",
        "update public.kinds set \"Odd name\" = 'unchanged big value' where tenant_id = 100",
        "update public.kinds set tenant_id = 102 where tenant_id = 100",
        "update public.kinds set tenant_id = 103, big = 'small' where tenant_id = 102",
        "update public.kinds set tenant_id = 104 where tenant_id = 50",
        "update public.kinds set tenant_id = 51 where tenant_id = 101",
        "update public.kinds set tenant_id = tenant_id",
    ] {
        app.batch_execute(statement).await.expect(statement);
    }
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
}

/// An identity column only accepts DEFAULT in an UPDATE, and the target would generate another value.
#[tokio::test]
async fn a_new_identity_value_halts_the_stream_instead_of_getting_lost() {
    let bench = Bench::new("identity", KINDS).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let app = bench.source.session().await;
    let change = "insert into public.kinds (tenant_id) values (100); \
                  update public.kinds set id = default";
    app.batch_execute(change).await.expect("changed");
    assert_eq!(halted(&stream).await.0, "apply.count");
}

#[tokio::test]
async fn a_large_transaction_arrives_whole() {
    let bench = Bench::new("large", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let app = bench.source.session().await;
    let change = "begin; \
        insert into public.item select 100 + g % 100, g, 'x' from generate_series(1, 50000) g; \
        update public.item set v = 'y' where id % 50 = 0; commit";
    app.batch_execute(change).await.expect("committed");
    let applied = bench.drain(&stream).await.expect("drained");
    assert_eq!(applied, 51_000);
    assert_eq!(bench.assert_equal().await, 50_000);
}

#[tokio::test]
async fn the_key_of_each_change_is_recorded_before_and_after() {
    let bench = Bench::new("dirty", ITEM).await;
    bench.capture(FORWARD).await;
    let stream = bench.stream(FORWARD).await;
    let app = bench.source.session().await;
    let change = "insert into public.item values (100, 1, 'x'), (100, 2, 'x'), (100, 3, 'x')";
    app.batch_execute(change).await.expect("inserted");
    bench.drain(&stream).await.expect("drained");
    stream.start_recording_dirty_keys();
    for change in [
        "update public.item set id = 4 where id = 2",
        "delete from public.item where id = 3",
    ] {
        app.batch_execute(change).await.expect("changed");
    }
    bench.drain(&stream).await.expect("drained");
    let target = bench.ours(&bench.target).await;
    let read = "select relation || unnest(keys) from shardwright.dirty where migration = 'dirty'";
    let rows = target.query(read, &[]).await.expect("read");
    let dirty: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    let wanted = [2, 3, 4].map(|id| format!("public.item[\"100\",\"{id}\"]"));
    assert_eq!(dirty, BTreeSet::from(wanted));
}

/// The session broke while its commit waits for a standby. The restarted stream must not apply these changes again.
#[tokio::test]
async fn a_stream_waits_for_a_commit_of_its_own_that_is_under_way() {
    let bench = Bench::new("under_way", ITEM).await;
    bench.capture(FORWARD).await;
    let app = bench.source.session().await;
    let insert = "insert into public.item values (100, 1, 'x')";
    app.batch_execute(insert).await.expect("written");
    let read = "select pg_current_wal_insert_lsn()";
    let end: Lsn = app.query_one(read, &[]).await.expect("read").get(0);

    let earlier = bench.ours(&bench.target).await;
    epoch::begin(&earlier, &bench.token).await.expect("proved");
    earlier.batch_execute(insert).await.expect("applied");
    let applied = ApplyProgress {
        lsn: end,
        opened: true,
        transactions: 1,
        changes: 1,
    };
    apply_progress::write(&earlier, &bench.token, FORWARD, applied)
        .await
        .expect("written");
    let stream = bench.stream(FORWARD).await;
    let observer = bench.target.session().await;
    let waits = "select 1 from pg_stat_activity where datname = current_database() \
                 and application_name like '%/apply/%' and wait_event_type = 'Lock'";
    until("the stream waits", || async {
        let row = observer.query_opt(waits, &[]).await.expect("read");
        row.is_some()
    })
    .await;
    epoch::commit(&earlier, "t").await.expect("committed");
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 1);
}
