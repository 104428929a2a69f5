//! Operations whose requests determine the moving keys, without a measured load: split, merge, move, isolate.

use super::wish::{PlanDraft, PlannerInput, WantedMove};
use crate::id::ShardName;
use crate::key::{self, Key};
use crate::key_set::{KeySet, bucket_of};
use crate::request::{Isolate, Merge, Mode, MoveOperation, Split};
use crate::shard_map::{ShardMap, Strategy};
use std::collections::BTreeMap;

/// Returns a wanted move that does not wait for another one and keeps the tables of the source.
fn wish(
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
pub(super) fn part(split: &Split, target: &ShardName, keys: KeySet, mode: Mode) -> WantedMove {
    let why = format!("part of the split of shard {}", split.source);
    wish(&split.source, target, keys, mode, why)
}

/// Drafts the moves of a split. `ground` is the planner's input.
///
/// The parts must not overlap. Together they must be exactly one mapping of the split shard, or all keys that it owns.
pub(super) fn split(split: &Split, ground: PlannerInput<'_>) -> PlanDraft {
    let map = ground.map;
    let owned = map.owned_by(&split.source);
    if owned.is_empty() {
        return PlanDraft::refused(ground.owns_nothing(&split.source));
    }
    let mut draft = PlanDraft::default();
    // The union of all parts, and each part that was read so far.
    let mut whole = map.empty_key_set();
    let mut before: Vec<(&ShardName, KeySet)> = Vec::with_capacity(split.into.len());
    for one in &split.into {
        let Some(selection) = &one.keys else { continue };
        let keys = match selection.resolve(map) {
            Ok(keys) => keys,
            Err(error) => {
                draft.problems.push(format!("part {}: {error}", one.shard));
                continue;
            }
        };
        if keys.is_empty() {
            draft
                .problems
                .push(format!("part {} has no keys", one.shard));
        }
        // The earlier parts that have keys of this part.
        let met = before.iter().filter(|(_, other)| other.overlaps(&keys));
        draft.problems.extend(met.map(|(shard, other)| {
            let both = other.intersection(&keys);
            format!(
                "part {shard} ({other}) and part {} ({keys}) overlap: both have {both}",
                one.shard
            )
        }));
        whole = whole.union(&keys);
        before.push((&one.shard, keys.clone()));
        if one.shard != split.source {
            draft
                .wishes
                .push(part(split, &one.shard, keys, ground.options.mode));
        }
    }
    // Whether the parts together are exactly one mapping of the split shard.
    let one = map
        .mappings
        .iter()
        .any(|m| m.shard == split.source && m.keys == whole);
    if draft.problems.is_empty() && !one && owned != whole {
        let mut problem = format!(
            "the parts make up {whole}, but shard {} owns {owned} in map {} version {}; together they must be one mapping, or all of it",
            split.source, map.name, map.version
        );
        let (lacking, foreign) = (owned.minus(&whole), whole.minus(&owned));
        if !lacking.is_empty() {
            problem += &format!("; no part has {lacking}");
        }
        if !foreign.is_empty() {
            problem += &format!("; the shard does not own {foreign}");
        }
        draft.problems.push(problem);
    } else if draft.problems.is_empty() && draft.wishes.is_empty() {
        draft
            .problems
            .push(format!("every part stays on shard {}", split.source));
    }
    draft
}

/// Drafts the moves of a merge: all keys of each source move to the shard under `into`.
pub(super) fn merge(merge: &Merge, ground: PlannerInput<'_>) -> PlanDraft {
    let mut draft = PlanDraft::default();
    for source in merge.sources.iter().filter(|source| **source != merge.into) {
        let keys = ground.map.owned_by(source);
        if keys.is_empty() {
            draft.problems.push(ground.owns_nothing(source));
            continue;
        }
        let why = format!("shard {source} is merged into shard {}", merge.into);
        draft
            .wishes
            .push(wish(source, &merge.into, keys, ground.options.mode, why));
    }
    draft
}

/// Drafts the moves of the operation `move`: the keys that each entry names, or all keys of its source.
pub(super) fn moves(moves: &MoveOperation, ground: PlannerInput<'_>) -> PlanDraft {
    let map = ground.map;
    let mut draft = PlanDraft::default();
    // The keys of the entries that were read so far, by source.
    let mut claimed: BTreeMap<&ShardName, KeySet> = BTreeMap::new();
    for one in &moves.moves {
        let keys = match &one.keys {
            None => map.owned_by(&one.source),
            Some(selection) => match selection.resolve(map) {
                Ok(keys) => keys,
                Err(error) => {
                    draft.problems.push(error.to_string());
                    continue;
                }
            },
        };
        if one.keys.is_none() && keys.is_empty() {
            draft.problems.push(ground.owns_nothing(&one.source));
            continue;
        }
        let before = claimed
            .entry(&one.source)
            .or_insert_with(|| map.empty_key_set());
        let twice = before.intersection(&keys);
        if !twice.is_empty() {
            draft
                .problems
                .push(format!("{twice} of shard {} would move twice", one.source));
        }
        *before = before.union(&keys);
        let mode = one.mode.unwrap_or(ground.options.mode);
        let why = match one.keys {
            Some(_) => "as the request says".to_owned(),
            None => format!("all that shard {} owns", one.source),
        };
        draft
            .wishes
            .push(wish(&one.source, &one.target, keys, mode, why));
    }
    draft
}

/// Drafts the move of one key to a shard of its own. Under a hash map all keys of its virtual shard move.
pub(super) fn isolate(isolate: &Isolate, ground: PlannerInput<'_>) -> PlanDraft {
    let map = ground.map;
    let (first, keys) = match keys_of(&isolate.key, map) {
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
    if map.strategy == Strategy::Hash {
        draft.notes.push(format!(
            "key {first} is in virtual shard {} of {}: its other keys go along",
            bucket_of(&first, map.buckets),
            map.buckets
        ));
    }
    let others = map.owned_by(&isolate.target);
    if !others.is_empty() && owner.shard != isolate.target {
        draft.notes.push(format!(
            "shard {} owns {others} already: the key shares it with these",
            isolate.target
        ));
    }
    draft.wishes.push(wish(
        &owner.shard,
        &isolate.target,
        keys,
        ground.options.mode,
        why,
    ));
    draft
}

/// Returns the first key of the smallest set that contains `key`, and the set.
///
/// `key` may have only the first columns of a composite key. The set then contains all keys that begin with them.
fn keys_of(key: &Key, map: &ShardMap) -> Result<(Key, KeySet), String> {
    let key_values = key.values();
    let Some(types) = map.key.get(..key_values.len()) else {
        return key::accept(&map.key, key)
            .map(|key| (key.clone(), map.empty_key_set()))
            .map_err(|error| error.to_string());
    };
    let accepted = key::accept(types, key).map_err(|error| error.to_string())?;
    let rest = &map.key[key_values.len()..];
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
        // A set with this single key, or with its virtual shard. The empty set determines only the strategy.
        let keys = map.empty_key_set().smallest_set_with(&first);
        return Ok((first, keys.unwrap_or_else(|| map.empty_key_set())));
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
            "the last column of key {key} has the last value of its type, so no half-open range holds it alone; move a range that begins with it instead"
        )),
    }
}
