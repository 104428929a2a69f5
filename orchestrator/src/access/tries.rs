//! A limit on the number of wrong secrets from one address.

use super::SecretDigest;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many wrong secrets one address may send per [`MINUTE`].
const ALLOWED: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// How many addresses, and how many cookies, are remembered. Above this number, those whose minute has ended are
/// forgotten.
const REMEMBERED: usize = 10_000;

/// The wrong secrets by address. While an address has to wait, its right secrets are refused too.
#[derive(Debug, Default)]
pub(crate) struct FailedAttempts(Mutex<WrongSecret>);

#[derive(Debug, Default)]
struct WrongSecret {
    /// For each address: the start of its minute, and the number of wrong secrets since then.
    addresses: HashMap<IpAddr, (Instant, u32)>,
    /// For each cookie without a session: the time of the last check.
    cookies: HashMap<SecretDigest, Instant>,
}

impl FailedAttempts {
    /// Counts a wrong secret. If it was one too many, returns how long the address has to wait.
    pub(crate) fn wrong(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let mut wrong = self.lock();
        wrong.forget(now);
        let (since, count) = wrong.addresses.entry(from).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        (*count > ALLOWED).then(|| MINUTE.saturating_sub(now.duration_since(*since)))
    }

    /// Returns how long the address has to wait, if it has sent too many wrong secrets.
    pub(crate) fn wait(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let wrong = self.lock();
        let (since, count) = wrong.addresses.get(&from)?;
        let left = MINUTE.checked_sub(now.duration_since(*since))?;
        (*count > ALLOWED).then_some(left)
    }

    /// Counts a cookie of an ended session once per minute, because a browser sends its old cookie with every request.
    pub(crate) fn wrong_cookie(&self, cookie: SecretDigest, from: IpAddr, now: Instant) {
        let earlier = self.lock().cookies.insert(cookie, now);
        if earlier.is_none_or(|earlier| now.duration_since(earlier) >= MINUTE) {
            self.wrong(from, now);
        }
    }

    /// Returns whether this cookie belonged to no session at a check within the last minute. A cookie that had no
    /// session never gets one.
    pub(crate) fn is_wrong(&self, cookie: SecretDigest, now: Instant) -> bool {
        let wrong = self.lock();
        let since = wrong.cookies.get(&cookie);
        since.is_some_and(|since| now.duration_since(*since) < MINUTE)
    }

    fn lock(&self) -> MutexGuard<'_, WrongSecret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WrongSecret {
    /// Forgets addresses and cookies whose minute has ended, if there are too many.
    fn forget(&mut self, now: Instant) {
        let recent = |since: &Instant| now.duration_since(*since) < MINUTE;
        if self.addresses.len() >= REMEMBERED {
            self.addresses.retain(|_, (since, _)| recent(since));
        }
        if self.cookies.len() >= REMEMBERED {
            self.cookies.retain(|_, since| recent(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_tries_twenty_times_in_a_minute() {
        let (tries, start) = (FailedAttempts::default(), Instant::now());
        let [one, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        for _ in 0..ALLOWED {
            assert_eq!(tries.wrong(one, start), None);
            assert_eq!(tries.wait(one, start), None);
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(tries.wrong(one, later), Some(Duration::from_secs(40)));
        assert_eq!(tries.wait(one, later), Some(Duration::from_secs(40)));
        assert_eq!(tries.wrong(other, later), None);
        assert_eq!(tries.wait(other, later), None);
        let later = start + MINUTE + Duration::from_secs(1);
        assert_eq!(tries.wait(one, later), None);
        assert_eq!(tries.wrong(one, later), None);
    }

    #[test]
    fn a_browser_with_an_old_cookie_is_counted_once() {
        let (tries, start) = (FailedAttempts::default(), Instant::now());
        let from = IpAddr::from([127, 0, 0, 1]);
        let cookie = |number| SecretDigest([number; 32]);
        for _ in 0..100 {
            tries.wrong_cookie(cookie(0), from, start);
        }
        assert_eq!(tries.wait(from, start), None);
        assert!(tries.is_wrong(cookie(0), start) && !tries.is_wrong(cookie(1), start));
        for number in 1..=ALLOWED {
            tries.wrong_cookie(cookie(u8::try_from(number).unwrap()), from, start);
        }
        assert!(tries.wait(from, start).is_some());
        assert!(!tries.is_wrong(cookie(0), start + MINUTE));
    }
}
