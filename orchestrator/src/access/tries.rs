//! How often an address may show a secret that is none.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong secrets from one address in a [`MINUTE`].
const ALLOWED: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Addresses that are remembered at most; beyond it those whose minute is over are forgotten.
const REMEMBERED: usize = 10_000;

/// Wrong secrets by address. A right one is never refused.
#[derive(Debug, Default)]
pub(crate) struct Tries(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Tries {
    /// Counts a wrong secret; how long the address has to wait before the next, if it was one too many.
    pub(crate) fn wrong(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let mut tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tries.len() >= REMEMBERED {
            tries.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
        }
        let (since, count) = tries.entry(from).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        (*count > ALLOWED).then(|| MINUTE.saturating_sub(now.duration_since(*since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_tries_twenty_times_in_a_minute() {
        let (tries, start) = (Tries::default(), Instant::now());
        let [one, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        for _ in 0..ALLOWED {
            assert_eq!(tries.wrong(one, start), None);
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(tries.wrong(one, later), Some(Duration::from_secs(40)));
        assert_eq!(tries.wrong(other, later), None);
        assert_eq!(tries.wrong(one, start + MINUTE), None);
    }
}
