//! What need not be kept of changes that are gathered: an UPDATE behind which one of the same row says all that it said.
//!
//! So a backlog of a few busy rows takes room, and is written, by its rows and not by its changes. What is left has the
//! same effect one by one and by sets: rows are independent of each other, but for values that must be unique beyond
//! what they are found by (ADR 41).

use std::collections::HashMap;
use std::sync::Arc;

use super::change::{RowChange, RowChangeKind};
use super::key::RowKey;
use crate::postgres::pgoutput::TupleValue;

/// Leaves out what need not be kept; the others stay in their order. Their keys are those of all. Where that is much,
/// its memory is freed, and the answer is true.
pub(crate) fn compact(changes: &mut Vec<RowChange>) -> bool {
    let before = changes.len();
    let mut kept = kept(changes).into_iter();
    changes.retain(|_| kept.next().unwrap_or(true));
    let much = changes.len() <= before / 4 * 3;
    if much {
        changes.iter_mut().for_each(RowChange::detach);
    }
    much
}

/// Whether each change is to be kept.
fn kept(changes: &[RowChange]) -> Vec<bool> {
    let mut kept = vec![true; changes.len()];
    if changes.iter().any(RowChange::moves) {
        return kept;
    }
    let mut last: HashMap<RowKey<'_>, usize> = HashMap::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        let (target, row) = (&change.target, change.found_by());
        if target.is_free()
            && let Some(before) = last.insert(RowKey { target, row }, at)
        {
            kept[before] = !says_all_of(change, &changes[before]);
        }
    }
    kept
}

/// Whether the row is the same without `before`, the change of it right before this one.
fn says_all_of(change: &RowChange, before: &RowChange) -> bool {
    let (RowChangeKind::Update { new, .. }, RowChangeKind::Update { new: old, .. }) =
        (&change.kind, &before.kind)
    else {
        return false;
    };
    let target = &change.target;
    Arc::ptr_eq(target, &before.target)
        && new.0.iter().all(is_said)
        && target.fixed.iter().all(|at| new.0[*at] == old.0[*at])
}

fn is_said(value: &TupleValue) -> bool {
    match value {
        TupleValue::Null | TupleValue::Text(_) | TupleValue::Binary(_) => true,
        TupleValue::UnchangedToast | TupleValue::LeftOut => false,
    }
}
