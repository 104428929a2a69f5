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

use super::change::{Kind, RowChange};
use super::key::Key;
use super::lane::Lane;
use super::target::Target;
use crate::postgres::pgoutput::{Tuple, Value};

/// What is done to the rows of a set, in the order of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Verb {
    Delete,
    /// Nothing, but none of the rows must be there: they came and went.
    Miss,
    Update,
    Insert,
}

/// Rows of one table, with the same columns, to which the same is done.
#[derive(Debug)]
pub(super) struct Set<'a> {
    pub(super) target: &'a Target,
    pub(super) verb: Verb,
    /// In the order of their keys.
    pub(super) rows: Vec<Cow<'a, Tuple>>,
}

impl Set<'_> {
    /// Its rows by their lanes, in their order.
    pub(super) fn divided(self) -> [Self; 2] {
        let (target, verb) = (self.target, self.verb);
        let is_first = |row: &Cow<'_, Tuple>| Lane::of(target, row) == Lane::First;
        let (first, second) = self.rows.into_iter().partition(is_first);
        [first, second].map(|rows| Self { target, verb, rows })
    }
}

/// What changes come to.
#[derive(Debug)]
pub(super) struct Net<'a> {
    pub(super) sets: Vec<Set<'a>>,
    /// Changes that are executed as they are, behind the sets.
    pub(super) rows: Vec<&'a RowChange>,
}

impl<'a> Net<'a> {
    /// `None`: the changes do not fit together, or cannot be told apart; one by one they show what is wrong.
    pub(super) fn of(changes: &'a [RowChange]) -> Option<Self> {
        let moved = moved(changes)?;
        let mut rows = Vec::new();
        let mut states: HashMap<Key<'a>, State<'a>> = HashMap::with_capacity(changes.len());
        for change in changes {
            let key = Key {
                target: &change.target,
                row: change.found_by(),
            };
            if !change.target.by_sets || (!moved.is_empty() && moved.contains(&key)) {
                rows.push(change);
                continue;
            }
            match states.entry(key) {
                Entry::Vacant(new) => {
                    new.insert(State::first(change));
                }
                Entry::Occupied(mut known) => {
                    let before = std::mem::replace(known.get_mut(), State::Missing);
                    known.insert(before.then(change)?);
                }
            }
        }
        let sets = sets(states);
        Some(Self { sets, rows })
    }
}

/// The keys that rows are given, or lose, without being inserted or deleted.
fn moved(changes: &[RowChange]) -> Option<HashSet<Key<'_>>> {
    let mut keys = HashSet::new();
    for change in changes.iter().filter(|change| change.target.by_sets) {
        let target = &change.target;
        if let Kind::Update {
            new, moved: true, ..
        } = &change.kind
        {
            let row = change.found_by();
            keys.insert(Key { target, row });
            if !target.is_identified(new) {
                return None;
            }
            keys.insert(Key { target, row: new });
        }
    }
    Some(keys)
}

/// What the changes of a row have come to so far. An image belongs to the target beside it.
#[derive(Debug)]
enum State<'a> {
    /// It was not there, and is not.
    Missing,
    Inserted(&'a Arc<Target>, Cow<'a, Tuple>),
    Updated(&'a Arc<Target>, Cow<'a, Tuple>),
    Deleted,
    /// It was there, was deleted and has come again.
    Replaced(&'a Arc<Target>, Cow<'a, Tuple>),
}

impl<'a> State<'a> {
    fn first(change: &'a RowChange) -> Self {
        let target = &change.target;
        match &change.kind {
            Kind::Insert(new) => Self::Inserted(target, Cow::Borrowed(new)),
            Kind::Update { new, .. } => {
                Self::Updated(target, with_key(target, change.found_by(), new))
            }
            Kind::Delete(_) => Self::Deleted,
        }
    }

    /// `None`: it cannot have happened after what came before, or not be executed together with it.
    fn then(self, change: &'a RowChange) -> Option<Self> {
        let target = &change.target;
        match (self, &change.kind) {
            (Self::Missing, Kind::Insert(new)) => Some(Self::Inserted(target, Cow::Borrowed(new))),
            (Self::Deleted, Kind::Insert(new)) => Some(Self::Replaced(target, Cow::Borrowed(new))),
            (Self::Inserted(shape, row), Kind::Update { new, .. }) => {
                Some(Self::Inserted(shape, over(shape, row, target, new)?))
            }
            (Self::Updated(shape, row), Kind::Update { new, .. }) => {
                Some(Self::Updated(shape, over(shape, row, target, new)?))
            }
            (Self::Replaced(shape, row), Kind::Update { new, .. }) => {
                Some(Self::Replaced(shape, over(shape, row, target, new)?))
            }
            (Self::Inserted(..), Kind::Delete(_)) => Some(Self::Missing),
            (Self::Replaced(..), Kind::Delete(_)) => Some(Self::Deleted),
            // What is to be compared would be lost.
            (Self::Updated(shape, _), Kind::Delete(_)) => {
                shape.fixed.is_empty().then_some(Self::Deleted)
            }
            (Self::Missing | Self::Deleted, Kind::Update { .. } | Kind::Delete(_))
            | (Self::Inserted(..) | Self::Updated(..) | Self::Replaced(..), Kind::Insert(_)) => {
                None
            }
        }
    }
}

/// The new image of an UPDATE with what it is found by, which it leaves out where that is large.
fn with_key<'a>(target: &Target, before: &Tuple, new: &'a Tuple) -> Cow<'a, Tuple> {
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
    shape: &Arc<Target>,
    row: Cow<'a, Tuple>,
    target: &Arc<Target>,
    new: &'a Tuple,
) -> Option<Cow<'a, Tuple>> {
    let same = |at: &usize| new.0[*at] == Value::UnchangedToast || new.0[*at] == row.0[*at];
    if !Arc::ptr_eq(shape, target) || !shape.fixed.iter().all(same) {
        return None;
    }
    if !new.0.contains(&Value::UnchangedToast) {
        return Some(Cow::Borrowed(new));
    }
    let merged = new.0.iter().zip(&row.0).map(|(new, before)| match new {
        Value::UnchangedToast => before.clone(),
        Value::Null | Value::LeftOut | Value::Text(_) | Value::Binary(_) => new.clone(),
    });
    Some(Cow::Owned(Tuple(merged.collect())))
}

/// Which columns an image lacks; empty for most.
fn lacking(row: &Tuple) -> Vec<usize> {
    let lacks =
        |(index, value): (usize, &Value)| (*value == Value::UnchangedToast).then_some(index);
    row.0.iter().enumerate().filter_map(lacks).collect()
}

fn sets<'a>(states: HashMap<Key<'a>, State<'a>>) -> Vec<Set<'a>> {
    /// A set by its target, its verb and the columns that it lacks.
    type Kinds<'a> = HashMap<(usize, *const Target, Verb, Vec<usize>), Set<'a>>;
    let mut kinds = Kinds::new();
    let mut add = |target: &'a Arc<Target>, verb: Verb, row: Cow<'a, Tuple>| {
        let lacks = match verb {
            Verb::Update => lacking(&row),
            Verb::Delete | Verb::Miss | Verb::Insert => Vec::new(),
        };
        let kind = (target.table, Arc::as_ptr(target), verb, lacks);
        let rows = Vec::new();
        let set = kinds.entry(kind).or_insert(Set { target, verb, rows });
        set.rows.push(row);
    };
    for (key, state) in states {
        let bare = || Cow::Borrowed(key.row);
        match state {
            State::Missing => add(key.target, Verb::Miss, bare()),
            State::Inserted(target, row) => add(target, Verb::Insert, row),
            State::Updated(target, row) => add(target, Verb::Update, row),
            State::Deleted => add(key.target, Verb::Delete, bare()),
            State::Replaced(target, row) => {
                add(key.target, Verb::Delete, bare());
                add(target, Verb::Insert, row);
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
fn in_order(set: &mut Set<'_>) {
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
        Some(Value::Text(bytes)) => (bytes.len(), bytes),
        Some(Value::Null | Value::UnchangedToast | Value::LeftOut | Value::Binary(_)) | None => {
            (0, &[])
        }
    }
}
