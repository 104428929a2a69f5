//! Values that exceed the size limit of the stream: their rows arrive unchanged, also if the application changes
//! them in the meantime.

use std::collections::BTreeSet;

use connect::Connected;
use plans::names::Direction;

use super::bench::{Bench, ITEM};

const FORWARD: Direction = Direction::Forward;

/// Statements of an application, one transaction each. `large` creates a unique value of 2 MiB.
const CHANGES: [&str; 9] = [
    "insert into public.item select 100, g, public.large(g::text) from generate_series(1, 5) g",
    "update public.item set v = public.large('again') where id = 1",
    "update public.item set v = public.large('moved'), id = 20 where id = 2",
    "update public.item set v = public.large('away'), tenant_id = 1 where id = 3",
    "update public.item set v = public.large('back'), tenant_id = 150 where id = 3",
    // This large value does not change, so it is not in the log.
    "update public.item set tenant_id = 1 where id = 4; update public.item set tenant_id = 151 where id = 4",
    "update public.item set v = public.large('gone') where id = 5; delete from public.item where id = 5",
    "update public.item set v = 'small' where id = 1; update public.item set v = public.large('thrice') where id = 1",
    "delete from public.item where id = 1; insert into public.item values (100, 1, public.large('anew')), (100, 6, 'small')",
];

async fn ready(name: &str) -> (Bench, Connected) {
    let bench = Bench::new(name, ITEM).await;
    let app = bench.source.session().await;
    let large = "alter table public.item alter column v set storage external;
        create function public.large(seed text) returns text return
          (select string_agg(md5(seed || g), '') from generate_series(1, 65536) g)";
    app.batch_execute(large).await.expect("made");
    bench.capture(FORWARD).await;
    (bench, app)
}

#[tokio::test]
async fn rows_with_large_values_are_equal_after_each_change() {
    let (bench, app) = ready("large_each").await;
    let stream = bench.stream(FORWARD).await;
    for change in CHANGES {
        app.batch_execute(change).await.expect("changed");
        bench.drain(&stream).await.expect("drained");
        bench.assert_equal().await;
    }
    assert_eq!(bench.assert_equal().await, 5);
}

/// The stream reads the row in its current state, which is ahead of the changes of this row that it has not applied
/// yet.
#[tokio::test]
async fn rows_with_large_values_are_equal_where_much_happened_to_them_since() {
    let (bench, app) = ready("large_since").await;
    for change in CHANGES {
        app.batch_execute(change).await.expect("changed");
    }
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 5);
}

#[tokio::test]
async fn the_keys_of_large_rows_are_recorded_before_and_after() {
    let (bench, app) = ready("large_dirty").await;
    let stream = bench.stream(FORWARD).await;
    app.batch_execute(CHANGES[0]).await.expect("written");
    bench.drain(&stream).await.expect("drained");
    stream.start_recording_dirty_keys();
    for change in [CHANGES[1], CHANGES[2]] {
        app.batch_execute(change).await.expect("changed");
    }
    bench.drain(&stream).await.expect("drained");
    let target = bench.ours(&bench.target).await;
    let read = "select unnest(keys) from shardwright.dirty where migration = $1";
    let rows = target.query(read, &[&bench.token.migration.0]).await;
    let dirty: BTreeSet<String> = rows.expect("read").iter().map(|row| row.get(0)).collect();
    let wanted = [1, 2, 20].map(|id| format!("[\"100\",\"{id}\"]"));
    assert_eq!(dirty, BTreeSet::from(wanted));
}
