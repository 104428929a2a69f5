//! Moves of one operation with the same source are read by one reader. A failure of one move does not affect the
//! others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use futures::future::join_all;
use plans::id::MigrationId;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::wire::Dispatch;
use serde_json::Value;

use super::apply::write;
use super::bench::{Bench, ITEM};
use super::interrupted::after_preflight;
use super::shard::{Shard as Database, until};
use super::spool::Folder;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ReplicationSession, SlotOptions};
use crate::shard::publication;
use crate::shared_scan::participants::{ExpectedParticipant, SharedScan};
use crate::steps;

const FORWARD: Direction = Direction::Forward;
/// Rows that no writer changes, with keys below and above those that writers change. They fill more than one chunk.
const BULK: &str = "insert into public.item select 80 + g % 15 + g % 2 * 25, g, repeat('x', 300)
    from generate_series(1000, 21000) g";

/// One move of an operation, before its copy.
struct Move {
    bench: Bench,
    context: StepContext,
    _spools: Folder,
}

/// Returns the keys from `from` to before `to`.
fn keys(from: i64, to: i64) -> KeySet {
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

/// Returns the key sets of three moves. Rows below 80 and from 120 on do not move.
fn thirds() -> [KeySet; 3] {
    [keys(80, 99), keys(99, 102), keys(102, 120)]
}

/// Creates the publication, the slot with its snapshot, and the first progress row, as the step `open_capture` does.
pub(super) async fn capture_with_snapshot(bench: &Bench, context: &StepContext) {
    let session = bench.ours(&bench.source).await;
    let filtered: Vec<String> = bench
        .tables
        .iter()
        .map(|table| format!("{} where {}", table.table.sql(), bench.predicate()))
        .collect();
    publication::create(&session, &bench.token, FORWARD, &filtered)
        .await
        .expect("published");
    let options = SlotOptions {
        temporary: false,
        export: true,
        failover: false,
    };
    let mut replication = ReplicationSession::open(&bench.source.dsn(), "test")
        .await
        .expect("opened");
    let slot = bench.token.migration.slot(FORWARD);
    let made = replication.create_slot(&slot, options).await;
    let made = made.expect("a slot");
    let exported = made.snapshot.expect("exported");
    let source = context.source().expect("the source");
    steps::record_slot_snapshot(context, &source, &exported)
        .await
        .expect("recorded");
    bench
        .set_progress(&bench.target, FORWARD, made.consistent_point)
        .await;
}

impl Move {
    /// Creates a move. Its capture is open, and no row is copied.
    async fn begin(source: &Database, operation: &str, number: usize, keys: KeySet) -> Self {
        let name = format!("{operation}{number}");
        let bench = Bench::of_move(source, &name, ITEM, keys).await;
        let spools = Folder::new(&bench);
        let mut context = after_preflight(&bench, StepKind::Copy, &spools).await;
        context.dispatch = Arc::new(Dispatch {
            operation: Some(MigrationId::from(operation)),
            ..(*context.dispatch).clone()
        });
        let made = Self {
            bench,
            context,
            _spools: spools,
        };
        capture_with_snapshot(&made.bench, &made.context).await;
        made
    }

    fn comes(&self) {
        self.context
            .session
            .set_expected_participant(ExpectedParticipant::for_dispatch(&self.context.dispatch));
    }

    async fn copy(&self) -> Result<Copied, StepError> {
        let done = steps::run(&self.context, StepKind::Copy).await;
        done.map(|output: Value| serde_json::from_value(output).expect("its output"))
    }

    /// Applies the captured changes and compares every row. Returns the number of rows.
    async fn level(&self) -> usize {
        self.context.ensure_stream(FORWARD).await.expect("a stream");
        {
            let stream = self.context.session.stream.lock().await;
            let stream = stream.as_ref().expect("a stream");
            self.bench.drain(stream).await.expect("drained");
        }
        self.context.session.stop_stream().await;
        self.context.spool().remove().await.expect("removed");
        self.bench.assert_equal().await
    }

    /// Returns the snapshots with which the chunks were copied.
    async fn snapshots(&self) -> Vec<i32> {
        let session = self.bench.target.session().await;
        let read = "select distinct snapshot from shardwright.chunk order by 1";
        let rows = session.query(read, &[]).await.expect("read");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// Creates a source with rows, and the moves of its parts.
async fn parts(operation: &str) -> (Database, Vec<Move>) {
    let source = Database::new(&format!("{operation}_s")).await;
    let app = source.session().await;
    app.batch_execute(ITEM).await.expect("schema");
    app.batch_execute(BULK).await.expect("filled");
    let mut moves = Vec::new();
    for (number, keys) in thirds().into_iter().enumerate() {
        moves.push(Move::begin(&source, operation, number, keys).await);
    }
    (source, moves)
}

/// Copies all moves at the same time.
async fn copy_all(moves: &[Move]) -> Vec<Result<Copied, StepError>> {
    moves.iter().for_each(Move::comes);
    join_all(moves.iter().map(Move::copy)).await
}

/// Returns the number of rows that sequential scans have read since the server started. Waits first until every copying
/// session has reported its statistics.
async fn rows_read(source: &Database) -> i64 {
    let admin = source.session().await;
    let ours = "select count(*) = 0 from pg_stat_activity
                where datname = current_database() and application_name like 'shardwright/%/copy/%'";
    until("sessions have told what they read", async || {
        admin.query_one(ours, &[]).await.expect("read").get(0)
    })
    .await;
    let read = "select seq_tup_read from pg_stat_user_tables where relname = 'item'";
    admin.query_one(read, &[]).await.expect("read").get(0)
}

#[tokio::test]
async fn three_moves_read_each_row_once() {
    let (source, moves) = parts("readonce").await;
    let app = source.session().await;
    let rows = "select count(*) from public.item";
    let rows: i64 = app.query_one(rows, &[]).await.expect("counted").get(0);
    drop(app);
    let before = rows_read(&source).await;
    let copied: Result<Vec<Copied>, _> = copy_all(&moves).await.into_iter().collect();
    let copied = copied.expect("copied");
    for one in &moves {
        one.context.session.stop_stream().await;
    }
    assert_eq!(rows_read(&source).await - before, rows);
    let sum: i64 = copied.iter().map(|one| one.rows).sum();
    assert_eq!(sum, rows);
    for one in &moves {
        assert_eq!(one.snapshots().await, [1]);
        one.level().await;
    }
}

#[tokio::test]
async fn rows_that_are_written_meanwhile_and_change_hands_arrive_once() {
    let (source, moves) = parts("readbeside").await;
    let stop = AtomicBool::new(false);
    let (one, two) = (source.session().await, source.session().await);
    let copying = async {
        let copied = copy_all(&moves).await;
        stop.store(true, Ordering::SeqCst);
        copied
    };
    let (copied, (), ()) = tokio::join!(copying, write(&one, 5, &stop), write(&two, 6, &stop));
    for (one, copied) in moves.iter().zip(copied) {
        assert_eq!(copied.expect("copied").snapshots, 2);
        assert_eq!(one.snapshots().await, [1], "read together");
        assert!(one.level().await > 0);
    }
}

/// Returns the sessions that copy into a target and wait for a lock there.
async fn blocked(admin: &Connected) -> Vec<i32> {
    let read = "select pid from pg_stat_activity where datname = current_database()
                and wait_event_type = 'Lock' and query like 'copy %'";
    let rows = admin.query(read, &[]).await.expect("read");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Blocks writes to the table of a target, so that a chunk that is read for it stops.
async fn hold(of: &Move) -> (Connected, Connected) {
    let (holder, admin) = (
        of.bench.target.session().await,
        of.bench.target.session().await,
    );
    let halt = "create function public.held() returns trigger language plpgsql as
          $$ begin perform pg_catalog.pg_advisory_xact_lock_shared(4711); return null; end $$;
        create trigger held before insert on public.item for each statement execute function public.held();
        alter table public.item enable always trigger held";
    holder.batch_execute(halt).await.expect("a trigger");
    let lock = "begin; select pg_catalog.pg_advisory_xact_lock(4711)";
    holder.batch_execute(lock).await.expect("locked");
    (holder, admin)
}

#[tokio::test]
async fn a_target_that_fails_in_the_middle_of_a_chunk_fails_alone() {
    let (_source, moves) = parts("onefails").await;
    let (holder, admin) = hold(&moves[1]).await;
    let killing = async {
        until("a chunk is on its way", async || {
            !blocked(&admin).await.is_empty()
        })
        .await;
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = current_database() and query like 'copy %'";
        admin.execute(end, &[]).await.expect("ended");
    };
    let (mut copied, ()) = tokio::join!(copy_all(&moves), killing);
    let failed = copied.remove(1).expect_err("its session was ended");
    assert_eq!(failed.failure().expect("a failure").code, "sql.57P01");
    for one in copied {
        one.expect("the others are copied");
    }
    holder.batch_execute("rollback").await.expect("let go");
    let again = moves[1].copy().await.expect("copied");
    assert!(again.rows > 0 || again.units == 1);
    for one in &moves {
        one.level().await;
    }
}

#[tokio::test]
async fn who_is_given_up_in_the_middle_of_a_chunk_leaves_the_others_to_copy_it() {
    for held in 0..3 {
        let (_source, moves) = parts(&format!("givenup{held}")).await;
        let (holder, admin) = hold(&moves[held]).await;
        moves.iter().for_each(Move::comes);
        let others = moves.iter().enumerate().filter(|(at, _)| *at != held);
        let given_up = async {
            let ended = tokio::select! {
                copied = moves[held].copy() => Some(copied),
                () = until("a chunk is on its way", async || !blocked(&admin).await.is_empty()) => None,
            };
            assert!(ended.is_none(), "{ended:?}");
        };
        let (copied, ()) = tokio::join!(join_all(others.map(|(_, one)| one.copy())), given_up);
        for one in copied {
            one.expect("the others are copied");
        }
        holder.batch_execute("rollback").await.expect("let go");
        moves[held].copy().await.expect("copied");
        for one in &moves {
            one.level().await;
        }
    }
}

/// A snapshot was taken for two moves before the slots of the other moves were created. Changes between the snapshot
/// and the slots are in none of their streams, and not in that snapshot.
#[tokio::test]
async fn a_snapshot_that_is_older_than_a_moves_slot_is_not_copied_with() {
    let (source, mut moves) = parts("tooold").await;
    let last = moves.pop().expect("three");
    let scan = SharedScan::of(&last.context.dispatch);
    assert!(scan.is_some());
    for one in copy_all(&moves).await {
        one.expect("copied");
    }
    let app = source.session().await;
    let late = "insert into public.item values (121, 1, 'late'), (131, 1, 'late')";
    app.batch_execute(late).await.expect("written");
    let later = [
        Move::begin(&source, "tooold", 3, keys(120, 130)).await,
        Move::begin(&source, "tooold", 4, keys(130, 140)).await,
    ];
    for one in copy_all(&later).await {
        one.expect("copied");
    }
    for one in &later {
        assert_eq!(one.snapshots().await, [1]);
        assert_eq!(one.level().await, 1);
    }
    drop(scan);
}

/// Each move commits its own barrier after the snapshot, whichever move has taken the snapshot (G2).
#[tokio::test]
async fn a_barrier_of_each_move_stands_behind_the_snapshot_of_all() {
    let (source, moves) = parts("barriers").await;
    let app = source.session().await;
    let watch = "select pg_create_logical_replication_slot('barriers_watch', 'pgoutput')::text";
    app.query_one(watch, &[]).await.expect("a slot");
    let at: Lsn = {
        let read = "select pg_current_wal_lsn()";
        app.query_one(read, &[]).await.expect("read").get(0)
    };
    for one in copy_all(&moves).await {
        one.expect("copied");
    }
    let mut texts = Vec::new();
    for one in &moves {
        let target = one.bench.target.session().await;
        let read = "select snapshot, barrier from shardwright.snapshot where number = 1";
        let row = target.query_one(read, &[]).await.expect("read");
        texts.push(row.get::<_, String>(0));
        assert!(row.get::<_, Lsn>(1) > at);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "one snapshot");
    let publication = moves[0].bench.token.migration.publication(FORWARD);
    let read = format!(
        "select count(distinct data) from pg_logical_slot_peek_binary_changes('barriers_watch', null, null,
             'proto_version', '1', 'publication_names', '{publication}', 'messages', 'true')
         where pg_catalog.get_byte(data, 0) = pg_catalog.ascii('M')"
    );
    let barriers: i64 = app.query_one(&read, &[]).await.expect("read").get(0);
    assert_eq!(barriers, 3, "a barrier each");
    let end = "select pg_drop_replication_slot('barriers_watch')";
    app.execute(end, &[]).await.expect("dropped");
    for one in &moves {
        one.level().await;
    }
}
