//! Removes superseded changes: an UPDATE is superseded if the next change of the row is an UPDATE that sets every
//! column which the first one sets.
//!
//! So the size of a backlog with many changes of few rows depends on the number of rows. The remaining changes have the
//! same effect as all of them, because rows are independent of each other. This does not hold if the table has unique
//! values besides the key (ADR 41).

use std::collections::HashMap;
use std::sync::Arc;

use super::change::{RowChange, RowChangeKind};
use super::key::RowKey;
use crate::postgres::pgoutput::TupleValue;

/// Removes superseded changes. The remaining ones keep their order, and contain every key of the removed ones. Returns
/// whether at least a quarter was removed; the memory of the removed ones is then free.
pub(crate) fn compact_changes(changes: &mut Vec<RowChange>) -> bool {
    let count_before = changes.len();
    let mut keep = find_changes_to_keep(changes).into_iter();
    changes.retain(|_| keep.next().unwrap_or(true));
    let removed_many = changes.len() <= count_before / 4 * 3;
    if removed_many {
        changes.iter_mut().for_each(RowChange::detach);
    }
    removed_many
}

/// Returns, for each change, whether it must be kept.
fn find_changes_to_keep(changes: &[RowChange]) -> Vec<bool> {
    let mut keep = vec![true; changes.len()];
    if changes.iter().any(RowChange::changes_key) {
        return keep;
    }
    let mut last_change: HashMap<RowKey<'_>, usize> = HashMap::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        let (target, row) = (&change.target, change.key_image());
        if target.is_order_independent()
            && let Some(previous) = last_change.insert(RowKey { target, row }, index)
        {
            keep[previous] = !supersedes(change, &changes[previous]);
        }
    }
    keep
}

/// Returns whether `change` makes `previous` superfluous, the previous change of the same row.
fn supersedes(change: &RowChange, previous: &RowChange) -> bool {
    let (RowChangeKind::Update { new, .. }, RowChangeKind::Update { new: old, .. }) =
        (&change.kind, &previous.kind)
    else {
        return false;
    };
    let target = &change.target;
    Arc::ptr_eq(target, &previous.target)
        && new.0.iter().all(is_present)
        && target.unsettable.iter().all(|at| new.0[*at] == old.0[*at])
}

fn is_present(value: &TupleValue) -> bool {
    match value {
        TupleValue::Null | TupleValue::Text(_) | TupleValue::Binary(_) => true,
        TupleValue::UnchangedToast | TupleValue::LeftOut => false,
    }
}
