//! Removes superseded changes: an UPDATE is superseded by a later UPDATE of the same row that sets every column that
//! the first one sets.
//!
//! So the size of a backlog of a few busy rows depends on its rows and not on its changes. The remaining changes have
//! the same effect one by one and by sets: rows are independent of each other, except for values that must be unique
//! beyond the keys (ADR 41).

use std::collections::HashMap;
use std::sync::Arc;

use super::change::{RowChange, RowChangeKind};
use super::key::RowKey;
use crate::postgres::pgoutput::TupleValue;

/// Removes superseded changes. The others keep their order, and their keys are those of all changes. If many changes
/// were removed, the function frees their memory and returns true.
pub(crate) fn compact_changes(changes: &mut Vec<RowChange>) -> bool {
    let before = changes.len();
    let mut kept = which_to_keep(changes).into_iter();
    changes.retain(|_| kept.next().unwrap_or(true));
    let saved_much = changes.len() <= before / 4 * 3;
    if saved_much {
        changes.iter_mut().for_each(RowChange::detach);
    }
    saved_much
}

/// Returns, for each change, whether it must be kept.
fn which_to_keep(changes: &[RowChange]) -> Vec<bool> {
    let mut kept = vec![true; changes.len()];
    if changes.iter().any(RowChange::changes_key) {
        return kept;
    }
    let mut last: HashMap<RowKey<'_>, usize> = HashMap::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        let (target, row) = (&change.target, change.key_image());
        if target.is_order_independent()
            && let Some(before) = last.insert(RowKey { target, row }, at)
        {
            kept[before] = !supersedes(change, &changes[before]);
        }
    }
    kept
}

/// Whether the row ends the same without `before`, the previous change of the same row.
fn supersedes(change: &RowChange, before: &RowChange) -> bool {
    let (RowChangeKind::Update { new, .. }, RowChangeKind::Update { new: old, .. }) =
        (&change.kind, &before.kind)
    else {
        return false;
    };
    let target = &change.target;
    Arc::ptr_eq(target, &before.target)
        && new.0.iter().all(is_present)
        && target.fixed.iter().all(|at| new.0[*at] == old.0[*at])
}

fn is_present(value: &TupleValue) -> bool {
    match value {
        TupleValue::Null | TupleValue::Text(_) | TupleValue::Binary(_) => true,
        TupleValue::UnchangedToast | TupleValue::LeftOut => false,
    }
}
