//! Tests of the reasons to wait.

use super::super::samples::{admitted, at, keys, planned};
use super::*;
use plans::plan::PlannedMove;
use plans::request::Options;
use plans::table::{MovingTable, TableKey, TableName, ThroughTable};

fn migrations(id: &str, moves: Vec<PlannedMove>, options: Options) -> Vec<Migration> {
    let snapshots = admitted(id, moves, options).into_iter();
    snapshots.map(|snapshot| snapshot.migration).collect()
}

fn started(mut m: Migration) -> Migration {
    m.state = MigrationState::Running;
    m.started_at = Some(at(1));
    m
}

fn flipped(m: Migration) -> Migration {
    let mut m = started(m);
    m.state = MigrationState::Flipped;
    m.ownership = Ownership::Flipped;
    m.map_version_after = Some(plans::id::MapVersion(2));
    m
}

fn obstacles(own: &Migration, all: &[Migration]) -> Vec<String> {
    let all: Vec<&Migration> = all.iter().collect();
    start_obstacles(own, &all, &all)
}

fn migration(id: &str, source: &str, target: &str, from: i64, to: i64) -> Migration {
    let moves = vec![planned("m1", source, target, keys(from, to))];
    migrations(id, moves, Options::default()).remove(0)
}

#[test]
fn a_migration_alone_may_start() {
    let own = migration("ma", "a", "b", 0, 9);
    assert_eq!(
        obstacles(&own, std::slice::from_ref(&own)),
        Vec::<String>::new()
    );
}

#[test]
fn keys_that_move_already_are_waited_for_until_that_migration_ends() {
    let first = flipped(migration("ma", "a", "b", 0, 9));
    let own = migration("mb", "b", "c", 5, 7);
    let other = migration("mc", "b", "c", 20, 30);
    assert_eq!(
        obstacles(&own, &[first.clone(), own.clone(), other]),
        ["migration ma moves some of these keys"]
    );
    let mut ended = first;
    ended.finished_at = Some(at(9));
    assert!(obstacles(&own, &[ended, own.clone()]).is_empty());
}

/// A row of both that lacks its parent would belong to neither.
#[test]
fn moves_of_dependent_tables_do_not_copy_to_a_shard_of_each_other() {
    let moving = |id: &str, source: &str, target: &str, from: i64| {
        let mut migration = migration(id, source, target, from, from + 9);
        let key = TableKey::Through(Box::new(ThroughTable {
            parent: TableName::parse("orders"),
            columns: vec![("order_id".to_owned(), "id".to_owned())],
            enforced: true,
            key: TableKey::Columns(Vec::new()),
        }));
        let line = MovingTable::bare(TableName::parse("line"), key);
        migration.plan.moving.tables = vec![line];
        migration
    };
    let copies = started(moving("ma", "a", "b", 0));
    let waits = |source: &str, target: &str, other: &Migration| {
        let own = moving("mb", source, target, 20);
        obstacles(&own, &[other.clone(), own.clone()])
    };
    let copied = "migration ma copies rows of tables without the key to shard b";
    let rolls_back = "migration ma can roll back tables without the key to shard a";
    assert_eq!(waits("c", "b", &copies), [copied]);
    assert_eq!(waits("b", "c", &copies), [copied]);
    assert_eq!(waits("c", "a", &copies), [rolls_back]);
    assert!(waits("a", "c", &copies).is_empty());
    let in_hold = flipped(copies.clone());
    assert!(waits("c", "b", &in_hold).is_empty());
    assert!(waits("b", "c", &in_hold).is_empty());
    assert_eq!(waits("c", "a", &in_hold), [rolls_back]);
    let mut ended = in_hold;
    ended.finished_at = Some(at(9));
    assert!(waits("c", "a", &ended).is_empty());
    let own = migration("mb", "c", "b", 20, 29);
    assert!(obstacles(&own, &[copies, own.clone()]).is_empty());
}

#[test]
fn the_older_of_two_that_share_keys_goes_first() {
    let (old, new) = (
        migration("ma", "a", "b", 0, 9),
        migration("mb", "a", "c", 0, 9),
    );
    let all = [old.clone(), new.clone()];
    assert!(obstacles(&old, &all).is_empty());
    assert_eq!(
        obstacles(&new, &all),
        ["migration ma moves some of these keys"]
    );
    let mut paused = old;
    paused.state = MigrationState::Paused;
    assert!(obstacles(&new, &[paused, new.clone()]).is_empty());
}

#[test]
fn a_move_waits_for_the_moves_before_it_and_names_an_aborted_one() {
    let mut moves = vec![
        planned("m1", "a", "b", keys(0, 9)),
        planned("m2", "c", "a", keys(10, 19)),
    ];
    let edge = |until| {
        vec![After {
            id: "m1".to_owned(),
            until,
        }]
    };
    moves[1].after = edge(Until::Finished);
    let all = migrations("mo", moves, Options::default());
    assert_eq!(obstacles(&all[1], &all), ["move m1 to be finished"]);
    let flipped_first = [flipped(all[0].clone()), all[1].clone()];
    assert_eq!(
        obstacles(&all[1], &flipped_first),
        ["move m1 to be finished"]
    );
    let mut after_flip = all[1].clone();
    after_flip.plan.after = edge(Until::Flipped);
    assert!(obstacles(&after_flip, &flipped_first).is_empty());
    let mut aborted = all[0].clone();
    aborted.ownership = Ownership::Aborted;
    let waits = obstacles(&all[1], &[aborted, all[1].clone()]);
    assert_eq!(
        waits,
        ["move m1, which was aborted or rolled back: abort this migration"]
    );
}

#[test]
fn all_earlier_moves_are_known_until_one_of_them_ends() {
    let mut moves = vec![
        planned("m1", "a", "b", keys(0, 9)),
        planned("m2", "c", "a", keys(10, 19)),
    ];
    let own = migrations("mo", moves.clone(), Options::default()).remove(1);
    assert!(knows_all(&own, &moves_of_operation(&own, &[])));
    moves[1].after = vec![After {
        id: "m1".to_owned(),
        until: Until::Flipped,
    }];
    let all = migrations("mo", moves, Options::default());
    let other = migration("ma", "a", "b", 20, 29);
    let [first, own] = [&all[0], &all[1]];
    assert!(knows_all(
        own,
        &moves_of_operation(own, &[first, &other, own])
    ));
    assert!(!knows_all(own, &moves_of_operation(own, &[&other, own])));
}

#[test]
fn of_a_move_that_is_listed_twice_the_first_counts() {
    let mut moves = vec![
        planned("m1", "a", "b", keys(0, 9)),
        planned("m2", "c", "a", keys(10, 19)),
    ];
    moves[1].after = vec![After {
        id: "m1".to_owned(),
        until: Until::Flipped,
    }];
    let all = migrations("mo", moves, Options::default());
    let [before, own] = [&all[0], &all[1]];
    let after = flipped(before.clone());
    assert!(start_obstacles(own, &[&after, own], &[&after, own, before]).is_empty());
}

#[test]
fn running_moves_are_limited_in_total_and_on_each_shard() {
    let moves = || {
        let one = |index: i64, target: &str| {
            planned(
                &format!("m{index}"),
                "a",
                target,
                keys(index * 10, index * 10 + 9),
            )
        };
        vec![one(1, "b"), one(2, "c"), one(3, "d")]
    };
    let limits = |at_once, per_shard| Options {
        moves_at_once: at_once,
        moves_per_shard: per_shard,
        ..Options::default()
    };
    let mut all = migrations("mo", moves(), limits(2, 64));
    all[0] = started(all[0].clone());
    assert!(obstacles(&all[1], &all).is_empty());
    all[1] = started(all[1].clone());
    assert_eq!(obstacles(&all[2], &all), ["2 other moves are running"]);
    all[0] = flipped(all[0].clone());
    assert!(obstacles(&all[2], &all).is_empty());

    let mut all = migrations("mo", moves(), limits(64, 1));
    all[0] = started(all[0].clone());
    assert_eq!(
        obstacles(&all[1], &all),
        ["1 other move is running on shard a"]
    );
}

#[test]
fn a_new_target_is_made_by_one_move_at_a_time() {
    let mut first = started(migration("ma", "a", "n", 0, 9));
    first.plan.target = TargetState::New;
    let own = migration("mb", "b", "n", 10, 19);
    assert_eq!(
        obstacles(&own, &[first.clone(), own.clone()]),
        ["migration ma creates the tables of shard n"]
    );
    let mut back = flipped(first);
    assert!(obstacles(&own, &[back.clone(), own.clone()]).is_empty());
    back.ownership = Ownership::RolledBack;
    assert_eq!(
        obstacles(&own, &[back, own.clone()]),
        ["migration ma is removing its tables from shard n"]
    );
}

#[test]
fn a_shard_that_is_being_emptied_gets_no_new_rows_meanwhile() {
    let mut drops = flipped(migration("ma", "a", "b", 0, 9));
    drops.ownership = Ownership::Completed;
    let own = migration("mb", "c", "a", 20, 29);
    assert_eq!(
        obstacles(&own, &[drops, own.clone()]),
        ["migration ma drops its old rows on shard a"]
    );
}

#[test]
fn keys_that_the_source_lost_are_named() {
    let own = migration("ma", "a", "b", 0, 9);
    let map = |shard: &str| -> ShardMap {
        serde_json::from_value(serde_json::json!({
            "name": "m", "strategy": "range", "key": ["bigint"], "version": 4, "incarnation": "i",
            "mappings": [{"keys": {"range": [{"from": 0, "to": 5}]}, "shard": shard},
                {"keys": {"range": [{"from": 5, "to": 50}]}, "shard": "a"}],
        }))
        .unwrap()
    };
    assert_eq!(lost_keys_reason(&own, &map("a")), None);
    let reason = lost_keys_reason(&own, &map("b")).unwrap();
    assert!(
        reason.contains("shard a does not own [0, 9)") && reason.contains("version 4"),
        "{reason}"
    );
}

#[test]
fn the_last_of_the_moves_that_empty_a_shard_drops_its_tables() {
    let one = |index: i64, target: &str| {
        let keys = keys(index * 10, index * 10 + 9);
        let mut planned = planned(&format!("m{index}"), "a", target, keys);
        planned.drop_tables = true;
        planned
    };
    let mut all = admitted("mo", vec![one(1, "b"), one(2, "c")], Options::default());
    for snapshot in &mut all {
        snapshot.migration = flipped(snapshot.migration.clone());
        snapshot.migration.ownership = Ownership::Completed;
        for step in snapshot.steps.iter_mut().take(10) {
            step.state = plans::state::step::StepState::Done;
        }
    }
    let mut all: Vec<Arc<Snapshot>> = all.into_iter().map(Arc::new).collect();
    assert_eq!(drop_obstacle(&all[0], &all), None);
    let waits = drop_obstacle(&all[1], &all).unwrap();
    assert!(waits.starts_with("move m1 to be finished"), "{waits}");
    Arc::make_mut(&mut all[0]).migration.finished_at = Some(at(9));
    assert_eq!(drop_obstacle(&all[1], &all), None);
}
