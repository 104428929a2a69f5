//! Checks a list by search: it tries the orders that real time permits until one explains all results.
//!
//! The remaining search depends only on the calls that are already placed and on the list that they produced, and not
//! on their order. Therefore no such state is searched twice. Otherwise each pair of calls that can be exchanged would
//! double the time.

use super::calls::{CallResult, History, ListCall};
use std::collections::HashSet;

/// The maximum number of calls in a search, and of appends without an end among them, because these can be placed
/// anywhere.
const MAX_CALLS: usize = 200;
const MAX_OPEN: usize = 4;
/// The maximum number of states in a search.
const MAX_STATES: usize = 200_000;

/// Returns true if the search can be expected to end soon.
pub(super) fn is_feasible(history: &History) -> bool {
    let open = history.operations.iter().filter(|call| call.end.is_none());
    history.operations.len() <= MAX_CALLS && open.count() <= MAX_OPEN
}

/// The calls that are placed, and the list that they produced.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SearchState {
    placed: Vec<bool>,
    list: Vec<i64>,
}

impl SearchState {
    /// Returns the state after `call`, if this call may be the next and its result agrees with the list.
    fn after_call(&self, index: usize, call: &ListCall, first_end: usize) -> Option<Self> {
        if self.placed[index] || call.begin > first_end {
            return None;
        }
        let mut next = self.clone();
        next.placed[index] = true;
        let returned_list = match &call.result {
            CallResult::Append { value, list_after } => {
                next.list.push(*value);
                list_after.as_ref()
            }
            CallResult::Read { values } => Some(values),
        };
        returned_list
            .is_none_or(|list| *list == next.list)
            .then_some(next)
    }
}

/// Returns true if some order of the calls explains the history; `None`: the search was given up.
pub(super) fn explains(history: &History) -> Option<bool> {
    let calls = &history.operations;
    let first = SearchState {
        placed: vec![false; calls.len()],
        list: Vec::new(),
    };
    let (mut visited, mut remaining) = (HashSet::new(), vec![first]);
    while let Some(state) = remaining.pop() {
        let open = || {
            calls
                .iter()
                .enumerate()
                .filter(|(index, _)| !state.placed[*index])
        };
        // No call may come after one that began after its end.
        let first_end = open().filter_map(|(_, call)| call.end).min();
        let Some(first_end) = first_end else {
            return Some(true);
        };
        for (index, call) in open() {
            let next = state.after_call(index, call, first_end);
            remaining.extend(next.filter(|next| visited.insert(next.clone())));
        }
        if visited.len() > MAX_STATES {
            return None;
        }
    }
    Some(false)
}
