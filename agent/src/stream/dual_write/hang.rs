//! Measures how long one commit has been waiting. The functions read no clock: the caller passes the time.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Waiting commits, with the time of the probe that first found each.
#[derive(Debug, Default)]
pub(super) struct HangingCommits(HashMap<String, Instant>);

impl HangingCommits {
    /// Records the commits that a probe found waiting; returns how long the oldest of them has been known.
    pub(super) fn observe(&mut self, waiting: &[String], now: Instant) -> Duration {
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

    /// Forgets all earlier probes.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The time since which consecutive probes have not found something, such as the walsender.
#[derive(Debug, Default)]
pub(super) struct AbsentSince(Option<Instant>);

impl AbsentSince {
    /// Records whether a probe found it; returns how long it has been missing.
    pub(super) fn observe(&mut self, found: bool, now: Instant) -> Duration {
        if found {
            self.0 = None;
            return Duration::ZERO;
        }
        now.duration_since(*self.0.get_or_insert(now))
    }

    /// Forgets all earlier probes.
    pub(super) fn clear(&mut self) {
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
        assert_eq!(hangs.observe(&a, second(0)), Duration::ZERO);
        assert_eq!(hangs.observe(&a, second(1)), Duration::from_secs(1));
        assert_eq!(
            hangs.observe(&b, second(2)),
            Duration::ZERO,
            "many short waits are none"
        );
        assert_eq!(hangs.observe(&[], second(3)), Duration::ZERO);
        assert_eq!(hangs.observe(&b, second(4)), Duration::ZERO);
    }

    #[test]
    fn an_absence_is_counted_from_the_first_probe_that_found_it() {
        let (mut absence, start) = (AbsentSince::default(), Instant::now());
        let second = |n| start + Duration::from_secs(n);
        assert_eq!(absence.observe(false, second(0)), Duration::ZERO);
        assert_eq!(absence.observe(false, second(2)), Duration::from_secs(2));
        assert_eq!(absence.observe(true, second(3)), Duration::ZERO);
        assert_eq!(absence.observe(false, second(4)), Duration::ZERO);
    }
}
