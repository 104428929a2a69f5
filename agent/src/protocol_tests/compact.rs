//! A backlog with many changes of few rows is applied once per row: the stream omits intermediate states that need not
//! be kept (ADR 41).

use std::time::Instant;

use connect::Connected;
use plans::names::Direction;

use super::bench::{Bench, until_old};

const FORWARD: Direction = Direction::Forward;

/// Rows are so wide that a few thousand changes fill a batch.
const ITEM: &str = "
    create table public.item (tenant_id bigint, id bigint, code bigint, v text, primary key (tenant_id, id));
    insert into public.item select 100, g, g from generate_series(1, 40) g";

const UPDATES_PER_ROW: u64 = 1000;

/// Counts the rows that are written on the target.
const COUNT: &str = "
    create sequence public.counted;
    create function public.count() returns trigger language plpgsql as
      $$ begin perform nextval('public.counted'); return null; end $$;
    create trigger counts after update on public.item for each row execute function public.count();
    alter table public.item enable always trigger counts";

async fn counted(there: &Connected) -> i64 {
    let read = "select last_value from public.counted";
    there.query_one(read, &[]).await.expect("read").get(0)
}

/// Creates a move whose 40 rows are copied, and whose later changes wait for the stream.
async fn copied(name: &str) -> (Bench, connect::Connected, connect::Connected) {
    let (ddl, fill) = ITEM.split_once(';').expect("two statements");
    let bench = Bench::new(name, ddl).await;
    bench.capture(FORWARD).await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    there.batch_execute(COUNT).await.expect("counts");
    app.batch_execute(fill).await.expect("filled");
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    stream.stop().await;
    (bench, app, there)
}

/// Updates each row `updates_per_row` times, and executes `more` in each of the transactions.
async fn busy(app: &Connected, updates_per_row: u64, more: &str) {
    let work = format!(
        "do $$ begin
           for n in 1..{updates_per_row} loop
             update public.item set v = n || repeat('x', 1800);
             {more}
             commit;
           end loop; end $$"
    );
    app.batch_execute(&work).await.expect("worked");
    until_old().await;
}

/// Checks that each row is written only a few times, with the additional statements `more` in the transactions.
async fn is_written_by_its_rows(name: &str, more: &str) {
    let (bench, app, there) = copied(name).await;
    busy(&app, UPDATES_PER_ROW, more).await;
    let began = Instant::now();
    let stream = bench.stream(FORWARD).await;
    let changes = bench.drain(&stream).await.expect("drained");
    // A batch is committed after two seconds in any case, so a slow machine has more batches.
    let by_age = began.elapsed().as_millis().div_euclid(2000);
    assert_eq!(changes, 40 * UPDATES_PER_ROW);
    assert_eq!(bench.assert_equal().await, 40);
    // Without compaction there were 34 batches. With it there are 2 to 5: a batch also ends when the server is slow to
    // send the next change.
    let written = counted(&there).await;
    let most = 40 * (15 + i64::try_from(by_age).expect("a short time"));
    assert!(
        written < most,
        "{written} rows written, fewer than {most} expected"
    );
}

#[tokio::test]
async fn busy_rows_are_written_once_for_many_changes() {
    is_written_by_its_rows("busy", "").await;
}

/// A server sends the definition of a table again after each ANALYZE. This must not separate changes.
#[tokio::test]
async fn a_shape_that_is_said_again_is_the_same() {
    let analyze = "if n % 10 = 0 then analyze public.item; end if;";
    is_written_by_its_rows("busy_again", analyze).await;
}

/// In each of the transactions, three rows pass their unique values on to each other.
const HAND_ON: &str = "
    update public.item set code = -code where id <= 3;
    update public.item set code = 1 + (-code) % 3 where id = 1;
    update public.item set code = 1 + (-code) % 3 where id = 2;
    update public.item set code = 1 + (-code) % 3 where id = 3;";

#[tokio::test]
async fn unique_values_are_handed_on_in_order() {
    // The target has its unique index when the stream starts. The source has it before that, or gets it afterwards.
    for (name, before) in [("busy_unique", true), ("busy_unique_late", false)] {
        let (bench, app, there) = copied(name).await;
        let unique = "create unique index on public.item (code)";
        if before {
            app.batch_execute(unique).await.expect("unique");
        }
        let stream = bench.stream(FORWARD).await;
        bench.drain(&stream).await.expect("drained");
        there.batch_execute(unique).await.expect("unique");
        let lock = "begin; lock table public.item in share row exclusive mode";
        there.batch_execute(lock).await.expect("locked");
        busy(&app, 500, HAND_ON).await;
        there.batch_execute("commit").await.expect("let go");
        bench.drain(&stream).await.expect("drained");
        assert_eq!(bench.assert_equal().await, 40);
        stream.stop().await;
    }
}
