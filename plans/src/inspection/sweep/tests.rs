//! Tests which objects a sweep removes, and which it keeps.

use super::*;
use crate::id::MapVersion;
use crate::identity::DatabaseIdentity;
use crate::inspection::inventory::{
    About, CLOSED, Inventory, Object, ObjectKind, ObjectOwner, ObservedMove, ReleasedKeys,
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
        whose: ObjectOwner::Migration(id.clone()),
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
        moves: vec![ObservedMove {
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
            copied: role == "target",
            about: Some(About {
                incarnation: "lost".to_owned(),
                source: ShardName::from("a"),
                target: ShardName::from("b"),
                keys: keys(),
                tables: Vec::new(),
            }),
        }],
        released_keys: Vec::new(),
        released_moves: Vec::new(),
    }
}

/// Returns the map with all its keys on one shard.
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

/// Returns the store that started the migrations, without their map.
fn own_store() -> SweepInput {
    SweepInput {
        incarnation: "lost".to_owned(),
        ..SweepInput::default()
    }
}

fn owner(shard: &str) -> SweepInput {
    SweepInput {
        owners: BTreeMap::from([(MapName::from("m"), ShardName::from(shard))]),
        ..SweepInput::default()
    }
}

/// Returns the decisions about slot and register, and about the guards.
fn judged(
    ground: &SweepInput,
    inventories: &[Inventory],
) -> (SweepVerdict, SweepVerdict, Option<Guards>) {
    let (leftovers, mut sweeps) = judge(ground, inventories).remove(0);
    let guards = match sweeps.pop() {
        Some(Sweep::Migration { guards, .. }) => guards,
        Some(Sweep::ReleasedKeys { .. } | Sweep::Probes) | None => None,
    };
    (leftovers[0].verdict, leftovers[1].verdict, guards)
}

#[test]
fn streams_go_and_a_refusal_waits_for_who_owns_the_keys() {
    let closed = [inventory("a", "source", Some(2), CLOSED)];
    let (slot, register, guards) = judged(&own_store(), &closed);
    assert_eq!(
        (slot, register),
        (SweepVerdict::Remove, SweepVerdict::Decide)
    );
    assert_eq!(guards, None);
    let (_, register, guards) = judged(&owner("b"), &closed);
    assert_eq!(register, SweepVerdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
    let (_, register, guards) = judged(&owner("a"), &closed);
    assert_eq!(
        (register, guards.unwrap().refuse),
        (SweepVerdict::Remove, None)
    );
}

#[test]
fn an_open_shard_is_closed_where_another_one_is_named() {
    let open = [inventory("b", "target", Some(2), 0)];
    assert_eq!(judged(&own_store(), &open).1, SweepVerdict::Remove);
    let (_, register, guards) = judged(&owner("a"), &open);
    assert_eq!(register, SweepVerdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
}

#[test]
fn a_target_that_was_never_open_is_no_owner_and_gives_its_copy_up() {
    let closed = [inventory("b", "target", None, CLOSED)];
    let (_, register, guards) = judged(&owner("a"), &closed);
    assert_eq!(register, SweepVerdict::Remove);
    assert!(guards.unwrap().copied);
}

#[test]
fn a_target_that_was_never_open_is_opened_where_it_is_named_and_nobody_else_takes_writes() {
    let closed = inventory("b", "target", None, CLOSED);
    let named = SweepInput {
        maps: vec![Arc::new(map("b"))],
        ..SweepInput::default()
    };
    assert_eq!(
        judged(&named, std::slice::from_ref(&closed)).1,
        SweepVerdict::Decide
    );
    let mut source = inventory("a", "source", None, 0);
    let inventories = [closed.clone(), source.clone()];
    assert_eq!(
        judged(&owner("b"), &inventories).1,
        SweepVerdict::Decide,
        "a is open"
    );
    source.released_keys = vec![ReleasedKeys {
        map: MapName::from("m"),
        keys: keys(),
        version: 2,
        guards: 3,
    }];
    let (_, register, guards) = judged(&owner("b"), &[closed, source]);
    assert_eq!(register, SweepVerdict::Remove);
    assert!(!guards.unwrap().copied, "its rows are the owner's");
}

#[test]
fn what_was_brought_stays_while_a_live_migration_brings_the_same_keys() {
    let mut inventories = [inventory("b", "target", None, CLOSED)];
    let mut other = inventories[0].moves[0].clone();
    other.migration = MigrationId::from("y");
    let copied = |inventories: &[Inventory], ground: &SweepInput| {
        let (_, register, guards) = judged(ground, inventories);
        (register, guards.is_some_and(|guards| guards.copied))
    };
    let live = SweepInput {
        live: BTreeSet::from([MigrationId::from("y")]),
        ..owner("a")
    };
    inventories[0].moves.push(other.clone());
    assert_eq!(copied(&inventories, &live), (SweepVerdict::Decide, false));
    // Both migrations left objects: the copied rows of both are removed.
    assert_eq!(
        copied(&inventories, &owner("a")),
        (SweepVerdict::Remove, true)
    );
    let (_, _, guards) = judged(&owner("a"), &inventories);
    assert_eq!(guards.unwrap().left_too, [MigrationId::from("y")]);
    // The shard was opened for the other migration, so clients have written there.
    inventories[0].moves[1].flipped = Some(5);
    assert_eq!(
        copied(&inventories, &owner("a")),
        (SweepVerdict::Decide, false)
    );
    other.about.as_mut().unwrap().keys = KeySet::range(Some(Key::Int(100)), None);
    inventories[0].moves[1] = other;
    assert_eq!(
        copied(&inventories, &live),
        (SweepVerdict::Remove, true),
        "other keys"
    );
}

#[test]
fn a_map_that_may_have_lost_the_flip_opens_no_source() {
    let source = inventory("a", "source", Some(2), CLOSED);
    let named = SweepInput {
        maps: vec![Arc::new(map("a"))],
        ..SweepInput::default()
    };
    let with = |target: Inventory| judged(&named, &[source.clone(), target]).1;
    // Both shards have recorded the same flip, and the target is open.
    assert_eq!(
        with(inventory("b", "target", Some(2), 0)),
        SweepVerdict::Decide
    );
    assert_eq!(
        judged(&named, std::slice::from_ref(&source)).1,
        SweepVerdict::Decide,
        "b was not seen"
    );
    assert_eq!(
        with(inventory("b", "target", None, CLOSED)),
        SweepVerdict::Remove
    );
}

#[test]
fn a_live_migration_and_one_that_somebody_works_for_are_left_alone() {
    let mut inventories = [inventory("a", "source", None, 0)];
    let live = SweepInput {
        live: BTreeSet::from([MigrationId::from("x")]),
        ..SweepInput::default()
    };
    let keeps = |ground: &SweepInput, inventories: &[Inventory]| {
        let (leftovers, sweeps) = judge(ground, inventories).remove(0);
        sweeps.is_empty()
            && leftovers
                .iter()
                .all(|left| left.verdict == SweepVerdict::Keep)
    };
    assert!(keeps(&live, &inventories));
    assert!(!keeps(&own_store(), &inventories));
    inventories[0].objects.push(Object {
        kind: ObjectKind::Session,
        name: "shardwright/x/apply/1".to_owned(),
        on: None,
        whose: ObjectOwner::Migration(MigrationId::from("x")),
    });
    assert!(keeps(&SweepInput::default(), &inventories));
}

/// Two control stores have shards in one database. Neither sweeps what the other one moves.
#[test]
fn what_another_store_ordered_about_a_map_of_its_own_is_left_alone() {
    for (role, flipped, register) in [
        ("source", None, 0),
        ("source", Some(2), CLOSED),
        ("target", None, CLOSED),
        ("target", Some(2), 0),
    ] {
        let inventories = [inventory("a", role, flipped, register)];
        let mut other = SweepInput {
            maps: vec![Arc::new(ShardMap {
                name: MapName::from("other"),
                ..map("a")
            })],
            ..SweepInput::default()
        };
        let (leftovers, sweeps) = judge(&other, &inventories).remove(0);
        assert!(
            leftovers
                .iter()
                .all(|left| left.verdict == SweepVerdict::Decide)
        );
        assert_eq!(sweeps, []);
        // An operator's decision about another map does not affect this one.
        let (map, shard) = (MapName::from("other"), ShardName::from("a"));
        other.owners = BTreeMap::from([(map, shard)]);
        assert_eq!(judge(&other, &inventories).remove(0).1, []);
        assert_ne!(judge(&owner("a"), &inventories).remove(0).1, []);
    }
}

/// The setting belongs to the whole server. The migration is in another database, of this controller or of another one.
#[test]
fn a_name_that_commits_of_another_database_wait_for_is_left_alone() {
    let mut inventories = [inventory("a", "source", None, 0)];
    inventories[0].moves.clear();
    for object in &mut inventories[0].objects {
        object.kind = ObjectKind::StandbyName;
    }
    let (leftovers, sweeps) = judge(&own_store(), &inventories).remove(0);
    assert!(
        leftovers
            .iter()
            .all(|left| left.verdict == SweepVerdict::Decide)
    );
    assert_eq!(sweeps, []);
}
