//! Checks that nothing prevents a move, for every operation.

use super::draft::{PlanDraft, PlannerInput, WantedMove, move_id};
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::shard_map::RuleViolation;
use std::collections::BTreeMap;

/// Adds every problem of the wanted moves, and a note for each rule that is violated with a reason.
pub(super) fn check(draft: &mut PlanDraft, input: PlannerInput<'_>) {
    let map = input.map;
    // The keys that each source owns.
    let mut owned_keys: BTreeMap<&ShardName, KeySet> = BTreeMap::new();
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for (index, wanted) in draft.moves.iter().enumerate() {
        let WantedMove {
            source,
            target,
            keys,
            ..
        } = wanted;
        if source == target {
            problems.push(format!("the keys {keys} are on shard {target} already"));
        }
        let owned = owned_keys
            .entry(source)
            .or_insert_with(|| map.owned_by(source));
        if keys.is_empty() || !owned.covers(keys) {
            problems.push(not_owned_problem(wanted, owned, input));
        }
        let broken = broken_rules(wanted, input, &mut problems);
        match &input.options.override_rules {
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

/// Returns the rules that the wanted move violates. Adds a problem if its target is not registered.
fn broken_rules(
    wanted: &WantedMove,
    input: PlannerInput<'_>,
    problems: &mut Vec<String>,
) -> Vec<RuleViolation> {
    let Some(shard) = input.shard(&wanted.target) else {
        let unknown = input.unknown_shard_problem(&wanted.target);
        if !problems.contains(&unknown) {
            problems.push(unknown);
        }
        return Vec::new();
    };
    let rules = input.map.settings.rules.iter();
    rules
        .filter(|rule| !rule.allows(&wanted.keys, shard))
        .map(|rule| RuleViolation {
            rule: rule.name.clone(),
            keys: wanted.keys.clone(),
            shard: wanted.target.clone(),
        })
        .collect()
}

/// Returns the text of the problem that the source does not own all keys of the move. It names the owners of the
/// others.
fn not_owned_problem(wanted: &WantedMove, owned: &KeySet, input: PlannerInput<'_>) -> String {
    let WantedMove { source, keys, .. } = wanted;
    if owned.is_empty() {
        return input.no_keys_problem(source);
    }
    let map = input.map;
    let not_owned = keys.minus(owned);
    let others = map.mappings.iter().filter(|other| &other.shard != source);
    let elsewhere: Vec<String> = others
        .map(|other| (other.keys.intersection(&not_owned), &other.shard))
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
