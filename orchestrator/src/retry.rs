//! Retries: computes the pause before the next attempt from the class of a failure. Only this file uses the crate
//! `backoff`.
//!
//! The pause before retry x is `min(zmin + rand(0.8 z, 1.2 z) * (2^x - 1), zmax)`.

use backoff::backoff::{Backoff, Constant, Stop};
use plans::failure::RetryClass;
use rand::Rng;
use std::time::Duration;

/// The parameters of the pauses between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The constant part of each growing pause.
    pub zmin: Duration,
    /// The unit of a growing pause.
    pub z: Duration,
    /// The longest growing pause.
    pub zmax: Duration,
    /// The pause for failures whose pause does not grow.
    pub fixed: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            zmin: Duration::from_millis(200),
            z: Duration::from_millis(500),
            zmax: Duration::from_secs(30),
            fixed: Duration::from_secs(2),
        }
    }
}

impl RetryPolicy {
    /// Returns the pause before retry number `retry`, from 1; `None` if there must be no retry.
    #[must_use]
    pub fn pause(&self, class: RetryClass, retry: u32) -> Option<Duration> {
        let mut backoff: Box<dyn Backoff> = match class {
            RetryClass::None => Box::new(Stop {}),
            RetryClass::Fixed => Box::new(Constant::new(self.fixed)),
            RetryClass::Exponential => Box::new(GrowingPauses {
                policy: *self,
                retry: retry.saturating_sub(1),
            }),
        };
        backoff.next_backoff()
    }
}

/// The sequence of growing pauses; `retry` is the number of the last retry.
#[derive(Debug)]
struct GrowingPauses {
    policy: RetryPolicy,
    retry: u32,
}

impl Backoff for GrowingPauses {
    fn reset(&mut self) {
        self.retry = 0;
    }

    fn next_backoff(&mut self) -> Option<Duration> {
        self.retry = self.retry.saturating_add(1);
        // 2^20 times the unit is longer than any `zmax`; a larger power would overflow.
        let growth = f64::from(2_u32.pow(self.retry.min(20)) - 1);
        let factor = rand::rng().random_range(0.8..1.2);
        let pause = self.policy.zmin + self.policy.z.mul_f64(factor * growth);
        Some(pause.min(self.policy.zmax))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_pauses_stay_within_their_band_and_limit() {
        let policy = RetryPolicy::default();
        for retry in 1..40 {
            let pause = policy.pause(RetryClass::Exponential, retry).unwrap();
            let growth = 2_f64.powi(retry.min(20) as i32) - 1.0;
            let low = policy.zmin + policy.z.mul_f64(0.8 * growth);
            let high = policy.zmin + policy.z.mul_f64(1.2 * growth);
            assert!(pause >= low.min(policy.zmax) && pause <= high.min(policy.zmax));
        }
    }

    #[test]
    fn a_hopeless_failure_has_no_retry() {
        assert_eq!(RetryPolicy::default().pause(RetryClass::None, 1), None);
    }
}
