//! Estimates the remaining time of work: the remaining amount, divided by the rate over the last three quarters of the
//! elapsed time.
//!
//! An average over the whole time would include a slow start for ever. An average over the last seconds would ignore
//! that rates vary. The rate is the slope of a least-squares line: a sudden step or a pause just before the end changes
//! it little.

use std::time::Duration;

use tokio::time::Instant;

/// Shortest time between two samples, until there are more than [`MAX_SAMPLES`].
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);
/// If there are more samples, every other one is removed, and the interval is doubled.
const MAX_SAMPLES: usize = 512;
/// Shortest elapsed time for an estimate: one second of work is not enough to estimate from, and work that ends within
/// two seconds needs no estimate.
const MIN_ELAPSED: Duration = Duration::from_secs(2);

/// Samples of the amount of work that was done. The caller chooses the unit.
#[derive(Debug)]
pub(crate) struct Eta {
    samples: Vec<(Instant, f64)>,
    min_interval: Duration,
}

impl Eta {
    /// Starts with `done` units already completed.
    pub(crate) fn begin(now: Instant, done: f64) -> Self {
        Self {
            samples: vec![(now, done)],
            min_interval: SAMPLE_INTERVAL,
        }
    }

    /// Returns the seconds until `done` reaches `total`, or `None` as long as no estimate is possible.
    pub(crate) fn seconds_left(&mut self, now: Instant, done: f64, total: f64) -> Option<f64> {
        self.record_sample(now, done);
        let began = self.samples.first()?.0;
        let elapsed = now.duration_since(began);
        let recent_from = began + elapsed / 4;
        let first_recent = self.samples.partition_point(|(at, _)| *at < recent_from);
        // With the sample before, the samples cover all of the recent time.
        let samples = self.samples.get(first_recent.saturating_sub(1)..)?;
        let rate = slope(samples.iter().copied().chain([(now, done)]), began);
        let left = (total - done).max(0.0);
        (elapsed >= MIN_ELAPSED && rate > 0.0).then(|| left / rate)
    }

    /// Records a sample, unless the last one is too recent.
    fn record_sample(&mut self, now: Instant, done: f64) {
        let due = self.samples.last().map(|(at, _)| *at + self.min_interval);
        if due.is_some_and(|due| now < due) {
            return;
        }
        self.samples.push((now, done));
        if self.samples.len() > MAX_SAMPLES {
            let mut position = 0;
            self.samples.retain(|_| {
                position += 1;
                position % 2 == 1
            });
            self.min_interval *= 2;
        }
    }
}

/// Returns the slope, in units per second, of the least-squares line through `samples`.
fn slope(samples: impl Iterator<Item = (Instant, f64)> + Clone, began: Instant) -> f64 {
    let points = samples.map(|(at, done)| (at.duration_since(began).as_secs_f64(), done));
    let (count, seconds, done) = points.clone().fold((0.0, 0.0, 0.0), |sum, (second, done)| {
        (sum.0 + 1.0, sum.1 + second, sum.2 + done)
    });
    let (mean_second, mean_done) = (seconds / count, done / count);
    let (products, squares) = points.fold((0.0, 0.0), |sum, (second, done)| {
        let deviation = second - mean_second;
        (
            sum.0 + deviation * (done - mean_done),
            sum.1 + deviation * deviation,
        )
    });
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the estimate after `seconds` seconds of work that completes `rate(second)` units in each second.
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
    fn at_a_steady_rate_the_estimate_is_exact() {
        let left = seconds_left_after(30, 100.0, |_| 1.0);
        assert!(
            left.is_some_and(|left| (left - 70.0).abs() < 1e-6),
            "{left:?}"
        );
    }

    #[test]
    fn a_slow_start_does_not_affect_the_estimate() {
        let left = seconds_left_after(40, 100.0, |second| if second <= 10 { 0.0 } else { 1.0 });
        assert_eq!(left.map(f64::round), Some(70.0));
    }

    #[test]
    fn without_progress_or_soon_after_the_start_there_is_no_estimate() {
        assert_eq!(seconds_left_after(30, 100.0, |_| 0.0), None);
        assert_eq!(seconds_left_after(30, 100.0, |_| -1.0), None);
        let began = Instant::now();
        let mut eta = Eta::begin(began, 0.0);
        assert_eq!(eta.seconds_left(began + SAMPLE_INTERVAL, 1.0, 100.0), None);
    }

    #[test]
    fn the_number_of_samples_is_limited() {
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
