//! Keeps the application's p99 latency at its set point by integral control.
//!
//! The error is the logarithm of p99 divided by the set point, so that the loop does not depend on the absolute
//! latency. The throttle ratio is multiplied by the exponential of the error. Noise is smoothed, steps are limited, and
//! only a new report changes the ratio.

use super::governor::LatencyReading;
use super::{MIN_RATIO, Millis};

/// The initial throttle ratio, which is then increased.
const FIRST: f64 = 0.05;
/// The part of the error that is corrected per second. The loop stays damped even with twice the delay of a report and
/// its smoothing.
const GAIN: f64 = 0.6;
/// The same if the p99 exceeds twice its set point: then requests queue up, and a slow reaction would prolong this.
const HASTE: f64 = 1.6;
const FAR: f64 = std::f64::consts::LN_2;
/// The time in seconds over which reports are smoothed.
const SMOOTH_S: f64 = 0.5;
/// The greatest error that counts: a factor of four and a half.
const MOST_ERROR: f64 = 1.5;
/// The greatest steps of the ratio's logarithm for one report, down and up. A step down can reduce it to a tenth,
/// because a few sessions that run for a third of the time can still take everything that the application needs.
const DOWN: f64 = -2.3;
const UP: f64 = 0.25;
/// The least and the greatest time in seconds that one report represents.
const REPORT_S: (f64, f64) = (0.05, 2.0);
/// The age in milliseconds above which a report no longer counts. It is also the longest wait for the first report.
const STALE_MS: i64 = 10_000;

/// The state of the loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HoldLoop {
    ratio: f64,
    smoothed: Option<f64>,
    last_ms: Option<i64>,
    /// When the loop began, in milliseconds since 1970.
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
    /// Returns the ratio that keeps `set_point` milliseconds, and the reason. Without a recent report it is 1, after
    /// the wait for the first report.
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

    /// Changes the ratio for one report.
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

/// Formats a latency with as many digits as the set point.
fn with_digits_of(ms: f64, set_point: Millis) -> String {
    if set_point.get().fract() == 0.0 {
        brief(ms)
    } else {
        format!("{ms:.1}")
    }
}

/// Formats milliseconds with the significant digits.
pub(super) fn brief(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}
