//! Checks a list by its values, which show the order of the appends.
//!
//! Each value is appended once, and the list only grows. Therefore every observed list is a prefix of the longest one.
//! The longest list gives each of its appends a position, and each read the position after the last append whose value
//! it returned. Successful appends that are in no list came after all of these, in any order. An append with an unknown
//! end whose value no call returned may not have been executed. The positions must agree with real time: no call may
//! come after one that began after its end. This suffices: calls with the same position are reads with the same result,
//! or appends whose value no call returned, and can be ordered by their ends.

use super::calls::{CallResult, History, ListCall};
use std::collections::{HashMap, HashSet};

/// Returns true if some order of the calls explains the history.
pub(super) fn explains(history: &History) -> bool {
    let longest = longest(history);
    let places: HashMap<i64, usize> = longest.iter().copied().zip(0..).collect();
    if places.len() < longest.len() || !is_each_appended_once(history, longest) {
        return false;
    }
    let mut placed: Vec<(usize, &ListCall)> = Vec::new();
    for operation in &history.operations {
        match position_of(operation, longest, &places) {
            OrderPosition::At(place) => placed.push((place, operation)),
            OrderPosition::Anywhere => {}
            OrderPosition::Nowhere => return false,
        }
    }
    agrees_with_time(placed)
}

/// The position of a call in the only possible order.
enum OrderPosition {
    At(usize),
    /// The call may not have been executed.
    Anywhere,
    /// No position: the result of the call is impossible.
    Nowhere,
}

/// Returns the position of a call. Appends have even positions, and the reads after them the next odd ones.
fn position_of(
    operation: &ListCall,
    longest: &[i64],
    places: &HashMap<i64, usize>,
) -> OrderPosition {
    match &operation.result {
        CallResult::Read { values } if longest.starts_with(values) => {
            OrderPosition::At(2 * values.len() + 1)
        }
        CallResult::Read { .. } => OrderPosition::Nowhere,
        CallResult::Append { value, list_after } => {
            let place = places.get(value).map(|index| 2 * (index + 1));
            match (place, list_after, operation.end) {
                (Some(place), Some(list_after), _) => {
                    let agrees = longest.starts_with(list_after) && 2 * list_after.len() == place;
                    if agrees {
                        OrderPosition::At(place)
                    } else {
                        OrderPosition::Nowhere
                    }
                }
                (Some(place), None, _) => OrderPosition::At(place),
                (None, None, Some(_)) => OrderPosition::At(2 * (longest.len() + 1)),
                (None, None, None) => OrderPosition::Anywhere,
                // The append left a list without its own value.
                (None, Some(_), _) => OrderPosition::Nowhere,
            }
        }
    }
}

fn values_of(operation: &ListCall) -> Option<&[i64]> {
    match &operation.result {
        CallResult::Read { values } => Some(values),
        CallResult::Append { list_after, .. } => list_after.as_deref(),
    }
}

fn longest(history: &History) -> &[i64] {
    let lists = history.operations.iter().filter_map(values_of);
    lists.max_by_key(|list| list.len()).unwrap_or_default()
}

/// Checks that every value of the list was appended by exactly one call that was executed or may have been.
fn is_each_appended_once(history: &History, longest: &[i64]) -> bool {
    let mut appended = HashSet::new();
    for operation in &history.operations {
        if let CallResult::Append { value, .. } = &operation.result
            && !appended.insert(*value)
        {
            return false;
        }
    }
    longest.iter().all(|value| appended.contains(value))
}

/// Checks that no call has a position before a call that had ended when it began.
fn agrees_with_time(mut placed: Vec<(usize, &ListCall)>) -> bool {
    let mut ended: Vec<(usize, usize)> = placed
        .iter()
        .filter_map(|(place, operation)| Some((operation.end?, *place)))
        .collect();
    ended.sort_unstable();
    placed.sort_unstable_by_key(|(_, operation)| operation.begin);
    let mut ended = ended.into_iter().peekable();
    // The highest position of a call that had ended when `operation` began.
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
