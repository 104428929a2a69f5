//! Combines the items that change their shard into one move for each pair of shards.

use super::state::RebalanceState;
use super::types::MoveKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// A move that is not scheduled yet.
#[derive(Debug)]
pub(super) struct UnscheduledMove {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The most urgent of the reasons why its items move.
    pub(super) kind: MoveKind,
    pub(super) items: Vec<Range<u32>>,
    pub(super) cost: u128,
    pub(super) bytes: u128,
}

impl UnscheduledMove {
    /// Adds an item whose index is greater than those of the earlier items.
    fn add(&mut self, item: u32) {
        match self.items.last_mut() {
            Some(last) if last.end == item => last.end = item + 1,
            Some(_) | None => self.items.push(item..item + 1),
        }
    }
}

/// Returns all moves, the most urgent first, then by pair of shards.
pub(super) fn unscheduled_moves(state: &RebalanceState<'_>) -> Vec<UnscheduledMove> {
    let mut pairs: BTreeMap<(u32, u32), UnscheduledMove> = BTreeMap::new();
    for ((index, item), to) in (0_u32..).zip(state.items).zip(&state.shard_of_item) {
        let (from, to) = (item.shard, *to);
        if from == to {
            continue;
        }
        let kind = state.must_leave(index).unwrap_or(MoveKind::Balance);
        let draft = pairs.entry((from, to)).or_insert_with(|| UnscheduledMove {
            from,
            to,
            kind,
            items: Vec::new(),
            cost: 0,
            bytes: 0,
        });
        draft.kind = draft.kind.min(kind);
        draft.cost += u128::from(item.cost);
        draft.bytes += u128::from(item.bytes);
        draft.add(index);
    }
    let mut drafts: Vec<UnscheduledMove> = pairs.into_values().collect();
    drafts.sort_by_key(|draft| draft.kind);
    drafts
}
