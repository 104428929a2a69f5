//! For how long the same commit has been seen to wait. Pure: the time is given.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Commits that wait, and since when they are known to.
#[derive(Debug, Default)]
pub(super) struct HangingCommits(HashMap<String, Instant>);

impl HangingCommits {
    /// Takes a look; says for how long the oldest of those that still wait is known.
    pub(super) fn look(&mut self, waiting: &[String], now: Instant) -> Duration {
        let before = std::mem::take(&mut self.0);
        self.0 = waiting
            .iter()
            .map(|commit| {
                let since = before.get(commit).copied().unwrap_or(now);
                (commit.clone(), since)
            })
            .collect();
        let oldest = self.0.values().min();
        oldest.map_or(Duration::ZERO, |since| now.duration_since(*since))
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Since when something is missing.
#[derive(Debug, Default)]
pub(super) struct AbsentSince(Option<Instant>);

impl AbsentSince {
    /// Takes a look; says for how long it has been missing.
    pub(super) fn look(&mut self, there: bool, now: Instant) -> Duration {
        if there {
            self.0 = None;
            return Duration::ZERO;
        }
        now.duration_since(*self.0.get_or_insert(now))
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{AbsentSince, HangingCommits};
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn only_one_and_the_same_commit_that_waits_is_a_hang() {
        let (mut hangs, start) = (HangingCommits::default(), Instant::now());
        let second = |n| start + Duration::from_secs(n);
        let (a, b) = (["a".to_owned()], ["b".to_owned()]);
        assert_eq!(hangs.look(&a, second(0)), Duration::ZERO);
        assert_eq!(hangs.look(&a, second(1)), Duration::from_secs(1));
        assert_eq!(
            hangs.look(&b, second(2)),
            Duration::ZERO,
            "many short waits are none"
        );
        assert_eq!(hangs.look(&[], second(3)), Duration::ZERO);
        assert_eq!(hangs.look(&b, second(4)), Duration::ZERO);
    }

    #[test]
    fn an_absence_is_counted_from_the_first_look_that_found_it() {
        let (mut absence, start) = (AbsentSince::default(), Instant::now());
        let second = |n| start + Duration::from_secs(n);
        assert_eq!(absence.look(false, second(0)), Duration::ZERO);
        assert_eq!(absence.look(false, second(2)), Duration::from_secs(2));
        assert_eq!(absence.look(true, second(3)), Duration::ZERO);
        assert_eq!(absence.look(false, second(4)), Duration::ZERO);
    }
}
