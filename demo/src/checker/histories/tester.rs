//! Judges a list by search: tries the orders that real time allows until one explains everything that was heard.
//!
//! What is left to explain depends on the calls that have their place and on the list that they made, not on their
//! order: no such state is searched twice. Without that, calls that may change places double the time, one after the
//! other.

use super::calls::{CallResult, History, ListCall};
use std::collections::HashSet;

/// Calls that are searched at most, and appends among them that have no end: each may stand anywhere.
const MOST_CALLS: usize = 200;
const MOST_OPEN: usize = 4;
/// States that are searched at most.
const MOST_STATES: usize = 200_000;

/// True if the search may end soon.
pub(super) fn is_feasible(history: &History) -> bool {
    let open = history.operations.iter().filter(|call| call.end.is_none());
    history.operations.len() <= MOST_CALLS && open.count() <= MOST_OPEN
}

/// The calls that have their place, and the list that they made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SearchState {
    placed: Vec<bool>,
    list: Vec<i64>,
}

impl SearchState {
    /// The state behind `call`, if that may be the next and was told what it then finds.
    fn then(&self, index: usize, call: &ListCall, first_end: usize) -> Option<Self> {
        if self.placed[index] || call.begin > first_end {
            return None;
        }
        let mut next = self.clone();
        next.placed[index] = true;
        let heard = match &call.done {
            CallResult::Append { value, left } => {
                next.list.push(*value);
                left.as_ref()
            }
            CallResult::Read { values } => Some(values),
        };
        heard
            .is_none_or(|heard| *heard == next.list)
            .then_some(next)
    }
}

/// True if some order of the calls explains the history; `None`: the search was given up.
pub(super) fn explains(history: &History) -> Option<bool> {
    let calls = &history.operations;
    let first = SearchState {
        placed: vec![false; calls.len()],
        list: Vec::new(),
    };
    let (mut visited, mut left) = (HashSet::new(), vec![first]);
    while let Some(state) = left.pop() {
        let open = || {
            calls
                .iter()
                .enumerate()
                .filter(|(at, _)| !state.placed[*at])
        };
        // No call comes later than one that began after its end.
        let first_end = open().filter_map(|(_, call)| call.end).min();
        let Some(first_end) = first_end else {
            return Some(true);
        };
        for (index, call) in open() {
            let next = state.then(index, call, first_end);
            left.extend(next.filter(|next| visited.insert(next.clone())));
        }
        if visited.len() > MOST_STATES {
            return None;
        }
    }
    Some(false)
}
