//! Tests which contradictions the reconciler finds, and what follows from them.

use super::super::inventory::{
    About, CLOSED, Inventory, ObservedMove, ObservedServer, ReleasedKeys, ReleasedMove,
};
use super::*;

mod standbys;

use crate::id::MapVersion;
use crate::identity::DatabaseIdentity;
use crate::key::{Key, KeyType};
use crate::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};
use crate::state::cutover::Ownership;
use std::sync::Arc;

fn keys(from: i64, to: i64) -> KeySet {
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

fn map(version: i64, owners: &[(i64, i64, &str)]) -> ShardMap {
    let mappings = owners.iter().map(|(from, to, shard)| Mapping {
        keys: keys(*from, *to),
        shard: ShardName::from(*shard),
        state: MappingState::Active,
    });
    ShardMap {
        name: MapName::from("m"),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(version),
        incarnation: "i".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: mappings.collect(),
    }
}

fn row(role: &str, flipped: Option<i64>, register: i64, owns: bool) -> ObservedMove {
    ObservedMove {
        migration: MigrationId::from("x"),
        role: role.to_owned(),
        epoch: 3,
        attempt: 2001,
        map: MapName::from("m"),
        map_version: 1,
        flipped,
        register: Some(register),
        guards: 4,
        owns,
        copied: role == "target",
        about: Some(About {
            incarnation: "i".to_owned(),
            source: ShardName::from("a"),
            target: ShardName::from("b"),
            keys: keys(50, 100),
            tables: Vec::new(),
        }),
    }
}

fn shard(name: &str, rows: Vec<ObservedMove>) -> Inventory {
    Inventory {
        shard: ShardName::from(name),
        server: DatabaseIdentity {
            system: "1".to_owned(),
            timeline: 1,
            ..DatabaseIdentity::default()
        },
        flushed: 1000,
        objects: Vec::new(),
        figures: None,
        activity: None,
        similar: Vec::new(),
        moves: rows,
        released_keys: Vec::new(),
        released_moves: Vec::new(),
    }
}

fn known(
    ownership: Ownership,
    version: Option<i64>,
    owners: &[(i64, i64, &str)],
) -> StoreKnowledge {
    StoreKnowledge {
        maps: vec![Arc::new(map(version.unwrap_or(1), owners))],
        moves: vec![KnownMove {
            id: MigrationId::from("x"),
            map: MapName::from("m"),
            source: ShardName::from("a"),
            target: ShardName::from("b"),
            keys: keys(50, 100),
            tables: Vec::new(),
            ownership,
            epoch: 3,
            finished: false,
            opened: true,
            promotes: false,
            version,
            recorded_version: version.unwrap_or(1),
        }],
        ..StoreKnowledge::default()
    }
}

const BEFORE: &[(i64, i64, &str)] = &[(0, 100, "a")];
const AFTER: &[(i64, i64, &str)] = &[(0, 50, "a"), (50, 100, "b")];

fn kinds(known: &StoreKnowledge, inventories: &[Inventory]) -> Vec<(ContradictionKind, String)> {
    let found = compare(known, inventories).into_iter();
    found
        .map(|finding| (finding.kind, finding.shard.0))
        .collect()
}

/// Both shards during the hold.
fn held() -> [Inventory; 2] {
    [
        shard("a", vec![row("source", Some(2), CLOSED, false)]),
        shard("b", vec![row("target", Some(2), 0, true)]),
    ]
}

#[test]
fn a_correct_hold_contradicts_nothing() {
    assert_eq!(
        kinds(&known(Ownership::Flipped, Some(2), AFTER), &held()),
        []
    );
}

#[test]
fn a_store_without_the_flip_is_older_and_the_source_is_not_reported_as_open() {
    let known = known(Ownership::Fencing, None, BEFORE);
    let found = kinds(&known, &held());
    assert_eq!(
        found,
        [
            (ContradictionKind::StoreOlder, "a".to_owned()),
            (ContradictionKind::StoreOlder, "b".to_owned())
        ]
    );
    let [proof] = known.lost_flips(&held()).try_into().unwrap();
    assert_eq!((proof.owner.as_str(), proof.version), ("b", 2));
    assert_eq!((proof.epoch, proof.attempt), (3, 2));
}

#[test]
fn an_epoch_that_the_store_does_not_know_proves_it_older_unless_a_sweep_raised_it() {
    let swept = ObservedMove {
        epoch: 4,
        ..row("source", None, 0, true)
    };
    let inventories = [shard("a", vec![swept]), shard("b", Vec::new())];
    let mut known = known(Ownership::Aborted, None, BEFORE);
    let older = (ContradictionKind::StoreOlder, "a".to_owned());
    assert!(kinds(&known, &inventories).contains(&older));
    known.moves[0].finished = true;
    assert!(!kinds(&known, &inventories).contains(&older));
}

#[test]
fn a_flip_that_only_the_new_owner_has_recorded_is_proved() {
    let inventories = [
        shard("a", vec![row("source", None, CLOSED, false)]),
        shard("b", vec![row("target", Some(2), CLOSED, false)]),
    ];
    let [proof] = proofs(&inventories).try_into().unwrap();
    assert_eq!(proof.owner.as_str(), "b");
}

#[test]
fn of_two_closed_shards_the_owner_is_the_one_that_was_opened_last() {
    // After a rollback, a second attempt to release the keys was sealed.
    let inventories = [
        shard("a", vec![row("source", Some(3), CLOSED, true)]),
        shard("b", vec![row("target", Some(3), CLOSED, false)]),
    ];
    let [proof] = proofs(&inventories).try_into().unwrap();
    assert_eq!(proof.owner.as_str(), "a");
}

#[test]
fn a_source_that_is_open_or_has_no_record_after_the_flip_is_closed() {
    let known = known(Ownership::Flipped, Some(2), AFTER);
    for rows in [vec![row("source", None, 0, false)], Vec::new()] {
        let inventories = [shard("a", rows), held()[1].clone()];
        let [finding] = compare(&known, &inventories).try_into().unwrap();
        assert_eq!(finding.kind, ContradictionKind::KeysOpen);
        let closing = finding.close.unwrap();
        assert_eq!((closing.keys, closing.for_good), (keys(50, 100), false));
        assert!(closing.notify);
    }
}

#[test]
fn the_source_records_the_flip_only_after_the_target_is_open() {
    let mut known = known(Ownership::Flipped, Some(2), AFTER);
    known.moves[0].opened = false;
    let target = row("target", None, CLOSED, false);
    let inventories = [
        shard("a", vec![row("source", None, 0, false)]),
        shard("b", vec![target]),
    ];
    let [finding] = compare(&known, &inventories).try_into().unwrap();
    let closing = finding.close.unwrap();
    assert_eq!((closing.version, closing.notify), (2, false));
}

#[test]
fn a_migration_of_which_no_shard_has_a_record_has_ended() {
    let known = known(Ownership::Flipped, Some(2), AFTER);
    let inventories = [shard("a", Vec::new()), shard("b", Vec::new())];
    let found = compare(&known, &inventories);
    assert_eq!(found[0].kind, ContradictionKind::StoreOlder);
    assert!(found.iter().all(|finding| finding.close.is_none()));
    // Without an observation of the target the case cannot be decided.
    let [finding] = compare(&known, &inventories[..1]).try_into().unwrap();
    assert_eq!(
        (finding.kind, finding.close),
        (ContradictionKind::KeysOpen, None)
    );
}

#[test]
fn a_source_with_a_newer_record_than_the_store_is_not_closed() {
    // Version 3 is a rollback, which the store has lost.
    let inventories = [
        shard("a", vec![row("source", Some(3), 0, true)]),
        shard("b", vec![row("target", Some(3), CLOSED, false)]),
    ];
    let known = known(Ownership::Flipped, Some(2), AFTER);
    let found = compare(&known, &inventories);
    assert!(
        found.iter().all(|finding| finding.close.is_none()),
        "{found:?}"
    );
    assert_eq!(known.lost_flips(&inventories)[0].owner.as_str(), "a");
}

#[test]
fn a_target_without_a_record_of_the_flip_lacks_data_and_is_not_opened() {
    let inventories = [
        held()[0].clone(),
        shard("b", vec![row("target", None, CLOSED, false)]),
    ];
    let found = kinds(&known(Ownership::Flipped, Some(2), AFTER), &inventories);
    assert_eq!(found, [(ContradictionKind::DataMissing, "b".to_owned())]);
}

#[test]
fn keys_of_a_completed_move_stay_refused() {
    let mut known = known(Ownership::Completed, Some(2), AFTER);
    known.moves[0].finished = true;
    let mut source = shard("a", Vec::new());
    let [finding] = compare(&known, std::slice::from_ref(&source))
        .try_into()
        .unwrap();
    assert!(finding.close.unwrap().for_good);
    source.released_keys.push(ReleasedKeys {
        map: MapName::from("m"),
        keys: keys(50, 100),
        version: 2,
        guards: 3,
    });
    assert_eq!(kinds(&known, &[source]), []);
}

#[test]
fn the_record_of_released_keys_alone_proves_a_move() {
    let mut source = shard("a", Vec::new());
    source.released_moves.push(ReleasedMove {
        map: MapName::from("m"),
        version: 2,
        keys: keys(50, 100),
        to: ShardName::from("b"),
        migration: MigrationId::from("x"),
    });
    let known = StoreKnowledge {
        maps: vec![Arc::new(map(1, BEFORE))],
        ..StoreKnowledge::default()
    };
    let inventories = [source];
    let lost = known.lost_flips(&inventories);
    let [version] = forward(&known.maps[0], &lost, 2)
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(version.map.version, MapVersion(2));
    assert_eq!(version.map.owned_by(&ShardName::from("b")), keys(50, 100));
    let repaired = StoreKnowledge {
        maps: vec![Arc::new(version.map)],
        ..StoreKnowledge::default()
    };
    assert_eq!(repaired.lost_flips(&inventories), []);
}

#[test]
fn a_version_number_without_a_known_flip_repeats_the_version_before_it() {
    let lost = [FlipProof {
        map: MapName::from("m"),
        version: 4,
        keys: keys(50, 100),
        owner: ShardName::from("b"),
        migration: MigrationId::from("x"),
        epoch: 1,
        attempt: 1,
        completed: false,
    }];
    let versions = forward(&map(1, BEFORE), &lost, 5).unwrap();
    let numbers: Vec<i64> = versions.iter().map(|v| v.map.version.0).collect();
    assert_eq!(numbers, [2, 3, 4, 5]);
    let owned = |index: usize| versions[index].map.owned_by(&ShardName::from("b"));
    assert_eq!(
        (owned(1), owned(2)),
        (keys(50, 100).empty_set(), keys(50, 100))
    );
}

#[test]
fn a_server_is_recognized_by_its_identity_and_the_end_of_its_log() {
    let mut known = known(Ownership::Flipped, Some(2), AFTER);
    let mut inventories = held();
    let before = |system: &str, timeline, flushed| ObservedServer {
        number: 1,
        server: DatabaseIdentity {
            system: system.to_owned(),
            timeline,
            ..DatabaseIdentity::default()
        },
        flushed,
        missing: 0,
    };
    let went_back = ObservedServer {
        missing: 1,
        ..before("1", 1, 0)
    };
    for (server, kind) in [
        (before("2", 1, 0), Some(ContradictionKind::OtherServer)),
        (before("1", 2, 0), Some(ContradictionKind::FailedOver)),
        (before("1", 1, 1001), Some(ContradictionKind::WentBack)),
        (went_back, Some(ContradictionKind::WentBack)),
        (before("1", 1, 1000), None),
    ] {
        known.servers.insert(ShardName::from("a"), server);
        let found = kinds(&known, &inventories);
        assert_eq!(found.first().map(|(kind, _)| *kind), kind);
    }
    inventories[0].flushed = 2000;
    assert_eq!(kinds(&known, &inventories), []);
}

#[test]
fn if_no_map_names_the_shard_the_hint_says_that_no_keys_are_affected() {
    let inventories = held();
    let hint = |known: &mut StoreKnowledge| {
        let before = ObservedServer {
            number: 1,
            server: DatabaseIdentity {
                system: "2".to_owned(),
                timeline: 1,
                ..DatabaseIdentity::default()
            },
            flushed: 0,
            missing: 0,
        };
        known.servers.insert(ShardName::from("a"), before);
        compare(known, &inventories)[0].hint.clone()
    };
    let mut used = known(Ownership::Flipped, Some(2), AFTER);
    assert!(hint(&mut used).starts_with("find out which changes are missing"));
    let mut unused = StoreKnowledge::default();
    assert!(hint(&mut unused).starts_with("no map names the shard"));
}

#[test]
fn another_database_under_a_shards_name_is_reported_and_not_closed() {
    let mut known = known(Ownership::Flipped, Some(2), AFTER);
    let mut inventories = held();
    let identity = |database, id: &str| DatabaseIdentity {
        database: Some(database),
        id: Some(id.to_owned()),
        ..inventories[0].server.clone()
    };
    let (a, b) = (identity(1, "a"), identity(2, "b"));
    for (inventory, server) in inventories.iter().zip([&a, &b]) {
        let before = ObservedServer {
            number: 1,
            server: server.clone(),
            flushed: 0,
            missing: 0,
        };
        known.servers.insert(inventory.shard.clone(), before);
    }
    (inventories[0].server, inventories[1].server) = (a.clone(), b.clone());
    assert_eq!(kinds(&known, &inventories), []);
    // The connection strings are swapped: each name leads to the other shard's database.
    let names = (inventories[0].shard.clone(), inventories[1].shard.clone());
    (inventories[1].shard, inventories[0].shard) = names;
    let findings = compare(&known, &inventories);
    assert_eq!(findings.len(), 2, "{findings:?}");
    for finding in findings {
        assert_eq!(finding.kind, ContradictionKind::OtherServer);
        assert_eq!(finding.close, None);
        assert!(finding.message.contains("another database"), "{finding:?}");
    }
}
