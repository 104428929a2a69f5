//! Assigns each row to a lane, which is one of two sessions, by its key: the same lane applies all changes of a row.

use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// Describes how rows are divided between the lanes. The text is recorded with the position of the second lane. An
/// agent that divides rows in another way must not continue from that position.
pub(crate) const DIVISION: &str = "crc32 of the key without its last two characters";

/// The number of bytes at the end of a key that the hash ignores. So rows with similar keys have the same lane: they
/// are usually on the same pages, on which two sessions would wait for each other.
const IGNORED_KEY_BYTES: usize = 2;

/// One of the two sessions that apply a batch together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApplyLane {
    First,
    Second,
}

impl ApplyLane {
    /// Returns the lane of a row, by the texts of its key.
    pub(super) fn of(target: &ApplyTarget, row: &Tuple) -> Self {
        if target.excludes_sets {
            return Self::First;
        }
        let mut hash = crc32fast::Hasher::new();
        for (nth, index) in target.key.iter().enumerate() {
            if let Some(TupleValue::Text(text)) = row.0.get(*index) {
                let is_last = nth + 1 == target.key.len();
                let ignored = if is_last { IGNORED_KEY_BYTES } else { 0 };
                hash.update(&text[..text.len().saturating_sub(ignored)]);
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

    use super::super::net_changes::tests::target;
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

    /// If this assignment changes, [`DIVISION`] must change too.
    #[test]
    fn the_lanes_of_keys_do_not_change() {
        let keys = ["1", "12", "100", "199", "200", "300", "400", "anna", "bert"];
        let is_second = |key: &&str| lane(key) == ApplyLane::Second;
        let second: Vec<_> = keys.into_iter().filter(is_second).collect();
        assert_eq!(second, ["1", "12", "100", "199", "300"]);
    }
}
