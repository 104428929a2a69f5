//! Keeps the application's p99 latency at its set point by integral control.
//!
//! The error is the logarithm of p99 divided by the set point, so that the loop does not depend on the absolute
//! latency. Each report multiplies the throttle ratio by the exponential of a step, which is the smoothed error times a
//! gain. Steps are limited. Only a new report changes the ratio.

use super::governor::LatencyReading;
use super::{MIN_RATIO, Millis};

/// The initial throttle ratio, which is then increased.
const FIRST_RATIO: f64 = 0.05;
/// The part of the error that is corrected per second. The loop stays stable even if reports and their smoothing take
/// twice as long as expected.
const GAIN: f64 = 0.6;
/// The gain if the error exceeds [`FAST_GAIN_ABOVE`]: requests then queue up, and a slow reaction would prolong this.
const FAST_GAIN: f64 = 1.6;
/// The error of a p99 of twice the set point.
const FAST_GAIN_ABOVE: f64 = std::f64::consts::LN_2;
/// The time in seconds over which reports are smoothed.
const SMOOTH_S: f64 = 0.5;
/// Greater errors count as this one: a p99 of four and a half times the set point.
const MAX_ERROR: f64 = 1.5;
/// The greatest steps of the ratio's logarithm for one report, down and up. One step down can reduce the ratio to a
/// tenth: a reduction to a third may not suffice, if a few sessions take everything that the application needs.
const MAX_STEP_DOWN: f64 = -2.3;
const MAX_STEP_UP: f64 = 0.25;
/// The least and the greatest time in seconds that one report represents.
const REPORT_S: (f64, f64) = (0.05, 2.0);
/// The age in milliseconds above which a report no longer counts. It is also the longest wait for the first report.
const STALE_MS: i64 = 10_000;

/// The state of the loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LatencyLoop {
    ratio: f64,
    smoothed_error: Option<f64>,
    /// When the last report was made, in milliseconds since 1970.
    last_ms: Option<i64>,
    /// When the loop began, in milliseconds since 1970.
    since_ms: Option<i64>,
}

impl Default for LatencyLoop {
    fn default() -> Self {
        Self {
            ratio: FIRST_RATIO,
            smoothed_error: None,
            last_ms: None,
            since_ms: None,
        }
    }
}

impl LatencyLoop {
    /// Returns the ratio that keeps the p99 at `set_point`, and the reason. Without a recent report the ratio is 1;
    /// while the loop waits for the first report, the ratio is small.
    pub(super) fn observe(
        &mut self,
        set_point: Millis,
        reading: Option<LatencyReading>,
        now_ms: i64,
    ) -> (f64, Option<String>) {
        let valid = reading.filter(|reading| reading.p99_ms.is_finite() && reading.p99_ms > 0.0);
        let since = *self.since_ms.get_or_insert(now_ms);
        let Some(reading) = valid else {
            if (0..STALE_MS).contains(&now_ms.saturating_sub(since)) {
                let why =
                    format!("waiting for the application's first p99, set point {set_point} ms");
                return (FIRST_RATIO, Some(why));
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
        self.apply_report(set_point, reading);
        let reason = format!(
            "application p99 {} ms, set point {set_point} ms",
            with_decimals_of(reading.p99_ms, set_point)
        );
        (self.ratio, (self.ratio < 1.0).then_some(reason))
    }

    /// Changes the ratio for one report.
    fn apply_report(&mut self, set_point: Millis, reading: LatencyReading) {
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
        let error = error.clamp(-MAX_ERROR, MAX_ERROR);
        let weight = 1.0 - (-seconds / SMOOTH_S).exp();
        let smoothed = self
            .smoothed_error
            .map_or(error, |old| old + weight * (error - old));
        self.smoothed_error = Some(smoothed);
        let step = if error > FAST_GAIN_ABOVE {
            -FAST_GAIN * error * seconds
        } else {
            -GAIN * smoothed * seconds
        };
        let step = step.clamp(MAX_STEP_DOWN, MAX_STEP_UP);
        self.ratio = (self.ratio * step.exp()).clamp(MIN_RATIO, 1.0);
    }
}

/// Formats a latency with one decimal if the set point has decimals.
fn with_decimals_of(ms: f64, set_point: Millis) -> String {
    if set_point.get().fract() == 0.0 {
        short_number(ms)
    } else {
        format!("{ms:.1}")
    }
}

/// Formats a number with one decimal if it is below 10, otherwise without decimals.
pub(super) fn short_number(number: f64) -> String {
    if number < 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}
