//! Which keys go where: each operation as a set of moves.

use super::{MoveOutline, Outline, PlanError};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::Load;
use crate::key_set::KeySet;
use crate::request::{Isolate, Merge, Mode, MoveKeys, Request, Split};
use crate::shard_map::{MappingState, RuleBreak, ShardMap};

/// A move without what follows from its place in the plan.
struct Wish {
    source: ShardName,
    target: ShardName,
    keys: KeySet,
    mode: Mode,
    why: String,
}

pub(super) fn outline(
    request: &Request,
    map: &ShardMap,
    fleet: &[ShardInfo],
    _loads: &[Load],
) -> Result<Outline, PlanError> {
    let mode = request.options().mode;
    let mut problems = Vec::new();
    let wishes = match request {
        Request::Split(split) => wishes_of_split(split, map, mode, &mut problems),
        Request::Merge(merge) => wishes_of_merge(merge, map, mode),
        Request::Move(moves) => wishes_of_move(moves, map, mode, &mut problems),
        Request::Isolate(isolate) => wishes_of_isolate(isolate, map, mode, &mut problems),
        Request::Drain(_) | Request::Rebalance(_) => Vec::new(),
    };
    check(&wishes, request, map, fleet, &mut problems);
    if !problems.is_empty() {
        return Err(PlanError::Unfit { problems });
    }
    let moves = wishes.into_iter().enumerate().map(|(index, wish)| MoveOutline {
        id: format!("m{}", index + 1),
        source: wish.source,
        target: wish.target,
        keys: wish.keys,
        mode: wish.mode,
        after: Vec::new(),
        why: wish.why,
        drop_tables: false,
    });
    Ok(Outline {
        moves: moves.collect(),
        notes: Vec::new(),
    })
}

fn wishes_of_split(
    split: &Split,
    map: &ShardMap,
    mode: Mode,
    problems: &mut Vec<String>,
) -> Vec<Wish> {
    let mut wishes = Vec::new();
    let mut whole = map.no_keys();
    for part in &split.into {
        let Some(selection) = &part.keys else { continue };
        let keys = match selection.resolve(map) {
            Ok(keys) => keys,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        if whole.overlaps(&keys) {
            problems.push(format!("part {} ({keys}) overlaps another part", part.shard));
        }
        whole = whole.union(&keys);
        if part.shard != split.source {
            wishes.push(Wish {
                source: split.source.clone(),
                target: part.shard.clone(),
                keys,
                mode,
                why: format!("part of the split of shard {}", split.source),
            });
        }
    }
    let owned = map.owned_by(&split.source);
    let one = map.mappings.iter().any(|m| m.shard == split.source && m.keys == whole);
    if problems.is_empty() && !one && owned != whole {
        problems.push(format!(
            "the parts make up {whole}, but shard {} owns {owned} in map {} version {}; together they must be one mapping, or all of it",
            split.source, map.name, map.version
        ));
    }
    wishes
}

fn wishes_of_merge(merge: &Merge, map: &ShardMap, mode: Mode) -> Vec<Wish> {
    let sources = merge.sources.iter().filter(|source| **source != merge.into);
    sources
        .map(|source| Wish {
            source: source.clone(),
            target: merge.into.clone(),
            keys: map.owned_by(source),
            mode,
            why: format!("merged into shard {}", merge.into),
        })
        .collect()
}

fn wishes_of_move(
    moves: &MoveKeys,
    map: &ShardMap,
    mode: Mode,
    problems: &mut Vec<String>,
) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for one in &moves.moves {
        let keys = match &one.keys {
            None => Ok(map.owned_by(&one.source)),
            Some(selection) => selection.resolve(map),
        };
        match keys {
            Ok(keys) => wishes.push(Wish {
                source: one.source.clone(),
                target: one.target.clone(),
                keys,
                mode: one.mode.unwrap_or(mode),
                why: "as the request says".to_owned(),
            }),
            Err(error) => problems.push(error.to_string()),
        }
    }
    wishes
}

fn wishes_of_isolate(
    isolate: &Isolate,
    map: &ShardMap,
    mode: Mode,
    problems: &mut Vec<String>,
) -> Vec<Wish> {
    let key = match crate::key::accept(&map.key, &isolate.key) {
        Ok(key) => key,
        Err(error) => {
            problems.push(error.to_string());
            return Vec::new();
        }
    };
    let (Some(owner), Some(keys)) = (map.locate(&key), map.no_keys().only(&key)) else {
        problems.push(format!("no shard owns key {key} in map {} version {}", map.name, map.version));
        return Vec::new();
    };
    vec![Wish {
        source: owner.shard.clone(),
        target: isolate.target.clone(),
        keys,
        mode,
        why: format!("key {key} gets a shard of its own"),
    }]
}

/// What stands in the way of a move whoever wished for it.
fn check(
    wishes: &[Wish],
    request: &Request,
    map: &ShardMap,
    fleet: &[ShardInfo],
    problems: &mut Vec<String>,
) {
    for wish in wishes {
        let Wish { source, target, keys, .. } = wish;
        if source == target {
            problems.push(format!("the keys {keys} are on shard {target} already"));
        }
        if keys.is_empty() || !map.owned_by(source).covers(keys) {
            problems.push(format!(
                "shard {source} does not own {keys} in map {} version {}",
                map.name, map.version
            ));
        }
        let moving = |m: &&crate::shard_map::Mapping| {
            m.state == MappingState::Moving && m.keys.overlaps(keys)
        };
        if let Some(other) = map.mappings.iter().find(moving) {
            problems.push(format!(
                "some of the keys {} of shard {source} are being moved by another migration; wait until it ends or abort it",
                other.keys
            ));
        }
        let Some(shard) = fleet.iter().find(|shard| &shard.name == target) else {
            problems.push(format!("there is no shard {target}; `shardwright shard add` registers it"));
            continue;
        };
        if request.options().override_rules.is_some() {
            continue;
        }
        let broken = map.settings.rules.iter().filter(|rule| !rule.allows(keys, shard));
        problems.extend(broken.map(|rule| {
            let broken = RuleBreak {
                rule: rule.name.clone(),
                keys: keys.clone(),
                shard: target.clone(),
            };
            broken.to_string()
        }));
    }
}
