//! The stream executes a transaction that is larger than a batch in pieces, whose size does not depend on the
//! transaction.

use plans::names::Direction;

use super::bench::{Bench, ITEM, until_old};

const FORWARD: Direction = Direction::Forward;

/// Records how many rows each statement inserts on the target, in order.
const COUNT: &str = "
    create table public.piece (number bigserial, rows bigint);
    create function public.count() returns trigger language plpgsql as
      $$ begin insert into public.piece (rows) select count(*) from brought; return null; end $$;
    create trigger counts after insert on public.item referencing new table as brought
      for each statement execute function public.count();
    alter table public.item enable always trigger counts";

/// Returns how many rows each statement inserts, for a transaction of `rows` rows with this value. The transaction is
/// so old that the pieces have their maximum size.
async fn pieces(name: &str, rows: i64, value: &str) -> Vec<i64> {
    let bench = Bench::new(name, ITEM).await;
    bench.capture(FORWARD).await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    there.batch_execute(COUNT).await.expect("counts");
    let fill =
        format!("insert into public.item select 100, g, {value} from generate_series(1, {rows}) g");
    app.batch_execute(&fill).await.expect("filled");
    until_old().await;
    let stream = bench.stream(FORWARD).await;
    let changes = bench.drain(&stream).await.expect("drained");
    assert_eq!(i64::try_from(changes), Ok(rows));
    let read = "select rows from public.piece order by number";
    let pieces = there.query(read, &[]).await.expect("read");
    let pieces: Vec<i64> = pieces.iter().map(|piece| piece.get(0)).collect();
    assert_eq!(pieces.iter().sum::<i64>(), rows);
    pieces
}

#[tokio::test]
async fn pieces_do_not_grow_with_a_transaction() {
    let pieces = pieces("pieces", 100_000, "'x'").await;
    // The first piece contains what the stream collects before it knows that the transaction is large.
    let largest = pieces.iter().max().expect("some");
    let late = pieces.iter().rev().take(3).max().expect("some");
    assert!(*largest <= 40_000 && *late <= 10_000, "{pieces:?}");
}

/// A value of one KiB is in memory five times until it is executed, and a piece has at most 12 MiB.
#[tokio::test]
async fn pieces_do_not_grow_with_rows() {
    let pieces = pieces("pieces_of_wide_rows", 12_000, "repeat('x', 1024)").await;
    let largest = pieces.iter().max().expect("some");
    assert!(*largest <= 2_500, "{pieces:?}");
}
