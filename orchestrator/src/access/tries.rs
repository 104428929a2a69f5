//! A limit on the number of wrong secrets from one address.

use super::SecretDigest;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many wrong secrets one address may send per [`MINUTE`].
const MAX_WRONG: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// How many addresses, and how many cookies, are kept before those whose minute has ended are removed.
const MAX_ENTRIES: usize = 10_000;

/// The wrong secrets by address. An address that has sent too many has to wait; meanwhile its valid secrets are refused
/// too.
#[derive(Debug, Default)]
pub(crate) struct FailedAttempts(Mutex<WrongSecrets>);

#[derive(Debug, Default)]
struct WrongSecrets {
    /// For each address: the start of its minute, and the number of wrong secrets since then.
    addresses: HashMap<IpAddr, (Instant, u32)>,
    /// For each cookie without a session: the time of the last check.
    cookies: HashMap<SecretDigest, Instant>,
}

impl FailedAttempts {
    /// Counts a wrong secret. If the address has sent too many now, returns how long it has to wait.
    pub(crate) fn count_wrong(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let mut state = self.lock();
        state.remove_ended(now);
        let (since, count) = state.addresses.entry(from).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        (*count > MAX_WRONG).then(|| MINUTE.saturating_sub(now.duration_since(*since)))
    }

    /// Returns how long the address has to wait, if it has sent too many wrong secrets.
    pub(crate) fn remaining_wait(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let state = self.lock();
        let (since, count) = state.addresses.get(&from)?;
        let left = MINUTE.checked_sub(now.duration_since(*since))?;
        (*count > MAX_WRONG).then_some(left)
    }

    /// Counts a cookie without a session as a wrong secret, but only once per minute: a browser sends its old cookie
    /// with every request.
    pub(crate) fn count_wrong_cookie(&self, cookie: SecretDigest, from: IpAddr, now: Instant) {
        let earlier = self.lock().cookies.insert(cookie, now);
        if earlier.is_none_or(|earlier| now.duration_since(earlier) >= MINUTE) {
            self.count_wrong(from, now);
        }
    }

    /// Returns whether this cookie belonged to no session at a check within the last minute. A cookie that had no
    /// session never gets one.
    pub(crate) fn is_wrong_cookie(&self, cookie: SecretDigest, now: Instant) -> bool {
        let state = self.lock();
        let since = state.cookies.get(&cookie);
        since.is_some_and(|since| now.duration_since(*since) < MINUTE)
    }

    fn lock(&self) -> MutexGuard<'_, WrongSecrets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WrongSecrets {
    /// If there are too many entries, removes the addresses and cookies whose minute has ended.
    fn remove_ended(&mut self, now: Instant) {
        let recent = |since: &Instant| now.duration_since(*since) < MINUTE;
        if self.addresses.len() >= MAX_ENTRIES {
            self.addresses.retain(|_, (since, _)| recent(since));
        }
        if self.cookies.len() >= MAX_ENTRIES {
            self.cookies.retain(|_, since| recent(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_to_wait_after_twenty_wrong_secrets() {
        let (attempts, start) = (FailedAttempts::default(), Instant::now());
        let [address, other_address] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        for _ in 0..MAX_WRONG {
            assert_eq!(attempts.count_wrong(address, start), None);
            assert_eq!(attempts.remaining_wait(address, start), None);
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(
            attempts.count_wrong(address, later),
            Some(Duration::from_secs(40))
        );
        assert_eq!(
            attempts.remaining_wait(address, later),
            Some(Duration::from_secs(40))
        );
        assert_eq!(attempts.count_wrong(other_address, later), None);
        assert_eq!(attempts.remaining_wait(other_address, later), None);
        let later = start + MINUTE + Duration::from_secs(1);
        assert_eq!(attempts.remaining_wait(address, later), None);
        assert_eq!(attempts.count_wrong(address, later), None);
    }

    #[test]
    fn an_old_cookie_is_counted_once_per_minute() {
        let (attempts, start) = (FailedAttempts::default(), Instant::now());
        let from = IpAddr::from([127, 0, 0, 1]);
        let cookie = |number| SecretDigest([number; 32]);
        for _ in 0..100 {
            attempts.count_wrong_cookie(cookie(0), from, start);
        }
        assert_eq!(attempts.remaining_wait(from, start), None);
        assert!(
            attempts.is_wrong_cookie(cookie(0), start)
                && !attempts.is_wrong_cookie(cookie(1), start)
        );
        for number in 1..=MAX_WRONG {
            attempts.count_wrong_cookie(cookie(u8::try_from(number).unwrap()), from, start);
        }
        assert!(attempts.remaining_wait(from, start).is_some());
        assert!(!attempts.is_wrong_cookie(cookie(0), start + MINUTE));
    }
}
