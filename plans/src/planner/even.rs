//! A split by load: computes the split points from the measured items, in key order.
//!
//! A split point lies between two items, as near as possible to the boundary that the requested shares give.

use super::explicit;
use super::figures::{amount, measure, percent};
use super::items::{self, MeasuredKeys};
use super::propose;
use super::wish::{PlanDraft, PlannerInput};
use crate::key_set::KeySet;
use crate::request::{Measure, Part, Split};

/// By how many percent one item may exceed the load of its part. Above this, the split is refused.
const TOLERANCE: u128 = 10;

pub(super) fn split(split: &Split, by: &Measure, ground: PlannerInput<'_>) -> PlanDraft {
    if ground.map.owned_by(&split.source).is_empty() {
        return PlanDraft::refused(ground.owns_nothing(&split.source));
    }
    let mut items = match items::of_shard(&split.source, by, ground) {
        Ok(items) => items,
        Err(problem) => return PlanDraft::refused(problem),
    };
    items.sort_by(|a, b| a.keys.cmp(&b.keys));
    let total: u64 = items
        .iter()
        .fold(0, |sum, item| sum.saturating_add(item.cost));
    if total == 0 {
        return PlanDraft::refused(format!(
            "nothing is measured on shard {} by {}; name the keys of the parts, or count by something else",
            split.source,
            measure(by)
        ));
    }
    if items.len() < split.into.len() {
        return PlanDraft::refused(format!(
            "shard {} has {} item(s) that could be parted, fewer than the {} parts",
            split.source,
            items.len(),
            split.into.len()
        ));
    }
    let shares: Vec<u64> = split.into.iter().map(share).collect();
    let parts = cut(&items, &shares, total);
    outlined(split, by, ground, &items, &parts, total)
}

/// Returns the share of the load that the request demands for a part, relative to the other parts; the default is 1.
fn share(part: &Part) -> u64 {
    u64::from(part.share.unwrap_or(1))
}

/// Returns the load that part `nth` should have of `total`, rounded up.
fn target(shares: &[u64], nth: usize, total: u64) -> u128 {
    let whole: u128 = shares.iter().copied().map(u128::from).sum();
    (u128::from(total) * u128::from(shares[nth])).div_ceil(whole.max(1))
}

/// Returns for each part the index of its first item, and the index after its last item. No part is empty.
fn cut(items: &[MeasuredKeys], shares: &[u64], total: u64) -> Vec<(usize, usize)> {
    let whole: u128 = shares.iter().copied().map(u128::from).sum();
    let mut parts = Vec::with_capacity(shares.len());
    // `wanted` is the sum of the shares up to this part, and `carried` the load of the items before `at`.
    let (mut start, mut at, mut wanted, mut carried) = (0, 0, 0_u128, 0_u128);
    for (nth, share) in shares.iter().enumerate() {
        let left = shares.len() - nth - 1;
        wanted += u128::from(*share);
        let goal = u128::from(total) * wanted;
        // Loads are multiplied by the sum of the shares, so that nothing is rounded.
        while at < items.len() - left {
            let next = carried + u128::from(items[at].cost) * whole;
            let nearer_without = next > goal && next - goal > goal.saturating_sub(carried);
            if left > 0 && at > start && (carried >= goal || nearer_without) {
                break;
            }
            carried = next;
            at += 1;
        }
        parts.push((start, at));
        start = at;
    }
    parts
}

/// Drafts the moves of the parts, with a note for each part, and a problem for each part in which a single item has too
/// much load.
fn outlined(
    split: &Split,
    by: &Measure,
    ground: PlannerInput<'_>,
    items: &[MeasuredKeys],
    parts: &[(usize, usize)],
    total: u64,
) -> PlanDraft {
    let shares: Vec<u64> = split.into.iter().map(share).collect();
    let wanted: u64 = shares.iter().sum();
    let mut draft = PlanDraft::default();
    for (nth, (part, (from, to))) in split.into.iter().zip(parts).enumerate() {
        let own = &items[*from..*to];
        let keys = items::union(
            &ground.map.empty_key_set(),
            own.iter().map(|item| &item.keys),
        );
        let cost: u64 = own
            .iter()
            .fold(0, |sum, item| sum.saturating_add(item.cost));
        let goal = target(&shares, nth, total);
        let heavy = |item: &&MeasuredKeys| u128::from(item.cost) * 100 > goal * (100 + TOLERANCE);
        if let Some(item) = own.iter().find(heavy) {
            draft
                .problems
                .push(outweighs(split, part, item, by, ground));
        }
        draft.notes.push(format!(
            "part {}: {keys}, about {} ({} of the whole, {} asked for)",
            part.shard,
            amount(by, cost),
            percent(cost, total),
            percent(shares[nth], wanted)
        ));
        push(&mut draft, split, part, keys, ground);
    }
    if draft.problems.is_empty() && draft.wishes.is_empty() {
        draft
            .problems
            .push(format!("every part stays on shard {}", split.source));
    }
    draft
}

/// Adds the move of a part to the draft, unless the part stays on the split shard.
fn push(draft: &mut PlanDraft, split: &Split, part: &Part, keys: KeySet, ground: PlannerInput<'_>) {
    if part.shard != split.source {
        draft.wishes.push(explicit::part(
            split,
            &part.shard,
            keys,
            ground.options.mode,
        ));
    }
}

/// Returns the text of the problem that one item has more load than its part should have.
fn outweighs(
    split: &Split,
    part: &Part,
    item: &MeasuredKeys,
    by: &Measure,
    ground: PlannerInput<'_>,
) -> String {
    format!(
        "{} on shard {} carry {}, more than the share of part {}; {}",
        item.keys,
        split.source,
        amount(by, item.cost),
        part.shard,
        propose::relief(&item.keys, &split.source, ground)
    )
}
