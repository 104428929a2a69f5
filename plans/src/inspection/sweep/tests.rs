//! What a sweep removes, and what it keeps.

use super::*;
use crate::id::MapVersion;
use crate::identity::DatabaseIdentity;
use crate::inspection::inventory::{
    About, AwaySeen, CLOSED, Inventory, MoveSeen, Object, ObjectKind, Whose,
};
use crate::key::{Key, KeyType};
use crate::shard_map::{MapSettings, Mapping, MappingState, Strategy};

fn keys() -> KeySet {
    KeySet::range(Some(Key::Int(50)), Some(Key::Int(100)))
}

fn inventory(shard: &str, role: &str, flipped: Option<i64>, register: i64) -> Inventory {
    let id = MigrationId::from("x");
    let object = |kind, name: &str| Object {
        kind,
        name: name.to_owned(),
        on: None,
        whose: Whose::Migration(id.clone()),
    };
    Inventory {
        shard: ShardName::from(shard),
        server: DatabaseIdentity::default(),
        flushed: 0,
        objects: vec![
            object(ObjectKind::Slot, "shardwright_x_fwd"),
            object(ObjectKind::Register, "own_x"),
        ],
        similar: Vec::new(),
        moves: vec![MoveSeen {
            migration: id.clone(),
            role: role.to_owned(),
            epoch: 1,
            attempt: 0,
            map: MapName::from("m"),
            map_version: 1,
            flipped,
            register: Some(register),
            guards: 4,
            owns: false,
            brought: role == "target",
            about: Some(About {
                incarnation: "lost".to_owned(),
                source: ShardName::from("a"),
                target: ShardName::from("b"),
                keys: keys(),
                tables: Vec::new(),
            }),
        }],
        away: Vec::new(),
        given: Vec::new(),
    }
}

/// The map with all its keys on one shard.
fn map(owner: &str) -> ShardMap {
    ShardMap {
        name: MapName::from("m"),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: "i".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: vec![Mapping {
            keys: KeySet::range(None, None),
            shard: ShardName::from(owner),
            state: MappingState::Active,
        }],
    }
}

/// The store that ordered the migrations, without their map.
fn own_store() -> Ground {
    Ground {
        incarnation: "lost".to_owned(),
        ..Ground::default()
    }
}

fn owner(shard: &str) -> Ground {
    Ground {
        owners: BTreeMap::from([(MapName::from("m"), ShardName::from(shard))]),
        ..Ground::default()
    }
}

/// Verdicts of slot and register, and what becomes of the guards.
fn judged(ground: &Ground, seen: &[Inventory]) -> (Verdict, Verdict, Option<Guards>) {
    let (leftovers, mut sweeps) = judge(ground, seen).remove(0);
    let guards = match sweeps.pop() {
        Some(Sweep::Migration { guards, .. }) => guards,
        Some(Sweep::Away { .. } | Sweep::Looks) | None => None,
    };
    (leftovers[0].verdict, leftovers[1].verdict, guards)
}

#[test]
fn streams_go_and_a_refusal_waits_for_who_owns_the_keys() {
    let closed = [inventory("a", "source", Some(2), CLOSED)];
    let (slot, register, guards) = judged(&own_store(), &closed);
    assert_eq!((slot, register), (Verdict::Remove, Verdict::Decide));
    assert_eq!(guards, None);
    let (_, register, guards) = judged(&owner("b"), &closed);
    assert_eq!(register, Verdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
    let (_, register, guards) = judged(&owner("a"), &closed);
    assert_eq!((register, guards.unwrap().refuse), (Verdict::Remove, None));
}

#[test]
fn an_open_shard_is_closed_where_another_one_is_named() {
    let open = [inventory("b", "target", Some(2), 0)];
    assert_eq!(judged(&own_store(), &open).1, Verdict::Remove);
    let (_, register, guards) = judged(&owner("a"), &open);
    assert_eq!(register, Verdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
}

#[test]
fn a_target_that_was_never_open_is_no_owner_and_gives_its_copy_up() {
    let closed = [inventory("b", "target", None, CLOSED)];
    let (_, register, guards) = judged(&owner("a"), &closed);
    assert_eq!(register, Verdict::Remove);
    assert!(guards.unwrap().brought);
}

#[test]
fn a_target_that_was_never_open_is_opened_where_it_is_named_and_nobody_else_takes_writes() {
    let closed = inventory("b", "target", None, CLOSED);
    let named = Ground {
        maps: vec![Arc::new(map("b"))],
        ..Ground::default()
    };
    assert_eq!(
        judged(&named, std::slice::from_ref(&closed)).1,
        Verdict::Decide
    );
    let mut source = inventory("a", "source", None, 0);
    let seen = [closed.clone(), source.clone()];
    assert_eq!(judged(&owner("b"), &seen).1, Verdict::Decide, "a is open");
    source.away = vec![AwaySeen {
        map: MapName::from("m"),
        keys: keys(),
        version: 2,
        guards: 3,
    }];
    let (_, register, guards) = judged(&owner("b"), &[closed, source]);
    assert_eq!(register, Verdict::Remove);
    assert!(!guards.unwrap().brought, "its rows are the owner's");
}

#[test]
fn what_was_brought_stays_while_a_live_migration_brings_the_same_keys() {
    let mut seen = [inventory("b", "target", None, CLOSED)];
    let mut other = seen[0].moves[0].clone();
    other.migration = MigrationId::from("y");
    let brought = |seen: &[Inventory], ground: &Ground| {
        let (_, register, guards) = judged(ground, seen);
        (register, guards.is_some_and(|guards| guards.brought))
    };
    let live = Ground {
        live: BTreeSet::from([MigrationId::from("y")]),
        ..owner("a")
    };
    seen[0].moves.push(other.clone());
    assert_eq!(brought(&seen, &live), (Verdict::Decide, false));
    // Both were left: what both brought goes.
    assert_eq!(brought(&seen, &owner("a")), (Verdict::Remove, true));
    let (_, _, guards) = judged(&owner("a"), &seen);
    assert_eq!(guards.unwrap().left_too, [MigrationId::from("y")]);
    // The other one was opened: clients have written there.
    seen[0].moves[1].flipped = Some(5);
    assert_eq!(brought(&seen, &owner("a")), (Verdict::Decide, false));
    other.about.as_mut().unwrap().keys = KeySet::range(Some(Key::Int(100)), None);
    seen[0].moves[1] = other;
    assert_eq!(brought(&seen, &live), (Verdict::Remove, true), "other keys");
}

#[test]
fn a_map_that_may_have_lost_the_flip_opens_no_source() {
    let source = inventory("a", "source", Some(2), CLOSED);
    let named = Ground {
        maps: vec![Arc::new(map("a"))],
        ..Ground::default()
    };
    let with = |target: Inventory| judged(&named, &[source.clone(), target]).1;
    // Both were told of the same flip, and the target is open.
    assert_eq!(with(inventory("b", "target", Some(2), 0)), Verdict::Decide);
    assert_eq!(
        judged(&named, std::slice::from_ref(&source)).1,
        Verdict::Decide,
        "b was not seen"
    );
    assert_eq!(
        with(inventory("b", "target", None, CLOSED)),
        Verdict::Remove
    );
}

#[test]
fn a_live_migration_and_one_that_somebody_works_for_are_left_alone() {
    let mut seen = [inventory("a", "source", None, 0)];
    let live = Ground {
        live: BTreeSet::from([MigrationId::from("x")]),
        ..Ground::default()
    };
    let keeps = |ground: &Ground, seen: &[Inventory]| {
        let (leftovers, sweeps) = judge(ground, seen).remove(0);
        sweeps.is_empty() && leftovers.iter().all(|left| left.verdict == Verdict::Keep)
    };
    assert!(keeps(&live, &seen));
    assert!(!keeps(&own_store(), &seen));
    seen[0].objects.push(Object {
        kind: ObjectKind::Session,
        name: "shardwright/x/apply/1".to_owned(),
        on: None,
        whose: Whose::Migration(MigrationId::from("x")),
    });
    assert!(keeps(&Ground::default(), &seen));
}

/// Two control stores with shards in one database: neither sweeps what the other one moves.
#[test]
fn what_another_store_ordered_about_a_map_of_its_own_is_left_alone() {
    for (role, flipped, register) in [
        ("source", None, 0),
        ("source", Some(2), CLOSED),
        ("target", None, CLOSED),
        ("target", Some(2), 0),
    ] {
        let seen = [inventory("a", role, flipped, register)];
        let mut other = Ground {
            maps: vec![Arc::new(ShardMap {
                name: MapName::from("other"),
                ..map("a")
            })],
            ..Ground::default()
        };
        let (leftovers, sweeps) = judge(&other, &seen).remove(0);
        assert!(leftovers.iter().all(|left| left.verdict == Verdict::Decide));
        assert_eq!(sweeps, []);
        // An operator's word about another map says nothing of this one.
        let (map, shard) = (MapName::from("other"), ShardName::from("a"));
        other.owners = BTreeMap::from([(map, shard)]);
        assert_eq!(judge(&other, &seen).remove(0).1, []);
        assert_ne!(judge(&owner("a"), &seen).remove(0).1, []);
    }
}

/// The setting is the server's: the migration is in another database of it, of this controller's or of another one's.
#[test]
fn a_name_that_commits_of_another_database_wait_for_is_left_alone() {
    let mut seen = [inventory("a", "source", None, 0)];
    seen[0].moves.clear();
    for object in &mut seen[0].objects {
        object.kind = ObjectKind::StandbyName;
    }
    let (leftovers, sweeps) = judge(&own_store(), &seen).remove(0);
    assert!(leftovers.iter().all(|left| left.verdict == Verdict::Decide));
    assert_eq!(sweeps, []);
}
