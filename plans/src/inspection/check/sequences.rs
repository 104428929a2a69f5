//! Determines whether two sequences will issue the same value.

use serde::{Deserialize, Serialize};

/// The state of a sequence on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedSequence {
    /// The quoted name, with its schema.
    pub name: String,
    /// The last value.
    pub last: i64,
    /// Whether that value has been issued (`is_called`).
    pub called: bool,
    /// The increment.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
}

impl ObservedSequence {
    /// Returns the next value.
    fn next(&self) -> i128 {
        let step = if self.called { self.increment } else { 0 };
        i128::from(self.last) + i128::from(step)
    }

    /// Returns the future values, in ascending order: first, last and the step between them; `None` if the sequence is
    /// exhausted.
    fn future_values(&self) -> Option<(i128, i128, i128)> {
        let step = i128::from(self.increment);
        let next = self.next();
        let end = i128::from(if step > 0 { self.max } else { self.min });
        if step == 0 || (step > 0 && next > end) || (step < 0 && next < end) {
            return None;
        }
        let last = next + (end - next) / step * step;
        Some((next.min(last), next.max(last), step.abs()))
    }
}

/// Returns the first value that both sequences will issue. Cycles are not considered.
#[must_use]
pub fn overlap(a: &ObservedSequence, b: &ObservedSequence) -> Option<i64> {
    let (first_a, last_a, step_a) = a.future_values()?;
    let (first_b, last_b, step_b) = b.future_values()?;
    let (gcd, inverse) = extended_gcd(step_a, step_b);
    let distance = first_b - first_a;
    if distance % gcd != 0 {
        return None;
    }
    // Common values repeat every `common_step`. First this computes the smallest common value from `first_a` on, then
    // the smallest common value that is not before the beginning of either sequence.
    let period = step_b / gcd;
    let steps = ((distance / gcd % period) * (inverse % period)).rem_euclid(period);
    let common_step = step_a / gcd * step_b;
    let mut value = first_a + steps * step_a;
    let both_begun = first_a.max(first_b);
    if value < both_begun {
        value += (both_begun - value + common_step - 1) / common_step * common_step;
    }
    let value = (value <= last_a.min(last_b)).then_some(value)?;
    i64::try_from(value).ok()
}

/// Returns the greatest common divisor, and the coefficient of `a` in its linear combination.
fn extended_gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut old, mut rest) = (a, b);
    let (mut factor, mut next) = (1, 0);
    while rest != 0 {
        let quotient = old / rest;
        (old, rest) = (rest, old - quotient * rest);
        (factor, next) = (next, factor - quotient * next);
    }
    (old, factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(last: i64, increment: i64) -> ObservedSequence {
        ObservedSequence {
            name: "s".to_owned(),
            last,
            called: true,
            increment,
            min: 1,
            max: i64::MAX,
        }
    }

    #[test]
    fn sequences_with_different_remainders_never_overlap() {
        assert_eq!(overlap(&sequence(65, 64), &sequence(2, 64)), None);
    }

    #[test]
    fn sequences_with_common_values_overlap_at_the_first_common_future_value() {
        assert_eq!(overlap(&sequence(5, 1), &sequence(100, 1)), Some(101));
        assert_eq!(overlap(&sequence(65, 64), &sequence(3, 1)), Some(129));
    }

    #[test]
    fn disjoint_blocks_do_not_overlap() {
        let mut low = sequence(5, 1);
        low.max = 1000;
        assert_eq!(overlap(&low, &sequence(1000, 1)), None);
    }

    #[test]
    fn the_result_equals_that_of_a_search_among_issued_values() {
        for (a, s, b, t) in (0..400).map(|n| (n % 7, 1 + n % 5, n % 11, 1 + n % 4)) {
            let (mut one, mut two) = (sequence(a, s), sequence(b, t));
            (one.max, two.max) = (60, 45);
            let issued = |q: &ObservedSequence| -> Vec<i64> {
                (1..=60)
                    .map(|n| q.last + n * q.increment)
                    .filter(|v| *v <= q.max)
                    .collect()
            };
            let both = issued(&two);
            let expected = issued(&one).into_iter().find(|value| both.contains(value));
            assert_eq!(overlap(&one, &two), expected, "{one:?} {two:?}");
        }
    }
}
