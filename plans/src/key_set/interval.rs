//! Unions, intersections and differences of half-open intervals, for ranges of keys and of virtual shards.

use std::cmp::Ordering;

/// The interval `from <= x < to`. A missing end is unbounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interval<T> {
    pub(super) from: Option<T>,
    pub(super) to: Option<T>,
}

/// Compares two upper ends. A missing one is the greatest.
fn compare_ends<T: Ord>(a: &Option<T>, b: &Option<T>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

impl<T: Ord + Clone> Interval<T> {
    pub(super) fn is_empty(&self) -> bool {
        matches!((&self.from, &self.to), (Some(from), Some(to)) if from >= to)
    }

    /// Returns true if the two intervals have a common value.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        !self.common(other).is_empty()
    }

    /// Returns the common part, which may be empty.
    pub(super) fn common(&self, other: &Self) -> Self {
        let to = match compare_ends(&self.to, &other.to) {
            Ordering::Less | Ordering::Equal => self.to.clone(),
            Ordering::Greater => other.to.clone(),
        };
        Self {
            from: self.from.clone().max(other.from.clone()),
            to,
        }
    }

    /// Returns true if no value is between the end of this interval and the beginning of `next`.
    fn reaches(&self, next: &Self) -> bool {
        match (&self.to, &next.from) {
            (Some(to), Some(from)) => from <= to,
            (None, _) | (_, None) => true,
        }
    }
}

/// Returns the same set in order, without empty, overlapping or adjacent intervals.
pub(super) fn normal<T: Ord + Clone>(mut intervals: Vec<Interval<T>>) -> Vec<Interval<T>> {
    intervals.retain(|interval| !interval.is_empty());
    intervals.sort_by(|a, b| a.from.cmp(&b.from));
    let mut merged: Vec<Interval<T>> = Vec::with_capacity(intervals.len());
    for next in intervals {
        match merged.last_mut() {
            Some(last) if last.reaches(&next) => {
                if compare_ends(&last.to, &next.to) == Ordering::Less {
                    last.to = next.to;
                }
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// Returns the parts of `a` that are not in `b`. Both must be in normal form, and so is the result. `O(a + b)`.
pub(super) fn minus<T: Ord + Clone>(a: &[Interval<T>], b: &[Interval<T>]) -> Vec<Interval<T>> {
    let mut rest = Vec::new();
    // The index of the first interval of `b` that can overlap the current or a later interval of `a`.
    let mut first = 0;
    for interval in a {
        // The beginning of the part of `interval` that remains after the holes so far. If a hole has no upper end,
        // nothing remains.
        let mut from = interval.from.clone();
        let mut something_remains = true;
        let ends_before = |hole: &Interval<T>| match (&hole.to, &interval.from) {
            (Some(to), Some(from)) => to <= from,
            (None, _) | (_, None) => false,
        };
        while b.get(first).is_some_and(ends_before) {
            first += 1;
        }
        for hole in &b[first..] {
            if !hole.overlaps(interval) {
                break;
            }
            if hole.from > from {
                rest.push(Interval {
                    from,
                    to: hole.from.clone(),
                });
            }
            from = hole.to.clone();
            something_remains = from.is_some();
        }
        let last = Interval {
            from,
            to: interval.to.clone(),
        };
        if something_remains && !last.is_empty() {
            rest.push(last);
        }
    }
    rest.retain(|interval| !interval.is_empty());
    rest
}

/// Returns the common parts. Both must be in normal form, and so is the result.
pub(super) fn common<T: Ord + Clone>(a: &[Interval<T>], b: &[Interval<T>]) -> Vec<Interval<T>> {
    let only_in_a = minus(a, b);
    minus(a, &only_in_a)
}
