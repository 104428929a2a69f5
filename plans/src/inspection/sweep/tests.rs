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
        figures: None,
        activity: None,
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
fn decisions(
    input: &SweepInput,
    inventories: &[Inventory],
) -> (SweepVerdict, SweepVerdict, Option<Guards>) {
    let (leftovers, mut sweeps) = decide_sweeps(input, inventories).remove(0);
    let guards = match sweeps.pop() {
        Some(Sweep::Migration { guards, .. }) => guards,
        Some(Sweep::ReleasedKeys { .. } | Sweep::Probes | Sweep::StandbySlots { .. }) | None => {
            None
        }
    };
    (leftovers[0].verdict, leftovers[1].verdict, guards)
}

#[test]
fn streams_are_removed_and_a_refusal_stays_until_the_owner_is_known() {
    let closed = [inventory("a", "source", Some(2), CLOSED)];
    let (slot, register, guards) = decisions(&own_store(), &closed);
    assert_eq!(
        (slot, register),
        (SweepVerdict::Remove, SweepVerdict::Decide)
    );
    assert_eq!(guards, None);
    let (_, register, guards) = decisions(&owner("b"), &closed);
    assert_eq!(register, SweepVerdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
    let (_, register, guards) = decisions(&owner("a"), &closed);
    assert_eq!(
        (register, guards.unwrap().refuse),
        (SweepVerdict::Remove, None)
    );
}

#[test]
fn an_open_shard_is_closed_if_the_operator_names_another_owner() {
    let open = [inventory("b", "target", Some(2), 0)];
    assert_eq!(decisions(&own_store(), &open).1, SweepVerdict::Remove);
    let (_, register, guards) = decisions(&owner("a"), &open);
    assert_eq!(register, SweepVerdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
}

#[test]
fn the_copied_rows_of_a_target_that_was_never_open_are_removed() {
    let closed = [inventory("b", "target", None, CLOSED)];
    let (_, register, guards) = decisions(&owner("a"), &closed);
    assert_eq!(register, SweepVerdict::Remove);
    assert!(guards.unwrap().copied);
}

#[test]
fn a_target_that_was_never_open_is_opened_if_it_is_named_and_no_other_shard_accepts_writes() {
    let closed = inventory("b", "target", None, CLOSED);
    let named = SweepInput {
        maps: vec![Arc::new(map("b"))],
        ..SweepInput::default()
    };
    assert_eq!(
        decisions(&named, std::slice::from_ref(&closed)).1,
        SweepVerdict::Decide
    );
    let mut source = inventory("a", "source", None, 0);
    let inventories = [closed.clone(), source.clone()];
    assert_eq!(
        decisions(&owner("b"), &inventories).1,
        SweepVerdict::Decide,
        "a is open"
    );
    source.released_keys = vec![ReleasedKeys {
        map: MapName::from("m"),
        keys: keys(),
        version: 2,
        guards: 3,
    }];
    let (_, register, guards) = decisions(&owner("b"), &[closed, source]);
    assert_eq!(register, SweepVerdict::Remove);
    assert!(
        !guards.unwrap().copied,
        "its rows belong to the owner of the keys"
    );
}

#[test]
fn copied_rows_stay_while_an_unfinished_migration_copies_the_same_keys() {
    let mut inventories = [inventory("b", "target", None, CLOSED)];
    let mut other = inventories[0].moves[0].clone();
    other.migration = MigrationId::from("y");
    let copied = |inventories: &[Inventory], input: &SweepInput| {
        let (_, register, guards) = decisions(input, inventories);
        (register, guards.is_some_and(|guards| guards.copied))
    };
    let live = SweepInput {
        unfinished: BTreeSet::from([MigrationId::from("y")]),
        ..owner("a")
    };
    inventories[0].moves.push(other.clone());
    assert_eq!(copied(&inventories, &live), (SweepVerdict::Decide, false));
    // Both migrations left objects: the copied rows of both are removed.
    assert_eq!(
        copied(&inventories, &owner("a")),
        (SweepVerdict::Remove, true)
    );
    let (_, _, guards) = decisions(&owner("a"), &inventories);
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
fn a_source_stays_closed_if_the_map_may_have_lost_the_flip() {
    let source = inventory("a", "source", Some(2), CLOSED);
    let named = SweepInput {
        maps: vec![Arc::new(map("a"))],
        ..SweepInput::default()
    };
    let with = |target: Inventory| decisions(&named, &[source.clone(), target]).1;
    // Both shards have recorded the same flip, and the target is open.
    assert_eq!(
        with(inventory("b", "target", Some(2), 0)),
        SweepVerdict::Decide
    );
    assert_eq!(
        decisions(&named, std::slice::from_ref(&source)).1,
        SweepVerdict::Decide,
        "b was not observed"
    );
    assert_eq!(
        with(inventory("b", "target", None, CLOSED)),
        SweepVerdict::Remove
    );
}

#[test]
fn objects_of_a_migration_that_is_unfinished_or_has_an_agent_are_kept() {
    let mut inventories = [inventory("a", "source", None, 0)];
    let live = SweepInput {
        unfinished: BTreeSet::from([MigrationId::from("x")]),
        ..SweepInput::default()
    };
    let keeps = |input: &SweepInput, inventories: &[Inventory]| {
        let (leftovers, sweeps) = decide_sweeps(input, inventories).remove(0);
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
fn objects_of_another_stores_migration_and_map_are_left_to_the_operator() {
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
        let (leftovers, sweeps) = decide_sweeps(&other, &inventories).remove(0);
        assert!(
            leftovers
                .iter()
                .all(|left| left.verdict == SweepVerdict::Decide)
        );
        assert_eq!(sweeps, []);
        // An operator's decision about another map does not affect this one.
        let (map, shard) = (MapName::from("other"), ShardName::from("a"));
        other.owners = BTreeMap::from([(map, shard)]);
        assert_eq!(decide_sweeps(&other, &inventories).remove(0).1, []);
        assert_ne!(decide_sweeps(&owner("a"), &inventories).remove(0).1, []);
    }
}

/// The setting belongs to the whole server. The migration is in another database, of this controller or of another one.
#[test]
fn a_standby_name_of_a_migration_in_another_database_is_left_to_the_operator() {
    let mut inventories = [inventory("a", "source", None, 0)];
    inventories[0].moves.clear();
    for object in &mut inventories[0].objects {
        object.kind = ObjectKind::StandbyName;
    }
    let (leftovers, sweeps) = decide_sweeps(&own_store(), &inventories).remove(0);
    assert!(
        leftovers
            .iter()
            .all(|left| left.verdict == SweepVerdict::Decide)
    );
    assert_eq!(sweeps, []);
}

#[test]
fn the_slot_of_a_standby_goes_only_if_this_store_recorded_it_and_nothing_needs_it() {
    let slot = |name: &str, in_use| Object {
        kind: ObjectKind::Slot,
        name: name.to_owned(),
        on: None,
        whose: ObjectOwner::Standby { in_use },
    };
    let observed = Inventory {
        objects: vec![
            slot("streams", true),
            slot("registered", false),
            slot("unused", false),
            slot("of_others", false),
        ],
        moves: Vec::new(),
        ..inventory("a", "source", None, 0)
    };
    let recorded = [("streams", "x"), ("registered", "b"), ("unused", "c")];
    let recorded = recorded.map(|(slot, shard)| (slot.to_owned(), ShardName::from(shard)));
    let input = SweepInput {
        standby_slots: BTreeMap::from(recorded),
        needed_slots: BTreeSet::from(["registered".to_owned()]),
        ..own_store()
    };
    let [(leftovers, sweeps)] = decide_sweeps(&input, &[observed]).try_into().unwrap();
    let verdicts: Vec<_> = leftovers.iter().map(|left| left.verdict).collect();
    let (keep, remove, decide) = (
        SweepVerdict::Keep,
        SweepVerdict::Remove,
        SweepVerdict::Decide,
    );
    assert_eq!(verdicts, [keep, keep, remove, decide]);
    assert_eq!(
        sweeps,
        [Sweep::StandbySlots {
            slots: vec!["unused".to_owned()]
        }]
    );
}
