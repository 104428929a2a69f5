//! Checks that nothing prevents a move, for every operation.

use super::wish::{PlanDraft, PlannerInput, WantedMove, move_id};
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::shard_map::RuleViolation;
use std::collections::BTreeMap;

/// Adds every problem of the wanted moves, and a note for each rule that is violated with a reason.
pub(super) fn check(draft: &mut PlanDraft, ground: PlannerInput<'_>) {
    let map = ground.map;
    let mut owned: BTreeMap<&ShardName, KeySet> = BTreeMap::new();
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for (index, wish) in draft.wishes.iter().enumerate() {
        let WantedMove {
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
            problems.push(not_owned(wish, theirs, ground));
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

/// Returns the rules that the wanted move (`wish`) violates. Adds a problem if its target is not registered.
fn broken_rules(
    wish: &WantedMove,
    ground: PlannerInput<'_>,
    problems: &mut Vec<String>,
) -> Vec<RuleViolation> {
    let Some(shard) = ground.shard(&wish.target) else {
        let unknown = ground.unknown_shard(&wish.target);
        if !problems.contains(&unknown) {
            problems.push(unknown);
        }
        return Vec::new();
    };
    let rules = ground.map.settings.rules.iter();
    rules
        .filter(|rule| !rule.allows(&wish.keys, shard))
        .map(|rule| RuleViolation {
            rule: rule.name.clone(),
            keys: wish.keys.clone(),
            shard: wish.target.clone(),
        })
        .collect()
}

/// Returns the message for keys of which the source does not own all. It names the owners of the others.
fn not_owned(wish: &WantedMove, owned: &KeySet, ground: PlannerInput<'_>) -> String {
    let WantedMove { source, keys, .. } = wish;
    if owned.is_empty() {
        return ground.owns_nothing(source);
    }
    let map = ground.map;
    let lacking = keys.minus(owned);
    let others = map.mappings.iter().filter(|other| &other.shard != source);
    let elsewhere: Vec<String> = others
        .map(|other| (other.keys.intersection(&lacking), &other.shard))
        .filter(|(keys, _)| !keys.is_empty())
        .map(|(keys, shard)| format!("; {keys}: on shard {shard}"))
        .collect();
    format!(
        "shard {source} does not own {keys} in map {} version {}{}",
        map.name,
        map.version,
        elsewhere.concat()
    )
}
