//! What stands in the way of a move, whoever wished for it.

use super::wish::{Draft, Ground, Wish, move_id};
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::shard_map::RuleBreak;
use std::collections::BTreeMap;

/// Adds every problem of the wishes, and a note for each rule that is broken for a reason.
pub(super) fn check(draft: &mut Draft, ground: Ground<'_>) {
    let map = ground.map;
    let mut owned: BTreeMap<&ShardName, KeySet> = BTreeMap::new();
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for (index, wish) in draft.wishes.iter().enumerate() {
        let Wish {
            source,
            target,
            keys,
            ..
        } = wish;
        if source == target {
            problems.push(format!("the keys {keys} are on shard {target} already"));
        }
        let theirs = owned.entry(source).or_insert_with(|| map.owned_by(source));
        if keys.is_empty() || !theirs.covers(keys) {
            problems.push(format!(
                "shard {source} does not own {keys} in map {} version {}",
                map.name, map.version
            ));
        }
        let broken = broken_rules(wish, ground, &mut problems);
        match &ground.options.override_rules {
            None => problems.extend(broken.iter().map(ToString::to_string)),
            Some(reason) => notes.extend(
                broken
                    .iter()
                    .map(|broken| format!("{}: {broken}; overridden: {reason}", move_id(index))),
            ),
        }
    }
    draft.problems.append(&mut problems);
    draft.notes.append(&mut notes);
}

fn broken_rules(wish: &Wish, ground: Ground<'_>, problems: &mut Vec<String>) -> Vec<RuleBreak> {
    let Some(shard) = ground.shard(&wish.target) else {
        let unknown = unknown_shard(&wish.target);
        if !problems.contains(&unknown) {
            problems.push(unknown);
        }
        return Vec::new();
    };
    let rules = ground.map.settings.rules.iter();
    rules
        .filter(|rule| !rule.allows(&wish.keys, shard))
        .map(|rule| RuleBreak {
            rule: rule.name.clone(),
            keys: wish.keys.clone(),
            shard: wish.target.clone(),
        })
        .collect()
}

/// The sentence for a shard that is not registered.
pub(super) fn unknown_shard(shard: &ShardName) -> String {
    format!("there is no shard {shard}; `shardwright shard add` registers it")
}
