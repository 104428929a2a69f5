//! Tables that are copied with snapshots of their own, while the application writes: the rows of one table are then later
//! than those of the other until the stream has passed both snapshots.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plans::id::MapName;

use super::super::bench::Bench;
use super::super::units::{copy_extent, record_first};
use super::random::write;
use super::{FORWARD, bench, other_rows};
use crate::cleanup::delete_rows::{ClosedProof, RowDeletion};
use crate::postgres::copy_stream::{BlockRange, CopyExtent};
use crate::shard::database::Shard;
use crate::throttle::MigrationThrottle;

/// Copies a table with its own snapshot.
async fn copy_table(bench: &Bench, number: i32, index: usize) {
    let whole = CopyExtent::Blocks(BlockRange { from: 0, to: None });
    copy_extent(bench, number, index, &whole).await;
}

/// What a deletion refers to.
pub(super) struct DeletionParts {
    pub(super) shard: Shard,
    throttle: MigrationThrottle,
    map: MapName,
}

impl DeletionParts {
    pub(super) fn new(bench: &Bench) -> Self {
        Self {
            shard: bench.shard(&bench.target, bench.token.epoch),
            throttle: MigrationThrottle::default(),
            map: MapName::from("m"),
        }
    }

    /// Returns a deletion of rows of the copy.
    pub(super) fn deletion<'a>(&'a self, bench: &'a Bench) -> RowDeletion<'a> {
        RowDeletion {
            shard: &self.shard,
            token: bench.token.clone(),
            map: &self.map,
            keys: &bench.keys,
            closed: ClosedProof::Live,
            pause: Duration::ZERO,
            throttle: &self.throttle,
            on_batch: Box::new(|_, _| {}),
        }
    }
}

/// Removes rows without parents, as the end of `catch_up` does.
async fn remove_rows_without_parents(bench: &Bench) {
    let parts = DeletionParts::new(bench);
    let deletion = parts.deletion(bench);
    for table in bench.tables.iter() {
        if let Some(through) = table.through() {
            let removed = deletion.delete_rows_without_parents(table, through).await;
            removed.expect("removed");
        }
    }
}

/// Copies the tables in this order, each after these statements, and compares the shards when the stream has applied
/// everything.
async fn copied(name: &str, steps: &[(usize, &str)], last: &str) {
    let bench = bench(name).await;
    let app = bench.source.session().await;
    bench.capture(FORWARD).await;
    record_first(&bench).await;
    for ((index, statements), number) in steps.iter().zip(1..) {
        app.batch_execute(statements).await.expect(statements);
        copy_table(&bench, number, *index).await;
    }
    app.batch_execute(last).await.expect(last);
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    remove_rows_without_parents(&bench).await;
    bench.assert_equal().await;
}

const ORDERS: usize = 0;
const LINE: usize = 1;
const TAG: usize = 2;
const ROWS: &str = "insert into public.orders values (100, 1, 'a'), (1, 3000, 'b');
    insert into public.line values (1, 1, 'x'), (2, 3000, 'y'); insert into public.tag values (1, 1, 'x'), (2, 2, 'y')";

/// The stream sees the parent leave and come back, but skips the changes of the row, whose copy is later.
#[tokio::test]
async fn a_row_whose_parent_comes_back_before_its_snapshot_stays() {
    let again = "delete from public.orders where id = 1";
    let back = "insert into public.orders values (100, 1, 'a'); insert into public.line values (1, 1, 'again')";
    let steps = [(ORDERS, ROWS), (TAG, again), (LINE, back)];
    copied("dep_back", &steps, "select 1").await;
}

/// The stream skips the change by which the parent leaves, because its copy is later than that of the row.
#[tokio::test]
async fn a_row_whose_parent_left_before_its_snapshot_goes() {
    let left = "update public.orders set tenant_id = 1 where id = 1";
    let steps = [(TAG, ROWS), (LINE, "select 1"), (ORDERS, left)];
    copied("dep_left", &steps, "update public.line set v = 'w'").await;
}

#[tokio::test]
async fn tables_that_are_copied_one_after_the_other_under_load_are_equal_in_the_end() {
    for (seed, order) in (31..).zip([[0, 1, 2], [2, 1, 0], [1, 2, 0]]) {
        let bench = bench(&format!("dep_apart_{seed}")).await;
        let own = other_rows(&bench, &bench.ours(&bench.target).await).await;
        bench.capture(FORWARD).await;
        record_first(&bench).await;
        let stop = AtomicBool::new(false);
        let app = bench.source.session().await;
        let copying = async {
            for (index, number) in order.into_iter().zip(1..) {
                copy_table(&bench, number, index).await;
            }
            stop.store(true, Ordering::SeqCst);
        };
        tokio::join!(write(&app, seed, &stop), copying);
        let stream = bench.stream(FORWARD).await;
        bench.drain(&stream).await.expect("drained");
        remove_rows_without_parents(&bench).await;
        bench.assert_equal().await;
        let own_after = other_rows(&bench, &bench.ours(&bench.target).await).await;
        assert_eq!(own, own_after, "the rows of the target itself");
    }
}

/// An abort finds copied rows whose parents were not copied yet.
#[tokio::test]
async fn copied_rows_without_copied_parents_are_deleted() {
    let bench = bench("dep_abort").await;
    let own = other_rows(&bench, &bench.ours(&bench.target).await).await;
    let app = bench.source.session().await;
    app.batch_execute(ROWS).await.expect("rows");
    copy_table(&bench, 1, TAG).await;
    copy_table(&bench, 2, LINE).await;
    let parts = DeletionParts::new(&bench);
    let deletion = parts.deletion(&bench);
    let mut deleted = Vec::new();
    for table in bench.tables.iter().rev() {
        deleted.push(deletion.delete_rows_of(table).await.expect("deleted"));
    }
    assert_eq!(deleted, [1, 1, 0]);
    assert_eq!(
        own,
        other_rows(&bench, &bench.ours(&bench.target).await).await
    );
    assert_eq!(
        bench.rows(&bench.ours(&bench.target).await).await,
        Vec::<String>::new()
    );
}
