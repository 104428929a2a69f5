//! How far hooks were told.

use super::{at, change, seeded, submit};
use orchestrator::store::{HookCursor, Store, StoreError};

contract!(
    a_hook_is_told_of_what_came_after_it,
    a_hook_that_is_known_keeps_its_place,
);

fn cursor(migration: &str, seq: i64, revision: i64) -> HookCursor {
    HookCursor {
        migration: migration.into(),
        seq,
        revision,
    }
}

async fn a_hook_is_told_of_what_came_after_it(store: &dyn Store) {
    let made = seeded(store).await;
    store.add_hook("log", at(1)).await.unwrap();
    assert_eq!(store.hook_backlog("log").await.unwrap(), []);
    assert!(store.commit(&change(&made)).await.unwrap());
    submit(store, "m2", 1, (None, Some(3))).await.unwrap();
    let behind = store.hook_backlog("log").await.unwrap();
    assert_eq!(behind, [cursor("m1", 1, 2), cursor("m2", 0, 1)]);
    store
        .advance_hook("log", &cursor("m1", 2, 2))
        .await
        .unwrap();
    // Told of some of its lines, and not of all.
    store
        .advance_hook("log", &cursor("m2", 1, 0))
        .await
        .unwrap();
    let behind = store.hook_backlog("log").await.unwrap();
    assert_eq!(behind, [cursor("m2", 1, 1)]);
}

async fn a_hook_that_is_known_keeps_its_place(store: &dyn Store) {
    let made = seeded(store).await;
    store.add_hook("log", at(1)).await.unwrap();
    assert!(store.commit(&change(&made)).await.unwrap());
    store.add_hook("log", at(2)).await.unwrap();
    assert_eq!(store.hook_backlog("log").await.unwrap().len(), 1);
    store.add_hook("other", at(2)).await.unwrap();
    assert_eq!(store.hook_backlog("other").await.unwrap(), []);
    let unknown = store.advance_hook("lost", &cursor("m1", 1, 1)).await;
    assert!(
        matches!(unknown, Err(StoreError::Missing { .. })),
        "{unknown:?}"
    );
}
