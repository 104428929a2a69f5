//! Records how busy the cores were during a measurement, and which processes used them.
//!
//! A thread takes a sample of the CPU time several times per second ([`Watch::sample_until_dropped`]). A measurement
//! takes one more sample when it begins and when it ends. The CPU time at a moment between two samples is interpolated
//! linearly. A sample takes a few milliseconds of CPU time, the same for every tool that is measured.

use super::processes::{Used, used};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time between two samples.
const EVERY: Duration = Duration::from_millis(250);
/// The name for all processes that do not belong to the run.
const OTHERS: &str = "others";

/// Returns the present time in microseconds since 1970.
pub(crate) fn now() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_micros()
}

/// The samples of the CPU time, by the time at which each was taken, in microseconds since 1970.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<BTreeMap<u128, Used>>>);

/// A thread that takes samples until this value is dropped.
#[derive(Debug)]
pub(crate) struct SamplerThread {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for SamplerThread {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Watch {
    /// Takes a sample now. Returns its time in microseconds since 1970.
    pub(crate) fn take_sample(&self) -> u128 {
        let (at, used) = (now(), used());
        self.with_samples(|samples| samples.insert(at, used));
        at
    }

    /// Starts a thread that takes samples until the returned value is dropped.
    pub(crate) fn sample_until_dropped(&self) -> SamplerThread {
        let over = Arc::new(AtomicBool::new(false));
        let (watch, is_over) = (self.clone(), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                watch.take_sample();
                std::thread::sleep(EVERY);
            }
        });
        SamplerThread {
            over,
            thread: Some(thread),
        }
    }

    /// Returns the CPU time that was used from one moment to another; `None` if there are no samples.
    pub(crate) fn between(&self, from: u128, to: u128) -> Option<Profile> {
        let at = |moment| self.with_samples(|samples| estimate(samples, moment));
        Some(Profile::between(&at(from)?, &at(to)?))
    }

    fn with_samples<T>(&self, work: impl FnOnce(&mut BTreeMap<u128, Used>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the CPU time that was used until `moment`, interpolated between the samples before and after it. If all
/// samples are on one side of the moment, returns the nearest one.
fn estimate(samples: &BTreeMap<u128, Used>, moment: u128) -> Option<Used> {
    let (before, after) = (
        samples.range(..=moment).last(),
        samples.range(moment..).next(),
    );
    let (Some((from, before)), Some((to, after))) = (before, after) else {
        return before.or(after).map(|(_, used)| used.clone());
    };
    // A process that has ended between the samples: the kernel now counts all of its time for its parent.
    if before.by.keys().any(|who| !after.by.contains_key(who)) {
        return Some(before.clone());
    }
    let share = match to - from {
        0 => 0.0,
        span => (moment - from) as f64 / span as f64,
    };
    let part = |before: f64, after: f64| before + (after - before) * share;
    let of = |used: &Used, who| used.by.get(who).copied().unwrap_or(0.0);
    let by = after.by.keys();
    let by = by.map(|who| (who.clone(), part(of(before, who), of(after, who))));
    Some(Used {
        busy: part(before.busy, after.busy),
        idle: part(before.idle, after.idle),
        steal: part(before.steal, after.steal),
        by: by.collect(),
    })
}

/// The CPU time of one measurement, or the sum over several measurements, in core-seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Profile(Used);

impl Profile {
    fn between(from: &Used, to: &Used) -> Self {
        let more = |from: f64, to: f64| (to - from).max(0.0);
        let since = |(who, to): (&String, &f64)| {
            let from = from.by.get(who).copied().unwrap_or(0.0);
            (who.clone(), more(from, *to))
        };
        let mut by: BTreeMap<String, f64> = to.by.iter().map(since).collect();
        let busy = more(from.busy, to.busy);
        by.insert(OTHERS.to_owned(), more(by.values().sum(), busy));
        Self(Used {
            busy,
            idle: more(from.idle, to.idle),
            steal: more(from.steal, to.steal),
            by,
        })
    }

    /// Adds the CPU times of several measurements.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Used::default();
        for Self(part) in parts {
            sum.busy += part.busy;
            sum.idle += part.idle;
            sum.steal += part.steal;
            for (who, seconds) in &part.by {
                *sum.by.entry(who.clone()).or_default() += seconds;
            }
        }
        Self(sum)
    }

    /// Returns `seconds` as a fraction of the time of all cores.
    fn share(&self, seconds: f64) -> f64 {
        let all = self.0.busy + self.0.idle + self.0.steal;
        if all > 0.0 { seconds / all } else { 0.0 }
    }

    /// Returns a text for the table: percent of all cores, the largest users first.
    pub(crate) fn text(&self) -> String {
        let percent = |seconds| (self.share(seconds) * 100.0).round();
        let mut text = format!("cores {} % busy", percent(self.0.busy));
        let mut by: Vec<_> = self.0.by.iter().collect();
        by.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        by.retain(|(_, seconds)| percent(**seconds) > 0.0);
        let by = by.into_iter();
        let by: Vec<String> = by
            .map(|(who, seconds)| format!("{who} {}", percent(*seconds)))
            .collect();
        if !by.is_empty() {
            let _ = write!(text, ": {}", by.join(", "));
        }
        if percent(self.0.steal) > 0.0 {
            let _ = write!(text, "; {} % stolen", percent(self.0.steal));
        }
        text
    }

    /// Returns JSON: fractions of the time of all cores.
    pub(crate) fn json(&self) -> Value {
        let by = self.0.by.iter();
        let by: BTreeMap<_, _> = by
            .map(|(who, seconds)| (who, self.share(*seconds)))
            .collect();
        json!({"busy": self.share(self.0.busy), "steal": self.share(self.0.steal), "by": by})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(busy: f64, idle: f64, source: f64) -> Used {
        Used {
            busy,
            idle,
            steal: 0.0,
            by: BTreeMap::from([("source".to_owned(), source)]),
        }
    }

    #[test]
    fn a_moment_between_two_looks_is_estimated() {
        let seen = BTreeMap::from([(100, used(1.0, 0.0, 0.0)), (200, used(3.0, 4.0, 1.0))]);
        assert_eq!(estimate(&seen, 150), Some(used(2.0, 2.0, 0.5)));
        assert_eq!(estimate(&seen, 100), Some(used(1.0, 0.0, 0.0)));
        assert_eq!(estimate(&seen, 900), Some(used(3.0, 4.0, 1.0)));
        assert_eq!(estimate(&BTreeMap::new(), 1), None);
    }

    #[test]
    fn what_has_ended_is_known_as_of_before() {
        let ended = Used {
            by: BTreeMap::new(),
            ..used(3.0, 4.0, 0.0)
        };
        let seen = BTreeMap::from([(100, used(1.0, 0.0, 1.0)), (200, ended)]);
        assert_eq!(estimate(&seen, 150), Some(used(1.0, 0.0, 1.0)));
    }

    #[test]
    fn what_nobody_known_used_is_of_others() {
        let profile = Profile::between(&used(1.0, 1.0, 0.5), &used(9.0, 3.0, 6.5));
        let both = Profile::sum([&profile, &profile]);
        assert_eq!(both.text(), "cores 80 % busy: source 60, others 20");
        assert_eq!(
            both.json(),
            json!({"busy": 0.8, "steal": 0.0, "by": {"source": 0.6, "others": 0.2}})
        );
    }

    #[test]
    fn nothing_measured_is_nothing_busy() {
        assert_eq!(Profile::default().text(), "cores 0 % busy");
        assert_eq!(Watch::default().between(1, 2), None);
    }

    #[test]
    fn looks_go_on_until_they_are_over() {
        let watch = Watch::default();
        let looking = watch.sample_until_dropped();
        let from = watch.take_sample();
        drop(looking);
        assert!(watch.between(from, watch.take_sample()).is_some());
    }
}
