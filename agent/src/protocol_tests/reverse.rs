//! The reverse stream begins at the open marker (C10, C11, R17).

use connect::Connected;
use plans::id::{AttemptNo, MapVersion};
use plans::names::Direction;

use super::bench::{Bench, ITEM, VERSION, code, state};
use crate::shard::epoch::{self, AttemptCount, EpochToken};
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::register::{self, RegisterSetting};

const REVERSE: Direction = Direction::Reverse;

/// Creates a move immediately after its flip: both shards are closed, the reverse slot exists, and the target has been
/// notified.
async fn flipped(name: &str) -> (Bench, AttemptCount) {
    let mut bench = Bench::new(name, ITEM).await;
    bench.guard(&bench.source, i64::MAX).await;
    bench.guard(&bench.target, i64::MAX).await;
    bench.capture(REVERSE).await;
    let new_owner = bench.ours(&bench.target).await;
    let count = register::notify_of_flip(
        &new_owner,
        &bench.token,
        AttemptNo(1),
        MapVersion(VERSION + 1),
    )
    .await
    .expect("told");
    bench.token.until = MapVersion(VERSION + 1);
    (bench, count)
}

/// Writes a row as the forward stream and the copy do.
async fn write_ours(session: &Connected, token: &EpochToken, id: i64) {
    epoch::begin(session, token).await.expect("proved");
    let insert = "insert into public.item values (100, $1, 'ours')";
    session.execute(insert, &[&id]).await.expect("passes");
    epoch::commit(session, "ours").await.expect("committed");
}

async fn ids(session: &Connected) -> Vec<i64> {
    let read = "select id from public.item order by id";
    let rows = session.query(read, &[]).await.expect("rows");
    rows.iter().map(|row| row.get(0)).collect()
}

fn insert(id: i64) -> String {
    format!("insert into public.item values (100, {id}, 'theirs')")
}

#[tokio::test]
async fn what_lies_before_the_open_marker_does_not_come_back_and_what_follows_does() {
    let (bench, count) = flipped("opens").await;
    let (new_owner, app) = (
        bench.ours(&bench.target).await,
        bench.target.session().await,
    );
    write_ours(&new_owner, &bench.token, 1).await;
    let stream = bench.stream(REVERSE).await;
    bench.drain(&stream).await.expect("drained");
    write_ours(&new_owner, &bench.token, 2).await;
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Opened);
    marker.emit(&new_owner, &bench.token).await.expect("marked");
    assert_eq!(state(app.batch_execute(&insert(3)).await), "SM001");
    register::set(&new_owner, &bench.token, count, RegisterSetting::Open)
        .await
        .expect("opened");
    app.batch_execute(&insert(4))
        .await
        .expect("the first write");
    bench.drain(&stream).await.expect("drained");
    let source = bench.ours(&bench.source).await;
    assert_eq!(ids(&source).await, [4]);

    stream.stop().await;
    app.batch_execute(&insert(5)).await.expect("written");
    let again = bench.stream(REVERSE).await;
    bench.drain(&again).await.expect("drained");
    assert_eq!(
        ids(&source).await,
        [4, 5],
        "it remembers that it was opened"
    );
}

#[tokio::test]
async fn control_marker_and_setval_in_one_transaction_lose_a_write() {
    let (bench, _) = flipped("opens_at_once").await;
    let (new_owner, app) = (
        bench.ours(&bench.target).await,
        bench.target.session().await,
    );
    let stream = bench.stream(REVERSE).await;
    epoch::begin(&new_owner, &bench.token)
        .await
        .expect("proved");
    let register = bench.token.migration.register();
    let open = format!("select setval('shardwright.{register}', 0)");
    new_owner.batch_execute(&open).await.expect("seen at once");
    app.batch_execute(&insert(1)).await.expect("acknowledged");
    let marker = Marker::new(&bench.token, AttemptNo(1), MarkerKind::Opened);
    marker
        .write_and_commit(&new_owner)
        .await
        .expect("marked too late");
    bench.drain(&stream).await.expect("drained");
    let source = bench.ours(&bench.source).await;
    assert!(
        ids(&source).await.is_empty(),
        "the write does not come back"
    );
}

/// R7: a session of the forward stream that survived would write old values over new ones.
#[tokio::test]
async fn a_shard_that_was_told_of_the_flip_refuses_the_forward_stream() {
    let (bench, _) = flipped("forward").await;
    let session = bench.ours(&bench.target).await;
    let forward = EpochToken {
        until: MapVersion(VERSION),
        ..bench.token.clone()
    };
    assert_eq!(code(epoch::begin(&session, &forward).await), "epoch.stale");
}
