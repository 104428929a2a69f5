//! Bytes against a rate that may change at any time; all streams share one.

use std::time::Duration;

use tokio::time::Instant;

/// Seconds of the rate that may be spent ahead, so that timers that are late cost nothing.
const AHEAD_S: f64 = 0.1;
/// Longest wait that is told; the rate may change meanwhile.
const MOST: Duration = Duration::from_secs(3600);

/// Bytes that were spent and not waited for yet; below zero: bytes that may be spent ahead.
#[derive(Debug)]
pub(super) struct ByteBucket {
    debt: f64,
    at: Instant,
}

impl Default for ByteBucket {
    fn default() -> Self {
        Self {
            debt: 0.0,
            at: Instant::now(),
        }
    }
}

impl ByteBucket {
    /// Adds what was spent.
    pub(super) fn add(&mut self, bytes: u64) {
        self.debt += bytes as f64;
    }

    /// How long to wait at `rate` bytes a second; nothing without one.
    pub(super) fn due(&mut self, rate: Option<u64>) -> Duration {
        let elapsed = self.at.elapsed().as_secs_f64();
        self.at = Instant::now();
        let Some(rate) = rate.map(|rate| rate.max(1) as f64) else {
            self.debt = 0.0;
            return Duration::ZERO;
        };
        self.debt = (self.debt - rate * elapsed).max(-rate * AHEAD_S);
        let seconds = (self.debt / rate).clamp(0.0, MOST.as_secs_f64());
        Duration::from_secs_f64(seconds)
    }
}
