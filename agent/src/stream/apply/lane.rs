//! Which of two sessions has a row: decided by what the row is found by, so that it is always the same one.

use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// How rows are divided, as it is recorded beside what the second lane has done: whoever divides in another way must
/// not go on from there.
pub(crate) const DIVISION: &str = "crc32 of the key without its last two characters";

/// Bytes at the end of a key that do not count: rows whose keys are close lie on the same pages as a rule, where two
/// sessions would be in each other's way.
const NEIGHBOURS: usize = 2;

/// One of the two sessions that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApplyLane {
    First,
    Second,
}

impl ApplyLane {
    /// The lane of a row of the table, by the texts of what it is found by.
    pub(super) fn of(target: &ApplyTarget, row: &Tuple) -> Self {
        if target.one_by_one {
            return Self::First;
        }
        let mut hash = crc32fast::Hasher::new();
        for (nth, index) in target.key.iter().enumerate() {
            if let Some(TupleValue::Text(text)) = row.0.get(*index) {
                let is_last = nth + 1 == target.key.len();
                let left_out = if is_last { NEIGHBOURS } else { 0 };
                hash.update(&text[..text.len().saturating_sub(left_out)]);
            }
            // Two values are not one longer value.
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

    /// What the name of the division promises; another division needs another name.
    #[test]
    fn keys_have_the_lanes_that_they_always_had() {
        let keys = ["1", "12", "100", "199", "200", "300", "400", "anna", "bert"];
        let is_second = |key: &&str| lane(key) == ApplyLane::Second;
        let second: Vec<_> = keys.into_iter().filter(is_second).collect();
        assert_eq!(second, ["1", "12", "100", "199", "300"]);
    }
}
