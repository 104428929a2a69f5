//! Determines the tasks of a check for each shard, and the further tasks after the first results.

use super::{CheckSubject, CheckTask, CheckTaskResult, MAX_SAMPLE_KEYS};
use crate::fleet::ShardRef;
use crate::id::ShardName;
use crate::key::Key;
use crate::key_set::KeySet;
use crate::plan::Move;
use crate::request::Seed;
use crate::shard_map::ShardMap;
use crate::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// What unfinished migrations of a map do to its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedMoves {
    /// The moving keys.
    pub keys: KeySet,
    /// The targets of migrations that are seeded from a standby.
    pub seeded_targets: BTreeSet<ShardName>,
}

impl UnfinishedMoves {
    /// Returns the value for a map without unfinished migrations.
    #[must_use]
    pub fn none(map: &ShardMap) -> Self {
        Self {
            keys: map.empty_key_set(),
            seeded_targets: BTreeSet::new(),
        }
    }

    /// Adds an unfinished move of the map.
    #[must_use]
    pub fn with(mut self, moving: &Move, seed: Seed) -> Self {
        self.keys = self.keys.union(&moving.keys);
        if seed == Seed::Standby {
            self.seeded_targets.insert(moving.target.clone());
        }
        self
    }
}

/// Returns the first tasks of a check. Every shard checks rows, table by table, and its guards. Shards that own keys
/// also check definitions, reference tables and sequences.
#[must_use]
pub fn first_tasks(
    map: &ShardMap,
    shards: &[ShardRef],
    unfinished: &UnfinishedMoves,
) -> Vec<CheckTask> {
    let settings = &map.settings;
    let owners = map.shards();
    let mut tasks = Vec::new();
    for shard in shards {
        let tables = settings.tables.keys().chain(settings.through.keys());
        let mut subjects: Vec<CheckSubject> = tables
            .map(|table| CheckSubject::Rows {
                table: TableName::parse(table),
            })
            .collect();
        if !settings.keyed_by.is_column() {
            subjects.push(CheckSubject::WholeTables);
        }
        subjects.push(CheckSubject::Guards);
        if owners.contains(&shard.name) {
            subjects.extend([CheckSubject::Schema, CheckSubject::Sequences]);
            if !settings.reference.is_empty() {
                subjects.push(CheckSubject::Reference);
            }
        }
        tasks.extend(
            subjects
                .into_iter()
                .map(|subject| task(map, shard, unfinished, subject)),
        );
    }
    tasks
}

/// Returns the tasks by which the owners of keys check whether they have rows of these keys, too. The keys are those
/// that `results`, the results of the first tasks, contain from other shards.
#[must_use]
pub fn follow_up(
    map: &ShardMap,
    shards: &[ShardRef],
    unfinished: &UnfinishedMoves,
    results: &[CheckTaskResult],
) -> Vec<CheckTask> {
    let mut keys_by_owner: BTreeMap<&ShardName, BTreeSet<&Key>> = BTreeMap::new();
    for result in results {
        let rows = result.result.stray_rows().iter();
        for found in rows.flat_map(|rows| &rows.stray_keys) {
            if let Some(mapping) = map.locate(&found.key) {
                keys_by_owner
                    .entry(&mapping.shard)
                    .or_default()
                    .insert(&found.key);
            }
        }
    }
    let mut tasks = Vec::new();
    for (owner, keys) in keys_by_owner {
        let Some(shard) = shards.iter().find(|shard| &shard.name == owner) else {
            continue;
        };
        let keys: Vec<Key> = keys.into_iter().cloned().collect();
        for chunk in keys.chunks(MAX_SAMPLE_KEYS) {
            let subject = CheckSubject::Present {
                keys: chunk.to_vec(),
            };
            tasks.push(task(map, shard, unfinished, subject));
        }
    }
    tasks
}

/// Returns the task that checks one subject on one shard.
fn task(
    map: &ShardMap,
    shard: &ShardRef,
    unfinished: &UnfinishedMoves,
    subject: CheckSubject,
) -> CheckTask {
    CheckTask {
        map: map.name.clone(),
        shard: shard.clone(),
        key: map.key.clone(),
        settings: map.settings.clone(),
        owned: map.owned_by(&shard.name),
        mapped: map.mapped(),
        moving_keys: unfinished.keys.clone(),
        has_surplus: unfinished.seeded_targets.contains(&shard.name),
        subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{MapName, MapVersion};
    use crate::key::KeyType;
    use crate::shard_map::{KeyColumns, MapSettings, Mapping, MappingState, Strategy};

    #[test]
    fn only_the_target_of_a_seeded_move_has_surplus_rows() {
        let map = ShardMap {
            name: MapName::from("m"),
            strategy: Strategy::Range,
            key: vec![KeyType::Bigint],
            buckets: 0,
            version: MapVersion(1),
            incarnation: String::new(),
            migration: None,
            settings: MapSettings {
                tables: [("item".to_owned(), KeyColumns(vec!["k".to_owned()]))].into(),
                ..MapSettings::default()
            },
            mappings: vec![Mapping {
                keys: KeySet::range(None, None),
                shard: "a".into(),
                state: MappingState::Active,
            }],
        };
        let shard = |name: &str| ShardRef {
            name: name.into(),
            number: 1,
            dsn: String::new(),
            identity: None,
        };
        let moving = |target: &str| Move {
            source: "a".into(),
            target: target.into(),
            keys: KeySet::range(Some(Key::Int(1)), None),
            tables: Vec::new(),
        };
        let unfinished = UnfinishedMoves::none(&map)
            .with(&moving("b"), Seed::Standby)
            .with(&moving("c"), Seed::Copy);
        for task in first_tasks(&map, &["a", "b", "c"].map(shard), &unfinished) {
            assert_eq!(task.has_surplus, task.shard.name.as_str() == "b");
            assert!(task.moving_keys.contains(&Key::Int(5)));
        }
    }
}
