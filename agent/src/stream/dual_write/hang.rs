//! Measures how long one commit has been waiting, and how long the walsender has been absent. The functions read no
//! clock: the caller passes the time.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// The commits that the last probe found waiting, each with the time of the probe that first found it.
#[derive(Debug, Default)]
pub(super) struct WaitingCommits(HashMap<String, Instant>);

impl WaitingCommits {
    /// Records the commits that a probe found waiting. Returns the time since the first probe that found the oldest of
    /// them.
    pub(super) fn observe(&mut self, waiting: &[String], now: Instant) -> Duration {
        let known = std::mem::take(&mut self.0);
        self.0 = waiting
            .iter()
            .map(|commit| {
                let since = known.get(commit).copied().unwrap_or(now);
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

/// The time of the first of the consecutive probes that did not find a thing, for example the walsender. `None` if the
/// last probe found it.
#[derive(Debug, Default)]
pub(super) struct AbsenceTimer(Option<Instant>);

impl AbsenceTimer {
    /// Records whether a probe found the thing. Returns how long it has been missing.
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
    use super::{AbsenceTimer, WaitingCommits};
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn many_commits_that_wait_shortly_are_no_long_wait() {
        let (mut commits, start) = (WaitingCommits::default(), Instant::now());
        let second = |n| start + Duration::from_secs(n);
        let (a, b) = (["a".to_owned()], ["b".to_owned()]);
        assert_eq!(commits.observe(&a, second(0)), Duration::ZERO);
        assert_eq!(commits.observe(&a, second(1)), Duration::from_secs(1));
        assert_eq!(
            commits.observe(&b, second(2)),
            Duration::ZERO,
            "another commit waits now"
        );
        assert_eq!(commits.observe(&[], second(3)), Duration::ZERO);
        assert_eq!(commits.observe(&b, second(4)), Duration::ZERO);
    }

    #[test]
    fn an_absence_begins_with_the_first_probe_that_finds_nothing() {
        let (mut absence, start) = (AbsenceTimer::default(), Instant::now());
        let second = |n| start + Duration::from_secs(n);
        assert_eq!(absence.observe(false, second(0)), Duration::ZERO);
        assert_eq!(absence.observe(false, second(2)), Duration::from_secs(2));
        assert_eq!(absence.observe(true, second(3)), Duration::ZERO);
        assert_eq!(absence.observe(false, second(4)), Duration::ZERO);
    }
}
