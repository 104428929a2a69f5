//! Holds the application's p99 at its set point by integral control.
//!
//! The error is the logarithm of p99 over set point, so that the loop does not depend on how slow the application
//! is; the share is multiplied by its exponential. Noise is smoothed, steps are bounded, and only a new report moves it.

use super::governor::LatencyReading;
use super::{MIN_RATIO, Millis};

/// The share where holding begins: found from below.
const FIRST: f64 = 0.05;
/// Of the error, per second; at twice the delay of a report and its smoothing the loop is still damped.
const GAIN: f64 = 0.6;
/// The same where the p99 is beyond twice its set point: requests queue up then, and a slow answer prolongs that.
const HASTE: f64 = 1.6;
const FAR: f64 = std::f64::consts::LN_2;
/// Reports are smoothed over this many seconds.
const SMOOTH_S: f64 = 0.5;
/// The error that counts at most: a factor of four and a half.
const MOST_ERROR: f64 = 1.5;
/// The largest steps of the share's logarithm for one report: down, to a tenth, because a few streams that run for a
/// third of the time still take all that the application needs, and up.
const DOWN: f64 = -2.3;
const UP: f64 = 0.25;
/// Seconds that one report stands for, at least and at most.
const REPORT_S: (f64, f64) = (0.05, 2.0);
/// A report that is older is no sign of how the application is now, and none that never came is waited for longer,
/// milliseconds.
const STALE_MS: i64 = 10_000;

/// The state of the loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HoldLoop {
    ratio: f64,
    smoothed: Option<f64>,
    last_ms: Option<i64>,
    /// Since when it is held.
    since_ms: Option<i64>,
}

impl Default for HoldLoop {
    fn default() -> Self {
        Self {
            ratio: FIRST,
            smoothed: None,
            last_ms: None,
            since_ms: None,
        }
    }
}

impl HoldLoop {
    /// The share that holds `set_point` milliseconds, and why; 1 without a fresh report, once the first was waited for.
    pub(super) fn observe(
        &mut self,
        set_point: Millis,
        reading: Option<LatencyReading>,
        now_ms: i64,
    ) -> (f64, Option<String>) {
        let known = reading.filter(|reading| reading.p99_ms.is_finite() && reading.p99_ms > 0.0);
        let since = *self.since_ms.get_or_insert(now_ms);
        let Some(reading) = known else {
            if (0..STALE_MS).contains(&now_ms.saturating_sub(since)) {
                let why =
                    format!("waiting for the application's first p99, set point {set_point} ms");
                return (FIRST, Some(why));
            }
            return (
                1.0,
                Some(format!(
                    "the application reports no p99, set point {set_point} ms is not held"
                )),
            );
        };
        let age = now_ms.saturating_sub(reading.at_ms);
        if age > STALE_MS {
            return (
                1.0,
                Some(format!(
                    "the application's p99 is {} s old, set point {set_point} ms is not held",
                    age / 1000
                )),
            );
        }
        self.learn(set_point, reading);
        let reason = format!(
            "application p99 {} ms, set point {set_point} ms",
            with_digits_of(reading.p99_ms, set_point)
        );
        (self.ratio, (self.ratio < 1.0).then_some(reason))
    }

    /// Moves by one report, once.
    fn learn(&mut self, set_point: Millis, reading: LatencyReading) {
        let since = self
            .last_ms
            .map_or(1000, |last| reading.at_ms.saturating_sub(last));
        if since <= 0 {
            return;
        }
        self.last_ms = Some(reading.at_ms);
        let since = f64::from(i32::try_from(since).unwrap_or(i32::MAX)) / 1000.0;
        let seconds = since.clamp(REPORT_S.0, REPORT_S.1);
        let error = (reading.p99_ms / set_point.get()).ln();
        let error = error.clamp(-MOST_ERROR, MOST_ERROR);
        let weight = 1.0 - (-seconds / SMOOTH_S).exp();
        let smoothed = self
            .smoothed
            .map_or(error, |old| old + weight * (error - old));
        self.smoothed = Some(smoothed);
        let step = if error > FAR {
            -HASTE * error * seconds
        } else {
            -GAIN * smoothed * seconds
        };
        let step = step.clamp(DOWN, UP);
        self.ratio = (self.ratio * step.exp()).clamp(MIN_RATIO, 1.0);
    }
}

/// As many digits as the set point has, which it is compared with.
fn with_digits_of(ms: f64, set_point: Millis) -> String {
    if set_point.get().fract() == 0.0 {
        brief(ms)
    } else {
        format!("{ms:.1}")
    }
}

/// Milliseconds with as many digits as mean something.
pub(super) fn brief(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}
