//! A seal holds a migration and its map as they are, until its flip is kept or it is dropped.

use super::{at, beat, change, flip, owned, seeded, written};
use crate::fixture::keys;
use orchestrator::store::{Store, StoreError};
use plans::id::{MapName, MapVersion, MigrationId};
use plans::state::cutover::Ownership;
use std::sync::Arc;

contract!(
    a_sealed_migration_cannot_be_changed_but_beats,
    a_flip_that_is_written_is_none_before_its_commit,
    a_flip_makes_the_next_version,
    a_dropped_seal_changes_nothing,
    a_seal_shows_what_was_written_since_the_last_one,
);

async fn a_sealed_migration_cannot_be_changed_but_beats(store: &dyn Store) {
    let made = seeded(store).await;
    store.commit(&owned(&made)).await.unwrap();
    let id = MigrationId::from("m1");
    let sealed = store.seal(&id).await.unwrap();
    let error = store.commit(&change(sealed.snapshot())).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    let beats = [beat("m1")];
    let extended = store.extend_leases(&"x1".into(), at(9), &beats).await;
    assert_eq!(extended.unwrap(), ["m1".into()]);
    let free = change(sealed.snapshot());
    sealed.release().await;
    assert!(store.commit(&free).await.unwrap());
}

async fn a_flip_that_is_written_is_none_before_its_commit(store: &dyn Store) {
    let name = MapName::from("tenants");
    let before = seeded(store).await;
    let id = before.migration.id.clone();
    let as_before = || async {
        assert_eq!(
            store.map(&name).await.unwrap().unwrap().version,
            MapVersion(1)
        );
        assert_eq!(store.load(&id).await.unwrap().unwrap(), before);
    };
    let (sealed, _) = written(store, &id).await;
    as_before().await;
    sealed.release().await;
    as_before().await;
    let (sealed, _) = written(store, &id).await;
    drop(sealed);
    assert_eq!(flip(store, &id).await, MapVersion(2));
}

async fn a_flip_makes_the_next_version(store: &dyn Store) {
    seeded(store).await;
    let id = MigrationId::from("m1");
    let name = MapName::from("tenants");
    let before = store.map(&name).await.unwrap().unwrap();
    let expected = before
        .with_moved(&keys(Some(5), None), &"a".into(), &"b".into(), &id)
        .unwrap();
    assert_eq!(flip(store, &id).await, MapVersion(2));
    assert_eq!(*store.map(&name).await.unwrap().unwrap(), expected);
    let old = store.map_at(&name, MapVersion(1)).await.unwrap();
    assert_eq!(old, Some(before));
    assert!(store.map_at(&name, MapVersion(3)).await.unwrap().is_none());
    let history = store.history(&name).await.unwrap();
    let counts: Vec<_> = history
        .iter()
        .map(|v| (v.version.0, v.pieces, v.added, v.removed))
        .collect();
    assert_eq!(counts, [(1, 1, 1, 0), (2, 2, 2, 1)]);
    assert_eq!(history[1].migration, Some(id.clone()));
    let read = store.load(&id).await.unwrap().unwrap();
    assert_eq!(read.migration.ownership, Ownership::Flipped);
    assert_eq!(store.maps().await.unwrap(), [Arc::new(expected)]);
}

async fn a_dropped_seal_changes_nothing(store: &dyn Store) {
    let made = seeded(store).await;
    drop(store.seal(&made.migration.id).await.unwrap());
    assert!(store.commit(&change(&made)).await.unwrap());
}

async fn a_seal_shows_what_was_written_since_the_last_one(store: &dyn Store) {
    let made = seeded(store).await;
    let id = &made.migration.id;
    let sealed = store.seal(id).await.unwrap();
    assert_eq!(sealed.snapshot(), &made);
    sealed.release().await;
    assert!(store.commit(&change(&made)).await.unwrap());
    let sealed = store.seal(id).await.unwrap();
    let revision = sealed.snapshot().migration.revision;
    assert_eq!(revision, made.migration.revision + 1);
    let mut next = sealed.map().clone();
    sealed.release().await;
    next.version = next.version.next();
    store.put_version(&next, "op").await.unwrap();
    let sealed = store.seal(id).await.unwrap();
    assert_eq!(sealed.snapshot().migration.revision, revision);
    assert_eq!(sealed.map(), &next);
}
