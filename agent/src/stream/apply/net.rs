//! What changes come to for each row: the sets that have the same effect as the changes one after the other.
//!
//! Rows are independent of each other but for constraints, whose violation is an error and not another effect; so the
//! order among them is free, and the changes of one row become one. Not so for a row that an UPDATE gives another
//! key: all changes of its keys stay as they are, in their order.
//! Each set says how many rows it must touch, from which it follows that each change would have touched one.

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

/// What is done to the rows of a set, in the order of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SetOperation {
    Delete,
    /// Nothing, but none of the rows must be there: they came and went.
    Miss,
    Update,
    Insert,
}

/// Rows of one table, with the same columns, to which the same is done.
#[derive(Debug)]
pub(super) struct RowSet<'a> {
    pub(super) target: &'a ApplyTarget,
    pub(super) verb: SetOperation,
    /// In the order of their keys.
    pub(super) rows: Vec<Cow<'a, Tuple>>,
}

impl RowSet<'_> {
    /// Its rows by their lanes, in their order.
    pub(super) fn divided(self) -> [Self; 2] {
        let (target, verb) = (self.target, self.verb);
        let is_first = |row: &Cow<'_, Tuple>| ApplyLane::of(target, row) == ApplyLane::First;
        let (first, second) = self.rows.into_iter().partition(is_first);
        [first, second].map(|rows| Self { target, verb, rows })
    }
}

/// What changes come to.
#[derive(Debug)]
pub(super) struct NetChanges<'a> {
    pub(super) sets: Vec<RowSet<'a>>,
    /// Changes that are executed as they are, behind the sets.
    pub(super) rows: Vec<&'a RowChange>,
}

impl<'a> NetChanges<'a> {
    /// `None`: the changes do not fit together, or cannot be told apart; one by one they show what is wrong.
    pub(super) fn of(changes: &'a [RowChange]) -> Option<Self> {
        let moved = moved(changes)?;
        let mut rows = Vec::new();
        let mut states: HashMap<RowKey<'a>, RowState<'a>> = HashMap::with_capacity(changes.len());
        for change in changes {
            let key = RowKey {
                target: &change.target,
                row: change.found_by(),
            };
            if !change.target.by_sets || (!moved.is_empty() && moved.contains(&key)) {
                rows.push(change);
                continue;
            }
            match states.entry(key) {
                Entry::Vacant(new) => {
                    new.insert(RowState::first(change));
                }
                Entry::Occupied(mut known) => {
                    let before = std::mem::replace(known.get_mut(), RowState::Missing);
                    known.insert(before.then(change)?);
                }
            }
        }
        let sets = sets(states);
        Some(Self { sets, rows })
    }
}

/// The keys that rows are given, or lose, without being inserted or deleted.
fn moved(changes: &[RowChange]) -> Option<HashSet<RowKey<'_>>> {
    let mut keys = HashSet::new();
    for change in changes.iter().filter(|change| change.target.by_sets) {
        let target = &change.target;
        if let RowChangeKind::Update {
            new, moved: true, ..
        } = &change.kind
        {
            let row = change.found_by();
            keys.insert(RowKey { target, row });
            if !target.is_identified(new) {
                return None;
            }
            keys.insert(RowKey { target, row: new });
        }
    }
    Some(keys)
}

/// What the changes of a row have come to so far. An image belongs to the target beside it.
#[derive(Debug)]
enum RowState<'a> {
    /// It was not there, and is not.
    Missing,
    Inserted(&'a Arc<ApplyTarget>, Cow<'a, Tuple>),
    Updated(&'a Arc<ApplyTarget>, Cow<'a, Tuple>),
    Deleted,
    /// It was there, was deleted and has come again.
    Replaced(&'a Arc<ApplyTarget>, Cow<'a, Tuple>),
}

impl<'a> RowState<'a> {
    fn first(change: &'a RowChange) -> Self {
        let target = &change.target;
        match &change.kind {
            RowChangeKind::Insert(new) => Self::Inserted(target, Cow::Borrowed(new)),
            RowChangeKind::Update { new, .. } => {
                Self::Updated(target, with_key(target, change.found_by(), new))
            }
            RowChangeKind::Delete(_) => Self::Deleted,
        }
    }

    /// `None`: it cannot have happened after what came before, or not be executed together with it.
    fn then(self, change: &'a RowChange) -> Option<Self> {
        let target = &change.target;
        match (self, &change.kind) {
            (Self::Missing, RowChangeKind::Insert(new)) => {
                Some(Self::Inserted(target, Cow::Borrowed(new)))
            }
            (Self::Deleted, RowChangeKind::Insert(new)) => {
                Some(Self::Replaced(target, Cow::Borrowed(new)))
            }
            (Self::Inserted(shape, row), RowChangeKind::Update { new, .. }) => {
                Some(Self::Inserted(shape, over(shape, row, target, new)?))
            }
            (Self::Updated(shape, row), RowChangeKind::Update { new, .. }) => {
                Some(Self::Updated(shape, over(shape, row, target, new)?))
            }
            (Self::Replaced(shape, row), RowChangeKind::Update { new, .. }) => {
                Some(Self::Replaced(shape, over(shape, row, target, new)?))
            }
            (Self::Inserted(..), RowChangeKind::Delete(_)) => Some(Self::Missing),
            (Self::Replaced(..), RowChangeKind::Delete(_)) => Some(Self::Deleted),
            // What is to be compared would be lost.
            (Self::Updated(shape, _), RowChangeKind::Delete(_)) => {
                shape.fixed.is_empty().then_some(Self::Deleted)
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

/// The new image of an UPDATE with what it is found by, which it leaves out where that is large.
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

/// The image that an UPDATE to `new` leaves of `row`; `None` when they are of different shapes, or when a column
/// changes that no UPDATE may set.
fn over<'a>(
    shape: &Arc<ApplyTarget>,
    row: Cow<'a, Tuple>,
    target: &Arc<ApplyTarget>,
    new: &'a Tuple,
) -> Option<Cow<'a, Tuple>> {
    let same = |at: &usize| new.0[*at] == TupleValue::UnchangedToast || new.0[*at] == row.0[*at];
    if !Arc::ptr_eq(shape, target) || !shape.fixed.iter().all(same) {
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

/// Which columns an image lacks; empty for most.
fn lacking(row: &Tuple) -> Vec<usize> {
    let lacks = |(index, value): (usize, &TupleValue)| {
        (*value == TupleValue::UnchangedToast).then_some(index)
    };
    row.0.iter().enumerate().filter_map(lacks).collect()
}

fn sets<'a>(states: HashMap<RowKey<'a>, RowState<'a>>) -> Vec<RowSet<'a>> {
    /// A set by its target, its verb and the columns that it lacks.
    type SetsByKind<'a> =
        HashMap<(usize, *const ApplyTarget, SetOperation, Vec<usize>), RowSet<'a>>;
    let mut kinds = SetsByKind::new();
    let mut add = |target: &'a Arc<ApplyTarget>, verb: SetOperation, row: Cow<'a, Tuple>| {
        let lacks = match verb {
            SetOperation::Update => lacking(&row),
            SetOperation::Delete | SetOperation::Miss | SetOperation::Insert => Vec::new(),
        };
        let kind = (target.table, Arc::as_ptr(target), verb, lacks);
        let rows = Vec::new();
        let set = kinds.entry(kind).or_insert(RowSet { target, verb, rows });
        set.rows.push(row);
    };
    for (key, state) in states {
        let bare = || Cow::Borrowed(key.row);
        match state {
            RowState::Missing => add(key.target, SetOperation::Miss, bare()),
            RowState::Inserted(target, row) => add(target, SetOperation::Insert, row),
            RowState::Updated(target, row) => add(target, SetOperation::Update, row),
            RowState::Deleted => add(key.target, SetOperation::Delete, bare()),
            RowState::Replaced(target, row) => {
                add(key.target, SetOperation::Delete, bare());
                add(target, SetOperation::Insert, row);
            }
        }
    }
    let mut sets: Vec<_> = kinds.into_values().collect();
    sets.sort_by_key(|set| (set.verb, set.target.table));
    for set in &mut sets {
        in_order(set);
    }
    sets
}

/// Puts the rows of a set into the order of their keys.
fn in_order(set: &mut RowSet<'_>) {
    let target = set.target;
    let rank = |row: &Tuple| [0, 1].map(|nth| target.key.get(nth).map(|at| rank(row, *at)));
    let rows = std::mem::take(&mut set.rows).into_iter();
    let mut ranked: Vec<_> = rows.map(|row| (rank(&row), row)).collect();
    ranked.sort_unstable_by(|(one_rank, one), (other_rank, other)| {
        let exact = || {
            let places = target.key.iter();
            let mut orders = places.map(|at| place(one, *at).cmp(&place(other, *at)));
            let order = orders.find(|order| order.is_ne());
            order.unwrap_or(Ordering::Equal)
        };
        one_rank.cmp(other_rank).then_with(exact)
    });
    set.rows = ranked.into_iter().map(|(_, row)| row).collect();
}

/// The beginning of what [`place`] compares, as a number that lies beside the row: for most rows it decides.
fn rank(row: &Tuple, at: usize) -> u64 {
    let (length, bytes) = place(row, at);
    let mut first = [0; 8];
    for (to, from) in first[1..].iter_mut().zip(bytes) {
        *to = *from;
    }
    first[0] = u8::try_from(length).unwrap_or(u8::MAX);
    u64::from_be_bytes(first)
}

/// Neighbours in an index are neighbours in the order of this, for whole numbers above zero and most others.
fn place(row: &Tuple, at: usize) -> (usize, &[u8]) {
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
