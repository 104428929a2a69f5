//! Judges a list by its values: they say themselves in which order they came.
//!
//! Each value is appended once, and the list only grows. So every list that was seen is the beginning of the longest
//! one, which gives each append that it holds its place, and each read the place after the append that it saw last.
//! Appends that were done and are in no list came after all of those, in any order; one whose end is unknown and that
//! nobody saw may never have been done. Real time must not contradict the places: no call may come later than one
//! that began after its end. That is all: calls of one place are reads that saw the same, or appends that nobody saw,
//! and may stand in the order of their ends.

use super::calls::{CallResult, History, ListCall};
use std::collections::{HashMap, HashSet};

/// True if some order of the calls explains the history.
pub(super) fn explains(history: &History) -> bool {
    let longest = longest(history);
    let places: HashMap<i64, usize> = longest.iter().copied().zip(0..).collect();
    if places.len() < longest.len() || !all_appended(history, longest) {
        return false;
    }
    let mut placed: Vec<(usize, &ListCall)> = Vec::new();
    for operation in &history.operations {
        match place(operation, longest, &places) {
            OrderPosition::At(place) => placed.push((place, operation)),
            OrderPosition::Anywhere => {}
            OrderPosition::Nowhere => return false,
        }
    }
    keeps_to_time(placed)
}

/// Where a call stands in the only possible order.
enum OrderPosition {
    At(usize),
    /// It may as well not have been done.
    Anywhere,
    Nowhere,
}

/// Appends have even places, the reads after them the next odd ones.
fn place(operation: &ListCall, longest: &[i64], places: &HashMap<i64, usize>) -> OrderPosition {
    match &operation.done {
        CallResult::Read { values } if longest.starts_with(values) => {
            OrderPosition::At(2 * values.len() + 1)
        }
        CallResult::Read { .. } => OrderPosition::Nowhere,
        CallResult::Append { value, left } => {
            let place = places.get(value).map(|index| 2 * (index + 1));
            match (place, left, operation.end) {
                (Some(place), Some(left), _) => {
                    let own = longest.starts_with(left) && 2 * left.len() == place;
                    if own {
                        OrderPosition::At(place)
                    } else {
                        OrderPosition::Nowhere
                    }
                }
                (Some(place), None, _) => OrderPosition::At(place),
                (None, None, Some(_)) => OrderPosition::At(2 * (longest.len() + 1)),
                (None, None, None) => OrderPosition::Anywhere,
                // It left a list without itself.
                (None, Some(_), _) => OrderPosition::Nowhere,
            }
        }
    }
}

fn values_of(operation: &ListCall) -> Option<&[i64]> {
    match &operation.done {
        CallResult::Read { values } => Some(values),
        CallResult::Append { left, .. } => left.as_deref(),
    }
}

fn longest(history: &History) -> &[i64] {
    let lists = history.operations.iter().filter_map(values_of);
    lists.max_by_key(|list| list.len()).unwrap_or_default()
}

/// Every value of the list was appended by a call that was done or may have been, and by one only.
fn all_appended(history: &History, longest: &[i64]) -> bool {
    let mut appended = HashSet::new();
    for operation in &history.operations {
        if let CallResult::Append { value, .. } = &operation.done
            && !appended.insert(*value)
        {
            return false;
        }
    }
    longest.iter().all(|value| appended.contains(value))
}

/// No call has a place before one that had ended when it began.
fn keeps_to_time(mut placed: Vec<(usize, &ListCall)>) -> bool {
    let mut ended: Vec<(usize, usize)> = placed
        .iter()
        .filter_map(|(place, operation)| Some((operation.end?, *place)))
        .collect();
    ended.sort_unstable();
    placed.sort_unstable_by_key(|(_, operation)| operation.begin);
    let mut ended = ended.into_iter().peekable();
    let mut last = 0;
    for (place, operation) in placed {
        while let Some((_, before)) = ended.next_if(|(end, _)| *end < operation.begin) {
            last = last.max(before);
        }
        if place < last {
            return false;
        }
    }
    true
}
