//! A take-over of a migration always ends, with any activity of the previous owner, and the previous owner is refused
//! afterwards (R11).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};

use super::bench::{Bench, ITEM, VERSION, code, pid, state, until_blocked};
use super::shard::until;
use crate::error::StepError;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, AttemptCount, EpochProof, EpochToken, ProvenTransaction};
use crate::shard::register;
use crate::shard::sidecar_schema;

/// Counters of the previous owner's sessions.
#[derive(Default)]
struct TurnCounts {
    taken: AtomicBool,
    proved: AtomicU32,
    refused: AtomicU32,
}

/// Runs one transaction of the previous owner. It lasts long enough that other transactions begin.
async fn turn(
    session: &connect::Connected,
    token: &EpochToken,
    seen: &TurnCounts,
) -> Result<(), StepError> {
    let taken = seen.taken.load(Ordering::SeqCst);
    let proof = epoch::begin(session, token).await;
    if proof.as_ref().is_err_and(StepError::is_superseded) {
        seen.refused.fetch_add(1, Ordering::SeqCst);
    }
    proof?;
    assert!(!taken, "the old epoch was accepted after the take-over");
    seen.proved.fetch_add(1, Ordering::SeqCst);
    let _ = session.batch_execute("select pg_sleep(0.03)").await;
    epoch::commit(session, "lane").await
}

async fn lane(shard: Shard, token: EpochToken, seen: Arc<TurnCounts>) {
    let session = shard.session("apply").await.expect("a session");
    while turn(&session, &token, &seen).await.is_ok() {}
}

/// Reconnects each time its session is ended, until it has been refused often enough.
async fn zombie(shard: Shard, token: EpochToken, seen: Arc<TurnCounts>) {
    let mut refused = 0;
    while refused < 20 {
        if let Ok(session) = shard.session("apply").await {
            let ended = turn(&session, &token, &seen).await;
            refused += u32::from(ended.is_err_and(|error| error.is_superseded()));
        }
    }
}

#[tokio::test]
async fn a_take_over_passes_busy_lanes_and_a_zombie_that_reconnects() {
    let bench = Bench::new("take_over", ITEM).await;
    let old = bench.shard(&bench.source, Epoch(1));
    let seen = Arc::new(TurnCounts::default());
    let mut running: Vec<_> = (0..8)
        .map(|_| tokio::spawn(lane(old.clone(), bench.token.clone(), seen.clone())))
        .collect();
    running.push(tokio::spawn(zombie(old, bench.token.clone(), seen.clone())));
    until("every lane works", || async {
        seen.proved.load(Ordering::SeqCst) > 24
    })
    .await;

    let new = bench.shard(&bench.source, Epoch(2));
    let session = new.session("register").await.expect("a session");
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, epoch::take_over(&session, &bench.token_of(2)))
        .await
        .expect("it passes the others")
        .expect("taken");
    seen.taken.store(true, Ordering::SeqCst);
    for task in running {
        task.await.expect("no lane was accepted afterwards");
    }
    assert!(seen.refused.load(Ordering::SeqCst) >= 20);
    let late = epoch::take_over(&session, &bench.token).await;
    assert!(late.expect_err("refused").is_superseded());
}

/// While a session waits for the exclusive lock, a new worker queues after it.
#[tokio::test]
async fn the_queue_of_the_advisory_lock_is_fair() {
    let bench = Bench::new("fair", ITEM).await;
    let (first, second, owner) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    );
    epoch::begin(&first, &bench.token).await.expect("proved");
    let (owner_pid, second_pid) = (pid(&owner).await, pid(&second).await);
    let exclusive = epoch::begin_attempt(&owner, &bench.token, AttemptNo(1));
    let overlapping = async {
        until_blocked(&first, owner_pid).await;
        epoch::begin(&second, &bench.token).await
    };
    tokio::pin!(overlapping);
    let handed_over = async {
        until_blocked(&first, second_pid).await;
        epoch::commit(&first, "first").await.expect("committed");
    };
    tokio::select! {
        begun = exclusive => { begun.expect("granted first"); }
        early = async { tokio::join!(&mut overlapping, handed_over).0 } => panic!("{early:?}"),
    }
    epoch::commit(&owner, "owner").await.expect("committed");
    overlapping.await.expect("granted next");
}

#[tokio::test]
async fn control_overlapping_row_locks_starve_a_take_over() {
    let bench = Bench::new("starved", ITEM).await;
    let owner = bench.ours(&bench.source).await;
    let owner_pid = pid(&owner).await;
    let mut lanes = [
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    ];
    let share = "begin; select from shardwright.move for share";
    lanes[0].batch_execute(share).await.expect("locked");
    let overtaken = async {
        until_blocked(&lanes[0], owner_pid).await;
        for _ in 0..50 {
            lanes[1]
                .batch_execute(share)
                .await
                .expect("locked before the owner");
            lanes[0].batch_execute("commit").await.expect("committed");
            lanes.swap(0, 1);
        }
    };
    let update = owner.batch_execute("update shardwright.move set epoch = 2");
    tokio::select! {
        biased;
        () = overtaken => {}
        early = update => panic!("not starved: {early:?}"),
    }
    lanes[0].batch_execute("commit").await.expect("committed");
}

#[tokio::test]
async fn definitions_of_a_former_owner_are_refused_too() {
    let bench = Bench::new("late_ddl", ITEM).await;
    let former = bench.ours(&bench.source).await;
    let newer = bench.ours(&bench.source).await;
    let sql = "create publication late for table public.item";
    epoch::take_over(&newer, &bench.token_of(2))
        .await
        .expect("taken over");
    // The take-over ends a session with the old epoch, but not one that reconnects.
    drop(former);
    let zombie = bench.source.session().await;
    let refused = epoch::execute(&zombie, &bench.token, sql).await;
    assert_eq!(state(refused), plans::names::SQLSTATE_SUPERSEDED);
    epoch::execute(&zombie, &bench.token_of(2), sql)
        .await
        .expect("the owner may");
}

#[tokio::test]
async fn a_batch_runs_nothing_of_what_is_not_proven() {
    let bench = Bench::new("batch", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (ours, token) = (bench.ours(&bench.source).await, &bench.token);
    let write = format!(
        "select setval('shardwright.{}', 5)",
        token.migration.register()
    );
    let run = async |token: &EpochToken, proof| {
        epoch::transact(&ours, token, proof, &write, "writing").await
    };
    let begun = run(token, EpochProof::Next(AttemptNo(2)))
        .await
        .expect("the next attempt");
    let told = register::notify_of_flip(&ours, token, AttemptNo(2), MapVersion(VERSION + 1));
    let told = told.await.expect("told of the flip");
    assert_eq!((begun, told), (AttemptCount(2000), AttemptCount(2001)));

    let after = EpochToken {
        until: MapVersion(VERSION + 1),
        ..token.clone()
    };
    let former = bench.token_of(0);
    let wrong = [
        (token, EpochProof::Work),
        (&former, EpochProof::Work),
        (token, EpochProof::Count(begun)),
        (&former, EpochProof::Count(told)),
        (token, EpochProof::Next(AttemptNo(1))),
        (&former, EpochProof::Next(AttemptNo(3))),
    ];
    let reset = format!(
        "select setval('shardwright.{}', 0)",
        token.migration.register()
    );
    ours.batch_execute(&reset).await.expect("reset");
    for (token, proof) in wrong {
        assert_eq!(code(run(token, proof).await), "epoch.stale", "{proof:?}");
        assert_eq!(bench.register(&ours).await, 0, "{proof:?}");
    }
    for proof in [EpochProof::Work, EpochProof::Count(told)] {
        assert_eq!(run(&after, proof).await.expect("proven"), told);
        assert_eq!(bench.register(&ours).await, 5);
    }
}

#[tokio::test]
async fn behind_a_transaction_that_is_refused_none_is_run() {
    let bench = Bench::new("in_turn", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (ours, other) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    );
    let (token, former) = (&bench.token, &bench.token_of(0));
    let register = token.migration.register();
    let write = |value: i64| format!("select setval('shardwright.{register}', {value})");
    let (nothing, closed, again) = ("select 1", write(5), write(6));
    let proven = |token, proof, sql| ProvenTransaction { token, proof, sql };
    let text = "writing";
    let in_turn = [
        proven(token, EpochProof::Next(AttemptNo(2)), nothing),
        proven(former, EpochProof::Work, nothing),
        proven(token, EpochProof::LastCount, &closed),
    ];
    let refused = epoch::transact_in_turn(&ours, &in_turn, text).await;
    assert_eq!(code(refused), "epoch.stale");
    assert_eq!(bench.register(&ours).await, 0);

    let same = epoch::transact(&ours, token, EpochProof::LastCount, &closed, text).await;
    assert_eq!(
        same.expect("the first one was committed by itself"),
        AttemptCount(2000)
    );
    let next = epoch::transact(&other, token, EpochProof::Next(AttemptNo(2)), nothing, text).await;
    assert_eq!(next.expect("the next count"), AttemptCount(2001));
    let late = epoch::transact(&ours, token, EpochProof::LastCount, &again, text).await;
    assert_eq!(code(late), "epoch.stale");
    assert_eq!(bench.register(&ours).await, 5);
}

#[tokio::test]
async fn a_migration_that_ends_leaves_the_schema_to_one_that_begins() {
    let bench = Bench::new("enrols", ITEM).await;
    let (ours, other) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    );
    let (app, observer) = (bench.source.session().await, bench.source.session().await);
    sidecar_schema::remove_migration(&ours, &bench.token)
        .await
        .expect("ended");
    assert!(!epoch::schema_exists(&ours).await.expect("read"));
    sidecar_schema::drop_if_unused(&ours)
        .await
        .expect("gone already");

    // The row of the new migration is not committed yet when the other one checks whether any row exists.
    sidecar_schema::create(&ours).await.expect("our schema");
    app.batch_execute(
        "begin; insert into shardwright.move (migration, role, epoch, map, map_version) \
         values ('next', 'source', 1, 'm', 1)",
    )
    .await
    .expect("a row in the way");
    let next = EpochToken {
        migration: MigrationId::from("next"),
        ..bench.token.clone()
    };
    let (begins, ends) = (pid(&ours).await, pid(&other).await);
    let (enrolled, dropped, ()) = tokio::join!(
        sidecar_schema::enrol(&ours, &next, "source", "m"),
        async {
            until_blocked(&observer, begins).await;
            sidecar_schema::drop_if_unused(&other).await
        },
        async {
            until_blocked(&observer, ends).await;
            app.batch_execute("rollback").await.expect("out of the way");
        }
    );
    enrolled.expect("enrolled");
    dropped.expect("looked");
    let there = epoch::is_enrolled(&ours, &next).await.expect("read");
    assert!(there, "the schema was dropped with the row");
}

/// Each is the last one for itself. The session that waits for the other one still has the tables in its cache.
#[tokio::test]
async fn two_migrations_that_end_at_once_drop_the_schema_once() {
    let bench = Bench::new("end_at_once", ITEM).await;
    let waits = bench.ours(&bench.source).await;
    let (first, observer) = (bench.source.session().await, bench.source.session().await);
    for _ in 0..2 {
        let used = sidecar_schema::drop_if_unused(&waits).await;
        used.expect("in use");
    }
    let lock = "begin; select pg_advisory_xact_lock(hashtextextended('shardwright:schema', 0))";
    first.batch_execute(lock).await.expect("the lock");
    let blocked = pid(&waits).await;
    let (dropped, ()) = tokio::join!(sidecar_schema::drop_if_unused(&waits), async {
        until_blocked(&observer, blocked).await;
        let drop = "drop schema shardwright cascade; commit";
        first.batch_execute(drop).await.expect("dropped");
    });
    dropped.expect("gone already");
}

/// Objects that a newer version or the application created in the sidecar schema are not dropped with those of the
/// agent.
#[tokio::test]
async fn what_is_not_ours_stays_in_the_schema() {
    let bench = Bench::new("not_ours", ITEM).await;
    let ours = bench.ours(&bench.source).await;
    let app = bench.source.session().await;
    let others = "
        create table shardwright.notes (id bigserial); insert into shardwright.notes values (1);
        create sequence shardwright.numbers; create view shardwright.seen as select id from shardwright.notes;
        create function shardwright.twice(n integer) returns integer language sql as 'select 2 * n'";
    app.batch_execute(others).await.expect("made");
    let left = "select array(select relname::text from pg_class
                             where relnamespace = 'shardwright'::regnamespace and relkind in ('r', 'S', 'v') order by 1),
                       array(select proname::text from pg_proc where pronamespace = 'shardwright'::regnamespace)";
    sidecar_schema::remove_migration(&ours, &bench.token)
        .await
        .expect("ended");
    let row = app.query_one(left, &[]).await.expect("read");
    let (relations, functions): (Vec<String>, Vec<String>) = (row.get(0), row.get(1));
    assert_eq!(relations, ["notes", "notes_id_seq", "numbers", "seen"]);
    assert_eq!(functions, ["twice"]);
    assert!(!epoch::schema_exists(&ours).await.expect("read"));
}

#[tokio::test]
async fn a_migration_enrols_also_where_the_schema_has_just_been_dropped() {
    let bench = Bench::new("enrols_after", ITEM).await;
    let ours = bench.ours(&bench.source).await;
    sidecar_schema::create(&ours).await.expect("our schema");
    sidecar_schema::remove_migration(&ours, &bench.token)
        .await
        .expect("ended");
    let enrolled = sidecar_schema::enrol(&ours, &bench.token, "source", "m").await;
    enrolled.expect("enrolled");
    let older = EpochToken {
        epoch: Epoch(0),
        ..bench.token.clone()
    };
    let refused = sidecar_schema::enrol(&ours, &older, "source", "m").await;
    assert!(refused.expect_err("refused").is_superseded());
    // No transaction is left open.
    let there = epoch::is_enrolled(&ours, &bench.token).await;
    assert!(there.expect("read"));
}
