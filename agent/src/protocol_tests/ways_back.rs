//! After a rollback, the forward stream begins at its open marker, and slots that no stream reads retain no log (C11,
//! I6).

use plans::id::AttemptNo;
use plans::names::Direction;
use plans::step::StepKind;

use super::bench::{Bench, ITEM};
use super::interrupted::again;
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::epoch;
use crate::shard::marker::{Marker, MarkerKind};
use crate::steps::advance_unread_slot;

const FORWARD: Direction = Direction::Forward;
const REVERSE: Direction = Direction::Reverse;

/// Checks that the stream has not begun and waits for an open marker.
async fn unopened(bench: &Bench, direction: Direction) {
    let (_, destination) = bench.ends(direction);
    let session = bench.ours(destination).await;
    let known = apply_progress::read(&session, &bench.token, direction).await;
    let closed = ApplyProgress {
        opened: false,
        ..known.expect("read").expect("a row")
    };
    epoch::begin(&session, &bench.token).await.expect("proved");
    apply_progress::write(&session, &bench.token, direction, closed)
        .await
        .expect("written");
    epoch::commit(&session, "progress")
        .await
        .expect("committed");
}

#[tokio::test]
async fn what_the_way_back_wrote_does_not_go_forward_again() {
    let bench = Bench::new("again", ITEM).await;
    bench.guard(&bench.source, i64::MAX).await;
    bench.capture(FORWARD).await;
    unopened(&bench, FORWARD).await;
    let ours = bench.ours(&bench.source).await;
    let write_ours = async |id: i64| {
        epoch::begin(&ours, &bench.token).await.expect("proved");
        let insert = format!("insert into public.item values (100, {id}, 'ours')");
        ours.batch_execute(&insert).await.expect("passes");
        epoch::commit(&ours, "ours").await.expect("committed");
    };
    write_ours(1).await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    write_ours(2).await;
    let marker = Marker::new(&bench.token, AttemptNo(2), MarkerKind::Opened);
    marker.emit(&ours, &bench.token).await.expect("marked");
    let register = bench.token.migration.register();
    let open = format!("select setval('shardwright.{register}', 0)");
    ours.batch_execute(&open).await.expect("opened");
    let app = bench.source.session().await;
    app.batch_execute("insert into public.item values (100, 3, 'theirs')")
        .await
        .expect("written");
    bench.drain(&stream).await.expect("drained");
    let there = bench.ours(&bench.target).await;
    let rows = there
        .query("select id from public.item order by id", &[])
        .await
        .expect("rows");
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [3]);
}

async fn confirmed(bench: &Bench, direction: Direction) -> Lsn {
    let (origin, _) = bench.ends(direction);
    let session = bench.ours(origin).await;
    let read = "select confirmed_flush_lsn from pg_replication_slots where slot_name = $1";
    let slot = bench.token.migration.slot(direction);
    session
        .query_one(read, &[&slot])
        .await
        .expect("a slot")
        .get(0)
}

#[tokio::test]
async fn a_slot_that_nobody_reads_follows_the_log_while_its_shard_is_closed() {
    let bench = Bench::new("unread", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, i64::MAX).await;
    bench.capture(REVERSE).await;
    let context = again(&bench, StepKind::Cutover);
    let ours = bench.ours(&bench.target).await;
    let log = "select pg_logical_emit_message(true, 'other', repeat('x', 100000))";
    ours.batch_execute(log).await.expect("logged");
    let before = confirmed(&bench, REVERSE).await;
    advance_unread_slot(&context, REVERSE).await.expect("moved");
    let moved = confirmed(&bench, REVERSE).await;
    assert!(moved.bytes_since(before) > 50_000, "{before} {moved}");

    // The stream of the slot still begins at the open marker, and no later change is lost.
    let stream = bench.stream(REVERSE).await;
    Marker::new(&bench.token, AttemptNo(1), MarkerKind::Opened)
        .emit(&ours, &bench.token)
        .await
        .expect("marked");
    let register = bench.token.migration.register();
    let open = format!("select setval('shardwright.{register}', 0)");
    ours.batch_execute(&open).await.expect("opened");
    let app = bench.target.session().await;
    app.batch_execute("insert into public.item values (100, 1, 'theirs')")
        .await
        .expect("written");
    bench.drain(&stream).await.expect("drained");
    stream.stop().await;
    ours.batch_execute(log).await.expect("logged");
    let before = confirmed(&bench, REVERSE).await;
    advance_unread_slot(&context, REVERSE)
        .await
        .expect("left alone");
    assert_eq!(
        confirmed(&bench, REVERSE).await,
        before,
        "its shard is open"
    );
    let source = bench.ours(&bench.source).await;
    let row = source
        .query_one("select count(*) from public.item", &[])
        .await
        .expect("read");
    assert_eq!(row.get::<_, i64>(0), 1);
}
