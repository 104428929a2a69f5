use super::*;
use crate::inspection::inventory::{About, CLOSED, Inventory, MoveSeen, Object, ObjectKind, Whose};
use crate::key::Key;
use crate::step::preflight::Identity;

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
        server: Identity::default(),
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
    let (slot, register, guards) = judged(&Ground::default(), &closed);
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
    assert_eq!(judged(&Ground::default(), &open).1, Verdict::Remove);
    let (_, register, guards) = judged(&owner("a"), &open);
    assert_eq!(register, Verdict::Close);
    assert_eq!(guards.unwrap().refuse, Some(keys()));
}

#[test]
fn a_target_that_was_never_open_is_no_owner_and_gives_its_copy_up() {
    let closed = [inventory("b", "target", None, CLOSED)];
    assert_eq!(judged(&owner("b"), &closed).1, Verdict::Decide);
    let (_, register, guards) = judged(&owner("a"), &closed);
    assert_eq!(register, Verdict::Remove);
    assert!(guards.unwrap().brought);
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
    assert!(!keeps(&Ground::default(), &seen));
    seen[0].objects.push(Object {
        kind: ObjectKind::Session,
        name: "shardwright/x/apply/1".to_owned(),
        on: None,
        whose: Whose::Migration(MigrationId::from("x")),
    });
    assert!(keeps(&Ground::default(), &seen));
}
