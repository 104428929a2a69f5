//! Shards that are standbys: their objects are copies of their primary's.

use super::*;

/// The identity of the database of shard `a`, or of a standby of it.
fn identity(timeline: i32, standby: bool, id: Option<&str>) -> DatabaseIdentity {
    DatabaseIdentity {
        system: "1".to_owned(),
        timeline,
        database: Some(5),
        id: id.map(str::to_owned),
        standby,
    }
}

fn observed(server: DatabaseIdentity) -> ObservedServer {
    ObservedServer {
        number: 2,
        server,
        flushed: 2000,
        missing: 0,
    }
}

/// Shard `a` and shard `b`, which has the objects of `a`: a row of the source with an open register.
fn copies(server_of_b: DatabaseIdentity) -> [Inventory; 2] {
    let objects = || vec![row("source", None, 0, true)];
    let mut inventories = [shard("a", objects()), shard("b", objects())];
    inventories[0].server = identity(1, false, Some("a"));
    inventories[1].server = server_of_b;
    inventories
}

/// The store knows `b` as `server`.
fn knows(mut known: StoreKnowledge, server: DatabaseIdentity) -> StoreKnowledge {
    let servers = [
        ("a", observed(identity(1, false, Some("a")))),
        ("b", observed(server)),
    ];
    known.servers = servers
        .map(|(name, server)| (ShardName::from(name), server))
        .into();
    known
        .servers
        .get_mut(&ShardName::from("a"))
        .unwrap()
        .flushed = 1000;
    known
}

#[test]
fn the_objects_of_a_standby_prove_nothing_and_are_not_closed() {
    let standby = identity(1, true, None);
    let registered = knows(known(Ownership::Ready, None, BEFORE), standby.clone());
    assert_eq!(compare(&registered, &copies(standby.clone())), []);
    // The same objects on a database of its own are a contradiction.
    let own = identity(1, false, Some("b"));
    let mut primary = knows(known(Ownership::Ready, None, BEFORE), own.clone());
    primary.servers.remove(&ShardName::from("b"));
    let found = kinds(&primary, &copies(own));
    assert_eq!(found, [(ContradictionKind::KeysOpen, "b".to_owned())]);
    // A standby whose source failed over follows to the next timeline.
    let later = identity(2, true, None);
    assert_eq!(compare(&registered, &copies(later)), []);
    assert_eq!(registered.from_own_databases(&copies(standby)).len(), 1);
}

#[test]
fn only_a_migration_promotes_a_registered_standby() {
    let promoted = copies(identity(2, false, Some("a")));
    let mut registered = knows(
        known(Ownership::Ready, None, BEFORE),
        identity(1, true, None),
    );
    let [finding] = compare(&registered, &promoted).try_into().unwrap();
    assert_eq!(
        (finding.kind, finding.shard.as_str(), &finding.close),
        (ContradictionKind::FailedOver, "b", &None)
    );
    assert!(
        finding.message.contains("no migration is promoting it"),
        "{}",
        finding.message
    );
    assert!(
        finding.hint.contains("create the standby again"),
        "{}",
        finding.hint
    );
    // Its objects stay copies until the result of the step `promote` is registered.
    registered.moves[0].promotes = true;
    assert_eq!(compare(&registered, &promoted), []);
    assert_eq!(registered.from_own_databases(&promoted).len(), 1);
    registered.moves[0].finished = true;
    assert_eq!(kinds(&registered, &promoted).len(), 1);
}

#[test]
fn a_shard_that_became_a_standby_is_reported() {
    let own = identity(1, false, Some("b"));
    let standby = copies(identity(1, true, None));
    let used = knows(known(Ownership::Ready, None, BEFORE), own.clone());
    let [finding] = compare(&used, &standby).try_into().unwrap();
    assert_eq!(finding.kind, ContradictionKind::OtherServer);
    assert_eq!(
        finding.hint,
        "register the primary's address: `shardwright shard set b --dsn ...`"
    );
    let unused = knows(StoreKnowledge::default(), own);
    let [finding] = compare(&unused, &standby).try_into().unwrap();
    assert!(
        finding.hint.contains("reconcile --accept b"),
        "{}",
        finding.hint
    );
}
