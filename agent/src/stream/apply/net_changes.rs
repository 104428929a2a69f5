//! Combines changes into net changes: sets of rows that have the same effect as the changes one after the other.
//!
//! Rows are independent of each other, except for constraints, and a violated constraint is an error. So changes of
//! different rows can be in any order, and the changes of one row become one change. This does not hold if an UPDATE
//! gives a row another key: all changes with the old or the new key are then executed one by one, in their order.
//!
//! For each set it is known how many rows it must affect. If it affects this number, each of the combined changes would
//! have affected one row.

#[cfg(test)]
pub(super) mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::change::{RowChange, RowChangeKind};
use super::key::RowKey;
use super::lane::ApplyLane;
use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// The operation on the rows of a set. Sets are executed in the order of these variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SetOperation {
    Delete,
    /// Proves that none of the rows exists: the changes insert and delete them.
    ProveMissing,
    Update,
    Insert,
}

/// Rows of one table that have values in the same columns, with one operation on all of them.
#[derive(Debug)]
pub(super) struct RowSet<'a> {
    pub(super) target: &'a Arc<ApplyTarget>,
    pub(super) operation: SetOperation,
    /// The rows, in the order of their keys.
    pub(super) rows: Vec<Cow<'a, Tuple>>,
}

impl RowSet<'_> {
    /// Splits the set into one for each lane. The rows keep their order.
    pub(super) fn split_by_lane(self) -> [Self; 2] {
        let (target, operation) = (self.target, self.operation);
        let is_first = |row: &Cow<'_, Tuple>| ApplyLane::of(target, row) == ApplyLane::First;
        let (first, second) = self.rows.into_iter().partition(is_first);
        [first, second].map(|rows| Self {
            target,
            operation,
            rows,
        })
    }
}

/// The net effect of changes.
#[derive(Debug)]
pub(super) struct NetChanges<'a> {
    pub(super) sets: Vec<RowSet<'a>>,
    /// Changes that are executed one by one after the sets.
    pub(super) remaining: Vec<&'a RowChange>,
}

impl<'a> NetChanges<'a> {
    /// Computes the net changes. Returns `None` if the changes contradict each other, or if a row cannot be identified.
    /// The execution one by one then returns the error.
    pub(super) fn of(changes: &'a [RowChange]) -> Option<Self> {
        let changed_keys = find_changed_keys(changes)?;
        let mut remaining = Vec::new();
        let mut states: HashMap<RowKey<'a>, RowState<'a>> = HashMap::with_capacity(changes.len());
        for change in changes {
            let key = RowKey {
                target: &change.target,
                row: change.key_image(),
            };
            if !change.target.allows_sets
                || (!changed_keys.is_empty() && changed_keys.contains(&key))
            {
                remaining.push(change);
                continue;
            }
            match states.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(RowState::after_first_change(change));
                }
                Entry::Occupied(mut entry) => {
                    let before = std::mem::replace(entry.get_mut(), RowState::Missing);
                    entry.insert(before.followed_by(change)?);
                }
            }
        }
        let sets = build_sets(states);
        Some(Self { sets, remaining })
    }
}

/// Returns the old and new keys of all UPDATEs that give a row another key; `None` if a new key is unknown.
fn find_changed_keys(changes: &[RowChange]) -> Option<HashSet<RowKey<'_>>> {
    let mut keys = HashSet::new();
    for change in changes.iter().filter(|change| change.target.allows_sets) {
        let target = &change.target;
        if let RowChangeKind::Update {
            new,
            key_changed: true,
            ..
        } = &change.kind
        {
            let row = change.key_image();
            keys.insert(RowKey { target, row });
            if !target.is_identified(new) {
                return None;
            }
            keys.insert(RowKey { target, row: new });
        }
    }
    Some(keys)
}

/// The net effect of the changes of one row so far. The columns of a row image are those of the target next to it.
#[derive(Debug)]
enum RowState<'a> {
    /// The row did not exist before and does not exist now.
    Missing,
    Inserted(&'a Arc<ApplyTarget>, Cow<'a, Tuple>),
    Updated(&'a Arc<ApplyTarget>, Cow<'a, Tuple>),
    Deleted,
    /// The row existed, was deleted, and was inserted again.
    Replaced(&'a Arc<ApplyTarget>, Cow<'a, Tuple>),
}

impl<'a> RowState<'a> {
    fn after_first_change(change: &'a RowChange) -> Self {
        let target = &change.target;
        match &change.kind {
            RowChangeKind::Insert(new) => Self::Inserted(target, Cow::Borrowed(new)),
            RowChangeKind::Update { new, .. } => {
                Self::Updated(target, with_key(target, change.key_image(), new))
            }
            RowChangeKind::Delete(_) => Self::Deleted,
        }
    }

    /// Returns the state after another change of the row. `None` if the change contradicts the earlier ones, or
    /// cannot be executed together with them.
    fn followed_by(self, change: &'a RowChange) -> Option<Self> {
        let target = &change.target;
        match (self, &change.kind) {
            (Self::Missing, RowChangeKind::Insert(new)) => {
                Some(Self::Inserted(target, Cow::Borrowed(new)))
            }
            (Self::Deleted, RowChangeKind::Insert(new)) => {
                Some(Self::Replaced(target, Cow::Borrowed(new)))
            }
            (Self::Inserted(row_target, row), RowChangeKind::Update { new, .. }) => Some(
                Self::Inserted(row_target, merge_update(row_target, row, target, new)?),
            ),
            (Self::Updated(row_target, row), RowChangeKind::Update { new, .. }) => Some(
                Self::Updated(row_target, merge_update(row_target, row, target, new)?),
            ),
            (Self::Replaced(row_target, row), RowChangeKind::Update { new, .. }) => Some(
                Self::Replaced(row_target, merge_update(row_target, row, target, new)?),
            ),
            (Self::Inserted(..), RowChangeKind::Delete(_)) => Some(Self::Missing),
            (Self::Replaced(..), RowChangeKind::Delete(_)) => Some(Self::Deleted),
            // Not possible if the UPDATE compares columns that it may not set, because the DELETE would not compare
            // them.
            (Self::Updated(row_target, _), RowChangeKind::Delete(_)) => {
                row_target.unsettable.is_empty().then_some(Self::Deleted)
            }
            (
                Self::Missing | Self::Deleted,
                RowChangeKind::Update { .. } | RowChangeKind::Delete(_),
            )
            | (
                Self::Inserted(..) | Self::Updated(..) | Self::Replaced(..),
                RowChangeKind::Insert(_),
            ) => None,
        }
    }
}

/// Returns the new image of an UPDATE, with key values from `before` if the image lacks them because they are large and
/// unchanged.
fn with_key<'a>(target: &ApplyTarget, before: &Tuple, new: &'a Tuple) -> Cow<'a, Tuple> {
    if target.is_identified(new) {
        return Cow::Borrowed(new);
    }
    let mut row = new.clone();
    for index in &target.key {
        row.0[*index] = before.0[*index].clone();
    }
    Cow::Owned(row)
}

/// Returns the image of `row` after an UPDATE to `new`. `None` if the two images have different columns, or if the
/// UPDATE changes a column that no UPDATE may set.
fn merge_update<'a>(
    row_target: &Arc<ApplyTarget>,
    row: Cow<'a, Tuple>,
    target: &Arc<ApplyTarget>,
    new: &'a Tuple,
) -> Option<Cow<'a, Tuple>> {
    let is_unchanged = |index: &usize| {
        new.0[*index] == TupleValue::UnchangedToast || new.0[*index] == row.0[*index]
    };
    if !Arc::ptr_eq(row_target, target) || !row_target.unsettable.iter().all(is_unchanged) {
        return None;
    }
    if !new.0.contains(&TupleValue::UnchangedToast) {
        return Some(Cow::Borrowed(new));
    }
    let merged = new.0.iter().zip(&row.0).map(|(new, before)| match new {
        TupleValue::UnchangedToast => before.clone(),
        TupleValue::Null | TupleValue::LeftOut | TupleValue::Text(_) | TupleValue::Binary(_) => {
            new.clone()
        }
    });
    Some(Cow::Owned(Tuple(merged.collect())))
}

/// Returns the columns that an image lacks; most images lack none.
fn missing_columns(row: &Tuple) -> Vec<usize> {
    let lacks = |(index, value): (usize, &TupleValue)| {
        (*value == TupleValue::UnchangedToast).then_some(index)
    };
    row.0.iter().enumerate().filter_map(lacks).collect()
}

/// Divides the rows into sets, in the order in which the sets are executed.
fn build_sets<'a>(states: HashMap<RowKey<'a>, RowState<'a>>) -> Vec<RowSet<'a>> {
    /// Sets by their target, their operation and the columns that they lack.
    type SetsByKind<'a> =
        HashMap<(usize, *const ApplyTarget, SetOperation, Vec<usize>), RowSet<'a>>;
    let mut kinds = SetsByKind::new();
    let mut add = |target: &'a Arc<ApplyTarget>, operation: SetOperation, row: Cow<'a, Tuple>| {
        let lacks = match operation {
            SetOperation::Update => missing_columns(&row),
            SetOperation::Delete | SetOperation::ProveMissing | SetOperation::Insert => Vec::new(),
        };
        let kind = (target.table, Arc::as_ptr(target), operation, lacks);
        let rows = Vec::new();
        let set = kinds.entry(kind).or_insert(RowSet {
            target,
            operation,
            rows,
        });
        set.rows.push(row);
    };
    for (key, state) in states {
        let key_row = || Cow::Borrowed(key.row);
        match state {
            RowState::Missing => add(key.target, SetOperation::ProveMissing, key_row()),
            RowState::Inserted(target, row) => add(target, SetOperation::Insert, row),
            RowState::Updated(target, row) => add(target, SetOperation::Update, row),
            RowState::Deleted => add(key.target, SetOperation::Delete, key_row()),
            RowState::Replaced(target, row) => {
                add(key.target, SetOperation::Delete, key_row());
                add(target, SetOperation::Insert, row);
            }
        }
    }
    let mut sets: Vec<_> = kinds.into_values().collect();
    sets.sort_by_key(|set| (set.operation, set.target.table));
    for set in &mut sets {
        sort_by_key(set);
    }
    sets
}

/// Sorts the rows of a set nearly in the order of the key's index, so that the server finds them on neighbouring pages.
fn sort_by_key(set: &mut RowSet<'_>) {
    let target = set.target;
    let rank = |row: &Tuple| [0, 1].map(|nth| target.key.get(nth).map(|at| sort_prefix(row, *at)));
    let rows = std::mem::take(&mut set.rows).into_iter();
    let mut ranked: Vec<_> = rows.map(|row| (rank(&row), row)).collect();
    ranked.sort_unstable_by(|(one_rank, one), (other_rank, other)| {
        let compare_keys = || {
            let indexes = target.key.iter();
            let mut comparisons =
                indexes.map(|index| sort_value(one, *index).cmp(&sort_value(other, *index)));
            let order = comparisons.find(|ordering| ordering.is_ne());
            order.unwrap_or(Ordering::Equal)
        };
        one_rank.cmp(other_rank).then_with(compare_keys)
    });
    set.rows = ranked.into_iter().map(|(_, row)| row).collect();
}

/// Returns the first bytes of [`sort_value`] as a number, which decides most comparisons faster.
fn sort_prefix(row: &Tuple, at: usize) -> u64 {
    let (length, bytes) = sort_value(row, at);
    let mut first = [0; 8];
    for (to, from) in first[1..].iter_mut().zip(bytes) {
        *to = *from;
    }
    first[0] = u8::try_from(length).unwrap_or(u8::MAX);
    u64::from_be_bytes(first)
}

/// Returns a value that sorts rows nearly as an index does: by length, then by bytes. For positive integers the order
/// is the same.
fn sort_value(row: &Tuple, at: usize) -> (usize, &[u8]) {
    match row.0.get(at) {
        Some(TupleValue::Text(bytes)) => (bytes.len(), bytes),
        Some(
            TupleValue::Null
            | TupleValue::UnchangedToast
            | TupleValue::LeftOut
            | TupleValue::Binary(_),
        )
        | None => (0, &[]),
    }
}
