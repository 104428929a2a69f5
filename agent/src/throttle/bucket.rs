//! Limits bytes to a rate that can change at any time. All streams share one bucket.

use std::time::Duration;

use tokio::time::Instant;

/// Seconds for which the rate may be used in advance, so that timers that fire late do not reduce the throughput.
const BURST_SECONDS: f64 = 0.1;
/// Maximum wait that is returned. The rate may change before it ends.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The bytes that the streams have used, reduced by the rate.
#[derive(Debug)]
pub(super) struct ByteBucket {
    /// Bytes that were used and for which no stream has waited yet. If the value is negative, that number of bytes may
    /// be used without a wait.
    debt: f64,
    updated: Instant,
}

impl Default for ByteBucket {
    fn default() -> Self {
        Self {
            debt: 0.0,
            updated: Instant::now(),
        }
    }
}

impl ByteBucket {
    /// Adds used bytes.
    pub(super) fn add_bytes(&mut self, bytes: u64) {
        self.debt += bytes as f64;
    }

    /// Returns the required wait at `rate` bytes per second; zero if there is no rate.
    pub(super) fn required_wait(&mut self, rate: Option<u64>) -> Duration {
        let elapsed = self.updated.elapsed().as_secs_f64();
        self.updated = Instant::now();
        let Some(rate) = rate.map(|rate| rate.max(1) as f64) else {
            self.debt = 0.0;
            return Duration::ZERO;
        };
        self.debt = (self.debt - rate * elapsed).max(-rate * BURST_SECONDS);
        let seconds = (self.debt / rate).clamp(0.0, MAX_WAIT.as_secs_f64());
        Duration::from_secs_f64(seconds)
    }
}
