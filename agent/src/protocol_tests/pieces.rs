//! A transaction that is larger than a batch is executed in pieces, which do not grow with it.

use plans::names::Direction;

use super::bench::{Bench, ITEM};

const FORWARD: Direction = Direction::Forward;

/// Tells how many rows each statement brings to the target, in order.
const COUNT: &str = "
    create table public.piece (number bigserial, rows bigint);
    create function public.count() returns trigger language plpgsql as
      $$ begin insert into public.piece (rows) select count(*) from brought; return null; end $$;
    create trigger counts after insert on public.item referencing new table as brought
      for each statement execute function public.count();
    alter table public.item enable always trigger counts";

#[tokio::test]
async fn pieces_do_not_grow_with_a_transaction() {
    let bench = Bench::new("pieces", ITEM).await;
    bench.capture(FORWARD).await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    there.batch_execute(COUNT).await.expect("counts");
    let fill = "insert into public.item select 100, g, 'x' from generate_series(1, 160000) g";
    app.batch_execute(fill).await.expect("filled");
    let stream = bench.stream(FORWARD).await;
    assert_eq!(bench.drain(&stream).await.expect("drained"), 160_000);
    assert_eq!(bench.assert_equal().await, 160_000);
    let pieces = there
        .query("select rows from public.piece order by number", &[])
        .await
        .expect("read");
    let pieces: Vec<i64> = pieces.iter().map(|piece| piece.get(0)).collect();
    // What is gathered before it is known to be large, and what is gathered of it from then on.
    let largest = pieces.iter().max().expect("some");
    let late = pieces.iter().rev().take(3).max().expect("some");
    assert!(*largest <= 40_000 && *late <= 10_000, "{pieces:?}");
}
