//! How long work takes still: what is left of it over the rate of the younger three quarters of its time.
//!
//! The whole time would remember a slow beginning for ever, the last seconds would forget that rates vary. The rate is
//! the slope of the line that fits best, which a step forward or a pause just now moves little.

use std::time::Duration;

use tokio::time::Instant;

/// Samples are no closer to each other, until there are too many of them.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);
/// More of them are thinned out.
const MAX_SAMPLES: usize = 512;
/// Nothing is said before: what has taken a second tells little, and nobody waits for what is over in two.
const MIN_ELAPSED: Duration = Duration::from_secs(2);

/// What was done of some work over time; the unit is the caller's.
#[derive(Debug)]
pub(crate) struct Eta {
    samples: Vec<(Instant, f64)>,
    min_interval: Duration,
}

impl Eta {
    /// Work that begins with `done` of it behind it.
    pub(crate) fn begin(now: Instant, done: f64) -> Self {
        Self {
            samples: vec![(now, done)],
            min_interval: SAMPLE_INTERVAL,
        }
    }

    /// Seconds that the rest of `total` takes when `done` is behind it; `None` while nobody can tell.
    pub(crate) fn seconds_left(&mut self, now: Instant, done: f64, total: f64) -> Option<f64> {
        self.record_sample(now, done);
        let began = self.samples.first()?.0;
        let elapsed = now.duration_since(began);
        let recent_from = began + elapsed / 4;
        let at = self.samples.partition_point(|(at, _)| *at < recent_from);
        let samples = self.samples.get(at.saturating_sub(1)..)?;
        let rate = slope(samples.iter().copied().chain([(now, done)]), began);
        let left = (total - done).max(0.0);
        (elapsed >= MIN_ELAPSED && rate > 0.0).then(|| left / rate)
    }

    fn record_sample(&mut self, now: Instant, done: f64) {
        let due = self.samples.last().map(|(at, _)| *at + self.min_interval);
        if due.is_some_and(|due| now < due) {
            return;
        }
        self.samples.push((now, done));
        if self.samples.len() > MAX_SAMPLES {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.min_interval *= 2;
        }
    }
}

/// The slope of the line through `samples` whose squared distances add up to the least, each second since `began`.
fn slope(samples: impl Iterator<Item = (Instant, f64)> + Clone, began: Instant) -> f64 {
    let points = samples.map(|(at, done)| (at.duration_since(began).as_secs_f64(), done));
    let (count, seconds, done) = points.clone().fold((0.0, 0.0, 0.0), |sum, (second, done)| {
        (sum.0 + 1.0, sum.1 + second, sum.2 + done)
    });
    let (middle, mean) = (seconds / count, done / count);
    let (rise, run) = points.fold((0.0, 0.0), |sum, (second, done)| {
        let off = second - middle;
        (sum.0 + off * (done - mean), sum.1 + off * off)
    });
    rise / run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds that are left by work that does `rate(second)` units in each second.
    fn seconds_left_after(seconds: u32, total: f64, rate: impl Fn(u32) -> f64) -> Option<f64> {
        let began = Instant::now();
        let mut eta = Eta::begin(began, 0.0);
        let (mut done, mut left) = (0.0, None);
        for second in 1..=seconds {
            done += rate(second);
            left = eta.seconds_left(began + Duration::from_secs(second.into()), done, total);
        }
        left
    }

    #[test]
    fn a_steady_rate_ends_when_it_has_to() {
        let left = seconds_left_after(30, 100.0, |_| 1.0);
        assert!(
            left.is_some_and(|left| (left - 70.0).abs() < 1e-6),
            "{left:?}"
        );
    }

    #[test]
    fn a_slow_beginning_is_forgotten() {
        let left = seconds_left_after(40, 100.0, |second| if second <= 10 { 0.0 } else { 1.0 });
        assert_eq!(left.map(f64::round), Some(70.0));
    }

    #[test]
    fn nothing_is_said_of_work_that_does_not_move_or_has_only_begun() {
        assert_eq!(seconds_left_after(30, 100.0, |_| 0.0), None);
        assert_eq!(seconds_left_after(30, 100.0, |_| -1.0), None);
        let began = Instant::now();
        let mut eta = Eta::begin(began, 0.0);
        assert_eq!(eta.seconds_left(began + SAMPLE_INTERVAL, 1.0, 100.0), None);
    }

    #[test]
    fn long_work_takes_no_more_memory() {
        let began = Instant::now();
        let mut eta = Eta::begin(began, 0.0);
        for second in 1..=86_400_u32 {
            eta.seconds_left(
                began + Duration::from_secs(second.into()),
                f64::from(second),
                1e6,
            );
        }
        assert!(eta.samples.len() <= MAX_SAMPLES, "{}", eta.samples.len());
    }
}
