//! Determines the tasks of a check for each shard, and the further tasks after the first results.

use super::{CheckSubject, CheckTask, CheckTaskResult, MAX_SAMPLE_KEYS, SubjectResult};
use crate::fleet::ShardRef;
use crate::id::ShardName;
use crate::key::Key;
use crate::key_set::KeySet;
use crate::shard_map::ShardMap;
use crate::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the first tasks of a check. Every shard checks rows, table by table, and its guards. Shards that own keys
/// also check definitions, reference tables and sequences.
///
/// `moving_keys`: the keys of unfinished migrations.
#[must_use]
pub fn first_tasks(map: &ShardMap, shards: &[ShardRef], moving_keys: &KeySet) -> Vec<CheckTask> {
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
                .map(|subject| task(map, shard, moving_keys, subject)),
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
    moving_keys: &KeySet,
    results: &[CheckTaskResult],
) -> Vec<CheckTask> {
    let mut keys_by_owner: BTreeMap<&ShardName, BTreeSet<&Key>> = BTreeMap::new();
    for result in results {
        let SubjectResult::Rows(rows) = &result.result else {
            continue;
        };
        for found in &rows.stray_keys {
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
            tasks.push(task(map, shard, moving_keys, subject));
        }
    }
    tasks
}

/// Returns the task that checks one subject on one shard.
fn task(
    map: &ShardMap,
    shard: &ShardRef,
    moving_keys: &KeySet,
    subject: CheckSubject,
) -> CheckTask {
    CheckTask {
        map: map.name.clone(),
        shard: shard.clone(),
        key: map.key.clone(),
        settings: map.settings.clone(),
        owned: map.owned_by(&shard.name),
        mapped: map.mapped(),
        moving_keys: moving_keys.clone(),
        subject,
    }
}
