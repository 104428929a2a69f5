//! A split by load (field `even` of the request): computes the split points from the measured items, in key order.
//!
//! A split point is between two items, so that the loads of the parts are as near as possible to the requested shares.

use super::draft::{PlanDraft, PlannerInput};
use super::explicit;
use super::figures::{load_text, measure_name, percent_text};
use super::items::{self, MeasuredKeys};
use super::propose;
use crate::key_set::KeySet;
use crate::request::{Measure, Part, Split};

/// By how many percent the load of one item may exceed the wanted load of its part. Otherwise the split is refused.
const TOLERANCE_PERCENT: u128 = 10;

/// Drafts a split by load.
pub(super) fn split(split: &Split, measure: &Measure, input: PlannerInput<'_>) -> PlanDraft {
    if input.map.owned_by(&split.source).is_empty() {
        return PlanDraft::refused(input.no_keys_problem(&split.source));
    }
    let mut items = match items::measured_items(&split.source, measure, input) {
        Ok(items) => items,
        Err(problem) => return PlanDraft::refused(problem),
    };
    items.sort_by(|a, b| a.keys.cmp(&b.keys));
    let total: u64 = items
        .iter()
        .fold(0, |sum, item| sum.saturating_add(item.cost));
    if total == 0 {
        return PlanDraft::refused(format!(
            "nothing is measured on shard {} by {}; name the keys of the parts, or measure by something else",
            split.source,
            measure_name(measure)
        ));
    }
    if items.len() < split.into.len() {
        return PlanDraft::refused(format!(
            "shard {} has {} item(s) between which it can be split, fewer than the {} parts",
            split.source,
            items.len(),
            split.into.len()
        ));
    }
    let shares: Vec<u64> = split.into.iter().map(share).collect();
    let parts = split_items(&items, &shares, total);
    draft_of_parts(split, measure, input, &items, &parts, total)
}

/// Returns the share of the load that the request demands for a part, relative to the other parts; the default is 1.
fn share(part: &Part) -> u64 {
    u64::from(part.share.unwrap_or(1))
}

/// Returns the load that part `nth` should have of `total`, rounded up.
fn wanted_load(shares: &[u64], nth: usize, total: u64) -> u128 {
    let sum_of_shares: u128 = shares.iter().copied().map(u128::from).sum();
    (u128::from(total) * u128::from(shares[nth])).div_ceil(sum_of_shares.max(1))
}

/// Returns for each part the index of its first item, and the index after its last item. No part is empty.
fn split_items(items: &[MeasuredKeys], shares: &[u64], total: u64) -> Vec<(usize, usize)> {
    let sum_of_shares: u128 = shares.iter().copied().map(u128::from).sum();
    let mut parts = Vec::with_capacity(shares.len());
    // `shares_so_far` is the sum of the shares up to this part. `load` is the load of the items before `end`. `load`
    // and `goal` are multiplied by the sum of the shares, so that nothing is rounded.
    let (mut start, mut end, mut shares_so_far, mut load) = (0, 0, 0_u128, 0_u128);
    for (nth, share) in shares.iter().enumerate() {
        let later_parts = shares.len() - nth - 1;
        shares_so_far += u128::from(*share);
        let goal = u128::from(total) * shares_so_far;
        // Each later part needs at least one item.
        while end < items.len() - later_parts {
            let next_load = load + u128::from(items[end].cost) * sum_of_shares;
            let nearer_without = next_load > goal && next_load - goal > goal.saturating_sub(load);
            if later_parts > 0 && end > start && (load >= goal || nearer_without) {
                break;
            }
            load = next_load;
            end += 1;
        }
        parts.push((start, end));
        start = end;
    }
    parts
}

/// Drafts the moves of the parts, with a note for each part, and a problem for each part in which a single item has too
/// much load.
fn draft_of_parts(
    split: &Split,
    measure: &Measure,
    input: PlannerInput<'_>,
    items: &[MeasuredKeys],
    parts: &[(usize, usize)],
    total: u64,
) -> PlanDraft {
    let shares: Vec<u64> = split.into.iter().map(share).collect();
    let sum_of_shares: u64 = shares.iter().sum();
    let mut draft = PlanDraft::default();
    for (nth, (part, (from, to))) in split.into.iter().zip(parts).enumerate() {
        let own = &items[*from..*to];
        let keys = input
            .map
            .empty_key_set()
            .union_all(own.iter().map(|item| &item.keys));
        let cost: u64 = own
            .iter()
            .fold(0, |sum, item| sum.saturating_add(item.cost));
        let wanted_load = wanted_load(&shares, nth, total);
        let is_too_heavy = |item: &&MeasuredKeys| {
            u128::from(item.cost) * 100 > wanted_load * (100 + TOLERANCE_PERCENT)
        };
        if let Some(item) = own.iter().find(is_too_heavy) {
            draft
                .problems
                .push(too_heavy_problem(split, part, item, measure, input));
        }
        draft.notes.push(format!(
            "part {}: {keys}, about {} ({} of the load; the request wants {})",
            part.shard,
            load_text(measure, cost),
            percent_text(cost, total),
            percent_text(shares[nth], sum_of_shares)
        ));
        add_move(&mut draft, split, part, keys, input);
    }
    if draft.problems.is_empty() && draft.moves.is_empty() {
        draft
            .problems
            .push(format!("every part stays on shard {}", split.source));
    }
    draft
}

/// Adds the move of a part to the draft, unless the part stays on the split shard.
fn add_move(
    draft: &mut PlanDraft,
    split: &Split,
    part: &Part,
    keys: KeySet,
    input: PlannerInput<'_>,
) {
    if part.shard != split.source {
        draft.moves.push(explicit::move_of_part(
            split,
            &part.shard,
            keys,
            input.options.mode,
        ));
    }
}

/// Returns the text of the problem that one item has more load than its part should have.
fn too_heavy_problem(
    split: &Split,
    part: &Part,
    item: &MeasuredKeys,
    measure: &Measure,
    input: PlannerInput<'_>,
) -> String {
    format!(
        "{} on shard {} have {}, more than the share of part {}; {}",
        item.keys,
        split.source,
        load_text(measure, item.cost),
        part.shard,
        propose::relief(&item.keys, &split.source, input)
    )
}
