//! Health signals of a real server: a standby that does not follow, sessions of other clients, and the duration of a
//! commit.

use std::sync::Arc;

use cluster::{Cluster, Options};
use tokio::sync::Mutex;

use super::bench::{Bench, ITEM};
use super::shard::until;
use crate::shard::load::{self, LoadHistory};

/// Starts a standby with the name `lagging`.
async fn standby(primary: Arc<Cluster>) -> Arc<Cluster> {
    let made = tokio::task::spawn_blocking(move || {
        // The primary, which tests share, has the same number.
        let options = Options::temporary("strain-standby")
            .setting("fsync", "off")
            .setting("max_wal_senders", "100");
        let standby = primary.standby("lagging", options).expect("copied");
        standby.start().expect("started");
        Arc::new(standby)
    });
    made.await.expect("made")
}

#[tokio::test]
async fn a_standby_that_stands_still_is_behind_until_it_goes_on() {
    let bench = Bench::each_alone("strain", ITEM).await;
    let primary = bench.source.cluster.clone();
    if !primary.binaries().path("pg_basebackup").is_file() {
        return; // the servers of the test matrix do not include pg_basebackup
    }
    let standby = standby(primary).await;
    let dsn = standby.dsn("postgres", "postgres");
    let dsn = connect::Dsn::parse(&dsn).expect("a connection string");
    let there = connect::connect(&dsn, &connect::Session::named("test"))
        .await
        .expect("a session");
    let session = bench.ours(&bench.source).await;
    let history = Mutex::new(LoadHistory::default());
    let behind = || async {
        let looked = load::probe(&session, &mut *history.lock().await).await;
        let replicas = looked.expect("seen").replicas;
        let lagging = replicas.iter().find(|replica| replica.name == "lagging");
        lagging.map(|replica| replica.lag_s)
    };
    until("it follows", || async { behind().await == Some(0.0) }).await;
    there
        .batch_execute("select pg_wal_replay_pause()")
        .await
        .expect("paused");
    let app = bench.source.session().await;
    app.batch_execute("insert into public.item values (1, 1, 'x')")
        .await
        .expect("written");
    until("it is behind", || async {
        behind().await.is_some_and(|seconds| seconds > 1.5)
    })
    .await;
    there
        .batch_execute("select pg_wal_replay_resume()")
        .await
        .expect("resumed");
    until("it is level", || async { behind().await == Some(0.0) }).await;
}

#[tokio::test]
async fn a_checkpoint_and_what_is_written_are_seen() {
    let bench = Bench::each_alone("written", ITEM).await;
    let session = bench.ours(&bench.source).await;
    let app = bench.source.session().await;
    let history = Mutex::new(LoadHistory::default());
    let looked = || async {
        let looked = load::probe(&session, &mut *history.lock().await).await;
        looked.expect("seen")
    };
    assert_eq!(looked().await.checkpoint_s, None);
    let write = "select pg_logical_emit_message(false, 'other', repeat('x', 100000)); checkpoint";
    // The server stores the start of a checkpoint with a precision of one second.
    until("it is seen how far apart two checkpoints began", || async {
        app.batch_execute(write).await.expect("written");
        looked()
            .await
            .checkpoint_s
            .is_some_and(|apart| apart >= 1.0)
    })
    .await;
    until("it is seen how much is written", || async {
        app.batch_execute(write).await.expect("written");
        looked().await.wal_bytes_s.is_some_and(|rate| rate > 1000.0)
    })
    .await;
}

#[tokio::test]
async fn sessions_of_others_count_and_our_own_do_not() {
    let bench = Bench::each_alone("strained", ITEM).await;
    let session = bench.ours(&bench.source).await;
    let mut history = LoadHistory::default();
    let app = bench.source.session().await;
    let take = "select pg_advisory_lock(1)";
    app.batch_execute(take).await.expect("taken");
    let (theirs, ours) = (
        bench.source.session().await,
        bench.ours(&bench.source).await,
    );
    let waiters =
        [theirs, ours].map(|waiter| tokio::spawn(async move { waiter.batch_execute(take).await }));
    let waiting = "select count(*) = 2 from pg_locks where not granted";
    until("both wait", || async {
        app.query_one(waiting, &[]).await.expect("read").get(0)
    })
    .await;
    let load = load::probe(&session, &mut history).await.expect("seen");
    assert_eq!((load.waiting, load.active), (Some(1), Some(1)));
    let token = &bench.token;
    load::time_commit(&session, token).await.expect("committed");
    let former = bench.token_of(0);
    let late = load::time_commit(&session, &former).await;
    assert!(late.expect_err("refused").is_superseded());
    waiters.iter().for_each(tokio::task::JoinHandle::abort);
}
