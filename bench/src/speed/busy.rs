//! Records how busy the cores were during a measurement, and which processes used them.
//!
//! A thread takes a sample of the CPU time several times per second ([`CpuSamples::sample_until_dropped`]). A
//! measurement takes one more sample when it begins and when it ends. The CPU time at a moment between two samples is
//! interpolated linearly. A sample takes a few milliseconds of CPU time, the same for every tool that is measured.

use super::processes::{CpuTime, read_cpu_time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);
/// The name for all processes that do not belong to the run.
const OTHERS: &str = "others";

/// Returns the present time in microseconds since 1970.
pub(crate) fn now() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_micros()
}

/// The samples of the CPU time, by the time at which each was taken, in microseconds since 1970.
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuSamples(Arc<Mutex<BTreeMap<u128, CpuTime>>>);

/// A thread that takes samples until this value is dropped.
#[derive(Debug)]
pub(crate) struct SamplerThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for SamplerThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl CpuSamples {
    /// Takes a sample now. Returns its time in microseconds since 1970.
    pub(crate) fn take_sample(&self) -> u128 {
        let (at, used) = (now(), read_cpu_time());
        self.with_samples(|samples| samples.insert(at, used));
        at
    }

    /// Starts a thread that takes samples until the returned value is dropped.
    pub(crate) fn sample_until_dropped(&self) -> SamplerThread {
        let stop = Arc::new(AtomicBool::new(false));
        let (cpu_samples, is_stopped) = (self.clone(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !is_stopped.load(Ordering::Relaxed) {
                cpu_samples.take_sample();
                std::thread::sleep(SAMPLE_INTERVAL);
            }
        });
        SamplerThread {
            stop,
            thread: Some(thread),
        }
    }

    /// Returns the CPU time that was used from one moment to another; `None` if there are no samples.
    pub(crate) fn between(&self, from: u128, to: u128) -> Option<Profile> {
        let at = |moment| self.with_samples(|samples| estimate(samples, moment));
        Some(Profile::between(&at(from)?, &at(to)?))
    }

    fn with_samples<T>(&self, work: impl FnOnce(&mut BTreeMap<u128, CpuTime>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the CPU time that was used until `moment`, interpolated between the samples before and after it. If all
/// samples are on one side of the moment, returns the nearest one.
fn estimate(samples: &BTreeMap<u128, CpuTime>, moment: u128) -> Option<CpuTime> {
    let (before, after) = (
        samples.range(..=moment).last(),
        samples.range(moment..).next(),
    );
    let (Some((from, before)), Some((to, after))) = (before, after) else {
        return before.or(after).map(|(_, used)| used.clone());
    };
    // All processes of a role have ended between the samples: the kernel now counts their time for the parent.
    if before
        .by_role
        .keys()
        .any(|role| !after.by_role.contains_key(role))
    {
        return Some(before.clone());
    }
    let share = match to - from {
        0 => 0.0,
        span => (moment - from) as f64 / span as f64,
    };
    let interpolate = |before: f64, after: f64| before + (after - before) * share;
    let seconds_of = |used: &CpuTime, role| used.by_role.get(role).copied().unwrap_or(0.0);
    let by = after.by_role.keys();
    let by = by.map(|role| {
        (
            role.clone(),
            interpolate(seconds_of(before, role), seconds_of(after, role)),
        )
    });
    Some(CpuTime {
        busy: interpolate(before.busy, after.busy),
        idle: interpolate(before.idle, after.idle),
        steal: interpolate(before.steal, after.steal),
        by_role: by.collect(),
    })
}

/// The CPU time of one measurement, or the sum over several measurements, in core-seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Profile(CpuTime);

impl Profile {
    fn between(from: &CpuTime, to: &CpuTime) -> Self {
        let more = |from: f64, to: f64| (to - from).max(0.0);
        let since = |(role, to): (&String, &f64)| {
            let from = from.by_role.get(role).copied().unwrap_or(0.0);
            (role.clone(), more(from, *to))
        };
        let mut by: BTreeMap<String, f64> = to.by_role.iter().map(since).collect();
        let busy = more(from.busy, to.busy);
        by.insert(OTHERS.to_owned(), more(by.values().sum(), busy));
        Self(CpuTime {
            busy,
            idle: more(from.idle, to.idle),
            steal: more(from.steal, to.steal),
            by_role: by,
        })
    }

    /// Adds the CPU times of several measurements.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = CpuTime::default();
        for Self(part) in parts {
            sum.busy += part.busy;
            sum.idle += part.idle;
            sum.steal += part.steal;
            for (role, seconds) in &part.by_role {
                *sum.by_role.entry(role.clone()).or_default() += seconds;
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
        let mut by: Vec<_> = self.0.by_role.iter().collect();
        by.sort_by(|(_, left), (_, right)| right.total_cmp(left));
        by.retain(|(_, seconds)| percent(**seconds) > 0.0);
        let by = by.into_iter();
        let by: Vec<String> = by
            .map(|(role, seconds)| format!("{role} {}", percent(*seconds)))
            .collect();
        if !by.is_empty() {
            let _ = write!(text, ": {}", by.join(", "));
        }
        if percent(self.0.steal) > 0.0 {
            let _ = write!(
                text,
                "; {} % used by other virtual machines",
                percent(self.0.steal)
            );
        }
        text
    }

    /// Returns JSON: fractions of the time of all cores.
    pub(crate) fn json(&self) -> Value {
        let by = self.0.by_role.iter();
        let by: BTreeMap<_, _> = by
            .map(|(role, seconds)| (role, self.share(*seconds)))
            .collect();
        json!({"busy": self.share(self.0.busy), "steal": self.share(self.0.steal), "by": by})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(busy: f64, idle: f64, source: f64) -> CpuTime {
        CpuTime {
            busy,
            idle,
            steal: 0.0,
            by_role: BTreeMap::from([("source".to_owned(), source)]),
        }
    }

    #[test]
    fn the_cpu_time_between_two_samples_is_interpolated() {
        let samples = BTreeMap::from([(100, used(1.0, 0.0, 0.0)), (200, used(3.0, 4.0, 1.0))]);
        assert_eq!(estimate(&samples, 150), Some(used(2.0, 2.0, 0.5)));
        assert_eq!(estimate(&samples, 100), Some(used(1.0, 0.0, 0.0)));
        assert_eq!(estimate(&samples, 900), Some(used(3.0, 4.0, 1.0)));
        assert_eq!(estimate(&BTreeMap::new(), 1), None);
    }

    #[test]
    fn after_the_end_of_a_process_the_earlier_sample_is_used() {
        let ended = CpuTime {
            by_role: BTreeMap::new(),
            ..used(3.0, 4.0, 0.0)
        };
        let samples = BTreeMap::from([(100, used(1.0, 0.0, 1.0)), (200, ended)]);
        assert_eq!(estimate(&samples, 150), Some(used(1.0, 0.0, 1.0)));
    }

    #[test]
    fn time_of_unknown_processes_counts_for_others() {
        let profile = Profile::between(&used(1.0, 1.0, 0.5), &used(9.0, 3.0, 6.5));
        let both = Profile::sum([&profile, &profile]);
        assert_eq!(both.text(), "cores 80 % busy: source 60, others 20");
        assert_eq!(
            both.json(),
            json!({"busy": 0.8, "steal": 0.0, "by": {"source": 0.6, "others": 0.2}})
        );
    }

    #[test]
    fn without_samples_there_is_no_profile() {
        assert_eq!(Profile::default().text(), "cores 0 % busy");
        assert_eq!(CpuSamples::default().between(1, 2), None);
    }

    #[test]
    fn a_thread_takes_samples_until_it_is_dropped() {
        let cpu_samples = CpuSamples::default();
        let sampler = cpu_samples.sample_until_dropped();
        let from = cpu_samples.take_sample();
        drop(sampler);
        assert!(
            cpu_samples
                .between(from, cpu_samples.take_sample())
                .is_some()
        );
    }
}
