//! Operations whose requests determine the moving keys, without a measured load: split, merge, move, isolate.

use super::draft::{PlanDraft, PlannerInput, WantedMove};
use crate::id::ShardName;
use crate::key::{self, Key, KeyError};
use crate::key_set::KeySet;
use crate::request::{Isolate, Merge, Mode, MoveOperation, Split};
use crate::shard_map::{Selection, SelectionError, ShardMap, Strategy};
use std::collections::BTreeMap;

/// Returns a wanted move that does not wait for another one and keeps the tables of the source.
fn wanted_move(
    source: &ShardName,
    target: &ShardName,
    keys: KeySet,
    mode: Mode,
    why: String,
) -> WantedMove {
    WantedMove {
        source: source.clone(),
        target: target.clone(),
        keys,
        mode,
        why,
        after: Vec::new(),
        drop_tables: false,
    }
}

/// Returns the wanted move of one part of a split from the shard that is split to the part's own shard, `target`.
pub(super) fn move_of_part(
    split: &Split,
    target: &ShardName,
    keys: KeySet,
    mode: Mode,
) -> WantedMove {
    let why = format!("part of the split of shard {}", split.source);
    wanted_move(&split.source, target, keys, mode, why)
}

/// Drafts the moves of a split.
///
/// The parts must not overlap. Together they must be exactly one mapping of the split shard, or all keys that it owns.
pub(super) fn split(split: &Split, input: PlannerInput<'_>) -> PlanDraft {
    let map = input.map;
    let owned = map.owned_by(&split.source);
    if owned.is_empty() {
        return PlanDraft::refused(input.no_keys_problem(&split.source));
    }
    let mut draft = PlanDraft::default();
    let mut union = map.empty_key_set();
    let mut earlier_parts: Vec<(&ShardName, KeySet)> = Vec::with_capacity(split.into.len());
    for part in &split.into {
        let Some(selection) = &part.keys else {
            continue;
        };
        let keys = match resolve(selection, map, &split.source) {
            Ok(keys) => keys,
            Err(error) => {
                draft.problems.push(format!("part {}: {error}", part.shard));
                continue;
            }
        };
        if keys.is_empty() {
            draft
                .problems
                .push(format!("part {} has no keys", part.shard));
        }
        let overlapping = earlier_parts
            .iter()
            .filter(|(_, other)| other.overlaps(&keys));
        draft.problems.extend(overlapping.map(|(shard, other)| {
            let both = other.intersection(&keys);
            format!(
                "part {shard} ({other}) and part {} ({keys}) overlap: both have {both}",
                part.shard
            )
        }));
        union = union.union(&keys);
        earlier_parts.push((&part.shard, keys.clone()));
        if part.shard != split.source {
            draft
                .moves
                .push(move_of_part(split, &part.shard, keys, input.options.mode));
        }
    }
    let is_one_mapping = map
        .mappings
        .iter()
        .any(|m| m.shard == split.source && m.keys == union);
    if draft.problems.is_empty() && !is_one_mapping && owned != union {
        let mut problem = format!(
            "the parts make up {union}, but shard {} owns {owned} in map {} version {}; together the parts must be exactly one mapping of the shard, or all keys that it owns",
            split.source, map.name, map.version
        );
        let (in_no_part, not_owned) = (owned.minus(&union), union.minus(&owned));
        if !in_no_part.is_empty() {
            problem += &format!("; no part has {in_no_part}");
        }
        if !not_owned.is_empty() {
            problem += &format!("; the shard does not own {not_owned}");
        }
        draft.problems.push(problem);
    } else if draft.problems.is_empty() && draft.moves.is_empty() {
        draft
            .problems
            .push(format!("every part stays on shard {}", split.source));
    }
    draft
}

/// Drafts the moves of a merge: all keys of each source move to the shard under `into`.
pub(super) fn merge(merge: &Merge, input: PlannerInput<'_>) -> PlanDraft {
    let mut draft = PlanDraft::default();
    for source in merge.sources.iter().filter(|source| **source != merge.into) {
        let keys = input.map.owned_by(source);
        if keys.is_empty() {
            draft.problems.push(input.no_keys_problem(source));
            continue;
        }
        let why = format!("shard {source} is merged into shard {}", merge.into);
        draft.moves.push(wanted_move(
            source,
            &merge.into,
            keys,
            input.options.mode,
            why,
        ));
    }
    draft
}

/// Drafts the moves of the operation `move`: the keys that each entry names, or all keys of its source.
pub(super) fn moves(moves: &MoveOperation, input: PlannerInput<'_>) -> PlanDraft {
    let map = input.map;
    let mut draft = PlanDraft::default();
    // The keys of the earlier entries, by source.
    let mut earlier_keys: BTreeMap<&ShardName, KeySet> = BTreeMap::new();
    for entry in &moves.moves {
        let keys = match &entry.keys {
            None => map.owned_by(&entry.source),
            Some(selection) => match resolve(selection, map, &entry.source) {
                Ok(keys) => keys,
                Err(error) => {
                    draft.problems.push(error.to_string());
                    continue;
                }
            },
        };
        if entry.keys.is_none() && keys.is_empty() {
            draft.problems.push(input.no_keys_problem(&entry.source));
            continue;
        }
        let earlier = earlier_keys
            .entry(&entry.source)
            .or_insert_with(|| map.empty_key_set());
        let twice = earlier.intersection(&keys);
        if !twice.is_empty() {
            draft.problems.push(format!(
                "{twice} of shard {} would move twice",
                entry.source
            ));
        }
        *earlier = earlier.union(&keys);
        let mode = entry.mode.unwrap_or(input.options.mode);
        let why = match entry.keys {
            Some(_) => "the request names these keys".to_owned(),
            None => format!("all keys that shard {} owns", entry.source),
        };
        draft
            .moves
            .push(wanted_move(&entry.source, &entry.target, keys, mode, why));
    }
    draft
}

/// Returns the keys that a request names. Virtual shards have no exceptions that other shards own, unless the request names
/// these keys.
fn resolve(
    selection: &Selection,
    map: &ShardMap,
    source: &ShardName,
) -> Result<KeySet, SelectionError> {
    let keys = selection.resolve(map)?;
    let named = selection.values.as_deref().unwrap_or_default();
    let named: Result<Vec<Key>, KeyError> =
        named.iter().map(|key| key::accept(&map.key, key)).collect();
    Ok(map.without_exceptions_of_others(&keys, source, &named?))
}

/// Drafts the move of one key to a shard of its own. Under a hash map it becomes an exception of its virtual shard.
pub(super) fn isolate(isolate: &Isolate, input: PlannerInput<'_>) -> PlanDraft {
    let map = input.map;
    let (first, keys) = match keys_to_isolate(&isolate.key, map) {
        Ok(found) => found,
        Err(problem) => return PlanDraft::refused(problem),
    };
    let Some(owner) = map.locate(&first) else {
        return PlanDraft::refused(format!(
            "no shard owns key {} in map {} version {}",
            isolate.key, map.name, map.version
        ));
    };
    let why = format!("key {} gets a shard of its own", isolate.key);
    let mut draft = PlanDraft::default();
    let others = map.owned_by(&isolate.target);
    if !others.is_empty() && owner.shard != isolate.target {
        draft.notes.push(format!(
            "shard {} owns {others} already, so the key does not get a shard of its own",
            isolate.target
        ));
    }
    draft.moves.push(wanted_move(
        &owner.shard,
        &isolate.target,
        keys,
        input.options.mode,
        why,
    ));
    draft
}

/// Returns the first key of the smallest set that contains `key`, and the set.
///
/// `key` may have only the first columns of a composite key. The set then contains all keys that begin with them.
fn keys_to_isolate(key: &Key, map: &ShardMap) -> Result<(Key, KeySet), String> {
    let key_values = key.values();
    let Some(types) = map.key.get(..key_values.len()) else {
        // The key has too many values, so `accept` returns an error.
        return key::accept(&map.key, key)
            .map(|key| (key.clone(), map.empty_key_set()))
            .map_err(|error| error.to_string());
    };
    let accepted = key::accept(types, key).map_err(|error| error.to_string())?;
    let rest = &map.key[key_values.len()..];
    // The first key that begins with `prefix`.
    let padded = |prefix: &Key| {
        let mut values = prefix.values().to_vec();
        values.extend(rest.iter().map(|kind| kind.least()));
        match (map.key.as_slice(), values.as_slice()) {
            ([_], [only]) => only.clone(),
            _ => Key::Row(values),
        }
    };
    let first = padded(&accepted);
    if map.strategy != Strategy::Range {
        let keys = map.empty_key_set().only(&first);
        return Ok((first, keys));
    }
    let next = accepted
        .successor()
        .filter(|next| key::accept(types, next).is_ok());
    match next {
        Some(next) => Ok((
            first.clone(),
            KeySet::range(Some(first), Some(padded(&next))),
        )),
        None if key_values.len() == 1 => Ok((first.clone(), KeySet::range(Some(first), None))),
        None => Err(format!(
            "the last column of key {key} has the last value of its type, so no half-open range contains only this key; move a range that begins with it instead"
        )),
    }
}
