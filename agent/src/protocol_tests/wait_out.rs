//! The wait-out: the agent identifies writers from before the fence by their virtual transaction id and their locks,
//! which they keep until they end (R14).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::id::{AttemptNo, MapName};
use plans::names::Direction;
use plans::table::MovingTable;
use tokio::time::Instant;

use super::bench::{Bench, ITEM, code, pid};
use super::cutover::committed_before;
use super::shard::{LIMIT, until};
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::wait_out::{virtual_transaction, wait_out, writers};
use crate::shard::epoch::{self, AttemptCount, EpochProof, EpochToken};
use crate::shard::guard::GuardedRows;
use crate::shard::long_writers::find_obstacles;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::marker_after_wait::{self, AwaitedWriters, MarkerAfterWait};
use crate::shard::register::{self, RegisterSetting};

const FORWARD: Direction = Direction::Forward;

/// Waits until a session has executed its query for the writers, with a start time after this call.
async fn until_polled(observer: &Connected, waiter: i32) {
    let now = "select clock_timestamp()::text";
    let now: String = observer.query_one(now, &[]).await.expect("a time").get(0);
    until("the writers were listed", || async {
        let read = "select state = 'idle' and query like '%virtualtransaction%' \
                    and query_start > $2::text::timestamptz from pg_stat_activity where pid = $1";
        let row = observer.query_one(read, &[&waiter, &now]).await;
        row.expect("read").get(0)
    })
    .await;
}

/// Waits until a session waits for an advisory lock.
pub(super) async fn until_queued(observer: &Connected, waiter: i32) {
    until("it waits for the lock", || async {
        let read = "select wait_event = 'advisory' from pg_stat_activity where pid = $1";
        let row = observer.query_one(read, &[&waiter]).await.expect("read");
        row.get::<_, Option<bool>>(0).unwrap_or_default()
    })
    .await;
}

/// Returns the writers by pid, as a simpler wait-out would list them.
async fn pids(observer: &Connected) -> Vec<i32> {
    let read = "select distinct pid from pg_locks where pid is not null \
                and relation = 'public.item'::regclass and mode = 'RowExclusiveLock'";
    let rows = observer.query(read, &[]).await.expect("locks");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_writer_that_prepares_meanwhile_is_waited_for_until_its_second_phase() {
    let bench = Bench::new("prepares", ITEM).await;
    let (writer, observer) = (bench.source.session().await, bench.source.session().await);
    let write = "begin; insert into public.item values (100, 1, 'x')";
    writer.batch_execute(write).await.expect("written");
    let by_pid = pids(&observer).await;
    assert_eq!(by_pid, [pid(&writer).await]);

    let session = bench.ours(&bench.source).await;
    let waiter = pid(&session).await;
    let tables = bench.tables.clone();
    let waiting =
        tokio::spawn(async move { wait_out(&session, &tables, Instant::now() + LIMIT).await });
    until_polled(&observer, waiter).await;
    let prepare = "prepare transaction 'meanwhile'";
    writer.batch_execute(prepare).await.expect("prepared");
    assert!(pids(&observer).await.is_empty(), "by pid it has ended");
    until_polled(&observer, waiter).await;
    assert!(!waiting.is_finished());
    let old = find_obstacles(&observer, &bench.tables, 1000).await;
    assert_eq!(old.expect("read").len(), 1, "the gate names it");

    let commit = "commit prepared 'meanwhile'";
    writer.batch_execute(commit).await.expect("committed");
    waiting.await.expect("no panic").expect("waited out");
}

#[tokio::test]
async fn who_comes_later_or_only_reads_is_not_waited_for() {
    let bench = Bench::new("later", ITEM).await;
    let session = bench.ours(&bench.source).await;
    let sessions = [
        (bench.source.session().await, "select from public.item"),
        (
            bench.source.session().await,
            "select from public.item for update",
        ),
        (bench.ours(&bench.source).await, "delete from public.item"),
    ];
    for (other, statement) in &sessions {
        let open = format!("begin; {statement}");
        other.batch_execute(&open).await.expect("open");
    }
    let list = writers(&session, &bench.tables).await.expect("listed");
    assert!(list.is_empty(), "{list:?}");

    let first = bench.source.session().await;
    let second = bench.source.session().await;
    let write = "begin; delete from public.item where id = 0";
    first.batch_execute(write).await.expect("open");
    let before = writers(&session, &bench.tables).await.expect("listed");
    second.batch_execute(write).await.expect("open");
    let after = writers(&session, &bench.tables).await.expect("listed");
    assert_eq!((before.len(), after.len()), (1, 2));
    let soon = Instant::now() + Duration::from_millis(50);
    let over = wait_out(&session, &bench.tables, soon).await;
    assert_eq!(code(over), "wait_out.budget");
}

/// A session of the agent that writes a marker after the writers have ended.
pub(super) struct Marking {
    pub(super) session: Connected,
    pub(super) token: EpochToken,
    pub(super) tables: Arc<Vec<MovingTable>>,
    pub(super) marker: Marker,
}

/// Prepares a session of the agent for a cutover.
pub(super) async fn prepare(bench: &Bench, session: &Connected) {
    let guarded = GuardedRows {
        keys: &bench.keys,
        tables: &bench.tables,
    };
    marker_after_wait::prepare(session, &bench.token, &MapName::from("m"), guarded)
        .await
        .expect("prepared");
}

impl Marking {
    /// Creates the session on a shard with a new guard. The slot retains changes from now on.
    pub(super) async fn new(bench: &Bench) -> Arc<Self> {
        bench.guard(&bench.source, 0).await;
        Self::behind_its_guard(bench).await
    }

    /// As [`Marking::new`], on a shard that has a guard.
    pub(super) async fn behind_its_guard(bench: &Bench) -> Arc<Self> {
        bench.capture(FORWARD).await;
        let session = bench.ours(&bench.source).await;
        prepare(bench, &session).await;
        Arc::new(Self {
            session,
            token: bench.token.clone(),
            tables: bench.tables.clone(),
            marker: Marker::new(&bench.token, AttemptNo(1), MarkerKind::Fenced),
        })
    }

    pub(super) fn behind(&self) -> MarkerAfterWait<'_> {
        MarkerAfterWait {
            client: &self.session,
            token: &self.token,
            marker: &self.marker,
        }
    }

    /// Returns all writers.
    pub(super) fn writers(&self) -> AwaitedWriters<'_> {
        AwaitedWriters::Writers {
            tables: &self.tables,
            except: "",
        }
    }

    pub(super) async fn fence(&self) -> Result<(AttemptCount, BTreeSet<String>), StepError> {
        let fence = RegisterSetting::FencedFor(50_000);
        let behind = self.behind();
        behind
            .set_and_mark(EpochProof::Next(AttemptNo(1)), fence, self.writers())
            .await
    }

    /// Returns the number of markers in the log.
    pub(super) async fn markers(&self, observer: &Connected) -> i64 {
        let migration = &self.token.migration;
        let read = format!(
            "select count(*) from pg_logical_slot_peek_binary_changes('{}', null, null,
               'proto_version', '1', 'messages', 'true', 'publication_names', '{}')
             where get_byte(data, 0) = ascii('M')",
            migration.slot(FORWARD),
            migration.publication(FORWARD)
        );
        observer.query_one(&read, &[]).await.expect("read").get(0)
    }
}

#[tokio::test]
async fn who_came_while_the_register_was_being_closed_is_before_the_marker() {
    let bench = Bench::new("behind", ITEM).await;
    let marking = Marking::new(&bench).await;
    let (holder, writer) = (bench.source.session().await, bench.source.session().await);

    // A worker of ours delays the fence; an application reads "open" meanwhile, and does not commit yet.
    let key = epoch::lock_key(&bench.token.migration);
    let hold = format!("begin; select pg_advisory_xact_lock_shared({key})");
    holder.batch_execute(&hold).await.expect("held");
    let waiter = pid(&marking.session).await;
    let task = tokio::spawn({
        let marking = Arc::clone(&marking);
        async move { marking.fence().await }
    });
    until_queued(&holder, waiter).await;
    let write = "begin; insert into public.item values (100, 1, 'x')";
    writer.batch_execute(write).await.expect("written");
    holder.batch_execute("commit").await.expect("let go");
    let (count, remembered) = task.await.expect("no panic").expect("fenced");
    assert_eq!((count, remembered.len()), (AttemptCount(1000), 1));
    let soon = Instant::now() + Duration::from_millis(50);
    let over = marking
        .behind()
        .wait_and_mark(remembered.clone(), soon)
        .await;
    assert_eq!(code(over), "wait_out.budget");
    assert_eq!(marking.markers(&holder).await, 0);

    writer.batch_execute("commit").await.expect("committed");
    let late = Instant::now() + LIMIT;
    let written = marking.behind().wait_and_mark(remembered, late).await;
    written.expect("waited out");
    assert_eq!(marking.markers(&holder).await, 1);
    let before = committed_before(&bench, Lsn(u64::MAX), &marking.marker).await;
    assert_eq!(before, BTreeSet::from([1]));
}

#[tokio::test]
async fn where_nobody_writes_the_marker_comes_with_the_register_and_once() {
    let bench = Bench::new("at_once", ITEM).await;
    let marking = Marking::new(&bench).await;
    let observer = bench.source.session().await;
    let (count, writers) = marking.fence().await.expect("fenced");
    assert_eq!((count, writers.len()), (AttemptCount(1000), 0));
    assert_eq!(marking.markers(&observer).await, 1);
    let over = Instant::now();
    let written = marking.behind().wait_and_mark(writers, over).await;
    written.expect("it is there");
    assert_eq!(marking.markers(&observer).await, 1);

    // A process that was suspended and continues late must neither close the register nor write a marker (R3).
    let release = register::begin_and_set(
        &marking.session,
        &bench.token,
        AttemptNo(1),
        RegisterSetting::Open,
    );
    assert_eq!(release.await.expect("released"), AttemptCount(1001));
    let (proof, closed) = (EpochProof::Count(count), RegisterSetting::Closed);
    let behind = marking.behind();
    let late = behind
        .set_and_mark(proof, closed, AwaitedWriters::PassedExpiredFence)
        .await;
    assert!(late.expect_err("another count").is_superseded());
    assert_eq!(marking.markers(&observer).await, 1);
    assert_eq!(bench.register(&observer).await, 0);
}

#[tokio::test]
async fn the_session_that_reads_under_a_writers_lock_is_left_out_and_no_other_one() {
    let bench = Bench::new("own_reader", ITEM).await;
    let marking = Marking::new(&bench).await;
    let (reader, writer) = (bench.source.session().await, bench.source.session().await);
    let read = "begin; lock table public.item in row exclusive mode";
    reader.batch_execute(read).await.expect("locked");
    let except = &virtual_transaction(&reader).await.expect("its number");
    let who = || AwaitedWriters::Writers {
        tables: &marking.tables,
        except,
    };
    let listed = marking.behind().mark_or_list(marking.writers()).await;
    assert_eq!(listed.expect("all"), BTreeSet::from([except.clone()]));
    let write = "begin; insert into public.item values (200, 1, 'x')";
    writer.batch_execute(write).await.expect("written");
    let other = virtual_transaction(&writer).await.expect("its number");
    let listed = marking.behind().mark_or_list(who()).await;
    assert_eq!(listed.expect("others"), BTreeSet::from([other]));
    writer.batch_execute("rollback").await.expect("ended");
    let listed = marking.behind().mark_or_list(who()).await;
    assert!(listed.expect("nothing is left").is_empty());
    // The next transaction has another virtual transaction id.
    let again = format!("rollback; {read}");
    reader.batch_execute(&again).await.expect("locked");
    let listed = marking.behind().mark_or_list(who()).await;
    assert_eq!(listed.expect("the next").len(), 1);
}
