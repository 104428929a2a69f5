//! The register is set only by the current attempt, with the advisory lock (R1, R3, R4).

use super::bench::{Bench, ITEM, VERSION, code, pid, state, until_blocked};
use super::shard::{LIMIT, until};
use crate::shard::epoch::{self, AttemptCount, EpochToken};
use crate::shard::register::{self, RegisterSetting, ShardOpening};
use plans::id::{AttemptNo, MapVersion};
use plans::names::Direction;

const CLOSED: i64 = i64::MAX;

#[tokio::test]
async fn a_late_seal_of_a_released_attempt_is_refused() {
    let bench = Bench::new("late_seal", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (seal, release) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    );
    let token = &bench.token;
    let count =
        register::begin_and_set(&seal, token, AttemptNo(1), RegisterSetting::FencedFor(2000))
            .await
            .expect("fenced");

    let lane = bench.ours(&bench.source).await;
    epoch::begin(&lane, token).await.expect("proved");
    let (seal_pid, release_pid) = (pid(&seal).await, pid(&release).await);
    let released = register::begin_and_set(&release, token, AttemptNo(1), RegisterSetting::Open);
    let sealed = async {
        until_blocked(&lane, release_pid).await;
        register::set(&seal, token, count, RegisterSetting::Closed).await
    };
    let unblocked = async {
        until_blocked(&lane, seal_pid).await;
        epoch::commit(&lane, "lane").await
    };
    let (released, sealed, unblocked) = tokio::join!(released, sealed, unblocked);
    unblocked.expect("committed");
    assert_eq!(released.expect("released"), AttemptCount(count.0 + 1));
    assert_eq!(code(sealed), "epoch.stale");
    assert_eq!(bench.register(&lane).await, 0);
}

/// A proof of the epoch alone cannot distinguish a late seal from a current one. The keys would stay closed although
/// the move is aborted.
#[tokio::test]
async fn control_a_proof_of_the_epoch_alone_lets_a_late_seal_close_the_keys() {
    let bench = Bench::new("epoch_only", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let session = bench.ours(&bench.source).await;
    register::begin_and_set(
        &session,
        &bench.token,
        AttemptNo(1),
        RegisterSetting::FencedFor(2000),
    )
    .await
    .expect("fenced");
    register::begin_and_set(&session, &bench.token, AttemptNo(1), RegisterSetting::Open)
        .await
        .expect("released");
    epoch::begin(&session, &bench.token)
        .await
        .expect("the epoch is current");
    let seal = format!(
        "select setval('shardwright.{}', {CLOSED}); commit",
        bench.token.migration.register()
    );
    session.batch_execute(&seal).await.expect("set");
    assert_eq!(bench.register(&session).await, CLOSED);
}

#[tokio::test]
async fn a_late_release_does_not_open_what_the_next_attempt_sealed() {
    let bench = Bench::new("late_release", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (late, retry) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    );
    let token = &bench.token;
    register::begin_and_set(&late, token, AttemptNo(1), RegisterSetting::FencedFor(2000))
        .await
        .expect("fenced");
    let count = register::begin_and_set(
        &retry,
        token,
        AttemptNo(2),
        RegisterSetting::FencedFor(2000),
    )
    .await
    .expect("fenced again");
    register::set(&retry, token, count, RegisterSetting::Closed)
        .await
        .expect("sealed");

    let released = register::begin_and_set(&late, token, AttemptNo(1), RegisterSetting::Open).await;
    assert_eq!(code(released), "epoch.stale");
    assert_eq!(bench.register(&retry).await, CLOSED);
    let witnessed =
        register::begin_and_check_witness(&late, token, AttemptNo(1), MapVersion(7)).await;
    assert_eq!(
        code(witnessed),
        "epoch.stale",
        "not even the count is its own"
    );
}

#[tokio::test]
async fn the_register_does_not_move_while_the_lock_is_waited_for() {
    let bench = Bench::new("below_lock", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (zombie, owner) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.source).await,
    );
    let count = epoch::begin_attempt(&zombie, &bench.token, AttemptNo(1))
        .await
        .expect("begun");
    epoch::commit(&zombie, "begun").await.expect("begun");

    owner.batch_execute(TAKE).await.expect("taken");
    let zombie_pid = pid(&zombie).await;
    let late = register::set(&zombie, &bench.token, count, RegisterSetting::Closed);
    let (late, ()) = tokio::join!(late, async {
        until_blocked(&owner, zombie_pid).await;
        assert_eq!(bench.register(&owner).await, 0, "it waits");
        owner.batch_execute("commit").await.expect("committed");
    });
    assert_eq!(code(late), "epoch.stale");
    assert_eq!(bench.register(&owner).await, 0);
}

const TAKE: &str = "begin; update shardwright.move set epoch = 2";

#[tokio::test]
async fn control_setval_in_the_statement_that_locks_runs_before_the_lock_is_granted() {
    for lock in ["share", "update"] {
        let bench = Bench::new(&format!("locks_{lock}"), ITEM).await;
        bench.guard(&bench.source, 0).await;
        let (zombie, owner) = (
            bench.ours(&bench.source).await,
            bench.ours(&bench.source).await,
        );
        owner.batch_execute(TAKE).await.expect("taken");
        let zombie_pid = pid(&zombie).await;
        let naive = format!(
            "select setval('shardwright.{}', {CLOSED}) from shardwright.move where epoch = 1 for {lock}",
            bench.token.migration.register()
        );
        let late = zombie.query(&naive, &[]);
        let (late, ()) = tokio::join!(late, async {
            until_blocked(&owner, zombie_pid).await;
            assert_eq!(bench.register(&owner).await, CLOSED, "moved below the lock");
            owner.batch_execute("commit").await.expect("committed");
        });
        assert!(late.expect("an answer").is_empty(), "and told nobody");
    }
}

#[tokio::test]
async fn a_witness_of_a_flip_that_the_store_lost_stops_the_fence() {
    let bench = Bench::new("witness", ITEM).await;
    bench.guard(&bench.target, CLOSED).await;
    let session = bench.ours(&bench.target).await;
    let token = &bench.token;
    register::begin_and_check_witness(&session, token, AttemptNo(1), MapVersion(7))
        .await
        .expect("closed and never told");
    register::notify_of_flip(&session, token, AttemptNo(1), MapVersion(8))
        .await
        .expect("told");
    assert_eq!(
        code(register::begin_and_check_witness(&session, token, AttemptNo(2), MapVersion(7)).await),
        "flip.lost"
    );
    register::begin_and_check_witness(&session, token, AttemptNo(3), MapVersion(8))
        .await
        .expect("told of nothing newer");
    register::begin_and_set(&session, token, AttemptNo(4), RegisterSetting::Open)
        .await
        .expect("opened");
    assert_eq!(
        code(register::begin_and_check_witness(&session, token, AttemptNo(5), MapVersion(8)).await),
        "flip.lost"
    );
}

#[tokio::test]
async fn a_fence_says_until_when_on_the_clock_of_its_shard() {
    let bench = Bench::new("fence_clock", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let session = bench.ours(&bench.source).await;
    register::begin_and_set(
        &session,
        &bench.token,
        AttemptNo(1),
        RegisterSetting::FencedFor(30_000),
    )
    .await
    .expect("fenced");
    let write = "insert into public.item values (100, 1, 'x')";
    assert_eq!(state(session.execute(write, &[]).await), "SM001");
    let left = format!(
        "select last_value - (extract(epoch from clock_timestamp()) * 1000)::bigint from shardwright.{}",
        bench.token.migration.register()
    );
    let left: i64 = session.query_one(&left, &[]).await.expect("read").get(0);
    assert!((0..=30_000).contains(&left), "{left} ms");
}

/// Opens the target of a bench after the flip. Returns the reported delays.
async fn opened(bench: &Bench) -> Vec<String> {
    let ours = bench.ours(&bench.target).await;
    let delays = std::sync::Mutex::new(Vec::new());
    let opening = ShardOpening {
        client: &ours,
        token: &bench.token,
        after: &EpochToken {
            until: bench.token.until.next(),
            ..bench.token.clone()
        },
        number: AttemptNo(1),
        version: MapVersion(VERSION + 1),
    };
    let delayed = |why: &str| delays.lock().expect("told").push(why.to_owned());
    let done = tokio::time::timeout(LIMIT, opening.open(delayed)).await;
    done.expect("in time").expect("open");
    assert_eq!(bench.register(&ours).await, 0);
    delays.into_inner().expect("told")
}

/// A session of the agent has lost its client, and the server has not noticed it: its transaction is open and holds the
/// migration's lock.
#[tokio::test]
async fn a_lost_session_of_ours_does_not_delay_the_opening() {
    let bench = Bench::new("open_lost", ITEM).await;
    bench.guard(&bench.target, i64::MAX).await;
    assert!(opened(&bench).await.is_empty(), "nothing is in its way");

    let bench = Bench::new("open_held", ITEM).await;
    bench.guard(&bench.target, i64::MAX).await;
    let lost = bench.ours(&bench.target).await;
    epoch::begin(&lost, &bench.token).await.expect("proved");
    let delays = opened(&bench).await;
    assert!(delays[0].contains("shard t to take writes"), "{delays:?}");
    assert!(lost.batch_execute("select").await.is_err(), "it was ended");
}

#[tokio::test]
async fn a_session_of_somebody_else_is_waited_for_and_named_and_not_ended() {
    let bench = Bench::new("open_other", ITEM).await;
    bench.guard(&bench.target, i64::MAX).await;
    let other = bench.target.session().await;
    let key = epoch::lock_key(&bench.token.migration);
    let hold = format!("begin; select pg_advisory_xact_lock_shared({key})");
    other.batch_execute(&hold).await.expect("locked");
    let observer = bench.target.session().await;
    let releasing = async {
        until("the opening waits", || async {
            let waits = "select exists (select from pg_stat_activity
                         where wait_event = 'advisory' and datname = current_database())";
            observer.query_one(waits, &[]).await.expect("read").get(0)
        })
        .await;
        other.batch_execute("commit").await.expect("not ended");
    };
    tokio::join!(opened(&bench), releasing);
}

/// A shard whose state is from before its opening lacks rows: a restored copy, or a standby that lagged.
#[tokio::test]
async fn only_a_shard_that_owns_the_keys_by_its_own_records_is_opened_again() {
    let bench = Bench::new("opens_again", ITEM).await;
    for database in [&bench.source, &bench.target] {
        bench.guard(database, CLOSED).await;
    }
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let (token, again) = (&bench.token, RegisterSetting::OpenAgain);
    let refused = register::begin_and_set(&target, token, AttemptNo(1), again).await;
    assert_eq!(code(refused), "register.outdated");
    assert_eq!(bench.register(&target).await, CLOSED);
    assert_eq!(
        code(register::require_owner(&target, token, Direction::Reverse).await),
        "register.outdated"
    );

    register::begin_and_set(&source, token, AttemptNo(1), again)
        .await
        .expect("it has never given the keys away");
    assert_eq!(bench.register(&source).await, 0);
    register::begin_and_set(&target, token, AttemptNo(1), RegisterSetting::Open)
        .await
        .expect("it becomes the owner");
    register::begin_and_set(&target, token, AttemptNo(2), RegisterSetting::Closed)
        .await
        .expect("sealed");
    assert_eq!(
        code(register::require_owner(&target, token, Direction::Reverse).await),
        "register.outdated"
    );
    register::begin_and_set(&target, token, AttemptNo(2), again)
        .await
        .expect("it is the owner");
    register::require_owner(&target, token, Direction::Reverse)
        .await
        .expect("open");

    let swapped = register::require_owner(&source, token, Direction::Reverse).await;
    assert_eq!(code(swapped), "drop.role");

    register::notify_of_flip(&source, token, AttemptNo(2), MapVersion(VERSION + 1))
        .await
        .expect("notified");
    let refused = register::begin_and_set(&source, token, AttemptNo(3), again).await;
    assert_eq!(code(refused), "register.outdated");
}
