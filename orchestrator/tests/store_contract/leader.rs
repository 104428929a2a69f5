//! Terms: who leads, and that nobody writes under a term that is over.

use super::writes::{OTHERS, audited, methods, write};
use super::{at, register, seeded};
use crate::fixture::{Database, candidate, fleeting, lead, until};
use orchestrator::store::memory::MemoryStore;
use orchestrator::store::pg::PgStore;
use orchestrator::store::{AccessStore, LeaderStore, NewShard, Store, StoreError, Term};
use plans::id::MapVersion;
use std::sync::Arc;
use std::time::Duration;

async fn is_leader(store: &dyn Store, candidate: &orchestrator::store::LeaderCandidate) -> bool {
    store.campaign(candidate).await.unwrap().holder == candidate.holder
}

/// `old` and `new` are two processes on one store.
async fn every_write_is_refused_under_a_term_that_is_over(old: &dyn Store, new: &dyn Store) {
    lead(old).await;
    old.campaign(&fleeting("test")).await.unwrap();
    seeded(old).await;
    let written: Vec<_> = methods()
        .into_iter()
        .filter(|name| !OTHERS.contains(name))
        .collect();
    assert!(written.len() >= 14, "{written:?}");
    for method in written {
        assert!(is_leader(old, &fleeting("old")).await);
        assert!(is_leader(new, &fleeting("new")).await);
        let refused = write(old, method).await;
        assert!(
            matches!(refused, Err(StoreError::NotLeading)),
            "{method}: {refused:?}"
        );
        assert_eq!(old.term(), None, "{method}");
        write(new, method)
            .await
            .unwrap_or_else(|error| panic!("{method}: {error:?}"));
    }
}

/// What a heartbeat is answered rests on it, whether the agent holds anything or not.
async fn leases_of_nothing_are_refused_under_a_term_that_is_over(old: &dyn Store, new: &dyn Store) {
    assert!(is_leader(old, &fleeting("old")).await);
    let nothing = old.extend_leases(&"x1".into(), at(9), &[]).await;
    assert_eq!(nothing.unwrap(), []);
    assert!(is_leader(new, &fleeting("new")).await);
    let refused = old.extend_leases(&"x1".into(), at(9), &[]).await;
    assert!(
        matches!(refused, Err(StoreError::NotLeading)),
        "{refused:?}"
    );
    assert_eq!(old.term(), None);
}

async fn a_follower_writes_nothing(store: &dyn Store) {
    let new = NewShard::plain("a".into(), "host=x".to_owned());
    let refused = store.add_shard(&new).await;
    assert!(
        matches!(refused, Err(StoreError::NotLeading)),
        "{refused:?}"
    );
    assert_eq!(store.leader().await.unwrap(), None);
    lead(store).await;
    store.step_down();
    assert!(matches!(
        store.add_shard(&new).await,
        Err(StoreError::NotLeading)
    ));
}

async fn a_lease_is_renewed_under_one_term_and_taken_over_under_the_next(
    one: &dyn Store,
    two: &dyn Store,
) {
    assert_eq!(one.campaign(&candidate("one")).await.unwrap().term, Term(1));
    let renewed = one.campaign(&candidate("one")).await.unwrap();
    assert_eq!((renewed.term, renewed.live), (Term(1), true));
    let seen = two.campaign(&candidate("two")).await.unwrap();
    assert_eq!(
        (seen.term, seen.holder, seen.url.as_str()),
        (Term(1), "one".into(), "http://one")
    );
    assert_eq!((one.term(), two.term()), (Some(Term(1)), None));
    one.campaign(&fleeting("one")).await.unwrap();
    let taken = two.campaign(&candidate("two")).await.unwrap();
    assert_eq!((taken.term, taken.holder), (Term(2), "two".into()));
    let seen = one.campaign(&candidate("one")).await.unwrap();
    assert_eq!((seen.term, seen.holder), (Term(2), "two".into()));
    assert_eq!((one.term(), two.term()), (None, Some(Term(2))));
}

async fn a_lease_that_was_given_up_is_free_at_once(one: &dyn Store, two: &dyn Store) {
    lead(one).await;
    one.resign().await.unwrap();
    assert_eq!(one.term(), None);
    assert!(!one.leader().await.unwrap().unwrap().live);
    assert!(is_leader(two, &candidate("two")).await);
}

/// The answer to the take-over, or the lease itself, was lost on the way.
async fn its_own_lease_is_taken_over_under_a_new_term(store: &dyn Store) {
    assert_eq!(
        store.campaign(&candidate("one")).await.unwrap().term,
        Term(1)
    );
    store.step_down();
    assert_eq!(
        store.campaign(&candidate("one")).await.unwrap().term,
        Term(2)
    );
}

async fn a_flip_under_a_term_that_is_over_is_refused(old: &dyn Store, new: &dyn Store) {
    assert!(is_leader(old, &fleeting("old")).await);
    let id = seeded(old).await.migration.id;
    let mut sealed = old.seal(&id).await.unwrap();
    let moving = sealed.snapshot().migration.plan.moving.clone();
    let next = sealed
        .map()
        .with_moved(&moving.keys, &moving.source, &moving.target, &id)
        .unwrap();
    let flip = super::start(sealed.snapshot());
    sealed.write(&flip, &next).await.unwrap();
    let limit = Duration::from_secs(60);
    let taken = tokio::time::timeout(limit, is_leader(new, &candidate("new"))).await;
    assert!(taken.expect("the sealed row holds nobody off"));
    sealed.commit().await.unwrap_err();
    assert_eq!(
        new.map(&next.name).await.unwrap().unwrap().version,
        MapVersion(1)
    );
    // The row is free: the seal went with its session.
    new.seal(&id).await.unwrap().release().await;
}

macro_rules! two_processes {
    ($($name:ident),* $(,)?) => {
        mod memory_of_two {
            $(#[tokio::test]
            async fn $name() {
                let one = orchestrator::store::memory::MemoryStore::new();
                super::$name(&one, &one.for_another_process()).await;
            })*
        }
        mod pg_of_two {
            $(#[tokio::test]
            async fn $name() {
                let database = crate::fixture::Database::new().await;
                super::$name(&database.store().await, &database.store().await).await;
            })*
        }
    };
}

two_processes!(
    every_write_is_refused_under_a_term_that_is_over,
    leases_of_nothing_are_refused_under_a_term_that_is_over,
    a_lease_is_renewed_under_one_term_and_taken_over_under_the_next,
    a_lease_that_was_given_up_is_free_at_once,
    a_flip_under_a_term_that_is_over_is_refused,
);

#[tokio::test]
async fn a_store_is_opened_by_a_follower() {
    a_follower_writes_nothing(&MemoryStore::new()).await;
    a_follower_writes_nothing(&Database::new().await.store().await).await;
}

#[tokio::test]
async fn a_leader_that_is_unsure_begins_a_new_term() {
    its_own_lease_is_taken_over_under_a_new_term(&MemoryStore::new()).await;
    its_own_lease_is_taken_over_under_a_new_term(&Database::new().await.store().await).await;
}

/// What no method of today can do, a method of tomorrow cannot either.
#[tokio::test]
async fn the_database_refuses_what_proves_no_term() {
    let database = Database::new().await;
    let store = database.led().await;
    register(&store, &["a"]).await;
    let pool = database.pool().await;
    let bare: Vec<(String,)> = sqlx::query_as(
        "select c.relname::text from pg_class c where c.relnamespace = 'shardwright'::regnamespace \
         and c.relkind = 'r' and not exists (select from pg_trigger t where t.tgrelid = c.oid \
         and t.tgname = 'led_only' and t.tgenabled = 'O') order by 1",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    let bare: Vec<&str> = bare.iter().map(|(name,)| name.as_str()).collect();
    assert_eq!(bare, ["_sqlx_migrations", "leader", "store_identity"]);
    for statement in [
        "update shardwright.shard set capacity = 1",
        "truncate shardwright.step",
        "update shardwright.leader set term = 0",
        "delete from shardwright.leader",
        "update shardwright.leader set holder = 'x'",
    ] {
        let error = sqlx::query(statement).execute(&pool).await.unwrap_err();
        let said = error.to_string();
        let refused =
            said.contains("under the term of the controller") || said.contains("terms only grow");
        assert!(refused, "{statement}: {said}");
    }
}

#[tokio::test]
async fn a_process_that_is_gone_is_followed_at_once() {
    let database = Database::new().await;
    let gone = database.led().await;
    let next = database.store().await;
    assert!(!is_leader(&next, &candidate("next")).await);
    drop(gone);
    // The server notices that the session ended.
    until("followed", || async {
        is_leader(&next, &candidate("next")).await.then_some(())
    })
    .await;
    assert_eq!(next.term(), Some(Term(2)));
}

/// Writes that overlap hold no take-over off, and none is under way when it returns (R11).
#[tokio::test]
async fn writes_that_overlap_do_not_outlast_their_term() {
    let database = Database::new().await;
    let old = Arc::new(database.store().await);
    assert!(is_leader(old.as_ref(), &fleeting("old")).await);
    let new = database.store().await;
    let writers: Vec<_> = (0..6)
        .map(|_| tokio::spawn(hammer(Arc::clone(&old))))
        .collect();
    until("written", || async {
        (!old.audit(10, None).await.unwrap().is_empty()).then_some(())
    })
    .await;
    let limit = Duration::from_secs(60);
    let taken = tokio::time::timeout(limit, is_leader(&new, &candidate("new"))).await;
    assert!(taken.expect("writers hold nobody off"));
    let count = new.audit(1_000_000, None).await.unwrap().len();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(new.audit(1_000_000, None).await.unwrap().len(), count);
}

/// Writes until it is refused.
async fn hammer(store: Arc<PgStore>) {
    while !matches!(
        store.add_audit(&audited("written")).await,
        Err(StoreError::NotLeading)
    ) {}
}

#[tokio::test]
async fn of_processes_that_start_at_one_moment_one_leads() {
    let database = Database::new().await;
    let stand = |name: &'static str| {
        let database = &database;
        async move {
            let store = database.store().await;
            let leader = store.campaign(&candidate(name)).await.unwrap();
            (store, leader)
        }
    };
    let (one, two, three) = tokio::join!(stand("one"), stand("two"), stand("three"));
    let all = [one, two, three];
    assert_eq!(
        all.iter()
            .filter(|(store, _)| store.term().is_some())
            .count(),
        1
    );
    for (store, seen) in &all {
        assert_eq!(store.leader().await.unwrap().unwrap().holder, seen.holder);
    }
}

#[tokio::test]
async fn a_controller_waits_for_another_one_that_makes_the_schema() {
    let database = Database::new().await;
    let pool = database.pool().await;
    let mut other = pool.begin().await.unwrap();
    let create = sqlx::query("create schema shardwright");
    create.execute(&mut *other).await.unwrap();
    let waiting = "select exists (select from pg_stat_activity where datname = current_database() \
        and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '1500 ms')";
    let waited = async {
        until("it waits longer than for any other lock", || async {
            let (waits,): (bool,) = sqlx::query_as(waiting).fetch_one(&pool).await.unwrap();
            waits.then_some(())
        })
        .await;
        other.rollback().await.unwrap();
    };
    let (store, ()) = tokio::join!(database.store(), waited);
    store.ping().await.unwrap();
}
