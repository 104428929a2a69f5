//! After a slot was lost, the copy compares the rows that it has, and copies only those that differ.

use std::sync::Arc;

use connect::Connected;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::copy::{Copied, Resynced};
use plans::table::CopyBy;
use plans::wire::Dispatch;

use super::bench::Bench;
use super::interrupted::after_preflight;
use super::shard::until;
use super::spool::Folder;
use super::together::capture_with_snapshot;
use crate::migration::context::StepContext;
use crate::shard::epoch;
use crate::shard::register::Register;
use crate::steps;

const FORWARD: Direction = Direction::Forward;
/// A table with a key that rows can exchange, and one without a primary key.
const TWO: &str = "
    create table public.item (tenant_id bigint, id bigint, code text unique, v text, primary key (tenant_id, id));
    create table public.note (tenant_id bigint not null, text text);
    alter table public.note replica identity full;";
const BULK: &str = "
    insert into public.item select 100 + g % 3, g, 'c' || g, repeat('x', 200) from generate_series(1, 20000) g;
    insert into public.note select 100, 'n' || g % 10 from generate_series(1, 50) g;";
/// Changes about one row of a hundred in every way, also exchanges of a unique value.
const CHANGE: &str = "
    update public.item set v = 'new' where id % 200 = 7;
    delete from public.item where id % 400 = 11;
    insert into public.item select 101, 100000 + g, 'late' || g, 'new' from generate_series(1, 50) g;
    update public.item set code = 'temporary' where id = 1;
    update public.item set code = 'c1' where id = 19999;
    update public.item set code = 'c19999' where id = 1;
    delete from public.note where text = 'n3';
    insert into public.note values (100, 'n4'), (100, 'late'), (100, null);";

/// Makes the first transaction fail that has copied missing rows.
const REFUSE: &str = "
    create function public.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before delete on shardwright.resync_keys for each row execute function public.refuse();
    alter table shardwright.resync_keys enable always trigger refuse";

/// A move whose rows are copied.
struct CopiedMove {
    bench: Bench,
    context: StepContext,
    app: Connected,
    _spools: Folder,
}

impl CopiedMove {
    async fn begin(name: &str) -> Self {
        let bench = Bench::new(name, TWO).await;
        bench.guard(&bench.target, Register::Closed.value()).await;
        let app = bench.source.session().await;
        app.batch_execute(BULK).await.expect("filled");
        let spools = Folder::new(&bench);
        let context = after_preflight(&bench, StepKind::Copy, &spools).await;
        capture_with_snapshot(&bench, &context).await;
        let copied = Self {
            bench,
            context,
            app,
            _spools: spools,
        };
        assert_eq!(copied.copy().await.resync, None, "a first copy");
        copied
    }

    async fn copy(&self) -> Copied {
        let output = steps::run(&self.context, StepKind::Copy).await;
        serde_json::from_value(output.expect("copied")).expect("its output")
    }

    /// Ends the stream and drops its slot, as a server does that lost it.
    async fn lose_slot(&self) {
        self.context.session.stop_stream().await;
        self.context.spool().remove().await.expect("removed");
        let slot = self.bench.token.migration.slot(FORWARD);
        // The walsender of the stream ends after the stream.
        let free = "select not active from pg_replication_slots where slot_name = $1";
        until("no session uses the slot", || async {
            let row = self.app.query_one(free, &[&slot]).await.expect("read");
            row.get(0)
        })
        .await;
        let dropping = format!("select pg_drop_replication_slot('{slot}')");
        self.app.batch_execute(&dropping).await.expect("dropped");
    }

    /// Applies the captured changes and compares every row. Returns the number of rows.
    async fn apply_and_compare(&self) -> usize {
        self.context.ensure_stream(FORWARD).await.expect("a stream");
        {
            let stream = self.context.session.stream.lock().await;
            let stream = stream.as_ref().expect("a stream");
            self.bench.drain(stream).await.expect("drained");
        }
        self.context.session.stop_stream().await;
        self.bench.assert_equal().await
    }

    async fn change(&self, sql: &str) {
        self.app.batch_execute(sql).await.expect(sql);
    }
}

#[tokio::test]
async fn only_rows_that_changed_while_no_slot_existed_are_copied_again() {
    let copied = CopiedMove::begin("resync_changed").await;
    copied.apply_and_compare().await;
    copied.lose_slot().await;
    copied.change(CHANGE).await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    copied
        .change("update public.item set v = v || '!' where id % 100 = 7")
        .await;
    let output = copied.copy().await;
    let resync = output.resync.expect("a comparison");
    assert_eq!((resync.tables, resync.rows), (2, 20_000 + 48));
    // 100 updated, 50 deleted, 2 exchanged; in the table without a key, equal rows count as one difference.
    assert_eq!(resync.deleted, 100 + 50 + 2 + 5 + 5);
    assert_eq!(resync.copied, 100 + 50 + 2 + 6 + 1 + 1);
    assert!(
        resync.bytes * 20 < output.bytes,
        "{resync:?} of {}",
        output.bytes
    );
    assert_eq!(copied.apply_and_compare().await, 20_000 + 48);
}

#[tokio::test]
async fn a_second_loss_compares_again_and_adds_to_the_totals() {
    let copied = CopiedMove::begin("resync_twice").await;
    for _ in 0..2 {
        copied.lose_slot().await;
        copied
            .change("update public.item set v = v || '!' where id = 5")
            .await;
        capture_with_snapshot(&copied.bench, &copied.context).await;
    }
    copied.lose_slot().await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    let first = copied.copy().await.resync.expect("a comparison");
    assert_eq!((first.tables, first.deleted, first.copied), (2, 1, 1));
    copied.lose_slot().await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    let both = copied.copy().await.resync.expect("a comparison");
    assert_eq!((both.tables, both.copied), (4, 1));
    copied.apply_and_compare().await;
}

/// A lane that was ahead of the progress of the earlier slot must not make the new stream skip changes: on a promoted
/// standby, positions can be smaller than before.
#[tokio::test]
async fn positions_of_the_earlier_slot_do_not_count() {
    let copied = CopiedMove::begin("resync_lane").await;
    copied.lose_slot().await;
    let target = copied.bench.ours(&copied.bench.target).await;
    crate::stream::second_lane::create_row(&target, &copied.bench.token, FORWARD)
        .await
        .expect("a row");
    let far = "update shardwright.progress set lsn = 'FFFF/0' where direction <> 'forward'";
    assert_eq!(target.execute(far, &[]).await.expect("planted"), 1);
    capture_with_snapshot(&copied.bench, &copied.context).await;
    copied.copy().await;
    copied.change(CHANGE).await;
    copied.apply_and_compare().await;
}

#[tokio::test]
async fn after_the_loss_of_the_snapshot_a_table_begins_again_with_a_later_one() {
    let copied = CopiedMove::begin("resync_snapshot").await;
    copied.lose_slot().await;
    copied.change(CHANGE).await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    // As after an interruption between the comparison and the copy of the missing rows.
    let target = copied.bench.ours(&copied.bench.target).await;
    target.batch_execute(REFUSE).await.expect("planted");
    assert!(steps::run(&copied.context, StepKind::Copy).await.is_err());
    let permit = "drop trigger refuse on shardwright.resync_keys";
    target.batch_execute(permit).await.expect("removed");
    end_holders(&copied).await;
    copied
        .change("update public.item set v = 'later' where id % 200 = 7")
        .await;
    let output = copied.copy().await;
    assert_eq!(output.snapshots, 2);
    assert!(output.resync.is_some());
    assert_eq!(copied.apply_and_compare().await, 20_000 + 48);
}

async fn end_holders(copied: &CopiedMove) {
    *copied.context.session.snapshot_holders.lock().await = None;
    let source = copied.bench.ours(&copied.bench.source).await;
    crate::shard::snapshot::end_holders(&source, copied.bench.token.migration.as_str())
        .await
        .expect("ended");
}

/// Of a table that is copied by ranges of keys, the complete ranges are compared, and the others are copied.
#[tokio::test]
async fn units_that_were_not_copied_are_copied_and_not_compared() {
    let mut copied = CopiedMove::begin("resync_units").await;
    let mut tables = copied.bench.tables.to_vec();
    tables[0].copy_by = CopyBy::KeyRanges;
    copied.context.dispatch = Arc::new(Dispatch {
        tables,
        ..(*copied.context.dispatch).clone()
    });
    copied.lose_slot().await;
    let target = copied.bench.ours(&copied.bench.target).await;
    epoch::execute(
        &target,
        &copied.bench.token,
        "delete from public.item where tenant_id >= 102;
         delete from shardwright.chunk where relation = 'public.item';
         insert into shardwright.chunk (migration, ordinal, unit, relation, filenode, from_block, by_key, low, high, snapshot, done)
         select migration, n, n, 'public.item', 0, 0, true, low, high, snapshot, done
         from shardwright.move, (values (1000, null, '101', 0, true), (1001, '101', '102', 0, true),
             (1002, '102', null, null, false)) unit (n, low, high, snapshot, done)",
    )
    .await
    .expect("planted");
    copied.change(CHANGE).await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    let resync: Resynced = copied.copy().await.resync.expect("a comparison");
    assert!(resync.rows < 15_000, "{resync:?}");
    assert_eq!(copied.apply_and_compare().await, 20_000 + 48);
}

/// A comparison deletes rows. It must not on a target that is open, for example because the control store has lost the
/// flip (I8).
#[tokio::test]
async fn nothing_is_deleted_on_a_target_that_is_open() {
    let copied = CopiedMove::begin("resync_open").await;
    copied.lose_slot().await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    let target = copied.bench.ours(&copied.bench.target).await;
    let register = copied.bench.token.migration.register();
    let open = format!("select pg_catalog.setval('shardwright.{register}', 0)");
    target.batch_execute(&open).await.expect("opened");
    let write = "insert into public.note values (100, 'of the owner')";
    target.batch_execute(write).await.expect("written");
    let refused = steps::run(&copied.context, StepKind::Copy).await;
    let code = refused
        .err()
        .and_then(|error| Some(error.failure()?.code.clone()));
    assert_eq!(code.as_deref(), Some("drop.open"));
    let count = "select count(*) from public.note where text = 'of the owner'";
    let row = target.query_one(count, &[]).await.expect("counted");
    assert_eq!(row.get::<_, i64>(0), 1);
}

/// The snapshot of the slot does not see the rows that ALTER TABLE has rewritten since: to a comparison the source would
/// be empty.
#[tokio::test]
async fn a_table_that_was_rewritten_since_the_snapshot_is_compared_with_a_later_one() {
    let copied = CopiedMove::begin("resync_rewritten").await;
    copied.lose_slot().await;
    copied
        .change("update public.item set v = 'new' where id = 5")
        .await;
    capture_with_snapshot(&copied.bench, &copied.context).await;
    copied
        .change("alter table public.item alter v type text using v || ''")
        .await;
    let resync = copied.copy().await.resync.expect("a comparison");
    assert_eq!((resync.deleted, resync.copied), (1, 1));
    assert_eq!(copied.apply_and_compare().await, 20_000 + 50);
}
