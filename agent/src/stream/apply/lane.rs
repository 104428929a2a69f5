//! Assigns each row to one of two sessions by its key, so that a row always has the same session.

use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// The name of the division of rows, which is recorded with the position of the second lane. An agent with another
/// division must not continue from that position.
pub(crate) const DIVISION: &str = "crc32 of the key without its last two characters";

/// The number of bytes at the end of a key that the hash ignores: rows with close keys are usually on the same pages,
/// where two sessions would wait for each other.
const IGNORED_KEY_BYTES: usize = 2;

/// One of the two sessions that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApplyLane {
    First,
    Second,
}

impl ApplyLane {
    /// Returns the lane of a row, by the texts of its key.
    pub(super) fn of(target: &ApplyTarget, row: &Tuple) -> Self {
        if target.never_by_sets {
            return Self::First;
        }
        let mut hash = crc32fast::Hasher::new();
        for (nth, index) in target.key.iter().enumerate() {
            if let Some(TupleValue::Text(text)) = row.0.get(*index) {
                let is_last = nth + 1 == target.key.len();
                let left_out = if is_last { IGNORED_KEY_BYTES } else { 0 };
                hash.update(&text[..text.len().saturating_sub(left_out)]);
            }
            // The separator distinguishes two values from one longer value.
            hash.update(&[0]);
        }
        if hash.finalize() & 1 == 0 {
            Self::First
        } else {
            Self::Second
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::net::tests::target;
    use super::*;

    fn lane(key: &str) -> ApplyLane {
        let target: Arc<ApplyTarget> = target(false);
        let text = |text: &str| TupleValue::Text(text.to_owned().into());
        ApplyLane::of(
            &target,
            &Tuple(vec![
                text(key),
                text("other"),
                TupleValue::Null,
                TupleValue::Null,
            ]),
        )
    }

    /// The name of the division identifies this assignment; another division needs another name.
    #[test]
    fn keys_have_the_lanes_that_they_always_had() {
        let keys = ["1", "12", "100", "199", "200", "300", "400", "anna", "bert"];
        let is_second = |key: &&str| lane(key) == ApplyLane::Second;
        let second: Vec<_> = keys.into_iter().filter(is_second).collect();
        assert_eq!(second, ["1", "12", "100", "199", "300"]);
    }
}
