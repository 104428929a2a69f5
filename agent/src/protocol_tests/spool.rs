//! Captured changes survive the removal of the source's log, the death of the agent, and an unavailable target. A lost
//! spool is reported as a gap.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use plans::id::Epoch;
use plans::names::Direction;
use plans::wire::StreamMode;

use super::apply::{halted, positions, write};
use super::bench::{Bench, ITEM};
use super::confirmed::until_probed_and_reported;
use super::shard::until;
use crate::postgres::lsn::Lsn;
use crate::shard::epoch;
use crate::spool::SpoolLocation;
use crate::stream::ApplyStream;

const FORWARD: Direction = Direction::Forward;

/// A folder for the spools of one test. It is removed when this value is dropped.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(bench: &Bench) -> Self {
        Self::of("a", bench)
    }

    fn of(agent: &str, bench: &Bench) -> Self {
        let name = format!(
            "shardwright-spool-{agent}-{}-{}",
            bench.token.migration,
            std::process::id()
        );
        Self(std::env::temp_dir().join(name))
    }

    fn is_empty(&self) -> bool {
        self.files().next().is_none()
    }

    fn bytes(&self) -> u64 {
        let sizes = self.files().filter_map(|file| file.metadata().ok());
        sizes.map(|file| file.len()).sum()
    }

    fn files(&self) -> impl Iterator<Item = std::fs::DirEntry> {
        let folders = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let files = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
        files.flatten().flatten()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn spooling(bench: &Bench, folder: &Path, apply: bool) -> ApplyStream {
    keeping(bench, folder, apply, 0).await
}

/// As [`spooling`]. The source retains `keep_behind` bytes of log although they are spooled.
async fn keeping(bench: &Bench, folder: &Path, apply: bool, keep_behind: u64) -> ApplyStream {
    let mut spec = bench.spec(FORWARD).await;
    spec.spool = Some(SpoolLocation::new(
        folder,
        &bench.token.migration,
        FORWARD,
        bench.token.epoch,
    ));
    spec.unconfirmed_spool_bytes = keep_behind;
    ApplyStream::start(spec, false, apply)
}

/// Waits until the slot is confirmed up to the source's current log position.
async fn until_captured(bench: &Bench, source: &Connected) {
    let read = "select pg_current_wal_lsn()";
    let written = source.query_one(read, &[]).await.expect("read").get(0);
    // The slot is confirmed only when another message follows.
    let nudge = "select pg_logical_emit_message(true, 'test', 'on')";
    until("everything is captured", || async {
        source.batch_execute(nudge).await.expect("nudged");
        source
            .batch_execute("insert into public.item values (199, -1, 'n') on conflict (tenant_id, id) do update set v = 'm'")
            .await
            .expect("written");
        positions(bench).await.0 >= written
    })
    .await;
}

/// Makes the bench the next owner, with a higher epoch. This ends the sessions of the previous owner.
async fn next_owner(bench: &mut Bench) {
    bench.token.epoch = Epoch(bench.token.epoch.0 + 1);
    for database in [&bench.source, &bench.target] {
        let session = bench.ours(database).await;
        epoch::take_over(&session, &bench.token)
            .await
            .expect("taken");
    }
}

/// Converts a position into the number that the status contains.
fn bytes(position: Lsn) -> i64 {
    i64::try_from(position.0).expect("a log of this size")
}

#[tokio::test]
async fn captured_changes_are_confirmed_before_the_target_has_them_and_applied_later() {
    let bench = Bench::new("spool_later", ITEM).await;
    let folder = Folder::new(&bench);
    bench.capture(FORWARD).await;
    let stream = spooling(&bench, &folder.0, false).await;
    let app = bench.source.session().await;
    let insert = "insert into public.item select 100 + g % 90, g, repeat('x', 100) from generate_series(1, 5000) g";
    app.batch_execute(insert).await.expect("written");
    until_captured(&bench, &app).await;
    let (confirmed, applied) = positions(&bench).await;
    assert!(confirmed > applied, "{confirmed} {applied}");
    assert_eq!(stream.observation().status.mode, StreamMode::Spooling);
    until("the log's end is known", || async {
        stream.observation().status.written_at >= bytes(confirmed)
    })
    .await;
    assert_eq!(stream.observation().status.applied_at, 0);
    stream.set_apply(true);
    bench.drain(&stream).await.expect("drained");
    assert!(stream.observation().status.applied_at >= bytes(confirmed));
    until("the stream is live", || async {
        stream.observation().status.mode == StreamMode::Live
    })
    .await;
    app.batch_execute("update public.item set v = 'live' where id % 7 = 0")
        .await
        .expect("written");
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await >= 5000);
    until("the spool is removed", || async { folder.is_empty() }).await;
}

#[tokio::test]
async fn a_spool_stays_until_the_standbys_of_the_target_have_flushed_its_changes() {
    let bench = Bench::each_alone("spool_standby", ITEM).await;
    let binaries = bench.target.cluster.binaries();
    if !binaries.path("pg_basebackup").is_file() {
        return; // the servers of the test matrix do not include pg_basebackup
    }
    let folder = Folder::new(&bench);
    bench.capture(FORWARD).await;
    let standby = bench.target.standby("spool_standby").await;
    let stream = spooling(&bench, &folder.0, false).await;
    let app = bench.source.session().await;
    let insert = "insert into public.item select 100, g, 'x' from generate_series(1, 100) g";
    app.batch_execute(insert).await.expect("written");
    until_captured(&bench, &app).await;
    standby.cluster.freeze().expect("frozen");
    stream.set_apply(true);
    bench.drain(&stream).await.expect("drained");
    until("the stream is live", || async {
        stream.observation().status.mode == StreamMode::Live
    })
    .await;
    until_probed_and_reported(&bench).await;
    assert!(!folder.is_empty());
    standby.cluster.thaw();
    until("the spool is removed", || async { folder.is_empty() }).await;
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await >= 100);
}

#[tokio::test]
async fn very_large_values_are_not_spooled_and_arrive() {
    let bench = Bench::new("spool_large", ITEM).await;
    let folder = Folder::new(&bench);
    bench.capture(FORWARD).await;
    let stream = spooling(&bench, &folder.0, false).await;
    let app = bench.source.session().await;
    let insert = "insert into public.item select 100, g, repeat(g::text, 4 << 20) from generate_series(1, 3) g";
    app.batch_execute(insert).await.expect("written");
    until_captured(&bench, &app).await;
    assert!(folder.bytes() < 1 << 20, "{}", folder.bytes());
    stream.set_apply(true);
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 4);
}

#[tokio::test]
async fn owners_that_die_at_any_moment_leave_a_spool_that_the_next_one_goes_on_with() {
    let mut bench = Bench::new("spool_killed", ITEM).await;
    let folder = Folder::new(&bench);
    bench.capture(FORWARD).await;
    let stop = AtomicBool::new(false);
    let (one, two) = (bench.source.session().await, bench.source.session().await);
    let dying = async {
        for turn in 0..12 {
            let apply = turn % 3 == 2;
            let stream = spooling(&bench, &folder.0, apply).await;
            let app = bench.source.session().await;
            if apply {
                // The stream is killed while it drains, or immediately afterwards.
                let _ = tokio::time::timeout(
                    std::time::Duration::from_millis(40 * turn),
                    bench.drain(&stream),
                )
                .await;
            } else {
                until_captured(&bench, &app).await;
            }
            drop(stream);
            next_owner(&mut bench).await;
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(write(&one, 5, &stop), write(&two, 6, &stop), dying);
    let stream = spooling(&bench, &folder.0, true).await;
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await > 0);
}

#[tokio::test]
async fn a_spool_that_is_lost_is_a_gap_and_nothing_is_applied_beyond_it() {
    let bench = Bench::new("spool_lost", ITEM).await;
    let folder = Folder::new(&bench);
    bench.capture(FORWARD).await;
    let stream = spooling(&bench, &folder.0, false).await;
    let app = bench.source.session().await;
    app.batch_execute("insert into public.item values (100, 1, 'lost')")
        .await
        .expect("written");
    until_captured(&bench, &app).await;
    stream.stop().await;
    std::fs::remove_dir_all(&folder.0).expect("removed");
    app.batch_execute("insert into public.item values (100, 2, 'after')")
        .await
        .expect("written");
    let stream = spooling(&bench, &folder.0, true).await;
    assert_eq!(halted(&stream).await.0, "slot.gap");
    let target = bench.ours(&bench.target).await;
    assert_eq!(bench.rows(&target).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_without_the_spool_goes_on_from_the_slot_and_an_old_spool_is_put_aside() {
    let mut bench = Bench::new("spool_away", ITEM).await;
    let (one, two) = (Folder::of("one", &bench), Folder::of("two", &bench));
    let keep = 1 << 30;
    bench.capture(FORWARD).await;
    let begin = positions(&bench).await.0;
    let stream = keeping(&bench, &one.0, false, keep).await;
    let app = bench.source.session().await;
    let insert = "insert into public.item select 100 + g % 90, g, repeat('x', 100) from generate_series(1, 3000) g";
    app.batch_execute(insert).await.expect("written");
    until("the changes are in the spool", || async {
        one.bytes() > 300_000
    })
    .await;
    stream.stop().await;
    assert_eq!(positions(&bench).await.0, begin);

    next_owner(&mut bench).await;
    let stream = keeping(&bench, &two.0, true, keep).await;
    bench.drain(&stream).await.expect("drained");
    until("the stream is live", || async {
        stream.observation().status.mode == StreamMode::Live
    })
    .await;
    app.batch_execute("update public.item set v = 'two' where id % 7 = 0")
        .await
        .expect("written");
    bench.drain(&stream).await.expect("drained");
    until("the slot is confirmed beyond the first spool", || async {
        positions(&bench).await.0 > begin
    })
    .await;
    stream.stop().await;

    next_owner(&mut bench).await;
    app.batch_execute("update public.item set v = 'one' where id % 5 = 0")
        .await
        .expect("written");
    let stream = keeping(&bench, &one.0, true, keep).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 3000);
    assert!(one.is_empty());
}

#[tokio::test]
async fn a_stream_that_may_not_apply_any_more_goes_on_capturing() {
    let bench = Bench::new("spool_paused", ITEM).await;
    let folder = Folder::new(&bench);
    bench.capture(FORWARD).await;
    let stream = spooling(&bench, &folder.0, true).await;
    bench.drain(&stream).await.expect("drained");
    stream.set_apply(false);
    until("it spools", || async {
        stream.observation().status.mode == StreamMode::Spooling
    })
    .await;
    let app = bench.source.session().await;
    app.batch_execute("insert into public.item values (100, 1, 'x')")
        .await
        .expect("written");
    until_captured(&bench, &app).await;
    stream.set_apply(true);
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await >= 1);
}

#[tokio::test]
async fn a_slot_is_given_up_before_it_makes_the_source_keep_too_much() {
    let bench = Bench::slow_log("log_limit", ITEM).await;
    bench.capture(FORWARD).await;
    let mut spec = bench.spec(FORWARD).await;
    spec.max_retained_bytes = 8 << 20;
    // Another session has locked the progress row on the target, so the stream can apply nothing.
    let lock = bench.target.session().await;
    lock.batch_execute("begin; select from shardwright.progress for update")
        .await
        .expect("locked");
    let stream = ApplyStream::start(spec, false, true);
    let app = bench.source.session().await;
    let write = "insert into public.item select 100, g, (select string_agg(md5(g::text || n::text), '') from generate_series(1, 50) n) from generate_series(1, 10000) g";
    app.batch_execute(write).await.expect("written");
    assert_eq!(halted(&stream).await.0, "log.limit");
    let left = "select count(*) from pg_replication_slots where slot_name = $1";
    let slot = bench.token.migration.slot(FORWARD);
    let left: i64 = app.query_one(left, &[&slot]).await.expect("read").get(0);
    assert_eq!(left, 0);
}

/// A row that is read again is ahead of the stream until a barrier arrives. The barrier is after everything in the
/// spool.
#[tokio::test]
async fn a_row_that_is_read_again_at_the_end_of_the_spool_arrives_and_the_spool_goes() {
    let ddl = "create table public.item (tenant_id bigint, id bigint, v text, big text, primary key (tenant_id, id)); \
               alter table public.item alter column big set storage external";
    let bench = Bench::new("spool_ahead", ddl).await;
    let folder = Folder::new(&bench);
    let app = bench.source.session().await;
    let large = "insert into public.item values (50, 1, 'v', repeat('0123456789', 2000))";
    app.batch_execute(large).await.expect("inserted");
    bench.capture(FORWARD).await;
    let stream = spooling(&bench, &folder.0, false).await;
    let into = "update public.item set tenant_id = 100";
    app.batch_execute(into).await.expect("moved in");
    until_captured(&bench, &app).await;
    stream.set_apply(true);
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
    until("the spool is gone", || async { folder.is_empty() }).await;
    let last = "update public.item set v = 'last'";
    app.batch_execute(last).await.expect("changed");
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 2);
}
